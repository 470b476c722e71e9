"""Table 3: items that ask what a base has read, one BOS a prompt, likelihoods worked by hand, pairs, and the cache."""

import json
import math
import re
from dataclasses import replace

import datasets
import pytest
import torch
from lm_eval.api.metrics import mean_stderr

from lib.analyze.figures.retention import draw_retention
from lib.analyze.retention import (
    HUB_LABELS,
    LAB_LABELS,
    Measurement,
    Retention,
    RetentionItem,
    check_alike,
    noise_floor,
    read_retention,
    table3,
    table3_for_reading,
    told,
    write_retention,
)
from lib.core.files import write_records
from lib.core.paths import MissingInput
from lib.core.text import listed
from lib.infer.answers import load
from lib.lab.base_model import new_llama, train_tokenizer
from lib.lab.documents import make_records
from lib.lab.products import ATTRIBUTES, make_products
from lib.retention.lab_tasks import (
    CHOICE,
    CONTINUATION,
    LAST_WORD,
    N_CHOICES,
    lab_items,
    laboratory_of,
    write_lab_tasks,
)
from lib.retention.lm_eval import OneBos, evaluated
from lib.retention.measure import Asked, Setting, identity_of, measure

N_PRODUCTS = 12


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory):
    """A laboratory's folder: public records and facts, and an untrained base that tokenizes them."""
    folder = tmp_path_factory.mktemp("root") / "data" / "tiny"
    made = [make_records(make_products(N_PRODUCTS, 3), 3, public=True, rendering=number) for number in range(2)]
    write_records(folder / "documents_public.jsonl", [document for documents, _ in made for document in documents])
    write_records(folder / "facts.jsonl", [fact for _, facts in made for fact in facts])
    tokenizer = train_tokenizer([document.text for document in made[0][0]] + ["Question: What is it?\nAnswer:"], 400)
    model = new_llama(tokenizer, hidden_size=64, layers=2, heads=2, context=512, seed=1)
    model.save_pretrained(folder / "models" / "base")
    tokenizer.save_pretrained(folder / "models" / "base")
    return folder


@pytest.fixture(scope="module")
def base(laboratory):
    return load(str(laboratory / "models" / "base"), precision="fp32", device="cpu")


@pytest.fixture(scope="module")
def asked(laboratory, tmp_path_factory):
    return Asked(Setting(), str(laboratory / "models" / "base"), "", tmp_path_factory.mktemp("tasks"))


def test_items_ask_what_the_records_say_and_what_they_do_not_is_wrong(laboratory):
    products = {product.name: dict(zip((attribute.label for attribute in ATTRIBUTES), product.values, strict=True))
                for product in make_products(N_PRODUCTS, 3)}
    texts = {row["title"]: row["text"] for row in reversed([
        json.loads(line) for line in (laboratory / "documents_public.jsonl").read_text().splitlines()])}
    items = lab_items(laboratory)
    assert all(items.values()) and list(items) == [CHOICE, CONTINUATION, LAST_WORD]
    for item in items[CHOICE]:
        own = {listed(value) for value in products[item["product"]].values()}
        assert [choice in own for choice in item["choices"]] == [n == item["gold"] for n in range(N_CHOICES)]
        assert item["before"].endswith("Answer:") and item["product"] in item["before"]
    for item in items[CONTINUATION]:
        tail = item["before"].split("\n", 1)[-1]  # below the heading stands the one section
        stated = [tail + choice in texts[item["product"]] for choice in item["choices"]]
        assert stated == [n == item["gold"] for n in range(N_CHOICES)]
    for item in items[LAST_WORD]:
        tail = item["before"].split("\n", 1)[-1]
        assert re.search(re.escape(f"{tail} {item['word']}") + r"\.", texts[item["product"]])
        assert item["word"] not in ("MB", "hours")


def test_a_product_is_asked_about_once_before_any_is_asked_twice(laboratory):
    for items in lab_items(laboratory).values():
        asked_about = [item["product"] for item in items]
        n = len(set(asked_about))
        assert n > N_CHOICES and len(set(asked_about[:n])) == n < len(items)


