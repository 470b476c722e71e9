"""The quality filter by rules: each criterion with its reason, and near-duplicates."""

import pytest

from lib.tasks.tablequest.questions.by_rules import questions_by_rules
from lib.tasks.tablequest.questions.filter import screened_by_rules
from lib.tasks.tablequest.records import CellRef, by_id
from tests.tablequest_example import FILING, GRIDS, PASSAGES

QUESTIONS, _ = questions_by_rules([FILING], GRIDS, PASSAGES, 12)
TABLES, READ = by_id(GRIDS), by_id(PASSAGES)
EASY, MEDIUM, HARD = next(QUESTIONS[at:at + 3] for at in range(0, 36, 3)
                          if QUESTIONS[at + 1].kind == "percent change")


def ref(grid_id: str, row: int = 0, column: int = 0) -> CellRef:
    return CellRef(grid_id=grid_id, row=row, column=column)


def screened(question):
    return screened_by_rules(question, FILING, READ[question.passage_id], TABLES)


@pytest.mark.parametrize(("question", "change", "fault"), [
    (EASY, {"question": "What is reported for Cash in 2024?"}, "not relevant: the question does"),
    (EASY, {"question": "What did Orsa Pumps report for Cash?"}, "not relevant: the question nam"),
    (EASY, {"question": "Orsa Pumps 2024: what is the first value in the table above?"},
     "not relevant: the question points"),
    (EASY, {"cells": {"a": ref("other")}}, "not relevant: the table other"),
    (MEDIUM, {"question": MEDIUM.question + " very" * 130}, "not reasonable: the question has"),
    (MEDIUM, {"cells": {"a": MEDIUM.cells["a"]}}, "not reasonable: a calculation rests on one"),
    (EASY, {"question": EASY.question + f" Is it {EASY.answer}?"},
     "not reasonable: the question itself names the figure"),
    (MEDIUM, {"answer": "-99.9%"}, "not valid: the answer says -99.9%"),
    (HARD, {"answer": HARD.answer + " A third sentence. And one more."},
     "not valid: the answer has 4 sentences")])
def test_each_criterion_gives_its_reason(question, change, fault):
    assert screened(question).fault == "" and screened(question).by == "rules"
    assert screened(question.model_copy(update=change)).fault.startswith(fault)
