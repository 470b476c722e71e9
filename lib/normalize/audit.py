"""What the normalizer lost or invented in each segment: numbers, units, paths, versions, names, items (paper, 3.2)."""

import re
from collections import defaultdict
from functools import lru_cache

import pandas as pd

from lib.core.records import Document, Normalized, Record, Segment
from lib.core.values import tokens
from lib.documents.blocks import Span, parse
from lib.normalize.rewrite import lost_tokens

KINDS = ("number", "unit", "path", "version", "name", "item")  # unit: an amount; item: of a list, or a table's cell

_VERSION = re.compile(r"v?\d+(?:\.\d+){2,}\S*|v\d+(?:\.\d+)*\S*", re.I)
_PATH = re.compile(r"\S*\w?[/\\]\w\S*|\S*[^\W\d]\S*\.[A-Za-z][A-Za-z0-9]{0,4}")
_NUMBER = re.compile(r"\W*\d[\d.,:/%°–-]*[^\W\d_]{0,3}\W*")
_FEW = 8  # words: as in lost_tokens, an item or cell up to this long is kept or lost as one


class SegmentAudit(Record):
    """One segment beside its rewrite, by kind. What is counted once is a word, an amount, or an item of its own."""

    segment_id: str
    document_id: str
    dropped: str  # why there is no rewrite; then everything is lost or moved
    said: dict[str, int]  # in the segment
    written: dict[str, int]  # in its rewrite; items are not counted there
    lost: dict[str, list[str]]  # in the segment, and neither in its rewrite nor in those beside it
    moved: dict[str, list[str]]  # in the rewrite of the segment before or after: a sentence is not torn at a border
    invented: dict[str, list[str]]  # in the rewrite, and nowhere in the document
    carried: dict[str, list[str]]  # in the rewrite and elsewhere in the document, such as its title or a header

    def number(self, *changes: str) -> int:
        """How many were changed so, over all kinds."""
        return sum(len(words) for change in changes for words in getattr(self, change).values())


def audit(segments: list[Segment], documents: list[Document], normalized: list[Normalized]) -> list[SegmentAudit]:
    """One row a segment, worst first: most lost and invented, then most moved; the rest in the order of `segments`.

    Words are compared as `lib.normalize.rewrite.lost_tokens` does, as a set: of a number that stands twice and is written
    once nothing is lost. A number with a unit counts as an amount (30 s is 0.5 min) and not as a number besides.
    Raises KeyError naming a segment without a row in `normalized`, or a document that is not there.
    """
    by_id = {document.document_id: document for document in documents}
    rewrites = {row.segment_id: row for row in normalized}
    spans = {document.document_id: _short_items(document) for document in documents}
    beside: dict[str, list[str]] = defaultdict(list)
    for before, after in zip(segments, segments[1:], strict=False):
        if before.document_id == after.document_id:
            beside[before.segment_id].append(rewrites[after.segment_id].text)
            beside[after.segment_id].append(rewrites[before.segment_id].text)
    rows = [_audited(segment, by_id[segment.document_id], rewrites[segment.segment_id],
                     "\n\n".join(beside[segment.segment_id]),
                     [span.text for span in spans[segment.document_id] if segment.start <= span.start < segment.end])
            for segment in segments]
    return sorted(rows, key=lambda row: (-row.number("lost", "invented"), -row.number("moved")))


def kind_of(word: str) -> str:
    """The kind of a single word that tells a fact: version, path, number or name."""
    kinds = (("version", _VERSION), ("path", _PATH), ("number", _NUMBER))
    return next((kind for kind, pattern in kinds if pattern.fullmatch(word)), "name")


def kinds_table(rows: list[SegmentAudit]) -> pd.DataFrame:
    """By kind, "all" last: said, lost, lost_percent of said, moved; written, invented, invented_percent, carried."""
    table = pd.DataFrame([{
        "kind": kind, "said": sum(row.said[kind] for row in rows), "lost": _total(rows, "lost", kind),
        "moved": _total(rows, "moved", kind), "written": sum(row.written[kind] for row in rows),
        "invented": _total(rows, "invented", kind), "carried": _total(rows, "carried", kind)} for kind in KINDS])
    table = pd.concat([table, pd.DataFrame([{"kind": "all", **table.drop(columns="kind").sum()}])], ignore_index=True)
    table.insert(3, "lost_percent", (100 * table.lost / table.said.where(table.said > 0)).astype(float))
    table.insert(7, "invented_percent", (100 * table.invented / table.written.where(table.written > 0)).astype(float))
    return table


