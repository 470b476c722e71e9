"""The review sheet: drawn, filled in by a person, never overwritten; its faults are examples."""

import csv
from collections import Counter

import pytest
from openpyxl import load_workbook

from lib.tablequest.questions.by_rules import questions_by_rules
from lib.tablequest.questions.review import (
    COLUMNS,
    draw_for_review,
    faults_as_examples,
    faults_digest,
    write_review,
)
from lib.tablequest.records import by_id
from tests.tablequest_example import FILING, GRIDS, PASSAGES

QUESTIONS, _ = questions_by_rules([FILING], GRIDS, PASSAGES, 12)
TABLES = by_id(GRIDS)


def lines(path) -> list[list[str]]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))


def filled(path, row: int, **entries: str) -> None:
    """Fill in cells of a row as a person does."""
    table = lines(path)
    for name, text in entries.items():
        table[row][COLUMNS.index(name.replace("_", " "))] = text
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(table)


def test_the_draw_takes_each_level_and_kind_in_turn():
    drawn = draw_for_review(QUESTIONS, 7)
    assert Counter(row.level for row in drawn) == {"easy": 7, "medium": 7, "hard": 7}
    assert len({row.kind for row in drawn if row.level == "medium"}) == 7
    assert drawn == draw_for_review(list(reversed(QUESTIONS)), 7)
    assert drawn != draw_for_review(QUESTIONS, 7, seed=1)
    assert len(draw_for_review(QUESTIONS, 50)) == len(QUESTIONS)


def test_a_sheet_shows_what_is_to_be_checked_and_no_formula(tmp_path):
    path = tmp_path / "sheet.csv"
    assert write_review(path, QUESTIONS, TABLES) == 0
    table = lines(path)
    assert table[0] == list(COLUMNS) and len(table) == 1 + len(QUESTIONS)
    number = next(at for at, row in enumerate(QUESTIONS, 1) if row.answer.startswith("-"))
    answer = table[number][2]
    assert answer.startswith("'-") and QUESTIONS[number - 1].steps[-1] in answer
    assert QUESTIONS[number - 1].passage_id in table[number][3] and table[number][4] == ""
    assert len({row[0] for row in table}) == len(table)


def test_what_a_person_filled_in_is_kept_and_new_questions_come_below(tmp_path):
    path = tmp_path / "sheet.csv"
    write_review(path, QUESTIONS[:5], TABLES)
    filled(path, 2, label="correct", level_fits="yes", where="row Pumps")
    before = lines(path)
    assert write_review(path, QUESTIONS[3:8], TABLES) == 1
    after = lines(path)
    assert after[:6] == before and len(after) == 9 and len({row[0] for row in after}) == 9


def test_faults_come_back_as_examples_different_ones_first(tmp_path):
    path = tmp_path / "sheet.csv"
    assert faults_as_examples(path) == () and faults_digest(path) == ""
    write_review(path, QUESTIONS[:20], TABLES)
    assert faults_as_examples(path) == () and faults_digest(path) == ""
    for row in range(1, 14):
        filled(path, row, label="unsure", fault="The year is missing.")
    filled(path, 20, label="wrong", level_fits="no")
    examples = faults_as_examples(path)
    assert len(examples) == 12 and examples[0].endswith("Fault: The year is missing.")
    assert examples[1].endswith("Fault: the level does not fit; the answer is wrong")
    assert QUESTIONS[19].question in examples[1]
    before = faults_digest(path)  # re-runs the stage
    assert before
    write_review(path, QUESTIONS[:25], TABLES)
    assert faults_digest(path) == before
    filled(path, 19, fault="Two cells have these labels.")
    assert faults_digest(path) not in ("", before)


def test_xlsx_offers_the_labels_and_is_read_back(tmp_path):
    path = tmp_path / "sheet.xlsx"
    write_review(path, QUESTIONS[:3], TABLES)
    book = load_workbook(path)
    sheet = book.worksheets[0]
    assert sheet.data_validations.dataValidation[0].formula1 == '"correct,incorrect,unsure"'
    sheet["E2"], sheet["I2"] = "incorrect", "=a fault"
    sheet["I2"].data_type = "s"
    book.save(path)
    assert write_review(path, QUESTIONS[:4], TABLES) == 1
    assert load_workbook(path).worksheets[0].max_row == 5
    assert faults_as_examples(path)[0].endswith("Fault: =a fault; the answer is wrong")


def test_a_sheet_that_cannot_be_used_has_a_reason(tmp_path):
    with pytest.raises(ValueError, match=r"sheet.ods.*\.csv or \.xlsx"):
        write_review(tmp_path / "sheet.ods", QUESTIONS, TABLES)
    (tmp_path / "sheet.csv").write_text("a,b\n1,2\n")
    assert faults_digest(tmp_path / "sheet.csv")  # 01_questions runs, and says why
    (tmp_path / "open.csv").write_text('item,question\n1,"' + "x" * 140_000)
    with pytest.raises(ValueError, match=r"open.csv cannot be read as CSV .*quote"):
        faults_as_examples(tmp_path / "open.csv")
    assert faults_digest(tmp_path / "open.csv") and faults_digest(tmp_path)
    with pytest.raises(ValueError, match="must have the columns `item`"):
        write_review(tmp_path / "sheet.csv", QUESTIONS, TABLES)