def test_the_same_records_give_the_same_files_and_an_unchanged_file_is_not_written_again(laboratory, tmp_path):
    write_lab_tasks(laboratory, tmp_path)
    before = {path.name: (path.read_text(), path.stat().st_mtime_ns) for path in tmp_path.glob("*.*")}
    assert write_lab_tasks(laboratory, tmp_path) == list(LAB_LABELS)
    assert before == {path.name: (path.read_text(), path.stat().st_mtime_ns) for path in tmp_path.glob("*.*")}


def test_the_public_records_lie_beside_the_base_or_where_lab_says(laboratory, tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(laboratory.parent.parent))
    assert laboratory_of("data/tiny/models/base") == laboratory_of("meta-llama/Llama-3.1-8B", "tiny") == laboratory
    with pytest.raises(ValueError, match="set tasks of 00_retention to 'hub'"):
        laboratory_of("meta-llama/Llama-3.1-8B")
    with pytest.raises(MissingInput, match="00_lab"):
        laboratory_of("data/tiny/models/base", "other")


def test_an_item_is_right_where_its_likelihood_worked_by_hand_is_the_highest(base, laboratory, asked, monkeypatch):
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("a network is asked"))
    model, tokenizer = base
    items = lab_items(laboratory)

    def likelihood(before: str, after: str) -> tuple[float, bool]:
        n_before = len(tokenizer(before)["input_ids"])
        tokens = torch.tensor([tokenizer(before + after)["input_ids"]])
        with torch.no_grad():
            logs = model(tokens).logits[0].log_softmax(-1)
        places = range(n_before - 1, tokens.shape[1] - 1)
        return (sum(float(logs[place, tokens[0, place + 1]]) for place in places),
                all(int(logs[place].argmax()) == int(tokens[0, place + 1]) for place in places))

    for name, gap in ((CHOICE, " "), (CONTINUATION, "")):
        summary, rows = evaluated(model, tokenizer, name, asked.folder, limit=6, batch_size=4)
        by_hand = [[likelihood(item["before"], gap + choice)[0] for choice in item["choices"]]
                   for item in items[name][:6]]
        right = [logs[item["gold"]] for logs, item in zip(by_hand, items[name], strict=False)]
        best = [max(logs) for logs in by_hand]
        assert [row["is_correct"] for row in rows] == [log == top for log, top in zip(right, best, strict=True)]
        assert [row["loglik"] for row in rows] == pytest.approx(right, abs=1e-3)
        assert summary["chance"] == 1 / N_CHOICES and summary["n"] == 6
        wrong = [(item, logs) for item, logs, row in zip(items[name], by_hand, rows, strict=False)
                 if not row["is_correct"]]
        assert [(shown["right"], shown["chosen"]) for shown in summary["missed"]] == [
            (gap + item["choices"][item["gold"]], gap + item["choices"][logs.index(max(logs))])
            for item, logs in wrong[:2]]
    summary, rows = evaluated(model, tokenizer, LAST_WORD, asked.folder, limit=6, batch_size=4)
    by_hand = [likelihood(item["before"], " " + item["word"]) for item in items[LAST_WORD][:6]]
    assert [(row["loglik"], row["is_correct"]) for row in rows] == [
        (pytest.approx(loglik, abs=1e-3), is_likeliest) for loglik, is_likeliest in by_hand]
    assert summary["chance"] is None


def test_a_prompt_has_exactly_one_bos_and_keeps_it_when_it_is_cut(base):
    model, tokenizer = base
    wrapped = OneBos(model, tokenizer, 2)
    bos, word = tokenizer.bos_token_id, tokenizer("x", add_special_tokens=False)["input_ids"][0]
    for context in ([word, word], [bos, word, bos], [word, bos]):
        with pytest.raises(ValueError, match="exactly one BOS"):
            wrapped._loglikelihood_tokens([(("x", "x"), context, [word])], disable_tqdm=True)
    long = [(("x", "x"), [bos] + [word] * 3 * wrapped.max_length, [word])]
    whole = [(("x", "x"), [bos] + [word] * (wrapped.max_length - 1), [word])]
    cut = wrapped._loglikelihood_tokens(long, disable_tqdm=True)
    assert wrapped.n_cut == 1
    assert cut == wrapped._loglikelihood_tokens(whole, disable_tqdm=True) and wrapped.n_cut == 1


