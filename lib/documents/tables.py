"""The tables of a document with the heading and caption that belong to them, for table-aware segments (paper, 3.2)."""

import re
from dataclasses import dataclass

from lib.documents.blocks import Block, parse

CAPTION_WORDS = 30  # a paragraph right above a table is its caption up to this length, or where it ends with a colon
_LABELLED = re.compile(r"\W*(?:table|tab\.)\s*[A-Z]?\d", re.I)  # "Table 3", above or below
_BLANK_LINES = re.compile(r"(?:[ \t>]*(?:\r\n?|\n))*")


@dataclass(frozen=True)
class Table:
    """text[start:end] is a table with its headings and caption, and the blank lines behind it."""

    start: int
    begin: int  # where its header row begins
    end: int
    header: str  # its header row and the line of dashes, as they stand
    rows: tuple[int, ...]  # where the line of each row begins
    rows_end: int  # where the line after the last row begins


def tables_of(text: str) -> list[Table]:
    """The tables of `text`, Markdown, in order; none overlaps another."""
    blocks = parse(text)
    tables: list[Table] = []
    for index, block in enumerate(blocks):
        if block.kind == "table":
            floor = tables[-1].end if tables else 0
            tables.append(_table(text, blocks, index, floor))
    return tables


def _table(text: str, blocks: list[Block], index: int, floor: int) -> Table:
    block = blocks[index]
    begin = _line_start(text, block.start)
    rows = tuple(_line_start(text, row[0].start) for row in block.rows if row)
    rows_end = _after_line(text, block.end)
    start, above = begin, index - 1
    if above >= 0 and _is_caption(blocks[above]) and _is_next(text, blocks[above], start, floor):
        start, above = _line_start(text, blocks[above].start), above - 1
    while above >= 0 and blocks[above].kind == "heading" and _is_next(text, blocks[above], start, floor):
        start, above = _line_start(text, blocks[above].start), above - 1
    end = _BLANK_LINES.match(text, rows_end).end()
    below = blocks[index + 1] if index + 1 < len(blocks) else None
    gap = text[rows_end:below.start].strip(" \t>\r\n") if below else "x"
    if not gap and below.kind == "prose" and _LABELLED.match(below.text):
        end = _BLANK_LINES.match(text, _after_line(text, below.end)).end()
    return Table(start, begin, end, text[begin:rows[0]] if rows else text[begin:rows_end], rows, rows_end)


def _is_caption(block: Block) -> bool:
    short = len(block.text.split()) <= CAPTION_WORDS
    return block.kind == "prose" and (short or block.text.endswith(":") or _LABELLED.match(block.text) is not None)


def _is_next(text: str, block: Block, start: int, floor: int) -> bool:
    """Whether nothing but blanks stands between `block` and `start`, and it belongs to no table before."""
    return floor <= block.start < start and block.end <= start and not text[block.end:start].strip(" \t>#\r\n")


def _line_start(text: str, place: int) -> int:
    return max(text.rfind("\n", 0, place), text.rfind("\r", 0, place)) + 1


def _after_line(text: str, place: int) -> int:
    found = re.compile(r"\r\n?|\n").search(text, place)
    return found.end() if found else len(text)
