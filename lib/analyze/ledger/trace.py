"""Where each fact went: from the words of its answer in a document to a block that an arm was trained on.

The paper never checks whether a fact that it asks for survived segmentation, extraction, rewriting and the split.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from tqdm import tqdm

from lib.analyze.ledger.blocks import Located, Piece, Trained
from lib.analyze.ledger.matching import Form, Place, around, items_of, nearest, places, worst
from lib.core.arms import split_arm
from lib.core.records import Document, Normalized, Query, Record, Segment, Structure
from lib.documents.blocks import Block, parse

STAGES = ("source", "segment", "extraction", "rewrite", "split", "block")  # in this order a fact is lost


class LedgerRow(Record):
    """What became of one query's answer on its way into one arm's training. Characters count in the document."""

    query_id: str
    arm: str
    structure: Structure
    items: int  # that the answer consists of: the entities of a list, else 1
    source: Form  # of the worst item, within the query's source reference
    source_items: int  # of `items` that stand there
    start: int  # the stretch from the first to the last of them; the source reference where there is none
    end: int
    segments: list[str]  # that hold this stretch; where a border tears its sentence, another may write it
    segment: Literal["whole", "cut"]
    dropped: str  # why one of these segments has no rewrite; "" where all have one, and for raw text
    rewritten: Form  # in the rewrites of these, else of those that its sentence reaches into; raw: in their own words
    rewritten_items: int
    passage: str  # the sentence or line of it in the text that is trained on, or would be
    split: Literal["training", "held out", "both"]  # of the segments whose rewrites have the items, else of `segments`
    block: Literal["whole", "cut", "nowhere"]  # the answer's tokens: in one piece of a block, over several, or not
    blocks: list[int]  # that hold some of them
    subject: str  # what the question asks about: the document's title, or a heading above; "" where it names neither
    subject_in_segment: bool | None  # whether it stands in the text that the segments gave; None where there is none
    subject_in_block: bool | None  # whether it stands beside the answer in its piece of a block
    lost_at: Literal["", "source", "segment", "extraction", "rewrite", "split", "block"]  # "": it reached training


@dataclass(frozen=True)
class _Kept:
    """An item in the text that an arm's segments gave: its segment, its place there, and the tokens of it."""

    form: Form
    segment_id: str
    place: Place
    text: str
    located: Located


def make_ledger(queries: list[Query], documents: list[Document], segments: list[Segment], normalized: list[Normalized],
                arms: dict[str, Trained]) -> list[LedgerRow]:
    """One row a query and trained arm. An answer reached training where all its items stand whole in one piece of a
    block; otherwise `lost_at` is the first stage that did not keep it whole.

    Raises KeyError naming a document that is not among `documents`.
    """
    by_id = {document.document_id: document for document in documents}
    missing = sorted({query.document_id for query in queries} - set(by_id))
    if missing:
        raise KeyError(f"queries of {missing[0]!r}, but no such document: run 01_annotate.ipynb again after 00")
    of_document: dict[str, list[Segment]] = defaultdict(list)
    for segment in segments:
        of_document[segment.document_id].append(segment)
    rewrites = {row.segment_id: row for row in normalized}
    blocks = {document.document_id: parse(document.text) for document in documents}
    rows = []
    for arm, trained in arms.items():
        for query in tqdm(queries, desc=f"ledger of {arm}"):
            document = by_id[query.document_id]
            rows.append(trace(query, document, of_document[query.document_id], rewrites, arm, trained,
                              blocks[query.document_id]))
    return rows


