"""Prompts in each form, cut to a window; replies read leniently; figures judged."""

import pytest

from lib.tablequest.answers import (
    FORMS,
    NO_JSON,
    TASK,
    as_queries,
    failure,
    judged,
    read_reply,
)
from lib.tablequest.questions import serialized
from lib.tasks.task import Room, Shown
from tests.played_model import outside
from tests.tablequest.alm import ASKED, PASSAGE, QUESTIONS, TABLES, TEXTS, cases

QUERIES = as_queries(QUESTIONS, TEXTS, [*FORMS])
INTRO = "Net sales were as follows (in millions):"


def fit(window: int) -> Shown:
    return TASK.fit(QUERIES[:2], {}, Room(window, 10, lambda text: len(text.split())))


def test_each_form_holds_every_label_and_value_and_the_note():
    for form in FORMS:
        text = serialized(PASSAGE, TEXTS.grids, form)
        assert text.count(INTRO) == text.count("(in millions)") == 1
        for grid in TABLES:
            labels = [label.rpartition(": ")[2] for label in grid.rows]
            cells = [cell.text for row in grid.cells for cell in row]
            assert all(part in text for part in (*labels, *grid.columns, *cells))
    assert "ignore all rules" not in outside(QUERIES[0].context, ("passage", "question"))
    with pytest.raises(ValueError, match="choose among html, markdown, json"):
        as_queries(QUESTIONS, TEXTS, ["csv"])


def test_a_passage_loses_its_end_where_the_window_is_small():
    assert fit(5_000).cut == []
    short = fit(240)
    assert len(short.cut) == 2 and not short.too_long
    assert all(QUESTIONS[0].question in one.context for one in short.queries)
    assert all(len(one.context.split()) <= 230 - 16 for one in short.queries)
    too_long = fit(100).too_long
    assert [row.rejected_text for row in too_long] == ["q1:html", "q1:markdown"]


@cases("replies")
def test_a_reply_is_read_or_says_what_it_lacks(case):
    found = read_reply(case["reply"])
    assert [found.text, found.missing] == [case["text"], case["missing"]]
    assert read_reply('[{"a":' * 3000).missing == NO_JSON


@cases("figures")
def test_a_figure_counts_with_sign_scale_and_unit(case):
    question = ASKED[case["question"]]
    found = {text: judged(question, text)[0] for text in case["answers"]}
    assert found == dict.fromkeys(found, case["verdict"])


@cases("failures")
def test_each_answer_fails_in_the_first_way_that_applies(case):
    question = ASKED[case["question"]]
    assert failure(question, read_reply(case["reply"]), TEXTS) == case["mode"]
    assert failure(question, read_reply("{"), TEXTS, True) == "incomplete"
