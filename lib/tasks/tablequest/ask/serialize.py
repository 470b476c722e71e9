"""Write a passage as text for a prompt, with its tables in one of several forms.

The study measures which form a model reads best, so all forms hold the same labels, columns and
cell texts, each of which can be read back.
"""

import csv
import html
import io
import json
import re
from collections.abc import Callable, Mapping

from lib.tasks.tablequest.grids.grid import as_markdown
from lib.tasks.tablequest.questions.wording import UNIT_NOTE, amount, decimals_of
from lib.tasks.tablequest.records import Cell, Grid, Passage

_SEPARATOR = ": "  # between a row's label and those of its groups
# What a text may not hold to be written by `as_prose` and `as_list` without quotation marks
_NEEDS_QUOTES = re.compile(r'"|;|:(?: |$)| is |^$|^empty$')


def serialized(passage: Passage, grids: Mapping[str, Grid], form: str) -> str:
    """Return the passage's blocks in order, separated by blank lines, each table in `form`.

    "html" merges the cells of groups of rows and nested headers, as filings do. In every other
    form each label is complete; so is it in "html-grid", to separate the effects of form and
    labels. Caption and unit note precede a table and footnotes follow it, unless other text
    contains them. Raises ValueError for a form that is not in FORMS, KeyError for a grid that is
    not in `grids`.
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
    csv.writer(file, lineterminator="\n").writerows(_lines(grid))
    return file.getvalue().removesuffix("\n")


def as_json(grid: Grid) -> str:
    """Return one object per row, keyed by the columns; if two keys are equal, return lists."""
    (corner, *columns), *rows = _lines(grid)
    keys = [corner or "row", *columns]
    if len(set(keys)) < len(keys):
        return json.dumps({"columns": keys, "rows": rows}, ensure_ascii=False)
    lines = [json.dumps(dict(zip(keys, row, strict=True)), ensure_ascii=False) for row in rows]
    return "[" + ",\n ".join(lines) + "]"


def as_prose(grid: Grid) -> str:
    """Return a sentence per row, as in "Net sales: Pumps: 2024 is $294; 2023 is empty.".

    The first line names the corner, if there is one. A text that would be read otherwise is quoted
    as in JSON: a column that holds a colon, or a value that is the word "empty".
    """
    (corner, *columns), *rows = _lines(grid)
    lines = [corner + ":"] if corner else []
    for label, *values in rows:
        told = "; ".join(f"{_quoted(column)} is {_quoted(value) if value else 'empty'}"
                         for column, value in zip(columns, values, strict=True))
        is_plain = not re.search(r'"|;| is |^$', label)
        lines.append(f"{label if is_plain else json.dumps(label, ensure_ascii=False)}: {told}.")
    return "\n".join(lines)


def as_list(grid: Grid) -> str:
    """Return a Markdown list: a row's label is an item, below it are its "column: value" items.

    The first line names the corner, if there is one. What would be read otherwise is quoted as in
    JSON: a column that holds a colon, or a value that is the word "empty".
    """
    (corner, *columns), *rows = _lines(grid)
    lines = [corner + ":"] if corner else []
    for label, *values in rows:
        told = (f"  - {_quoted(column)}: {_quoted(value) if value else 'empty'}"
                for column, value in zip(columns, values, strict=True))
        lines += [f"- {label}", *told]
    return "\n".join(lines)


def as_html(grid: Grid) -> str:
    """Return a table element with one header row and complete labels."""
    (_, *columns), *rows = _lines(grid)
    return _table(grid, [[(column, 1) for column in columns]], [[label] for label, *_ in rows])


def as_merged_html(grid: Grid) -> str:
    """Return a table whose groups of rows and nested headers are merged cells, as in a filing.

    A group's label spans its rows, to the left of their own labels. The header rows are those of
    the filing if, joined, they give the grid's columns; otherwise there is one.
    """
    (_, *columns), *rows = _lines(grid)
    headers = _header_rows(grid) or [[(column, 1) for column in columns]]
    return _table(grid, headers, [label.split(_SEPARATOR) for label, *_ in rows])


def _table(grid: Grid, headers: list[list[tuple[str, int]]], paths: list[list[str]]) -> str:
    """Write the table with header rows of (text, columns spanned) and labels as `paths`."""
    (corner, *_), *rows = _lines(grid)
    depth = max(map(len, paths), default=1)
    lines = []
    for number, header in enumerate(headers):
        first = [_merged("th", corner, depth, len(headers))] if number == 0 else []
        lines.append("".join([*first, *(_merged("th", text, span) for text, span in header)]))
    for number, (path, (_, *values)) in enumerate(zip(paths, rows, strict=True)):
        heads = []
        for level, text in enumerate(path[:-1]):
            above = path[:level + 1]
            if number and _is_below(paths[number - 1], above):
                continue  # the cell that began further up spans this row
            n_rows = next((count for count, other in enumerate(paths[number:])
                           if not _is_below(other, above)), len(paths) - number)
            heads.append(_merged("th", text, 1, n_rows))
        heads.append(_merged("th", path[-1], depth - len(path) + 1))
        lines.append("".join([*heads, *(_merged("td", value) for value in values)]))
    return "\n".join(["<table>", *(f"<tr>{line}</tr>" for line in lines), "</table>"])


def _is_below(path: list[str], group: list[str]) -> bool:
    return len(path) > len(group) and path[:len(group)] == group


def _merged(tag: str, text: str, n_columns: int = 1, n_rows: int = 1) -> str:
    spans = f' colspan="{n_columns}"' if n_columns > 1 else ""
    spans += f' rowspan="{n_rows}"' if n_rows > 1 else ""
    return f"<{tag}{spans}>{html.escape(text)}</{tag}>"


def _header_rows(grid: Grid) -> list[list[tuple[str, int]]]:
    """Return the filing's header rows as (text, columns spanned); [] if they do not give `columns`.

    `grid.html` has them above its first row with a value, each after a cell for the corner.
    """
    found: list[list[tuple[str, int]]] = []
    for line in re.findall(r"<tr>(.*?)</tr>", grid.html, re.S):
        cells = [(_flat(html.unescape(text)), int(span or 1)) for span, text in re.findall(
            r'<th(?: colspan="(\d+)")?>(.*?)</th>', line, re.S)]
        if "<td" in line or sum(span for _, span in cells) != len(grid.columns) + 1:
            break
        if cells[0][1] > 1:  # the label of a group of rows
            break
        found.append(cells[1:])
    # A grid's columns do not repeat the note on units.
    short = [[(_flat(UNIT_NOTE.sub(" ", text)), span) for text, span in row] for row in found]
    wanted = [_flat(column) for column in grid.columns]
    return next((rows for rows in (found, short) if _joined(rows, len(wanted)) == wanted), [])


def _joined(rows: list[list[tuple[str, int]]], n_columns: int) -> list[str]:
    """Return the labels of columns below header rows, each text of a column once."""
    above: list[list[str]] = [[] for _ in range(n_columns)]
    for header in rows:
        texts = (text for text, span in header for _ in range(span))
        for known, text in zip(above, texts, strict=True):
            if text and text not in known:
                known.append(text)
    return [" ".join(known) for known in above]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False) if _NEEDS_QUOTES.search(text) else text


def _flat(text: str) -> str:
    return " ".join(text.split())


def _lines(grid: Grid) -> list[list[str]]:
    """Return the header and the rows as texts without line breaks, the same for all forms."""
    rows = ([label, *(cell.text for cell in cells)]
            for label, cells in zip(grid.rows, grid.cells, strict=True))
    return [[_flat(text) for text in row] for row in ([grid.corner, *grid.columns], *rows)]


FORMS: dict[str, Callable[[Grid], str]] = {
    "html": as_merged_html, "markdown": as_markdown, "csv": as_csv, "json": as_json,
    "prose": as_prose, "list": as_list, "html-grid": as_html}
