"""Questions and rewrites of the laboratory's records, from their known facts."""

import random
from collections import defaultdict

from lib.annotate.questions import Candidate, Proposals, Propose
from lib.core.records import (
    STRUCTURES,
    Document,
    Fact,
    Normalized,
    Segment,
    by_document,
    listed,
    prose,
)
from lib.lab.records import PHRASES, capitalised
from lib.normalize.segment import ELSEWHERE

_MARKS = "-| "  # around a fact: of a bullet, of a table row


def ask_facts(facts: list[Fact]) -> Propose:
    """An engine that asks for each of `facts` in the words that it was generated from."""
    known = by_document(sorted(facts, key=lambda fact: fact.start))

    def propose(documents: list[Document], max_queries: int) -> list[Proposals]:
        return [
            ([_candidate(fact, document.text) for fact in known[document.document_id]], [])
            for document in documents
        ]

    return propose


def rewrite_facts(
    segments: list[Segment], documents: list[Document], facts: list[Fact]
) -> list[Normalized]:
    """State each of `facts` in a sentence, in the segment where it begins.

    Sentences stay as they are if they name the product.
    """
    known = by_document(sorted(facts, key=lambda fact: fact.start))
    by_id, rows = {one.document_id: one for one in documents}, []
    for one in segments:
        name, within = one.document_id, range(one.start, one.end)
        text = rewritten(by_id[name], known[name], within)
        rows.append(
            Normalized(
                segment_id=one.segment_id,
                document_id=name,
                rating=None,
                remark="",
                text=text,
                dropped="" if text else ELSEWHERE,
            )
        )
    return rows


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


def rewritten(
    document: Document, facts: list[Fact], within: range, is_prose_kept: bool = False
) -> str:
    """The sentences of `facts`, in order, that begin `within` the document; see rewrite_facts.

    With `is_prose_kept`, all sentences stay as they are.
    """
    text, title = document.text, f"# {document.title}"
    notice = text.partition("\n## ")[0].removeprefix(title).strip()
    # where each begins, its paragraph, and what is written
    pieces = [(0, 0, title), (text.index(notice), 1, notice.strip("> .") + ".")]
    for fact in facts:
        is_list = STRUCTURES[fact.structure].has_entities and fact.value[1:]
        paragraph = fact.start if is_list else text.rfind("\n\n", 0, fact.start)
        pieces.append((fact.start, paragraph, sentence_of(fact, text, is_prose_kept)))
    paragraphs = defaultdict(list)
    for start, paragraph, said in pieces:
        if start in within:
            paragraphs[paragraph].append(said)
    if not paragraphs or [*paragraphs] == [0]:
        return ""
    named = "" if 0 in paragraphs else f"In {document.title}: "
    return named + "\n\n".join(map(" ".join, paragraphs.values()))


def sentence_of(fact: Fact, text: str, is_prose_kept: bool) -> str:
    """How `fact`, which a record's `text` states, is rewritten (see rewrite_facts)."""
    raw = text[fact.start : fact.end]
    if fact.structure == prose() and (is_prose_kept or fact.entity in raw):
        return raw
    subjects = [phrase.format(label=fact.attribute, name=fact.entity) for phrase in PHRASES]
    # the record's own words, or drawn as they are: rewriting changes the structure, not the words
    drawn = random.Random(f"phrase {fact.fact_id}").choice(subjects)
    subject = next((own for own in subjects if capitalised(own) in raw), drawn)
    return f"The {subject} {'are' if fact.value[1:] else 'is'} {listed(fact.value)}."
