"""Periods, amounts and the words that lead to one cell of a filing."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.tablequest.questions.medium import easy_of
from lib.tablequest.questions.places import caption_of, places, source_of
from lib.tablequest.questions.wording import amount, period_of, rounded, unit_words
from tests.tablequest_example import FILING, SALES, grid

AMBIGUOUS = "another cell of the filing has the same labels"


@pytest.mark.parametrize(("column", "name", "order", "measure"), [
    ("2024", "2024", (2024, 0, 0), ""), ("Fiscal: 2023", "fiscal 2023", (2023, 0, 0), ""),
    ("Fiscal 2024: Net Sales", "fiscal 2024", (2024, 0, 0), "Net Sales"),
    ("February 2, 2025", "February 2, 2025", (2025, 2, 2), ""),
    ("Years ended: September 28, 2024", "the year ended September 28, 2024", (2024, 9, 28), ""),
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
    assert caption_of(SALES) == "net sales by line for 2024, 2023 and 2022"
    assert source_of(FILING) == ("Orsa Pumps, Inc.'s annual report (10-K) for the fiscal year "
                                 "ended December 31, 2024")


def test_equal_labels_are_distinguished_by_section_then_caption_else_not_asked():
    lines = "Current | 5 | 4\nDeferred | 2 | 1"
    one, two = (grid(1, "A > Federal", "2024 | 2023", lines),
                grid(2, "A > State", "2024 | 2023", lines))
    assert {place.fault for place in places(FILING, [one, two])} == {""}
    captions = ("The table shows federal tax:", "The table shows state tax:")
    found = places(FILING, [grid(number, "Taxes", "2024 | 2023", lines, caption=caption)
                            for number, caption in enumerate(captions, 1)])
    assert {place.fault for place in found} == {""}
    assert found[0].source.endswith('section "Taxes", table of federal tax')
    same = [grid(number, "Taxes", "2024 | Fiscal 2024", "Current | 5 | 4") for number in (1, 2)]
    assert {place.fault for place in places(FILING, same)} == {AMBIGUOUS}


def test_a_row_that_another_table_of_the_section_has_is_named_by_its_caption():
    lines = "Net sales | $90 | $80 | $85\nCosts | 4 | 3 | 3"
    part = grid(1, "Segments", "2024 | 2023 | 2022", lines,
                caption="The table shows sales of our Primary segment:")
    total = grid(2, "Segments", "2024 Other | 2024 Consolidated", "Net sales | $10 | $100",
                 caption="The table leads from segments to the whole:")
    found = places(FILING, [part, total])
    assert {place.fault for place in found} == {""}
    assert all("table of sales of our Primary segment" in place.source for place in found[:6])
    assert 'under "Consolidated" in 2024' in easy_of(found[-1]).question
    nameless = part.model_copy(update={"caption": ""})
    faults = [bool(place.fault) for place in places(FILING, [nameless, total])]
    assert faults == [True] + [False] * 7  # 2024 alone
