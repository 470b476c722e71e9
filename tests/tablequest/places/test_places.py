"""Periods, amounts and the words that lead to one cell of a filing."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.tablequest.places.places import heading_of, introduction_of, places, source_of
from lib.tablequest.places.times import dated
from lib.tablequest.questions.medium import easy_of
from lib.tablequest.questions.tables import tables_of
from lib.tablequest.questions.wording import amount, period_of, rounded, unit_words
from tests.tablequest_example import FILING, SALES, grid

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


@pytest.mark.parametrize("column", ["Change 2024 to 2023", "Total", "", "20245",
                                    "May 28, 2024 – June 24, 2024"])
def test_no_or_several_times_are_no_period(column):
    assert period_of(column) is None


@pytest.mark.parametrize(("value", "unit", "scale", "decimals", "text"), [
    (391035, "USD", 1e6, 0, "$391,035 million"), (-24690, "USD", 1e3, 0, "-$24,690 thousand"),
    (-2.8005, "%", 1, 1, "-2.8%"), (6.105, "USD/share", 1, 2, "$6.11 per share"),
    (2.675, "", 1, 2, "2.68"), (15408.095, "shares", 1e3, 0, "15,408 thousand shares"),
    (-0.04, "percentage points", 1, 1, "0.0 percentage points"),
    (11657503041, "USD", 1, 0, "$11,657,503,041"), (0.5, "USD", 1e9, 0, "$1 billion")])
def test_amounts_as_an_answer_gives_them(value, unit, scale, decimals, text):
    assert amount(value, unit, scale, decimals) == text


@given(st.integers(-10**9, 10**9), st.integers(0, 3))
def test_rounding_is_exact_and_away_from_zero(thousandths, decimals):
    step = 10 ** (3 - decimals)
    expected = (abs(thousandths) + step // 2) // step * (1 if thousandths > 0 else -1)
    assert rounded(thousandths / 1000, decimals) == Decimal(expected).scaleb(-decimals)


def test_units_sources_and_captions_are_named_as_a_question_names_them():
    kinds = (("USD", 1e6), ("%", 1.0), ("USD/share", 1.0), ("shares", 1e3), ("", 1.0))
    assert [unit_words(*kind) for kind in kinds] == [
        "millions of US dollars", "percent", "US dollars per share", "thousands of shares", ""]
    assert introduction_of(SALES) == ("The following table shows net sales by line for 2024, 2023 "
                                      "and 2022 (dollars in millions)")
    assert source_of(FILING) == ("Orsa Pumps, Inc.'s annual report (10-K) for the fiscal year "
                                 "ended December 31, 2024")


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


def test_what_a_column_measures_tells_cells_apart_if_it_is_named():
    parts = grid(1, "Notes", "2024 Cost | 2024 Fair Value", "Bonds payable | 5 | 8")
    assert set(faults(parts).values()) == {""}
    found = faults(parts, grid(2, "Debt", "2024 | 2023", "Bonds payable | 8 | 5"))
    assert found["Bonds payable | 2024 Cost"] == "" and found["Bonds payable | 2024"] == AMBIGUOUS
    [cost, _] = places(FILING, [parts])
    assert 'for "Bonds payable" under "Cost" in 2024?' in easy_of(cost).question


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


def test_a_row_that_names_no_amount_is_asked_with_the_tables_introduction():
    table = grid(1, "Note 5. Regions", "2024", "Europe | 5",
                 caption="Segments differ. The following table shows net sales by region:")
    [place] = places(FILING, [table])
    assert not place.fault and place.source.endswith(
        'section "Note 5. Regions", table introduced by "The following table shows net sales by '
        'region"')


@pytest.mark.parametrize(("section", "heading"), [
    ("Item 8. Data > CASH FLOWS > Notes to Consolidated Financial Statements", "CASH FLOWS"),
    ("Item 7. Review > (Continued)", "Item 7. Review"),
    ("Item 2. Properties.", "Item 2. Properties"), ("Orsa Pumps, Inc. and Subsidiaries", "")])
def test_a_section_is_named_by_its_own_title(section, heading):
    assert heading_of(grid(1, section, "2024", "Cash | 5")) == heading


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


def test_a_quarterly_report_is_called_so():
    quarterly = FILING.model_copy(update={"form": "10-Q", "period": "June 30, 2024"})
    assert source_of(quarterly) == ("Orsa Pumps, Inc.'s quarterly report (10-Q) for the quarterly "
                                    "period ended June 30, 2024")


def test_quarters_and_half_years_are_told_apart_and_never_compared_with_each_other():
    columns = [
        f"{span} Months Ended June 30, {year}"
               for span in ("Three", "Six") for year in (2024, 2023)]
    table = grid(1, "Statements of Income", " | ".join(columns), "Net sales | 5 | 4 | 9 | 8")
    found = places(FILING, [table])
    assert {place.fault for place in found} == {""}
    assert 'for "Net sales" for the six months ended June 30, 2024?' in easy_of(found[2]).question
    [read] = tables_of(found).values()
    before = [read.before(place) for place in found]
    assert [place and place.value for place in before] == [4, None, 8, None]
