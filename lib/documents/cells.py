"""Find the cells of pipe tables and of HTML tables in the source (paper, 3.1)."""

import re
from collections.abc import Sequence
from itertools import pairwise

from lib.documents.inline import Span, plain, trimmed

Row = tuple[Span, ...]

# quote marks and list markers before the text of a block
PREFIX = re.compile(r"(?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])\s+))*")
_PIPE = re.compile(r"(?<!\\)\|")
_TABLE_TAG = re.compile(r"<(/?)table\b[^>]*>", re.I)
_CELL_TAG = re.compile(
    r"<!--.*?-->|<(?P<close>/?)(?P<name>t[rdh]|thead|tbody|tfoot|table)\b(?P<attributes>[^>]*)>",
    re.I | re.S)
_SPANNED = re.compile(r"\b(col|row)span\s*=\s*[\"']?(\d{1,3})", re.I)
_MOST_COLUMNS = 30  # that cells can span; more is an error or an attack


def pipe_row(source: str, start: int, end: int, texts: Sequence[str],
             references: dict | None, tag_break: str = "; ") -> Row:
    """Return the cells of the line source[start:end], which contain `texts`, between its pipes.

    Missing cells, which the parser adds at the end of a row, are left out.
    """
    begin = PREFIX.match(source, start).end()
    line = source[begin:end].rstrip("\r\n")
    bounds = [-1, *(pipe.start() for pipe in _PIPE.finditer(line)), len(line)]
    if not line[:bounds[1]].strip() and len(bounds) > 2:
        bounds = bounds[1:]
    if not line[bounds[-2] + 1:].strip() and len(bounds) > 2:
        bounds = bounds[:-1]
    row = []
    for text, (left, right) in zip(texts, pairwise(bounds), strict=False):
        first, last = trimmed(source, begin + left + 1, begin + right)
        row.append(Span(plain(text, references, tag_break), first, max(first, last)))
    return tuple(row)


def html_table(source: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the bounds of the first HTML table that begins in source[start:end].

    None if there is none, or if it is not closed or contains another one: that is a layout.
    """
    opening = _TABLE_TAG.search(source, start, end)
    closing = opening and not opening[1] and _TABLE_TAG.search(source, opening.end())
    return (opening.start(), closing.end()) if closing and closing[1] else None


def html_rows(source: str, start: int, end: int) -> tuple[Row, list[Row]]:
    """Return header and body rows of the HTML table source[start:end], all of the same length.

    A cell that spans columns or rows is in each of them. Without header cells, the first row is the
    header if it looks like one; else the header's cells are empty. Raises ValueError if the table
    has fewer than two columns or no row.
    """
    grid = _Grid(source, start, end)
    n_columns = max(map(len, grid.rows), default=0)
    n_header = next((number for number, is_header in enumerate(grid.is_header) if not is_header),
                    len(grid.rows)) or int(_is_header(grid.rows))
    if n_columns < 2 or not grid.rows[n_header:]:
        raise ValueError(f"the HTML table at character {start} has no row of two cells")
    empty = Span("", start, start)
    rows = [(*row, *(empty,) * (n_columns - len(row))) for row in grid.rows]
    header = tuple(map(_merged, zip(*rows[:n_header], strict=True)))
    return header or (empty,) * n_columns, rows[n_header:]


def _is_header(rows: list[list[Span]]) -> bool:
    texts = [cell.text for cell in rows[0]] if len(rows) > 2 else []
    return len(texts) >= 3 and len(set(texts)) == len(texts) and all(
        re.fullmatch(r"[^\d.:;,]+", text) and len(text.split()) <= 6 for text in texts)


# The cells of a header of several rows as one: "Pressure max"
def _merged(cells: Sequence[Span]) -> Span:
    texts = list(dict.fromkeys(cell.text.replace("; ", " ") for cell in cells if cell.text))
    return Span(" ".join(texts), cells[-1].start, cells[-1].end)


# `is_header` says which rows are headers
class _Grid:
    def __init__(self, source: str, start: int, end: int) -> None:
        self.rows: list[list[Span]] = []
        self.is_header: list[bool] = []
        self._below: dict[int, tuple[Span, int]] = {}  # column -> a cell that fills rows below
        opened, in_head = None, False  # where the open cell begins and what it spans
        for tag in _CELL_TAG.finditer(source, start, end):
            if not tag["name"]:
                continue  # a comment
            if opened:
                self._add(source, opened[0], tag.start(), opened[1])
                opened = None
            name = tag["name"].lower()
            if name in ("thead", "tbody", "tfoot"):
                in_head = name == "thead" and not tag["close"]
            elif name == "tr" and not tag["close"] or not self.rows:
                self._new_row()
            if name in ("td", "th") and not tag["close"]:
                self.is_header[-1] &= name == "th" or in_head
                opened = tag.end(), {key.lower(): int(value) for key, value in
                                     _SPANNED.findall(tag["attributes"])}

    def _new_row(self) -> None:
        if self.rows and not self.rows[-1]:
            self.rows.pop()
            self.is_header.pop()
        self.rows.append([])
        self.is_header.append(True)
        self._fill()

    def _fill(self) -> None:
        row = self.rows[-1]
        while len(row) in self._below:
            cell, n_more = self._below.pop(len(row))
            if n_more > 1:
                self._below[len(row)] = cell, n_more - 1
            row.append(cell)

    def _add(self, source: str, begin: int, end: int, spanned: dict[str, int]) -> None:
        begin, end = trimmed(source, begin, end)
        end = max(begin, end)
        row, cell = self.rows[-1], Span(plain(source[begin:end]), begin, end)
        for _ in range(max(1, min(spanned.get("col", 1), _MOST_COLUMNS - len(row)))):
            if spanned.get("row", 1) > 1:
                self._below[len(row)] = cell, spanned["row"] - 1
            row.append(cell)
        self._fill()
