"""A filing's table as a grid: whole labels, values with sign, unit and scale, footnotes, cleaned HTML."""

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from lib.tablequest.grids.cells import PlacedCell, PlacedRow
from lib.tablequest.grids.labels import FOOTNOTE, column_label, row_labels, with_periods, without_marks
from lib.tablequest.grids.layout import BodyRow, Layout, NoGrid, lay_out
from lib.tablequest.grids.panels import one_panel
from lib.tablequest.grids.values import (
    COINS,
    PER_SHARE,
    Note,
    Reading,
    read_note,
    read_value,
    unit_and_scale,
    unit_note_in,
)
from lib.tablequest.records import Cell, Grid

EMPTY = Cell(text="", value=None, unit="", scale=1.0)


@dataclass(frozen=True)
class Surroundings:
    """What a filing says around a table."""

    filing_id: str
    number: int  # the table's position in the filing, from 1
    section: str = ""
    caption: str = ""
    unit_note: str = ""
    footnotes: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()  # of the table right before, which a table without headers goes on


@dataclass(frozen=True)
class ReadGrid:
    """A grid, the placed cell behind each of its cells (None for an empty one), and labels of rows left out."""

    grid: Grid
    placed: tuple[tuple[PlacedCell | None, ...], ...]
    left_out: tuple[str, ...]


def read_grid(rows: list[PlacedRow], around: Surroundings, n_header: int = 0, dash_is_nil: bool = True) -> ReadGrid:
    """The grid of a table's rows, the first `n_header` of which are headers.

    Raises NoGrid, with its kind, for a table that is not one of labelled numbers.
    """
    layout = one_panel(lay_out(rows, n_header))
    texts = [index for index, column in enumerate(layout.columns) if column.is_text]
    labels = row_labels(list(layout.rows), texts)
    named = [(label, row) for label, row in zip(labels, layout.rows, strict=True) if label]
    if not named:
        raise NoGrid("no row labels", "no row of numbers has a label")
    columns = _columns(layout, around)
    note = _unit_note(layout, around)
    readings = [[_reading(cell, dash_is_nil) for cell in row.cells] for _, row in named]
    parsed = replace(read_note(note), of_shares=bool(re.search(r"\bshares of\b", around.caption, re.I)))
    cells = _cells([label for label, _ in named], columns, [row for _, row in named], readings, parsed)
    inside = [" ".join(cell.text for cell in row.label) for row in layout.rows if row.label and not row.has_values]
    grid = Grid(
        grid_id=f"{around.filing_id}-t{around.number:02d}", filing_id=around.filing_id, section=around.section,
        caption=" ".join([around.caption, *layout.titles]).strip(), unit_note=note,
        corner=" ".join(layout.corner), columns=columns, rows=tuple(label for label, _ in named), cells=cells,
        footnotes=tuple(text for text in inside if FOOTNOTE.match(text)) + around.footnotes,
        html=_html(layout, columns))
    left_out = tuple(" | ".join(cell.text for cell in row.cells if cell)
                     for label, row in zip(labels, layout.rows, strict=True) if not label and row.has_values)
    return ReadGrid(grid, tuple(row.cells for _, row in named), left_out)


def as_markdown(grid: Grid) -> str:
    """The grid as a Markdown table with whole labels and the values as printed."""
    rows = [(grid.corner, *grid.columns), ("---",) * (len(grid.columns) + 1),
            *((label, *(cell.text for cell in cells)) for label, cells in zip(grid.rows, grid.cells, strict=True))]
    return "\n".join("| " + " | ".join(text.replace("|", "\\|").replace("\n", " ") for text in row) + " |"
                     for row in rows)


def _columns(layout: Layout, around: Surroundings) -> tuple[str, ...]:
    labels = with_periods([column_label(headers) for headers in layout.headers])
    if not any(labels) and len(labels) == len(around.columns):
        return around.columns
    nameless = [index for index, label in enumerate(labels) if not label and not layout.columns[index].is_text]
    if nameless and len(labels) > 1:
        raise NoGrid("no column labels", f"{len(nameless)} of {len(labels)} columns have no header")
    return tuple(labels)


