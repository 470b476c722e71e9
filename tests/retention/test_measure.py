"""Measuring retention: items about what a base has read, one BOS, likelihoods."""

import json
import re
import shutil

import datasets
import pytest
import torch

from lib.core.records import listed
from lib.core.store import write_records
from lib.infer.generate import load
from lib.infer.loglik import score
from lib.lab.records import ATTRIBUTES, make_products, public_records
from lib.retention import (
    HUB,
    LAB,
    N_CHOICES,
    QUESTIONS,
    Setting,
    evaluated,
    lab_items,
    measure,
    one_bos,
    tasks_of,
)
from tests.rows import query
from tests.tiny_model import untrained

N_PRODUCTS = 12


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory):
    """Return a laboratory's folder: public records and facts, and an untrained base."""
    folder = tmp_path_factory.mktemp("root") / "data" / "tiny"
    documents, facts = public_records(make_products(N_PRODUCTS, 3), 3, 2, 1 / 3)
    write_records(folder / "documents_public.jsonl", documents)
    write_records(folder / "facts.jsonl", facts)
    texts = [document.text for document in documents] + ["Question: What is it?\nAnswer:"]
    untrained(folder / "models" / "base", texts)
    return folder


@pytest.fixture(scope="module")
def source(laboratory):
    return str(laboratory / "models" / "base")


@pytest.fixture
def base(source):
    return load(source)


def test_the_right_choice_is_what_the_records_say_and_no_other(laboratory):
    values = {one.name: set(map(listed, one.values)) for one in make_products(N_PRODUCTS, 3)}
    items = lab_items(laboratory)
    assert len(items) == N_PRODUCTS * len(ATTRIBUTES)
    assert len({item["product"] for item in items[:N_PRODUCTS]}) == N_PRODUCTS
    for item in items:
        is_own = [choice in values[item["product"]] for choice in item["choices"]]
        assert is_own == [n == item["gold"] for n in range(N_CHOICES)]
        assert item["product"] in item["question"]


def likelihood(base, question: str, answer: str) -> tuple[float, bool]:
    """Return the study's own score of `answer`: it does not use lm-eval."""
    asked = [query(question=question, answer=answer)]
    [found] = score(*base, asked, {}, "", batch_size=1, cloze_context_tokens=0)
    return found.answer_loglik, found.answer_is_greedy


@pytest.mark.parametrize("kind", ["lab", "general"])
def test_an_answer_is_right_by_its_likelihood(kind, base, source, tmp_path, monkeypatch):
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("uses the network"))
    names, folder, _ = tasks_of(Setting(kind), source, tmp_path)
    assert names == {"lab": [LAB], "general": ["general_choice", "general_recall"]}[kind]
    path = QUESTIONS if kind == "general" else folder / f"{LAB}.jsonl"
    items = [json.loads(line) for line in path.read_text().splitlines()[:4]]
    for name in names:
        summary, rows = evaluated(*base, name, folder, Setting(limit=4, batch_size=3))
        is_choice = name != "general_recall"  # in which each token is to be the most likely
        assert (summary["n"], summary["chance"]) == (4, 1 / N_CHOICES if is_choice else None)
        for item, row in zip(items, rows, strict=True):
            logs = [likelihood(base, item["question"], choice) for choice in item["choices"]]
            right, is_greedy = logs[item["gold"]]
            assert row["loglik"] == pytest.approx(right, abs=1e-3)
            assert row["is_correct"] == (right == max(logs)[0] if is_choice else is_greedy)


def test_a_prompt_has_exactly_one_bos_and_keeps_it_when_truncated(base):
    model, tokenizer = base
    wrapped, bos = one_bos(model, tokenizer, 2), tokenizer.bos_token_id
    word = tokenizer("x", add_special_tokens=False)["input_ids"][0]

    def scored(context):
        return wrapped._loglikelihood_tokens([(("x", "x"), context, [word])], disable_tqdm=True)

    for context in ([word, word], [bos, word, bos], [word, bos]):
        with pytest.raises(ValueError, match="exactly one BOS"):
            scored(context)
    truncated = scored([bos] + [word] * 3 * wrapped.max_length)
    assert wrapped.n_cut == 1
    assert truncated == scored([bos] + [word] * (wrapped.max_length - 1)) and wrapped.n_cut == 1


def test_a_measurement_names_the_weights_and_settings_that_determine_it(source, tmp_path):
    arm, setting = shutil.copytree(source, tmp_path / "arm"), Setting(limit=3, batch_size=4)
    tasks = tasks_of(setting, source, tmp_path / "tasks")
    first = measure("dapt", str(arm), setting, tasks)
    (arm / "training.json").write_text('{"seconds": 3}')  # not a weight
    assert measure("dapt", str(arm), setting, tasks) == first
    model, _ = load(source)
    with torch.no_grad():
        next(model.parameters()).add_(0.5)
    model.save_pretrained(arm)  # the same name
    again = measure("dapt", str(arm), setting, tasks)
    assert [row.loglik for row in again.items] != [row.loglik for row in first.items]
    assert {row.item for row in again.items} == {row.item for row in first.items}
    one, two = first.fingerprint, again.fingerprint
    assert [name for name in one if one[name] != two[name]] == ["checkpoint"]


@pytest.fixture
def hub(monkeypatch):
    """Serve a few rows of the hub's datasets in the form that lm-eval's own task files expect."""
    mmlu = {"choices": list("wxyz"), "subject": ""}
    hellaswag = {"activity_label": "Run", "ctx_a": "He runs", "endings": ["home", "up", "by", "in"]}
    rows = {
        "cais/mmlu": [mmlu | {"question": f"{n}?", "answer": n % 4} for n in range(5)],
        "Rowan/hellaswag": [hellaswag | {"ctx_b": f"{n}", "label": str(n % 4)} for n in range(5)],
        "EleutherAI/lambada_openai": [{"text": f"He runs from a dog {n}"} for n in range(5)],
    }
    splits = {"cais/mmlu": ("test", "dev"), "Rowan/hellaswag": ("train", "validation")}

    def served(path, **_):
        own = datasets.Dataset.from_list(rows[path])
        return datasets.DatasetDict(dict.fromkeys(splits.get(path, ("test",)), own))

    monkeypatch.setattr(datasets, "load_dataset", served)


@pytest.mark.slow  # lm_eval reads the files of MMLU's 57 tasks
def test_the_hub_tasks_are_those_of_the_paper_zero_shot(base, hub, monkeypatch):
    monkeypatch.delattr("multiprocessing.Pool")  # it hung beside threads
    for name in HUB:
        summary, items = evaluated(*base, name, None, Setting(limit=4))
        n = 2 * 57 if name == "mmlu" else 4  # at least two of each subject
        assert summary["n"] == len(items) == len({row["item"] for row in items}) == n
        assert summary["accuracy"] == pytest.approx(sum(row["is_correct"] for row in items) / n)
        assert summary["chance"] == (None if name == "lambada_openai" else 0.25)
        assert summary["stderr"] >= 0


@pytest.mark.slow  # likewise
def test_a_task_of_a_hub_that_cannot_be_reached_is_missing_and_says_what_to_do(base, monkeypatch):
    def unreachable(*_, **__):
        raise ConnectionError("Couldn't reach the Hub")

    monkeypatch.setattr(datasets, "load_dataset", unreachable)
    summary, items = evaluated(*base, "lambada_openai", None, Setting(limit=2))
    assert not items and re.search(r"could not be .*network.*tasks: none", summary["missing"])
