"""Rewrite lists and tables as sentences; keep everything else as it is, under its heading (3.2)."""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from tqdm import tqdm

from lib.core.records import Document, Normalized, Segment
from lib.core.structures import structure_of
from lib.core.text import listed
from lib.documents.language import ENGLISH
from lib.documents.markdown import (
    Block,
    block_at,
    ended,
    line_start,
    parse,
    plain,
    sentences,
    title_heading,
    unquoted,
    untagged,
)
from lib.documents.phrases import in_sentence, is_attribute, is_value
from lib.documents.sites import Site, row_key, sites
from lib.normalize.segments import ELSEWHERE, KEPT, WORDLESS

SHORT_WORDS = 8  # of an item that can share a sentence
# a lead-in whose condition or negation each item needs
_CONDITIONAL = re.compile(
    r"\b(?:not|no|never|none|without|avoid|only|except|if|unless|when|before|"
    r"after|until|must|should|may|either|one of|any of|\w+n['’]t)\b",
    re.I,
)

Sentences = Iterator[tuple[int, str]]  # each with the place where its source begins
_WORD = re.compile(r"[^\W_]+")
_HEADING = re.compile(r"\s{0,3}#{1,6}[ \t]")


_sentences = lru_cache(8)(sentences)  # a long paragraph is cut many times


class _Change(NamedTuple):
    start: int  # document.text[start:end] is left out
    end: int
    sentences: list[tuple[int, str]]  # each belongs to the segment where it starts


def by_rules(segments: list[Segment], documents: dict[str, Document]) -> list[Normalized]:
    """Return one row per segment: its text, with the rows and items that start in it as sentences.

    A segment that begins inside a section names it first. A document in another language than
    English is kept as it is; its remark says so.
    """
    of_document: dict[str, list[Segment]] = defaultdict(list)
    for segment in segments:
        of_document[segment.document_id].append(segment)
    rows: dict[str, Normalized] = {}
    for name, own in tqdm(of_document.items(), desc="normalize"):
        document = documents[name]
        is_english = document.language in ENGLISH
        blocks = parse(document.text) if is_english else ()
        changes = _changes(document, blocks)
        for segment in own:
            text = _rewritten(segment, document, blocks, changes)
            remark = f"{KEPT}: the document's language is {document.language!r}"
            dropped = WORDLESS if not re.search(r"\w", segment.text) else "" if text else ELSEWHERE
            rows[segment.segment_id] = Normalized(
                segment_id=segment.segment_id,
                document_id=name,
                rating=None,
                remark="" if is_english or dropped else remark,
                text="" if dropped else text,
                dropped=dropped,
            )
    return [rows[segment.segment_id] for segment in segments]


def _changes(document: Document, blocks: tuple[Block, ...]) -> list[_Change]:
    changes, inside = [], {block.inside for block in blocks}
    for site in sites(document, blocks):
        block, structure = site.block, structure_of(site.block.kind)
        is_nested = block.inside >= 0 or block.start in inside
        found = [] if is_nested or structure is None else list(structure.rewrite(site))
        start = site.lead_start if site.lead_start >= 0 else line_start(site.text, block.start)
        first = block.rows[0][0].start if block.rows and block.rows[0] else start
        if found and _is_whole(site.text[first : block.end], " ".join(text for _, text in found)):
            changes.append(_Change(start, block.end, found))
    return changes


# Unless each word and number of a block is in its sentences, it stays as it is
def _is_whole(raw: str, written: str) -> bool:
    return set(_WORD.findall(untagged(raw).lower())) <= set(_WORD.findall(written.lower()))


def _rewritten(
    segment: Segment, document: Document, blocks: tuple[Block, ...], changes: list[_Change]
) -> str:
    first, last = (_border(at, document.text, blocks) for at in (segment.start, segment.end))
    pieces, at = [], first
    for change in changes:
        if change.end <= first or change.start >= last:
            continue
        pieces.append(document.text[at : max(at, change.start)])
        pieces.append(" ".join(text for start, text in change.sentences if first <= start < last))
        at = min(change.end, last)
    text = "".join([*pieces, document.text[at:last]]).strip()
    inside = [
        block.kind for block in blocks if block.start < segment.end and segment.start < block.end
    ]
    if not re.search(r"\w", text) or set(inside) == {"heading"}:
        return ""
    return text if _HEADING.match(segment.text) else _opening(segment, document, blocks) + text


