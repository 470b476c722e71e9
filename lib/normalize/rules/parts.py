"""Divide a document into parts (sentences, items, rows), which segments keep intact (3.2)."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from lib.core.records import Document
from lib.core.structures import structure_of
from lib.documents.blocks import Block, line_start, sentences
from lib.documents.inline import ended, joined, readable, unquoted, unquoted_code
from lib.documents.reader import Item
from lib.documents.subject import subjects
from lib.normalize.rules.facts import PICTURE, refers
from lib.normalize.rules.furniture import rejoined, without_pages
from lib.normalize.rules.left_over import left_over
from lib.normalize.rules.markup import code_title, unmarked, unticked, with_notes, without_anchor

_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(?:`{3,}|~{3,})")
_CODE_LINE = re.compile(r"[^\n]*\S[^\n]*(?:\n[ \t>]*(?=\n))*")  # with the empty lines after it
_IMAGE = re.compile(r"\s*\[?!\[(?P<alt>[^\]]*)\](?:\([^)]*\)|\[[^\]]*\])"
                    r"(?:\](?:\([^)]*\)|\[[^\]]*\]))?\s*|\s*<img\b[^<>]*>\s*")
_EMPTY_LINE = re.compile(r"\n[ \t>]*\n")
_WHOLE = re.compile(  # code, emphasis, links and parentheses, which no cut divides
    r"(`+)(?!`).{1,999}?(?<!`)\1(?!`)|\*\*.{1,999}?\*\*|"
    r"(?<!\w)([_*])(?=\w)(?:(?!\2).){1,999}+\2(?!\w)|"
    r"\[(?:[^\[\]]|\[[^\[\]]{0,999}+\]){0,999}+\](?:\([^()\s]*+(?:\([^()\s]*+\)[^()\s]*+)*+\))?|"
    r"\((?:[^()]|\((?:[^()]|\([^()]{0,99}+\)){0,99}+\)){0,999}+\)", re.S)
_CODE = re.compile(r"`[^`]+`")  # a cell that is only code
_KEY = re.compile(r"([\w-]+)\s*:\s+(.+)")
_BLOCK_SCALAR = re.compile(r"(?<=:)[ \t]*[>|][+-]?\d?[ \t]*$", re.M)  # YAML: what follows, indented
_ENTRY = re.compile(r"^[^\s:]+:[ \t]*[>|][+-]?\d?[ \t]*(?:\n[ \t]+\S.*)+|^(?!---).*\w.*$", re.M)
_OF_DOCUMENT = ("title", "subtitle", "description", "summary", "author", "language")


@dataclass(frozen=True)
class Part:
    """A sentence, item, row, code line or heading; it belongs to the segment where it starts."""

    kind: str  # sentence, lead-in, item, row, code, heading
    start: int  # characters of the document
    end: int
    text: str  # its words; a code line verbatim
    group: int  # parts of one group are written together; a lead-in is in the group of its list
    headings: tuple[str, ...]  # the headings above it, outermost first
    owner: str  # what its attributes may be given to: "the port of <owner>"; "" for nothing
    lead: str = ""  # of an item: the words that introduce its list; of code: its title
    is_first: bool = False  # of its list, table or code
    is_last: bool = False
    depth: int = 0  # of an item
    parents: tuple[str, ...] = ()  # of an item: the items that contain it, outermost first
    header: tuple[str, ...] = ()  # of a row
    cells: tuple[str, ...] = ()
    above: str = ""  # of a lead-in and its items: the sentences before it that it needs
    is_titled: bool = True  # not above the heading that is the document's title


@dataclass(frozen=True)
class Source:
    """One block of a document with the context needed to read it."""

    block: Block
    blank: Part  # with the fields that all parts of the block share
    text: str  # of the document
    inner: Sequence[Block]  # tables and code inside the block, a list
    references: dict  # the document's link definitions
    notes: frozenset[str]  # the marks of its footnotes

    def words(self, raw: str) -> str:
        return readable(with_notes(unmarked(unquoted(raw)), self.notes), self.references)

    def cell(self, raw: str) -> str:
        """Return a cell's words; the name of an image is no value, code with a colon no text."""
        image, words = _IMAGE.fullmatch(raw), self.words(raw)
        if image and image["alt"] and words.startswith(image["alt"]):
            words = f'"{image["alt"]}"{words.removeprefix(image["alt"])}'
        if _CODE.fullmatch(raw) and re.search(r"[.!?:;](?:\s|$)", words):
            return f"'{words}'" if '"' in words else f'"{words}"'
        return PICTURE + words if image and words else words


