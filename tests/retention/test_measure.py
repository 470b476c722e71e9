"""Measuring retention: items about what a base has read, one BOS, likelihoods by hand."""

import json
import re

import datasets
import pytest
import torch

from lib.core.records import listed
from lib.core.store import write_records
from lib.infer.generate import load
from lib.lab.bases import new_llama, train_tokenizer
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

N_PRODUCTS = 12


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory):
    """Return a laboratory's folder: public records and facts, and an untrained base."""
    folder = tmp_path_factory.mktemp("root") / "data" / "tiny"
    documents, facts = public_records(make_products(N_PRODUCTS, 3), 3, 2, 1 / 3)
    write_records(folder / "documents_public.jsonl", documents)
    write_records(folder / "facts.jsonl", facts)
    texts = [document.text for document in documents] + ["Question: What is it?\nAnswer:"]
    tokenizer = train_tokenizer(texts, 400)
    model = new_llama(tokenizer, hidden_size=64, layers=2, heads=2, context=512, seed=1)
    model.save_pretrained(folder / "models" / "base")
    tokenizer.save_pretrained(folder / "models" / "base")
    return folder


@pytest.fixture(scope="module")
def source(laboratory):
    return str(laboratory / "models" / "base")


@pytest.fixture
def base(source):
    return load(source)


@pytest.fixture(scope="module")
def tasks(source, tmp_path_factory):
    return tasks_of(Setting(), source, tmp_path_factory.mktemp("tasks"))


def test_the_right_choice_is_what_the_records_say_and_no_other(laboratory):
    labels = [attribute.label for attribute in ATTRIBUTES]
    products = {
        product.name: dict(zip(labels, product.values, strict=True))
        for product in make_products(N_PRODUCTS, 3)
    }
    items = lab_items(laboratory)
    assert len(items) == N_PRODUCTS * len(ATTRIBUTES)
    assert len({item["product"] for item in items[:N_PRODUCTS]}) == N_PRODUCTS
    for item in items:
        own = {listed(value) for value in products[item["product"]].values()}
        is_own = [choice in own for choice in item["choices"]]
        assert is_own == [n == item["gold"] for n in range(N_CHOICES)]
        assert item["product"] in item["question"]


def likelihood(base, question: str, answer: str) -> tuple[float, bool]:
    """Return the log-likelihood of `answer` and whether each of its tokens is the argmax."""
    model, tokenizer = base
    before = f"Question: {question}\nAnswer:"
    n_before = len(tokenizer(before)["input_ids"])
    tokens = torch.tensor([tokenizer(f"{before} {answer}")["input_ids"]])
    with torch.no_grad():
        logs = model(tokens).logits[0].log_softmax(-1)
    places = range(n_before - 1, tokens.shape[1] - 1)
    return (
        sum(float(logs[place, tokens[0, place + 1]]) for place in places),
        all(int(logs[place].argmax()) == int(tokens[0, place + 1]) for place in places),
    )


def test_a_choice_is_right_if_its_likelihood_by_hand_is_highest(
    base, laboratory, tasks, monkeypatch
):
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("uses the network"))
    items = lab_items(laboratory)[:6]
    summary, rows = evaluated(*base, LAB, tasks.folder, Setting(limit=6, batch_size=4))
    logs = [
        [likelihood(base, item["question"], choice)[0] for choice in item["choices"]]
        for item in items
    ]
    right = [row[item["gold"]] for row, item in zip(logs, items, strict=True)]
    assert [row["is_correct"] for row in rows] == [
        own == max(all_four) for own, all_four in zip(right, logs, strict=True)
    ]
    assert [row["loglik"] for row in rows] == pytest.approx(right, abs=1e-3)
    assert summary["chance"] == 1 / N_CHOICES and summary["n"] == 6


def test_general_questions_are_asked_with_choices_and_without(base, source, tmp_path):
    asked = tasks_of(Setting("general"), source, tmp_path)
    assert asked.names == ["general_choice", "general_recall"]
    items = [json.loads(line) for line in QUESTIONS.read_text().splitlines()[:3]]
    (choice, chosen), (recall, recalled) = (
        evaluated(*base, name, asked.folder, Setting(limit=3, batch_size=4)) for name in asked.names
    )
    assert (choice["chance"], recall["chance"]) == (0.25, None)
    for item, one, other in zip(items, chosen, recalled, strict=True):
        assert len(set(item["choices"])) == 4
        loglik, is_greedy = likelihood(base, item["question"], item["choices"][item["gold"]])
        assert one["loglik"] == other["loglik"] == pytest.approx(loglik, abs=1e-3)
        assert other["is_correct"] == is_greedy


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


def test_a_measurement_names_the_weights_and_settings_that_determine_it(base, tasks, tmp_path):
    model, tokenizer = base
    arm, setting = tmp_path / "arm", Setting(limit=3, batch_size=4)
    model.save_pretrained(arm)
    tokenizer.save_pretrained(arm)
    first = measure("dapt", str(arm), setting, tasks)
    (arm / "training.json").write_text('{"seconds": 3}')  # not a weight
    assert measure("dapt", str(arm), setting, tasks) == first
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
    hellaswag = {
        "activity_label": "Run",
        "ctx_a": "He runs",
        "endings": ["home.", "away.", "up.", "down."],
    }
    rows = {
        "cais/mmlu": [{**mmlu, "question": f"{n}?", "answer": n % 4} for n in range(5)],
        "Rowan/hellaswag": [
            {**hellaswag, "ctx_b": f"fast {n}", "label": str(n % 4)} for n in range(5)
        ],
        "EleutherAI/lambada_openai": [{"text": f"He runs from a dog {n}"} for n in range(5)],
    }
    splits = {"cais/mmlu": ("test", "dev"), "Rowan/hellaswag": ("train", "validation")}
    monkeypatch.setattr(
        datasets,
        "load_dataset",
        lambda path, **_: datasets.DatasetDict(
            {split: datasets.Dataset.from_list(rows[path]) for split in splits.get(path, ("test",))}
        ),
    )


@pytest.mark.slow  # lm_eval reads the files of MMLU's 57 tasks
def test_the_hub_tasks_are_those_of_the_paper_zero_shot(base, hub):
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
