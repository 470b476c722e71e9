"""Read the tokens of a Markdown parser into blocks, items and cells with spans (paper, 3.1)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from markdown_it.token import Token

from lib.documents.dialects import EDGE, FOOTNOTE, NEWLINE, NOTE_MARK
from lib.documents.inline import Span, plain, trimmed

_HEADING_ID = re.compile(r"[ \t]*(?:\{:?[ \t]*#[^{}\n]*\}|\[#[\w-]+\])[ \t]*\Z")  # {#limits}
_PIPE = re.compile(r"(?<!\\)\|")
# quote marks and list markers before the text of a block
PREFIX = re.compile(r"(?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])\s+))*")
_LISTS = ("bullet_list_open", "ordered_list_open")

Row = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Item(Span):
    """A list item's own text, without its marker and nested lists. The top level has depth 0."""

    depth: int
    number: int | None = None  # of a numbered step, as a reader sees it
    goes_on: bool = False  # it has text after its nested list


@dataclass(frozen=True, slots=True)
class Block(Span):
    """A heading, paragraph, list (with its nested lists), table, code or raw HTML block."""

    kind: str  # heading, prose, list, table, code, html, front-matter
    headings: tuple[str, ...] = ()  # the headings above it, outermost first
    level: int = 0  # of a heading, 1-6
    items: tuple[Item, ...] = ()
    header: Row = ()
    rows: tuple[Row, ...] = ()
    inside: int = -1  # where the list begins that contains it, -1 for none


