"""Accuracy by the stated rule, amounts as reports write them, and how answers fail: hand-worked cases."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.tablequest.analyze.accuracy import assess, f1, word_scores
from lib.tablequest.analyze.amounts import amounts
from lib.tablequest.analyze.failures import ANSWERED, MODES, RIGHT, failure, failures
from lib.tablequest.ask.replies import read_reply
from lib.tablequest.questions.amounts import amount
from tests import tablequest_pumps as pumps
from tests.tablequest_pumps import CHANGE, EASY, GRIDS, GROWTH, HARD, LOSS, MARGIN, PASSAGE, QUESTIONS, ask

SHARE = ask("medium", "share", "What share of the total was sold abroad?", "12.4%", 12.4, "%", 1.0)
RATIO = ask("medium", "ratio", "What is the ratio of A to B?", "0.124", 0.124, "", 1.0)
FALL = ask("medium", "percent change", "By how much did net sales decrease, in percent?", "-2.8%", -2.8012, "%", 1.0)
MILLIONS = ask("easy", "extraction", "What were net sales in millions of US dollars?", "$391,035 million", 391_035.0)
BEST = ask("medium", "comparison", "In which of 2022, 2023 or 2024 was \"Net sales\" highest? Answer with the year.",
           "2022", 394_328.0)
NIL = ask("easy", "extraction", "What was the impairment in 2024?", "$0 million", 0.0)
PER_SHARE = ask("easy", "extraction", "What were diluted earnings per share?", "$6.08 per share", 6.08, "USD/share",
                1.0)
SHARES = ask("easy", "extraction", "How many shares?", "15,408 thousand shares", 15_408.0, "shares", 1e3)
LOSSES = ask("medium", "difference", 'By how much did "Net loss" change? State the change with its sign.',
             "-$40 million", -40.0)
LARGER = ask("medium", "difference", 'By how much did "Net loss" change? State the change with its sign.',
             "$40 million", 40.0)
BENEFIT = ask("easy", "extraction", 'What is reported for "Net operating losses" in 2024?', "$99 million", 99.0)
POINTS = ask("medium", "difference", "By how much did the margin change? State it in percentage points.",
             "0.7 percentage points", 0.7, "percentage points", 1.0)


@pytest.mark.parametrize("text, value, unit", [
    ("$391,035 million", 391_035_000_000, "USD"), ("(1,117)", -1117, ""), ("$(24,690)", -24_690, "USD"),
    ("-$5.5bn", -5_500_000_000, "USD"), ("US$ 3", 3, "USD"), ("7 million dollars", 7_000_000, "USD"),
    ("−2.8 %", -2.8, "%"), ("(2.8)%", -2.8, "%"), ("2.8 per cent", 2.8, "%"), ("70 basis points", 0.7, "%"),
    ("EUR 4", 4, "EUR"), ("0.7 percentage points", 0.7, "%"), ("$6.08 per diluted share", 6.08, "USD"),
    (".124", 0.124, ""), ("$391.0B", 391_000_000_000, "USD"), ("12 stores", 12, ""),
    ("($1,117 million)", -1_117_000_000, "USD"), ("USD 85,200 million", 85_200_000_000, "USD"),
    ("USD85,200 million", 85_200_000_000, "USD"), ("usd 4", 4, "USD"), ("US$4", 4, "USD"), ("-EUR 4", -4, "EUR"),
    ("4.62x", 4.62, "x"), ("4.62×", 4.62, "x"), ("4.62 times", 4.62, "x"), ("4.62:1", 4.62, "x"),
    ("4.62 to 1", 4.62, "x"), ("minus 0.6%", -0.6, "%"), ("negative 0.6%", -0.6, "%"), ("minus $5", -5, "USD")])
def test_an_amount_is_read_as_reports_write_it(text, value, unit):
    [found] = amounts(f"It was {text}.")
    assert (found.value, found.unit) == (Fraction(str(value)), unit)


def test_dates_codes_and_asides_are_told_apart():
    assert [found.value for found in amounts("On September 28, 2024 the 10-K, Q4, page 3.1.2: 7")] == [2024, 7]
    assert [found.value for found in amounts("up $5 million (12.4%)")] == [5_000_000, Fraction("12.4")]
    assert [found.value for found in amounts("7 minus 5 is 2")] == [7, 5, 2]
    assert [found.value for found in amounts("from 4.6 to 1, 5 to 1%, 4 to 1 million")] == [
        Fraction("4.6"), 1, 5, 1, 4, 1_000_000]
    assert [found.is_year for found in amounts("2024 2,024 $2024 2101")] == [True, False, False, False]


@settings(max_examples=80, deadline=None)
@given(st.integers(-10**7, 10**7), st.sampled_from(["USD", "%", "shares", "USD/share", "EUR"]),
       st.sampled_from([1.0, 1e3, 1e6]), st.integers(0, 2))
def test_what_an_answer_prints_is_read_back(number, unit, scale, decimals):
    value, scale = number / 10**decimals, 1.0 if unit == "%" else scale
    [found] = amounts(amount(value, unit, scale, decimals))
    assert found.value == Fraction(number, 10**decimals) * Fraction(scale)
    assert found.unit == ("" if unit == "shares" else unit.split("/")[0])


RIGHT_ANSWERS = [
    (EASY, "$391,035 million"), (EASY, "391,035 million"), (EASY, "$391.0 billion"), (EASY, "$391,035,000,000"),
    (EASY, "Net sales of pumps in 2024 were $391,035 million."), (EASY, "$391,035 million (about $391.04 billion)"),
    (MILLIONS, "391,035"), (MILLIONS, "$391,035"), (LOSS, "$(1,117) million"), (LOSS, "-1,117 million dollars"),
    (MARGIN, "37.2%"), (MARGIN, "37.2 percent"), (MARGIN, "37.2"), (GROWTH, "12.9%"), (GROWTH, "12.87%"),
    (GROWTH, "up 12.9%"), (CHANGE, "$7,750 million"), (CHANGE, "$7.75 billion"), (CHANGE, "$7,760 million"),
    (CHANGE, "It rose from $383,285 million to $391,035 million, by $7,750 million."), (SHARE, "12.4%"),
    (SHARE, "0.124"), (RATIO, "0.124"), (RATIO, "12.4%"), (FALL, "-2.8%"), (FALL, "2.8%"), (FALL, "a decrease of 2.8%"),
    (BEST, "2022"), (NIL, "$0"), (NIL, "0 million"), (PER_SHARE, "$6.08"), (PER_SHARE, "6.08"),
    (SHARES, "15,408 thousand"), (SHARES, "15,408,000 shares"), (POINTS, "0.7%"), (POINTS, "70 basis points"),
    (LOSSES, "-$40 million"), (LOSSES, "down by $40 million"), (LARGER, "The net loss changed by $40 million"),
    (BENEFIT, "It increased to $99 million"), (MILLIONS, "USD 391,035 million"), (RATIO, "0.124x"),
    (RATIO, "0.124 to 1"), (FALL, "minus 2.8%")]
WRONG_ANSWERS = [
    (EASY, ""), (EASY, "unknown"), (EASY, "$391,035"), (EASY, "$391,053 million"), (EASY, "€391,035 million"),
    (EASY, "2024"), (EASY, "$39 billion"), (EASY, "390 billion"), (EASY, "$391,035 million or $96,169 million"),
    (EASY, "-$391,035 million"), (MILLIONS, "391"), (LOSS, "$1,117 million"), (MARGIN, "0.37"), (MARGIN, "37%"),
    (MARGIN, "$37.2"), (GROWTH, "-12.9%"), (GROWTH, "fell by 12.9%"), (GROWTH, "13%"), (GROWTH, "0.129"),
    (CHANGE, "$7,850 million"), (CHANGE, "-7,750 million"), (CHANGE, "$391,035 million"), (SHARE, "0.12"),
    (FALL, "an increase of 2.8%"), (FALL, "-3.8%"), (BEST, "2023"), (NIL, "$4"), (PER_SHARE, "$6.80"),
    (SHARES, "15,408"), (POINTS, "7%"), (LOSSES, "$40 million"), (LOSSES, "up by $40 million"),
    (BENEFIT, "-$99 million"), (SHARE, "12.4x"), (MILLIONS, "EUR 391,035 million")]


@pytest.mark.parametrize("question, answer", RIGHT_ANSWERS)
def test_right_by_the_rule(question, answer):
    assert assess(question, answer, GRIDS).is_correct, assess(question, answer, GRIDS).reason


@pytest.mark.parametrize("question, answer", WRONG_ANSWERS)
def test_wrong_by_the_rule(question, answer):
    outcome = assess(question, answer, GRIDS)
    assert not outcome.is_correct and outcome.reason


def test_a_number_that_the_question_names_may_stand_beside_the_answer():
    question = ask("easy", "extraction", "How many of the 2,340 stores are in Canada?", "182 stores", 182.0,
                   "stores", 1.0)
    assert assess(question, "182 of the 2,340 stores", GRIDS).is_correct
    assert not assess(question, "182 of the 2,350 stores", GRIDS).is_correct


def test_an_extraction_has_no_tolerance_and_a_calculation_the_one_that_is_given():
    assert not assess(EASY, "$391,036 million", GRIDS, tolerance=0.01).is_correct
    assert assess(CHANGE, "$7,800 million", GRIDS, tolerance=0.01).is_correct
    assert not assess(CHANGE, "$7,800 million", GRIDS, tolerance=0.001).is_correct
    with pytest.raises(ValueError, match="the tolerance is -1"):
        assess(EASY, "1", GRIDS, tolerance=-1)
    with pytest.raises(ValueError, match="question q6 is hard"):
        assess(HARD, "1", GRIDS)


def test_word_scores_on_hand_worked_pairs():
    assert word_scores("a b c d", "a b c d") == pytest.approx(
        {"exact_match": 1, "f1": 1, "bleu": 1, "rouge_l": 1}, abs=1e-6)
    assert word_scores("pumps rose", "")["f1"] == 0 == word_scores("pumps rose", "")["rouge_l"]
    assert f1("sales rose 5%", "sales of valves rose 5%") == pytest.approx(2 * 3 / 8)
    assert f1("two two one", "two two two") == pytest.approx(2 * 2 / 6)


@pytest.mark.parametrize("endless", ["9" * 5000, ",".join(["999"] * 2000), "9." * 3000])
def test_a_number_without_end_is_wrong_and_stops_nothing(endless):
    assert not assess(EASY, endless, GRIDS).is_correct and not assess(BEST, endless, GRIDS).is_correct
    assert word_scores("$5 million", f"$5 {endless}")["f1"] < 1
    assert failure(EASY, read_reply(reply(endless)), PASSAGE, GRIDS) == "other"


def reply(answer: str, *steps: str) -> str:
    return str({"steps": list(steps), "answer": answer}).replace("'", '"')


FAILING = [
    (EASY, reply("$391,035 million"), RIGHT), (EASY, "", "empty"), (EASY, reply(""), "empty"),
    (EASY, "$391,035", "format"), (EASY, reply("$391,035"), "wrong unit"),
    (EASY, reply("-$391,035 million"), "wrong unit"), (EASY, reply("391,035 shares, 37%"), "wrong unit"),
    (EASY, reply("$96,169 million"), "wrong cell"), (EASY, reply("$383,285"), "wrong cell"),
    (EASY, reply("$5 million"), "other"), (EASY, reply("none"), "other"), (MARGIN, reply("0.372%"), "wrong unit"),
    (CHANGE, reply("$7,000 million", "391,035 - 383,285 = 7,000"), "wrong arithmetic"),
    (CHANGE, reply("$7,000 million", "391,035 - 96,169"), "wrong cell"),
    (CHANGE, reply("$391,035 million", "pumps 391,035"), "incomplete"), (CHANGE, reply("$5", "I guess"), "other"),
    (GROWTH, reply("-12.9%"), "wrong unit"), (HARD, reply("Whatever."), ANSWERED), (HARD, "Whatever.", "format")]


@pytest.mark.parametrize("said, is_right", [
    ("Pumps sold more than anything", True), ("pumps ($391,035 million)", True), ("Valves", False),
    ("Pumps and valves", False), ("Pumpset", False), ("Fans", False), ("Not pumps", False),
    ("I don't think pumps", False), ("Pumps or fans", False), ("Pumps or maybe neither", False), ("Heat-pumps", False),
    ("“Pumps” (Net sales)", True),
    ("Pumps and operating loss", False)])
def test_a_comparison_is_right_where_it_names_the_reference_and_no_other_item(said, is_right):
    larger = ask("medium", "comparison", "Which sold more in 2024?", "Pumps", 391_035.0, a=("alm-t01", 0, 0),
                 b=("alm-t01", 1, 0))
    assert assess(larger, said, GRIDS).is_correct == is_right


@pytest.mark.parametrize("said, is_right", [
    ("Shareholders' equity", True), ("shareholders’ equity grew most", True), ("Equity", False),
    ("Equity rather than Shareholders' equity", False), ("Equity (2)", False)])
def test_labels_are_compared_as_they_are_read(said, is_right):
    rows = {"Shareholders’ equity": (pumps.dollars("2"),), "Total: Equity (2)": (pumps.dollars("1"),)}
    larger = ask("medium", "comparison", "Which is larger?", "Shareholders’ equity", 2.0, a=("alm-t09", 0, 0),
                 b=("alm-t09", 1, 0))
    assert assess(larger, said, {"alm-t09": pumps.grid("alm-t09", ("2024",), rows)}).is_correct == is_right


@pytest.mark.parametrize("said, is_right", [
    ("FY2024", True), ("It was highest in fiscal 2024.", True), ("2023", False), ("2024, not 2023", False),
    ("12024", False), ("the latest", False), ("not 2024", False)])
def test_a_year_is_named_in_any_wording(said, is_right):
    latest = ask("medium", "comparison", "In which of 2023 or 2024 were they higher?", "2024", 391_035.0,
                 a=("alm-t01", 0, 0), b=("alm-t01", 0, 1))
    assert assess(latest, said, GRIDS).is_correct == is_right


@pytest.mark.parametrize("question, said, mode", FAILING)
def test_each_answer_fails_in_one_way(question, said, mode):
    assert failure(question, read_reply(said), PASSAGE, GRIDS) == mode


def test_a_cut_reply_is_incomplete_and_another_label_a_wrong_cell():
    assert failure(EASY, read_reply('{"steps": ["Pumps'), PASSAGE, GRIDS, truncated=True) == "incomplete"
    larger = ask("medium", "comparison", "Which sold more in 2024?", "Pumps", 391_035.0, a=("alm-t01", 0, 0))
    assert failure(larger, read_reply(reply("Valves")), PASSAGE, GRIDS) == "wrong cell"
    assert failure(larger, read_reply(reply("Fans")), PASSAGE, GRIDS) == "other"


def test_modes_are_counted_by_level_and_add_up():
    found = {question.question_id: mode for question, mode in zip(
        QUESTIONS, (RIGHT, "wrong unit", "empty", "wrong cell", RIGHT), strict=False)}
    table = failures("base", QUESTIONS, found)
    assert list(table.level.unique()) == ["easy", "medium"] and list(table["mode"][:9]) == [RIGHT, *MODES]
    easy = table[table.level == "easy"].set_index("mode")
    assert easy["count"].to_dict() == {RIGHT: 1, **dict.fromkeys(MODES, 0), "wrong unit": 1, "empty": 1}
    assert (easy.n == 3).all() and easy.share.sum() == pytest.approx(1)
