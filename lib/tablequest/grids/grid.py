"""Read a table as a grid: complete labels, values with sign, unit and scale, and cleaned HTML."""

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from lib.tablequest.grids.cells import PlacedCell, PlacedRow
from lib.tablequest.grids.labels import (
    FOOTNOTE,
    column_label,
    row_labels,
    with_periods,
    without_marks,
)
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
    columns: tuple[str, ...] = ()  # the previous table's, which a table without headers continues


@dataclass(frozen=True)
class ReadGrid:
    """A grid, the placed cell (or None) that each of its cells was read from, and rows left out."""

    grid: Grid
    placed: tuple[tuple[PlacedCell | None, ...], ...]
    left_out: tuple[str, ...]


def read_grid(rows: list[PlacedRow], around: Surroundings, n_header: int = 0,
              dash_is_nil: bool = True) -> ReadGrid:
    """Return the grid of a table's rows, the first `n_header` of which are headers.

    Raises NoGrid, with its kind, for a table without labelled numbers.
    """
    layout = one_panel(lay_out(rows, n_header))
    texts = [index for index, column in enumerate(layout.columns) if column.is_text]
    labelled = list(zip(row_labels(list(layout.rows), texts), layout.rows, strict=True))
    labels = tuple(label for label, _ in labelled if label)
    named = [row for label, row in labelled if label]
    if not named:
        raise NoGrid("no row labels", "no row of numbers has a label")
    columns = _columns(layout, around)
    unit_note = _unit_note(layout, around)
    of_shares = bool(re.search(r"\bshares of\b", around.caption, re.I))
    readings = [[read_value(cell.text, dash_is_nil) if cell else None for cell in row.cells]
                for row in named]
    cells = _cells(labels, columns, named, readings,
                   replace(read_note(unit_note), of_shares=of_shares))
    inside = [" ".join(cell.text for cell in row.label) for row in layout.rows
              if row.label and not row.has_values]
    grid = Grid(
        grid_id=f"{around.filing_id}-t{around.number:02d}", filing_id=around.filing_id,
        section=around.section, caption=" ".join([around.caption, *layout.titles]).strip(),
        unit_note=unit_note, corner=" ".join(layout.corner), columns=columns, rows=labels,
        cells=cells, html=_html(layout, columns),
        footnotes=tuple(text for text in inside if FOOTNOTE.match(text)) + around.footnotes)
    left_out = tuple(" | ".join(cell.text for cell in row.cells if cell)
                     for label, row in labelled if not label and row.has_values)
    return ReadGrid(grid, tuple(row.cells for row in named), left_out)


def as_markdown(grid: Grid) -> str:
    """Return a Markdown table with complete labels and the values as printed."""
    body = [(label, *(cell.text for cell in cells))
            for label, cells in zip(grid.rows, grid.cells, strict=True)]
    rows = [(grid.corner, *grid.columns), ("---",) * (len(grid.columns) + 1), *body]
    escaped = ([text.replace("|", "\\|").replace("\n", " ") for text in row] for row in rows)
    return "\n".join(f"| {' | '.join(row)} |" for row in escaped)


def _columns(layout: Layout, around: Surroundings) -> tuple[str, ...]:
    labels = with_periods([column_label(headers) for headers in layout.headers])
    if not any(labels) and len(labels) == len(around.columns):
        return around.columns
    nameless = [label for label, column in zip(labels, layout.columns, strict=True)
                if not label and not column.is_text]
    if nameless and len(labels) > 1:
        raise NoGrid("no column labels", f"{len(nameless)} of {len(labels)} columns have no header")
    return tuple(labels)


def _unit_note(layout: Layout, around: Surroundings) -> str:
    """Return the first unit note in the table's corner or titles, else in its introduction."""
    found = (unit_note_in(text, anywhere=True) for text in (*layout.titles, *layout.corner))
    return next(filter(None, found), around.unit_note)


def _cells(labels: tuple[str, ...], columns: tuple[str, ...], rows: list[BodyRow],
           readings: list[list[Reading | None]], note: Note) -> tuple[tuple[Cell, ...], ...]:
    in_columns = [_marks(line[index] for label, line in zip(labels, readings, strict=True)
                         if not (line[index] and PER_SHARE.search(label)))
                  for index in range(len(columns))]
    units = _units(reading for line in readings for reading in line)
    in_table = next((coin for coin in COINS.values() if coin in units), "")
    if not in_table and note.money and not note.is_money and note.of_shares:
        note = replace(note, shares=note.money, money=None)
    done = []
    for label, row, line in zip(labels, rows, readings, strict=True):
        in_row = _marks(reading for reading, mark in zip(line, in_columns, strict=True)
                        if mark in ("", "mixed"))
        cells = zip(row.cells, line, columns, in_columns, strict=True)
        done.append(tuple(_cell(cell, reading, (label, column), (in_row, mark, in_table), note)
                          for cell, reading, column, mark in cells))
    return tuple(done)


def _cell(cell: PlacedCell | None, reading: Reading | None, labels: tuple[str, str],
          marks: tuple[str, str, str], note: Note) -> Cell:
    if cell is None:
        return EMPTY
    if reading is None:
        return Cell(text=cell.text, value=None, unit="", scale=1.0)
    unit, scale = unit_and_scale(reading, *labels, marks, note)
    return Cell(text=cell.text, value=reading.value, unit=unit, scale=scale)


def _marks(readings: Iterable[Reading | None]) -> str:
    """Return the unit printed in `readings`; "mixed" for several, "" for none."""
    units = _units(readings)
    return "" if not units else units.pop() if len(units) == 1 else "mixed"


def _units(readings: Iterable[Reading | None]) -> set[str]:
    return {reading.unit for reading in readings if reading} & {*COINS.values(), "%"}


def _html(layout: Layout, columns: tuple[str, ...]) -> str:
    """Return the table as the filing lays it out, without empty cells and styles."""
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
    """Return a header row, with one cell over each run of columns that it heads."""
    heads = [next((cell for cell in row.cells if cell in headers), None)
             for headers in layout.headers]
    placed = {id(cell) for cell in heads if cell}
    corner = " ".join(cell.text for cell in row.cells if id(cell) not in placed)
    pieces, index = [f"<th>{html.escape(corner)}</th>"], 0
    while index < len(heads):
        end, head = index + 1, heads[index]
        while end < len(heads) and head is not None and heads[end] is head:
            end += 1
        span = f' colspan="{end - index}"' if end - index > 1 else ""
        pieces.append(f"<th{span}>{html.escape(without_marks(head.text) if head else '')}</th>")
        index = end
    return "".join(pieces)
