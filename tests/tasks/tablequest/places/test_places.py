"""Periods, amounts and the words that lead to one cell of a filing."""


import pytest

from lib.tasks.tablequest.places.places import places
from lib.tasks.tablequest.places.times import dated
from lib.tasks.tablequest.questions.wording import period_of
from tests.tablequest_example import FILING, grid

AMBIGUOUS = "another cell of the filing has the same labels"


@pytest.mark.parametrize(("column", "name", "order", "measure"), [
    ("2024", "2024", (2024, 0, 0), ""), ("Fiscal: 2023", "fiscal 2023", (2023, 0, 0), ""),
    ("Fiscal 2024: Net Sales", "fiscal 2024", (2024, 0, 0), "Net Sales"),
    ("February 2, 2025", "February 2, 2025", (2025, 2, 2), ""),
    ("Years ended: September 28, 2024", "the year ended September 28, 2024", (2024, 9, 28), ""),
    ("Year Ended Jan 26, 2025 ($ in millions)", "the year ended January 26, 2025", (2025, 1, 26),
     ""), ("Dec.31, 2024", "December 31, 2024", (2024, 12, 31), ""),
    ("1/26/2025", "January 26, 2025", (2025, 1, 26), ""),
    ("Q4 2024 Sales", "the fourth quarter of 2024", (2024, 0, 0), "Sales"),
    ("Fair Value as of May 4, 2024 (in thousands)", "May 4, 2024", (2024, 5, 4), "Fair Value"),
    ("For the Years Ending May 4, 2026", "the year ending May 4, 2026", (2026, 5, 4), ""),
    ("Three Months Ended December 31, 2023 % of Sales", "the three months ended December 31, 2023",
     (2023, 12, 31), "% of Sales"),
    ("As of December 31, 2024", "December 31, 2024", (2024, 12, 31), ""),
    ("Services (1) 2024", "2024", (2024, 0, 0), "Services")])
def test_a_column_names_its_period_and_what_it_measures(column, name, order, measure):
    period = period_of(column)
    assert (period.name, period.order, period.measure) == (name, order, measure)


def faults(*tables) -> dict[str, str]:
    return {f"{place.row} | {place.column}": place.fault for place in places(FILING, tables)}


def test_a_cell_is_asked_only_if_no_other_cell_answers_with_another_value():
    lines = "Current tax: Federal | 5 | 4\nCash | 7 | 6"
    one = grid(1, "A > Taxes", "2024 | 2023", lines)
    same, other, exact = (grid(2, "B > Note", "December 31, 2024", f"Cash | {text}")
                          for text in ("7", "9", "7.4"))
    assert set(faults(one).values()) == {""}
    assert set(faults(one, same).values()) == set(faults(one, exact).values()) == {""}
    assert faults(one, other)["Cash | 2024"] == AMBIGUOUS == faults(one, other)[
        "Cash | December 31, 2024"]
    assert faults(one, other)["Cash | 2023"] == ""
    groups = grid(3, "C > Taxes", "2024", "Current tax: Foreign | 5\nDeferred tax: Foreign | 9")
    assert set(faults(one, groups).values()) == {""}
    unknown = grid(5, "E > Balance", "2024", "Current assets: Bonds held | 5\nBonds held | 9")
    assert set(faults(unknown).values()) == {AMBIGUOUS}
    elsewhere = grid(4, "D > Cash paid", "2024", "Deferred taxes: Federal | 9")
    assert faults(one, elsewhere)["Current tax: Federal | 2024"] == AMBIGUOUS
    percent = grid(4, "D", "2024", "Cash | 9%")
    assert faults(one, percent)["Cash | 2023"] == ""


