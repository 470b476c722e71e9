"""Audit what each rewrite lost or invented: words, items, sentences, negations (paper, 3.2)."""

import re
from collections import defaultdict
from collections.abc import Sequence
from functools import cache, cached_property, lru_cache
from html import unescape
from itertools import groupby

import pandas as pd

from lib.core.records import Augmented, Document, Normalized, Record, Segment
from lib.core.values import tokens
from lib.normalize.compare import compare
from lib.normalize.rewrite import fact_words, words_in
from lib.normalize.sources import Source

# unit: an amount; item: a short list item or table cell, kept or lost as a unit; sentence: most of
# its words are in no one place; negation: lost or added; order: a number in the place of another
_OF_WORDS = ("number", "unit", "path", "version", "name", "item")
KINDS = (*_OF_WORDS, "sentence", "negation", "order")
_NONE: dict[str, list[str]] = {kind: [] for kind in KINDS if kind not in _OF_WORDS}

_WORD_KINDS = {  # of a single word; any other is a name
    "version": re.compile(r"v?\d+(?:\.\d+){2,}\S*|v\d+(?:\.\d+)*\S*", re.I),
    "path": re.compile(r"\S*\w?[/\\]\w\S*|\S*[^\W\d]\S*\.[A-Za-z][A-Za-z0-9]{0,4}"),
    "number": re.compile(r"\W*\d[\d.,:/%°–-]*[^\W\d_]{0,3}\W*")}


class SegmentAudit(Record):
    """One segment compared with its rewrite, by kind; each word, amount or item counts once."""

    segment_id: str
    document_id: str
    dropped: str  # why there is no rewrite; then everything is lost or moved
    said: dict[str, int]  # in the segment
    written: dict[str, int]  # in its rewrite; items are not counted there
    lost: dict[str, list[str]]  # in the segment, neither in its rewrite nor in the neighbours'
    moved: dict[str, list[str]]  # in a neighbour's rewrite: a border does not divide a sentence
    invented: dict[str, list[str]]  # in the rewrite, and nowhere in the document
    carried: dict[str, list[str]]  # in the rewrite and elsewhere in the document, as in a header

    def number(self, *changes: str) -> int:
        """Count these changes over all kinds."""
        return sum(len(words) for change in changes for words in getattr(self, change).values())

    @property
    def is_changed(self) -> bool:
        """Return whether anything was lost, moved or invented, or the segment was dropped."""
        return bool(self.number("lost", "moved", "invented") or self.dropped)


def audit(segments: list[Segment], documents: list[Document],
          normalized: list[Normalized]) -> list[SegmentAudit]:
    """Return one row per segment, worst first: most lost and invented, then most moved.

    Words are compared as a set, as `lost_tokens` does: if a number appears twice and is written
    once, no number is lost. A number with a unit counts as an amount (30 s is 0.5 min), and not as
    a number. Sentences, negations and the order of numbers are compared by `compare`.
    Raises KeyError for a segment without a row in `normalized` or without its document.
    """
    by_id = {document.document_id: document for document in documents}
    rewrites = {row.segment_id: row for row in normalized}
    near: dict[str, list[str]] = defaultdict(list)
    for before, after in zip(segments, segments[1:], strict=False):
        if before.document_id == after.document_id:
            near[before.segment_id].append(rewrites[after.segment_id].text)
            near[after.segment_id].append(rewrites[before.segment_id].text)
    rows: list[SegmentAudit] = []
    for document_id, own in groupby(segments, key=lambda segment: segment.document_id):
        document = by_id[document_id]
        source, whole = Source(document), _Facts(f"{document.title}\n\n{document.text}")
        rows += [_audited(segment, source, whole, rewrites[segment.segment_id].text,
                          rewrites[segment.segment_id].dropped,
                          "\n\n".join(near[segment.segment_id])) for segment in own]
    return sorted(rows, key=lambda row: (-row.number("lost", "invented"), -row.number("moved")))


def audit_texts(texts: Sequence[Augmented], segments: list[Segment],
                documents: list[Document]) -> list[SegmentAudit]:
    """Return one row per augmented text, in their order, compared with its segment as above.

    What a text leaves out is lost. Raises KeyError for an unknown segment or document.
    """
    by_id = {document.document_id: document for document in documents}
    of_segment = {segment.segment_id: segment for segment in segments}
    read = cache(lambda one: (Source(by_id[one]),
                              _Facts(f"{by_id[one].title}\n\n{by_id[one].text}")))
    return [_audited(of_segment[row.segment_id], *read(row.document_id), row.text, row.dropped, "")
            for row in texts]


def kind_of(word: str) -> str:
    """Return the kind of a single word that carries a fact: version, path, number or name."""
    return next((kind for kind, pattern in _WORD_KINDS.items() if pattern.fullmatch(word)), "name")


def kinds_table(rows: list[SegmentAudit]) -> pd.DataFrame:
    """Return one row per kind, "all" last: said, lost, lost_percent of said, moved, written,
    invented, invented_percent of written, carried."""
    table = pd.DataFrame([
        {"kind": kind, "said": sum(row.said[kind] for row in rows),
         "lost": _total(rows, "lost", kind), "moved": _total(rows, "moved", kind),
         "written": sum(row.written[kind] for row in rows),
         "invented": _total(rows, "invented", kind), "carried": _total(rows, "carried", kind)}
        for kind in KINDS])
    total = pd.DataFrame([{"kind": "all", **table.drop(columns="kind").sum()}])
    table = pd.concat([table, total], ignore_index=True)
    for place, part, of in ((3, "lost", "said"), (7, "invented", "written")):
        share = 100 * table[part] / table[of].where(table[of] > 0)
        table.insert(place, f"{part}_percent", share.astype(float))
    return table


