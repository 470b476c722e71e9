"""Runs of the exposure study: what is read at each exposure, and how each fact is scored."""

import re
from collections import Counter

import pytest
import torch

from lib.core.structures import STRUCTURES
from lib.core.text import listed
from lib.exposures.arms import ARMS, N_PARAPHRASES, arm_named, records, runs_of
from lib.exposures.outcomes import read_rows, run, write_rows
from lib.exposures.scores import after_question, after_record
from lib.exposures.training import Regime, blocks_of
from lib.infer.decode import continuations
from lib.infer.prompts import prompt_for
from lib.lab.base_model import make_world, new_llama, train_tokenizer
from lib.lab.engines import question
from lib.lab.products import make_products

PRODUCTS = make_products(6, 1)
DOCUMENTS, FACTS = records(PRODUCTS, 1, 0)
PUBLIC = make_products(9, 2, frozenset(product.name for product in PRODUCTS))
WORLD = make_world(PUBLIC, 1, 3, 1 / 3, 1)
TOKENIZER = train_tokenizer(WORLD.texts(), 400)
REGIME = Regime((1, 2, 4), 5e-3, 0.25, warmup_steps=2, batch_size=2, block_size=512)


@pytest.fixture(scope="module")
def model():
    return new_llama(TOKENIZER, hidden_size=32, layers=1, heads=2, context=1024, seed=1)


@pytest.mark.parametrize("arm", ARMS)
def test_each_exposure_states_every_fact_once_with_all_of_its_value(arm):
    for exposure in (0, 1, N_PARAPHRASES, N_PARAPHRASES + 1):
        texts = ARMS[arm].write(DOCUMENTS, FACTS, exposure)
        places = {
            name: one.text[start:end] for one in texts for name, (start, end) in one.places.items()
        }
        assert len(places) == len(FACTS) == sum(len(one.places) for one in texts)
        for fact in FACTS:
            said = places[fact.fact_id]
            assert all(item in said for item in fact.value), (arm, exposure, said)
            if arm in ("normalized", "paraphrase-8") and (arm == "normalized" or exposure == 1):
                assert fact.entity in said and "|" not in said


def test_rewriting_keeps_the_records_words_and_adds_only_a_name_that_is_missing():
    texts = {one.document_id: one.text for one in DOCUMENTS}
    rewritten, alone = (
        dict(
            pair
            for one in ARMS[arm].write(DOCUMENTS, FACTS, 0)
            for pair in [(name, one.text[start:end]) for name, (start, end) in one.places.items()]
        )
        for arm in ("normalized", "rewritten-structures")
    )
    for fact in FACTS:
        raw = texts[fact.document_id][fact.start : fact.end]
        if fact.structure == "natural":
            assert alone[fact.fact_id] == raw
            assert (rewritten[fact.fact_id] == raw) == (fact.entity in raw)
        if fact.entity in raw:  # in a list or table, too
            subject = re.split(r":| \||\b is | are ", raw.lstrip("-| "))[0]
            assert subject.removeprefix("The ").lower() in rewritten[fact.fact_id].lower()


def test_paraphrases_differ_from_the_record_and_from_each_other():
    texts = [
        ARMS["paraphrase-8"].write(DOCUMENTS, FACTS, turn)[0].text
        for turn in range(N_PARAPHRASES + 1)
    ]
    assert len(set(texts)) == N_PARAPHRASES + 1 and texts[0] == DOCUMENTS[0].text


def test_blocks_show_every_record_once_an_exposure_amid_the_wanted_share_of_public_text():
    own = [one.text for one in DOCUMENTS]
    blocks, updates = blocks_of(lambda _: own, WORLD.texts(), TOKENIZER, REGIME, seed=3)
    assert len(updates) == 4 and len(blocks) == 2 * updates[-1]
    begin, titles = 0, [f"# {product.name}\n" for product in PRODUCTS]
    for end in updates:
        read = "".join(TOKENIZER.decode(ids) for ids in blocks.input_ids[2 * begin : 2 * end])
        assert Counter(title for title in titles if read.count(title) == 1).total() == 6
        begin = end
    private = 4 * sum(len(ids) for ids in TOKENIZER(own)["input_ids"])
    assert 1 - private / blocks.n_tokens == pytest.approx(0.25, abs=0.06)
    again, _ = blocks_of(lambda _: own, WORLD.texts(), TOKENIZER, REGIME, seed=3)
    assert again == blocks


