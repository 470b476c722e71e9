"""Write a made-up table with known values in HTML, as three kinds of filing software would."""

import html
from dataclasses import dataclass

MONEY, COUNT, RATE, PRICE = "USD", "shares", "%", "USD/share"
# split: "$" and "%" have cells of their own; plain: old tags; headed: one cell per value
SETTINGS = ("split", "plain", "headed")


@dataclass(frozen=True)
class Line:
    """A row: a group's label (without values), values in a group, a sum, or a blank row ("")."""

    label: str
    values: tuple[float, ...] = ()
    unit: str = MONEY
    groups: tuple[str, ...] = ()  # the group labels above the row
    is_sum: bool = False
    mark: str = ""  # "(1)"
    decimals: int = 0
    units: tuple[str, ...] = ()  # the unit of each value, if units differ

    def unit_of(self, column: int) -> str:
        """Return the unit of the value in `column`."""
        return self.units[column] if self.units else self.unit


@dataclass(frozen=True)
class MadeTable:
    """A table, its surroundings, and the scales of its values."""

    heading: str
    intro: str
    columns: tuple[str, ...]  # complete labels, as a reader joins them
    lines: tuple[Line, ...]
    scales: dict[str, float]  # unit -> what a printed 1 is worth
    header: tuple[tuple[tuple[str, int], ...], ...] = ()  # rows of (text, columns that it spans)
    corner: str = ""
    notes: tuple[str, ...] = ()

    @property
    def header_rows(self) -> list[tuple[str, tuple[tuple[str, int], ...]]]:
        """Return each header row with its corner text, which is empty in all but the last row."""
        rows = self.header or (tuple((label, 1) for label in self.columns),)
        return [*(("", row) for row in rows[:-1]), (self.corner, rows[-1])]

    @property
    def printed(self) -> list[tuple[Line, list[tuple[str, str, str]]]]:
        """Return each line with its values as ("$", "(4,635)", "%").

        "$" is printed before each column's first amount of money and before sums.
        """
        seen: set[tuple[int, str]] = set()
        found = []
        for line in self.lines:
            texts = []
            for column, value in enumerate(line.values):
                unit = line.unit_of(column)
                decimals = 2 if unit == PRICE else line.decimals
                is_first = (column, unit) not in seen or line.is_sum
                texts.append(shown(value, unit, decimals, is_first))
                seen.add((column, unit))
            found.append((line, texts))
        return found


def shown(value: float, unit: str, decimals: int, is_first: bool) -> tuple[str, str, str]:
    """Return a value as ("$", "(4,635)", "%").

    A negative value is in brackets, zero is a dash, and money has "$" only if `is_first`.
    """
    number = "—" if value == 0 else f"{abs(value):,.{decimals}f}"
    has_coin = unit == PRICE or unit == MONEY and is_first
    return "$" * has_coin, f"({number})" if value < 0 else number, "%" * (unit == RATE)


def as_html(table: MadeTable, setting: str) -> str:
    """Return the table with its heading, introduction and notes, in one of SETTINGS."""
    draw, heading, block = {
        "split": (_split, '<div><span style="font-weight:700">{}</span></div>', "div"),
        "plain": (_plain, "<p><b>{}</b></p>", "p"),
        "headed": (_headed, "<h3>{}</h3>", "p")}[setting]
    intro, *notes = (f"<{block}>{_e(text)}</{block}>" for text in (table.intro, *table.notes))
    return "\n".join([heading.format(_e(table.heading)), intro, draw(table), *notes]) + "\n"


def _split(table: MadeTable) -> str:
    """Write three slots per column and three between columns, formatted by styles only."""
    n_slots = 3 + 6 * len(table.columns)
    rows = ['<td style="width:1.0%"></td>' * n_slots]
    for corner, header in table.header_rows:
        cells = [f'<td colspan="3">{_e(corner)}</td>']
        for text, span in header:
            broken = _e(text).replace(" ", "<br>", 1)
            cells.append(f'<td colspan="3"></td><td colspan="{6 * span - 3}" '
                         'style="text-align:center"><span style="font-weight:700">'
                         f"{broken}</span></td>")
        rows.append("".join(cells))
    for line, texts in table.printed:
        indent = 1 + 9 * len(line.groups)
        label = _e(f"{line.label} {line.mark}".strip())
        cells = [f'<td colspan="3" style="padding:2px 1pt 2px {indent}pt">'
                 f"<span>{label}</span></td>"]
        rule = ' style="border-top:1pt solid #000"' if line.is_sum else ""
        for coin, number, percent in texts:
            value = f'<td colspan="2"{rule}>{number}</td>'
            if coin:
                value = f"<td{rule}>{coin}</td><td{rule}>{number}&#160;</td>"
            cells.append(f'<td colspan="3"></td>{value}<td{rule}>{percent}</td>')
        rows.append("".join(cells))
    return "<div><table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table></div>"


def _plain(table: MadeTable) -> str:
    """Write four cells per value, with spaces as indents, upper-case tags and no closing </TD>."""
    rows = []
    for corner, header in table.header_rows:
        cells = (f'<TD>&nbsp;<TD ALIGN="center" COLSPAN="{4 * span - 1}"><B>{_e(text)}</B>'
                 for text, span in header)
        rows.append(f"<TD>{_e(corner)}" + "".join(cells))
    for line, texts in table.printed:
        indent = "&nbsp;" * 3 * len(line.groups)
        mark = f" <sup>{_e(line.mark.strip('()'))}</sup>" if line.mark else ""
        row = f"<TD><FONT SIZE=2>{indent}{_e(line.label)}{mark}</FONT>"
        for coin, number, percent in texts:
            closing = ")" * number.endswith(")") + percent
            row += f"<TD>&nbsp;<TD>{coin}<TD ALIGN=right>{number.rstrip(')')}<TD>{closing}"
        rows.append(row)
    return "<TABLE>" + "\n".join(f"<TR>{row}</TR>" for row in rows) + "</TABLE>"


def _headed(table: MadeTable) -> str:
    """Write one cell per value, with headers in <th colspan> and indents by styles."""
    rows = []
    for corner, header in table.header_rows:
        cells = (f'<th colspan="{span}">{_e(text)}</th>' for text, span in header)
        rows.append(f"<th>{_e(corner)}</th>" + "".join(cells))
    for line, texts in table.printed:
        if not line.label:
            continue
        label = f"{_e(line.label)} {_e(line.mark)}".strip()
        cells = "".join(f"<td>{coin}{number}{percent}</td>" for coin, number, percent in texts)
        empty = "<td></td>" * (len(table.columns) - len(texts))
        indent = 12 * len(line.groups)
        rows.append(f'<td style="padding-left:{indent}px">{label}</td>{cells}{empty}')
    return "<table><tbody>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</tbody></table>"


def _e(text: str) -> str:
    return html.escape(text, quote=False)
