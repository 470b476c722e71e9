"""Tables as grids: committed ones with their grids, numbers, unit notes, currencies."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml.html import fragment_fromstring

from lib.tablequest.cells import (
    Note,
    read_note,
    read_number,
    read_rows,
    reported_coin,
    unit_note_in,
)
from lib.tablequest.grid import kind_of, layouts_of
from lib.tablequest.units import Facts, cells_of, own_note
from tests.tablequest.alm import DATA, cases, table

SHAPES = sorted((DATA / "tables").glob("*.html"))


def grids_of(html: str, intro: str = "") -> list[list[tuple[str, ...]]]:
    """Return each part: its column labels, then lines of a label and "value unit scale"."""
    found = []
    element = fragment_fromstring(html)
    for layout in layouts_of(read_rows(element)):
        note = read_note(own_note(layout) or unit_note_in(intro))
        cells = cells_of(layout, Facts(element), "USD", (note, note, Note()), intro)
        lines = zip(layout.lines, cells, strict=True)
        found.append([layout.columns, *((one.label, *map(written, row)) for one, row in lines)])
    return found


def written(cell) -> str:
    if cell.value is None:
        return f"'{cell.text}'" if cell.text else ""
    return f"{cell.value:.12g} {cell.unit.replace(' ', '-')} {cell.scale:.12g}".replace("  ", " ")


def parts(line: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in line.split("|"))


@pytest.mark.parametrize("path", SHAPES, ids=lambda path: path.stem)
def test_a_table_becomes_the_grid_that_a_reader_makes_of_it(path):
    comment, html = path.read_text(encoding="utf-8").removeprefix("<!--\n").split("\n-->\n")
    head, lines = comment.split("\nrows:\n")
    named = dict(line.partition(":")[::2] for line in head.splitlines())
    [(columns, *rows)] = grids_of(html.replace("\n", ""), named.get("intro", "").strip())
    assert columns == parts(named["columns"])
    assert rows == [*map(parts, lines.splitlines())]


@cases("numbers")
def test_a_number_is_read_with_sign_and_unit_and_other_text_is_none(case):
    found = read_number(case["text"])
    assert (found and [*found[:2]]) == case["number"]


@cases("notes")
def test_a_note_is_found_in_a_text_and_read_and_a_filing_names_its_currency(case):
    text = case["text"]
    found = {"short": unit_note_in(text, is_short=True), "note": unit_note_in(text)}
    assert case == read_note(text)._asdict() | found | {"reported": reported_coin([text])}


def test_headers_that_change_begin_another_grid_and_panels_keep_theirs():
    changing = table("|2031|2030", "Sales|$10|$9", "|2029|2028", "Sales|$8|$7")
    assert [columns for columns, *_ in grids_of(changing)] == [("2031", "2030"), ("2029", "2028")]
    panels = table("State|Stores|State|Stores", "Ohio|7|Utah|9", "Iowa|5|Maine|4")
    assert [columns for columns, *_ in grids_of(panels)] == [("Stores", "State", "Stores")]


@cases("kinds")
def test_a_table_without_data_is_no_grid(case):
    assert kind_of(read_rows(fragment_fromstring(table(*case["lines"])))) == case["kind"]


@given(
    st.lists(
        st.lists(
            st.sampled_from(
                ["", "2031", "$", "(4", ")", "%", "1,200", "Sales", "in millions", "(1)", "—"]
            ),
            min_size=1,
        ),
        min_size=1,
    ),
    st.integers(1, 3),
)
def test_no_table_is_too_odd(lines, span):
    html = table(*map("|".join, lines)).replace("<td", f'<td colspan="{span}"')
    for columns, *rows in grids_of(html, "(in thousands)"):
        assert all(len(cells) == len(columns) for _, *cells in rows)
