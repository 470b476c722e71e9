"""Find rows that are sums of others: totals without a label, and rows that lead their parts."""

import re

from lib.tasks.tablequest.grids.cells import PlacedCell
from lib.tasks.tablequest.grids.layout import BodyRow

TOTAL_OF = "Total of "

MAX_PARTS = 200  # rows

_OF_WHICH = re.compile(r"(?:of which|including|incl\.|thereof)\b", re.I)


def indent_of(cell: PlacedCell) -> float:
    """Return where a label begins, in points; some filings indent by columns, not by styles."""
    return cell.indent + 12.0 * cell.start


class Sums:
    """Running sums of a table's columns, which name a row of totals without a label."""

    def __init__(self, rows: list[BodyRow]) -> None:
        self.rows = rows
        width = max((len(row.cells) for row in rows), default=0)
        self.before = [[0.0] * width]  # sums of the columns before each row, without totals
        self.is_needed = any(row.has_values and not row.label for row in rows)

    def add(self, index: int, is_sum: bool) -> None:
        """Add row `index`; rows before it that were not added count nothing."""
        if not self.is_needed:
            return
        while len(self.before) <= index:
            self.before.append(self.before[-1])
        numbers = [0.0] * len(self.before[0]) if is_sum else _numbers(self.rows[index])
        self.before.append([total + (number or 0.0) for total, number
                            in zip(self.before[-1], numbers, strict=True)])

    def name(self, index: int, groups: list[tuple[int, str]]) -> str:
        """Return "Total of <group>" or "Total" for a row that adds up the rows above it, or "".

        `groups` are the open groups, outermost first, by their first row and label.
        """
        while len(self.before) <= index:
            self.before.append(self.before[-1])
        for start, label in reversed(groups):
            if self._adds_up(start, index):
                return TOTAL_OF + label
        return "Total" if self._adds_up(0, index) else ""

    def _adds_up(self, start: int, end: int) -> bool:
        """Return whether row `end` is the sum of at least two rows, up to rounding."""
        if end - start < 2:
            return False
        numbers = _numbers(self.rows[end])
        pairs = [(number, total - before) for number, total, before in zip(
            numbers, self.before[end], self.before[start], strict=True) if number is not None]
        room = 1.01 * max(_last_digit(cell.text) for cell in self.rows[end].cells if cell)
        added = [number for number, total in pairs if abs(number - total) <= room]
        # Beside a column that adds up, averages and prices do not.
        return len(added) == len(pairs) > 0 and any(added) or any(
            abs(number) >= 1000 for number in added)


def parents_of(rows: list[BodyRow]) -> set[int]:
    """Return the rows of values that lead their parts: rows further right below that add up to it.

    Rows further right below "Revenue" may also be its costs. One that begins with "of which" is a
    part in any case.
    """
    valued = [index for index, row in enumerate(rows) if not row.is_blank]
    found = set()
    for at, index in enumerate(valued[:-1]):
        parent, below = rows[index], rows[valued[at + 1]]
        if not (parent.label and parent.has_values and below.label and below.has_values):
            continue
        outer, inner = indent_of(parent.label[0]), indent_of(below.label[0])
        if inner <= outer + 2:
            continue
        if _OF_WHICH.match(below.label[0].text) or _leads(rows, valued[at:at + MAX_PARTS], outer,
                                                          inner):
            found.add(index)
    return found


def _leads(rows: list[BodyRow], valued: list[int], outer: float, inner: float) -> bool:
    """Return whether row valued[0] is the sum of the rows at `inner` before the next at `outer`."""
    whole, parts = rows[valued[0]], []
    for index in valued[1:]:
        row = rows[index]
        if not row.label or indent_of(row.label[0]) <= outer:
            break
        if row.has_values and indent_of(row.label[0]) == inner:
            parts.append(_numbers(row))
    room = 1.01 * max((_last_digit(cell.text) for cell in whole.cells if cell), default=1.0)
    pairs = [(number, sum(part[column] or 0.0 for part in parts))
             for column, number in enumerate(_numbers(whole)) if number]
    return len(parts) > 1 and bool(pairs) and all(
        abs(number - total) <= room for number, total in pairs)


def _numbers(row: BodyRow) -> list[float | None]:
    return [cell.reading.value if cell and cell.reading else None for cell in row.cells]


def _last_digit(text: str) -> float:
    decimals = re.search(r"\.(\d+)", text)
    return 10.0 ** -len(decimals[1]) if decimals else 1.0
