"""Divide a document into parts (sentences, items, rows), which segments keep intact (3.2)."""

import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from markdown_it import MarkdownIt

from lib.core.records import Document
from lib.documents.blocks import Block, Item, parse, sentences
from lib.documents.inline import ended, readable, unquoted
from lib.documents.subject import Subject, subjects

_DEFINITION = re.compile(
    r"^[ >]{0,8}\[([^\]\n]+)\]:[ \t]*<?(\S+?)>?(?:[ \t]+(.+))?$", re.M)
_MARKER = re.compile(
    r"^(?:[ \t>]*(?:[-*+]|\d{1,9}[.)]|#{1,6})(?:[ \t]+|$))*(?:\[[ xX]\][ \t]+)?")
_NUMBER = re.compile(r"(\d{1,9})[.)]\s+(?:\[[ xX]\]\s+)?\Z")
_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(?:`{3,}|~{3,})")
_CODE_LINE = re.compile(r"[^\n]*\S[^\n]*(?:\n[ \t>]*(?=\n))*")  # with the empty lines after it


@dataclass(frozen=True)
class Part:
    """A sentence, item, row, code line or heading; it belongs to the segment where it starts."""

    kind: str  # sentence, lead-in, item, row, code, heading
    start: int  # characters of the document
    end: int
    text: str  # its words; a code line verbatim
    group: int  # parts of one group are written together; a lead-in is in the group of its list
    headings: tuple[str, ...]  # the headings above it, outermost first
    subject: Subject
    lead: str = ""  # of an item: the words that introduce its list
    is_first: bool = False  # of its list, table or code
    is_last: bool = False
    depth: int = 0  # of an item
    parents: tuple[str, ...] = ()  # of an item: the items that contain it, outermost first
    header: tuple[str, ...] = ()  # of a row
    cells: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Source:
    """One block of a document with the context needed to read it."""

    block: Block
    blank: Part  # with the fields that all parts of the block share
    text: str  # of the document
    inner: list[Block]  # tables and code inside the block, a list
    references: dict  # the document's link definitions

    def words(self, start: int, end: int) -> str:
        return readable(unquoted(self.text[start:end]), self.references)


def parts_of(document: Document) -> list[Part]:
    """Return all parts of a document in order of start; each word is in exactly one.

    A heading is a part only if there is no text below it; otherwise it is in `headings` of the
    parts below.
    """
    text, blocks = document.text, parse(document.text)
    references: dict = {}
    if _DEFINITION.search(text):
        MarkdownIt("commonmark").enable("table").parse(text, references)
    parts: list[Part] = []
    for number, (block, subject) in enumerate(
            zip(blocks, subjects(document, blocks), strict=True)):
        blank = Part("sentence", block.start, block.end, "", number, block.headings, subject)
        inner = list(takewhile(lambda other, end=block.end: other.start < end,
                               blocks[number + 1:]))
        parts += _READERS[block.kind](_Source(block, blank, text, inner, references))
    parts = list(_with_lead_ins(sorted(parts, key=lambda part: part.start)))
    parts += list(_left_over(document, blocks, parts, references))
    return _without_named_headings(sorted(parts, key=lambda part: part.start))


def _without_named_headings(parts: list[Part]) -> list[Part]:
    """Drop the headings that the parts below them name."""
    kept: list[Part] = []
    below: tuple[str, ...] = ()
    for part in reversed(parts):
        if part.kind != "heading":
            below = part.headings
            kept.append(part)
        elif below[:len(part.headings) + 1] != (*part.headings, part.text):
            kept.append(part)
    return kept[::-1]


def _prose(source: _Source) -> Iterator[Part]:
    """Yield sentences, joined where a cut would divide a link or emphasis."""
    begin = None
    for span in sentences(source.text, source.block.start, source.block.end):
        begin = span.start if begin is None else begin
        raw = source.text[begin:span.end]
        is_divided = (raw.count("`") % 2 or raw.count("**") % 2 or raw.count("[") > raw.count("]")
                      or raw.count("(") > raw.count(")"))
        if is_divided and span.end < source.block.end:
            continue
        text = source.words(begin, span.end)
        if re.search(r"\w", text):
            yield replace(source.blank, start=begin, end=span.end, text=text)
        begin = None


def _list(source: _Source) -> Iterator[Part]:
    parents: list[str] = []
    items = source.block.items
    for index, item in enumerate(items):
        *before, last = list(_paragraphs(item, source)) or [""]
        text = " ".join([*map(ended, before), last])
        number = item.ordered and _NUMBER.search(
            source.text, max(0, item.start - 20), item.start)
        parents = parents[:item.depth]
        yield replace(source.blank, kind="item", start=item.start, end=item.end,
                      text=f"({number[1]}) {text}" if number else text, depth=item.depth,
                      parents=tuple(parents), is_first=index == 0, is_last=index == len(items) - 1)
        parents.append(text)


def _paragraphs(item: Item, source: _Source) -> Iterator[str]:
    """Yield the text of an item's paragraphs, without the code and tables between them."""
    begin = item.start
    inner = [(block.start, block.end) for block in source.inner
             if item.start < block.start < item.end]
    for start, end in [*inner, (item.end, item.end)]:
        for paragraph in re.split(r"\n[ \t>]*\n", source.text[begin:start]):
            if words := readable(unquoted(paragraph), source.references):
                yield words
        begin = end


