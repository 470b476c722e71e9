"""From documents to queries: propose, check every constraint, choose evenly (paper, 3.1)."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from lib.annotate.constraints import Candidate, entity_count, folded, violation
from lib.annotate.rules.lists import ask_list
from lib.annotate.rules.sentences import ask_prose
from lib.annotate.rules.tables import ask_table
from lib.core.records import STRUCTURES, Document, Query, Rejected
from lib.documents.blocks import STRUCTURE_OF, Block, parse, structure_at
from lib.documents.subject import scopes

if TYPE_CHECKING:
    from lib.llm.calls import Calls


def annotate(documents: list[Document], annotator: str = "rules", max_queries: int = 10,
             calls: "Calls | None" = None) -> tuple[list[Query], list[Rejected]]:
    """At most `max_queries` queries a document, and every proposal that was left out with its reason.

    `annotator` is "rules" (deterministic) or the id of a model that is asked with `calls`. Raises ValueError where
    max_queries is below 1 and for a model without `calls`; CallsStopped as `lib.llm.complete` does.
    """
    if max_queries < 1:
        raise ValueError(f"max_queries is {max_queries}: ask for at least 1 query a document")
    if annotator == "rules":
        proposed = [(list(propose(document)), []) for document in documents]
    else:
        from lib.annotate.model.pairs import proposed_by_model  # the rules need no client
        proposed = proposed_by_model(documents, annotator, max_queries, calls)
    queries, rejected = [], []
    for document, (candidates, unread) in zip(documents, proposed, strict=True):
        kept, left_out = choose(document, candidates, max_queries)
        queries += kept
        rejected += unread + left_out
        if not candidates and not unread:
            rejected.append(Rejected(document_id=document.document_id, item=document.title,
                                     reason="no question pattern fits any block of this document"))
    return queries, rejected


def propose(document: Document) -> Iterator[Candidate]:
    """Every question that a rule can ask of the document, unchecked, in the order of its blocks."""
    blocks = parse(document.text)
    for index, (block, scope) in enumerate(zip(blocks, scopes(document, blocks), strict=True)):
        if block.kind == "table":
            yield from ask_table(block, scope, document.text)
        elif block.kind == "list":
            yield from ask_list(blocks, index, scope, document.text)
        elif block.kind == "prose":
            yield from ask_prose(blocks, index, scope, document.text)


def choose(document: Document, candidates: list[Candidate], max_queries: int) -> tuple[list[Query], list[Rejected]]:
    """The candidates that keep every constraint, spread over the document with its structures in balance."""
    blocks = parse(document.text)
    fit, rejected = [], []
    for candidate, reason in _checked(candidates, document.text, blocks):
        if reason:
            rejected.append(Rejected(document_id=document.document_id, item=candidate.question, reason=reason))
        else:
            fit.append(candidate)
    chosen = _spread(fit, max_queries)
    rejected += [Rejected(document_id=document.document_id, item=candidate.question,
                          reason=f"fits, but the document already has its {max_queries} queries")
                 for candidate in fit if candidate not in chosen]
    return [_query(document, blocks, number, candidate) for number, candidate in enumerate(chosen, 1)], rejected


def _checked(candidates: list[Candidate], text: str, blocks: list[Block]) -> Iterator[tuple[Candidate, str]]:
    """Each candidate with the constraint it breaks, or ""; an ambiguous question is first asked with its section."""
    conflicting = _conflicts(candidates)
    named = [replace(candidate, question=candidate.longer)
             if candidate.longer and folded(candidate.question) in conflicting else candidate
             for candidate in candidates]
    conflicting = _conflicts(named)
    asked: set[str] = set()
    for candidate in named:
        question = folded(candidate.question)
        reason = violation(candidate, text, blocks)
        if not reason and question in conflicting:
            reason = "the question has more than one answer in its document"
        elif not reason and question in asked:
            reason = "the same question is asked already"
        if not reason:
            asked.add(question)
        yield candidate, reason


def _conflicts(candidates: list[Candidate]) -> set[str]:
    """Questions that two candidates answer differently."""
    answers: dict[str, set[str]] = defaultdict(set)
    for candidate in candidates:
        answers[folded(candidate.question)].add(folded(candidate.answer))
    return {question for question, given in answers.items() if len(given) > 1}


def _spread(candidates: list[Candidate], count: int) -> list[Candidate]:
    """`count` candidates: equal shares of the structures, each taken from all parts of the document."""
    pools = {structure: sorted((candidate for candidate in candidates if candidate.structure == structure),
                               key=lambda candidate: candidate.start) for structure in STRUCTURES}
    shares = dict.fromkeys(STRUCTURES, 0)
    for _ in range(min(count, len(candidates))):
        open_pools = [structure for structure in STRUCTURES if shares[structure] < len(pools[structure])]
        shares[min(open_pools, key=lambda structure: shares[structure])] += 1
    chosen = []
    for structure, pool in pools.items():
        edges = [round(part * len(pool) / max(shares[structure], 1)) for part in range(shares[structure] + 1)]
        chosen += [min(pool[left:right], key=lambda candidate: candidate.rank)
                   for left, right in zip(edges, edges[1:], strict=False)]
    return sorted(chosen, key=lambda candidate: (candidate.start, candidate.end, candidate.question))


def _query(document: Document, blocks: list[Block], number: int, candidate: Candidate) -> Query:
    kind = structure_at(blocks, candidate.start, candidate.end)
    return Query(query_id=f"{document.document_id}-q{number:03d}", document_id=document.document_id,
                 question=candidate.question, answer=candidate.answer, structure=STRUCTURE_OF[kind],
                 source_reference=document.text[candidate.start:candidate.end], start=candidate.start,
                 end=candidate.end, entity_count=entity_count(candidate), block_type=kind,
                 grounding=candidate.grounding, grounding_score=candidate.grounding_score)
