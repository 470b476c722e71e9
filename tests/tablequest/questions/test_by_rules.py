"""Chains by rules on a small report whose figures were worked out by hand."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.tablequest.places.places import places
from lib.tablequest.questions.by_rules import questions_by_rules, synthesis_by_rules
from lib.tablequest.questions.check import n_sentences, verified
from lib.tablequest.questions.hard import hards_of
from lib.tablequest.questions.medium import easy_of, mediums_of
from lib.tablequest.questions.tables import tables_of
from lib.tablequest.records import LEVELS, CellRef, Grid, by_id
from tests.tablequest_example import (
    BALANCE,
    FILING,
    GRIDS,
    MARGINS,
    PASSAGES,
    SALES,
    grid,
)

TABLES = tables_of(places(FILING, GRIDS))
QUESTIONS, REJECTED = questions_by_rules([FILING], GRIDS, PASSAGES, 12)


def drafts(table: Grid, row: str, column: str) -> dict[str, list]:
    """Return kind -> the medium and hard drafts of one cell."""
    found = TABLES[table.grid_id]
    place = found.at[table.rows.index(row), table.columns.index(column)]
    kinds: dict[str, list] = {}
    for draft in (*mediums_of(place, found), *hards_of(place, found)):
        kinds.setdefault(draft.kind, []).append(draft)
    return kinds


def test_totals_are_rows_named_so_that_are_the_sum_of_the_rows_above_in_every_year():
    found = {grid_id: {table.at[row, 0].row: len(parts) for row, parts in table.totals.items()}
             for grid_id, table in TABLES.items()}
    assert found == {
        SALES.grid_id: {"Total net sales": 4}, MARGINS.grid_id: {"Total gross margin": 2},
        BALANCE.grid_id: {"Total current assets": 3, "Total current liabilities": 2}}
    wrong = grid(9, "S", "2024 | 2023", "A | 10 | 20\nB | 5 | 6\nTotal | 15 | 27")
    assert tables_of(places(FILING, [wrong]))[wrong.grid_id].totals == {}


def test_an_easy_question_can_be_understood_on_its_own():
    draft = easy_of(TABLES[BALANCE.grid_id].at[0, 0])
    assert draft.answer == "$400 million" and draft.question == (
        "According to Orsa Pumps, Inc.'s annual report (10-K) for the fiscal year ended December "
        '31, 2024, section "Balance sheets", what is reported for "Cash" as of December 31, 2024? '
        "Answer in millions of US dollars.")


@pytest.mark.parametrize(("table", "row", "column", "kind", "expression", "answer"), [
    (SALES, "Valves", "2024", "difference", "a - b", "-$200 million"),
    (SALES, "Valves", "2024", "percent change", "(a - b) / b * 100", "-25.0%"),
    (SALES, "Repairs", "2024", "average", "mean(a, b, c)", "$333.3 million"),
    (SALES, "Repairs", "2024", "share", "a / b * 100", "18.8%"),  # 18.75
    # with Repairs, then from the top: Pumps
    (SALES, "Seals", "2024", "sum", "a + b + c", "$1,800 million"),
    (SALES, "Pumps", "2024", "ratio", "a / b", "2.00"),
    (SALES, "Pumps", "2022", "comparison", "max(a, b, c)", "2022"),
    (MARGINS, "Gross margin percentage: Products", "2024", "difference", "a - b",
     "1.7 percentage points"),
    (BALANCE, "Total current assets", "December 31, 2023", "ratio", "a / b", "1.70")])
def test_medium_answers_worked_by_hand(table, row, column, kind, expression, answer):
    found = [(draft.expression, draft.answer) for draft in drafts(table, row, column)[kind]]
    assert found == [(expression, answer)]


def test_the_item_that_grew_most():
    # Seals and Repairs both grew by 50%: neither answer is right alone
    answers = [draft.answer for draft in drafts(SALES, "Repairs", "2024")["comparison"]]
    assert "Repairs" not in answers
    [found] = [draft for draft in drafts(SALES, "Repairs", "2023")["comparison"]
               if "grew" in draft.question]
    assert (found.answer, found.value) == ("Valves", 100.0)


def test_what_makes_no_sense_is_not_asked():
    percentages = drafts(MARGINS, "Gross margin percentage: Products", "2024")
    assert "percent change" not in percentages
    assert "share" not in drafts(SALES, "Total net sales", "2024")
    assert not drafts(SALES, "Pumps", "Change")
    assert not drafts(BALANCE, "Deferred tax", "December 31, 2024")  # from nil, and below nil
    assert "difference" not in drafts(SALES, "Seals", "2023")  # no change


def test_times_and_subtotals_are_no_items_of_a_total():
    due = grid(6, "Leases", "2024 Principal | 2024 Interest", """
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
    times, items = found[due.grid_id], found[debts.grid_id]
    assert {place.fault for place in times.places if "Fiscal" in place.row or "20" in place.row
            } == {"the label names a time"}
    assert not [draft for place in times.places if not place.fault
                for draft in (*mediums_of(place, times), *hards_of(place, times))]
    assert items.totals == {2: (0, 1), 6: (2, 3, 4, 5)}
    answers = [draft.answer for place in items.places
               for draft in (*mediums_of(place, items), *hards_of(place, items))
               if "Bonds" in draft.answer]
    assert answers and not [answer for answer in answers if "Total current debts" in answer]


