"""Find tables with their headings and captions, for table-aware segments (paper, 3.2)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lib.documents.blocks import Block, line_start, parse

CAPTION_WORDS = 30  # a longer paragraph above a table is a caption only if it ends with a colon
_LABELLED = re.compile(r"\W*(?:table|tab\.)\s*[A-Z]?\d", re.I)  # "Table 3", above or below
_EMPTY_LINES = re.compile(r"(?:[ \t>]*(?:\r\n?|\n))*")
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)?")


@dataclass(frozen=True)
class Table:
    """text[start:end] is a table with its headings, its caption and the empty lines after it."""

    start: int
    begin: int  # where its header row begins
    end: int
    header: str  # its header row and the line of dashes, verbatim
    rows: tuple[int, ...]  # where the line of each row begins
    rows_end: int  # where the line after the last row begins


def tables_of(text: str) -> list[Table]:
    """Return the tables of `text`, Markdown, in order; they do not overlap."""
    tables: list[Table] = []
    blocks = parse(text)
    for index, block in enumerate(blocks):
        if block.kind == "table" and (not tables or block.start >= tables[-1].end):
            tables.append(_table(text, blocks, index, tables[-1].end if tables else 0))
    return tables


def _table(text: str, blocks: Sequence[Block], index: int, floor: int) -> Table:
    begin = start = line_start(text, blocks[index].start)
    rows = tuple(line_start(text, row[0].start) for row in blocks[index].rows if row)
    rows_end = _LINE.match(text, blocks[index].end).end()

    def is_adjacent(above: Block) -> bool:
        gap = text[above.end:start].strip(" \t>#\r\n")
        return floor <= above.start < start and above.end <= start and not gap

    above = index - 1
    if above >= 0 and _is_caption(blocks[above]) and is_adjacent(blocks[above]):
        start, above = line_start(text, blocks[above].start), above - 1
    while above >= 0 and blocks[above].kind == "heading" and is_adjacent(blocks[above]):
        start, above = line_start(text, blocks[above].start), above - 1
    end = _EMPTY_LINES.match(text, rows_end).end()
    below = blocks[index + 1] if index + 1 < len(blocks) else None
    if below and below.kind == "prose" and _LABELLED.match(below.text) and not text[
            rows_end:below.start].strip(" \t>\r\n"):
        end = _EMPTY_LINES.match(text, _LINE.match(text, below.end).end()).end()
    return Table(start, begin, end, text[begin:rows[0] if rows else rows_end], rows, rows_end)


def _is_caption(block: Block) -> bool:
    is_short = len(block.text.split()) <= CAPTION_WORDS
    is_labelled = _LABELLED.match(block.text) is not None
    return block.kind == "prose" and (is_short or block.text.endswith(":") or is_labelled)