def _unit_note(layout: Layout, around: Surroundings) -> str:
    """The first unit note above the table: in its corner or titles, else in what introduces it."""
    inside = [*layout.titles, *layout.corner]
    found = [unit_note_in(text, anywhere=True) for text in inside]
    return next((note for note in found if note), around.unit_note)


def _reading(cell: PlacedCell | None, dash_is_nil: bool) -> Reading | None:
    return read_value(cell.text, dash_is_nil) if cell else None


def _cells(labels: list[str], columns: tuple[str, ...], rows: list[BodyRow], readings: list[list[Reading | None]],
           note: Note) -> tuple[tuple[Cell, ...], ...]:
    in_columns = [_marks(line[index] for label, line in zip(labels, readings, strict=True)
                         if not (line[index] and PER_SHARE.search(label))) for index in range(len(columns))]
    in_table = next((coin for coin in COINS.values() if coin in _units(sum(readings, []))), "")
    if not in_table and note.money and not note.is_money and note.of_shares:
        note = replace(note, shares=note.money, money=None)
    done = []
    for label, row, line in zip(labels, rows, readings, strict=True):
        in_row = _marks(reading for reading, mark in zip(line, in_columns, strict=True) if mark in ("", "mixed"))
        done.append(tuple(_cell(cell, reading, (label, column), (in_row, in_column, in_table), note)
                          for cell, reading, column, in_column in zip(row.cells, line, columns, in_columns,
                                                                      strict=True)))
    return tuple(done)


def _cell(cell: PlacedCell | None, reading: Reading | None, labels: tuple[str, str], marks: tuple[str, str, str],
          note: Note) -> Cell:
    if cell is None:
        return EMPTY
    if reading is None:
        return Cell(text=cell.text, value=None, unit="", scale=1.0)
    unit, scale = unit_and_scale(reading, *labels, marks, note)
    return Cell(text=cell.text, value=reading.value, unit=unit, scale=scale)


def _marks(readings: Iterable[Reading | None]) -> str:
    """The one unit that is printed among `readings`; "mixed" where there are several, "" where there is none."""
    units = _units(readings)
    return "" if not units else units.pop() if len(units) == 1 else "mixed"


def _units(readings: Iterable[Reading | None]) -> set[str]:
    return {reading.unit for reading in readings if reading} & {*COINS.values(), "%"}


def _html(layout: Layout, columns: tuple[str, ...]) -> str:
    """The table as its filing sets it without empty cells and styles: header rows with spans, groups, whole values."""
    lines = [_header_line(row, layout) for row in layout.header_rows if row.cells]
    if not any(layout.headers) and any(columns):
        lines = ["<th></th>" + "".join(f"<th>{html.escape(column)}</th>" for column in columns)]
    for row in layout.rows:
        label = html.escape(" ".join(cell.text for cell in row.label))
        if row.has_values:
            values = (html.escape(cell.text) if cell else "" for cell in row.cells)
            lines.append(f"<th>{label}</th>" + "".join(f"<td>{value}</td>" for value in values))
        elif label:
            lines.append(f'<th colspan="{len(columns) + 1}">{label}</th>')
    return "<table>\n" + "\n".join(f"<tr>{line}</tr>" for line in lines) + "\n</table>"


def _header_line(row: PlacedRow, layout: Layout) -> str:
    """One header row: a cell over each run of columns that it heads."""
    heads = [next((cell for cell in row.cells if cell in headers), None) for headers in layout.headers]
    placed = {id(cell) for cell in heads if cell}
    corner = " ".join(cell.text for cell in row.cells if id(cell) not in placed)
    pieces, index = [f"<th>{html.escape(corner)}</th>"], 0
    while index < len(heads):
        end = index + 1
        while end < len(heads) and heads[index] is not None and heads[end] is heads[index]:
            end += 1
        span = f' colspan="{end - index}"' if end - index > 1 else ""
        pieces.append(f"<th{span}>{html.escape(without_marks(heads[index].text) if heads[index] else '')}</th>")
        index = end
    return "".join(pieces)