def _table(source: _Source) -> Iterator[Part]:
    """Yield rows with their header. As in Markdown, cells beyond the header's columns are lost."""
    rows = source.block.rows
    header = tuple(readable(source.text[cell.start:cell.end], source.references)
                   for cell in source.block.header)
    if not rows and any(header):
        yield replace(source.blank, text="; ".join(filter(None, header)))
    for index, row in enumerate(rows):
        raw = [source.text[cell.start:cell.end].replace("\\|", "|") for cell in row]
        cells = tuple(readable(cell, source.references) for cell in raw)
        yield replace(source.blank, kind="row", start=row[0].start, end=row[-1].end,
                      header=header, cells=cells, text="; ".join(filter(None, cells)),
                      is_first=index == 0, is_last=index == len(rows) - 1)


def _code(source: _Source) -> Iterator[Part]:
    """Yield lines of code, without the fences; joined, they are the code."""
    start = source.block.start
    lines = list(_CODE_LINE.finditer(source.text[start:source.block.end]))
    if lines and _FENCE.match(lines[0][0]):
        lines = lines[1:-1] if _FENCE.fullmatch(lines[-1][0].rstrip()) else lines[1:]
    for index, line in enumerate(lines):
        yield replace(source.blank, kind="code", start=start + line.start(),
                      end=start + line.end(), text=line[0], is_first=index == 0,
                      is_last=index == len(lines) - 1)


def _heading(source: _Source) -> Iterator[Part]:
    """Yield a heading, and a sentence with its link targets, which opening phrases omit."""
    block = source.block
    if block.text:
        yield replace(source.blank, kind="heading", text=block.text)
        raw = source.text[block.start:block.end].strip("# \t=-\n")
        full = readable(raw, source.references)
        if full != block.text:
            yield replace(source.blank, headings=(*block.headings, block.text),
                          text=f"The heading in full is {full}")


def _html(source: _Source) -> Iterator[Part]:
    text = source.words(source.block.start, source.block.end)
    if re.search(r"\w", text):
        yield replace(source.blank, text=text)


def _front_matter(source: _Source) -> Iterator[Part]:
    start = source.block.start
    for line in re.finditer(r"^(?!---)(.*\w.*)$", source.block.text, re.M):
        text = line[1].strip()
        if pair := re.fullmatch(r"([\w -]+):\s+(.+)", text):
            text = f"The {pair[1]} of the document is {pair[2].strip(chr(34))}"
        yield replace(source.blank, start=start + line.start(), end=start + line.end(), text=text)


_READERS = {"prose": _prose, "list": _list, "table": _table, "code": _code, "heading": _heading,
            "html": _html, "front-matter": _front_matter}


def _with_lead_ins(parts: list[Part]) -> Iterator[Part]:
    """Move a sentence with a final colon to the group of the next list, and set its items' lead."""
    leads = {}
    for part, following in zip(parts, [*parts[1:], None], strict=True):
        is_before_list = following and following.is_first and following.kind == "item"
        if part.kind == "sentence" and part.text.endswith(":") and is_before_list:
            leads[following.group] = part.text
            yield replace(part, kind="lead-in", group=following.group)
        else:
            lead = leads.get(part.group, "")
            yield replace(part, lead=lead) if part.kind == "item" else part


def _left_over(document: Document, blocks: Sequence[Block], parts: list[Part],
               references: dict) -> Iterator[Part]:
    """Yield text outside all blocks: after a nested list, quotes in items, unused links."""
    text, size = document.text, len(document.text)
    taken = sorted([*((part.start, part.end) for part in parts),
                    *((block.start, block.end) for block in blocks if block.kind != "list")])
    subject = subjects(document, [Block("", 0, 0, "prose")])[0]
    begin = 0
    for number, (start, end) in enumerate([*taken, (size, size)]):
        gap = text[begin:max(begin, start)]
        for match in re.finditer(r"[^\n]*\w[^\n]*(?:\n[^\n]*\w[^\n]*)*", gap):
            if words := _left_words(match[0], text, references):
                first, last = begin + match.start(), begin + match.end()
                place = bisect(parts, first, key=lambda part: part.start)
                left = Part("sentence", first, last, words, -1 - number, (), subject)
                if place:
                    above = parts[place - 1]
                    heading = (above.text,) if above.kind == "heading" else ()
                    left = replace(left, headings=above.headings + heading,
                                   subject=above.subject)
                yield left
        begin = max(begin, end)


def _left_words(raw: str, source: str, references: dict) -> str:
    """Return the words of such lines, "" for list markers and link definitions in use."""
    lines = []
    for line in raw.splitlines():
        definition = _DEFINITION.fullmatch(line)
        if not definition:
            lines.append(_MARKER.sub("", line))
        elif source.casefold().count(f"[{definition[1]}]".casefold()) == 1:
            targets = ", ".join(filter(None, definition.groups()[1:]))
            lines.append(f"{definition[1]} refers to {targets}.")
    text = readable(unquoted("\n".join(lines)), references)
    return text if re.search(r"\w", text) else ""
