"""Markdown and plain text as blocks with character spans: what `structure` means, decided by a parser (paper, 3.1)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from markdown_it import MarkdownIt
from markdown_it.token import Token

from lib.core.records import Structure

# What a parser's block means as a structure; code, headings and raw HTML carry no queries.
STRUCTURE_OF: dict[str, Structure] = {"prose": "natural", "list": "entity-list", "table": "tabular"}

_INLINE = MarkdownIt("commonmark")  # made once: setting up its rules takes longer than a sentence
_NEWLINE = re.compile(r"\r\n?|\n")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n.*?^---[ \t]*(?:\r?\n|\Z)", re.S | re.M)
_PREFIX = re.compile(r"(?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])\s+))*")  # quote marks and list markers before a block's text
_SPLIT_PIPE = re.compile(r"(?<!\\)\|")
_HARD_BREAK = re.compile(r"(?<!\\)\\\r?\n")
_BREAK_TAG = re.compile(r"</?(?:br|li|p|tr|div)\b[^>]*>", re.I)
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|approx|resp|incl|max|min|No|Fig|Eq|Sec|Dr|Mr|Ms|Inc|Ltd|Co|cf|al)"
                           r"\.|(?<!\d )\b[A-Z]\.)$")  # "J. Smith" goes on, "draws 4 W." ends
_BOUNDARY = re.compile(r"""[.!?:]["')\]*_`]*(\s+)(?=["'(\[`*_]*[A-Z0-9])""")


@dataclass(frozen=True)
class Span:
    """A stretch of the source: `text` is what a reader sees of source[start:end], without the markup."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Item(Span):
    """A list item's own text, without its marker and without the lists inside it. Top level has depth 0."""

    depth: int
    ordered: bool


@dataclass(frozen=True)
class Block(Span):
    """A heading, paragraph, list, table, code or raw HTML block; lists are whole, tables have cells."""

    kind: str  # heading, prose, list, table, code, html, front-matter
    headings: tuple[str, ...] = ()  # the headings that it stands under, outermost first
    level: int = 0  # of a heading, 1-6
    items: tuple[Item, ...] = ()
    header: tuple[Span, ...] = ()
    rows: tuple[tuple[Span, ...], ...] = ()


def parse(source: str) -> list[Block]:
    """Blocks of `source` in order. A table or code inside a list comes as a block of its own after that list."""
    front = _FRONT_MATTER.match(source)
    body = source if not front else _NEWLINE.sub("\n", re.sub(r"[^\r\n]", " ", front[0])) + source[front.end():]
    lines = [0, *(match.end() for match in _NEWLINE.finditer(source))]
    tokens = MarkdownIt("commonmark").enable("table").parse(body)
    blocks = [Block(front[0], 0, front.end(), "front-matter")] if front else []
    return blocks + _under_headings(_walk(tokens, source, lines))


def structure_at(blocks: list[Block], start: int, end: int) -> str:
    """Kind of the innermost block that holds source[start:end]; "" where no block holds all of it."""
    holding = [block for block in blocks if block.start <= start and end <= block.end]
    return min(holding, key=lambda block: block.end - block.start).kind if holding else ""


def sentences(source: str, start: int, end: int) -> list[Span]:
    """The sentences of source[start:end], breaks and markup folded in `text`; every character but blanks is in one.

    A colon ends a sentence only before a new line that starts one: notices and lead-ins are not glued to it.
    """
    spans, begin = [], start
    for match in _BOUNDARY.finditer(source, start, end):
        if _ABBREVIATION.search(source, begin, match.start() + 1):
            continue
        if source[match.start()] == ":" and "\n" not in match[1]:
            continue
        spans.append((begin, match.start(1)))
        begin = match.end(1)
    spans.append((begin, end))
    return [_trimmed(source, *span) for span in spans if source[span[0]:span[1]].strip()]


def plain(markdown: str) -> str:
    """What a reader sees of inline Markdown: link texts, code without backticks, no emphasis, `<br>` as '; '."""
    inline = _INLINE.parseInline(" ".join(_HARD_BREAK.sub(" ", markdown).split()))
    return _visible(inline[0]) if inline else ""


def _visible(inline: Token) -> str:
    pieces = []
    for child in inline.children or []:
        if child.type in ("softbreak", "hardbreak"):
            pieces.append(" ")
        elif child.type == "html_inline":
            pieces.append("; " if _BREAK_TAG.match(child.content) else "")
        else:
            pieces.append(child.content)
    text = re.sub(r"\s+", " ", "".join(pieces)).strip()
    return re.sub(r"\s*;(?:\s*;)+", ";", text).strip("; ") if ";" in text else text


def _trimmed(source: str, start: int, end: int) -> Span:
    raw = source[start:end]
    start, end = start + len(raw) - len(raw.lstrip()), end - (len(raw) - len(raw.rstrip()))
    return Span(plain(source[start:end]), start, end)


def _under_headings(blocks: Iterator[Block]) -> list[Block]:
    path: list[Block] = []
    placed = []
    for block in blocks:
        if block.kind == "heading":
            path = [above for above in path if above.level < block.level]
        placed.append(replace(block, headings=tuple(above.text for above in path)))
        if block.kind == "heading":
            path.append(block)
    return placed


def _walk(tokens: list[Token], source: str, lines: list[int]) -> Iterator[Block]:
    """Yield the blocks of a token stream; what stands inside a list belongs to that list."""

    def span(token: Token) -> tuple[int, int]:
        first, last = token.map
        begin = lines[first] if first < len(lines) else len(source)
        stop = lines[last] if last < len(lines) else len(source)
        raw = source[begin:stop]
        return begin + len(raw) - len(raw.lstrip()), stop - (len(raw) - len(raw.rstrip()))

    index = 0
    while index < len(tokens):
        token, following = tokens[index], tokens[min(index + 1, len(tokens) - 1)]
        close = index
        if token.type == "heading_open":
            yield Block(_visible(following), *span(token), "heading", level=int(token.tag[1]))
            close = index + 2
        elif token.type == "paragraph_open":
            yield Block(_visible(following), *span(token), "prose")
            close = index + 2
        elif token.type in ("bullet_list_open", "ordered_list_open"):
            close = _closing(tokens, index)
            start, end = span(token)
            yield Block(source[start:end], start, end, "list", items=tuple(_items(tokens[index:close], source, span)))
            inner = _walk(tokens[index + 1:close], source, lines)
            yield from (block for block in inner if block.kind in ("table", "code"))
        elif token.type == "table_open":
            close = _closing(tokens, index)
            rows = list(_rows(tokens[index:close], source, lines))
            start, end = span(token)
            yield Block(source[start:end], start, end, "table", header=rows[0], rows=tuple(rows[1:]))
        elif token.type in ("fence", "code_block", "html_block"):
            yield Block(token.content, *span(token), "html" if token.type == "html_block" else "code")
        index = close + 1


def _closing(tokens: list[Token], index: int) -> int:
    level = tokens[index].level
    return next(i for i in range(index + 1, len(tokens)) if tokens[i].level == level and tokens[i].nesting == -1)


def _items(tokens: list[Token], source: str, span) -> Iterator[Item]:
    """The items of a list token and of the lists inside it, in order; an item's text is its paragraphs."""
    ordered: list[bool] = []
    for index, token in enumerate(tokens):
        if token.type in ("bullet_list_open", "ordered_list_open"):
            ordered.append(token.type.startswith("ordered"))
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            ordered.pop()
        elif token.type == "list_item_open":
            depth = token.level
            paragraphs = []
            for inner in range(index + 1, _closing(tokens, index)):
                if tokens[inner].type in ("bullet_list_open", "ordered_list_open"):
                    break
                if tokens[inner].type == "inline" and tokens[inner].level == depth + 2:
                    paragraphs.append(tokens[inner])
            if not paragraphs:
                continue
            start, end = span(paragraphs[0])[0], span(paragraphs[-1])[1]
            marker = _PREFIX.match(source, start, end)
            start = marker.end() if marker else start
            yield Item(" ".join(map(_visible, paragraphs)), start, end, len(ordered) - 1, ordered[-1])


def _rows(tokens: list[Token], source: str, lines: list[int]) -> Iterator[tuple[Span, ...]]:
    """Header and body rows of a table as cells; a cell's span is its place in the line, found between the pipes."""
    for index, token in enumerate(tokens):
        if token.type != "tr_open":
            continue
        cells = [inner for inner in tokens[index:_closing(tokens, index)] if inner.type == "inline"]
        begin = _PREFIX.match(source, lines[token.map[0]]).end()
        stop = lines[token.map[0] + 1] if token.map[0] + 1 < len(lines) else len(source)
        line = source[begin:stop].rstrip("\r\n")
        bounds = [-1, *(pipe.start() for pipe in _SPLIT_PIPE.finditer(line)), len(line)]
        pieces = [(left + 1, right) for left, right in zip(bounds, bounds[1:], strict=False)]
        if not line[:bounds[1]].strip() and len(bounds) > 2:
            pieces = pieces[1:]
        row = []
        for cell, (left, right) in zip(cells, pieces, strict=False):
            raw = line[left:right]
            first = begin + left + len(raw) - len(raw.lstrip())
            row.append(Span(_visible(cell), first, max(first, begin + right - (len(raw) - len(raw.rstrip())))))
        yield tuple(row)
