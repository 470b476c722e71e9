"""Write a passage as text for a prompt, with its tables in one of several forms.

The study measures which form a model reads best.
"""

import csv
import html
import io
import json
from collections.abc import Callable, Mapping

from lib.tablequest.grids.grid import as_markdown
from lib.tablequest.questions.wording import amount, decimals_of
from lib.tablequest.records import Cell, Grid, Passage

_CLEARER = str.maketrans({"\n": " ", "\r": " ", "\t": " "})


def serialized(passage: Passage, grids: Mapping[str, Grid], form: str) -> str:
    """Return the passage's blocks in order, separated by blank lines, each table in `form`.

    "html" is the table as the filing lays it out, with groups of rows and nested headers. Every
    other form is written from the grid, whose labels are complete; so is "html-grid", to separate
    the effects of form and labels. Caption and unit note precede a table and footnotes follow it,
    unless other text contains them. Raises ValueError for a form that is not in FORMS, KeyError
    for a grid that is not in `grids`.
    """
    if form not in FORMS:
        raise ValueError(f"serialization {form!r} is unknown: choose from {', '.join(FORMS)}")
    prose = "\n".join(block.text for block in passage.blocks if block.kind != "table")
    parts = []
    for block in passage.blocks:
        if block.kind != "table":
            parts.append(f"{'# ' if block.kind == 'heading' else ''}{block.text}")
            continue
        grid = grids[block.grid_id]
        table = FORMS[form](grid)
        known = prose + table
        parts += [text for text in (grid.caption, grid.unit_note) if text not in known]
        parts += [table, *(note for note in grid.footnotes if note not in known)]
    return "\n\n".join(part for part in parts if part.strip())


def printed(cell: Cell) -> str:
    """Return a value with sign, scale and unit ("$294,866 million", "-2.8%"); "—" is unchanged."""
    if cell.value is None or not any(letter.isdigit() for letter in cell.text):
        return cell.text.strip()
    return amount(cell.value, cell.unit, cell.scale, decimals_of(cell))


def as_csv(grid: Grid) -> str:
    """Return CSV (RFC 4180) with a header line and without a final line break."""
    file = io.StringIO()
    lines = [[grid.corner, *grid.columns], *_rows(grid)]
    csv.writer(file, lineterminator="\n").writerows(lines)
    return file.getvalue().rstrip("\n")


def as_json(grid: Grid) -> str:
    """Return one object per row, keyed by the columns; if two keys are equal, return lists."""
    keys = [grid.corner or "row", *grid.columns]
    rows = _rows(grid)
    if len(set(keys)) < len(keys):
        return json.dumps({"columns": keys, "rows": rows}, ensure_ascii=False)
    lines = [json.dumps(dict(zip(keys, row, strict=True)), ensure_ascii=False) for row in rows]
    return "[" + ",\n ".join(lines) + "]"


def as_prose(grid: Grid) -> str:
    """Return a sentence per row, as in "Net sales: 2024 is $294 million; 2023 is $298 million."."""
    lines = []
    for label, cells in zip(grid.rows, grid.cells, strict=True):
        values = "; ".join(f"{column} is {printed(cell)}" for column, cell in zip(
            grid.columns, cells, strict=True) if cell.text.strip())
        lines.append(f"{label}: {values or 'no value'}.".translate(_CLEARER))
    return "\n".join(lines)


def as_html(grid: Grid) -> str:
    """Return a table element written from the grid; labels and values are escaped."""
    def row(cells: list[str], tag: str) -> str:
        first, *others = (html.escape(cell) for cell in cells)
        values = "".join(f"<{tag}>{cell}</{tag}>" for cell in others)
        return f"<tr><th>{first}</th>{values}</tr>"

    header = row([grid.corner, *grid.columns], "th")
    body = (row(cells, "td") for cells in _rows(grid))
    return "\n".join(["<table>", header, *body, "</table>"])


def _rows(grid: Grid) -> list[list[str]]:
    return [[label, *(cell.text for cell in cells)]
            for label, cells in zip(grid.rows, grid.cells, strict=True)]


FORMS: dict[str, Callable[[Grid], str]] = {
    "html": lambda grid: grid.html, "markdown": as_markdown, "csv": as_csv, "json": as_json,
    "prose": as_prose, "html-grid": as_html}
