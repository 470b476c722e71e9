"""Cut a document into the units that a rewrite must contain: sentences, items, cells (3.2)."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from lib.core.records import Document, Segment
from lib.documents.blocks import Block, parse, sentences
from lib.documents.inline import untagged
from lib.normalize.compare import Required
from lib.normalize.rewrite import SHORT_WORDS
from lib.normalize.words import sentences_of

_NEAR = 200  # characters on each side of a segment, which may complete a sentence that is cut
_TITLE = re.compile(r'"(\S+(?: \S+){3,})"')  # of a box, as long as a sentence


@dataclass(frozen=True)
class Unit:
    """A sentence, an item's sentence, a cell after its row's label and its header, a code line."""

    start: int  # document.text[start:end] contains it
    end: int
    text: str
    headings: tuple[str, ...] = ()
    above: tuple[str, ...] = ()  # the sentence before its list, and the items that it is part of
    is_required: bool = True  # not for titles of tabs and code
    label: str = ""  # of a cell: the first cell of its row
    header: str = ""  # of a cell; it may be left out
    since: int = -1  # of a cell: where its row starts, which may be in the segment before


class Source:
    """A document as an audit reads it, parsed once; it takes time linear in the document."""

    def __init__(self, document: Document) -> None:
        self.title, self._text = document.title, document.text
        text, blocks = document.text, parse(document.text)
        self.items = sorted((span.start, span.text) for block in blocks for span in (
            *block.items, *(cell for row in block.rows for cell in row))
            if re.search(r"\w", span.text) and len(span.text.split()) <= SHORT_WORDS)
        self.units = sorted([*_units(text, blocks), *_gaps(text, blocks)],
                            key=lambda unit: unit.start)
        self._starts = [unit.start for unit in self.units]

    def items_of(self, segment: Segment) -> list[str]:
        """Return the short items and cells of a segment. Headers ("Value") carry no facts."""
        first = bisect_left(self.items, (segment.start, ""))
        last = bisect_left(self.items, (segment.end, ""))
        return [text for _, text in self.items[first:last]]

    def required(self, segment: Segment) -> Required:
        """Return what a segment's rewrite must say and what it may say."""
        first = bisect_left(self._starts, segment.start)
        last = bisect_left(self._starts, segment.end)
        inside = self.units[first:last]
        own = [(unit.label, _clipped(unit, segment.end)) for unit in inside
               if unit.is_required and (unit.since < 0 or unit.since >= segment.start)]
        before = [unit for unit in self.units[max(0, first - 1):first] if unit.end > segment.start]
        beyond = takewhile(lambda unit: 0 <= unit.since < segment.end, self.units[last:last + 99])
        whole = [*before, *inside, *beyond]
        above = dict.fromkeys(text for unit in whole for text in unit.above if text)
        near = [*self.units[max(0, first - 1):first], *whole]
        path = dict.fromkeys(name for unit in near for name in unit.headings)
        return Required(
            [f"{label} {text}".strip() for label, text in own], [text for _, text in own],
            [f"{unit.label} {unit.header} {unit.text}" for unit in whole],
            [self.title, *path], list(above),
            self._text[max(0, segment.start - _NEAR):segment.end + _NEAR])


def _clipped(unit: Unit, end: int) -> str:
    """Return the part of a unit before `end`, by its share of characters."""
    words = unit.text.split(" ")
    share = min(1.0, (end - unit.start) / max(unit.end - unit.start, 1))
    return " ".join(words[:int(share * len(words))]) if share < 1 else unit.text


def _units(source: str, blocks: Sequence[Block]) -> Iterator[Unit]:
    lead: tuple[str, ...] = ()
    for block in blocks:
        if block.kind == "prose":
            spans = sentences(source, block.start, block.end)
            yield from (Unit(span.start, span.end, span.text, block.headings) for span in spans)
            lead = tuple(span.text for span in spans[-4:])
        elif block.kind == "list":
            yield from _items(block, lead)
        elif block.kind == "table":
            yield from _cells(block)
        elif block.kind == "heading":
            lead = ()
        else:
            yield from _lines(source, block)


def _items(block: Block, lead: tuple[str, ...]) -> Iterator[Unit]:
    """Yield the sentences of items, the first one after the number of a step."""
    above: list[tuple[str, ...]] = []  # what contains each item, and the item
    for item in block.items:
        around = above[item.parent] if item.parent >= 0 else lead
        above.append((*around, item.text))
        number = "" if item.number is None else f"{item.number} "
        for span, text in ((item, f"{number}{item.text}"),
                           *((span, span.text) for span in item.after)):
            yield from (Unit(span.start, span.end, part, block.headings, around)
                        for part in sentences_of(text))


def _cells(block: Block) -> Iterator[Unit]:
    """Yield each cell after the label of its row and its own header, long ones by sentences."""
    for row in block.rows:
        for column, cell in enumerate(row):
            header = block.header[column].text if column < len(block.header) else ""
            label = row[0].text if column else ""
            for number, part in enumerate(sentences_of(cell.text)):
                yield Unit(cell.start, cell.end, part, block.headings, since=row[0].start,
                           label="" if number else label, header=header)


def _lines(source: str, block: Block) -> Iterator[Unit]:
    """Yield the lines of code, of front matter, and what HTML shows."""
    text, place = source[block.start:block.end], block.start
    if block.kind == "html":
        text = untagged(text)
    for line in text.splitlines(keepends=True):
        is_fence = line.lstrip(" \t>").startswith(("```", "~~~"))
        for part in sentences_of(line):
            yield Unit(place, place + len(line), part, block.headings, is_required=not is_fence)
        place += len(line)


def _gaps(source: str, blocks: Sequence[Block]) -> Iterator[Unit]:
    """Yield what is outside all blocks: titles of boxes and tabs, link definitions."""
    begin = 0
    for start, end in [*((block.start, block.end) for block in blocks), (len(source),) * 2]:
        if begin < start:
            for match in re.finditer(r"[^\n]*\w[^\n]*", source[begin:start]):
                title = _TITLE.search(match[0])
                yield Unit(begin + match.start(), begin + match.end(),
                           title[1] if title else match[0], is_required=title is not None)
        begin = max(begin, end)
