"""Hard questions on shares, outliers, sums and two tables, with figures worked out by hand."""

from lib.tasks.tablequest.places.places import places
from lib.tasks.tablequest.questions.check import verified
from lib.tasks.tablequest.questions.structure import structures_of
from lib.tasks.tablequest.questions.tables import tables_of
from lib.tasks.tablequest.records import Grid, TableQuestion, by_id
from tests.tablequest_example import FILING, grid

COSTS = grid(7, "Item 7. Results > Costs by kind", "2024 | 2023", """
    Wage costs | 400 | 380
    Rent costs | 104 | 100
    Energy costs | 156 | 100
    Freight costs | 99 | 100
    Rebates | (59) | (80)
    Total costs | 700 | 600""")


def drafts(row: str, table: Grid, *others: Grid) -> dict[str, object]:
    """Return kind -> the analysis that begins at the row's first cell; each is verified."""
    tables = tables_of(places(FILING, [table, *others]))
    found = tables[table.grid_id]
    place = found.at[table.rows.index(row), 0]
    rest = [tables[other.grid_id] for other in others]
    kinds = {draft.kind: draft for draft in structures_of(place, found, rest)}
    for draft in kinds.values():
        question = TableQuestion(question_id="q", chain_id="c", filing_id=FILING.filing_id,
                                 passage_id="p", level="hard", **vars(draft))
        assert verified(question, by_id([table, *others])) == ""
    return kinds


def test_a_total_is_reconciled_with_parts_below_zero_and_roundings():
    assert drafts("Rent costs", COSTS)["reconciliation"].answer == (
        '"Wage costs" ($400 million), "Rent costs" ($104 million), "Energy costs" ($156 million), '
        '"Freight costs" ($99 million) and "Rebates" (-$59 million) add up to $700 million, which '
        'agrees with the $700 million reported for "Total costs". The largest item is "Wage '
        'costs", and "Rebates" reduces the sum.')
    rounded = grid(9, "Notes", "2024", """
        Domestic sales | 1,200
        Export sales | 800
        Online sales | 300
        Total sales | 2,301""")
    assert ("add up to $2,300 million, which differs by $1 million from the $2,301 million "
            "reported, due to rounding" in drafts("Export sales", rounded)["reconciliation"].answer)


def test_a_sum_without_the_word_total_is_found_in_two_columns_and_never_ranked():
    lines = """
        Sales of goods | 30 | 20
        Service fees | 20 | 20
        Operating proceeds | 50 | 40
        Rent proceeds | 5 | 6
        Interest income | 9 | 9"""
    [table] = tables_of(places(FILING, [grid(5, "Income", "2024 | 2023", lines)])).values()
    assert table.totals == {2: (0, 1)} and table.leads == set()
    [single] = tables_of(places(FILING, [grid(5, "Income", "2024", """
        Sales of goods | 30
        Service fees | 20
        Operating proceeds | 50""")])).values()
    assert single.totals == {}
    ahead = """
        Gains: Proceeds | 50 | 40
        Gains: Sales of goods | 30 | 20
        Gains: Service fees | 20 | 20
        Gains: Interest income | 9 | 9"""
    [table] = tables_of(places(FILING, [grid(5, "Income", "2024 | 2023", ahead)])).values()
    assert table.leads == {0}
    assert [item.own for item in table.neighbours(table.at[1, 0])] == [
        "Service fees", "Interest income"]
    nested = grid(6, "Balance", "2024 | 2023", """
        Cash | 5 | 4
        Receivables | 3 | 3
        Total current assets | 8 | 7
        Land | 6 | 6
        Buildings | 4 | 5
        Total fixed assets | 10 | 11
        Total assets | 18 | 18""")
    [table] = tables_of(places(FILING, [nested])).values()
    assert table.totals == {2: (0, 1), 5: (3, 4), 6: (2, 5)}
    assert table.clear_parts(table.at[6, 0]) == []  # subtotals are no items