def test_a_control_token_in_an_item_is_read_as_letters(base):
    model, tokenizer = base
    context, continuation = OneBos(model, tokenizer, 2)._encode_pair("<s>say <s> or </s>", " <s>")
    assert context[0] == tokenizer.bos_token_id
    assert not {tokenizer.bos_token_id, tokenizer.eos_token_id} & {*context[1:], *continuation}
    assert tokenizer.decode(context[1:] + continuation) == "<s>say <s> or </s> <s>"
    plain = OneBos(model, tokenizer, 2)._encode_pair("Answer:", " it")
    assert plain[0] + plain[1] == tokenizer("Answer: it")["input_ids"]


def test_a_tokenizer_without_bos_needs_none(base):
    model, _ = base
    bare = train_tokenizer(["a b c"], 300)
    bare.backend_tokenizer.post_processor = None
    wrapped = OneBos(model, bare, 2)
    assert wrapped.begin == []
    assert len(wrapped._loglikelihood_tokens([(("a", " b"), [70, 71], [72])], disable_tqdm=True)) == 1


def test_nothing_is_measured_twice_and_a_retrained_arm_anew(laboratory, asked, tmp_path, monkeypatch, capsys):
    model, tokenizer = load(str(laboratory / "models" / "base"), precision="fp32", device="cpu")
    arm, setting = tmp_path / "arm", Setting(limit=3, batch_size=4)
    model.save_pretrained(arm)
    tokenizer.save_pretrained(arm)
    first = measure(str(arm), setting, asked, tmp_path / "cache")
    with monkeypatch.context() as patched:
        patched.setattr("lib.retention.measure._evaluated", lambda *_: pytest.fail("computed again"))
        (arm / "training.json").write_text('{"seconds": 3}')  # no weight
        assert measure(str(arm), setting, asked, tmp_path / "cache") == first
        assert "measured before" in capsys.readouterr().out
        with pytest.raises(pytest.fail.Exception, match="computed again"):
            measure(str(arm), replace(setting, batch_size=5), asked, tmp_path / "cache")
        with torch.no_grad():
            next(model.parameters()).add_(0.5)
        model.save_pretrained(arm)  # the same name
        with pytest.raises(pytest.fail.Exception, match="computed again"):
            measure(str(arm), setting, asked, tmp_path / "cache")
    again = measure(str(arm), setting, asked, tmp_path / "cache")
    assert [row["loglik"] for row in again.items] != [row["loglik"] for row in first.items]
    assert {row["item"] for row in again.items} == {row["item"] for row in first.items}
    differ = [name for name in first.identity if first.identity[name] != again.identity[name]]
    assert differ == ["checkpoint"]


def test_no_tasks_measure_nothing_and_leave_empty_files(tmp_path, monkeypatch, laboratory):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    setting = Setting(tasks="none")
    base = str(laboratory / "models" / "base")
    nothing = measure(base, setting, Asked(setting, "", "", tmp_path), tmp_path / "cache")
    write_retention("tiny", "base", nothing)
    (kept,) = read_retention("tiny", ["base"])
    assert kept.items == [] and table3([kept]).empty and noise_floor([kept]).empty
    assert told(table3([kept]), noise_floor([kept])) == "No arm is compared with the base yet."


@pytest.mark.parametrize(("wrong", "message"), [({"tasks": "mmlu"}, "lab, hub, none"), ({"limit": 1}, "at least 2"),
                                                ({"batch_size": 0}, "at least 1"), ({"precision": "8bit"}, "auto")])
def test_a_setting_that_cannot_be_is_refused_with_what_can(wrong, message):
    with pytest.raises(ValueError, match=message):
        Setting(**wrong)


SUBJECTS = 57  # of MMLU


