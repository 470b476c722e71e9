"""A passage as text for a prompt, its tables in one of several forms: which form a model reads best is a result."""

import csv
import html
import io
import json
from collections.abc import Callable, Mapping

from lib.tablequest.grids.grid import as_markdown
from lib.tablequest.questions.amounts import amount, decimals_of
from lib.tablequest.records import Cell, Grid, Passage

_CLEARER = str.maketrans({"\n": " ", "\r": " ", "\t": " "})


def serialized(passage: Passage, grids: Mapping[str, Grid], form: str) -> str:
    """The passage's blocks in order with a blank line between two, each table in `form`, one of FORMS.

    "html" is the table as the filing lays it out, with groups of rows and nested headers; every other form is written
    from the grid, whose labels are whole ("html-grid" too, so that form and labels can be told apart). Before a table
    stand its caption and unit note where no other text says them, after it its footnotes.
    Raises ValueError for another form, KeyError for a grid that is not in `grids`.
    """
    if form not in FORMS:
        raise ValueError(f"serialization {form!r} is unknown: choose from {', '.join(FORMS)}")
    said = "\n".join(block.text for block in passage.blocks if block.kind != "table")
    parts = []
    for block in passage.blocks:
        if block.kind != "table":
            parts.append(f"{'# ' if block.kind == 'heading' else ''}{block.text}")
            continue
        grid = grids[block.grid_id]
        table = FORMS[form](grid)
        parts += [text for text in (grid.caption, grid.unit_note) if text and text not in said + table]
        parts += [table, *(note for note in grid.footnotes if note not in said + table)]
    return "\n\n".join(part for part in parts if part.strip())


def printed(cell: Cell) -> str:
    """A value with its sign, scale and unit as one would say it: "$294,866 million", "-2.8%"; "—" stays as it is."""
    if cell.value is None or not any(letter.isdigit() for letter in cell.text):
        return cell.text.strip()
    return amount(cell.value, cell.unit, cell.scale, decimals_of(cell))


def as_csv(grid: Grid) -> str:
    """RFC 4180 with a header line, without the last line's end."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([[grid.corner, *grid.columns], *_rows(grid)])
    return file.getvalue().rstrip("\n")


def as_json(grid: Grid) -> str:
    """A list of objects, one a row, keyed by the columns; header and rows as lists where two keys would be the same."""
    keys = [grid.corner or "row", *grid.columns]
    rows = _rows(grid)
    if len(set(keys)) == len(keys):
        lines = [json.dumps(dict(zip(keys, row, strict=True)), ensure_ascii=False) for row in rows]
        return "[" + ",\n ".join(lines) + "]"
    return json.dumps({"columns": keys, "rows": rows}, ensure_ascii=False)


def as_prose(grid: Grid) -> str:
    """One sentence a row: "Net sales: Products: 2024 is $294,866 million; 2023 is $298,085 million."."""
    lines = []
    for label, cells in zip(grid.rows, grid.cells, strict=True):
        values = "; ".join(f"{column} is {printed(cell)}" for column, cell in zip(grid.columns, cells, strict=True)
                           if cell.text.strip())
        lines.append(f"{label}: {values or 'no value'}.".translate(_CLEARER))
    return "\n".join(lines)


def as_html(grid: Grid) -> str:
    """A table element written from the grid; labels and values escaped."""
    def row(cells: list[str], tag: str) -> str:
        first, *others = (html.escape(cell) for cell in cells)
        return f"<tr><th>{first}</th>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in others) + "</tr>"
    return "\n".join(["<table>", row([grid.corner, *grid.columns], "th"), *(row(cells, "td") for cells in _rows(grid)),
                      "</table>"])


def _rows(grid: Grid) -> list[list[str]]:
    return [[label, *(cell.text for cell in cells)] for label, cells in zip(grid.rows, grid.cells, strict=True)]


FORMS: dict[str, Callable[[Grid], str]] = {
    "html": lambda grid: grid.html, "markdown": as_markdown, "csv": as_csv, "json": as_json, "prose": as_prose,
    "html-grid": as_html}