@pytest.mark.parametrize(("row", "column", "fault"), [
    ("Cash", "Fair Value", "the column names no period"), ("Diluted", "2024", "no noun"),
    ("Other", "2024", "no noun"), ("Current: Federal", "2024", "no noun"),
    ("Taxes: Current: Federal", "2024", ""), ("Due after five years", "2024", "part of a phrase"),
    ("Less: Content amortization", "2024", ""), ("Notes that were issued", "2024", "clause"),
    ("Balance as of May 3, 2023", "2024", "names a time"), ("Europe", "2024", "what is measured"),
    ("Interest paid", "June 30, 2024", "end of a period"),
    ("Accrued interest", "June 30, 2024", ""), ("Sales, net of", "2024", "part of a phrase"),
    ("Cash", "2024 Other", "no phrase"),
    ("Net sales (1)", "Years ended December 31, 2024 (in millions)", "")])
def test_a_label_must_be_a_noun_phrase_and_a_column_name_a_period(row, column, fault):
    [found] = faults(grid(1, "Notes", column, f"{row} | 5")).values()
    assert fault in found and bool(fault) == bool(found)


@pytest.mark.parametrize(("row", "text", "unit", "scale", "is_doubtful"), [
    ("Net sales", "9,346", "USD", 1.0, True), ("Net sales", "9,346", "USD", 1e6, False),
    ("Audit fees", "9,346,120", "USD", 1.0, False), ("Gross margin, %", "45", "USD", 1e6, True),
    ("Debt / net income", "4.6", "USD", 1e6, True), ("Debt to equity ratio", "2", "USD", 1e6, True),
    ("Revenue per carload", "2,571", "USD", 1e6, True), ("Employees", "32", "USD", 1e6, True),
    ("Dividends per share", "4.5", "USD/share", 1.0, False),
    ("Net income", "6,203", "USD/share", 1.0, True), ("Net income", "6.2", "USD/share", 1.0, True),
    ("Employee benefits", "32", "USD", 1e6, False),
    ("Common shares issued", "12", "USD", 1e6, True),
    ("Value of common shares issued", "12", "USD", 1e6, False),
    ("Diluted shares", "608.6", "shares", 1.0, True),
    ("Diluted shares", "608.6", "shares", 1e6, False)])
def test_a_unit_that_does_not_fit_the_label_is_not_asked(row, text, unit, scale, is_doubtful):
    table = grid(1, "Notes", "2024", f"{row} | {text}", unit=unit, scale=scale)
    [place] = places(FILING, [table])
    assert bool(place.misread) == is_doubtful == bool(place.fault)
    tagged = table.cells[0][0].model_copy(update={"period": "2024-01-01/2024-12-31"})
    [place] = places(FILING, [table.model_copy(update={"cells": ((tagged,),)})])
    assert not place.misread  # the tag says its unit
    [place] = places(FILING, [table.model_copy(update={"doubt": "the tags differ"})])
    assert "the tags differ" in place.fault


@pytest.mark.parametrize(("column", "tag", "phrase"), [
    ("2024", "2024-12-31", "at the end of 2024"), ("2024", "2024-06-30", "as of June 30, 2024"),
    ("Fiscal 2024", "2025-02-02", "at the end of fiscal 2024"),
    ("3 months ended June 30, 2024", "2024-04-01/2024-06-30",
     "for the 3 months ended June 30, 2024"),
    ("Three months ended June 30, 2024", "2024-01-01/2024-06-30", ""),
    ("2024", "2024-01-01/2024-12-31", "in 2024"),
    ("December 31, 2024", "2024-01-01/2024-12-31", "for the year ended December 31, 2024"),
    ("Year ended December 31, 2024", "2024-12-31",
     "for the year ended December 31, 2024"),
    ("June 30, 2024", "2024-04-01/2024-06-30", "for the three months ended June 30, 2024"),
    ("fiscal 2024", "2024-01-29/2025-02-02", "in fiscal 2024"), ("2024", "2023-12-31", ""),
    ("Three months ended June 30, 2024", "2024-01-01/2024-12-31", "")])
def test_a_tags_period_agrees_with_the_columns_or_the_cell_is_passed_over(column, tag, phrase):
    cell = grid(1, "Notes", column, "Cash | 5").cells[0][0].model_copy(update={"period": tag})
    found, clash = dated(period_of(column), cell)
    assert bool(clash) == (not phrase) and (not phrase or found.phrase == phrase)