def segments_table(rows: list[SegmentAudit], limit: int = 30) -> pd.DataFrame:
    """The worst `limit` segments that changed anything: counts with what they are counted of, and the words."""
    return pd.DataFrame([{
        "segment": row.segment_id, "said": sum(row.said.values()), "lost": row.number("lost"),
        "moved": row.number("moved"), "written": sum(row.written.values()), "invented": row.number("invented"),
        "carried": row.number("carried"),
        "words lost": _listed(row.lost), "words invented": _listed(row.invented), "dropped": row.dropped}
        for row in rows if row.number("lost", "moved", "invented") or row.dropped][:limit],
        columns=["segment", "said", "lost", "moved", "written", "invented", "carried", "words lost", "words invented",
                 "dropped"])


def sentence(rows: list[SegmentAudit]) -> str:
    """The audit in words, every number of it computed."""
    table = kinds_table(rows).set_index("kind")
    whole, bad = table.loc["all"], [row for row in rows if row.number("lost", "invented")]
    if not whole.said:
        return "There is nothing to audit: the segments hold no numbers, names or items."
    parts = [f"{row.lost:.0f}/{row.said:.0f} {kind}s" for kind, row in table.drop(index="all").iterrows() if row.said]
    return (f"Of {whole.said:.0f} telling words, amounts and items in {len(rows)} segments, the rewrites lost "
            f"{whole.lost:.0f} ({whole.lost_percent:.2f}%): {', '.join(parts)}; {whole.moved:.0f} more stand in the "
            f"rewrite of a neighbouring segment. Of {whole.written:.0f} in the rewrites, {whole.invented:.0f} stand "
            f"nowhere in their document and {whole.carried:.0f} were carried from elsewhere in it. "
            f"{len(bad)}/{len(rows)} segments lost or invented something.")


def _audited(segment: Segment, document: Document, rewrite: Normalized, beside: str, items: list[str]) -> SegmentAudit:
    source, elsewhere = segment.text, f"{document.title}\n\n{document.text}"
    lost, new = _missing(source, items, rewrite.text), _missing(rewrite.text, [], source)
    gone = _missing(source, items, f"{rewrite.text}\n\n{beside}") if any(lost.values()) else lost
    invented = _missing(rewrite.text, [], elsewhere) if any(new.values()) else new
    return SegmentAudit(
        segment_id=segment.segment_id, document_id=segment.document_id, dropped=rewrite.dropped,
        said={kind: len(words) for kind, words in _missing(source, items, "").items()},
        written={kind: len(words) for kind, words in _missing(rewrite.text, [], "").items()},
        lost=gone, moved={kind: [word for word in lost[kind] if word not in gone[kind]] for kind in KINDS},
        invented=invented, carried={kind: [word for word in new[kind] if word not in invented[kind]] for kind in KINDS})


def _missing(source: str, items: list[str], other: str) -> dict[str, list[str]]:
    """What tells facts in `source` and is not in `other`, by kind; all of it where `other` is empty."""
    amounts, there = _amounts(source), _amounts(other)
    inside = {part for text in amounts.values() for part in (text, *text.split())}
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for word in lost_tokens(source, other):
        word = word.rstrip(".:!?") or word  # it may have ended a sentence
        kind = kind_of(word)
        if kind != "number" or word not in inside:
            found[kind].append(word)
    found["unit"] = [text for value, text in amounts.items() if value not in there]
    found["item"] = [item for item in items if not other or lost_tokens(f"- {item}", other)]
    return found


@lru_cache(64)  # a document is asked for once a segment
def _amounts(text: str) -> dict[object, str]:
    """Numbers with a unit: what they are worth -> how they are written."""
    return {token.value: token.text for token in tokens(text) if token.kind == "number" and token.value[0]}


def _short_items(document: Document) -> list[Span]:
    """List items and cells of up to _FEW words. A header is not audited: "Property" and "Value" say nothing."""
    spans = [span for block in parse(document.text)
             for span in [*block.items, *(cell for row in block.rows for cell in row)]]
    return [span for span in spans if re.search(r"\w", span.text) and len(span.text.split()) <= _FEW]


def _total(rows: list[SegmentAudit], change: str, kind: str) -> int:
    return sum(len(getattr(row, change)[kind]) for row in rows)


def _listed(words: dict[str, list[str]], most: int = 12) -> str:
    said = [word for kind in KINDS for word in words[kind]]
    return ", ".join(said[:most]) + (f" and {len(said) - most} more" if len(said) > most else "")
