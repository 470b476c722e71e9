"""Queries, outcomes and the acquisition curve of a run, with a small real model and tokenizer."""

from types import SimpleNamespace

import pytest
import torch

from lib.controlled.curve import FILE, Curve, CurveCallback
from lib.controlled.design.arms import arm_named
from lib.controlled.design.facts import make_facts
from lib.controlled.design.texts import arm_texts
from lib.controlled.outcomes import asked_about, check_whole, outcomes, queries_of
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
    return {(arm, rotation): arm_texts(FACTS, arm_named(arm, THREE), rotation, 8)
            for arm in ("raw", "mixed") for rotation in range(3)}


@pytest.fixture(scope="module")
def small(rendered):
    tokenizer = train_tokenizer([one.text for one in rendered["raw", 0]], 400)
    return new_llama(tokenizer, hidden_size=32, layers=1, heads=2, context=512, seed=0).eval(), tokenizer


def test_questions_and_answers_are_the_same_in_every_rotation_and_arm(rendered):
    asked = [[query.model_dump(exclude={"document_id", "source_reference", "start", "end"})
              for query in queries_of(FACTS, texts)] for texts in rendered.values()]
    assert all(one == asked[0] for one in asked)
    assert asked[0] == [query.model_dump(exclude={"document_id", "source_reference", "start", "end"})
                        for query in asked_about(FACTS)]
    assert {query["structure"] for query in asked[0]} == {"natural", "entity-list"}


def test_a_fact_that_stands_nowhere_is_an_error(rendered):
    with pytest.raises(ValueError, match="9 facts, .* first, stand in no document"):
        queries_of(FACTS, rendered["raw", 0][1:])


def right_answers(wrong: str = "", partly: str = "") -> list[Answer]:
    """The references as prose says them; of `partly` the first item alone and one that is none of them."""
    texts = {fact.fact_id: ", ".join(fact.value) for fact in FACTS}
    texts |= {wrong: "nobody knows"} if wrong else {}
    texts |= {partly: f"{texts[partly].split(',')[0]}, anvil"} if partly else {}
    return [Answer(query_id=fact.fact_id, arm="r", answer=texts[fact.fact_id], n_tokens=3, truncated=False)
            for fact in FACTS]


def test_an_outcome_says_what_was_answered_stored_and_how_far_the_fact_stood(rendered, small):
    model, tokenizer = small
    texts = rendered["raw", 1]
    queries = queries_of(FACTS, texts)
    wrong = next(fact.fact_id for fact in FACTS if len(fact.value) == 1)
    partly = next(fact.fact_id for fact in FACTS if len(fact.value) == 3)
    answers = right_answers(wrong, partly)
    scores = score(model, tokenizer, queries, {one.document_id: one.raw for one in texts}, "r", batch_size=8)
    rows = outcomes(FACTS, texts, tokenizer, ("raw", 1, 4), answers, judge(queries, answers, by_rules), scores, 777)
    assert [row.fact_id for row in rows] == [fact.fact_id for fact in FACTS]
    assert {row.fact_id for row in rows if not row.correct} == {wrong, partly}
    by_id = {row.fact_id: row for row in rows}
    assert (by_id[wrong].items_named, by_id[wrong].n_items) == (0, 1)
    assert (by_id[partly].items_named, by_id[partly].items_surplus, by_id[partly].n_items) == (1, 1, 3)
    assert all((row.arm, row.rotation, row.seed, row.run_tokens) == ("raw", 1, 4, 777) for row in rows)
    raw = {one.document_id: one.raw for one in texts}
    assert 0 < sum(row.as_asked for row in rows) < sum(row.structure == "natural" for row in rows)
    assert not any(row.as_asked for row in rows if row.structure != "natural")
    for row, query in zip(rows, queries, strict=True):
        before = raw[query.document_id][:query.start].split("\n", 1)[1]
        around = len(tokenizer(before, add_special_tokens=False)["input_ids"])
        assert abs(row.distance_tokens - around) <= 2
        assert abs(row.span_tokens - len(tokenizer(query.source_reference, add_special_tokens=False)["input_ids"])) <= 2


def test_a_mixed_arm_counts_each_fact_once_where_it_stands_raw(rendered, small):
    model, tokenizer = small
    texts = rendered["mixed", 2]
    queries = queries_of(FACTS, texts)
    answers = right_answers()
    scores = score(model, tokenizer, queries, {one.document_id: one.raw for one in texts}, "r", batch_size=8)
    rows = outcomes(FACTS, texts, tokenizer, ("mixed", 2, 1), answers, judge(queries, answers, by_rules), scores, 1)
    assert len(rows) == len(FACTS) and all(row.correct for row in rows)
    assert all(row.as_asked for row in rows if row.structure != "natural")  # the rewrite says them so
    alone = {place.fact_id: place.structure for one in rendered["raw", 2] for place in one.places}
    assert {row.fact_id: row.structure for row in rows} == alone


def test_the_curve_scores_before_between_and_after_and_goes_on_after_a_kill(rendered, small, tmp_path):
    model, tokenizer = small
    queries = queries_of(FACTS, rendered["raw", 0])
    curve = Curve(("raw", 0, 1), queries, dict.fromkeys([fact.fact_id for fact in FACTS], "natural"), every=2)
    args, control = SimpleNamespace(output_dir=str(tmp_path)), None

    def at(epoch: float, step: int) -> SimpleNamespace:
        return SimpleNamespace(epoch=epoch, global_step=step, max_steps=5)

    before = [weight.clone() for weight in model.parameters()]
    callback = CurveCallback(curve, tokenizer)
    callback.on_train_begin(args, at(0, 0), control, model=model)
    for epoch in range(1, 4):
        callback.on_epoch_end(args, at(epoch, epoch), control, model=model)
    second = CurveCallback(curve, tokenizer)  # the checkpoint of epoch 2 was the last whole one but one
    second.on_train_begin(args, at(1.0, 1), control, model=model)
    for epoch in range(2, 6):
        second.on_epoch_end(args, at(epoch, epoch), control, model=model)
    rows = read_records(tmp_path / FILE, AcquiredFact, "")
    assert [row.epoch for row in rows] == [epoch for epoch in (0, 2, 4, 5) for _ in FACTS]
    assert all(torch.equal(one, other) for one, other in zip(before, model.parameters(), strict=True))
    stored = {row.query_id: row.question_loglik for row in score(
        model, tokenizer, queries, {}, "r", batch_size=64)}
    assert {row.fact_id: row.question_loglik for row in rows[:len(FACTS)]} == pytest.approx(stored, abs=1e-3)


def test_a_text_that_a_block_would_cut_is_refused(rendered, small):
    texts = [one.text for one in rendered["raw", 0]]
    longest = max(len(small[1](text)["input_ids"]) + 1 for text in texts)
    check_whole(texts, small[1], longest)
    with pytest.raises(ValueError, match=f"the longest has {longest} tokens: raise block_size above {longest - 1}"):
        check_whole(texts, small[1], longest - 1)