class Reader:
    """Turns the tokens of one document into blocks."""

    def __init__(self, source: str, body: str, tokens: list[Token], references: dict) -> None:
        self.source, self.tokens, self.references = source, tokens, references
        self.lines = [0, *(match.end() for match in NEWLINE.finditer(source)), len(source)]
        self.body = NEWLINE.split(body)  # its lines as the parser saw them
        self.closing = _closings(tokens)
        self.path: tuple[Block, ...] = ()  # of headings

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks in order."""
        index = 0
        while index < len(self.tokens):
            token = self.tokens[index]
            close = self.closing[index]
            if token.type in _LISTS:
                yield from self.list_blocks(index)
            elif token.type == "paragraph_open":
                yield from self.paragraph(token, self.tokens[index + 1].content)
            elif block := self.block(index):
                yield block
            elif token.nesting == 1:
                close = index  # a block quote, whose blocks follow
            index = close + 1

    def block(self, index: int) -> Block | None:
        """Return the block that begins with tokens[index], None if it is not one by itself."""
        token, inline = self.tokens[index], self.tokens[min(index + 1, len(self.tokens) - 1)]
        start, end = self.span(token) if token.map else (0, 0)
        if token.type == "heading_open":
            text = plain(_HEADING_ID.sub("", inline.content), self.references)
            level = int(token.tag[1])
            above = tuple(block for block in self.path if block.level < level)
            block = Block(text, start, end, "heading", _texts(above), level)
            self.path = (*above, block)
            return block
        if token.type == "table_open":
            return self.table(index)
        if token.type in ("fence", "code_block"):
            return Block(token.content, start, end, "code", _texts(self.path))
        if token.type == "html_block" and token.content.strip() != EDGE and start < end:
            return Block(self.source[start:end], start, end, "html", _texts(self.path))
        return None

    def paragraph(self, token: Token, content: str) -> Iterator[Block]:
        """Yield a paragraph, or each footnote of one that consists of footnotes."""
        lines = content.split("\n")
        notes = {at for at, line in enumerate(lines) if line.startswith(NOTE_MARK)}
        for first, last in pairwise(sorted({0, *notes, len(lines)})):
            start, end = trimmed(self.source, self.lines[token.map[0] + first],
                                 self.lines[token.map[0] + last])
            if first in notes:
                start = min(end, FOOTNOTE.search(self.source, start, end).end())
            text = "\n".join(lines[first:last]).removeprefix(NOTE_MARK)
            yield Block(plain(text, self.references), start, end, "prose", _texts(self.path))

    def list_blocks(self, index: int) -> Iterator[Block]:
        """Yield a list, then the tables and the code inside it."""
        start, end = self.span(self.tokens[index])
        headings = _texts(self.path)
        yield Block(self.source[start:end], start, end, "list", headings,
                    items=tuple(self.items(index)))
        for at in range(index + 1, self.closing[index]):
            if self.tokens[at].type in ("table_open", "fence", "code_block"):
                yield replace(self.block(at), inside=start)

    def items(self, index: int) -> Iterator[Item]:
        """Yield the items of a list and of its nested lists that have text of their own."""
        numbers: list[int | None] = []  # of the next item at each depth, None in a bullet list
        for at in range(index, self.closing[index]):
            token = self.tokens[at]
            if token.type in _LISTS:
                is_ordered = token.type.startswith("ordered")
                numbers.append(int(token.attrs.get("start", 1)) if is_ordered else None)
            elif token.type.endswith("_list_close"):
                numbers.pop()
            elif token.type == "list_item_open":
                number = numbers[-1]
                numbers[-1] = None if number is None else number + 1
                own, after = self.paragraphs(at)
                if own:
                    yield Item(" ".join(span.text for span in own), own[0].start, own[-1].end,
                               len(numbers) - 1, number, bool(after))

    def paragraphs(self, index: int) -> tuple[list[Span], list[Span]]:
        """Return an item's own paragraphs before and after its first nested list."""
        found: tuple[list[Span], list[Span]] = ([], [])
        level, is_after, at = self.tokens[index].level + 2, False, index + 1
        while at < self.closing[index]:
            token = self.tokens[at]
            if token.type in _LISTS:
                is_after, at = True, self.closing[at]
            elif token.type == "inline" and token.level == level:
                start, end = self.span(token)
                start = PREFIX.match(self.source, start, end).end()
                found[is_after].append(Span(plain(token.content, self.references), start, end))
            at += 1
        return found

    def table(self, index: int) -> Block:
        """Return a pipe table, each of whose rows is a line."""
        rows: list[Row] = []
        for at in range(index, self.closing[index]):
            if self.tokens[at].type == "tr_open":
                texts = [token.content for token in self.tokens[at:self.closing[at]]
                         if token.type == "inline"]
                rows.append(self.row(self.tokens[at].map[0], texts, "; " if rows else " "))
        start, end = self.span(self.tokens[index])
        return Block(self.source[start:end], start, end, "table", _texts(self.path),
                     header=rows[0], rows=tuple(rows[1:]))

    def row(self, number: int, texts: Sequence[str], tag_break: str) -> Row:
        """Return the cells of a line; missing ones, which the parser adds, are left out."""
        begin = PREFIX.match(self.source, self.lines[number]).end()
        line = self.source[begin:self.lines[number + 1]].rstrip("\r\n")
        bounds = [-1, *(pipe.start() for pipe in _PIPE.finditer(line)), len(line)]
        bounds = bounds[not line[:bounds[1]].strip() and len(bounds) > 2:]
        if not line[bounds[-2] + 1:].strip() and len(bounds) > 2:
            bounds.pop()
        row = []
        for text, (left, right) in zip(texts, pairwise(bounds), strict=False):
            first, last = trimmed(self.source, begin + left + 1, begin + right)
            row.append(Span(plain(text, self.references, tag_break), first, max(first, last)))
        return tuple(row)

    def span(self, token: Token) -> tuple[int, int]:
        """Return where the lines of a token begin and end in the source, without whitespace."""
        first, last = token.map
        while last > first + 1 and not self.body[last - 1].strip(" \t>"):
            last -= 1  # a tag of a dialect, which is an empty line to the parser
        return trimmed(self.source, self.lines[first], self.lines[min(last, len(self.lines) - 1)])


def _texts(path: tuple[Block, ...]) -> tuple[str, ...]:
    return tuple(heading.text for heading in path)


def _closings(tokens: list[Token]) -> list[int]:
    closing, opened = list(range(len(tokens))), []
    for index, token in enumerate(tokens):
        if token.nesting == 1:
            opened.append(index)
        elif token.nesting == -1:
            closing[opened.pop()] = index
    return closing
