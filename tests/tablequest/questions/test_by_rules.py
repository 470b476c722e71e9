"""lib.tablequest.questions.by_rules*: chains by rules on a small report whose figures were worked out by hand."""

from collections import Counter
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.tablequest.questions.amounts import amount, rounded, unit_words
from lib.tablequest.questions.by_rules import questions_by_rules
from lib.tablequest.questions.check import by_id, n_sentences, verified
from lib.tablequest.questions.hard import hards_of
from lib.tablequest.questions.medium import easy_of, mediums_of
from lib.tablequest.questions.periods import period_of
from lib.tablequest.questions.places import caption_of, places, source_of
from lib.tablequest.questions.tables import tables_of
from lib.tablequest.records import LEVELS, CellRef, Grid
from tests.tablequest_example import BALANCE, FILING, GRIDS, MARGINS, PAPER, PASSAGES, RESULTS, SALES, grid

TABLES = tables_of(places(FILING, GRIDS))
QUESTIONS, REJECTED = questions_by_rules([FILING], GRIDS, PASSAGES, 12)


def drafts(table: Grid, row: str, column: str) -> dict[str, list]:
    """kind -> the medium and hard drafts of one cell."""
    found = TABLES[table.grid_id]
    place = found.at[table.rows.index(row), table.columns.index(column)]
    kinds: dict[str, list] = {}
    for draft in (*mediums_of(place, found), *hards_of(place, found)):
        kinds.setdefault(draft.kind, []).append(draft)
    return kinds


@pytest.mark.parametrize(("column", "name", "order", "measure"), [
    ("2024", "2024", (2024, 0, 0), ""), ("Fiscal 2024: Net Sales", "fiscal 2024", (2024, 0, 0), "Net Sales"),
    ("February 2, 2025", "February 2, 2025", (2025, 2, 2), ""), ("Fiscal: 2023", "fiscal 2023", (2023, 0, 0), ""),
    ("Years ended: September 28, 2024", "the year ended September 28, 2024", (2024, 9, 28), ""),
    ("Three Months Ended December 31, 2023 % of Sales", "the three months ended December 31, 2023", (2023, 12, 31),
     "% of Sales"), ("As of December 31, 2024", "December 31, 2024", (2024, 12, 31), ""),
    ("Services (1) 2024", "2024", (2024, 0, 0), "Services")])
def test_a_column_names_its_period_and_what_it_measures(column, name, order, measure):
    period = period_of(column)
    assert (period.name, period.order, period.measure) == (name, order, measure)


@pytest.mark.parametrize("column", ["Change 2024 to 2023", "Total", "", "May 28, 2024 – June 24, 2024", "20245"])
def test_no_or_several_times_are_no_period(column):
    assert period_of(column) is None


@pytest.mark.parametrize(("value", "unit", "scale", "decimals", "text"), [
    (391035, "USD", 1e6, 0, "$391,035 million"), (-24690, "USD", 1e3, 0, "-$24,690 thousand"),
    (-2.8005, "%", 1, 1, "-2.8%"), (6.105, "USD/share", 1, 2, "$6.11 per share"), (2.675, "", 1, 2, "2.68"),
    (15408.095, "shares", 1e3, 0, "15,408 thousand shares"),
    (-0.04, "percentage points", 1, 1, "0.0 percentage points"),
    (11657503041, "USD", 1, 0, "$11,657,503,041"), (0.5, "USD", 1e9, 0, "$1 billion")])
def test_amounts_as_an_answer_gives_them(value, unit, scale, decimals, text):
    assert amount(value, unit, scale, decimals) == text