# A sentence that is cut belongs to the segment where it starts
def _border(at: int, text: str, blocks: tuple[Block, ...]) -> int:
    block = block_at(blocks, at, at)
    if block is None or block.kind != "prose" or not block.start < at < block.end:
        return at
    spans = _sentences(text, block.start, block.end)
    return next((span.end for span in spans if span.start < at < span.end), at)


def _opening(segment: Segment, document: Document, blocks: tuple[Block, ...]) -> str:
    first = next((block for block in blocks if block.end > segment.start), None)
    title = title_heading(blocks)
    if (
        not first
        or segment.start <= first.start
        and first.kind == "heading"
        or (not first.headings and segment.start == 0)
    ):
        return ""
    path = [document.title, *(text for text in first.headings if not title or text != title.text)]
    names = [name for name in dict.fromkeys(path) if name]
    return f"In {', '.join(names)}:\n\n" if names else ""


def keep(site: Site) -> Sentences:
    """Yield nothing: the block stays as it is."""
    yield from ()


def rewrite_list(site: Site) -> Sentences:
    """Yield the items of a flat list below their lead-in; a nested list stays as it is.

    A lead-in with a condition or a negation is said with each item. Short items share a sentence.
    """
    items, lead = site.block.items, site.lead.strip().rstrip(":").strip()
    if not lead or any(item.depth or item.goes_on for item in items):
        return
    start = site.lead_start if site.lead_start >= 0 else items[0].start
    texts = [_words(site, item.start, item.end).strip(" ,;") for item in items]
    is_short = all(
        len(text.split()) <= SHORT_WORDS and not re.search(r"[.!?;:]\s|:$", text) for text in texts
    )
    for number, (item, text) in enumerate(zip(items, texts, strict=True)):
        text = f"({item.number}) {text}" if item.number is not None else text
        if number == 0 or _CONDITIONAL.search(lead):
            text = f"{lead}: {text}"
        is_open = is_short and not _CONDITIONAL.search(lead) and number < len(items) - 1
        yield (
            start if number == 0 else item.start,
            (f"{text.rstrip('.')};" if is_open else ended(text)),
        )


def rewrite_table(site: Site) -> Sentences:
    """Yield each row, named by all columns that make it unique, with its other cells.

    "For port 80, the protocol is TCP; Required: no." A row that no column makes unique is a series
    of "header: cell".
    """
    header = [_words(site, cell.start, cell.end) for cell in site.block.header]
    if not any(header) or not site.block.rows:
        return
    width = row_key(site.block)
    if not all(is_attribute(name) or not name for name in header[:width]):
        width = 0  # the first column is no name of the rows
    for row in site.block.rows:
        own = [cell for cell in row if cell.start > site.block.start]
        cells = [_words(site, cell.start, cell.end) for cell in own]
        if not own or len(own) > len(header):
            yield row[0].start, ended("; ".join(filter(None, cells)))
            continue
        yield own[0].start, _row([*zip(header, cells, strict=False)], width)


def _row(pairs: list[tuple[str, str]], width: int) -> str:
    others = [(name, cell) for name, cell in pairs[width:] if cell]
    if width == 0 or not others:
        return ended("; ".join(f"{name}: {cell}" if name else cell for name, cell in pairs if cell))
    keys = listed([f"{in_sentence(name)} {cell}".strip() for name, cell in pairs[:width] if cell])
    clauses = [_clause(name, cell) for name, cell in others]
    if len(pairs) == 2 and re.fullmatch(r"(?:value|entry|setting|data|)s?", pairs[1][0], re.I):
        return ended(f"{pairs[0][1]}: {pairs[1][1]}")
    return ended(f"For {keys}, {'; '.join(clause.rstrip('.') for clause in clauses)}")


def _clause(name: str, cell: str) -> str:
    is_short = is_attribute(name) and is_value(cell) and re.search(r"\w", cell)
    return f"the {in_sentence(name)} is {cell}" if is_short else f"{name}: {cell}" if name else cell


def _words(site: Site, start: int, end: int) -> str:
    return plain(unquoted(site.text[start:end].replace("\\|", "|")), targets=True)
