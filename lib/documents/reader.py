"""Read Markdown and its dialects into blocks, items and cells with spans (paper, 3.1)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from markdown_it.token import Token

from lib.documents.inline import Span, plain, trimmed

# [^1]: the text of a footnote, whose further paragraphs are indented
FOOTNOTE = re.compile(r" {0,3}\[\^[^\]\s]+\]:[ \t]*")
NOTE_MARK = "\ufdd0"  # stands in place of a footnote's mark: no character of any text

EDGE = "<!--\ufdd1-->"  # stands for the edge of a box or tab: a list does not go on across it

NEWLINE = re.compile(r"\r\n?|\n")
_FENCE = re.compile(r"(?:[ \t>]|(?:[-*+]|\d{1,9}[.)])[ \t])*(?P<fence>`{3,}(?=[^`]*$)|~{3,})")
# !!! note "Title", ??? tip, === "Tab" of MkDocs: what belongs to them is indented
_BOX = re.compile(r"[ \t]*(?:(?:!!!|\?\?\?\+?)[ \t]+[\w\"]|===[!+]?[ \t]+\")")
# {% tag %} and {{< tag >}} of templates, ::: containers, [!NOTE] of GitHub, {: .class }
_TAG = re.compile(
    r"(?P<quote>[ \t>]*)(?:\{%.*%\}|\{\{[<%].*[%>]\}\}|:{3,}.*|"
    r"(?P<inner>\[![A-Za-z]+\][+-]?|\{:[^{}]*\}))[ \t]*"
)
_ANY = re.compile(r"^[ \t>]*(?:!!!|\?\?\?|===[!+]?[ \t]|\[\^|\[!|\{[%{:]|:::)", re.M)
# in a heading: {#limits} at its end, badges
_NO_WORDS = re.compile(r"[ \t]*(?:\{:?[ \t]*#[^{}\n]*\}|\[#[\w-]+\])[ \t]*\Z|!\[[^]]*\]\([^()]*\)")
_PIPE = re.compile(r"(?<!\\)\|")
# quote marks and list markers before the text of a block
PREFIX = re.compile(r"(?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])\s+))*")
_LISTS = ("bullet_list_open", "ordered_list_open")

Row = tuple[Span, ...]


def commonmark(body: str) -> str:
    """Return Markdown with as many lines, in which tags of dialects are EDGE or empty lines.

    Text that a dialect indents below such a line loses that indent, so that it is not code. The
    mark of a footnote becomes NOTE_MARK, so that it is no link definition.
    """
    if not _ANY.search(body):
        return body
    lines: list[str] = []
    fence, boxes = "", []  # the open fence; the indents of the open boxes
    for line in NEWLINE.split(body):
        indent = len(line) - len(line.lstrip(" "))
        if indent < len(line):
            while boxes and indent < boxes[-1] + 4:
                boxes.pop()
            line, indent = line[4 * len(boxes) :], indent - 4 * len(boxes)
        if fence:
            rest = line.strip(" \t>")
            fence = "" if rest.startswith(fence) and not rest.strip(fence[0]) else fence
        elif opened := _FENCE.match(line):
            fence = opened["fence"]
        elif _BOX.match(line):
            boxes.append(indent + 4 * len(boxes))
            line = " " * indent + EDGE
        elif note := FOOTNOTE.match(line):
            boxes.append(indent + 4 * len(boxes))
            line = NOTE_MARK + line[note.end() :]
        elif tag := _TAG.fullmatch(line):
            line = tag["quote"].rstrip() if tag["inner"] else tag["quote"] + EDGE
        lines.append(line)
    return "\n".join(lines)


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
        self.headings: tuple[str, ...] = ()  # their texts

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
            text = plain(_NO_WORDS.sub("", inline.content), self.references)
            level = int(token.tag[1])
            above = tuple(block for block in self.path if block.level < level)
            block = Block(text, start, end, "heading", tuple(one.text for one in above), level)
            self.path, self.headings = (*above, block), (*block.headings, text)
            return block
        if token.type == "table_open":
            return self.table(index)
        if token.type in ("fence", "code_block"):
            return Block(token.content, start, end, "code", self.headings)
        if token.type == "html_block" and token.content.strip() != EDGE and start < end:
            return Block(self.source[start:end], start, end, "html", self.headings)
        return None

    def paragraph(self, token: Token, content: str) -> Iterator[Block]:
        """Yield a paragraph, or each footnote of one that consists of footnotes."""
        lines = content.split("\n")
        notes = {at for at, line in enumerate(lines) if line.startswith(NOTE_MARK)}
        for first, last in pairwise(sorted({0, *notes, len(lines)})):
            start, end = trimmed(
                self.source, self.lines[token.map[0] + first], self.lines[token.map[0] + last]
            )
            if first in notes:
                start = min(end, FOOTNOTE.search(self.source, start, end).end())
            text = "\n".join(lines[first:last]).removeprefix(NOTE_MARK)
            yield Block(plain(text, self.references), start, end, "prose", self.headings)

    def list_blocks(self, index: int) -> Iterator[Block]:
        """Yield a list, then the tables and the code inside it."""
        start, end = self.span(self.tokens[index])
        yield Block(
            self.source[start:end],
            start,
            end,
            "list",
            self.headings,
            items=tuple(self.items(index)),
        )
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
                    yield Item(
                        " ".join(span.text for span in own),
                        own[0].start,
                        own[-1].end,
                        len(numbers) - 1,
                        number,
                        bool(after),
                    )

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
                texts = [
                    token.content
                    for token in self.tokens[at : self.closing[at]]
                    if token.type == "inline"
                ]
                rows.append(self.row(self.tokens[at].map[0], texts, "; " if rows else " "))
        start, end = self.span(self.tokens[index])
        return Block(
            self.source[start:end],
            start,
            end,
            "table",
            self.headings,
            header=rows[0],
            rows=tuple(rows[1:]),
        )

    def row(self, number: int, texts: Sequence[str], tag_break: str) -> Row:
        """Return the cells of a line; missing ones, which the parser adds, are left out."""
        begin = PREFIX.match(self.source, self.lines[number]).end()
        line = self.source[begin : self.lines[number + 1]].rstrip("\r\n")
        bounds = [-1, *(pipe.start() for pipe in _PIPE.finditer(line)), len(line)]
        bounds = bounds[not line[: bounds[1]].strip() and len(bounds) > 2 :]
        if not line[bounds[-2] + 1 :].strip() and len(bounds) > 2:
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


def _closings(tokens: list[Token]) -> list[int]:
    closing, opened = list(range(len(tokens))), []
    for index, token in enumerate(tokens):
        if token.nesting == 1:
            opened.append(index)
        elif token.nesting == -1:
            closing[opened.pop()] = index
    return closing
