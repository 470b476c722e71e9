"""Tables as grids: shapes with their expected grids, numbers, unit notes, units by label."""

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
from tests.tablequest.shapes import SHAPES, Shape, head, row, table


def grids_of(html: str, intro: str = "") -> list[tuple[tuple[str, ...], list[list[str]]]]:
    """Return each part's column labels, and its rows: a label, then "value unit scale" or words."""
    found = []
    for layout in layouts_of(read_rows(fragment_fromstring(html))):
        note = read_note(own_note(layout) or unit_note_in(intro))
        context = Context("USD", (note, note, Note()), intro)
        cells = cells_of(layout, {}, context)
        found.append(
            (
                layout.columns,
                [
                    [line.label, *map(written, line_)]
                    for line, line_ in zip(layout.lines, cells, strict=True)
                ],
            )
        )
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


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_table_becomes_the_grid_that_a_reader_makes_of_it(shape: Shape):
    [(columns, rows)] = grids_of(shape.html, shape.intro)
    assert columns == shape.columns
    assert rows == [[label, *map(numbers, parts)] for label, *parts in shape.rows]


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("$(24,690)", -24690, "$"),
        ("(4)%", -4, "%"),
        ("(4 %)", -4, "%"),
        ("—", 0, ""),
        ("$—", 0, "$"),
        ("— %", 0, "%"),
        ("2.4 yrs", 2.4, "years"),
        ("1,234 (1)", 1234, ""),
        (".5", 0.5, ""),
        ("-3.1", -3.1, ""),
        ("€1,200", 1200, "EUR"),
        ("C$ 40", 40, "CAD"),
        ("2.5x", 2.5, "times"),
        ("100 basis points", 100, "basis points"),
        ("RMB 12", 12, "CNY"),
    ],
)
def test_a_number_is_read_with_sign_and_unit(text, value, unit):
    number = read_number(text)
    assert (number.value, number.unit) == (value, unit)


@pytest.mark.parametrize("text", ["5 – 45 years", "N/A", "94-2404110", "(565", "3)", "12,34", ""])
def test_other_text_is_no_number(text):
    assert read_number(text) is None


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
    ("text", "note"),
    [
        (
            "All tabular amounts are presented in thousands of dollars unless otherwise noted.",
            "presented in thousands of dollars unless otherwise noted",
        ),
        ("Debt at year end, in millions, was:", "in millions"),
        ("Model 3000 (1,000)", ""),
        ("Sales grew in millions of homes.", ""),
        ("It cost $5.2 million (a gain of $3 million).", ""),
    ],
)
def test_a_note_is_found_in_a_sentence_and_words_of_size_are_none(text, note):
    assert unit_note_in(text) == note


@pytest.mark.parametrize(
    ("text", "coin"),
    [
        ("Amounts are expressed in Canadian dollars.", "CAD"),
        ("stated in millions of euros", "EUR"),
        ("Sales denominated in Australian dollars rose.", ""),
        ("presented in U.S. dollars", "USD"),
    ],
)
def test_a_filing_says_its_currency(text, coin):
    assert reported_coin([text]) == coin


M, NOTE = "USD 1e+06", "(in millions, except share and per share data)"
CASES = {
    "shares and amounts in an equity statement": (
        table(
            "<td colspan=9></td><td colspan=9>Common Stock</td><td colspan=3>Retained</td>",
            head("Shares", "Amount", "Earnings"),
            row("Balance, June 30, 2030", "512", "$5", "$900"),
            row("Shares issued under plans", "3", "1", "—"),
        ),
        "(in millions)",
        [["shares 1e+06", M, M]] * 2,
    ),
    "shares excepted from the scale, and groups of basic and diluted": (
        table(
            head("2031", "2030"),
            row("Net income", "$5,120", "$4,800"),
            row("Earnings per share:"),
            row("Basic", "$0.11", "$0.10"),
            row("Weighted-average shares used to compute earnings per share:"),
            row("Basic", "46,500,100", "48,000,200"),
        ),
        NOTE,
        [[M] * 2, ["USD/share 1"] * 2, ["shares 1"] * 2],
    ),
    "options and their prices": (
        table(
            "<td colspan=3></td><td colspan=3></td><td colspan=3>Options<br>(thous.)</td>"
            "<td colspan=3></td><td colspan=3>Weighted- Average<br>Exercise Price</td>"
            "<td colspan=3></td><td colspan=3>Aggregate Intrinsic<br>Value (millions)</td>",
            row("Outstanding, January 1", "2,050", "$31.20", "$14"),
        ),
        "",
        [["shares 1000", "USD/share 1", M]],
    ),
    "percent, ratios, counts and contracts beside money": (
        table(
            head("2031", "% Change"),
            row("Sales", "$812", "2.8"),
            row("Interest rate", "12", "(15.0)"),
            row("Number of hotels", "2,310", "1.0"),
            row("Effective tax rate", "21%", "2"),
        ),
        NOTE,
        [[M, "% 1"], [M, "% 1"], ["1", "% 1"], ["% 1", "% 1"]],
    ),
    "stock bought in a statement of cash flows": (
        table(
            head("2031", "2030"),
            row("Net income", "$320", "$300"),
            row("Common shares repurchased", "(105)", "(88)"),
        ),
        "(in millions)",
        [[M] * 2] * 2,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_cell_has_the_unit_and_scale_that_a_reader_sees(name):
    html, intro, expected = CASES[name]
    [(_, rows)] = grids_of(html, intro)
    assert [[cell.partition(" ")[2] for cell in cells] for _, *cells in rows] == expected


def test_headers_that_change_begin_another_grid_and_panels_keep_theirs():
    changing = table(
        head("2031", "2030"),
        row("Sales", "$10", "$9"),
        head("2029", "2028"),
        row("Sales", "$8", "$7"),
    )
    assert [columns for columns, _ in grids_of(changing)] == [("2031", "2030"), ("2029", "2028")]
    panels = table(
        head("Stores", "State", "Stores", corner="State"),
        row("Ohio", "7", "Utah", "9"),
        row("Iowa", "5", "Maine", "4"),
    )
    assert [columns for columns, _ in grids_of(panels)] == [("Stores", "State", "Stores")]


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        ((row("Business", "3"), row("Risks", "9-12"), row("Legal", "F-31")), "table of contents"),
        ((row("Name", "/s/ A. Able", "7"),), "no data"),
        ((row("A", "words"),), "text"),
        ((head("2031"), row("Sales", "3"), row("Rent", "4"), row("Debt", "5")), ""),
    ],
)
def test_a_table_without_data_is_no_grid(rows, kind):
    assert kind_of(read_rows(fragment_fromstring(table(*rows)))) == kind


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
    html = "".join(
        "<tr>" + "".join(f'<td colspan="{span}">{text}</td>' for text in line) + "</tr>"
        for line in lines
    )
    for columns, rows in grids_of(f"<table>{html}</table>", "(in thousands)"):
        assert all(len(cells) == len(columns) for _, *cells in rows)
