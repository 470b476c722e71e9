"""Chains by rules on a small report whose figures were worked out by hand."""


import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.tasks.tablequest.places.places import places
from lib.tasks.tablequest.questions.by_rules import questions_by_rules, synthesis_by_rules
from lib.tasks.tablequest.questions.check import n_sentences, verified
from lib.tasks.tablequest.questions.hard import hards_of
from lib.tasks.tablequest.questions.medium import mediums_of
from lib.tasks.tablequest.questions.tables import tables_of
from lib.tasks.tablequest.records import LEVELS, CellRef, Grid, by_id
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