@pytest.fixture
def hub(monkeypatch):
    """The hub's datasets as lm-eval's own task files ask for them, a few rows each."""
    rows = {"cais/mmlu": [{"question": f"{n}?", "choices": list("wxyz"), "answer": n % 4, "subject": ""}
                          for n in range(5)],
            "Rowan/hellaswag": [{"activity_label": "Run", "ctx_a": "He runs", "ctx_b": f"fast {n}", "label": str(n % 4),
                                 "endings": ["home.", "away.", "up.", "down."]} for n in range(5)],
            "EleutherAI/lambada_openai": [{"text": f"He runs away from a dog {n}"} for n in range(5)]}
    splits = {"cais/mmlu": ("test", "dev"), "Rowan/hellaswag": ("train", "validation")}
    monkeypatch.setattr(datasets, "load_dataset", lambda path, **_: datasets.DatasetDict({
        split: datasets.Dataset.from_list(rows[path]) for split in splits.get(path, ("test",))}))


def test_the_hub_tasks_are_those_of_the_paper_zero_shot(base, hub):
    for name in HUB_LABELS:
        summary, items = evaluated(*base, name, None, limit=4, batch_size=64)
        n = 2 * SUBJECTS if name == "mmlu" else 4  # at least two of a subject
        assert summary["n"] == len(items) == len({row["item"] for row in items}) == n
        assert summary["accuracy"] == pytest.approx(sum(row["is_correct"] for row in items) / n)
        assert summary["chance"] == (None if name == "lambada_openai" else 0.25)
        assert summary["stderr"] >= 0


def test_a_hub_that_cannot_be_reached_is_an_error_that_says_what_to_do(base, monkeypatch):
    def unreachable(*_, **__):
        raise ConnectionError("Couldn't reach the Hub")

    monkeypatch.setattr(datasets, "load_dataset", unreachable)
    with pytest.raises(RuntimeError, match=r"(?s)lambada_openai could not be fetched.*network.*'none'"):
        evaluated(*base, "lambada_openai", None, limit=2, batch_size=2)


@pytest.mark.parametrize(("correct", "n", "printed"), [(6031, 10042, (60.06, 0.49)), (3891, 5153, (75.51, 0.60))])
def test_the_papers_errors_are_those_of_lm_eval_for_its_counts(correct, n, printed):
    outcomes = [1] * correct + [0] * (n - correct)  # HellaSwag and LAMBADA of the base, Table 3
    assert (round(100 * correct / n, 2), round(100 * mean_stderr(outcomes), 2)) == printed


def retention(arm: str, right: str, **identity: object) -> Retention:
    """An arm that has one task, its items right (1) or wrong (0) as `right` spells."""
    items = [RetentionItem(task="mmlu", item=str(n), arm=arm, repeat=0, is_correct=letter == "1", loglik=-1.0)
             for n, letter in enumerate(right)]
    accuracy = right.count("1") / len(right)
    task = {"task": "mmlu", "n": len(right), "accuracy": accuracy, "stderr": mean_stderr([int(x) for x in right]),
            "chance": 0.25, "n_cut": 0, "missed": [], "asked": ""}
    return Retention(arm, {"checkpoint": arm, "batch_size": 8, **identity}, [task], items)


def test_differences_are_paired_by_item():
    table = table3([retention("dapt", "11000000"), retention("base", "01111111")])
    assert list(table.arm) == ["base", "dapt"] and table.p.isna()[0]
    row = table.iloc[1]
    assert (row.only_base, row.only_arm, row.correct, row.n) == (6, 1, 2, 8)
    changes = [1, 0, -1, -1, -1, -1, -1, -1]
    mean = sum(changes) / 8
    error = math.sqrt(sum((change - mean) ** 2 for change in changes) / 7 / 8)
    assert row.difference_points == pytest.approx(100 * mean) and row.se_points == pytest.approx(100 * error)
    t7 = 2.364624  # 97.5% of Student's t with 7 degrees of freedom
    assert (row.low_points, row.high_points) == pytest.approx((100 * (mean - t7 * error), 100 * (mean + t7 * error)),
                                                              abs=1e-3)
    assert row.p == pytest.approx(2 * (1 + 7) / 2**7) and row.p_holm == pytest.approx(row.p)


