"""Labels of rows as reports write them: wrapped, with leaders and marks, over sums and parts."""

from lxml.html import fragment_fromstring

from lib.tasks.tablequest.grids.cells import read_html_rows
from lib.tasks.tablequest.grids.grid import ReadGrid, Surroundings, read_grid
from tests.tablequest_shapes import head, row, table


def read(*lines: str) -> ReadGrid:
    return read_grid(read_html_rows(fragment_fromstring(table(*lines))), Surroundings("report", 1))


def labels(*lines: str) -> tuple[str, ...]:
    return read(head("2031", "2030"), *lines).grid.rows


def indented(label: str, points: int = 12) -> str:
    return f'<div style="padding-left:{points}pt">{label}</div>'


def test_a_label_that_goes_on_in_the_next_row_is_joined():
    assert labels(row("Provision for losses on loans and"), row("on commitments to lend", "7", "6"),
                  row("Deferred taxes and other"), row("liabilities", "$3", "$2")) == (
        "Provision for losses on loans and on commitments to lend",
        "Deferred taxes and other liabilities")


def test_a_group_is_not_the_first_line_of_a_label():
    assert labels(row("Costs:"), row("wages", "7", "6"), row("fuel", "2", "2")) == (
        "Costs: wages", "Costs: fuel")
    assert labels(row("Current assets"), row("Cash", "7", "6")) == ("Current assets: Cash",)


def test_a_total_without_a_label_is_named_after_the_group_that_it_adds_up():
    assert labels(row("Cash", "$1", "$1"), row("Machines:"), row(indented("Presses"), "40", "30"),
                  row(indented("Lathes"), "2", "3"), row("", "42", "33", rule=True),
                  row("Land", "5", "5")) == (
        "Cash", "Machines: Presses", "Machines: Lathes", "Total of Machines", "Land")


def test_parts_that_add_up_to_the_line_above_them_are_its_group():
    assert labels(row("Revenue", "$100", "$90"), row(indented("Ferries"), "60", "50"),
                  row(indented("Ports"), "40", "40"), row("Costs", "70", "66"),
                  row("Loans", "8", "9"), row(indented("of which overdue"), "1", "2")) == (
        "Revenue", "Revenue: Ferries", "Revenue: Ports", "Costs", "Loans",
        "Loans: of which overdue")


def test_a_row_of_ranges_above_the_first_number_is_a_row():
    cell = "<td colspan=3></td><td colspan=3>{}</td>"
    ranges = "<td colspan=3>Volatility</td>" + cell.format("25% – 31%") + cell.format("24% – 30%")
    found = read(head("2031", "2030"), ranges,
                 row("Term (in years)", "4.5", "4.2")).grid
    assert found.rows == ("Volatility", "Term (in years)") and found.columns == ("2031", "2030")
    assert found.cells[0][0].value is None and found.cells[0][0].text == "25% – 31%"


def test_units_above_all_columns_are_the_tables_note_and_no_part_of_their_labels():
    found = read(head("2031", "2030"),
                 "<td colspan=3></td><td colspan=3></td><td colspan=9>(Thousands of dollars)</td>",
                 row("Rent", "$5", "$9")).grid
    assert found.columns == ("2031", "2030") and found.unit_note == "(Thousands of dollars)"
    assert found.cells[0][0].scale == 1e3


def test_a_table_with_a_decimal_comma_keeps_its_text():
    grid = read(head("2031", "2030"), row("Miete", "€1.234,5", "€980,0"),
                row("Strom", "12,5", "1.200")).grid
    assert [[cell.value for cell in cells] for cells in grid.cells] == [[1234.5, 980], [12.5, 1200]]
    assert grid.cells[0][0].text == "€1.234,5" and "<td>1.200</td>" in grid.html
