"""Turn documents into queries: propose, check every constraint, choose evenly (paper, 3.1)."""

import random
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise

from lib.annotate.constraints import Candidate, folded, violation
from lib.core.records import Document, Query, Rejected
from lib.core.structures import STRUCTURES

# An engine: (documents, max_queries) -> for each document, candidates and what was left out.
Propose = Callable[[list[Document], int], list[tuple[list[Candidate], list[Rejected]]]]


def draw(documents: list[Document], count: int | None, seed: int) -> list[Document]:
    """Draw `count` documents to ask about, in their order; all if `count` is None or too large."""
    if count is None or count >= len(documents):
        return documents
    chosen = set(random.Random(seed).sample(range(len(documents)), count))
    return [document for at, document in enumerate(documents) if at in chosen]


def annotate(documents: list[Document], propose: Propose,
             max_queries: int = 10) -> tuple[list[Query], list[Rejected]]:
    """Return at most `max_queries` queries per document, and each rejected proposal with a reason.

    No two documents answer a question differently. `propose` is
    `lib.annotate.rules.engine.by_rules` or `lib.annotate.model.pairs.by_model(…)`.
    Raises ValueError if max_queries is below 1, and whatever `propose` raises.
    """
    if max_queries < 1:
        raise ValueError(f"max_queries is {max_queries}: ask for at least 1 query per document")
    proposals = propose(documents, max_queries)
    asked = iter(_told_apart([one for candidates, _ in proposals for one in candidates]))
    queries, rejected = [], []
    for document, (candidates, unread) in zip(documents, proposals, strict=True):
        kept, left_out = _chosen(document, [(next(asked), one) for one in candidates], max_queries)
        queries += kept
        rejected += unread + left_out
        if not candidates and not unread:
            reason = "no question pattern fits any block of this document"
            rejected.append(Rejected(document_id=document.document_id, item=document.title,
                                     reason=reason))
    return queries, rejected


# A form that two candidates answer differently is used for neither
def _told_apart(candidates: list[Candidate]) -> list[str]:
    levels, answers, ambiguous = [0] * len(candidates), defaultdict(set), {""}
    waiting = list(range(len(candidates)))
    while waiting:
        for at in waiting:
            answers[folded(candidates[at].forms[levels[at]])].add(_as_set(candidates[at]))
        ambiguous |= {form for form, given in answers.items() if len(given) > 1}
        waiting = [at for at, one in enumerate(candidates)
                   if levels[at] < len(one.forms) and folded(one.forms[levels[at]]) in ambiguous]
        for at in waiting:
            levels[at] += 1
        waiting = [at for at in waiting if levels[at] < len(candidates[at].forms)]
    return [one.forms[level] if level < len(one.forms) else ""
            for one, level in zip(candidates, levels, strict=True)]


# the order of entities does not make another answer
def _as_set(candidate: Candidate) -> str:
    return "; ".join(sorted(map(folded, candidate.answer.split("\n"))))


def _chosen(document: Document, asked: list[tuple[str, Candidate]],
            max_queries: int) -> tuple[list[Query], list[Rejected]]:
    fit: dict[str, tuple[str, Candidate]] = {}
    left_out = []
    for question, candidate in asked:
        reason = "the question has another answer elsewhere in the documents"
        if question:
            reason = violation(question, candidate, document.text)
        if not reason and folded(question) in fit:
            reason = "the same question is asked already"
        if not reason:
            fit[folded(question)] = (question, candidate)
        else:
            left_out.append((question or candidate.forms[-1], reason))
    chosen = _spread(list(fit.values()), max_queries)
    full = f"fits, but the document already has its {max_queries} queries"
    taken = {question for question, _ in chosen}
    left_out += [(question, full) for question, _ in fit.values() if question not in taken]
    return ([_query(document, number, *one) for number, one in enumerate(chosen, 1)],
            [Rejected(document_id=document.document_id, item=item, reason=reason)
             for item, reason in left_out])


def _spread(fit: list[tuple[str, Candidate]], count: int) -> list[tuple[str, Candidate]]:
    chosen: list[tuple[str, Candidate]] = []
    for ranks in ((0, 1), (2,), (3,)):
        tier = [one for one in fit if one[1].rank in ranks]
        chosen += _evenly(tier, count - len(chosen))
    return sorted(chosen, key=lambda one: (one[1].start, one[1].end, one[0]))


def _evenly(fit: list[tuple[str, Candidate]], count: int) -> list[tuple[str, Candidate]]:
    pools: dict[str, list[tuple[str, Candidate]]] = {structure: [] for structure in STRUCTURES}
    for one in sorted(fit, key=lambda one: one[1].start):
        pools[one[1].structure].append(one)
    shares = dict.fromkeys(STRUCTURES, 0)
    for _ in range(min(count, len(fit))):
        not_empty = [name for name in STRUCTURES if shares[name] < len(pools[name])]
        shares[min(not_empty, key=shares.get)] += 1
    chosen = []
    for structure, pool in pools.items():
        n_parts = shares[structure]
        edges = [round(part * len(pool) / max(n_parts, 1)) for part in range(n_parts + 1)]
        chosen += [min(pool[left:right], key=lambda one: one[1].rank)
                   for left, right in pairwise(edges)]
    return chosen


def _query(document: Document, number: int, question: str, candidate: Candidate) -> Query:
    is_list = STRUCTURES[candidate.structure].has_entities
    count = len(candidate.answer.split("\n")) if is_list else None
    return Query(
        query_id=f"{document.document_id}-q{number:03d}", document_id=document.document_id,
        question=question, answer=candidate.answer, structure=candidate.structure,
        source_reference=document.text[candidate.start:candidate.end], start=candidate.start,
        end=candidate.end, entity_count=count, block_type=candidate.kind,
        source_header=candidate.header,
        grounding=candidate.grounding, grounding_score=candidate.grounding_score)
