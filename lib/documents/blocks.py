"""Parse Markdown into blocks with spans; a fact's block determines its structure (paper, 3.1)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from lib.core.records import Structure

# The structure of each kind of block; code, headings and raw HTML carry no queries.
STRUCTURE_OF: dict[str, Structure] = {
    "prose": "natural", "list": "entity-list", "table": "tabular"}

_INLINE = MarkdownIt("commonmark")  # shared: setting up takes longer than parsing a sentence
_NEWLINE = re.compile(r"\r\n?|\n")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n.*?^---[ \t]*(?:\r?\n|\Z)", re.S | re.M)
# quote marks and list markers before the text of a block
_PREFIX = re.compile(r"(?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])\s+))*")
_PIPE = re.compile(r"(?<!\\)\|")
_HARD_BREAK = re.compile(r"(?<!\\)\\\r?\n")
_BREAK_TAG = re.compile(r"</?(?:br|li|p|tr|div)\b[^>]*>", re.I)
# "J. Smith" continues the sentence, "draws 4 W." ends it
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|approx|resp|incl|max|min|No|Fig|Eq|Sec|Dr|Mr|Ms|Inc|Ltd|Co|cf|al)"
    r"\.|(?<!\d )\b[A-Z]\.)$")
_BOUNDARY = re.compile(r"""[.!?:]["')\]*_`]*(\s+)(?=["'(\[`*_]*[A-Z0-9])""")


@dataclass(frozen=True)
class Span:
    """A range of the source; `text` is what a reader sees of source[start:end], without markup."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Item(Span):
    """A list item's own text, without its marker and nested lists. The top level has depth 0."""

    depth: int
    ordered: bool


@dataclass(frozen=True)
class Block(Span):
    """A heading, paragraph, list (with its nested lists), table, code or raw HTML block."""

    kind: str  # heading, prose, list, table, code, html, front-matter
    headings: tuple[str, ...] = ()  # the headings above it, outermost first
    level: int = 0  # of a heading, 1-6
    items: tuple[Item, ...] = ()
    header: tuple[Span, ...] = ()
    rows: tuple[tuple[Span, ...], ...] = ()


@lru_cache(4096)  # documents and segments of one stage are each parsed once
def parse(source: str) -> tuple[Block, ...]:
    """Return the blocks of `source` in order. A table or code inside a list follows that list."""
    front = _FRONT_MATTER.match(source)
    body = source
    if front:
        body = _NEWLINE.sub("\n", re.sub(r"[^\r\n]", " ", front[0])) + source[front.end():]
    lines = [0, *(match.end() for match in _NEWLINE.finditer(source)), len(source)]
    tokens = MarkdownIt("commonmark").enable("table").parse(body)
    blocks = [Block(front[0], 0, front.end(), "front-matter")] if front else []
    return (*blocks, *_under_headings(_walk(tokens, source, lines)))


def structure_at(blocks: Sequence[Block], start: int, end: int) -> str:
    """Return the kind of the innermost block around source[start:end], "" if there is none."""
    holding = [block for block in blocks if block.start <= start and end <= block.end]
    return min(holding, key=lambda block: block.end - block.start).kind if holding else ""


def sentences(source: str, start: int, end: int) -> list[Span]:
    """Return the sentences of source[start:end]; together they cover all but whitespace.

    Line breaks and markup are removed in `text`. A colon ends a sentence only before a new line
    that starts one, so that notices and lead-ins stay separate from the sentence that follows.
    """
    spans, begin = [], start
    for match in _BOUNDARY.finditer(source, start, end):
        if _ABBREVIATION.search(source, begin, match.start() + 1):
            continue
        if source[match.start()] == ":" and "\n" not in match[1]:
            continue
        spans.append(trimmed(source, begin, match.start(1)))
        begin = match.end(1)
    spans.append(trimmed(source, begin, end))
    return [Span(plain(source[first:last]), first, last) for first, last in spans if first < last]


def plain(markdown: str) -> str:
    """Return inline Markdown as a reader sees it; `<br>` becomes '; '."""
    inline = _INLINE.parseInline(" ".join(_HARD_BREAK.sub(" ", markdown).split()))
    return _visible(inline[0]) if inline else ""


def trimmed(source: str, start: int, end: int) -> tuple[int, int]:
    """Return the bounds of source[start:end] without the whitespace around it."""
    raw = source[start:end]
    return start + len(raw) - len(raw.lstrip()), end - (len(raw) - len(raw.rstrip()))


def line_start(text: str, at: int) -> int:
    """Return the start of the line that contains text[at]."""
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1


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


def _under_headings(blocks: Iterator[Block]) -> Iterator[Block]:
    path: list[Block] = []
    for block in blocks:
        if block.kind == "heading":
            path = [above for above in path if above.level < block.level]
        yield replace(block, headings=tuple(above.text for above in path))
        if block.kind == "heading":
            path.append(block)


def _walk(tokens: list[Token], source: str, lines: list[int]) -> Iterator[Block]:
    """Yield the blocks of a token stream; `lines` are the starts of lines, then the end."""

    def span(token: Token) -> tuple[int, int]:
        first, last = (lines[min(line, len(lines) - 1)] for line in token.map)
        return trimmed(source, first, last)

    index = 0
    while index < len(tokens):
        token, following = tokens[index], tokens[min(index + 1, len(tokens) - 1)]
        close = _closing(tokens, index) if token.nesting == 1 else index
        if token.type == "heading_open":
            yield Block(_visible(following), *span(token), "heading", level=int(token.tag[1]))
        elif token.type == "paragraph_open":
            yield Block(_visible(following), *span(token), "prose")
        elif token.type in ("bullet_list_open", "ordered_list_open"):
            start, end = span(token)
            items = tuple(_items(tokens[index:close], source, span))
            yield Block(source[start:end], start, end, "list", items=items)
            inner = _walk(tokens[index + 1:close], source, lines)
            yield from (block for block in inner if block.kind in ("table", "code"))
        elif token.type == "table_open":
            header, *rows = _rows(tokens[index:close], source, lines)
            start, end = span(token)
            yield Block(source[start:end], start, end, "table", header=header, rows=tuple(rows))
        elif token.type in ("fence", "code_block", "html_block"):
            kind = "html" if token.type == "html_block" else "code"
            yield Block(token.content, *span(token), kind)
        else:
            close = index  # a block quote, whose blocks follow
        index = close + 1


def _closing(tokens: list[Token], index: int) -> int:
    level = tokens[index].level
    return next(at for at in range(index + 1, len(tokens))
                if tokens[at].level == level and tokens[at].nesting == -1)


def _items(tokens: list[Token], source: str, span) -> Iterator[Item]:
    """Yield the items of a list and of its nested lists; an item's text is its paragraphs."""
    ordered: list[bool] = []
    for index, token in enumerate(tokens):
        if token.type in ("bullet_list_open", "ordered_list_open"):
            ordered.append(token.type.startswith("ordered"))
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            ordered.pop()
        elif token.type == "list_item_open":
            paragraphs = []
            for inner in tokens[index + 1:_closing(tokens, index)]:
                if inner.type in ("bullet_list_open", "ordered_list_open"):
                    break
                if inner.type == "inline" and inner.level == token.level + 2:
                    paragraphs.append(inner)
            if paragraphs:
                start, end = span(paragraphs[0])[0], span(paragraphs[-1])[1]
                start = _PREFIX.match(source, start, end).end()
                text = " ".join(map(_visible, paragraphs))
                yield Item(text, start, end, len(ordered) - 1, ordered[-1])


def _rows(tokens: list[Token], source: str, lines: list[int]) -> Iterator[tuple[Span, ...]]:
    """Yield header and body rows as cells, each located between the pipes of its line."""
    for index, token in enumerate(tokens):
        if token.type != "tr_open":
            continue
        inside = tokens[index:_closing(tokens, index)]
        first, last = lines[token.map[0]], lines[token.map[0] + 1]
        begin = _PREFIX.match(source, first).end()
        line = source[begin:last].rstrip("\r\n")
        bounds = [-1, *(pipe.start() for pipe in _PIPE.finditer(line)), len(line)]
        if not line[:bounds[1]].strip() and len(bounds) > 2:
            bounds = bounds[1:]
        row = []
        for cell, (left, right) in zip((one for one in inside if one.type == "inline"),
                                       pairwise(bounds), strict=False):
            start, end = trimmed(source, begin + left + 1, begin + right)
            row.append(Span(_visible(cell), start, max(start, end)))
        yield tuple(row)
