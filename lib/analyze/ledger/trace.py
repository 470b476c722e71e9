"""Trace each fact from the words of its answer in a document to a block that an arm was trained on.

The paper never checks whether a fact that it asks about survived segmentation, extraction,
rewriting and the split.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from tqdm import tqdm

from lib.analyze.ledger.blocks import Located, Trained
from lib.analyze.ledger.matching import Form, Place, around, items_of, nearest, places, worst
from lib.core.arms import RAW_ARMS, split_arm
from lib.core.files import made_by
from lib.core.records import Document, Normalized, Query, Record, Segment, Structure
from lib.documents.blocks import Block, parse

Stage = Literal["source", "segment", "extraction", "rewrite", "split", "block"]
STAGES: tuple[Stage, ...] = ("source", "segment", "extraction", "rewrite", "split", "block")


class LedgerRow(Record):
    """One query's answer on its way into an arm's training; offsets count characters."""

    query_id: str
    arm: str
    structure: Structure
    items: int  # number of items in the answer: a list's entities, else 1
    source: Form  # form of the worst item in the query's source reference
    source_items: int  # how many of `items` are found there
    start: int  # span of all items found; the source reference if none is found
    end: int
    segments: list[str]  # those with these characters; a rewrite may move a cut sentence
    segment: Literal["whole", "cut"]
    dropped: str  # why one of these has no rewrite; "" if all have one, and for raw text
    rewritten: Form  # form in their rewrites or their neighbours'; for raw text, in their words
    rewritten_items: int
    passage: str  # the answer's sentence or line in the text that is (or would be) trained on
    split: Literal["training", "held out", "both"]  # side of the segments that have the items
    block: Literal["whole", "cut", "nowhere"]  # its tokens are in one piece, several or none
    blocks: list[int]  # those that hold some of its tokens
    subject: str  # title or heading that the question names; "" if neither
    subject_in_segment: bool | None  # whether the segments' text has it; None without a subject
    subject_in_block: bool | None  # whether the answer's piece has it; None if either is missing
    lost_at: Stage | Literal[""]  # the first stage that did not keep it complete; "": in training


@dataclass(frozen=True)
class _Kept:
    """An item in the text that an arm's segments gave: its segment, its place and its tokens."""

    form: Form
    segment_id: str
    place: Place
    text: str
    located: Located


def make_ledger(queries: list[Query], documents: list[Document], segments: list[Segment],
                normalized: list[Normalized], arms: dict[str, Trained]) -> list[LedgerRow]:
    """Return one row per query and trained arm.

    An answer reached training if all its items are complete in one piece of a block; otherwise
    `lost_at` is the first stage that broke this. Raises KeyError naming a document that
    is not among `documents`.
    """
    by_id = {document.document_id: document for document in documents}
    missing = sorted({query.document_id for query in queries} - set(by_id))
    if missing:
        raise KeyError(f"queries of {missing[0]!r}, but no such document: run {made_by('queries')} "
                       "again for these documents")
    of_document: dict[str, list[Segment]] = defaultdict(list)
    for segment in segments:
        of_document[segment.document_id].append(segment)
    rewrites = {row.segment_id: row for row in normalized}
    blocks = {document.document_id: parse(document.text) for document in documents}
    return [trace(query, by_id[query.document_id], of_document[query.document_id], rewrites, arm,
                  trained, blocks[query.document_id])
            for arm, trained in arms.items() for query in tqdm(queries, desc=f"ledger of {arm}")]


