"""Classify a table's cells as headers, row labels or values, by position and content."""

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from lib.core.errors import BadInput
from lib.tasks.tablequest.grids.cells import PlacedCell, PlacedRow
from lib.tasks.tablequest.grids.notes import unit_note_in
from lib.tasks.tablequest.grids.values import is_year

# "25% – 31%", "$10.50 to $12", "0.4 - 2.1"
_RANGE = re.compile(r"(?P<mark>[$€£])?\s?(?P<low>\d+(?:\.\d+)?)\s?(?:%|years?)?\s*(?:[-–—]|to)\s*"
                    r"[$€£]?\s?(?P<high>\d+(?:\.\d+)?)\s?(?P<mark2>%|years?|months|days)?", re.I)

Headers = tuple[tuple[PlacedCell, ...], ...]  # per column, from top to bottom


@dataclass(frozen=True)
class Column:
    """A column of the table as a reader sees it, over the slots [start, end)."""

    start: int
    end: int
    is_text: bool  # whether none of its cells is a number

    def overlap(self, cell: PlacedCell) -> int:
        """Return the number of slots that `cell` shares with this column; at most 0 if none."""
        return min(self.end, cell.end) - max(self.start, cell.start)


@dataclass(frozen=True)
class BodyRow:
    """A row below the headers: its label's cells, and a cell or None for each column."""

    label: tuple[PlacedCell, ...]
    cells: tuple[PlacedCell | None, ...]

    @property
    def is_blank(self) -> bool:
        """Return whether all its cells are empty."""
        return not self.label and not any(self.cells)

    @property
    def has_values(self) -> bool:
        """Return whether the row has more than a label."""
        return any(self.cells)


@dataclass(frozen=True)
class Layout:
    """The parts of a table: titles at the top, headers, the corner, and the rows below."""

    columns: tuple[Column, ...]
    headers: Headers
    header_rows: tuple[PlacedRow, ...]
    corner: tuple[str, ...]
    titles: tuple[str, ...]
    rows: tuple[BodyRow, ...]


def lay_out(rows: list[PlacedRow]) -> Layout:
    """Divide a table into its parts.

    Raises BadInput if no number is next to a label, or if columns cannot be separated.
    """
    rows = rows[next((index for index, row in enumerate(rows) if row.cells), len(rows)):]
    first = _first_body_row(rows)
    body, left = rows[first:], min(cell.start for row in rows for cell in row.cells)
    numeric = _numeric_columns(body, left)
    label_end, columns = _columns(body, numeric)
    while first and _is_label_only(rows[first - 1], label_end) and not _heads(rows[first - 1]):
        first -= 1  # a group's label between the headers and its first row
    headers, corner, titles = _headers(rows[:first], columns, label_end)
    bounds = [column.start for column in columns], [column.end for column in columns]
    found = tuple(_body_row(row, columns, label_end, bounds) for row in rows[first:])
    _check_headers(found, columns, headers)
    kept = [index for index in range(len(columns))
            if headers[index] or not _is_marks(found, index)]
    return Layout(
        tuple(columns[index] for index in kept), tuple(headers[index] for index in kept),
        tuple(rows[:first]), corner, titles,
        tuple(BodyRow(row.label, tuple(row.cells[index] for index in kept)) for row in found))


def _check_headers(rows: tuple[BodyRow, ...], columns: tuple[Column, ...],
                   headers: Headers) -> None:
    for row in rows:
        texts = [(cell.text, header)
                 for cell, column, header in zip(row.cells, columns, headers, strict=True)
                 if cell and not column.is_text]
        if row.label or not texts or any(_is_value(cell) for cell in row.cells if cell):
            continue
        if any(text not in [cell.text for cell in header] for text, header in texts):
            raise BadInput(f"columns change: {texts[0][0]!r} heads a column anew below the first "
                           "rows")


def _is_marks(rows: tuple[BodyRow, ...], index: int) -> bool:
    texts = [row.cells[index].text for row in rows if row.cells[index]]
    return bool(texts) and all(re.fullmatch(r"\([1-9]\d?\)", text) for text in texts)


def _first_body_row(rows: list[PlacedRow]) -> int:
    left = min((cell.start for row in rows for cell in row.cells), default=0)
    for index, row in enumerate(rows):
        if any(_is_value(cell) and cell.start != left for cell in row.cells):
            return next((above for above in range(1, index)
                         if _is_of_ranges(rows[above], left)), index)
    has_digits = any(re.search(r"\d", cell.text) for row in rows for cell in row.cells)
    kind = "ranges or words only" if has_digits else "text"
    raise BadInput(f"{kind}: no cell beside a row's label is one number")


