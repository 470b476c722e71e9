"""Runs of the exposure study: what is read at each exposure, and how each fact is scored."""

import re
from itertools import pairwise

import pytest

from lib.core.arms import EXPOSURE_ARMS
from lib.core.records import listed
from lib.exposures import runs
from lib.exposures.analysis import read_rows
from lib.exposures.runs import N_PARAPHRASES, runs_of, texts_at
from lib.infer.loglik import score
from lib.lab.bases import World, new_llama, train_tokenizer
from lib.lab.facts import question
from lib.lab.records import make_products, make_records
from lib.train.config import TrainConfig
from tests.rows import query
from tests.tiny_model import untrained

PRODUCTS = make_products(6, 1)
DOCUMENTS, FACTS = make_records(PRODUCTS, 1)
PUBLIC = make_products(9, 2, frozenset(product.name for product in PRODUCTS))
WORLD = World(PUBLIC, 1, 3, 1 / 3, 1)
TOKENIZER = train_tokenizer(WORLD.texts(), 400)
PACKING = {"public_text_share": 0.25, "block_size": 512}


@pytest.fixture(scope="module")
def model():
    return new_llama(TOKENIZER, hidden_size=32, layers=1, heads=2, context=1024, seed=1)


def statements(arm: str, exposure: int) -> dict[str, str]:
    return {
        name: one.text[start:end]
        for one in texts_at(arm, DOCUMENTS, FACTS, exposure)
        for name, (start, end) in one.places.items()
    }


@pytest.mark.parametrize("arm", EXPOSURE_ARMS)
def test_each_exposure_states_every_fact_once_with_all_of_its_value(arm):
    for exposure in (0, 1, N_PARAPHRASES, N_PARAPHRASES + 1):
        said = statements(arm, exposure)
        assert len(said) == len(FACTS)
        for fact in FACTS:
            own = said[fact.fact_id]
            assert all(item in own for item in fact.value), (arm, exposure, own)
            if arm == "normalized" or arm == "paraphrase-8" and exposure == 1:
                assert fact.entity in own and "|" not in own
    different = {tuple(statements(arm, turn).values()) for turn in range(N_PARAPHRASES + 1)}
    assert len(different) == (N_PARAPHRASES + 1 if arm == "paraphrase-8" else 1)


def test_rewriting_keeps_the_records_words_and_adds_only_a_name_that_is_missing():
    texts = {one.document_id: one.text for one in DOCUMENTS}
    rewritten, alone = statements("normalized", 0), statements("rewritten-structures", 0)
    for fact in FACTS:
        raw = texts[fact.document_id][fact.start : fact.end]
        if fact.structure == "natural":
            assert alone[fact.fact_id] == raw
            assert (rewritten[fact.fact_id] == raw) == (fact.entity in raw)
        if fact.entity in raw:  # in a list or table, too
            subject = re.split(r":| \||\b is | are ", raw.lstrip("-| "))[0]
            assert subject.removeprefix("The ").lower() in rewritten[fact.fact_id].lower()


def test_blocks_show_every_record_once_an_exposure_amid_the_wanted_share_of_public_text():
    own = [one.text for one in DOCUMENTS]
    recipe = {"epochs": 1, "learning_rate": 5e-3, "warmup_steps": 2, "weight_decay": 0.1, "seed": 3}
    config = TrainConfig(global_batch_size=2, device_batch_size=2, **recipe)
    given = ([own] * 4, WORLD.texts(), TOKENIZER, config)
    blocks, updates = runs.blocks_of(*given, **PACKING)
    assert len(updates) == 4 and len(blocks) == 2 * updates[-1]
    for begin, end in pairwise([0, *updates]):
        read = "".join(TOKENIZER.decode(ids) for ids in blocks.input_ids[2 * begin : 2 * end])
        assert all(read.count(f"# {product.name}\n") == 1 for product in PRODUCTS)
    private = 4 * sum(len(ids) for ids in TOKENIZER(own)["input_ids"])
    assert 1 - private / blocks.n_tokens == pytest.approx(0.25, abs=0.06)
    assert runs.blocks_of(*given, **PACKING) == (blocks, updates)
    scored, others = PUBLIC[:3], frozenset(product.name for product in PUBLIC[3:])
    assert not any(product.name in text for product in scored for text in WORLD.texts(others))


def test_scores_are_those_that_other_studies_give_the_same_answers(model):
    asked = [query(question=question(fact), answer=listed(fact.value)) for fact in FACTS]
    scores = score(model, TOKENIZER, asked, {}, "", batch_size=8, cloze_context_tokens=0)
    for one, found in zip(scores, runs.after_question(model, TOKENIZER, FACTS), strict=True):
        assert found.loglik == pytest.approx(one.answer_loglik / one.answer_tokens, abs=1e-4)
        assert found.n_tokens == one.answer_tokens


def test_a_value_s_items_are_scored_without_the_marks_between_them(model):
    texts = texts_at("raw", DOCUMENTS, FACTS, 0)
    scores = runs.after_record(model, TOKENIZER, texts, FACTS)
    for fact, one in zip(FACTS, scores, strict=True):
        items = TOKENIZER([f" {item}" for item in fact.value], add_special_tokens=False)
        assert abs(one.n_tokens - sum(map(len, items["input_ids"]))) <= len(fact.value)


def test_a_run_learns_and_equal_runs_are_equal(tmp_path):
    base = untrained(tmp_path / "base", WORLD.texts(), 1024)
    scored = [fact for fact in WORLD.facts if fact.entity == PUBLIC[0].name]
    work, more = tmp_path / "work", {"exposures": (1, 2, 4), "learning_rate": 5e-3, **PACKING}
    more |= {"warmup_steps": 2, "batch_size": 2, "seed": 3}
    given = (str(base), "raw", DOCUMENTS, FACTS, WORLD.texts(), scored, work)
    rows, kept = runs.run(*given, **more)
    again, _ = runs.run(*given, **more)
    assert rows.equals(again) and not work.exists()
    assert list(rows.exposures.unique()) == [0, 1, 2, 4] == list(kept.exposures)
    mean = rows.groupby("exposures").record.mean()
    assert mean.is_monotonic_increasing and mean[4] > mean[0] + 0.5
    path, files = tmp_path / "rows" / "7.csv.gz", set()
    for _ in range(2):
        runs.write_rows(path, rows)
        files.add(path.read_bytes())
    read = read_rows(path.parent)
    assert len(files) == len({*read.base}) == 1 and read.record.tolist() == rows.record.tolist()


def test_raw_text_is_trained_in_every_rotation_and_other_arms_in_the_bases_own():
    raw = [("raw", rotation) for rotation in range(3)]
    found = [run[:2] for run in runs_of(["raw", "normalized"], [], [{}], 20)]
    assert found == [*raw, ("normalized", 2)] and len(runs_of(["raw"], [0], [{}, {}], 20)) == 2
    with pytest.raises(ValueError, match="'replay_share' is unknown; .*public_text_share"):
        runs_of(["raw"], [], [{"replay_share": 0.1}], 20)
