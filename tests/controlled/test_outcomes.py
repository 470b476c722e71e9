"""Queries, outcomes and the acquisition curve of a run, with a small real model and tokenizer."""

from types import SimpleNamespace

import pytest
import torch

from lib.controlled.curve import FILE, Curve, CurveCallback
from lib.controlled.design.arms import arm_named
from lib.controlled.design.facts import make_facts
from lib.controlled.design.texts import arm_texts
from lib.controlled.outcomes import check_fit, outcomes, queries_of, query_of
from lib.controlled.records import AcquiredFact
from lib.core.files import read_records
from lib.core.records import Answer
from lib.infer.loglik import score
from lib.judge.rules import by_rules
from lib.judge.verdicts import judge
from lib.lab.base_model import new_llama, train_tokenizer

THREE = ("natural", "entity-list", "tabular")
FACTS = make_facts(3, 8)


@pytest.fixture(scope="module")
def rendered():
    return {(arm, rotation): arm_texts(FACTS, arm_named(arm), rotation, 8, THREE)
            for arm in ("raw", "mixed") for rotation in range(3)}


@pytest.fixture(scope="module")
def small(rendered):
    tokenizer = train_tokenizer([one.text for one in rendered["raw", 0]], 400)
    model = new_llama(tokenizer, hidden_size=32, layers=1, heads=2, context=512, seed=0)
    return model.eval(), tokenizer


def outcomes_of(small, texts, run: tuple[str, int, int], wrong: str = "", partly: str = ""):
    """Return queries and outcomes, all correct except one answer `wrong` and one `partly` right."""
    model, tokenizer = small
    queries = queries_of(FACTS, texts)
    answers = {fact.fact_id: ", ".join(fact.value) for fact in FACTS}
    if wrong:
        answers |= {wrong: "nobody knows", partly: f"{answers[partly].split(',')[0]}, anvil"}
    rows = [Answer(query_id=fact_id, arm="r", answer=text, n_tokens=3, truncated=False)
            for fact_id, text in answers.items()]
    raw = {one.document_id: one.raw for one in texts}
    scores = score(model, tokenizer, queries, raw, "r", batch_size=8)
    verdicts = judge(queries, rows, by_rules)
    return queries, outcomes(FACTS, texts, tokenizer, run, rows, verdicts, scores, 777, 1554, 0.5)


def test_questions_and_answers_are_the_same_in_every_rotation_and_arm(rendered):
    place = {"document_id", "source_reference", "start", "end"}
    first, *others = [[query.model_dump(exclude=place) for query in queries_of(FACTS, texts)]
                      for texts in rendered.values()]
    assert all(one == first for one in others)
    assert first == [query_of(fact).model_dump(exclude=place) for fact in FACTS]
    assert {query["structure"] for query in first} == {""}


def test_a_fact_that_is_in_no_document_is_an_error(rendered):
    with pytest.raises(ValueError, match="9 facts .* are in no document .*controlled_run"):
        queries_of(FACTS, rendered["raw", 0][1:])


def test_an_outcome_has_the_answer_what_is_stored_and_the_facts_distance(rendered, small):
    texts, tokenizer = rendered["raw", 1], small[1]
    wrong = next(fact.fact_id for fact in FACTS if len(fact.value) == 1)
    partly = next(fact.fact_id for fact in FACTS if len(fact.value) == 3)
    queries, rows = outcomes_of(small, texts, ("raw", 1, 4), wrong, partly)
    by_id = {row.fact_id: row for row in rows}
    assert list(by_id) == [fact.fact_id for fact in FACTS]
    assert {row.fact_id for row in rows if not row.correct} == {wrong, partly}
    items = [(row.items_named, row.items_surplus, row.n_items)
             for row in (by_id[wrong], by_id[partly])]
    assert items == [(0, 0, 1), (1, 1, 3)]
    assert {(row.arm, row.rotation, row.seed, row.run_tokens) for row in rows} == {
        ("raw", 1, 4, 777)}
    assert 0 < sum(row.as_asked for row in rows) < sum(row.structure == "natural" for row in rows)
    assert not any(row.as_asked for row in rows if row.structure != "natural")
    raw = {one.document_id: one.raw for one in texts}
    for row, query in zip(rows, queries, strict=True):
        before = raw[query.document_id][:query.start].split("\n", 1)[1]
        around, own = (len(tokenizer(text, add_special_tokens=False)["input_ids"])
                       for text in (before, query.source_reference))
        assert abs(row.distance_tokens - around) <= 2 and abs(row.span_tokens - own) <= 2


def test_a_mixed_arm_counts_each_fact_once_in_its_raw_structure(rendered, small):
    _, rows = outcomes_of(small, rendered["mixed", 2], ("mixed", 2, 1))
    assert len(rows) == len(FACTS) and all(row.correct for row in rows)
    assert all(row.as_asked for row in rows if row.structure != "natural")  # in the rewrite
    raw = {place.fact_id: place.structure for one in rendered["raw", 2] for place in one.places}
    assert {row.fact_id: row.structure for row in rows} == raw


def test_the_curve_scores_before_between_and_after_and_resumes_after_a_kill(rendered, small,
                                                                            tmp_path):
    model, tokenizer = small
    queries = queries_of(FACTS, rendered["raw", 0])
    structures = dict.fromkeys([fact.fact_id for fact in FACTS], "natural")
    curve, args = Curve(("raw", 0, 1), queries, structures, every=2), SimpleNamespace(
        output_dir=str(tmp_path))
    before = [weight.clone() for weight in model.parameters()]
    for begin, end in ((0, 3), (1, 5)):  # killed; the last complete checkpoint is of epoch 1
        callback = CurveCallback(curve, tokenizer)
        callback.on_train_begin(args, SimpleNamespace(epoch=begin), None, model=model)
        for epoch in range(begin + 1, end + 1):
            state = SimpleNamespace(epoch=epoch, global_step=epoch, max_steps=5)
            callback.on_epoch_end(args, state, None, model=model)
    rows = read_records(tmp_path / FILE, AcquiredFact, "")
    assert [row.epoch for row in rows] == [epoch for epoch in (0, 2, 4, 5) for _ in FACTS]
    assert all(torch.equal(*both) for both in zip(before, model.parameters(), strict=True))
    stored = {row.query_id: row.question_loglik
              for row in score(model, tokenizer, queries, {}, "r", batch_size=64)}
    first = {row.fact_id: row.question_loglik for row in rows[:len(FACTS)]}
    assert first == pytest.approx(stored, abs=1e-3)


def test_a_text_that_does_not_fit_a_block_is_refused(rendered, small):
    texts = [one.text for one in rendered["raw", 0]]
    longest = max(len(small[1](text)["input_ids"]) + 1 for text in texts)
    check_fit(texts, small[1], longest)
    with pytest.raises(ValueError, match=f"the longest has {longest} tokens: raise block_size"):
        check_fit(texts, small[1], longest - 1)
