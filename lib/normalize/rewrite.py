"""Segments rewritten as narrative prose, by rules or by a model, and the audit of what was lost (paper, 3.2)."""

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from html import unescape
from typing import TYPE_CHECKING

from tqdm import tqdm

from lib.core.records import Document, Normalized, Segment
from lib.documents.blocks import parse
from lib.normalize.rules.parts import Part, parts_of
from lib.normalize.rules.prose import write
from lib.normalize.segments import WORDLESS

if TYPE_CHECKING:
    from lib.llm.calls import Calls

# What one character of a part says to a reader who learns from text: running prose most, code least.
_WEIGHTS = {"sentence": 1.0, "lead-in": 1.0, "item": 0.8, "row": 0.7, "heading": 0.5, "code": 0.3}
_WORD = re.compile(r"[^\s()\[\]{}<>\"'`*|,;“”‘’]+")
_UNSEEN = re.compile(r"!\[([^\]]*)\]\([^)\s]*\)|\]\(#[^)\s]*\)|<!--.*?-->|^[ \t]*#{1,6}[ \t]|"
                     r"<(?!https?:|[^>\s]+@)[^>]*>", re.S | re.M)
_TELLING = re.compile(r"\d|\w[_/\\.@]\w|^/\w|[a-z][A-Z]|[A-Z]{2}")
_FEW = 8  # words: a cell or item up to this long counts as a name


def normalize(segments: list[Segment], documents: list[Document], normalizer: str = "rules",
              document_kind: str = "technical records", calls: "Calls | None" = None) -> list[Normalized]:
    """Rewrite segments as prose: one row a segment, in their order; what is dropped keeps its row with its reason.

    `normalizer` is "rules" (deterministic, from the blocks of the whole document, so that a segment which begins
    inside a table or list knows its header and headings), or a model id that is asked with `calls`. `document_kind`
    fills the prompt's slot. Raises KeyError naming a document that is not among `documents`, ValueError for a model
    without `calls`, CallsStopped as `lib.llm.complete` does.
    """
    by_id = {document.document_id: document for document in documents}
    missing = sorted({segment.document_id for segment in segments} - set(by_id))
    if missing:
        raise KeyError(f"segments of {missing[0]!r}, but no such document: run this notebook again after 00")
    if normalizer != "rules":
        from lib.normalize.model import ask_model  # the rules need no client
        return ask_model(segments, by_id, normalizer, document_kind, calls)
    by_document: dict[str, list[Segment]] = {}
    for segment in segments:
        by_document.setdefault(segment.document_id, []).append(segment)
    rows: dict[str, Normalized] = {}
    for document_id, its_segments in tqdm(by_document.items(), desc="normalize"):
        parts = parts_of(by_id[document_id])
        starts = [part.start for part in parts]
        for segment in its_segments:
            own = parts[bisect_left(starts, segment.start):bisect_left(starts, segment.end)]
            rows[segment.segment_id] = _by_rules(segment, own, by_id[document_id].title)
    return [rows[segment.segment_id] for segment in segments]


def _by_rules(segment: Segment, parts: list[Part], title: str) -> Normalized:
    is_headed = re.match(rf"\s*#\s+{re.escape(title)}[ \t#]*(?:\n|\Z)", segment.text) is not None
    text = write(parts, title, is_headed=is_headed)
    dropped = ""
    if not text:
        dropped = (WORDLESS if not re.search(r"\w", segment.text)
                   else "only headings, or the rest of a sentence: the segments beside it hold them")
    return Normalized(segment_id=segment.segment_id, document_id=segment.document_id, text=text, dropped=dropped,
                      rating=None if dropped else _rating(parts), remark="" if dropped else _remark(parts))


def _rating(parts: list[Part]) -> int:
    """1-10: ten times the characters' mean weight (prose 1, items .8, rows .7, headings .5, code .3), less 2 where
    there are fewer than 20 words."""
    size = sum(len(part.text) for part in parts)
    mean = sum(_WEIGHTS[part.kind] * len(part.text) for part in parts) / max(size, 1)
    words = sum(len(part.text.split()) for part in parts)
    return max(1, min(10, round(10 * mean)) - (2 if words < 20 else 0))


def _remark(parts: list[Part]) -> str:
    """What the segment is made of, in words."""
    counts = Counter("sentence" if part.kind == "lead-in" else part.kind for part in parts)
    names = {"sentence": "sentences kept", "item": "list items rewritten", "row": "table rows rewritten",
             "code": "lines of code kept", "heading": "empty sections"}
    return ", ".join(f"{counts[kind]} {name}" for kind, name in names.items() if counts[kind])


def lost_tokens(source: str, rewritten: str) -> list[str]:
    """Words of `source`, Markdown, that carry facts and are not in `rewritten`: each once, in order, as written.

    Such words are numbers, versions, paths, code names and capitals anywhere, and every word of table cells and list
    items of up to eight words. Compared without case, markup and the punctuation around them. What a reader never
    sees does not count: addresses of images, targets inside the page, HTML tags and comments.
    """
    kept = {_folded(word) for word in _WORD.findall(rewritten)}
    telling = set()
    for block in parse(source):
        for span in [*block.items, *(cell for row in block.rows for cell in row)]:
            if len(span.text.split()) <= _FEW:
                telling |= {_folded(word) for word in _WORD.findall(span.text)}
    lost: dict[str, str] = {}
    for word in _WORD.findall(unescape(_UNSEEN.sub(lambda match: f"{match[1] or ' '} ", source))):
        folded = _folded(word)
        if folded and folded not in kept and (folded in telling or _TELLING.search(word)):
            lost.setdefault(folded, word)
    return list(lost.values())


def _folded(word: str) -> str:
    """A word for comparison: escapes, case and the punctuation around it removed."""
    word = unicodedata.normalize("NFKC", re.sub(r"\\(?=[!-/:-@\[-`{-~])", "", word)).casefold()
    return word.strip(".:!?_-–—=~#\\")
