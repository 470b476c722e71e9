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
from lib.tablequest.units import Context, cells_of, own_note
from tests.tablequest.alm import DATA, table

SHAPES = sorted((DATA / "tables").glob("*.html"))


def grids_of(html: str, intro: str = "") -> list[list[tuple[str, ...]]]:
    """Return each part: its column labels, then lines of a label and "value unit scale"."""
    found = []
    for layout in layouts_of(read_rows(fragment_fromstring(html))):
        note = read_note(own_note(layout) or unit_note_in(intro))
        cells = cells_of(layout, {}, Context("USD", (note, note, Note()), intro))
        lines = zip(layout.lines, cells, strict=True)
        found.append([layout.columns, *((one.label, *map(written, row)) for one, row in lines)])
    return found


def written(cell) -> str:
    if cell.value is None:
        return f"'{cell.text}'" if cell.text else ""
    return numbers(f"{cell.value!r} {cell.unit.replace(' ', '-')} {cell.scale!r}")


def numbers(part: str) -> str:
    if not part or part.startswith("'"):
        return part
    value, *unit, scale = part.split()
    return " ".join([f"{float(value):g}", *unit, f"{float(scale):g}"])


def parts(line: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in line.split("|"))


@pytest.mark.parametrize("path", SHAPES, ids=lambda path: path.stem)
def test_a_table_becomes_the_grid_that_a_reader_makes_of_it(path):
    comment, html = path.read_text(encoding="utf-8").removeprefix("<!--\n").split("\n-->\n")
    head, lines = comment.split("\nrows:\n")
    named = dict(line.partition(":")[::2] for line in head.splitlines())
    [(columns, *rows)] = grids_of(html.replace("\n", ""), named.get("intro", "").strip())
    assert columns == parts(named["columns"])
    expected = map(parts, lines.splitlines())
    assert rows == [(label, *map(numbers, cells)) for label, *cells in expected]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("$(24,690)", (-24690, "$")),
        ("(4)%", (-4, "%")),
        ("(4 %)", (-4, "%")),
        ("—", (0, "")),
        ("$—", (0, "$")),
        ("— %", (0, "%")),
        ("2.4 yrs", (2.4, "years")),
        ("1,234 (1)", (1234, "")),
        (".5", (0.5, "")),
        ("-3.1", (-3.1, "")),
        ("€1,200", (1200, "EUR")),
        ("C$ 40", (40, "CAD")),
        ("2.5x", (2.5, "times")),
        ("100 basis points", (100, "basis points")),
        ("RMB 12", (12, "CNY")),
        *dict.fromkeys(["5 – 45 years", "N/A", "94-2404110", "(565", "3)", "12,34", ""]).items(),
    ],
)
def test_a_number_is_read_with_sign_and_unit_and_other_text_is_none(text, number):
    found = read_number(text)
    assert (found and found[:2]) == number


@pytest.mark.parametrize(
    ("text", "money", "shares", "coin"),
    [
        ("Millions", 1e6, 0, ""),
        ("(Millions of dollars)", 1e6, 0, "$"),
        ("($MM)", 1e6, 0, "$"),
        ("(millions, except per share amounts)", 1e6, 0, ""),
        ("(000s)", 1e3, 0, ""),
        ("Thousands of Canadian dollars", 1e3, 0, "CAD"),
        ("(EUR million)", 1e6, 0, "EUR"),
        ("(C$ millions)", 1e6, 0, "CAD"),
        ("(US$ in thousands)", 1e3, 0, "USD"),
        ("(dollars in millions; shares in thousands)", 1e6, 1e3, "$"),
        ("(net income in millions and shares in thousands)", 1e6, 1e3, ""),
        ("(In thousands, except per share and share amounts)", 1e3, 1, ""),
        ("(In millions, except per share data)", 1e6, 0, ""),
    ],
)
def test_a_unit_note_is_read_in_every_spelling(text, money, shares, coin):
    assert unit_note_in(text, is_short=True) == text
    assert read_note(text) == Note(text, money, shares, coin)


@pytest.mark.parametrize(
    ("text", "note", "coin"),
    [
        (
            "All tabular amounts are presented in thousands of dollars unless otherwise noted.",
            "presented in thousands of dollars unless otherwise noted",
            "",
        ),
        ("Debt at year end, in millions, was:", "in millions", ""),
        ("Model 3000 (1,000)", "", ""),
        ("Sales grew in millions of homes.", "", ""),
        ("It cost $5.2 million (a gain of $3 million).", "", ""),
        ("Amounts are expressed in Canadian dollars.", "", "CAD"),
        ("stated in millions of euros", "stated in millions of euros", "EUR"),
        ("Sales denominated in Australian dollars rose.", "", ""),
        ("presented in U.S. dollars", "", "USD"),
    ],
)
def test_a_sentence_says_its_unit_and_the_currency_of_a_filing(text, note, coin):
    assert (unit_note_in(text), reported_coin([text])) == (note, coin)


def test_headers_that_change_begin_another_grid_and_panels_keep_theirs():
    changing = table("|2031|2030", "Sales|$10|$9", "|2029|2028", "Sales|$8|$7")
    assert [columns for columns, *_ in grids_of(changing)] == [("2031", "2030"), ("2029", "2028")]
    panels = table("State|Stores|State|Stores", "Ohio|7|Utah|9", "Iowa|5|Maine|4")
    assert [columns for columns, *_ in grids_of(panels)] == [("Stores", "State", "Stores")]


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        (("Business|3", "Risks|9-12", "Legal|F-31"), "table of contents"),
        (("Name|/s/ A. Able|7",), "no data"),
        (("A|words",), "text"),
        (("|2031", "Sales|3", "Rent|4", "Debt|5"), ""),
    ],
)
def test_a_table_without_data_is_no_grid(lines, kind):
    assert kind_of(read_rows(fragment_fromstring(table(*lines)))) == kind


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