def _is_of_ranges(row: PlacedRow, left: int) -> bool:
    if len(row.cells) < 2 or row.cells[0].start != left or _heads(PlacedRow(row.cells[:1])):
        return False
    found = [_RANGE.fullmatch(cell.text) for cell in row.cells[1:]]
    if not all(found) or not any(match["mark"] or match["mark2"] for match in found):
        return False
    ends = [(float(match["low"]), float(match["high"])) for match in found]
    follows = all(high <= low for (_, high), (low, _) in zip(ends, ends[1:], strict=False))
    return not follows or len(ends) < 2


def _is_value(cell: PlacedCell) -> bool:
    return not cell.is_header and cell.reading is not None and not is_year(cell.text)


def _is_label_only(row: PlacedRow, label_end: int) -> bool:
    return bool(row.cells) and all(cell.start < label_end for cell in row.cells)


def _heads(row: PlacedRow) -> bool:
    text = " ".join(cell.text for cell in row.cells)
    return bool(unit_note_in(text, anywhere=True)) or all(cell.is_header for cell in row.cells)


def _numeric_columns(body: list[PlacedRow], left: int) -> list[Column]:
    values = [[cell for cell in row.cells if cell.reading is not None and cell.start != left]
              for row in body]
    spans = sorted((cell.start, cell.end) for line in values for cell in line)
    columns = [Column(start, end, False) for start, end in _merged(spans)]
    starts = [column.start for column in columns]
    for line in values:
        taken: dict[int, str] = {}
        for cell in line:
            index = bisect_right(starts, cell.start)
            if index in taken:
                raise BadInput(f"columns overlap: {taken[index]!r} and {cell.text!r} of one "
                               "row stand in one column")
            taken[index] = cell.text
    return columns


def _over(cell: PlacedCell, starts: list[int], ends: list[int]) -> range:
    return range(bisect_right(ends, cell.start), bisect_left(starts, cell.end))


def _columns(body: list[PlacedRow], numeric: list[Column]) -> tuple[int, tuple[Column, ...]]:
    begin = numeric[0].start
    before = _merged(sorted((cell.start, max(min(cell.end, begin), cell.start + 1))
                            for row in body for cell in row.cells if cell.start < begin))
    if not before:
        raise BadInput("no row labels: numbers begin in the first column")
    label_end = before[0][1]
    words = []
    for start, end in before[1:]:
        is_next_to_label = any(any(start <= cell.start < end for cell in row.cells)
                               and any(cell.start < label_end for cell in row.cells)
                               for row in body)
        if is_next_to_label or words:
            words.append((start, end))
        else:
            label_end = end  # another level of indented labels
    starts, ends = [one.start for one in numeric], [one.end for one in numeric]
    after = [(cell.start, cell.end) for row in body for cell in row.cells if cell.start >= begin
             and not _over(cell, starts, ends)]
    columns = numeric + [Column(start, end, True) for start, end in (*words,
                                                                    *_merged(sorted(after)))]
    return label_end, tuple(sorted(columns, key=lambda column: column.start))


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    done: list[tuple[int, int]] = []
    for start, end in spans:
        if done and start < done[-1][1]:
            done[-1] = (done[-1][0], max(end, done[-1][1]))
        else:
            done.append((start, end))
    return done


def _headers(rows: list[PlacedRow], columns: tuple[Column, ...],
             label_end: int) -> tuple[Headers, tuple[str, ...], tuple[str, ...]]:
    above: list[list[PlacedCell]] = [[] for _ in columns]
    corner, titles = [], []
    for row in rows:
        for cell in row.cells:
            over = [index for index, column in enumerate(columns) if column.overlap(cell) > 0]
            if cell.start < label_end:
                (titles if len(row.cells) == 1 and over else corner).append(cell.text)
                continue
            for index in over:
                above[index].append(cell)
    return tuple(map(tuple, above)), tuple(corner), tuple(titles)


def _body_row(row: PlacedRow, columns: tuple[Column, ...], label_end: int,
              bounds: tuple[list[int], list[int]]) -> BodyRow:
    label = tuple(cell for cell in row.cells if cell.start < label_end)
    cells: list[PlacedCell | None] = [None] * len(columns)
    for cell in row.cells[len(label):]:
        over = _over(cell, *bounds)
        free = [index for index in over if cells[index] is None]
        if not free or len(over) > 1 and cell.reading is None:
            label += (cell,)  # text across columns is a note or a label on the right
            continue
        best = free[0] if len(free) == 1 else max(
            free, key=lambda index: columns[index].overlap(cell))
        cells[best] = cell
    return BodyRow(label, tuple(cells))
