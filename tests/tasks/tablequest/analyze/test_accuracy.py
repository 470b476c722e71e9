"""Amounts as reports write them, and accuracy by the stated rule: cases worked by hand."""

import sys
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.core.errors import BadStudy
from lib.tasks.tablequest.analyze.accuracy import assess
from lib.tasks.tablequest.analyze.amounts import amounts
from lib.tasks.tablequest.analyze.overlap import bert_scores, f1, word_scores
from lib.tasks.tablequest.questions.wording import amount
from tests import tablequest_pumps as pumps
from tests.tablequest_pumps import CHANGE, EASY, GRIDS, GROWTH, HARD, ask

SHARE = ask("medium", "share", "What share of the total was sold abroad?", "12.4%", 12.4, "%", 1.0)
RATIO = ask("medium", "ratio", "What is the ratio of A to B?", "0.124", 0.124, "", 1.0)
FALL = ask("medium", "percent change", "By how much did net sales decrease, in percent?", "-2.8%",
           -2.8012, "%", 1.0)
MILLIONS = ask("easy", "extraction", "What were net sales in millions of US dollars?",
               "$391,035 million", 391_035.0)
BEST = ask("medium", "comparison", "In which of 2022, 2023 or 2024 was \"Net sales\" highest?",
           "2022", 394_328.0)
NIL = ask("easy", "extraction", "What was the impairment in 2024?", "$0 million", 0.0)
SHARES = ask("easy", "extraction", "How many shares?", "15,408 thousand shares", 15_408.0,
             "shares", 1e3)
LOSSES = ask("medium", "difference", 'By how much did "Net loss" change?', "-$40 million", -40.0)
LARGER = ask("medium", "difference", 'By how much did "Net loss" change?', "$40 million", 40.0)
BENEFIT = ask("easy", "extraction", 'What is reported for "Net operating losses" in 2024?',
              "$99 million", 99.0)
POINTS = ask("medium", "difference", "By how much did the margin change, in percentage points?",
             "0.7 percentage points", 0.7, "percentage points", 1.0)

AMOUNTS = {
    "USD": {"$391,035 million": 391_035_000_000, "$(24,690)": -24_690, "-$5.5bn": -5_500_000_000,
            "US$ 3": 3, "7 million dollars": 7_000_000, "$6.08 per diluted share": 6.08,
            "$391.0B": 391_000_000_000, "($1,117 million)": -1_117_000_000, "usd 4": 4, "US$4": 4,
            "USD 85,200 million": 85_200_000_000, "USD85,200 million": 85_200_000_000,
            "minus $5": -5},
    "%": {"−2.8 %": -2.8, "(2.8)%": -2.8, "2.8 per cent": 2.8, "70 basis points": 0.7,
          "0.7 percentage points": 0.7, "minus 0.6%": -0.6, "negative 0.6%": -0.6},
    "EUR": {"EUR 4": 4, "-EUR 4": -4}, "": {"(1,117)": -1117, ".124": 0.124, "12 stores": 12},
    "x": dict.fromkeys(("4.62x", "4.62×", "4.62 times", "4.62:1", "4.62 to 1"), 4.62)}


@pytest.mark.parametrize("text, value, unit", [
    (text, value, unit) for unit, texts in AMOUNTS.items() for text, value in texts.items()])
def test_an_amount_is_read_as_reports_write_it(text, value, unit):
    [found] = amounts(f"It was {text}.")
    assert (found.value, found.unit) == (Fraction(str(value)), unit)


@pytest.mark.parametrize("text, values", [
    ("On September 28, 2024 the 10-K, Q4, page 3.1.2: 7", [2024, 7]),
    ("up $5 million (12.4%)", [5_000_000, 12.4]), ("7 minus 5 is 2", [7, 5, 2]),
    ("from 4.6 to 1, 5 to 1%, 4 to 1 million", [4.6, 1, 5, 1, 4, 1_000_000])])
def test_dates_codes_and_asides_are_distinguished(text, values):
    assert [found.value for found in amounts(text)] == [Fraction(str(value)) for value in values]


def test_four_bare_digits_are_a_year():
    years = [found.is_year for found in amounts("2024 2,024 $2024 2101")]
    assert years == [True, False, False, False]


@given(st.integers(-10**7, 10**7), st.sampled_from(["USD", "%", "shares", "USD/share", "EUR"]),
       st.sampled_from([1.0, 1e3, 1e6]), st.integers(0, 2))
def test_a_printed_answer_is_read_back(number, unit, scale, decimals):
    value, scale = number / 10**decimals, 1.0 if unit == "%" else scale
    [found] = amounts(amount(value, unit, scale, decimals))
    assert found.value == Fraction(number, 10**decimals) * Fraction(scale)
    assert found.unit == ("" if unit == "shares" else unit.split("/")[0])


# What answer_pairs.yaml does not have
RIGHT = [
    (EASY, "$391,035 million (about $391.04 billion)",
     "Net sales (Note 7) were $391,035 million, not less."),
    (MILLIONS, "391,035", "$391,035"), (BENEFIT, "It increased to $99 million"),
    (GROWTH, "up 12.9%"), (SHARE, "0.124"), (NIL, "$0", "0 million"), (BEST, "2022"),
    (RATIO, "0.124", "12.4%", "0.124x", "0.124 to 1"), (FALL, "-2.8%", "2.8%", "minus 2.8%"),
    (SHARES, "15,408 thousand", "15,408,000 shares"), (POINTS, "0.7%", "70 basis points"),
    (LOSSES, "-$40 million", "down by $40 million"),
    (LARGER, "The net loss changed by $40 million")]
