"""Units and scales in tables of invented companies, one for each way of writing them."""

import pytest
from lxml.html import fragment_fromstring

from lib.tasks.tablequest.grids.cells import read_html_rows
from lib.tasks.tablequest.grids.grid import Surroundings, read_grid
from lib.tasks.tablequest.grids.notes import is_only_note, read_note, unit_note_in
from tests.tablequest_shapes import head, row, table


def units_of(html: str, intro: str = "", note: str = "") -> list[list[str]]:
    """Return each row's label and "unit scale" of its cells with numbers, "-" for others."""
    around = Surroundings("report", 1, "Item 8", intro, note or unit_note_in(intro))
    grid = read_grid(read_html_rows(fragment_fromstring(html)), around).grid
    return [[label, *(f"{cell.unit.replace(' ', '-')} {cell.scale:g}".strip()
                      if cell.value is not None else "-" for cell in cells)]
            for label, cells in zip(grid.rows, grid.cells, strict=True)]


@pytest.mark.parametrize(("text", "money", "shares", "coin"), [
    ("Millions", 1e6, None, ""), ("(Millions of dollars)", 1e6, None, "USD"),
    ("(millions, except per share amounts)", 1e6, None, ""), ("($ millions)", 1e6, None, "USD"),
    ("($MM)", 1e6, None, "USD"), ("(thousands of dollars)", 1e3, None, "USD"),
    ("amounts in U.S. millions", 1e6, None, "USD"), ("In millions", 1e6, None, ""),
    ("$000's", 1e3, None, "USD"), ("(000s)", 1e3, None, ""), ("('000)", 1e3, None, ""),
    ("(in 000's)", 1e3, None, ""), ("($ in billions)", 1e9, None, "USD"),
    ("Thousands of Canadian dollars", 1e3, None, "CAD"), ("(EUR million)", 1e6, None, "EUR"),
    ("(£ in thousands)", 1e3, None, "GBP"), ("(C$ millions)", 1e6, None, "CAD"),
    ("SEK million", 1e6, None, "SEK"), ("(US$ in thousands)", 1e3, None, "USD"),
    ("[In thousands]", 1e3, None, ""),
    ("(Dollars and shares in thousands)", 1e3, None, "USD"),
    ("(dollars in millions; shares in thousands)", 1e6, 1e3, "USD"),
    ("(In thousands, except share and per share data)", 1e3, 1, ""),
    ("(In thousands, except per share and share amounts)", 1e3, 1, ""),
    ("(In millions, except per share data)", 1e6, None, ""),
    ("(Unaudited; in thousands of U.S. dollars)", 1e3, None, "USD")])
def test_a_unit_note_is_read_in_every_spelling(text, money, shares, coin):
    note = read_note(text)
    assert unit_note_in(text, anywhere=True) == text
    assert (note.money, note.coin) == (money, coin)
    assert note.shares == shares or "shares in" in text.lower()


@pytest.mark.parametrize(("text", "note"), [
    ("All tabular amounts are presented in thousands of dollars unless otherwise noted.",
     "amounts are presented in thousands of dollars unless otherwise noted"),
    ("Debt at year end, in millions, was:", "in millions"),
    ("Dollars in millions, except per share data", "Dollars in millions, except per share data"),
    ("Sales grew in millions of homes.", ""), ("We sold in thousands of towns.", ""),
    ("It cost $5.2 million (a gain of $3 million).", ""), ("Model 3000 (1,000)", ""),
    ("Millions of people know us.", "")])
def test_a_note_is_found_in_a_sentence_and_words_of_size_are_none(text, note):
    assert unit_note_in(text) == note


@pytest.mark.parametrize(("text", "is_only"), [
    ("(in millions)", True), ("Thousands of dollars", True), ("($ in 000's)", True),
    ("Amount (in millions)", False), ("Shares (thous.)", False), ("2031", False), ("$", False),
    ("Millions, for the years ended June 30, 2031", False)])
def test_a_note_alone_is_told_from_a_header_with_a_note(text, is_only):
    assert is_only_note(text) is is_only


