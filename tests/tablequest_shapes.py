# ruff: noqa: E501
"""Forty tables in the shapes of those that were checked by hand in two annual reports; their words and figures are ours.

Lines are long here, so that a row of a table is a line. Each row of a shape is set as filing software sets it: three slots a cell, "$", number and "%" in cells of their own.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """A table, what introduces it, and the grid that a reader makes of it."""

    name: str
    html: str
    columns: tuple[str, ...]
    rows: str  # a line a row: label | value unit scale | …; "" an empty cell, 'words' a cell without a number
    intro: str = ""
    before: tuple[str, ...] = ()  # the columns of the table right before


def table(*rows: str) -> str:
    """The rows as a table, after the row of widths that such tables begin with."""
    return "<table><tr><td></td><td></td></tr>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"


def head(*cells: str | tuple[str, int], corner: str = "") -> str:
    """A header row; a cell may span several columns."""
    parts = [(cell, 1) if isinstance(cell, str) else cell for cell in cells]
    return f'<td colspan="3">{corner}</td>' + "".join(
        f'<td colspan="3"></td><td colspan="{6 * span - 3}"><b>{text}</b></td>' for text, span in parts)


def row(label: str, *values: str, indent: int = 1, rule: bool = False, bold: bool = False) -> str:
    """A row; each value is split as "$" | number | "%", words stand in one cell."""
    style = ' style="border-top:1pt solid #000"' if rule else ""
    weight = "700" if bold else "400"
    cells = [f'<td colspan="3" style="padding:2px 1pt 2px {indent}pt"><span style="font-weight:{weight}">{label}</span></td>']
    for value in values:
        number = value.strip("$%")
        if not number or not any(letter in "0123456789—" for letter in number) or " " in number:
            cells.append(f'<td colspan="3"></td><td colspan="3">{value}</td>')
            continue
        coin = f"<td{style}>$</td><td{style}>{number}</td>" if value[0] == "$" else f'<td colspan="2"{style}>{number}</td>'
        cells.append(f'<td colspan="3"></td>{coin}<td{style}>{"%" * value.endswith("%")}</td>')
    return "".join(cells)


ROOM = '<td colspan="3" style="padding:0 1pt"></td>'
HIDDEN = '<td style="display:none"></td>'
_YEARS = head("2031", "2030")
_MILLIONS = "Amounts were as follows (in millions):"

SHAPES = (
    Shape("two columns of dates", table(_YEARS, row("Land", "$240", "$230"), row("Tools", "80", "78"),
                                        row("Total, net", "$320", "$308", rule=True)), ("2031", "2030"), """
        Land | 240 USD 1e6 | 230 USD 1e6
        Tools | 80 USD 1e6 | 78 USD 1e6
        Total, net | 320 USD 1e6 | 308 USD 1e6""", _MILLIONS),
    Shape("changes between years", table(head("2031", "Change", "2030", "Change", "2029"),
                                         row("North", "$167", "3%", "$162", "(4)%", "$169"),
                                         row("South", "101", "7%", "94", "—%", "94")),
          ("2031", "Change 2031 to 2030", "2030", "Change 2030 to 2029", "2029"), """
        North | 167 USD 1e6 | 3 % 1 | 162 USD 1e6 | -4 % 1 | 169 USD 1e6
        South | 101 USD 1e6 | 7 % 1 | 94 USD 1e6 | 0 % 1 | 94 USD 1e6""", "Sales by region (dollars in millions):"),
    Shape("a group and its total", table(_YEARS, row("Gross margin:"), row("Goods", "$109", "$108", indent=10),
                                         row("Services", "71", "60", indent=10),
                                         row("Total gross margin", "$180", "$168", indent=19, rule=True)),
          ("2031", "2030"), """
        Gross margin: Goods | 109 USD 1e6 | 108 USD 1e6
        Gross margin: Services | 71 USD 1e6 | 60 USD 1e6
        Total gross margin | 180 USD 1e6 | 168 USD 1e6""", _MILLIONS),
    Shape("no header, goes on from the table before", table(
        row("Margin percentage:"), row("Goods", "37.2%", "36.5%", indent=10), row("Services", "73.9%", "70.8%", indent=10)),
          ("2031", "2030"), """
        Margin percentage: Goods | 37.2 % 1 | 36.5 % 1
        Margin percentage: Services | 73.9 % 1 | 70.8 % 1""", before=("2031", "2030")),
    Shape("a share under each amount", table(
        _YEARS, row("Research", "$31", "$29"), row("Percentage of sales", "8%", "7%", indent=10), row("Selling", "$26", "$24"),
        row("Percentage of sales", "6%", "5%", indent=10)), ("2031", "2030"), """
        Research | 31 USD 1e6 | 29 USD 1e6
        Research: Percentage of sales | 8 % 1 | 7 % 1
        Selling | 26 USD 1e6 | 24 USD 1e6
        Selling: Percentage of sales | 6 % 1 | 5 % 1""", _MILLIONS),
    Shape("amounts and rates in one column", table(_YEARS, row("Income taxes", "$29", "$16"), row("Tax rate", "24.1%", "14.7%")),
          ("2031", "2030"), """
        Income taxes | 29 USD 1e6 | 16 USD 1e6
        Tax rate | 24.1 % 1 | 14.7 % 1""", _MILLIONS),
    Shape("columns of words before the numbers", table(
        head("Move assumed", "Effect", "2031", corner="Instrument"), row("Bonds", "100 basis points, all", "Lower value", "$27"),
        row("Loans", "100 basis points, all", "Higher expense", "$13")), ("Move assumed", "Effect", "2031"), """
        Bonds | '100 basis points, all' | 'Lower value' | 27 USD 1e6
        Loans | '100 basis points, all' | 'Higher expense' | 13 USD 1e6""", _MILLIONS),
    Shape("statement of operations", table(
        head(("Years ended", 2)), head("June 30,<br/>2031", "June 30,<br/>2030"), row("Net sales:"),
        row("Goods", "$294", "$298", indent=10), row("Services", "96", "85", indent=10),
        row("Total net sales", "390", "383", indent=19, rule=True), ROOM, row("Cost of sales:"),
        row("Goods", "185", "189", indent=10), row("Total cost of sales", "185", "189", indent=19, rule=True),
        row("Other income/(expense), net", "2", "(5)"), ROOM, row("Earnings per share:"),
        row("Basic", "$6.11", "$6.16", indent=10), ROOM, row("Shares used in computing earnings per share:"),
        row("Basic", "15,343", "15,744", indent=10)),
          ("Years ended June 30, 2031", "Years ended June 30, 2030"), """
        Net sales: Goods | 294 USD 1e6 | 298 USD 1e6
        Net sales: Services | 96 USD 1e6 | 85 USD 1e6
        Total net sales | 390 USD 1e6 | 383 USD 1e6
        Cost of sales: Goods | 185 USD 1e6 | 189 USD 1e6
        Total cost of sales | 185 USD 1e6 | 189 USD 1e6
        Other income/(expense), net | 2 USD 1e6 | -5 USD 1e6
        Earnings per share: Basic | 6.11 USD/share 1 | 6.16 USD/share 1
        Shares used in computing earnings per share: Basic | 15343 shares 1e3 | 15744 shares 1e3""",
          "(In millions, except number of shares, which are reflected in thousands, and per-share amounts)"),
    Shape("groups in a group", table(
        head("June 30, 2031"), row("ASSETS:", bold=True), row("Current assets:"), row("Cash", "$29", indent=10),
        row("Total current assets", "29", indent=19, rule=True), ROOM, row("Non-current assets:"), row("Plant", "45", indent=10),
        row("Total non-current assets", "45", indent=19, rule=True), row("Total assets", "$74", indent=28, rule=True), ROOM,
        row("LIABILITIES AND EQUITY:", bold=True), row("Current liabilities:"), row("Payables", "$68", indent=10),
        row("Total liabilities", "68", indent=28, rule=True), ROOM, row("Commitments and contingencies"),
        row("Common stock, $0.01 par value: 504 shares authorized; 151 shares issued", "6")), ("June 30, 2031",), """
        ASSETS: Current assets: Cash | 29 USD 1e6
        Total current assets | 29 USD 1e6
        ASSETS: Non-current assets: Plant | 45 USD 1e6
        Total non-current assets | 45 USD 1e6
        Total assets | 74 USD 1e6
        LIABILITIES AND EQUITY: Current liabilities: Payables | 68 USD 1e6
        Total liabilities | 68 USD 1e6
        LIABILITIES AND EQUITY: Common stock, $0.01 par value: 504 shares authorized; 151 shares issued | 6 USD 1e6""",
          "(In millions, except number of shares, which are reflected in thousands, and par value)"),
    Shape("the same rows under several accounts", table(
        _YEARS, row("Paid-in capital:"), row("Beginning balances", "73", "64", indent=19), row("Stock issued", "1", "2", indent=28),
        row("Ending balances", "74", "66", indent=19, rule=True), ROOM, row("Retained earnings:"),
        row("Beginning balances", "(2)", "(3)", indent=19), row("Net income", "9", "8", indent=28),
        row("Ending balances", "7", "5", indent=19, rule=True), ROOM, row("Total equity, ending balances", "$81", "$71", rule=True),
        ROOM, row("Dividends declared per share or unit", "$0.98", "$0.94")), ("2031", "2030"), """
        Paid-in capital: Beginning balances | 73 USD 1e6 | 64 USD 1e6
        Paid-in capital: Stock issued | 1 USD 1e6 | 2 USD 1e6
        Paid-in capital: Ending balances | 74 USD 1e6 | 66 USD 1e6
        Retained earnings: Beginning balances | -2 USD 1e6 | -3 USD 1e6
        Retained earnings: Net income | 9 USD 1e6 | 8 USD 1e6
        Retained earnings: Ending balances | 7 USD 1e6 | 5 USD 1e6
        Total equity, ending balances | 81 USD 1e6 | 71 USD 1e6
        Dividends declared per share or unit | 0.98 USD/share 1 | 0.94 USD/share 1""", "(In millions, except per-share amounts)"),
    Shape("cash flows", table(
        _YEARS, row("Cash, beginning balances", "$30", "$24", rule=True), ROOM, row("Operating activities:"),
        row("Net income", "93", "96", indent=10), row("Adjustments to reconcile net income:", indent=10),
        row("Depreciation", "11", "12", indent=19), HIDDEN, row("Other", "(2)", "(3)", indent=19),
        row("Changes in assets and liabilities:", indent=10), row("Inventories", "(1)", "(6)", indent=19),
        row("Cash generated by operating activities", "101", "99", indent=31, rule=True), ROOM, row("Investing activities:"),
        row("Other", "(8)", "(9)", indent=10), row("Cash used in investing activities", "(8)", "(9)", indent=31, rule=True), ROOM,
        row("Supplemental disclosure:"), row("Cash paid for taxes", "$26", "$18", indent=10)), ("2031", "2030"), """
        Cash, beginning balances | 30 USD 1e6 | 24 USD 1e6
        Operating activities: Net income | 93 USD 1e6 | 96 USD 1e6
        Operating activities: Adjustments to reconcile net income: Depreciation | 11 USD 1e6 | 12 USD 1e6
        Operating activities: Adjustments to reconcile net income: Other | -2 USD 1e6 | -3 USD 1e6
        Operating activities: Changes in assets and liabilities: Inventories | -1 USD 1e6 | -6 USD 1e6
        Cash generated by operating activities | 101 USD 1e6 | 99 USD 1e6
        Investing activities: Other | -8 USD 1e6 | -9 USD 1e6
        Cash used in investing activities | -8 USD 1e6 | -9 USD 1e6
        Supplemental disclosure: Cash paid for taxes | 26 USD 1e6 | 18 USD 1e6""", "(In millions)"),
    Shape("footnote marks at labels", table(head("2031 (2)", "2030"), row("Phones", "$201", "$200"), row("Services (1)", "96", "85"),
                                            row("Total net sales (3)(4)", "$297", "$285", rule=True)), ("2031", "2030"), """
        Phones | 201 USD 1e6 | 200 USD 1e6
        Services | 96 USD 1e6 | 85 USD 1e6
        Total net sales | 297 USD 1e6 | 285 USD 1e6""", _MILLIONS),
    Shape("numerator and denominator", table(
        _YEARS, row("Numerator:"), row("Net income", "$93", "$96", indent=10), ROOM, row("Denominator:"),
        row("Weighted-average basic shares outstanding", "15,343", "15,744", indent=10),
        row("Effect of dilutive awards", "64", "68", indent=10),
        row("Weighted-average diluted shares", "15,407", "15,812", indent=10, rule=True), ROOM,
        row("Basic earnings per share", "$6.06", "$6.10"), row("Diluted earnings per share", "$6.04", "$6.07")),
          ("2031", "2030"), """
        Numerator: Net income | 93 USD 1e6 | 96 USD 1e6
        Denominator: Weighted-average basic shares outstanding | 15343 shares 1e3 | 15744 shares 1e3
        Denominator: Effect of dilutive awards | 64 shares 1e3 | 68 shares 1e3
        Weighted-average diluted shares | 15407 shares 1e3 | 15812 shares 1e3
        Basic earnings per share | 6.06 USD/share 1 | 6.1 USD/share 1
        Diluted earnings per share | 6.04 USD/share 1 | 6.07 USD/share 1""", "(net income in millions and shares in thousands)"),
    Shape("a year over all columns", table(
        head(("2031", 3)), head("Adjusted<br/>Cost", "Unrealized<br/>Losses", "Fair<br/>Value"), row("Cash", "$27", "$—", "$27"),
        row("Level 1:"), row("Funds", "5", "(3)", "2", indent=10), row("Subtotal", "5", "(3)", "2", indent=19, rule=True),
        row("Level 2 (1):"), row("Bonds", "16", "(5)", "11", indent=10), row("Subtotal", "16", "(5)", "11", indent=19, rule=True),
        row("Total (2)(3)", "$48", "$(8)", "$40", indent=28, rule=True)),
          ("2031 Adjusted Cost", "2031 Unrealized Losses", "2031 Fair Value"), """
        Cash | 27 USD 1e6 | 0 USD 1e6 | 27 USD 1e6
        Level 1: Funds | 5 USD 1e6 | -3 USD 1e6 | 2 USD 1e6
        Level 1: Subtotal | 5 USD 1e6 | -3 USD 1e6 | 2 USD 1e6
        Level 2: Bonds | 16 USD 1e6 | -5 USD 1e6 | 11 USD 1e6
        Level 2: Subtotal | 16 USD 1e6 | -5 USD 1e6 | 11 USD 1e6
        Total | 48 USD 1e6 | -8 USD 1e6 | 40 USD 1e6""", _MILLIONS),
    Shape("a total in each group", table(
        _YEARS, row("Federal:"), row("Current", "$55", "$94", indent=10), row("Deferred", "(30)", "(36)", indent=10),
        row("Total", "25", "58", indent=19, rule=True), row("State:"), row("Current", "17", "15", indent=10),
        row("Deferred", "(2)", "(4)", indent=10), row("Total", "15", "11", indent=19, rule=True),
        row("Provision", "$40", "$69", indent=28, rule=True)), ("2031", "2030"), """
        Federal: Current | 55 USD 1e6 | 94 USD 1e6
        Federal: Deferred | -30 USD 1e6 | -36 USD 1e6
        Federal: Total | 25 USD 1e6 | 58 USD 1e6
        State: Current | 17 USD 1e6 | 15 USD 1e6
        State: Deferred | -2 USD 1e6 | -4 USD 1e6
        State: Total | 15 USD 1e6 | 11 USD 1e6
        Provision | 40 USD 1e6 | 69 USD 1e6""", _MILLIONS),
    Shape("one total under several groups", table(
        head("Number of Shares Bought", "Average Price Paid Per Share", "Value Yet To Be Bought"), row("May:"),
        row("On the market", "356", "$22.11", ""), ROOM, row("June:"), row("On the market", "429", "$21.39", ""),
        row("Total", "785", "", "$890", rule=True)),
          ("Number of Shares Bought", "Average Price Paid Per Share", "Value Yet To Be Bought"), """
        May: On the market | 356 shares 1e3 | 22.11 USD/share 1 |
        June: On the market | 429 shares 1e3 | 21.39 USD/share 1 |
        Total | 785 shares 1e3 | | 890 USD 1e6""",
          "(in millions, except number of shares, which are reflected in thousands, and per-share amounts)"),
    Shape("rows told apart by a column of words", table(
        head("Line Items", "2031", corner="Leases"), row("Liabilities:"), row("Operating", "Current", "$14", indent=10),
        row("", "Non-current", "10"), row("Finance", "Current", "3", indent=10), row("", "Non-current", "7"),
        row("Total liabilities", "", "$34", rule=True)), ("Line Items", "2031"), """
        Liabilities: Operating, Current | 'Current' | 14 USD 1e6
        Liabilities: Operating, Non-current | 'Non-current' | 10 USD 1e6
        Liabilities: Finance, Current | 'Current' | 3 USD 1e6
        Liabilities: Finance, Non-current | 'Non-current' | 7 USD 1e6
        Total liabilities | | 34 USD 1e6""", _MILLIONS),
    Shape("years as row labels", table(head("Operating<br/>Leases", "Total"), row("2032", "$18", "$19"), row("2033", "19", "20"),
                                       row("Thereafter", "55", "64"), row("Less: Imputed interest", "(9)", "(13)")),
          ("Operating Leases", "Total"), """
        2032 | 18 USD 1e6 | 19 USD 1e6
        2033 | 19 USD 1e6 | 20 USD 1e6
        Thereafter | 55 USD 1e6 | 64 USD 1e6
        Less: Imputed interest | -9 USD 1e6 | -13 USD 1e6""", _MILLIONS),
    Shape("two groups, each with a net row", table(
        _YEARS, row("90 days or less:"), row("Repayments, net", "$39", "$(13)", indent=10), ROOM, row("More than 90 days:"),
        row("Proceeds", "—", "—", indent=10), row("Repayments, net", "—", "(26)", indent=10, rule=True), ROOM,
        row("Total repayments, net", "$39", "$(39)", rule=True)), ("2031", "2030"), """
        90 days or less: Repayments, net | 39 USD 1e6 | -13 USD 1e6
        More than 90 days: Proceeds | 0 USD 1e6 | 0 USD 1e6
        More than 90 days: Repayments, net | 0 USD 1e6 | -26 USD 1e6
        Total repayments, net | 39 USD 1e6 | -39 USD 1e6""", _MILLIONS),
    Shape("ranges beside amounts, a header cell over two rows", "<table><tr><td colspan=3></td><td colspan=3 rowspan=2>Maturities"
          "<br>(calendar year)</td><td colspan=3></td><td colspan=9>2031</td></tr><tr><td colspan=3></td><td colspan=3></td>"
          "<td colspan=3>Amount<br>(in millions)</td><td colspan=3></td><td colspan=3>Rate</td></tr><tr><td colspan=3>Fixed-rate "
          "0.0% – 4.8% notes</td><td colspan=3>2032 – 2062</td><td colspan=3></td><td>$</td><td>97</td><td></td><td colspan=3>"
          "</td><td colspan=3>0.03% – 6.65%</td></tr><tr><td colspan=3>Discount</td><td colspan=3></td><td colspan=3></td>"
          "<td colspan=2>(3)</td><td></td><td colspan=3></td><td colspan=3></td></tr></table>",
          ("Maturities (calendar year)", "2031 Amount (in millions)", "2031 Rate"), """
        Fixed-rate 0.0% – 4.8% notes | '2032 – 2062' | 97 USD 1e6 | '0.03% – 6.65%'
        Discount | | -3 USD 1e6 |"""),
    Shape("one column without a header", table(row("2032", "$10"), row("Thereafter", "51"), row("Total principal", "$61", rule=True)),
          ("",), """
        2032 | 10 USD 1e6
        Thereafter | 51 USD 1e6
        Total principal | 61 USD 1e6""", _MILLIONS),
    Shape("counts of shares without a word of it", table(_YEARS, row("Common stock outstanding, beginning", "15,550", "15,943"),
                                                         row("Common stock repurchased", "(499)", "(471)")), ("2031", "2030"), """
        Common stock outstanding, beginning | 15550 shares 1e3 | 15943 shares 1e3
        Common stock repurchased | -499 shares 1e3 | -471 shares 1e3""", "Changes in shares of common stock (in thousands):"),
    Shape("a roll-forward over two years", table(
        head("Number of Units (in thousands)", "Weighted-Average Grant-Date Fair Value Per Unit", "Value (in millions)"),
        row("Balance as of May 31, 2029", "240", "$75.16", ""), row("Granted", "91", "$150.70", ""),
        row("Balance as of May 31, 2030", "331", "$109.48", ""), row("Granted", "88", "$151.00", ""),
        row("Balance as of May 31, 2031", "419", "$135.91", "$37")),
          ("Number of Units (in thousands)", "Weighted-Average Grant-Date Fair Value Per Unit", "Value (in millions)"), """
        Balance as of May 31, 2029 | 240 shares 1e3 | 75.16 USD/share 1 |
        May 31, 2029 to May 31, 2030: Granted | 91 shares 1e3 | 150.7 USD/share 1 |
        Balance as of May 31, 2030 | 331 shares 1e3 | 109.48 USD/share 1 |
        May 31, 2030 to May 31, 2031: Granted | 88 shares 1e3 | 151 USD/share 1 |
        Balance as of May 31, 2031 | 419 shares 1e3 | 135.91 USD/share 1 | 37 USD 1e6"""),
    Shape("counts beside shares", table(head("Number of Associates", "% of Total", corner="Location"), row("Here", "419,600", "89.3%"),
                                        row("There (1)", "32,000", "6.8%")), ("Number of Associates", "% of Total"), """
        Here | 419600 1 | 89.3 % 1
        There | 32000 1 | 6.8 % 1"""),
    Shape("percent in the value's own cell, corner over two rows",
          "<table><tr><td rowspan=2>Population</td><td colspan=2>Age</td><td colspan=2>Place</td></tr><tr><td>% Young</td><td>% Old"
          "</td><td>% Town</td><td>% Land</td></tr><tr><td>All</td><td>50%</td><td>48%</td><td>36%</td><td>63%</td></tr></table>",
          ("Age % Young", "Age % Old", "Place % Town", "Place % Land"), """
        All | 50 % 1 | 48 % 1 | 36 % 1 | 63 % 1"""),
    Shape("areas in the corner's unit", table(head("Owned", "Total Square Footage", corner="square footage in millions"),
                                              row("Stores", "89%", "243.5"), row("Total", "", "356.5", rule=True)),
          ("Owned", "Total Square Footage"), """
        Stores | 89 % 1 | 243.5 square-feet 1e6
        Total | | 356.5 square-feet 1e6"""),
    Shape("three panels of one list", table(head("Stores", "State", "Stores", corner="State"), row("Alabama", "28", "Ohio", "70"),
                                            row("Alaska", "7", "Total", "105")), ("Stores",), """
        Alabama | 28 1
        Alaska | 7 1
        Ohio | 70 1
        Total | 105 1"""),
    Shape("two panels of two lists", table(head("Stores", "Mexico", "Stores", corner="Canada"), row("Alberta", "27", "Jalisco", "9"),
                                           row("Ontario", "88", "Sonora", "5")), ("Stores",), """
        Canada: Alberta | 27 1
        Canada: Ontario | 88 1
        Mexico: Jalisco | 9 1
        Mexico: Sonora | 5 1"""),
    Shape("a performance graph's values", table(head(("Fiscal Year Ended", 2)), head("May 31, 2030", "May 31, 2031"),
                                                row("We", "$100.00", "$121.58"), row("An Index", "100.00", "141.39")),
          ("Fiscal Year Ended May 31, 2030", "Fiscal Year Ended May 31, 2031"), """
        We | 100 USD 1 | 121.58 USD 1
        An Index | 100 USD 1 | 141.39 USD 1"""),
    Shape("amount and share under each year", table(
        head(("Fiscal", 2), ("Fiscal", 2)), head(("2031", 2), ("2030", 2)),
        head("$", "% of Net Sales", "$", "% of Net Sales", corner="dollars in millions"), row("Net sales", "$159", "", "$152", ""),
        row("Gross profit", "53", "33.4%", "50", "33.5%"), row("Operating expenses:"), row("Selling", "28", "18.0", "26", "17.4"),
        ROOM, row("Interest income", "(2)", "(0.1)", "(1)", "—")),
          ("Fiscal 2031 $", "Fiscal 2031 % of Net Sales", "Fiscal 2030 $", "Fiscal 2030 % of Net Sales"), """
        Net sales | 159 USD 1e6 | | 152 USD 1e6 |
        Gross profit | 53 USD 1e6 | 33.4 % 1 | 50 USD 1e6 | 33.5 % 1
        Operating expenses: Selling | 28 USD 1e6 | 18 % 1 | 26 USD 1e6 | 17.4 % 1
        Interest income | -2 USD 1e6 | -0.1 % 1 | -1 USD 1e6 | 0 % 1"""),
    Shape("rates, counts and prices in one column", table(
        head("2031", "% Change"), row("Comparable sales (% change) (1)", "(1.8)%", "N/A"),
        row("Transactions (in millions) (2)", "1,637.2", "0.9%"), row("Average ticket (2)(3)", "$89.31", "(0.8)%"),
        row("Diluted earnings per share", "$14.91", "(1.3)%")), ("2031", "% Change"), """
        Comparable sales (% change) | -1.8 % 1 | 'N/A'
        Transactions (in millions) | 1637.2 1e6 | 0.9 % 1
        Average ticket | 89.31 USD 1 | -0.8 % 1
        Diluted earnings per share | 14.91 USD/share 1 | -1.3 % 1"""),
    Shape("weighted shares among money", table(head("2031", corner="in millions, except per share data"), row("Net earnings", "$14"),
                                               row("Basic weighted average common shares", "990"), row("Basic earnings per share", "$14.96")),
          ("2031",), """
        Net earnings | 14 USD 1e6
        Basic weighted average common shares | 990 shares 1e6
        Basic earnings per share | 14.96 USD/share 1"""),
    Shape("stock issued, in money", table(head("2031", corner="in millions"), row("Paid-in Capital:", bold=True),
                                          row("Balance at beginning of year", "$13"), row("Shares issued under plans, net", "5"),
                                          row("Balance at end of year", "18", rule=True)), ("2031",), """
        Paid-in Capital: Balance at beginning of year | 13 USD 1e6
        Paid-in Capital: Shares issued under plans, net | 5 USD 1e6
        Paid-in Capital: Balance at end of year | 18 USD 1e6"""),
    Shape("stock issued, in shares", table(head("2031", corner="shares in millions"), row("Stock:", bold=True),
                                           row("Shares at beginning of year", "1,796"), row("Repurchases of stock", "(2)"), ROOM,
                                           row("Cash dividends per share", "$9.00")), ("2031",), """
        Stock: Shares at beginning of year | 1796 shares 1e6
        Stock: Repurchases of stock | -2 shares 1e6
        Cash dividends per share | 9 USD/share 1"""),
    Shape("number and cost of shares", table(head("2031", corner="in millions"), row("Total number of shares repurchased", "26"),
                                             row("Total cost of shares repurchased", "$80")), ("2031",), """
        Total number of shares repurchased | 26 shares 1e6
        Total cost of shares repurchased | 80 USD 1e6"""),
    Shape("dates over kinds of amount", table(
        head(("May 31, 2031 (1)", 2), ("May 31, 2030", 2)), head("Gross Amount", "Net Amount", "Gross Amount", "Net Amount",
                                                                 corner="in millions"),
        row("Definite-Lived:"), row("Customers", "$88", "$78", "$34", "$27"), ROOM, row("Indefinite-Lived:"),
        row("Trade names", "64", "", "63", ""), row("Total Assets", "$152", "$78", "$97", "$27", rule=True)),
          ("May 31, 2031 Gross Amount", "May 31, 2031 Net Amount", "May 31, 2030 Gross Amount", "May 31, 2030 Net Amount"), """
        Definite-Lived: Customers | 88 USD 1e6 | 78 USD 1e6 | 34 USD 1e6 | 27 USD 1e6
        Indefinite-Lived: Trade names | 64 USD 1e6 | | 63 USD 1e6 |
        Total Assets | 152 USD 1e6 | 78 USD 1e6 | 97 USD 1e6 | 27 USD 1e6"""),
    Shape("notes with rates in their labels", table(head("Interest Payable", "Carrying Amount", corner="in millions"),
                                                    row("3.75% notes due May 2032", "Yearly", "$—"), row("2.70% notes due May 2033", "Yearly", "50")),
          ("Interest Payable", "Carrying Amount"), """
        3.75% notes due May 2032 | 'Yearly' | 0 USD 1e6
        2.70% notes due May 2033 | 'Yearly' | 50 USD 1e6"""),
    Shape("terms in years by their group", table(
        head("May 31, 2031"), row("Remaining Term (Years):"), row("Operating", "9", indent=10), ROOM, row("Discount Rate:"),
        row("Operating", "4.0%", indent=10)), ("May 31, 2031",), """
        Remaining Term (Years): Operating | 9 years 1
        Discount Rate: Operating | 4 % 1"""),
    Shape("options with prices and terms", table(
        head("Number of<br>Shares", "Intrinsic<br>Value", "Remaining Life", "Weighted Average<br>Exercise Price",
             corner="shares in thousands, dollars in millions, except for per share amounts"),
        row("Outstanding", "2,201", "$404", "5.0 years", "$228.23"), row("Exercisable", "1,411", "320", "3.6 years", "185.43")),
          ("Number of Shares", "Intrinsic Value", "Remaining Life", "Weighted Average Exercise Price"), """
        Outstanding | 2201 shares 1e3 | 404 USD 1e6 | 5 years 1 | 228.23 USD/share 1
        Exercisable | 1411 shares 1e3 | 320 USD 1e6 | 3.6 years 1 | 185.43 USD/share 1"""),
    Shape("lives in a column of years", table(head("Useful Life (Years)", "Fair Value", corner="in millions"),
                                              row("Customers", "20", "$54"), row("Total assets", "", "$54", rule=True)),
          ("Useful Life (Years)", "Fair Value"), """
        Customers | 20 years 1 | 54 USD 1e6
        Total assets | | 54 USD 1e6"""),
    Shape("room inside a group", table(
        _YEARS, row("Net sales:"), row("Goods", "$294", "$298", indent=10), ROOM, row("Services", "96", "85", indent=10),
        row("Rent", "7", "6")), ("2031", "2030"), """
        Net sales: Goods | 294 USD 1e6 | 298 USD 1e6
        Net sales: Services | 96 USD 1e6 | 85 USD 1e6
        Rent | 7 USD 1e6 | 6 USD 1e6""", _MILLIONS),
    Shape("a header cell over three rows",
          "<table><tr><td></td><td rowspan=3>Kind</td><td>Fiscal</td></tr><tr><td></td><td>2031</td></tr><tr><td>in millions</td>"
          "<td>Cost</td></tr><tr><td>Sales</td><td>own</td><td>$5</td></tr></table>", ("Kind", "Fiscal 2031 Cost"), """
        Sales | 'own' | 5 USD 1e6"""),
    Shape("labels indented by columns",
          "<table><tr><td></td><td></td><td>2031</td></tr><tr><td>Sales:</td><td></td><td></td></tr><tr><td></td><td>Goods</td>"
          "<td>$5</td></tr><tr><td></td><td>Services</td><td>3</td></tr><tr><td>Rent</td><td></td><td>2</td></tr></table>", ("2031",), """
        Sales: Goods | 5 USD 1e6
        Sales: Services | 3 USD 1e6
        Rent | 2 USD 1e6""", _MILLIONS),
)
