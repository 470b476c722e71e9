"""Turn documents into queries: propose, check every constraint, choose evenly (paper, 3.1)."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

from lib.annotate.constraints import Candidate, entity_count, folded, violation
from lib.core.records import STRUCTURES, Document, Query, Rejected
from lib.documents.blocks import STRUCTURE_OF, parse, structure_at

# An engine: (documents, max_queries) -> for each document, candidates and what was left out.
Propose = Callable[[list[Document], int], list[tuple[list[Candidate], list[Rejected]]]]


def annotate(documents: list[Document], propose: Propose,
             max_queries: int = 10) -> tuple[list[Query], list[Rejected]]:
    """Return at most `max_queries` queries per document, and each rejected proposal with a reason.

    `propose` is `lib.annotate.rules.engine.by_rules` or `lib.annotate.model.pairs.by_model(…)`.
    Raises ValueError if max_queries is below 1, and whatever `propose` raises.
    """
    if max_queries < 1:
        raise ValueError(f"max_queries is {max_queries}: ask for at least 1 query per document")
    queries, rejected = [], []
    for document, (candidates, unread) in zip(
            documents, propose(documents, max_queries), strict=True):
        kept, left_out = choose(document, candidates, max_queries)
        queries += kept
        rejected += unread + left_out
        if not candidates and not unread:
            reason = "no question pattern fits any block of this document"
            rejected.append(Rejected(document_id=document.document_id, item=document.title,
                                     reason=reason))
    return queries, rejected


def choose(document: Document, candidates: list[Candidate],
           max_queries: int) -> tuple[list[Query], list[Rejected]]:
    """Choose among candidates without a violation, spread over the document and its structures."""
    checked = list(_checked(candidates, document.text))
    fit = [candidate for candidate, reason in checked if not reason]
    chosen = _spread(fit, max_queries)
    full = f"fits, but the document already has its {max_queries} queries"
    left_out = [*((candidate, reason) for candidate, reason in checked if reason),
                *((candidate, full) for candidate in fit if candidate not in chosen)]
    return ([_query(document, number, candidate) for number, candidate in enumerate(chosen, 1)],
            [Rejected(document_id=document.document_id, item=candidate.question, reason=reason)
             for candidate, reason in left_out])


def _checked(candidates: list[Candidate], text: str) -> Iterator[tuple[Candidate, str]]:
    """Yield each candidate with the constraint that it breaks, or "".

    An ambiguous question is first replaced by its form with the section named.
    """
    ambiguous = _ambiguous(candidates)
    named = [replace(candidate, question=candidate.longer)
             if candidate.longer and folded(candidate.question) in ambiguous else candidate
             for candidate in candidates]
    ambiguous = _ambiguous(named)
    asked: set[str] = set()
    for candidate in named:
        question = folded(candidate.question)
        reason = violation(candidate, text, parse(text))
        if not reason and question in ambiguous:
            reason = "the question has more than one answer in its document"
        elif not reason and question in asked:
            reason = "the same question is asked already"
        if not reason:
            asked.add(question)
        yield candidate, reason


def _ambiguous(candidates: list[Candidate]) -> set[str]:
    """Return the questions that two candidates answer differently."""
    answers: dict[str, set[str]] = defaultdict(set)
    for candidate in candidates:
        answers[folded(candidate.question)].add(folded(candidate.answer))
    return {question for question, given in answers.items() if len(given) > 1}


def _spread(candidates: list[Candidate], count: int) -> list[Candidate]:
    """Choose `count` candidates: equal shares of the structures, each from all of the document."""
    pools: dict[str, list[Candidate]] = {structure: [] for structure in STRUCTURES}
    for candidate in sorted(candidates, key=lambda candidate: candidate.start):
        pools[candidate.structure].append(candidate)
    shares = dict.fromkeys(STRUCTURES, 0)
    for _ in range(min(count, len(candidates))):
        not_empty = [name for name in STRUCTURES if shares[name] < len(pools[name])]
        shares[min(not_empty, key=shares.get)] += 1
    chosen = []
    for structure, pool in pools.items():
        n_parts = shares[structure]
        edges = [round(part * len(pool) / max(n_parts, 1)) for part in range(n_parts + 1)]
        chosen += [min(pool[left:right], key=lambda candidate: candidate.rank)
                   for left, right in pairwise(edges)]
    return sorted(chosen, key=lambda one: (one.start, one.end, one.question))


def _query(document: Document, number: int, candidate: Candidate) -> Query:
    kind = structure_at(parse(document.text), candidate.start, candidate.end)
    return Query(
        query_id=f"{document.document_id}-q{number:03d}", document_id=document.document_id,
        question=candidate.question, answer=candidate.answer, structure=STRUCTURE_OF[kind],
        source_reference=document.text[candidate.start:candidate.end], start=candidate.start,
        end=candidate.end, entity_count=entity_count(candidate), block_type=kind,
        grounding=candidate.grounding, grounding_score=candidate.grounding_score)