M = "USD 1e+06"
CASES = {
    "per share in the note only": (
        table(head("2031", "2030", corner="Millions, except per share amounts"),
              row("Revenue", "$812", "$790"), row("Rent", "41", "40"),
              row("Diluted earnings per share", "$1.12", "$0.98")), "",
        [[M, M], [M, M], ["USD/share 1", "USD/share 1"]]),
    "stock with its par value": (
        table(head("2031", "2030"), row("Cash", "$7", "$6"),
              row("Common stock, $0.01 par value; 900 million shares authorized, 410 million "
                  "shares issued", "4", "4"),
              row("Preferred stock, without par value", "—", "—"),
              row("Treasury stock, at cost, 12,000,000 shares", "(88)", "(80)")),
        "(in millions, except share and per share data)", [[M] * 2] * 4),
    "shares and amounts in an equity statement": (
        table("<td colspan=3></td><td colspan=3></td><td colspan=9>Common Stock</td>"
              "<td colspan=3></td><td colspan=3>Retained</td>",
              head("Shares", "Amount", "Earnings"),
              row("Balance, June 30, 2030", "512", "$5", "$900"),
              row("Shares issued under plans", "3", "1", "—"),
              row("Net income", "", "", "75")), "(in millions)",
        [["shares 1e+06", M, M], ["shares 1e+06", M, M], ["-", "-", M]]),
    "shares excepted from the scale": (
        table(head("2031", "2030"), row("Net income", "$5,120", "$4,800"),
              row("Weighted-average shares outstanding, diluted", "48,113,250", "47,900,120")),
        "(In thousands, except share and per share data)",
        [["USD 1000"] * 2, ["shares 1"] * 2]),
    "basic and diluted under their groups": (
        table(head("2031", "2030"), row("Net income", "$5,120", "$4,800"),
              row("Earnings per share:"), row("Basic", "$0.11", "$0.10"),
              row("Diluted", "$0.10", "$0.09"), row("Weighted-average shares used to compute "
                                                    "earnings per share:"),
              row("Basic", "46,500", "48,000"), row("Diluted", "51,200", "53,300")),
        "(In thousands, except per share data)",
        [["USD 1000"] * 2, *[["USD/share 1"] * 2] * 2, *[["shares 1000"] * 2] * 2]),
    "a column of percent without signs": (
        table(head("2031", "2030", "% Change", "Percent of total"),
              row("Ferries", "$812", "$790", "2.8", "61"), row("Ports", "510", "(600)", "(15.0)",
                                                               "39")),
        "(in millions)", [[M, M, "% 1", "% 1"]] * 2),
    "options and their prices": (
        table("<td colspan=3></td><td colspan=3></td><td colspan=3>Options<br>(thous.)</td>"
              "<td colspan=3></td><td colspan=3>Weighted- Average<br>Exercise Price</td>"
              "<td colspan=3></td><td colspan=3>Aggregate Intrinsic<br>Value (millions)</td>",
              row("Outstanding, January 1", "2,050", "$31.20", "$14"),
              row("Granted", "310", "40.10", "")), "",
        [["shares 1000", "USD/share 1", M], ["shares 1000", "USD/share 1", "-"]]),
    "shares bought in a statement of cash flows": (
        table(head("2031", "2030"), row("Net income", "$320", "$300"),
              row("Common shares repurchased", "(105)", "(88)"), row("Other", "7", "1")),
        "(in millions)", [[M] * 2] * 3),
    "rows of units within a table": (
        table(head("2031", "2030"), row("(in millions)"), row("Fares", "$320", "$300"),
              row("(in thousands)"), row("Passengers", "1,050", "880"), row("Fees", "$5", "$4")),
        "", [[M] * 2, ["1000"] * 2, ["USD 1000"] * 2]),
    "ratios": (
        table(head("Carrying Amount", "Conversion Rate into Common Stock"),
              row("Series A", "$12", "100.00"), row("Series B", "3", "1.0415")), "(in millions)",
        [[M, "1"]] * 2),
    "numbers counted one by one beside money": (
        table(head("2031", "2030"), row("Sales", "$812", "$790"),
              row("Number of hotels", "2,310", "2,290"), row("Employees", "12,400", "12,000"),
              row("Common share repurchases, shares", "14", "12"),
              row("Average occupancy", "71.2", "70.0"), row("Available room miles", "91", "90")),
        "(in millions)",
        [[M] * 2, *[["1"] * 2] * 2, ["shares 1e+06"] * 2, ["% 1"] * 2, ["1e+06"] * 2]),
    "a sum of money larger than the percent beside it": (
        table(head("2031", "2030"), row("Expected tax", "25,932", "24,010"),
              row("Effective tax rate", "21%", "22%")), "(dollars in millions)",
        [[M] * 2, ["% 1"] * 2]),
    "shares scaled like money, of which only amounts per share are not": (
        table(head("2031", "2030"), row("Net income", "$812", "$790"),
              row("Average shares outstanding", "310", "300"),
              row("Earnings per share", "2.62", "2.63")),
        "(Dollars in millions, except per share amounts)",
        [[M] * 2, ["shares 1e+06"] * 2, ["USD/share 1"] * 2]),
    "another note above the columns than in the corner": (
        table("<td colspan=3></td><td colspan=3></td><td colspan=9>(in thousands)</td>",
              head("North", "South", corner="(in millions)"), row("Rent", "$5", "$4")), "",
        [["USD 1000"] * 2]),
    "rates that the note excepts, without signs": (
        table(head("2031", "2030"), row("Lease debt", "$812", "$790"),
              row("Weighted-average discount rate", "3.5", "3.3"), row("Risk-free rate of return",
                                                                       "4.1", "3.9")),
        "(in thousands, except discount rate)", [["USD 1000"] * 2, ["% 1"] * 2, ["% 1"] * 2]),
    "income used for earnings per share": (
        table(head("2031", "2030"),
              row("Net income used in computing diluted earnings per share", "$812", "$790"),
              row("Numerator for basic earnings per share", "812", "790"),
              row("Denominator for basic earnings per share", "310", "300"),
              row("Basic earnings per share", "$2.62", "$2.63")),
        "(in millions, except per share data)",
        [[M] * 2, [M] * 2, ["shares 1e+06"] * 2, ["USD/share 1"] * 2]),
    "kinds of contract": (
        table(head("2031", "2030"), row("Foreign exchange", "$31", "$40"),
              row("Interest rate", "12", "9"), row("Vehicles", "8", "7")), "(in millions)",
        [[M] * 2] * 3),
    "a table of pay": (
        table(head("Salary ($)", "Stock Awards ($)", "Options (#)"),
              row("A. Able", "800,000", "1,200,500", "15,000")), "",
        [["USD 1", "USD 1", "shares 1"]]),
    "margins and rates of money": (
        table(head("2031", "2030"), row("Gross margin", "512", "498"), row("Net sales", "$812",
                                                                           "$790"),
              row("Passenger", "310", "300"), row("Subscriptions", "88", "80"),
              row("Diluted shares", "41", "40"), row("Common stock outstanding (in shares)", "40",
                                                     "40")),
        "(in millions)", [[M] * 2] * 4 + [["shares 1e+06"] * 2] * 2),
    "dollars and shares in one note": (
        table(head("2031", "2030"), row("Net loss", "$(812)", "$(790)"),
              row("Weighted average common shares outstanding", "310", "300"),
              row("Net loss per common share", "$(2.62)", "$(2.63)")),
        "(dollars and shares in thousands, except per share amounts)",
        [["USD 1000"] * 2, ["shares 1000"] * 2, ["USD/share 1"] * 2]),
    "square feet": (
        table(head("Stores", "Square Feet (in thousands)"), row("North", "12", "480"),
              row("South", "9", "310")), "", [["1", "square-feet 1000"]] * 2),
}


@pytest.mark.parametrize("name", CASES)
def test_each_cell_has_the_unit_and_scale_that_a_reader_sees(name):
    html, intro, expected = CASES[name]
    assert [cells for _, *cells in units_of(html, intro)] == expected
