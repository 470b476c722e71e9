"""Tables as grids: committed ones with their grids, numbers, unit notes, currencies."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.tablequest.cells import read_note, read_number, reported_coin, unit_note_in
from tests.tablequest.alm import DATA, NUMBERS, cases, read, table

SHAPES = sorted((DATA / "tables").glob("*.html"))


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
    [grid] = read(f"<p>{named.get('intro', '')}</p>", html.replace("\n", "")).grids
    assert grid.columns == parts(named["columns"])
    values = [tuple(map(written, cells)) for cells in grid.cells]
    assert [*zip(grid.rows, values, strict=True)] == [
        (label, tuple(cells)) for label, *cells in map(parts, lines.splitlines())
    ]


@cases("numbers")
def test_a_number_is_read_with_sign_and_unit_and_other_text_is_none(case):
    found = read_number(case["text"])
    assert (found and [*found[:2]]) == case["number"]


@cases("notes")
def test_a_note_is_found_in_a_text_and_read_and_a_filing_names_its_currency(case):
    text = case["text"]
    found = {"short": unit_note_in(text, is_short=True), "note": unit_note_in(text)}
    assert case == read_note(text)._asdict() | found | {"reported": reported_coin([text])}


@given(
    st.lists(
        st.lists(
            st.sampled_from(
                ["", "2031", "$", "(4", ")", "%", "1,200", "Sales", "in millions", "(1)", "—"]
            ),
            min_size=1,
        ).map("|".join),
        min_size=1,
    ),
    st.integers(1, 3),
)
def test_no_table_is_too_odd(lines, span):
    html = table(*lines).replace("<td", f'<td colspan="{span}"')
    for grid in read(NUMBERS, "<p>(in thousands)</p>", html).grids:
        assert {len(cells) for cells in grid.cells} == {len(grid.columns)}