def trace(query: Query, document: Document, segments: list[Segment], rewrites: dict[str, Normalized], arm: str,
          trained: Trained, blocks: list[Block]) -> LedgerRow:
    """The row of one query and arm; `segments` and `blocks` are the document's, `rewrites` are by segment id."""
    subject = subject_of(query.question, [document.title, *(one.text for one in blocks if one.kind == "heading")])
    items = items_of(query)
    found = [nearest(places(item, document.text[query.start:query.end]), document.text[query.start:query.end],
                     query.question) for item in items]
    stretches = [(query.start + place.start, query.start + place.end) for place in found if place]
    start, end = (min(stretches)[0], max(stop for _, stop in stretches)) if stretches else (query.start, query.end)
    holding = [segment for segment in segments if segment.start < end and start < segment.end]
    ids = [segment.segment_id for segment in holding]
    is_raw = split_arm(arm)[0] == "dapt"
    beside = [rewrites[one] for one in _reached(query, segments, blocks) if one not in ids]
    kept = [_raw(place, query.start, holding, document, trained) if is_raw else
            _rewritten(item, [rewrites[one] for one in ids], query.question, trained)
            or _rewritten(item, beside, query.question, trained)  # in a sentence that a border tears
            for item, place in zip(items, found, strict=True)]
    homes = ids if is_raw or not all(kept) else list(dict.fromkeys(one.segment_id for one in kept))
    held = set(homes) & set(trained.corpus.held_out)
    text = "\n\n".join(segment.text if is_raw else rewrites[segment.segment_id].text for segment in segments
                       if segment.segment_id in {*ids, *homes})
    block, numbers, whole = _blocks_of(kept)
    row = {
        "source": worst([place.form if place else "absent" for place in found]), "source_items": len(stretches),
        "start": start, "end": end, "segments": ids, "segment": "whole" if len(ids) == 1 else "cut",
        "dropped": "" if is_raw else "; ".join(dict.fromkeys(filter(None, (rewrites[one].dropped for one in ids)))),
        "rewritten": worst([one.form if one else "absent" for one in kept]),
        "rewritten_items": sum(one is not None for one in kept),
        "split": "training" if not held else "held out" if len(held) == len(homes) else "both",
        "block": block, "blocks": numbers}
    return LedgerRow(
        query_id=query.query_id, arm=arm, structure=query.structure, items=len(items), **row, subject=subject,
        passage=" … ".join(dict.fromkeys(around(one.text, one.place) for one in kept if one)),
        subject_in_segment=bool(places(subject, text)) if subject else None,
        subject_in_block=any(places(subject, piece.text) for piece in whole) if subject and whole else None,
        lost_at=_lost_at(len(items), **row))


def _reached(query: Query, segments: list[Segment], blocks: list[Block]) -> list[str]:
    """The segments that the source reference reaches into, or the list item around it.

    A normalizer that knows the whole document, as the rules do, writes a sentence, row or item that a border tears in
    the segment where it begins; the segment that holds the answer's words may then be without them.
    """
    around_it = [item for block in blocks for item in block.items if item.start < query.end and query.start < item.end]
    start = min([query.start, *(item.start for item in around_it)])
    end = max([query.end, *(item.end for item in around_it)])
    return [segment.segment_id for segment in segments if segment.start < end and start < segment.end]


def subject_of(question: str, names: Iterable[str]) -> str:
    """The first of `names` (a title, then headings) all of whose words the question has in a row; "" where none."""
    return next((name for name in names if re.search(r"[^\W\d]", name) and places(name, question)), "")


def _lost_at(items: int, *, source_items: int, segment: str, dropped: str, rewritten_items: int, split: str, block: str,
             **_: object) -> str:
    """The first stage that did not keep the answer whole; "" where it stands whole in a block all the same.

    A border between segments loses an answer only where it parts it: where items are missing from the text that is
    trained on, or one side is held out. Raw text of two segments in training is joined again there.
    """
    if block == "whole":
        return ""
    is_there = rewritten_items == items
    is_kept = (source_items == items, segment == "whole" or is_there and split != "both", not dropped or is_there,
               is_there, split == "training")
    return next((stage for stage, is_so in zip(STAGES, is_kept, strict=False) if not is_so), "block")


def _raw(place: Place | None, shift: int, holding: list[Segment], document: Document, trained: Trained) -> _Kept | None:
    """An item in the segments' own words: its characters, where they lie in the texts that are trained on."""
    if place is None:
        return None
    start, end = shift + place.start, shift + place.end
    own = [segment for segment in holding if segment.start < end and start < segment.end]
    at = [trained.corpus.places.get(segment.segment_id) for segment in own]
    located = Located((), ())
    if all(at) and len({text for text, _ in at}) == 1:
        text, begin = at[0]
        begin += start - own[0].start
        located = trained.locate(text, begin, begin + end - start)
    return _Kept(place.form, own[0].segment_id, Place(start, end, place.form), document.text, located)


def _rewritten(item: str, rewrites: list[Normalized], question: str, trained: Trained) -> _Kept | None:
    """An item in the rewrites of segments, of one in training if it can be: in the sentence most like the question."""
    found = [(row, place) for row in rewrites if (place := nearest(places(item, row.text), row.text, question))]
    if not found:
        return None
    row, place = min(found, key=lambda pair: pair[0].segment_id not in trained.corpus.places)
    at, located = trained.corpus.places.get(row.segment_id), Located((), ())
    if at:
        located = trained.locate(at[0], at[1] + place.start, at[1] + place.end)
    return _Kept(place.form, row.segment_id, place, row.text, located)


def _blocks_of(kept: list[_Kept | None]) -> tuple[str, list[int], list[Piece]]:
    """Whole, cut or nowhere; the blocks that hold some of the answer; the pieces that hold all of it."""
    parts = sorted({piece.block for one in kept if one for piece in one.located.parts})
    if not kept or not all(one and one.located.parts for one in kept):
        return "nowhere", parts, []
    whole = [piece for piece in kept[0].located.whole if all(piece in one.located.whole for one in kept[1:])]
    return ("whole" if whole else "cut"), parts, whole