@given(st.integers(-10**9, 10**9), st.integers(0, 3))
def test_rounding_is_exact_and_away_from_zero(thousandths, decimals):
    step = 10 ** (3 - decimals)
    expected = (abs(thousandths) + step // 2) // step * (1 if thousandths > 0 else -1)
    assert rounded(thousandths / 1000, decimals) == Decimal(expected).scaleb(-decimals)


def test_units_are_named_as_a_question_says_them():
    kinds = (("USD", 1e6), ("%", 1.0), ("USD/share", 1.0), ("shares", 1e3), ("", 1.0))
    assert [unit_words(*kind) for kind in kinds] == [
        "millions of US dollars", "percent", "US dollars per share", "thousands of shares", ""]


def test_the_caption_is_cut_to_what_the_table_shows():
    assert caption_of(SALES) == "net sales by line for 2024, 2023 and 2022"
    assert source_of(FILING) == "Orsa Pumps, Inc.'s annual report (10-K) for the fiscal year ended December 31, 2024"


def test_totals_are_rows_called_so_that_are_the_sum_of_the_rows_above_in_every_year():
    found = {grid_id: {table.at[row, 0].row: len(parts) for row, parts in table.totals.items()}
             for grid_id, table in TABLES.items()}
    assert found == {SALES.grid_id: {"Total net sales": 4}, MARGINS.grid_id: {"Total gross margin": 2},
                     BALANCE.grid_id: {"Total current assets": 3, "Total current liabilities": 2}}
    wrong = grid(9, "S", "2024 | 2023", "A | 10 | 20\nB | 5 | 6\nTotal | 15 | 27")
    assert tables_of(places(FILING, [wrong]))[wrong.grid_id].totals == {}


def test_an_easy_question_stands_alone():
    place = TABLES[BALANCE.grid_id].at[0, 0]
    assert easy_of(place).question == (
        "According to Orsa Pumps, Inc.'s annual report (10-K) for the fiscal year ended December 31, 2024, section "
        '"Balance sheets", what is reported for "Cash" as of December 31, 2024? Answer in millions of US dollars.')
    assert easy_of(place).answer == "$400 million"


@pytest.mark.parametrize(("table", "row", "column", "kind", "expression", "answer"), [
    (SALES, "Valves", "2024", "difference", "a - b", "-$200 million"),
    (SALES, "Valves", "2024", "percent change", "(a - b) / b * 100", "-25.0%"),
    (SALES, "Service", "2024", "average", "mean(a, b, c)", "$333.3 million"),
    (SALES, "Service", "2024", "share", "a / b * 100", "18.8%"),  # 18.75
    (SALES, "Seals", "2024", "sum", "a + b + c", "$1,800 million"),  # with Service, then from the top: Pumps
    (SALES, "Pumps", "2024", "ratio", "a / b", "2.00"),
    (SALES, "Pumps", "2022", "comparison", "max(a, b, c)", "2022"),
    (MARGINS, "Gross margin percentage: Products", "2024", "difference", "a - b", "1.7 percentage points"),
    (BALANCE, "Total current assets", "December 31, 2023", "ratio", "a / b", "1.70")])
def test_medium_answers_worked_by_hand(table, row, column, kind, expression, answer):
    assert [(draft.expression, draft.answer) for draft in drafts(table, row, column)[kind]] == [(expression, answer)]


def test_the_item_that_grew_most():
    found = [draft for draft in drafts(SALES, "Service", "2024")["comparison"] if draft.answer == "Service"]
    assert not found  # Seals and Service both grew by 50%: no answer is right alone
    found = [draft for draft in drafts(SALES, "Service", "2023")["comparison"] if "grew" in draft.question]
    assert [(draft.answer, draft.value) for draft in found] == [("Valves", 100.0)]


def test_what_makes_no_sense_is_not_asked():
    assert "percent change" not in drafts(MARGINS, "Gross margin percentage: Products", "2024")  # percent of percent
    assert "share" not in drafts(SALES, "Total net sales", "2024")
    assert not drafts(SALES, "Pumps", "Change")
    assert not drafts(BALANCE, "Deferred tax", "December 31, 2024")  # from nil, and below nil
    assert "difference" not in drafts(SALES, "Seals", "2023")  # no change


def test_times_and_subtotals_are_no_items_of_a_total():
    due = grid(6, "Leases", "Principal | Interest", """
        Fiscal 2025 | 400 | 40
        Fiscal 2026 | 300 | 30
        2027 and 2028 | 200 | 20
        Thereafter | 900 | 90
        Total payments | 1,800 | 180""")
    debts = grid(7, "Balance", "2024 | 2023", """
        Payables | 300 | 200
        Accruals | 200 | 100
        Total current debts | 500 | 300
        Bonds | 400 | 300
        Taxes | 60 | 50
        Other debts | 40 | 30
        Total debts | 1,000 | 680""")
    found = tables_of(places(FILING, [due, debts]))
    buckets = found[due.grid_id]
    assert {draft.kind for place in buckets.places for draft in mediums_of(place, buckets)} == {"share"}
    assert not [draft for place in buckets.places for draft in hards_of(place, buckets)]
    assert found[debts.grid_id].totals == {2: (0, 1), 6: (2, 3, 4, 5)}
    said = [draft.answer for place in found[debts.grid_id].places for draft in (
        *mediums_of(place, found[debts.grid_id]), *hards_of(place, found[debts.grid_id])) if "Bonds" in draft.answer]
    assert said and not [answer for answer in said if "Total current debts" in answer]


def test_hard_answers_worked_by_hand():
    trend, = drafts(SALES, "Valves", "2023")["trend"]
    assert trend.answer == (
        '"Valves" first rose from $400 million in 2022 to $800 million in 2023 and then dropped back to $600 million '
        "in 2024. The drop took away only a part of the rise, so that the whole time shows a change of +50.0%.")
    contrast = next(draft for draft in drafts(SALES, "Pumps", "2024")["contrast"] if "contrast how" in draft.question)
    assert contrast.answer == (
        '"Pumps" rose by 20.0% (from $1,000 million to $1,200 million), whereas "Valves" fell by 25.0% (from $800 '
        'million to $600 million). "Pumps" thus gained on "Valves": the ratio of "Pumps" to "Valves" moved from '
        "1.25 to 2.00.")
    drivers = next(draft for draft in drafts(SALES, "Total net sales", "2023")["contrast"] if "drove" in draft.question)
    assert drivers.answer == (
        '"Total net sales" rose by $200 million (+10.0%), and "Valves" contributed most to it: +$400 million, more '
        'than the whole of it. Most against it worked "Pumps", with -$250 million.')
    assert drivers.steps[-1] == "e - f = -$250 million"


def test_every_chain_is_three_levels_over_one_passage_and_every_answer_is_verified():
    chains: dict[str, list] = {}
    for question in QUESTIONS:
        chains.setdefault(question.chain_id, []).append(question)
    assert len(chains) == 12
    for chain in chains.values():
        assert [question.level for question in chain] == list(LEVELS)
        assert len({question.passage_id for question in chain}) == 1
        assert set(chain[0].cells.values()) <= set(chain[1].cells.values())  # the calculation builds on the cell
    assert [verified(question, by_id(GRIDS)) for question in QUESTIONS] == [""] * 36
    assert max(n_sentences(question.answer) for question in QUESTIONS) == 2


def test_chains_are_spread_over_passages_and_kinds_and_drawn_by_seed():
    assert set(Counter(question.passage_id for question in QUESTIONS).values()) == {12}
    kinds = Counter(question.kind for question in QUESTIONS if question.level == "medium")
    assert len(kinds) == 7 and max(kinds.values()) - min(kinds.values()) <= 1
    assert len({question.question for question in QUESTIONS}) == 36
    assert questions_by_rules([FILING], GRIDS, PASSAGES, 12) == (QUESTIONS, REJECTED)
    assert questions_by_rules([FILING], GRIDS, PASSAGES, 12, seed=1)[0] != QUESTIONS


def test_what_is_left_out_says_why():
    kinds = Counter(row.reason.split(":")[0] for row in REJECTED)
    assert kinds["another cell of the filing has the same labels"] == 10  # the two columns called Change
    assert kinds["fits, but each level already has its 12 questions"] > 0


def test_labels_that_occur_twice_are_told_apart_by_section_then_caption_else_not_asked():
    lines = "Current | 5 | 4\nDeferred | 2 | 1"
    one, two = (grid(1, "A > Federal", "2024 | 2023", lines), grid(2, "A > State", "2024 | 2023", lines))
    assert {place.fault for place in places(FILING, [one, two])} == {""}
    twins = [grid(number, "Taxes", "2024 | 2023", lines, caption=caption) for number, caption in
             ((1, "The table shows federal tax:"), (2, "The table shows state tax:"))]
    found = places(FILING, twins)
    assert {place.fault for place in found} == {""}
    assert found[0].source.endswith('section "Taxes", table of federal tax')
    same = [grid(number, "Taxes", "2024 | Fiscal 2024", "Current | 5 | 4") for number in (1, 2)]
    assert {place.fault for place in places(FILING, same)} == {"another cell of the filing has the same labels"}


def test_a_row_that_another_table_of_the_section_has_for_the_same_time_is_named_by_its_caption():
    part = grid(1, "Segments", "2024 | 2023 | 2022", "Net sales | $90 | $80 | $85\nCosts | 40 | 38 | 37",
                caption="The table shows sales of our Primary segment:")
    whole = grid(2, "Segments", "2024 Other | 2024 Consolidated", "Net sales | $10 | $100",
                 caption="The table leads from segments to the whole:")
    found = places(FILING, [part, whole])
    assert {place.fault for place in found} == {""}
    assert {"table of sales of our Primary segment" in place.source for place in found[:6]} == {True}
    assert 'under "Consolidated" in 2024' in easy_of(found[-1]).question
    nameless = part.model_copy(update={"caption": ""})
    assert [place.fault != "" for place in places(FILING, [nameless, whole])] == [True] + [False] * 7  # 2024 alone


@pytest.mark.parametrize(("level", "change", "reason"), [
    ("easy", {"cells": {"a": CellRef(grid_id="none", row=0, column=0)}}, "the table none is not there"),
    ("easy", {"cells": {"a": CellRef(grid_id=SALES.grid_id, row=99, column=0)}}, "has no cell in row 99"),
    ("easy", {"answer": "$1 million"}, r"the answer says \$1 million"),
    ("easy", {"expression": "a * 2", "value": 2400.0, "answer": "$2,400 million"}, "as it stands"),
    ("medium", {"value": 3.0}, "the expression gives"), ("medium", {"expression": "a"}, "does not use b"),
    ("medium", {"expression": "z"}, "the name 'z' is unknown"), ("hard", {"answer": "It rose by 77.7%."}, "77.7%"),
    ("hard", {"answer": "It rose. It fell. It rose."}, "3 sentences"), ("hard", {"answer": "It rose."}, "no figure"),
    ("hard", {"steps": ("a - a = 9.9%",)}, "the step 'a - a = 9.9%' gives 0"), ("hard", {"cells": {}}, "no cell")])
def test_a_wrong_answer_is_found(level, change, reason):
    kinds = ("extraction", "difference", "contrast")
    question = next(row for row in QUESTIONS if row.level == level and row.kind in kinds)
    assert reason.replace("\\", "") in verified(question.model_copy(update=change), by_id(GRIDS))


def test_digits_of_a_label_are_no_figures_of_an_answer():
    levels = grid(5, "Fair value", "2024 | 2023", "Level 2: Bonds | $30 | $20\nLevel 2: Notes | $10 | $20")
    hard = next(row for row in QUESTIONS if row.level == "hard").model_copy(update={
        "cells": {"a": CellRef(grid_id=levels.grid_id, row=0, column=0)}, "steps": ()})
    for answer, reason in (('"Level 2: Bonds" came to $30 million.', ""),
                           ("All 2 came to $30 million.", "the figure 2")):
        assert verified(hard.model_copy(update={"answer": answer}), by_id([levels])).endswith(reason)
        assert bool(verified(hard.model_copy(update={"answer": answer}), by_id([levels]))) == bool(reason)


def test_a_papers_rows_are_set_against_each_other():
    passage = PASSAGES[0].model_copy(update={"passage_id": "seals-p01", "filing_id": "seals", "blocks": (
        PASSAGES[0].blocks[2].model_copy(update={"grid_id": RESULTS.grid_id}),)})
    questions, rejected = questions_by_rules([PAPER], [RESULTS], [passage], 9)
    assert [verified(question, by_id([RESULTS])) for question in questions] == [""] * 6  # one analysis a column
    assert {(row.kind, row.answer) for row in questions if row.level == "hard"} == {
        ("contrast", '"Both" is highest with 90.1%, ahead of "Microphone" (88.5%) by 1.6 percentage points. "Ear" is '
         "lowest with 71.2%, so that the two ends are 18.9 percentage points apart."),
        ("contrast", '"Both" is highest with 14, ahead of "Microphone" (12) by 2. "Ear" is lowest with 3, so that '
         "the two ends are 11 apart.")}
    assert questions[0].question.startswith('According to the paper "Testing Seals by Ear", section "Results", what')
    assert {row.reason.split(":")[0] for row in rejected} == {"nearly the same is asked already"}


_AMOUNTS = st.integers(-400, 4000).map(lambda value: f"({-value:,})" if value < 0 else f"{value:,}")
_ODD = st.sampled_from(["—", "", "12.5%", "$0.07"])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.one_of(_AMOUNTS, _AMOUNTS, _AMOUNTS, _ODD), min_size=3, max_size=3), min_size=1,
                max_size=6), st.sampled_from(["2024 | 2023 | 2022", "Fiscal 2024: Cost | Change | Fiscal 2023: Cost",
                                              "June 30, 2024 | June 30, 2023 | Level 2 Total"]), st.booleans())
def test_whatever_a_table_holds_every_answer_follows_from_it(rows, columns, has_total):
    names = [*(f'Item "{letter}" (1)' for letter in "ABCDEF"[:len(rows) - has_total]), *["Total: all"] * has_total]
    table = grid(1, "S", columns, "\n".join(" | ".join([name, *row]) for name, row in zip(names, rows, strict=True)))
    passage = PASSAGES[0].model_copy(update={"blocks": (PASSAGES[0].blocks[2].model_copy(
        update={"grid_id": table.grid_id}),)})
    questions, rejected = questions_by_rules([FILING], [table], [passage], 30)
    assert [verified(question, by_id([table])) for question in questions] == [""] * len(questions)
    assert not [row for row in rejected if row.reason.startswith("not ")]
    n_cells = sum(cell.value is not None for row in table.cells for cell in row)
    assert len({row.chain_id for row in questions}) <= n_cells <= len(questions) + len(rejected)


def test_a_count_below_one_is_an_error():
    with pytest.raises(ValueError, match="per_level is 0"):
        questions_by_rules([FILING], GRIDS, PASSAGES, 0)
