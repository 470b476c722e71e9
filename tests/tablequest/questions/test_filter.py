"""lib.tablequest.questions.filter: each criterion with its reason, and near-duplicates."""

import pytest

from lib.tablequest.questions.by_rules import questions_by_rules
from lib.tablequest.questions.check import by_id
from lib.tablequest.questions.filter import duplicate_of, screened_by_rules
from lib.tablequest.records import CellRef
from tests.tablequest_example import FILING, GRIDS, PASSAGES, SALES, grid

QUESTIONS, _ = questions_by_rules([FILING], GRIDS, PASSAGES, 12)
TABLES = by_id(GRIDS)
READ = {passage.passage_id: passage for passage in PASSAGES}
EASY, MEDIUM, HARD = next(QUESTIONS[at:at + 3] for at in range(0, 36, 3) if QUESTIONS[at + 1].kind == "percent change")


def screened(question):
    return screened_by_rules(question, FILING, READ[question.passage_id], by_id(GRIDS))


def test_questions_by_rules_pass_and_say_who_looked():
    assert [screened(question).fault for question in QUESTIONS] == [""] * 36
    assert screened(EASY).by == "rules"


@pytest.mark.parametrize(("question", "change", "fault"), [
    (EASY, {"question": "What is reported for Cash in 2024?"},
     "not relevant: the question does not name Orsa Pumps, Inc."),
    (EASY, {"question": "What did Orsa Pumps report for Cash?"}, "not relevant: the question names no year"),
    (EASY, {"question": "Orsa Pumps 2024: what is the first value in the table above?"},
     "not relevant: the question points"),
    (EASY, {"cells": {"a": CellRef(grid_id="other", row=0, column=0)}}, "not relevant: the table other"),
    (MEDIUM, {"question": MEDIUM.question + " very" * 130}, "not reasonable: the question has"),
    (MEDIUM, {"cells": {"a": MEDIUM.cells["a"]}}, "not reasonable: a calculation rests on one cell"),
    (EASY, {"question": EASY.question + f" Is it {EASY.answer}?"},
     "not reasonable: the question itself names the figure"),
    (MEDIUM, {"answer": "-99.9%"}, "not valid: the answer says -99.9%"),
    (HARD, {"answer": HARD.answer + " A third sentence. And one more."}, "not reasonable: the answer has more than 2")])
def test_each_criterion_gives_its_reason(question, change, fault):
    assert screened(question.model_copy(update=change)).fault.startswith(fault)


def test_cells_of_different_units_are_not_reasonable():
    refs = {"a": CellRef(grid_id=SALES.grid_id, row=0, column=0), "b": CellRef(grid_id=SALES.grid_id, row=0, column=1)}
    mixed = MEDIUM.model_copy(update={"cells": refs, "passage_id": PASSAGES[0].passage_id})
    assert screened(mixed).reasonable == "the cells differ in unit or scale: % × 1, USD × 1e+06"


@pytest.mark.parametrize(("kind", "unit", "scale", "is_fine"), [
    ("ratio", "shares", 1e3, False), ("ratio", "shares", 1e6, True), ("sum", "shares", 1e6, False),
    ("sum", "USD", 1e3, False), ("sum", "USD", 1e6, True)])
def test_only_a_ratio_sets_units_against_each_other_and_never_scales(kind, unit, scale, is_fine):
    odd = SALES.cells[1][0].model_copy(update={"unit": unit, "scale": scale})
    table = SALES.model_copy(update={"cells": (SALES.cells[0], (odd, *SALES.cells[1][1:]), *SALES.cells[2:])})
    refs = {name: CellRef(grid_id=SALES.grid_id, row=row, column=0) for row, name in enumerate("ab")}
    mixed = MEDIUM.model_copy(update={"cells": refs, "kind": kind, "passage_id": PASSAGES[0].passage_id})
    screening = screened_by_rules(mixed, FILING, PASSAGES[0], {table.grid_id: table})
    assert (screening.reasonable == "") == is_fine, screening.reasonable


def test_near_duplicates_ask_the_same_cells_or_have_the_same_answer_in_nearly_the_same_words():
    again = EASY.model_copy(update={"question": EASY.question.replace("what is reported", "What amount is reported")})
    assert duplicate_of(again, QUESTIONS, TABLES) == EASY
    other_cell = {"a": CellRef(grid_id="elsewhere", row=0, column=0)}
    assert duplicate_of(again.model_copy(update={"cells": other_cell, "answer": "$7"}), QUESTIONS, TABLES) is None
    assert duplicate_of(again.model_copy(update={"level": "hard"}), [EASY], TABLES) is None
    assert duplicate_of(again.model_copy(update={"filing_id": "another"}), QUESTIONS, TABLES) is None
    assert duplicate_of(EASY.model_copy(update={"cells": other_cell, "answer": "$7"}), [EASY], TABLES) == EASY


def test_figures_that_a_report_prints_again_are_asked_once():
    again = grid(9, "Item 8. Notes > Earnings per share", "Fiscal 2024 | Fiscal 2023 | Change", """
        Numerator: Net sales of pumps | $1,200 | $1,000 | 20%
        Staff | 1,200 | 1,000 | 20%""")
    tables = {**TABLES, again.grid_id: again}
    for asked, columns in ((EASY, [0]), (MEDIUM, [0, 1]), (MEDIUM, [0, 2])):
        def on(grid_id: str, row: int, of: str, question=asked, columns=columns):
            return question.model_copy(update={"question": f"{of} of Orsa Pumps in 2024", "answer": of, "cells": {
                name: CellRef(grid_id=grid_id, row=row, column=column if grid_id == again.grid_id else 2 * column)
                for name, column in zip("ab", columns, strict=False)}})
        first = on(SALES.grid_id, 0, "Pumps")
        assert (duplicate_of(on(again.grid_id, 0, "Numerator"), [first], tables) == first) == (columns != [0, 2])
        assert duplicate_of(on(again.grid_id, 1, "Staff"), [first], tables) is None
        assert duplicate_of(on(again.grid_id, 0, "Numerator").model_copy(update={"kind": "?"}), [first], tables) is None
