"""Read the tokens of a Markdown parser into blocks, items and cells with spans (paper, 3.1)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from markdown_it.token import Token

from lib.core.text import is_sentence
from lib.documents.dialects import EDGE, FOOTNOTE, NEWLINE, NOTE_MARK
from lib.documents.inline import Span, plain, trimmed

_HEADING_ID = re.compile(r"[ \t]*(?:\{:?[ \t]*#[^{}\n]*\}|\[#[\w-]+\])[ \t]*\Z")  # {#limits}
# name = value, name: value or [section] right below a comment of a configuration file
_ASSIGNMENT = re.compile(r"(?:export )?[\w.\"'-]+\s*=\s*\S|[a-z_][\w.-]*:(?: |$)|\[[\w. \"-]+\]$")
_PIPE = re.compile(r"(?<!\\)\|")
# quote marks and list markers before the text of a block
PREFIX = re.compile(r"(?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])\s+))*")
_LISTS = ("bullet_list_open", "ordered_list_open")

Row = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Item(Span):
    """A list item's own text, without its marker and nested lists. The top level has depth 0."""

    depth: int
    ordered: bool
    number: int | None = None  # of a numbered step, as a reader sees it
    parent: int = -1  # which of the block's items contains it, -1 for none
    until: int = 0  # where it ends with all that is nested in it
    after: tuple[Span, ...] = ()  # its own paragraphs after its nested list

    @property
    def is_sentence(self) -> bool:
        """Return whether it is prose in the form of a list: one whole sentence or several."""
        return is_sentence(self.text)


@dataclass(frozen=True, slots=True)
class Block(Span):
    """A heading, paragraph, list (with its nested lists), table, code or raw HTML block."""

    kind: str  # heading, prose, list, table, code, html, front-matter
    headings: tuple[str, ...] = ()  # the headings above it, outermost first
    level: int = 0  # of a heading, 1-6
    items: tuple[Item, ...] = ()
    header: Row = ()
    rows: tuple[Row, ...] = ()
    footnote: str = ""  # the mark of a paragraph that is a footnote: "1"
    inside: int = -1  # where the list begins that contains it, -1 for none


class Reader:
    """Turns the tokens of one document into blocks."""

    def __init__(self, source: str, body: str, tokens: list[Token], references: dict) -> None:
        self.source, self.tokens, self.references = source, tokens, references
        self.lines = [0, *(match.end() for match in NEWLINE.finditer(source)), len(source)]
        self.body = NEWLINE.split(body)  # its lines as the parser saw them
        self.closing = _closings(tokens)
        self.comments = self._comments()
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
                yield from self.paragraph(token, self.tokens[index + 1])
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
            if token.map[0] in self.comments:
                start += len(self.source[start:end]) - len(self.source[start:end].lstrip("# \t"))
                return Block(text, min(start, end), end, "prose", _texts(self.path))
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

    # A comment is right above an assignment, or above another comment of its level
    def _comments(self) -> set[int]:
        headings = {token.map[0]: token.tag for token in self.tokens
                    if token.type == "heading_open" and token.markup.startswith("#")}
        comments: set[int] = set()
        for line in sorted(headings, reverse=True):
            below = self.body[line + 1] if line + 1 < len(self.body) else ""
            if _ASSIGNMENT.match(below.strip()) or (
                    line + 1 in comments and headings[line] == headings[line + 1]):
                comments.add(line)
        return comments if 2 * len(comments) >= len(headings) else set()

    def paragraph(self, token: Token, inline: Token) -> Iterator[Block]:
        """Yield a paragraph, or each footnote of one that consists of footnotes."""
        content = inline.content.split("\n")
        notes = {number for number, line in enumerate(content) if line.startswith(NOTE_MARK)}
        for first, last in pairwise(sorted({0, *notes, len(content)})):
            text = "\n".join(content[first:last])
            mark = text.split(NOTE_MARK)[1] if first in notes else ""
            begin = self.lines[token.map[0] + first]
            start, end = trimmed(self.source, begin, self.lines[token.map[0] + last])
            if mark:
                text = text.split(NOTE_MARK, 2)[2]
                start = min(end, FOOTNOTE.search(self.source, begin, end).end())
            yield Block(plain(text, self.references), start, end, "prose", _texts(self.path),
                        footnote=mark)

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
        levels: list[list] = []  # is it ordered, the number of its next item
        above: list[int] = []  # the last item at each depth
        n_items = 0
        for at in range(index, self.closing[index]):
            token = self.tokens[at]
            if token.type in _LISTS:
                levels.append([token.type.startswith("ordered"), token.attrs.get("start", 1)])
            elif token.nesting == -1 and token.type.endswith("_list_close"):
                levels.pop()
            elif token.type == "list_item_open":
                is_ordered, number = levels[-1]
                levels[-1][1] += 1
                own, after = self.paragraphs(at)
                if not own:
                    continue
                depth = len(levels) - 1
                above = above[:depth] + [above[-1] if above else -1] * (depth - len(above))
                yield Item(" ".join(span.text for span in own), own[0].start, own[-1].end, depth,
                           is_ordered, int(number) if is_ordered else None,
                           above[-1] if above else -1, self.span(token)[1], tuple(after))
                above.append(n_items)
                n_items += 1

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
