"""Read a table as a grid: complete labels, values with sign, unit and scale, and cleaned HTML."""

import html
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from lib.core.errors import BadInput
from lib.tasks.tablequest.grids.cells import PlacedCell, PlacedRow
from lib.tasks.tablequest.grids.labels import (
    FOOTNOTE,
    column_label,
    row_labels,
    with_periods,
    without_marks,
)
from lib.tasks.tablequest.grids.layout import BodyRow, Layout, lay_out
from lib.tasks.tablequest.grids.meanings import Meaning, column_meanings, row_meaning
from lib.tasks.tablequest.grids.notes import is_only_note, read_note, unit_note_in
from lib.tasks.tablequest.grids.panels import one_panel
from lib.tasks.tablequest.grids.units import MONEY, Table, table_of, unit_and_scale
from lib.tasks.tablequest.grids.values import Reading, with_point
from lib.tasks.tablequest.records import Cell, Grid


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


def read_grid(rows: list[PlacedRow], around: Surroundings) -> ReadGrid:
    """Return the grid of a table's rows.

    Raises BadInput, which begins with the kind, for a table without labelled numbers.
    """
    layout = one_panel(lay_out(_with_point(rows)))
    texts = [index for index, column in enumerate(layout.columns) if column.is_text]
    labelled = list(zip(row_labels(list(layout.rows), texts), layout.rows,
                        _local_notes(layout.rows), strict=True))
    named = [one for one in labelled if one[0]]
    if not named:
        raise BadInput("no row labels: no row of numbers has a label")
    corner_note = next(filter(None, (unit_note_in(text, anywhere=True)
                                     for text in (*layout.titles, *layout.corner))), "")
    columns, meanings, header_note = _columns(layout, around, corner_note)
    unit_note = (corner_note or header_note or around.unit_note or unit_note_in(around.caption))
    cells = _cells(named, meanings, unit_note,
                   [around.caption, *layout.titles, *layout.corner])
    labels = tuple(label for label, *_ in named)
    inside = [" ".join(cell.text for cell in row.label) for row in layout.rows
              if row.label and not row.has_values]
    grid = Grid(
        grid_id=f"{around.filing_id}-t{around.number:02d}", filing_id=around.filing_id,
        section=around.section, caption=" ".join([around.caption, *layout.titles]).strip(),
        unit_note=unit_note, corner=" ".join(layout.corner), columns=columns, rows=labels,
        cells=cells, html=_html(layout, columns),
        footnotes=tuple(text for text in inside if FOOTNOTE.match(text)) + around.footnotes)
    left_out = tuple(" | ".join(cell.text for cell in row.cells if cell)
                     for label, row, _ in labelled if not label and row.has_values)
    return ReadGrid(grid, tuple(row.cells for _, row, _ in named), left_out)


def as_markdown(grid: Grid) -> str:
    """Return a Markdown table with complete labels and the values as printed."""
    body = [(label, *(cell.text for cell in cells))
            for label, cells in zip(grid.rows, grid.cells, strict=True)]
    rows = [(grid.corner, *grid.columns), ("---",) * (len(grid.columns) + 1), *body]
    escaped = ([" ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|") for text in row]
               for row in rows)
    return "\n".join(f"| {' | '.join(row)} |" for row in escaped)


def _with_point(rows: list[PlacedRow]) -> list[PlacedRow]:
    points = with_point(cell.text for row in rows for cell in row.cells)
    if not points:
        return rows
    return [PlacedRow(tuple(replace(cell, text=points.get(cell.text, cell.text), printed=cell.text)
                            for cell in row.cells)) for row in rows]