def test_where_no_item_differs_there_is_no_interval():
    row = table3([retention("base", "1100"), retention("dapt", "1100")]).iloc[1]
    assert row.difference_points == 0 and row.p == 1 and math.isnan(row.low_points) and math.isnan(row.se_points)


def test_arms_that_were_not_measured_alike_are_not_compared():
    with pytest.raises(ValueError, match=r"base and dapt were measured differently: batch_size \(8 and 4\)"):
        check_alike([retention("base", "10"), retention("dapt", "10", batch_size=4)])
    with pytest.raises(ValueError, match="asked other items"):
        check_alike([retention("base", "10"), retention("dapt", "100")])
    other = retention("dapt", "10")
    with pytest.raises(ValueError, match="asked other items"):
        check_alike([retention("base", "10"), replace(other, tasks=[{**other.tasks[0], "asked": "new data"}])])


def test_the_noise_floor_counts_items_that_change_either_way():
    once = retention("base", "1100")
    again = [row.model_copy(update={"repeat": 1, "is_correct": row.item in "12", "loglik": -1.5}) for row in once.items]
    noise = noise_floor([replace(once, items=once.items + again, again={"batch_size": 3})])
    assert noise.iloc[0].to_dict() == {"task": "mmlu", "n": 4, "batch_size": 8, "other_batch_size": 3, "changed": 2,
                                       "difference_points": 0.0, "largest_loglik_change": 0.5}
    assert noise_floor([once]).empty


def test_table_3_reads_as_in_the_paper_with_its_denominators():
    arms = [retention("base", "1111"), retention("dapt", "1001")]
    reading = table3_for_reading(table3(arms), noise_floor(arms)).set_index("arm, % ± SE or [95%]")["MMLU (n = 4)"]
    assert reading["chance"] == "25.00" and reading["base"] == "100.00 [51.01, 100.00]"  # Wilson, where SE is 0
    assert reading["dapt"] == "50.00 ± 28.87"
    assert reading["dapt – base, points [95%]"] == "-50.00 [-141.87, +41.87]"
    assert reading["only base / only dapt; McNemar p (Holm of 1)"] == "2 / 0; 0.50 (0.50)"


def test_what_was_measured_comes_back_from_its_files(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    row = {"task": "mmlu", "item": "a/0", "is_correct": True, "loglik": -0.25}
    task = retention("base", "11").tasks[0]
    measured = Measurement({"checkpoint": "x", "batch_size": 8}, [task], [row])
    kept = write_retention("tiny", "base", measured, replace(measured, identity={"checkpoint": "x", "batch_size": 3}))
    assert read_retention("tiny", ["base"]) == [kept] and [row.repeat for row in kept.items] == [0, 1]
    with pytest.raises(ValueError, match="other_batch_size is 8, as batch_size"):
        write_retention("tiny", "base", measured, measured)
    with pytest.raises(MissingInput, match=r"00_retention.ipynb with arm dapt"):
        read_retention("tiny", ["base", "dapt"])


def test_the_figure_plots_each_difference_and_the_floor():
    arms = [retention("base", "1111"), retention("dapt", "1001"), retention("dapt@2", "1101")]
    figure, plotted = draw_retention(table3(arms), noise_floor(arms))
    assert list(plotted.arm) == ["dapt", "dapt@2"] and list(plotted.difference_points) == [-50, -25]
    assert figure.axes[0].get_xlim()[1] > 0


def test_the_identity_names_what_decides_a_measurement(laboratory, asked, monkeypatch):
    source = str(laboratory / "models" / "base")
    with monkeypatch.context() as patched, pytest.raises(ValueError, match="download the model into a folder"):
        patched.setattr("lib.retention.measure.weights_hash", lambda _: str(None))
        identity_of("org/name", Setting(), asked)
    fields = identity_of(source, Setting(limit=7), asked)
    assert fields["limit"] == 7 and fields["precision"] in ("fp32", "bf16") and fields["versions.lm_eval"]
    assert fields["content"] and fields["names"] == [CHOICE, CONTINUATION, LAST_WORD]