def parts_of(document: Document, blocks: Sequence[Block], references: dict) -> list[Part]:
    """Return all parts of a document in order of start; each word is in exactly one.

    `blocks` and `references` are what `lib.documents.blocks.parse` makes of its text. A heading is
    a part only if there is no text below it; otherwise it is in `headings` of the parts below.
    """
    text = document.text
    parts: list[Part] = []
    starts = [block.start for block in blocks]
    notes = frozenset(block.footnote for block in blocks if block.footnote)
    titled = next((block.start for block in blocks if block.level == 1
                   and block.text == document.title), 0)
    for number, (block, subject) in enumerate(
            zip(blocks, subjects(document, blocks), strict=True)):
        blank = Part("sentence", block.start, block.end, "", number,
                     () if block.footnote else block.headings,
                     subject.owner, is_titled=block.start >= titled)
        inner = blocks[number + 1:bisect_left(starts, block.end, number + 1)]
        structure = structure_of(block.kind)
        read = structure.rewrite if structure else _READERS[block.kind]
        parts += read(Source(block, blank, text, inner, references, notes))
    parts = list(_with_lead_ins(sorted(parts, key=lambda part: part.start)))
    blank = Part("sentence", 0, 0, "", 0, (), "", is_titled=not titled)
    parts += list(left_over(text, blocks, parts, references, blank))
    parts = _without_named_headings(sorted(parts, key=lambda part: part.start))
    return list(rejoined(parts))


def _without_named_headings(parts: list[Part]) -> list[Part]:
    kept: list[Part] = []
    below: tuple[str, ...] = ()
    for part in reversed(parts):
        if part.kind != "heading":
            below = part.headings
            kept.append(part)
        elif below[:len(part.headings) + 1] != (*part.headings, part.text):
            kept.append(part)
    return kept[::-1]


def of_prose(source: Source) -> Iterator[Part]:
    """Yield sentences, joined where a cut would divide a link or emphasis."""
    block, blank = source.block, source.blank
    raw, pages = without_pages(source.text[block.start:block.end])
    for start, end in pages:
        yield replace(blank, start=block.start + start, end=block.start + end,
                      text=source.text[block.start + start:block.start + end].strip())
    label = f"Footnote {block.footnote}: " if block.footnote else ""
    begin, whole = None, [(0, 0), *(match.span() for match in _WHOLE.finditer(raw))]
    for span in sentences(raw, 0, len(raw)):
        begin = span.start if begin is None else begin
        if span.end < whole[bisect_left(whole, (span.end,)) - 1][1]:
            continue
        text = source.words(raw[begin:span.end])
        if re.search(r"\w", text):
            yield replace(blank, start=block.start + begin, end=block.start + span.end,
                          text=_pictured(raw[begin:span.end], f"{label}{text}"))
            label = ""
        begin = None


def _pictured(raw: str, words: str) -> str:
    return ended(f"There is an image: {words}") if _IMAGE.fullmatch(raw) else words


def of_list(source: Source) -> Iterator[Part]:
    """Yield items, cut at the code and tables inside them."""
    parents: list[str] = []
    items, starts = source.block.items, [block.start for block in source.inner]
    for index, item in enumerate(items):
        inner = source.inner[bisect_left(starts, item.start):bisect_left(starts, item.end)]
        pieces = list(_pieces(item, inner, source))
        parents = parents[:item.depth]
        for begin, end, text in pieces:
            is_numbered = item.number is not None and begin == item.start
            yield replace(source.blank, kind="item", start=begin, end=end,
                          text=f"({item.number}) {text}" if is_numbered else text,
                          depth=item.depth, parents=tuple(parents),
                          is_first=index == 0 and begin == item.start,
                          is_last=index == len(items) - 1 and end == pieces[-1][1])
        parents.append(pieces[0][2] if pieces else "")


