"""Rewrite lists and tables as sentences; keep everything else as it is, under its heading (3.2)."""

import re
from collections import defaultdict
from functools import lru_cache
from typing import NamedTuple

from tqdm import tqdm

from lib.core.records import Document, Normalized, Segment
from lib.core.structures import structure_of
from lib.documents.blocks import (
    Block,
    block_at,
    line_start,
    parse,
    sentences,
    title_heading,
)
from lib.documents.inline import untagged
from lib.documents.language import ENGLISH
from lib.documents.sites import sites
from lib.normalize.segments import ELSEWHERE, KEPT, WORDLESS

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
                segment_id=segment.segment_id, document_id=name, rating=None,
                remark="" if is_english or dropped else remark, text="" if dropped else text,
                dropped=dropped)
    return [rows[segment.segment_id] for segment in segments]


def _changes(document: Document, blocks: tuple[Block, ...]) -> list[_Change]:
    changes, inside = [], {block.inside for block in blocks}
    for site in sites(document, blocks):
        block, structure = site.block, structure_of(site.block.kind)
        is_nested = block.inside >= 0 or block.start in inside
        found = [] if is_nested or structure is None else list(structure.rewrite(site))
        start = site.lead_start if site.lead_start >= 0 else line_start(site.text, block.start)
        first = block.rows[0][0].start if block.rows and block.rows[0] else start
        if found and _is_whole(site.text[first:block.end], " ".join(text for _, text in found)):
            changes.append(_Change(start, block.end, found))
    return changes


# Unless each word and number of a block is in its sentences, it stays as it is
def _is_whole(raw: str, written: str) -> bool:
    return set(_WORD.findall(untagged(raw).lower())) <= set(_WORD.findall(written.lower()))


def _rewritten(segment: Segment, document: Document, blocks: tuple[Block, ...],
               changes: list[_Change]) -> str:
    first, last = (_border(at, document.text, blocks) for at in (segment.start, segment.end))
    pieces, at = [], first
    for change in changes:
        if change.end <= first or change.start >= last:
            continue
        pieces.append(document.text[at:max(at, change.start)])
        pieces.append(" ".join(text for start, text in change.sentences if first <= start < last))
        at = min(change.end, last)
    text = "".join([*pieces, document.text[at:last]]).strip()
    inside = [block.kind for block in blocks
              if block.start < segment.end and segment.start < block.end]
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
    if not first or segment.start <= first.start and first.kind == "heading" or (
            not first.headings and segment.start == 0):
        return ""
    path = [document.title, *(text for text in first.headings if not title or text != title.text)]
    names = [name for name in dict.fromkeys(path) if name]
    return f"In {', '.join(names)}:\n\n" if names else ""