def test_replayed_text_names_no_product_that_is_scored():
    scored = {product.name for product in PUBLIC[:3]}
    replayed = WORLD.texts(frozenset(product.name for product in PUBLIC[3:]))
    assert replayed and not any(name in text for name in scored for text in replayed)


def test_answered_is_what_greedy_decoding_answers_and_scores_are_those_of_each_text_alone(model):
    facts = FACTS[:8]
    found = after_question(model, TOKENIZER, facts)
    for fact, one in zip(facts, found, strict=True):
        prompt = TOKENIZER(prompt_for(question(fact)))["input_ids"]
        value = TOKENIZER(f" {listed(fact.value)}", add_special_tokens=False)["input_ids"]
        ids = torch.tensor([prompt + value])
        logits = model(ids).logits[0].log_softmax(-1)
        alone = sum(
            logits[len(prompt) + place - 1, token].item() for place, token in enumerate(value)
        ) / len(value)
        assert one.loglik == pytest.approx(alone, abs=1e-4) and one.n_tokens == len(value)
    for one in PUBLIC[:1]:
        fact = next(fact for fact in WORLD.facts if fact.entity == one.name)
        (greedy,) = continuations(
            model, TOKENIZER, [TOKENIZER(prompt_for(question(fact)))["input_ids"]], [12]
        )
        answered = fact.model_copy(update={"value": [TOKENIZER.decode(greedy.tokens).strip()]})
        (own,) = after_question(model, TOKENIZER, [answered])
        value = TOKENIZER(f" {answered.value[0]}", add_special_tokens=False)["input_ids"]
        assert own.is_greedy == (value == greedy.tokens and not greedy.truncated)


def test_a_list_s_items_are_scored_without_the_marks_between_them(model):
    texts = ARMS["raw"].write(DOCUMENTS, FACTS, 0)
    by_id = dict(
        zip(
            [fact.fact_id for fact in FACTS],
            after_record(model, TOKENIZER, texts, FACTS),
            strict=True,
        )
    )
    several = [fact for fact in FACTS if fact.value[1:]]
    for fact in several:
        own = sum(
            len(TOKENIZER(f" {item}", add_special_tokens=False)["input_ids"]) for item in fact.value
        )
        assert abs(by_id[fact.fact_id].n_tokens - own) <= len(fact.value)
    assert {fact.structure for fact in several} == set(STRUCTURES)


def test_a_run_learns_and_equal_runs_are_equal(model, tmp_path):
    base = tmp_path / "base"
    for part in (model, TOKENIZER):
        part.save_pretrained(base)
    scored = [fact for fact in WORLD.facts if fact.entity == PUBLIC[0].name]
    given = (str(base), ARMS["raw"], DOCUMENTS, FACTS, WORLD.texts(), scored, REGIME, 1)
    rows, kept = run(*given, tmp_path / "work")
    again, _ = run(*given, tmp_path / "work")
    assert rows.equals(again) and not (tmp_path / "work").exists()
    assert list(rows.exposures.unique()) == [0, 1, 2, 4] == list(kept.exposures)
    mean = rows.groupby("exposures").record.mean()
    assert mean.is_monotonic_increasing and mean[4] > mean[0] + 0.5
    write_rows(tmp_path / "rows" / "7.csv.gz", rows)
    read = read_rows(tmp_path / "rows")
    assert set(read.base) == {7} and read.record.tolist() == rows.record.tolist()
    before = (tmp_path / "rows" / "7.csv.gz").read_bytes()
    write_rows(tmp_path / "rows" / "7.csv.gz", rows)
    assert (tmp_path / "rows" / "7.csv.gz").read_bytes() == before


def test_raw_text_is_trained_in_every_rotation_and_other_arms_in_the_bases_own():
    assert [run[:2] for run in runs_of(["raw", "normalized"], [], [{}], 20)] == [
        ("raw", 0),
        ("raw", 1),
        ("raw", 2),
        ("normalized", 2),
    ]
    assert len(runs_of(["raw"], [0], [{}, {}], 20)) == 2
    with pytest.raises(ValueError, match="'row' is unknown; choose among raw"):
        arm_named("row")
