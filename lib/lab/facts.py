"""Questions, rewrites and paraphrases of the laboratory's records, from their known facts."""

import random
from collections import defaultdict
from itertools import groupby
from typing import NamedTuple

from lib.annotate.questions import Candidate, Propose
from lib.core.records import (
    STRUCTURES,
    Document,
    Fact,
    Normalized,
    Rejected,
    Segment,
    listed,
    prose,
)
from lib.lab.records import PHRASES, capitalised, paraphrases
from lib.normalize.segment import ELSEWHERE, Draft, Rewrite, Vary

NO_FACT = "no fact is in this segment"
_MARKS = "-| "  # around a fact: of a bullet, of a table row


def ask_facts(facts: list[Fact]) -> Propose:
    """An engine that asks for each of `facts` in the words that it was generated from."""
    known = _by_document(facts)

    def propose(
        documents: list[Document], max_queries: int
    ) -> list[tuple[list[Candidate], list[Rejected]]]:
        return [
            ([_candidate(fact, document.text) for fact in known[document.document_id]], [])
            for document in documents
        ]

    return propose


def rewrite_facts(facts: list[Fact], is_prose_kept: bool = False) -> Rewrite:
    """An engine that states each of `facts` in a sentence, in the segment where it begins.

    Sentences stay as they are if they name the product, or if `is_prose_kept`. The items of a list
    that is cut follow in the next segment.
    """
    known = _by_document(facts)

    def rewrite(segments: list[Segment], documents: dict[str, Document]) -> list[Normalized]:
        pieces = {
            name: _pieces(document, known[name], is_prose_kept)
            for name, document in documents.items()
        }
        rows = []
        for one in segments:
            name, within = one.document_id, range(one.start, one.end)
            own = [piece for piece in pieces[name] if piece.start in within]
            text = _text(own, documents[name])
            rows.append(
                Normalized(
                    segment_id=one.segment_id,
                    document_id=one.document_id,
                    rating=None,
                    remark="",
                    text=text,
                    dropped="" if text else ELSEWHERE,
                )
            )
        return rows

    return rewrite


def vary_facts(facts: list[Fact]) -> Vary:
    """An augmenter that states all facts of a segment `k` times, in other words and another order.

    It raises ValueError if there are fewer than `k` wordings.
    """
    known = _by_document(facts)

    def vary(segments: list[Segment], documents: dict[str, Document], k: int) -> list[Draft]:
        drafts = []
        for segment in segments:
            rng = random.Random(f"paraphrase {segment.segment_id}")
            text, within = (
                documents[segment.document_id].text,
                range(segment.start, segment.end + 1),
            )
            asked = [(fact, _candidate(fact, text)) for fact in known[segment.document_id]]
            stated = [
                paraphrases(fact.entity, fact.attribute, one.answer.splitlines(), k, rng)
                for fact, one in asked
                if one.start in within and one.end in within
            ]
            texts = [" ".join(rng.sample(each, len(each))) for each in zip(*stated, strict=True)]
            own = [Draft(segment.segment_id, text) for text in texts]
            drafts += own or [Draft(segment.segment_id, "", NO_FACT)]
        return drafts

    return vary


def _by_document(facts: list[Fact]) -> dict[str, list[Fact]]:
    known = defaultdict(list)
    for fact in sorted(facts, key=lambda fact: fact.start):
        known[fact.document_id].append(fact)
    return known


def _candidate(fact: Fact, text: str) -> Candidate:
    structure, raw = STRUCTURES[fact.structure], text[fact.start : fact.end]
    start = fact.start + len(raw) - len(raw.lstrip(_MARKS))
    end = fact.start + len(raw.rstrip(_MARKS))
    answer = next((form for form in (listed(fact.value), ", ".join(fact.value)) if form in raw), "")
    if structure.has_entities:
        answer = "\n".join(fact.value)
        if fact.value[1:]:  # below a lead-in
            start = text.rfind("\n", 0, text.index(fact.value[0], start)) + 1
    above = text[: fact.start].rpartition("\n\n")[2]
    header = above.partition("\n")[0].strip(_MARKS) if raw.startswith("|") else ""
    return Candidate(question(fact), answer, structure.kind, start, end, header)


def question(fact: Fact) -> str:
    """The question about a fact, in the same words whatever its structure."""
    return f"What {'are' if fact.value[1:] else 'is'} the {fact.attribute} of {fact.entity}?"


class _Piece(NamedTuple):
    start: int
    paragraph: int  # where it begins
    text: str
    fact: Fact | None = None  # whose lead-in or item this is


def _pieces(document: Document, facts: list[Fact], is_prose_kept: bool) -> list[_Piece]:
    text, title = document.text, f"# {document.title}"
    notice = text.partition("\n## ")[0].removeprefix(title).strip()
    pieces = [_Piece(0, 0, title), _Piece(text.index(notice), 1, notice.strip("> .") + ".")]
    for fact in facts:
        if not (STRUCTURES[fact.structure].has_entities and fact.value[1:]):
            sentence = sentence_of(fact, text, is_prose_kept)
            pieces.append(_Piece(fact.start, text.rfind("\n\n", 0, fact.start), sentence))
            continue
        at, lead_in = fact.start, text[fact.start : fact.end].partition("\n")[0]
        pieces.append(_Piece(at, at, lead_in, fact))
        for item in fact.value:
            at = text.index(f"- {item}", at + 1)
            pieces.append(_Piece(at, fact.start, item, fact))
    return pieces


def _text(pieces: list[_Piece], document: Document) -> str:
    paragraphs = []
    for _, members in groupby(pieces, key=lambda piece: piece.paragraph):
        group = list(members)
        is_list = group[0].fact is not None
        paragraphs.append(
            _listed(group, document.text) if is_list else " ".join(one.text for one in group)
        )
    if not paragraphs or len(paragraphs) == 1 and pieces[0].start == 0:
        return ""
    named = "" if document.title in paragraphs[0] else f"In {document.title}: "
    return named + "\n\n".join(paragraphs)


def _listed(pieces: list[_Piece], text: str) -> str:
    fact = pieces[0].fact
    items = [piece.text for piece in pieces if piece.start > fact.start]
    if not items:
        return pieces[0].text
    if items[0] != fact.value[0]:
        return _sentence(fact, text, items, "also include")
    return _sentence(fact, text, items, "are" if items == fact.value else "include")


def sentence_of(fact: Fact, text: str, is_prose_kept: bool = False) -> str:
    """How `fact`, which a record's `text` states, is rewritten (see rewrite_facts)."""
    raw = text[fact.start : fact.end]
    if fact.structure == prose() and (is_prose_kept or fact.entity in raw):
        return raw
    return _sentence(fact, text, fact.value, "are" if fact.value[1:] else "is")


def _sentence(fact: Fact, text: str, values: list[str], verb: str) -> str:
    subjects = [phrase.format(label=fact.attribute, name=fact.entity) for phrase in PHRASES]
    # the record's own words, or drawn as they are: rewriting changes the structure, not the words
    drawn = random.Random(f"phrase {fact.fact_id}").choice(subjects)
    raw = text[fact.start : fact.end]
    subject = next((own for own in subjects if capitalised(own) in raw), drawn)
    return f"The {subject} {verb} {listed(values)}."