@pytest.mark.parametrize(("row", "column", "word", "answer"), [
    ("Valves", "2023", "develop",
     '"Valves" turned after 2023: it first rose from $400 million in '
     "2022 to $800 million in 2023, and then dropped back to $600 million in 2024. The drop took "
     "away only a part of the rise, so that the whole time shows a change of +50.0%."),
    ("Pumps", "2024", "contrast how", '"Pumps" rose by 20.0% (from $1,000 million to $1,200 '
     'million), whereas "Valves" fell by 25.0% (from $800 million to $600 million). "Pumps" thus '
     'gained on "Valves": the ratio of "Pumps" to "Valves" moved from 1.25 to 2.00.'),
    ("Total net sales", "2023", "drove", '"Total net sales" rose by $200 million (+10.0%), and '
     '"Valves" contributed most to it: +$400 million, more than the whole of it. Most against it '
     'worked "Pumps", with -$250 million.')])
def test_hard_answers_worked_by_hand(row, column, word, answer):
    found = [draft for of_kind in drafts(SALES, row, column).values() for draft in of_kind
             if word in draft.question]
    assert answer in [draft.answer for draft in found]
    if word == "drove":
        assert found[0].steps[-1] == "e - f = -$250 million"


def test_every_chain_has_three_levels_over_one_passage_and_every_answer_is_verified():
    chains: dict[str, list] = {}
    for question in QUESTIONS:
        chains.setdefault(question.chain_id, []).append(question)
    assert len(chains) == 12
    for chain in chains.values():
        assert [question.level for question in chain] == list(LEVELS)
        assert len({question.passage_id for question in chain}) == 1
        # the calculation builds on the cell
        assert set(chain[0].cells.values()) <= set(chain[1].cells.values())
    assert [verified(question, by_id(GRIDS)) for question in QUESTIONS] == [""] * 36
    assert max(n_sentences(question.answer) for question in QUESTIONS) == 2
    found = synthesis_by_rules([FILING], GRIDS, PASSAGES, 12)
    assert (found.questions, found.rejected) == (QUESTIONS, REJECTED)
    assert [row.fault for row in found.screenings] == [""] * 36


def test_chains_are_spread_over_passages_and_kinds_and_drawn_by_seed():
    assert set(Counter(question.passage_id for question in QUESTIONS).values()) == {12}
    kinds = Counter(question.kind for question in QUESTIONS if question.level == "medium")
    assert len(kinds) == 7 and max(kinds.values()) - min(kinds.values()) <= 1
    assert len({question.question for question in QUESTIONS}) == 36
    assert questions_by_rules([FILING], GRIDS, PASSAGES, 12, seed=1)[0] != QUESTIONS


def test_what_is_left_out_has_a_reason():
    kinds = Counter(row.reason.split(":")[0] for row in REJECTED)
    assert kinds["the column names no period, or several"] == 10  # two columns "Change"
    assert kinds["fits, but each level already has its 12 questions"] > 0


