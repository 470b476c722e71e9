"""Parse Markdown into blocks with spans; a fact's block determines its structure (paper, 3.1)."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache
from operator import attrgetter

from markdown_it import MarkdownIt

from lib.documents.inline import Span, plain, trimmed
from lib.documents.reader import NEWLINE, Block, Reader, commonmark

CONTENT = ("prose", "list", "table")  # kinds of block of which a document needs one

_PARSER = MarkdownIt("commonmark").enable("table").disable("inline")
_PARSER.normalizeLink = str  # a target stays as it is written
_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n.*?^---[ \t]*(?:\r?\n|\Z)", re.S | re.M)
# "J. Smith" continues the sentence, "draws 4 W." ends it
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|approx|resp|incl|max|min|No|Fig|Eq|Sec|Dr|Mr|Ms|Inc|Ltd|Co|cf|al)"
    r"\.|(?<!\d )\b[A-Z]\.)$"
)
_CLOSERS = "\"')\\]*_`”’»）」』】〉》"
_BOUNDARY = re.compile(
    rf"""[.!?:][{_CLOSERS}]*(?P<gap>\s+)(?=["'(\[`*_“‘«„（「『【]*[^\W_a-zß-öø-ÿα-ωа-я])"""
    rf"|[。！？｡][{_CLOSERS}]*(?P<none>\s*)(?=\S)"
)
_FRONT_MATTER_TITLE = re.compile(r"^title[ \t]*:[ \t]*(.+?)[ \t]*$", re.M)
_start = attrgetter("start")


@lru_cache(4096)  # so a stage parses a document once
def parse(source: str) -> tuple[Block, ...]:
    """Return the blocks of `source` in order. A table or code inside a list follows that list."""
    front, references = _FRONT_MATTER.match(source), {}
    body, blocks = source, []
    if front:
        body = NEWLINE.sub("\n", re.sub(r"[^\r\n]", " ", front[0])) + source[front.end() :]
        blocks = [Block(front[0], 0, front.end(), "front-matter")]
    body = commonmark(body)
    tokens = _PARSER.parse(body, references)
    return (*blocks, *Reader(source, body, tokens, references).blocks())


def block_at(blocks: Sequence[Block], start: int, end: int) -> Block | None:
    """Return the innermost block around source[start:end]."""
    index = bisect_right(blocks, start, key=_start) - 1
    if index >= 0 and blocks[index].end < end and blocks[index].inside >= 0:
        index = bisect_left(blocks, blocks[index].inside, key=_start)
    return blocks[index] if index >= 0 and end <= blocks[index].end else None


def sentences(source: str, start: int, end: int) -> list[Span]:
    """Return the sentences of source[start:end]; together they cover all but whitespace.

    Line breaks and markup are removed in `text`. A colon ends a sentence only before a new line
    that starts one, so that notices and lead-ins stay separate from the sentence that follows.
    """
    spans, begin = [], start
    for match in _BOUNDARY.finditer(source, start, end):
        is_wide = match["gap"] is None
        if not is_wide and _is_inside(source, begin, match):
            continue
        gap = match.span("none" if is_wide else "gap")
        spans.append(trimmed(source, begin, gap[0]))
        begin = gap[1]
    spans.append(trimmed(source, begin, end))
    return [Span(plain(source[first:last]), first, last) for first, last in spans if first < last]


def title_heading(blocks: Sequence[Block]) -> Block | None:
    """Return the heading that is the document's title, None if no heading is.

    It is the first one, if it is above all others and of level 1, or comes before all else.
    """
    headings = [block for block in blocks if block.kind == "heading" and block.text]
    first, *others = headings or [None]
    is_above = headings and all(one.level > first.level for one in others)
    return first if is_above and (first.level == 1 or blocks[0] is first) else None


def front_title(blocks: Sequence[Block]) -> str:
    """Return the title of the front matter, "" if there is none."""
    has_front = blocks and blocks[0].kind == "front-matter"
    match = _FRONT_MATTER_TITLE.search(blocks[0].text) if has_front else None
    return match[1].strip("\"'") if match else ""


def line_start(text: str, at: int) -> int:
    """Return the start of the line that contains text[at]."""
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1


# Whether a stop before a capital is part of its sentence: "e.g. Oslo".
def _is_inside(source: str, begin: int, stop: re.Match) -> bool:
    if source[stop.start()] == ":":
        return "\n" not in stop["gap"]
    return _ABBREVIATION.search(source, max(begin, stop.start() - 12), stop.start() + 1) is not None