def _pieces(item: Item, inner: Sequence[Block],
            source: Source) -> Iterator[tuple[int, int, str]]:
    begin = item.start
    for start, end in [*((block.start, block.end) for block in inner), (item.end, item.end)]:
        text = unticked(source.text[begin:start])
        if words := joined(list(filter(None, map(source.words, _EMPTY_LINE.split(text))))):
            yield begin, max(begin, start), words
        begin = end


def of_table(source: Source) -> Iterator[Part]:
    """Yield rows with their header. As in Markdown, cells beyond the header's columns are lost."""
    rows = source.block.rows
    header = tuple(source.words(source.text[cell.start:cell.end]) for cell in source.block.header)
    if not rows and any(header):
        yield replace(source.blank, text="; ".join(filter(None, header)))
    for index, row in enumerate(rows):
        row = [cell for cell in row if cell.start > source.block.start]  # others are missing
        raw = [source.text[cell.start:cell.end].replace("\\|", "|") for cell in row]
        cells = tuple(map(source.cell, raw))
        yield replace(source.blank, kind="row", start=row[0].start, end=row[-1].end,
                      header=header, cells=cells, text="; ".join(filter(None, cells)),
                      is_first=index == 0, is_last=index == len(rows) - 1)


def of_code(source: Source) -> Iterator[Part]:
    """Yield lines of code, without the fences; joined, they are the code."""
    start, title = source.block.start, ""
    lines = list(_CODE_LINE.finditer(source.text[start:source.block.end]))
    begin = line_start(source.text, start)
    first = source.text[begin:source.block.end]
    indent = re.sub(r"[^\s>]", " ", source.text[begin:start])
    if lines and _FENCE.match(lines[0][0]):
        title = code_title(lines[0][0])
        lines = lines[1:-1] if _FENCE.fullmatch(lines[-1][0].rstrip()) else lines[1:]
        indent = ""
    for index, line in enumerate(lines):
        yield replace(source.blank, kind="code", start=start + line.start(),
                      end=start + line.end(), lead=title,
                      text=unquoted_code(line[0] if index else indent + line[0], first),
                      is_first=index == 0, is_last=index == len(lines) - 1)


# A heading, and a sentence with its link targets, which opening phrases omit.
def _heading(source: Source) -> Iterator[Part]:
    if (block := source.block).text:
        yield replace(source.blank, kind="heading", text=block.text)
        raw = source.text[block.start:block.end].strip("# \t=-\n")
        full = readable(without_anchor(raw), source.references)
        if full != block.text:
            yield replace(source.blank, headings=(*block.headings, block.text),
                          text=f'The heading in full is "{full}"')


def _html(source: Source) -> Iterator[Part]:
    raw = source.text[source.block.start:source.block.end]
    if re.search(r"\w", text := source.words(raw)):
        yield replace(source.blank, text=_pictured(raw, text))


def _front_matter(source: Source) -> Iterator[Part]:
    start = source.block.start
    for line in _ENTRY.finditer(source.block.text):
        text = " ".join(_BLOCK_SCALAR.sub(" ", line[0]).split())
        if pair := _KEY.fullmatch(text):
            value = pair[2].strip("\"' ")
            text = f"The metadata of the document give {pair[1]} as {value}"
            if pair[1].lower() in _OF_DOCUMENT:
                text = f'The document gives its {pair[1].lower()} as "{value}"'
        yield replace(source.blank, start=start + line.start(), end=start + line.end(), text=text)


_READERS = {"code": of_code, "heading": _heading, "html": _html, "front-matter": _front_matter}


def _with_lead_ins(parts: list[Part]) -> Iterator[Part]:
    leads: dict[int, tuple[str, str]] = {}
    said, group = "", -1  # the last sentence, after those that it refers to, and where it is
    for part, following in zip_longest(parts, parts[1:]):
        above, group = said if part.group == group else "", part.group
        said = f"{above} {part.text}".strip() if refers(part.text) else part.text
        is_before_list = following and following.is_first and following.kind == "item"
        if part.kind == "sentence" and part.text.endswith(":") and is_before_list:
            leads[following.group] = part.text, above if refers(part.text) else ""
            yield replace(part, kind="lead-in", group=following.group, above=above)
        else:
            lead, above = leads.get(part.group, ("", ""))
            yield replace(part, lead=lead, above=above) if part.kind == "item" else part
