"""Rewrite segments by rules, deterministically and without a model (paper, 3.2)."""

import re
from bisect import bisect_left
from collections import Counter, defaultdict

from tqdm import tqdm

from lib.core.records import Document, Normalized, Segment
from lib.documents.blocks import parse
from lib.documents.language import ENGLISH
from lib.normalize.rules.parts import Part, parts_of
from lib.normalize.rules.prose import write
from lib.normalize.segments import ELSEWHERE, WORDLESS

KEPT = "kept as it is"  # the remark on a segment that is not in English begins with it
# What one character of a part teaches a reader: running prose most, code least.
_WEIGHTS = {"sentence": 1.0, "lead-in": 1.0, "item": 0.8, "row": 0.7, "heading": 0.5, "code": 0.3}
_NAMES = {"sentence": "sentences kept", "item": "list items rewritten",
          "row": "table rows rewritten", "code": "lines of code kept", "heading": "empty sections"}


def by_rules(segments: list[Segment], documents: dict[str, Document]) -> list[Normalized]:
    """Return one row per segment, written from the parts of its document that start in it.

    So a segment that begins inside a table or list still has its header and headings. Segments of
    a document in another language than English are kept as they are; their remark says so.
    """
    by_document: dict[str, list[Segment]] = defaultdict(list)
    for segment in segments:
        by_document[segment.document_id].append(segment)
    rows: dict[str, Normalized] = {}
    for document_id, its_segments in tqdm(by_document.items(), desc="normalize"):
        document = documents[document_id]
        if document.language not in ENGLISH:
            rows |= {segment.segment_id: _kept(segment, document) for segment in its_segments}
            continue
        references: dict = {}
        parts = parts_of(document, parse(document.text, references), references)
        starts = [part.start for part in parts]
        for segment in its_segments:
            first, last = bisect_left(starts, segment.start), bisect_left(starts, segment.end)
            rows[segment.segment_id] = _rewritten(
                segment, parts[first:last], document.title, parts[first - 1] if first else None)
    return [rows[segment.segment_id] for segment in segments]


# The segment unchanged: sentences in English would mix two languages
def _kept(segment: Segment, document: Document) -> Normalized:
    text = segment.text.strip() if re.search(r"\w", segment.text) else ""
    return Normalized(
        segment_id=segment.segment_id, document_id=segment.document_id, text=text, rating=None,
        remark=f"{KEPT}: the document's language is {document.language!r}" if text else "",
        dropped="" if text else WORDLESS)


def _rewritten(segment: Segment, parts: list[Part], title: str,
               before: Part | None) -> Normalized:
    is_headed = re.match(rf"\s*#\s+{re.escape(title)}[ \t#]*(?:\n|\Z)", segment.text) is not None
    text, dropped = write(parts, title, before, is_headed=is_headed), ""
    if not text:
        dropped = ELSEWHERE
        if not re.search(r"\w", segment.text):
            dropped = WORDLESS
    return Normalized(segment_id=segment.segment_id, document_id=segment.document_id, text=text,
                      dropped=dropped, rating=None if dropped else _rating(parts),
                      remark="" if dropped else _remark(parts))


def _rating(parts: list[Part]) -> int:
    size = sum(len(part.text) for part in parts)
    mean = sum(_WEIGHTS[part.kind] * len(part.text) for part in parts) / max(size, 1)
    words = sum(len(part.text.split()) for part in parts)
    return max(1, min(10, round(10 * mean)) - (2 if words < 20 else 0))


def _remark(parts: list[Part]) -> str:
    counts = Counter("sentence" if part.kind == "lead-in" else part.kind for part in parts)
    return ", ".join(f"{counts[kind]} {name}" for kind, name in _NAMES.items() if counts[kind])