def trace(query: Query, document: Document, segments: list[Segment],
          rewrites: dict[str, Normalized], arm: str, trained: Trained,
          blocks: list[Block]) -> LedgerRow:
    """Return the row of one query and arm, following its answer stage by stage.

    `segments` and `blocks` are the document's; `rewrites` are keyed by segment id.
    """
    is_raw = split_arm(arm)[0] in RAW_ARMS

    # 1) Source: find each item of the answer within the query's source reference.
    items = items_of(query)
    reference = document.text[query.start:query.end]
    found = [nearest(places(item, reference), reference, query.question) for item in items]
    source_items = sum(place is not None for place in found)
    start = min((query.start + place.start for place in found if place), default=query.start)
    end = max((query.start + place.end for place in found if place), default=query.end)

    # 2) Segment: which segments hold these characters? With two or more, a border cuts the answer.
    holding = [one for one in segments if one.start < end and start < one.end]
    ids = [one.segment_id for one in holding]
    segment = "whole" if len(ids) == 1 else "cut"

    # 3) Extraction: a model's rewrite may be dropped; raw text needs none.
    reasons = [] if is_raw else [rewrites[one].dropped for one in ids if rewrites[one].dropped]
    dropped = "; ".join(dict.fromkeys(reasons))

    # 4) Rewrite: find each item in the text that these segments gave. A normalizer that knows the
    #    complete document, as the rules do, writes a sentence, row or item that a border cuts into
    #    the segment where it begins, so the other segments that it reaches are searched next.
    own = [] if is_raw else [rewrites[one] for one in ids]
    neighbours = [rewrites[one] for one in _reached(query, segments, blocks) if one not in ids]
    kept = [_in_raw_text(place, query.start, holding, document, trained) if is_raw
            else _in_rewrites(item, own, query.question, trained)
            or _in_rewrites(item, neighbours, query.question, trained)
            for item, place in zip(items, found, strict=True)]
    is_there = all(kept)

    # 5) Split: are the segments whose text has the items in training or held out?
    homes = list(dict.fromkeys(one.segment_id for one in kept)) if is_there and not is_raw else ids
    held = set(homes) & set(trained.corpus.held_out)
    split = "training" if not held else "held out" if len(held) == len(homes) else "both"

    # 6) Block: which pieces of which blocks hold all tokens of the answer, or some of them?
    numbers = sorted({piece.block for one in kept if one for piece in one.located.parts})
    is_placed = bool(kept) and all(one and one.located.parts for one in kept)
    whole = [piece for piece in kept[0].located.whole
             if all(piece in one.located.whole for one in kept)] if is_placed else []
    block = "whole" if whole else "cut" if is_placed else "nowhere"

    # 7) Lost at: the first stage that did not keep the answer, unless a block holds all of it. A
    #    border alone loses nothing, because raw text is joined again in training. A fact is lost
    #    only if items are missing from the text to train on, or if one side is held out.
    is_kept = {"source": source_items == len(items),
               "segment": segment == "whole" or is_there and split != "both",
               "extraction": is_there or not dropped, "rewrite": is_there,
               "split": split == "training", "block": False}
    lost_at = "" if whole else next(stage for stage in STAGES if not is_kept[stage])

    # 8) Subject: is what the question is about named near the answer as well?
    headings = [one.text for one in blocks if one.kind == "heading"]
    subject = subject_of(query.question, [document.title, *headings])
    text = "\n\n".join(one.text if is_raw else rewrites[one.segment_id].text for one in segments
                       if one.segment_id in {*ids, *homes})
    in_block = any(places(subject, piece.text) for piece in whole) if subject and whole else None
    return LedgerRow(
        query_id=query.query_id, arm=arm, structure=query.structure, items=len(items),
        source=worst([place.form if place else "absent" for place in found]),
        source_items=source_items, start=start, end=end, segments=ids, segment=segment,
        dropped=dropped, rewritten=worst([one.form if one else "absent" for one in kept]),
        rewritten_items=sum(one is not None for one in kept),
        passage=" … ".join(dict.fromkeys(around(one.text, one.place) for one in kept if one)),
        split=split, block=block, blocks=numbers, subject=subject,
        subject_in_segment=bool(places(subject, text)) if subject else None,
        subject_in_block=in_block, lost_at=lost_at)


def subject_of(question: str, names: Iterable[str]) -> str:
    """Return the first of `names` (a title, then headings) that the question contains, else ""."""
    return next((name for name in names
                 if re.search(r"[^\W\d]", name) and places(name, question)), "")


def _reached(query: Query, segments: list[Segment], blocks: list[Block]) -> list[str]:
    """Return the segments that the source reference reaches into, or the list item around it."""
    spans = [query, *(item for block in blocks for item in block.items
                      if item.start < query.end and query.start < item.end)]
    start, end = min(span.start for span in spans), max(span.end for span in spans)
    return [one.segment_id for one in segments if one.start < end and start < one.end]


def _in_raw_text(place: Place | None, shift: int, holding: list[Segment], document: Document,
                 trained: Trained) -> _Kept | None:
    """Find an item's own characters in the texts that are trained on."""
    if place is None:
        return None
    start, end = shift + place.start, shift + place.end
    own = [one for one in holding if one.start < end and start < one.end]
    at = [trained.corpus.places.get(one.segment_id) for one in own]
    located = Located((), ())
    if all(at) and len({text for text, _ in at}) == 1:
        text, begin = at[0]
        begin += start - own[0].start
        located = trained.locate(text, begin, begin + end - start)
    absolute = Place(start, end, place.form)
    return _Kept(place.form, own[0].segment_id, absolute, document.text, located)


def _in_rewrites(item: str, rewrites: list[Normalized], question: str,
                 trained: Trained) -> _Kept | None:
    """Find an item in rewrites, first in those trained on, in the sentence nearest the question."""
    found = [(row, place) for row in rewrites
             if (place := nearest(places(item, row.text), row.text, question))]
    if not found:
        return None
    row, place = min(found, key=lambda pair: pair[0].segment_id not in trained.corpus.places)
    at, located = trained.corpus.places.get(row.segment_id), Located((), ())
    if at:
        located = trained.locate(at[0], at[1] + place.start, at[1] + place.end)
    return _Kept(place.form, row.segment_id, place, row.text, located)
