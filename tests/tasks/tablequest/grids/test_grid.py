"""Tables of filings as grids: forty shapes with their expected grids, values, notes, properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml.html import fragment_fromstring

from lib.core.errors import BadInput
from lib.tasks.tablequest.grids.cells import read_html_rows, visible_text
from lib.tasks.tablequest.grids.grid import Surroundings, read_grid
from lib.tasks.tablequest.grids.kinds import kind_of
from lib.tasks.tablequest.grids.notes import unit_note_in
from lib.tasks.tablequest.grids.values import read_value
from tests.tablequest_shapes import SHAPES, Shape, head, row, table


def rows_of(html: str) -> list:
    return read_html_rows(fragment_fromstring(html))


def grid_of(html: str, intro: str = "", before: tuple[str, ...] = ()):
    around = Surroundings("report", 1, "Item 8", intro, unit_note_in(intro), (), before)
    return read_grid(rows_of(html), around).grid


def written(cell) -> str:
    """Return a cell as the shapes' files have it: value, unit and scale, or quoted words."""
    if cell.value is None:
        return f"'{cell.text}'" if cell.text else ""
    return numbers(f"{cell.value!r} {cell.unit.replace(' ', '-')} {cell.scale!r}")


def numbers(part: str) -> str:
    if not part or part.startswith("'"):
        return part
    value, *unit, scale = part.split()
    return " ".join([f"{float(value):g}", *unit, f"{float(scale):g}"])


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_table_becomes_the_grid_that_a_reader_makes_of_it(shape: Shape):
    grid = grid_of(shape.html, shape.intro, shape.before)
    assert grid.columns == shape.columns
    found = [(label, *map(written, cells))
             for label, cells in zip(grid.rows, grid.cells, strict=True)]
    assert found == [(label, *map(numbers, parts)) for label, *parts in shape.rows]
    assert len(set(grid.rows)) == len(grid.rows)


@pytest.mark.parametrize(("text", "value", "unit"), [
    ("$(24,690)", -24690, "USD"), ("(4)%", -4, "%"), ("(4 %)", -4, "%"), ("—", 0, ""),
    ("$—", 0, "USD"), ("— %", 0, "%"), ("12.4%", 12.4, "%"), ("5.0 years", 5, "years"),
    ("1,234 (1)", 1234, ""), (".5", 0.5, ""), ("-3.1", -3.1, ""), ("€1,200", 1200, "EUR"),
    ("71.2 ± 0.3", 71.2, ""), ("2.5x", 2.5, "times"), ("100 basis points", 100, "basis points")])
def test_a_value_is_read_with_sign_and_unit(text, value, unit):
    reading = read_value(text)
    assert (reading.value, reading.unit) == (value, unit)


@pytest.mark.parametrize("text", ["5 – 45 years", "N/A", "94-2404110", "(565", "3)",
                                  "0.03% – 6.65%", "12,34", "", "$", "1.2.3"])
def test_what_is_not_a_single_number_is_none(text):
    assert read_value(text) is None


def test_a_dash_is_nil():
    assert read_value("—").value == 0


@given(st.integers(0, 10**12), st.booleans(), st.sampled_from(["", "$"]),
       st.sampled_from(["", "%"]))
def test_a_printed_number_is_read_back(number, is_negative, coin, percent):
    digits = f"({number:,})" if is_negative else f"{number:,}"
    assert read_value(f"{coin}{digits}{percent}").value == (-number if is_negative else number)


@given(st.text(max_size=40))
def test_no_text_breaks_the_reading_of_a_value(text):
    reading = read_value(text)
    assert reading is None or reading.value is None or reading.value == reading.value


_CELLS = st.tuples(st.text("abc:$%()12,. ", min_size=1, max_size=8), st.integers(-2, 40),
                   st.integers(-1, 9))


@given(st.lists(_CELLS, max_size=8), st.integers(1, 6))
def test_any_raster_is_a_grid_or_says_why_not(cells, per_row):
    parts = [f'<td colspan="{width}" rowspan="{height}">{text}</td>'
             for text, width, height in cells]
    lines = ["".join(parts[at:at + per_row]) for at in range(0, len(parts), per_row)]
    html = "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"
    try:
        grid = grid_of(html)
    except BadInput as error:
        assert ": " in str(error)
    else:
        assert all(len(line) == len(grid.columns) for line in grid.cells)
        assert len(grid.rows) == len(grid.cells) > 0


def test_spans_that_would_fill_the_memory_are_refused():
    wide = "<table>" + "<tr><td colspan=99999999>1</td></tr>" * 4001 + "</table>"
    with pytest.raises(BadInput, match="slots"):
        rows_of(wide)


FIRST = [head("2031", "2030"), row("Sales", "$1", "$2")]


@pytest.mark.parametrize(("html", "kind"), [
    ("<table><tr><td>a</td><td colspan=2>1.0</td><td>2.0</td></tr>"
     "<tr><td>b</td><td>3.0</td><td colspan=2>4.0</td></tr></table>", "columns overlap"),
    (table(row("Sales", "$1", "$2")), "no column labels"),
    (table(*FIRST, head("2029", "2028"), row("Rent", "$3", "$4")), "columns change")])
def test_what_cannot_be_separated_is_not_guessed(html, kind):
    with pytest.raises(BadInput, match=kind):
        grid_of(html)


@pytest.mark.parametrize(("html", "kind"), [
    (table(""), "empty"), (table(row("Fiscal 2031 Form 10-K")), "page footer"),
    (table("<td>•</td><td>We grow.</td>", "<td>•</td><td>We save.</td>"), "bullets"),
    (table("<td>/s/ A. Name</td><td>Director</td>"), "signatures"),
    (table("<td>Item 1.</td><td>Business</td><td>1</td>",
           "<td>Item 2.</td><td>Properties</td><td>9</td>",
           "<td>Item 3.</td><td>Legal</td><td>9</td>"), "table of contents"),
    (table("<td>Exhibit Number</td><td>Description</td>", "<td>3.1</td><td>Articles</td>"),
     "exhibits"),
    (table("<td>Delaware</td><td>95-1</td>",
           "<td>(State or other jurisdiction)</td><td>(No.)</td>"), "cover page"),
    (table(head("2031"), row("Sales", "$1")), "")])
def test_a_table_without_data_has_its_kind(html, kind):
    assert kind_of(rows_of(html)) == kind


def test_what_a_filing_says_is_escaped_in_the_cleaned_table():
    grid = grid_of(table(head("<i>2031</i>&lt;script&gt;"),
                         row("A &amp; B &lt;img src=x onerror=alert(1)&gt;", "$1")))
    assert "<script>" not in grid.html and "<img" not in grid.html and "A &amp; B" in grid.html
    assert grid.rows == ("A & B <img src=x onerror=alert(1)>",)
    assert visible_text(fragment_fromstring("<td>Total<sup>1</sup></td>")) == "Total (1)"
