"""How answers fail: one mode each, by cases worked by hand."""

import json

import pytest

from lib.tasks.tablequest.analyze.failures import ANSWERED, MODES, RIGHT, failure, failures
from lib.tasks.tablequest.ask.replies import read_reply
from tests.tablequest_pumps import (
    CHANGE,
    EASY,
    GRIDS,
    GROWTH,
    HARD,
    MARGIN,
    PASSAGE,
    QUESTIONS,
    ask,
)

LARGER = ask("medium", "comparison", "Which sold more in 2024?", "Pumps", 391_035.0,
             a=("alm-t01", 0, 0))
CASES = [
    (EASY, RIGHT, "$391,035 million"), (EASY, "empty", ""), (EASY, "wrong unit", "$391,035"),
    (EASY, "wrong unit", "-$391,035 million"), (EASY, "wrong unit", "391,035 shares, 37%"),
    (EASY, "wrong cell", "$96,169 million"), (EASY, "wrong cell", "$383,285"),
    (EASY, "other", "$5 million"), (EASY, "other", "none"), (EASY, "other", "9" * 5000),
    (MARGIN, "wrong unit", "0.372%"), (GROWTH, "wrong unit", "-12.9%"),
    (CHANGE, "other", "$5", "I guess"), (HARD, ANSWERED, "Whatever."),
    (CHANGE, "wrong arithmetic", "$7,000 million", "391,035 - 383,285 = 7,000"),
    (CHANGE, "wrong cell", "$7,000 million", "391,035 - 96,169"),
    (CHANGE, "incomplete", "$391,035 million", "pumps 391,035"),
    (LARGER, "wrong cell", "Valves"), (LARGER, "other", "Fans")]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].question_id} {case[1]}")
def test_each_answer_fails_in_one_way(case):
    question, mode, answer, *steps = case
    final = read_reply(json.dumps({"steps": steps, "answer": answer}))
    assert failure(question, final, PASSAGE, GRIDS) == mode


def test_modes_are_counted_by_level_and_add_up():
    modes = (RIGHT, "wrong unit", "empty", "wrong cell", RIGHT)
    found = {question.question_id: mode for question, mode in zip(QUESTIONS, modes, strict=False)}
    table = failures("base", QUESTIONS, found)
    assert list(table.level.unique()) == ["easy", "medium"]
    assert list(table["mode"][:9]) == [RIGHT, *MODES]
    easy = table[table.level == "easy"].set_index("mode")
    assert easy["count"].to_dict() == {RIGHT: 1, **dict.fromkeys(MODES, 0), "wrong unit": 1,
                                       "empty": 1}
    assert (easy.n == 3).all() and easy.share.sum() == pytest.approx(1)
    assert table[["low", "high"]].isna().all(axis=None), "one passage has no interval"