WRONG = [
    (EASY, "", "unknown", "It is not $391,035 million", "391,035 − 96,169", "2024",
     "$391,053 million", "391,000 million", "$391,035 million or $96,169 million"),
    (CHANGE, "$7,850 million", "$391,035 million"), (GROWTH, "13%", "0.129"), (SHARE, "0.12"),
    (MILLIONS, "391", "EUR 391,035 million"), (BEST, "2023"), (NIL, "$4"), (SHARES, "15,408"),
    (FALL, "an increase of 2.8%", "-3.8%"), (POINTS, "7%"), (BENEFIT, "-$99 million"),
    (LOSSES, "$40 million", "up by $40 million")]


@pytest.mark.parametrize("question, answer, is_right", [
    (question, answer, is_right) for cases, is_right in ((RIGHT, True), (WRONG, False))
    for question, *answers in cases for answer in answers])
def test_figures_are_right_or_wrong_by_the_rule(question, answer, is_right):
    outcome = assess(question, answer, GRIDS)
    assert outcome.is_correct == is_right and outcome.reason, outcome.reason


def test_a_number_that_the_question_names_may_accompany_the_answer():
    question = ask("easy", "extraction", "How many of the 2,340 stores are in Canada?",
                   "182 stores", 182.0, "stores", 1.0)
    assert assess(question, "182 of the 2,340 stores", GRIDS).is_correct
    assert not assess(question, "182 of the 2,350 stores", GRIDS).is_correct


def test_an_extraction_has_no_tolerance_and_a_calculation_the_given_one():
    assert not assess(EASY, "$391,036 million", GRIDS, tolerance=0.01).is_correct
    assert assess(CHANGE, "$7,800 million", GRIDS, tolerance=0.01).is_correct
    assert not assess(CHANGE, "$7,800 million", GRIDS, tolerance=0.001).is_correct
    with pytest.raises(ValueError, match="tolerance is -1"):
        assess(EASY, "1", GRIDS, tolerance=-1)
    with pytest.raises(ValueError, match="q6 is hard"):
        assess(HARD, "1", GRIDS)


SOLD_MORE = ask("medium", "comparison", "Which sold more in 2024?", "Pumps", 391_035.0,
                a=("alm-t01", 0, 0), b=("alm-t01", 1, 0))
LATEST = ask("medium", "comparison", "In which of 2023 or 2024 were they higher?", "2024",
             391_035.0, a=("alm-t01", 0, 0), b=("alm-t01", 0, 1))
IS_LARGER = ask("medium", "comparison", "Which is larger?", "Shareholders’ equity", 2.0,
                a=("alm-t09", 0, 0), b=("alm-t09", 1, 0))
EQUITY = pumps.grid("alm-t09", ("2024",), {"Shareholders’ equity": (pumps.dollars("2"),),
                                           "Total: Equity (2)": (pumps.dollars("1"),)})
NAMED = [
    (SOLD_MORE, "Pumps sold more than anything", "pumps ($391,035 million)", "“Pumps” (Net sales)"),
    (LATEST, "FY2024", "It was highest in fiscal 2024."),
    (IS_LARGER, "Shareholders' equity", "shareholders’ equity grew most")]
NOT_NAMED = [
    (SOLD_MORE, "Valves", "Pumps and valves", "Pumpset", "Fans", "Not pumps", "Heat-pumps",
     "I don't think pumps", "Pumps or fans", "Pumps or maybe neither", "Pumps and operating loss"),
    (LATEST, "2023", "2024, not 2023", "12024", "the latest", "not 2024"),
    (IS_LARGER, "Equity", "Equity rather than Shareholders' equity", "Equity (2)")]


@pytest.mark.parametrize("question, answer, is_right", [
    (question, answer, is_right) for cases, is_right in ((NAMED, True), (NOT_NAMED, False))
    for question, *answers in cases for answer in answers])
def test_a_comparison_is_right_if_it_names_the_reference_and_no_other_item(question, answer,
                                                                          is_right):
    outcome = assess(question, answer, {**GRIDS, EQUITY.grid_id: EQUITY})
    assert outcome.is_correct == is_right, outcome.reason


def test_word_scores_on_pairs_worked_by_hand():
    assert word_scores("a b c d", "a b c d") == pytest.approx(
        {"exact_match": 1, "f1": 1, "bleu": 1, "rouge_l": 1}, abs=1e-6)
    assert set(word_scores("pumps rose", "").values()) == {0}
    assert f1("sales rose 5%", "sales of valves rose 5%") == pytest.approx(2 * 3 / 8)
    assert f1("two two one", "two two two") == pytest.approx(2 * 2 / 6)


def test_bertscore_without_its_package_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "bert_score", None)
    with pytest.raises(BadStudy, match="pip install -e '.\\[bertscore\\]'"):
        bert_scores(["a"], ["b"], "any")


@pytest.mark.parametrize("endless", ["9" * 5000, ",".join(["999"] * 2000), "9." * 3000])
def test_a_number_without_end_is_wrong_and_stops_nothing(endless):
    assert not assess(EASY, endless, GRIDS).is_correct
    assert not assess(BEST, endless, GRIDS).is_correct
    assert word_scores("$5 million", f"$5 {endless}")["f1"] < 1
