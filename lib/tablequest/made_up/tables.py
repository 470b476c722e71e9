"""A made-up table with known values, and how three kinds of filing software would set it in HTML."""

import html
from dataclasses import dataclass

MONEY, COUNT, RATE, PRICE = "USD", "shares", "%", "USD/share"
SETTINGS = ("split", "plain", "headed")  # "$" and "%" in cells of their own on a fine raster; old tags; whole cells


@dataclass(frozen=True)
class Line:
    """A row: a group's label (no values), a row in it, a sum, or room ("")."""

    label: str
    values: tuple[float | None, ...] = ()
    unit: str = MONEY
    groups: tuple[str, ...] = ()  # the labels over it
    is_sum: bool = False
    mark: str = ""  # "(1)"
    decimals: int = 0
    units: tuple[str, ...] = ()  # of each value, where they differ

    def unit_of(self, column: int) -> str:
        """The unit of the value in `column`."""
        return self.units[column] if self.units else self.unit


@dataclass(frozen=True)
class MadeTable:
    """A table, what stands around it, and what its values are in units of."""

    heading: str
    intro: str
    columns: tuple[str, ...]  # whole labels, as a reader joins them
    header: tuple[tuple[tuple[str, int], ...], ...]  # rows of (text, columns that it spans), the label's column aside
    lines: tuple[Line, ...]
    scales: dict[str, float]  # unit -> what 1 stands for
    corner: str = ""
    notes: tuple[str, ...] = ()


def shown(value: float | None, unit: str, decimals: int, is_first: bool) -> tuple[str, str, str]:
    """A value as ("$", "(4,635)", "%"): brackets for what is negative, a dash for nil, "$" in a column's first row."""
    if value is None:
        return "", "", ""
    number = "—" if value == 0 else f"{abs(value):,.{decimals}f}"
    number = f"({number})" if value < 0 else number
    return ("$" if unit == PRICE or unit == MONEY and is_first else ""), number, ("%" if unit == RATE else "")


def as_html(table: MadeTable, setting: str) -> str:
    """The table with the paragraph before it and its notes, in one of SETTINGS."""
    draw = {"split": _split, "plain": _plain, "headed": _headed}[setting]
    heading = f"<h3>{_e(table.heading)}</h3>" if setting == "headed" else (
        f'<div><span style="font-weight:700">{_e(table.heading)}</span></div>' if setting == "split"
        else f"<p><b>{_e(table.heading)}</b></p>")
    block = "p" if setting != "split" else "div"
    around = [f"<{block}>{_e(text)}</{block}>" for text in (table.intro, *table.notes)]
    return "\n".join([heading, around[0], draw(table), *around[1:]]) + "\n"


def _cells(table: MadeTable) -> list[tuple[Line, list[tuple[str, str, str]]]]:
    """Each line with its values as printed; "$" stands in the first row of money of each column, and in sums."""
    seen: set[tuple[int, str]] = set()
    found = []
    for line in table.lines:
        texts = []
        for column, value in enumerate(line.values):
            unit = line.unit_of(column)
            decimals = 2 if unit == PRICE else line.decimals
            texts.append(shown(value, unit, decimals, (column, unit) not in seen or line.is_sum))
            if value is not None:
                seen.add((column, unit))
        found.append((line, texts))
    return found


def _split(table: MadeTable) -> str:
    """Three slots a column and three of room between them; "$", number and "%" in a cell each; nothing but styles."""
    n_slots = 3 + 6 * len(table.columns)
    rows = ['<td style="width:1.0%"></td>' * n_slots]
    for index, header in enumerate(table.header):
        corner = table.corner if index == len(table.header) - 1 else ""
        cells = [f'<td colspan="3">{_e(corner)}</td>']
        for text, span in header:
            cells.append(f'<td colspan="3"></td><td colspan="{6 * span - 3}" style="text-align:center">'
                         f'<span style="font-weight:700">{_e(text).replace(" ", "<br>", 1)}</span></td>')
        rows.append("".join(cells))
    for line, texts in _cells(table):
        indent = 1 + 9 * len(line.groups)
        label = f"{line.label} {line.mark}".strip()
        cells = [f'<td colspan="3" style="padding:2px 1pt 2px {indent}pt"><span>{_e(label)}</span></td>']
        rule = ' style="border-top:1pt solid #000"' if line.is_sum else ""
        for coin, number, percent in texts:
            cells.append('<td colspan="3"></td>')
            first = f"<td{rule}>{coin}</td><td{rule}>{number}&#160;</td>" if coin else (
                f'<td colspan="2"{rule}>{number}</td>')
            cells.append(first + f"<td{rule}>{percent}</td>")
        rows.append("".join(cells))
    return "<div><table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table></div>"


def _plain(table: MadeTable) -> str:
    """Four cells a value, ")" and "%" apart from the number, indents of blanks, upper-case tags, no closing </TD>."""
    rows = []
    for index, header in enumerate(table.header):
        corner = table.corner if index == len(table.header) - 1 else ""
        rows.append(f"<TD>{_e(corner)}" + "".join(
            f'<TD>&nbsp;<TD ALIGN="center" COLSPAN="{4 * span - 1}"><B>{_e(text)}</B>' for text, span in header))
    for line, texts in _cells(table):
        blanks = "&nbsp;" * 3 * len(line.groups)
        mark = f" <sup>{_e(line.mark.strip('()'))}</sup>" if line.mark else ""
        row = f"<TD><FONT SIZE=2>{blanks}{_e(line.label)}{mark}</FONT>"
        for coin, number, percent in texts:
            closing = ")" * number.endswith(")") + percent
            row += f"<TD>&nbsp;<TD>{coin}<TD ALIGN=right>{number.rstrip(')')}<TD>{closing}"
        rows.append(row)
    return "<TABLE>" + "\n".join(f"<TR>{row}</TR>" for row in rows) + "</TABLE>"


def _headed(table: MadeTable) -> str:
    """One cell a value, headers in <th> with colspan, indents by a style."""
    rows = []
    for index, header in enumerate(table.header):
        corner = table.corner if index == len(table.header) - 1 else ""
        rows.append(f"<th>{_e(corner)}</th>" + "".join(
            f'<th colspan="{span}">{_e(text)}</th>' for text, span in header))
    for line, texts in _cells(table):
        if not line.label:
            continue
        label = f"{_e(line.label)} {_e(line.mark)}".strip()
        cells = "".join(f"<td>{coin}{number}{percent}</td>" for coin, number, percent in texts)
        empty = "<td></td>" * (len(table.columns) - len(texts))
        rows.append(f'<td style="padding-left:{12 * len(line.groups)}px">{label}</td>{cells}{empty}')
    return "<table><tbody>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</tbody></table>"


def _e(text: str) -> str:
    return html.escape(text, quote=False)