_EASY, _MEDIUM, _HARD = (
    next(row for row in QUESTIONS if row.kind == kind)
    for kind in ("extraction", "difference", "contrast"))


@pytest.mark.parametrize(("question", "change", "reason"), [
    (_EASY, {"cells": {"a": CellRef(grid_id="none", row=0, column=0)}}, "the table none"),
    (_EASY, {"cells": {"a": CellRef(grid_id=SALES.grid_id, row=99, column=0)}}, "in row 99"),
    (_EASY, {"answer": "$1 million"}, "says $1 million"), (_MEDIUM, {"expression": "z"}, "'z'"),
    (_EASY, {"expression": "a * 2", "value": 2400.0, "answer": "$2,400 million"}, "single cell"),
    (_MEDIUM, {"value": 3.0}, "expression gives"), (_MEDIUM, {"expression": "a"}, "not use b"),
    (_HARD, {"answer": "It rose by 77.7%."}, "77.7%"), (_HARD, {"cells": {}}, "no cell"),
    (_HARD, {"answer": "It rose. It fell. It rose."}, "3 sentences"),
    (_HARD, {"answer": "It rose."}, "no figure"),
    (_HARD, {"steps": ("a - a = 9.9%",)}, "'a - a = 9.9%' gives 0")])
def test_a_wrong_answer_is_found(question, change, reason):
    assert reason in verified(question.model_copy(update=change), by_id(GRIDS))


def test_digits_of_a_label_are_no_figures_of_an_answer():
    levels = grid(5, "Fair value", "2024 | 2023",
                  "Level 2: Bonds | $30 | $20\nLevel 2: Notes | $10 | $20")
    cells = {"a": CellRef(grid_id=levels.grid_id, row=0, column=0)}
    for answer, reason in (('"Level 2: Bonds" came to $30 million.', ""),
                           ("All 2 came to $30 million.", "the figure 2")):
        hard = _HARD.model_copy(update={"cells": cells, "steps": (), "answer": answer})
        found = verified(hard, by_id([levels]))
        assert found.endswith(reason) and bool(found) == bool(reason)


def on(table: Grid):
    """Return a passage that has only this table."""
    block = PASSAGES[0].blocks[2].model_copy(update={"grid_id": table.grid_id})
    return PASSAGES[0].model_copy(update={"filing_id": table.filing_id, "blocks": (block,)})


_AMOUNTS = st.integers(-400, 4000).map(
    lambda value: f"({-value:,})" if value < 0 else f"{value:,}")
_CELLS = st.one_of(_AMOUNTS, _AMOUNTS, _AMOUNTS, st.sampled_from(["—", "", "12.5%", "$0.07"]))
_COLUMNS = ["2024 | 2023 | 2022", "Fiscal 2024: Cost | Change | Fiscal 2023: Cost",
            "June 30, 2024 | June 30, 2023 | Level 2 Total"]


@given(st.lists(st.lists(_CELLS, min_size=3, max_size=3), min_size=1, max_size=6),
       st.sampled_from(_COLUMNS), st.booleans())
def test_whatever_a_table_holds_every_answer_follows_from_it(rows, columns, has_total):
    names = [f'Item "{letter}" (1)' for letter in "ABCDEF"[:len(rows) - has_total]]
    names += ["Total: all"] * has_total
    table = grid(1, "S", columns, "\n".join(
        " | ".join([name, *row]) for name, row in zip(names, rows, strict=True)))
    questions, rejected = questions_by_rules([FILING], [table], [on(table)], 30)
    assert [verified(question, by_id([table])) for question in questions] == [""] * len(questions)
    assert not [row for row in rejected if row.reason.startswith("not ")]
    n_cells = sum(cell.value is not None for row in table.cells for cell in row)
    n_chains = len({row.chain_id for row in questions})
    assert n_chains <= n_cells <= len(questions) + len(rejected)


def test_a_count_below_one_is_an_error():
    with pytest.raises(ValueError, match="per_level is 0"):
        questions_by_rules([FILING], GRIDS, PASSAGES, 0)
