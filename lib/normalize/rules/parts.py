"""A document as parts, the least that one segment writes whole: sentences, list items, table rows (paper, 3.2)."""

import re
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass, replace

from markdown_it import MarkdownIt

from lib.core.records import Document
from lib.documents.blocks import Block, Item, parse, sentences
from lib.documents.inline import ended, readable, unquoted
from lib.documents.subject import Scope, scopes

_DEFINITION = re.compile(r"^[ >]{0,8}\[([^\]\n]+)\]:[ \t]*<?(\S+?)>?(?:[ \t]+(.+))?$", re.M)
_MARKER = re.compile(r"^(?:[ \t>]*(?:[-*+]|\d{1,9}[.)]|#{1,6})(?:[ \t]+|$))*(?:\[[ xX]\][ \t]+)?")
_NUMBER = re.compile(r"(\d{1,9})[.)]\s+(?:\[[ xX]\]\s+)?\Z")
_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(?:`{3,}|~{3,})")
Holes = list[tuple[int, int]]  # starts and ends of what stands inside a list and is no item


@dataclass(frozen=True)
class Part:
    """A sentence, item, row, code line or heading; it belongs to the segment in which it starts."""

    kind: str  # sentence, lead-in, item, row, code, heading
    start: int  # characters of the document
    end: int
    text: str  # its words; a code line verbatim
    group: int  # parts of one group are written together; a lead-in is in the group of its list
    headings: tuple[str, ...]  # that it stands under, outermost first
    scope: Scope
    lead: str = ""  # of an item: the words that introduce its list
    is_first: bool = False  # of its list or code
    is_last: bool = False
    depth: int = 0  # of an item
    parents: tuple[str, ...] = ()  # of an item: the items it stands under, outermost first
    header: tuple[str, ...] = ()  # of a row
    cells: tuple[str, ...] = ()


def parts_of(document: Document) -> list[Part]:
    """All parts of a document in the order of their starts: no word of it is in none, and none is in two.

    Headings are no parts but the `headings` of what stands under them, save those that nothing stands under.
    """
    blocks = parse(document.text)
    references: dict = {}
    if _DEFINITION.search(document.text):
        MarkdownIt("commonmark").enable("table").parse(document.text, references)
    parts: list[Part] = []
    for number, (block, scope) in enumerate(zip(blocks, scopes(document, blocks), strict=True)):
        found = Part("sentence", block.start, block.end, "", number, block.headings, scope)
        parts += _PARTS[block.kind](block, found, document.text, _holes(block, blocks, number), references)
    parts = list(_with_lead_ins(sorted(parts, key=lambda part: part.start)))
    parts = sorted([*parts, *_left_over(document, blocks, parts, references)], key=lambda part: part.start)
    return _without_named_headings(parts)


def _without_named_headings(parts: list[Part]) -> list[Part]:
    """Only the headings that nothing stands under: every other one is named by what stands under it."""
    kept: list[Part] = []
    below: tuple[str, ...] = ()
    for part in reversed(parts):
        if part.kind != "heading":
            below = part.headings
            kept.append(part)
        elif below[:len(part.headings) + 1] != (*part.headings, part.text):
            kept.append(part)
    return kept[::-1]


def _holes(block: Block, blocks: list[Block], number: int) -> Holes:
    """The tables and code inside a list, which are blocks of their own."""
    holes = []
    for other in blocks[number + 1:]:
        if other.start >= block.end:
            break
        holes.append((other.start, other.end))
    return holes


def _prose(block: Block, found: Part, source: str, holes: Holes, references: dict) -> Iterator[Part]:
    """Sentences; where a cut would tear a link or emphasis apart the sentences stay together."""
    begin = None
    for span in sentences(source, block.start, block.end):
        begin = span.start if begin is None else begin
        raw = source[begin:span.end]
        if span.end < block.end and not _is_whole(raw):
            continue
        text = readable(unquoted(raw), references)
        if re.search(r"\w", text):
            yield replace(found, start=begin, end=span.end, text=text)
        begin = None


def _is_whole(raw: str) -> bool:
    return (raw.count("`") % 2 == 0 and raw.count("**") % 2 == 0 and raw.count("[") <= raw.count("]")
            and raw.count("(") <= raw.count(")"))


def _list(block: Block, found: Part, source: str, holes: Holes, references: dict) -> Iterator[Part]:
    parents: list[str] = []
    for index, item in enumerate(block.items):
        *before, last = list(_paragraphs(item, source, holes, references)) or [""]
        text = " ".join([*map(ended, before), last])
        numbered = _NUMBER.search(source, max(0, item.start - 20), item.start) if item.ordered else None
        parents = parents[:item.depth]
        yield replace(found, kind="item", start=item.start, end=item.end, depth=item.depth, parents=tuple(parents),
                      text=f"({numbered[1]}) {text}" if numbered else text, is_first=index == 0,
                      is_last=index == len(block.items) - 1)
        parents.append(text)


def _paragraphs(item: Item, source: str, holes: Holes, references: dict) -> Iterator[str]:
    """The words of an item's paragraphs, without the code and tables that stand between them."""
    begin = item.start
    for start, end in [*(hole for hole in holes if item.start < hole[0] < item.end), (item.end, item.end)]:
        for paragraph in re.split(r"\n[ \t>]*\n", source[begin:start]):
            if words := readable(unquoted(paragraph), references):
                yield words
        begin = end


