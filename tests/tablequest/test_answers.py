"""Prompts in each form, cut to a window; replies read leniently; figures judged."""

import json
import re

import pytest

from lib.tablequest.answers import (
    FORMS,
    NO_ANSWER,
    NO_JSON,
    NO_REPLY,
    TASK,
    as_queries,
    failure,
    judged,
    read_reply,
    word_scores,
)
from lib.tablequest.questions import serialized
from lib.tasks.task import Room
from tests.played_model import outside
from tests.tablequest.alm import EASY, GROWTH, HARD, LOSS, PASSAGE, QUESTIONS, TABLES, TEXTS

QUERIES = as_queries(QUESTIONS, TEXTS, [*FORMS])
INTRO = "Net sales were as follows (in millions):"


def room(window: int) -> Room:
    return Room(window, 10, lambda text: len(text.split()))


def test_each_form_holds_every_label_and_value_and_the_note():
    for form in FORMS:
        text = serialized(PASSAGE, TEXTS.grids, form)
        assert text.count(INTRO) == text.count("(in millions)") == 1
        for grid in TABLES:
            labels = [label.rpartition(": ")[2] for label in grid.rows]
            cells = [cell.text for row in grid.cells for cell in row]
            assert all(part in text for part in (*labels, *grid.columns, *cells))
    assert [query.query_id for query in QUERIES[:3]] == ["q1:html", "q1:markdown", "q1:json"]
    assert "ignore all rules" not in outside(QUERIES[0].context, ("passage", "question"))
    with pytest.raises(ValueError, match="of html, markdown, json"):
        as_queries(QUESTIONS, TEXTS, ["csv"])


def test_a_passage_loses_its_end_where_the_window_is_small():
    assert TASK.fit(QUERIES[:2], {}, room(5_000)).cut == []
    short = TASK.fit(QUERIES[:2], {}, room(240))
    assert len(short.cut) == 2 and not short.too_long
    assert all(EASY.question in one.context for one in short.queries)
    assert all(len(one.context.split()) <= 230 - 16 for one in short.queries)
    too_long = TASK.fit(QUERIES[:2], {}, room(100)).too_long
    assert [row.rejected_text for row in too_long] == ["q1:html", "q1:markdown"]


def test_a_few_shot_prompt_shows_solved_examples_in_its_form_and_cutting_keeps_them():
    cells = {"html": "<td>410</td>", "markdown": "| 410 |", "json": '"410"'}
    shown = TASK.with_shots(QUERIES, 2)
    for query, few in zip(QUERIES, shown, strict=True):
        examples, own = few.context.rsplit("<passage>", 1)
        assert query.context.endswith(f"<passage>{own}")
        assert cells[few.query_id.partition(":")[2]] in examples
        replies = re.findall(r"^JSON:\n(.+)", examples, re.M)
        assert [read_reply(one).text for one in replies] == ["$410 million", "-8.0%"]
    short = TASK.fit(shown[:1], {}, room(380)).cut[0].context
    assert EASY.question in short and short.count("JSON:\n{") == 2
    assert len(short.split()) <= 370 - 16 < len(shown[0].context.split())
    with pytest.raises(ValueError, match="shots is 3: there are 2"):
        TASK.with_shots(QUERIES, 3)


@pytest.mark.parametrize(
    ("reply", "text", "missing"),
    [
        ('{"steps": ["Look."], "answer": "$5"}', "$5", ""),
        ('{"answer": 391.0}', "391.0", ""),
        ('<think>{"answer": 1}</think>```json\n{"answer": "2",}\n```', "2", ""),
        ('So {"steps": ["a"], "answer": "$5 million"', "$5 million", ""),
        ('{"answer": "1"} or {"answer": "2"}', "2", ""),
        ('{"answer": ["1", "2"]}', "1\n2", ""),
        ('{"answer": "It rose by', "", NO_JSON),  # cut short
        ("$5", "", NO_JSON),
        ("", "", NO_REPLY),
        ('{"answer": ""}', "", NO_ANSWER),
        ("{" * 3000, "", NO_JSON),
    ],
)
def test_a_reply_is_read_or_says_what_it_lacks(reply, text, missing):
    found = read_reply(reply)
    assert (found.text, found.missing) == (text, missing)


@pytest.mark.parametrize(
    ("question", "verdict", "answers"),
    [
        (EASY, "correct", "$391,035 million; 391,035; $391.0 billion; 391035000000 US dollars"),
        (EASY, "correct", "USD 391,035m; In 2024: $391,035 million"),
        (EASY, "incorrect", "$391,035 thousand; $391,035 billion; €391,035 million; 391,035%"),
        (EASY, "incorrect", "-$391,035 million; $383,285 million; $400 billion"),
        (EASY, "incorrect", "391,035 million shares"),
        (EASY, "unscored", "a lot; $391,035 million or $383,285 million"),
        (LOSS, "correct", "-$1,117 million; $(1,117) million; (1,117 million)"),
        (LOSS, "correct", "−1,117 million dollars"),
        (LOSS, "incorrect", "$1,117 million; -$1,117"),
        (GROWTH, "correct", "12.9%; 12.87 percent; 12.9; 12.85%; +12.9%"),
        (GROWTH, "incorrect", "-12.9%; 13.5%; $12.9 million; 0.129; 10"),
        (HARD, "unscored", "Net sales of pumps rose by 2.0%."),
    ],
)
def test_a_figure_counts_with_sign_scale_and_unit(question, verdict, answers):
    found = {text: judged(question, text)[0] for text in answers.split("; ")}
    assert found == dict.fromkeys(found, verdict)


@pytest.mark.parametrize(
    ("question", "reply", "mode"),
    [
        (EASY, {"answer": "$391,035 million"}, "right"),
        (EASY, {"answer": ""}, "empty"),
        (EASY, {"answers": "5"}, "format"),
        (EASY, {"answer": "$391,035 billion"}, "wrong unit"),
        (EASY, {"answer": "$383,285 million"}, "wrong cell"),
        (EASY, {"answer": "$7 million"}, "other"),
        (EASY, {"answer": "many"}, "no single figure"),
        (HARD, {"answer": "It rose."}, "answered"),
        (GROWTH, {"steps": ["96,169 - 85,200"], "answer": "14%"}, "wrong arithmetic"),
        (GROWTH, {"steps": ["96,169 - 85,000"], "answer": "14%"}, "wrong cell"),
        (GROWTH, {"answer": "14%"}, "other"),
    ],
)
def test_each_answer_fails_in_the_first_way_that_applies(question, reply, mode):
    assert failure(question, read_reply(json.dumps(reply)), TEXTS) == mode
    if mode == "format":
        assert failure(question, read_reply("{"), TEXTS, True) == "incomplete"


def test_words_are_compared_without_their_values():
    assert word_scores("$5 million", "") == dict.fromkeys(
        ("exact_match", "f1", "bleu", "rouge_l"), 0.0
    )
    scores = word_scores("Net sales rose by 2.0%.", "Net sales rose by 3.0%.")
    assert scores["exact_match"] == 0 and scores["f1"] == 0.8