def segments_table(rows: list[SegmentAudit], limit: int = 30) -> pd.DataFrame:
    """Return the worst `limit` changed segments: counts with their totals, and the words."""
    columns = ["segment", "said", "lost", "moved", "written", "invented", "carried", "words lost",
               "words invented", "dropped"]
    return pd.DataFrame([(
        row.segment_id, sum(row.said.values()), row.number("lost"), row.number("moved"),
        sum(row.written.values()), row.number("invented"), row.number("carried"),
        _listed(row.lost), _listed(row.invented), row.dropped)
        for row in rows if row.is_changed][:limit], columns=columns)


def sentence(rows: list[SegmentAudit]) -> str:
    """Summarize the audit as text."""
    table = kinds_table(rows).set_index("kind")
    total = table.loc["all"]
    n_bad = sum(row.number("lost", "invented") > 0 for row in rows)
    if not total.said:
        return "There is nothing to audit: the segments contain no numbers, names or items."
    parts = ", ".join(f"{row.lost:.0f}/{row.said:.0f} {kind}s"
                      for kind, row in table.drop(index="all").iterrows() if row.said)
    return (f"Of {total.said:.0f} facts (words, amounts and items) in {len(rows)} segments, the "
            f"rewrites lost {total.lost:.0f} ({total.lost_percent:.2f}%): {parts}; "
            f"{total.moved:.0f} more are in the rewrite of a neighbouring segment. Of "
            f"{total.written:.0f} in the rewrites, {total.invented:.0f} are nowhere in their "
            f"document and {total.carried:.0f} were carried over from elsewhere in it. "
            f"{n_bad}/{len(rows)} segments lost or invented something.")


class _Facts:
    """The words and amounts of a text, by which it is compared with another."""

    def __init__(self, text: str, items: Sequence[str] = ()) -> None:
        self.text, self.items = text, items

    @cached_property
    def words(self) -> dict[str, str]:
        return fact_words(self.text)

    @cached_property
    def every_word(self) -> frozenset[str]:
        return words_in(self.text)

    @cached_property
    def amounts(self) -> dict[object, str]:
        """Return the numbers with a unit, as value -> text."""
        return {token.value: token.text for token in tokens(unescape(self.text))
                if token.kind == "number" and token.value[0]}

    def missing_in(self, other: "_Facts") -> dict[str, list[str]]:
        """Return the facts that are not in `other`, by kind."""
        inside = {part for text in self.amounts.values() for part in (text, *text.split())}
        found: dict[str, list[str]] = {kind: [] for kind in _OF_WORDS}
        for folded, word in self.words.items():
            word = word.rstrip(".:!?") or word  # it may have ended a sentence
            kind = kind_of(word)
            if folded not in other.every_word and (kind != "number" or word not in inside):
                found[kind].append(word)
        found["unit"] = [text for value, text in self.amounts.items() if value not in other.amounts]
        found["item"] = [item for item in self.items
                         if not words_in(item) - {""} <= other.every_word]
        return found


_said = lru_cache(1)(_Facts)  # the texts of a segment follow each other


def _audited(segment: Segment, source: Source, whole: _Facts, text: str, dropped: str,
             near: str) -> SegmentAudit:
    nothing, written = _Facts(""), _Facts(text)
    said = _said(segment.text, tuple(source.items_of(segment)))
    lost, new = said.missing_in(written), written.missing_in(said)
    gone = said.missing_in(_Facts(f"{text}\n\n{near}")) if any(lost.values()) else lost
    invented = written.missing_in(whole) if any(new.values()) else new
    found = compare(source.required(segment), text, near)
    every, all_written = said.missing_in(nothing), written.missing_in(nothing)
    return SegmentAudit(
        segment_id=segment.segment_id, document_id=segment.document_id, dropped=dropped,
        said={**_counts(every), "sentence": found.n_units, "negation": found.n_negations,
              "order": 0},
        written={**_counts(all_written), "sentence": found.n_written, "negation": 0,
                 "order": found.n_numbers},
        lost={**gone, "sentence": found.lost, "negation": found.affirmed, "order": []},
        moved={**_without(lost, gone), **_NONE},
        invented={**invented, "sentence": found.invented, "negation": found.negated,
                  "order": found.swapped},
        carried={**_without(new, invented), **_NONE})


def _counts(words: dict[str, list[str]]) -> dict[str, int]:
    return {kind: len(found) for kind, found in words.items()}


def _without(words: dict[str, list[str]], others: dict[str, list[str]]) -> dict[str, list[str]]:
    return {kind: [word for word in words[kind] if word not in others[kind]] for kind in _OF_WORDS}


def _total(rows: list[SegmentAudit], change: str, kind: str) -> int:
    return sum(len(getattr(row, change)[kind]) for row in rows)


def _listed(words: dict[str, list[str]], most: int = 12) -> str:
    every = [word for kind in KINDS for word in words[kind]]
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more