def _table(block: Block, found: Part, source: str, holes: Holes, references: dict) -> Iterator[Part]:
    """Rows with their header. Cells beyond the header's columns are no part of a table in Markdown: they are lost."""
    header = tuple(readable(source[cell.start:cell.end], references) for cell in block.header)
    if not block.rows and any(header):
        yield replace(found, text="; ".join(filter(None, header)))
    for index, row in enumerate(block.rows):
        cells = tuple(readable(source[cell.start:cell.end].replace("\\|", "|"), references) for cell in row)
        yield replace(found, kind="row", start=row[0].start, end=row[-1].end, header=header, cells=cells,
                      text="; ".join(filter(None, cells)), is_first=index == 0, is_last=index == len(block.rows) - 1)


def _code(block: Block, found: Part, source: str, holes: Holes, references: dict) -> Iterator[Part]:
    """Lines of code, each with the blank lines after it, so that joined they are the code."""
    matches = list(re.finditer(r"[^\n]*\S[^\n]*(?:\n[ \t>]*(?=\n))*", source[block.start:block.end]))
    if matches and _FENCE.match(matches[0][0]):
        matches = matches[1:-1] if _FENCE.fullmatch(matches[-1][0].rstrip()) else matches[1:]
    for index, match in enumerate(matches):
        yield replace(found, kind="code", start=block.start + match.start(), end=block.start + match.end(),
                      text=match[0], is_first=index == 0, is_last=index == len(matches) - 1)


def _heading(block: Block, found: Part, source: str, holes: Holes, references: dict) -> Iterator[Part]:
    """A heading; one with a link's target has a sentence besides, since openings name headings without targets."""
    if block.text:
        yield replace(found, kind="heading", text=block.text)
        full = readable(source[block.start:block.end].strip("# \t=-\n"), references)
        if full != block.text:
            yield replace(found, headings=(*block.headings, block.text), text=f"The heading in full is {full}")


def _html(block: Block, found: Part, source: str, holes: Holes, references: dict) -> Iterator[Part]:
    text = readable(unquoted(source[block.start:block.end]), references)
    if re.search(r"\w", text):
        yield replace(found, text=text)


def _front_matter(block: Block, found: Part, source: str, holes: Holes, references: dict) -> Iterator[Part]:
    for line in re.finditer(r"^(?!---)(.*\w.*)$", block.text, re.M):
        pair = re.fullmatch(r"([\w -]+):\s+(.+)", line[1].strip())
        text = f"The {pair[1]} of the document is {pair[2].strip(chr(34))}" if pair else line[1].strip()
        yield replace(found, start=block.start + line.start(), end=block.start + line.end(), text=text)


_PARTS = {"prose": _prose, "list": _list, "table": _table, "code": _code, "heading": _heading, "html": _html,
          "front-matter": _front_matter}


def _with_lead_ins(parts: list[Part]) -> Iterator[Part]:
    """Move a sentence that ends with a colon to the group of the list right after it, and tell that list's items."""
    leads = {}
    for part, following in zip(parts, [*parts[1:], None], strict=True):
        if part.kind == "sentence" and part.text.endswith(":") and following and following.is_first and \
                following.kind == "item":
            leads[following.group] = part.text
            yield replace(part, kind="lead-in", group=following.group)
        else:
            yield replace(part, lead=leads.get(part.group, "")) if part.kind == "item" else part


def _left_over(document: Document, blocks: list[Block], parts: list[Part], references: dict) -> Iterator[Part]:
    """What no block holds: text after a list inside an item, quotes in items, link definitions never used."""
    taken = sorted([(part.start, part.end) for part in parts]
                   + [(block.start, block.end) for block in blocks if block.kind != "list"])
    scope = scopes(document, [Block("", 0, 0, "prose")])[0]
    begin = 0
    for number, (start, end) in enumerate([*taken, (len(document.text), len(document.text))]):
        for match in re.finditer(r"[^\n]*\w[^\n]*(?:\n[^\n]*\w[^\n]*)*", document.text[begin:max(begin, start)]):
            text = _left_words(match[0], document.text, references)
            if text:
                place = bisect(parts, begin + match.start(), key=lambda part: part.start)
                above = parts[place - 1] if place else None
                headings = () if not above else (*above.headings, *([above.text] if above.kind == "heading" else []))
                yield Part("sentence", begin + match.start(), begin + match.end(), text, -1 - number, headings,
                           above.scope if above else scope)
        begin = max(begin, end)


def _left_words(raw: str, source: str, references: dict) -> str:
    """The words of lines that no block holds; "" for a list marker, and for a link definition that is used."""
    said = []
    for line in raw.splitlines():
        definition = _DEFINITION.fullmatch(line)
        if not definition:
            said.append(_MARKER.sub("", line))
        elif source.casefold().count(f"[{definition[1]}]".casefold()) == 1:  # a used one is written where it is used
            said.append(f"{definition[1]} refers to {', '.join(filter(None, definition.groups()[1:]))}.")
    text = readable(unquoted("\n".join(said)), references)
    return text if re.search(r"\w", text) else ""