def _columns(layout: Layout, around: Surroundings,
             corner_note: str) -> tuple[tuple[str, ...], list[Meaning], str]:
    headers = layout.headers
    notes = [next((cell.text for cell in above if is_only_note(cell.text)), "")
             for above, column in zip(headers, layout.columns, strict=True) if not column.is_text]
    found = {note for note in notes if note}
    shared = found.pop() if len(found) == 1 and notes.count("") * 2 < len(notes) else ""
    shared = "" if corner_note not in ("", shared) else shared
    if shared and all(len(above) > 1 or above[0].text != shared for above in headers if above):
        headers = tuple(tuple(cell for cell in above if cell.text != shared) for above in headers)
    labels = [column_label(above) for above in headers]
    if not shared:
        found = {unit_note_in(label) for label, column in zip(labels, layout.columns, strict=True)
                 if not column.is_text}
        shared = found.pop() if len(found) == 1 < len(notes) and not corner_note else ""
        if shared and all(label.replace(shared, "").strip() for label in labels if label):
            labels = [" ".join(label.replace(shared, " ").split()) for label in labels]
    labels = with_periods(labels)
    if not any(labels) and len(labels) == len(around.columns):
        none = [()] * len(labels)
        return around.columns, column_meanings(none, list(around.columns)), shared
    nameless = [label for label, column in zip(labels, layout.columns, strict=True)
                if not label and not column.is_text]
    if nameless and len(labels) > 1:
        raise BadInput(f"no column labels: {len(nameless)} of {len(labels)} columns have no header")
    texts = [tuple(cell.text for cell in above if cell.text != shared) for above in headers]
    return tuple(labels), column_meanings(texts, labels), shared


def _local_notes(rows: Iterable[BodyRow]) -> Iterator[str]:
    note = ""
    for row in rows:
        if not any(cell and cell.reading for cell in row.cells):
            texts = {cell.text for cell in (*row.label, *row.cells) if cell}
            note = texts.pop() if len(texts) == 1 and is_only_note(min(texts)) else note
        yield note


def _cells(named: list[tuple[str, BodyRow, str]], columns: list[Meaning], unit_note: str,
           introduction: list[str]) -> tuple[tuple[Cell, ...], ...]:
    readings = [[cell.reading if cell else None for cell in row.cells] for _, row, _ in named]
    rows = [row_meaning(label) for label, *_ in named]
    in_columns = [_column_mark([line[index] for row, line in zip(rows, readings, strict=True)
                                if line[index] and not row.per])
                  for index in range(len(columns))]
    coins = Counter(reading.unit for line in readings for reading in line
                    if reading and reading.unit in MONEY)
    coin = coins.most_common(1)[0][0] if coins else ""
    tables: dict[str, Table] = {}
    done = []
    for (label, row, note), meaning, line in zip(named, rows, readings, strict=True):
        if note not in tables:
            tables[note] = table_of(read_note(note or unit_note), coin, introduction, columns)
        in_row = _marks(line)
        cells = []
        for cell, reading, column, mark in zip(row.cells, line, columns, in_columns, strict=True):
            value, unit, scale = None, "", 1.0
            if reading:
                value = reading.value
                unit, scale = unit_and_scale(reading, cell.text, (label, meaning), column,
                                             (mark, in_row), tables[note])
            text = (cell.printed or cell.text) if cell else ""
            cells.append(Cell(text=text, value=value, unit=unit, scale=scale))
        done.append(tuple(cells))
    return tuple(done)


def _marks(readings: Iterable[Reading | None]) -> str:
    units = {reading.unit for reading in readings if reading} & {*MONEY, "%"}
    return "" if not units else units.pop() if len(units) == 1 else "mixed"


def _column_mark(readings: list[Reading]) -> str:
    mark = _marks(readings)
    is_mixed = mark == "%" and any(not one.unit and abs(one.value or 0) >= 1000 for one in readings)
    return "mixed" if is_mixed else mark


def _html(layout: Layout, columns: tuple[str, ...]) -> str:
    lines = [_header_line(row, layout) for row in layout.header_rows if row.cells]
    if not any(layout.headers) and any(columns):
        lines = ["<th></th>" + "".join(f"<th>{html.escape(column)}</th>" for column in columns)]
    for row in layout.rows:
        label = html.escape(" ".join(cell.text for cell in row.label))
        if row.has_values:
            values = (html.escape(cell.printed or cell.text) if cell else "" for cell in row.cells)
            lines.append(f"<th>{label}</th>" + "".join(f"<td>{value}</td>" for value in values))
        elif label:
            lines.append(f'<th colspan="{len(columns) + 1}">{label}</th>')
    return "<table>\n" + "\n".join(f"<tr>{line}</tr>" for line in lines) + "\n</table>"


def _header_line(row: PlacedRow, layout: Layout) -> str:
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
