"""Turn documents into queries: propose, check every constraint, choose evenly (paper, 3.1)."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable

import pandas as pd

from lib.annotate.constraints import Candidate, violation
from lib.core.records import Document, Query, Rejected
from lib.core.structures import STRUCTURES
from lib.core.text import folded

MAX_SAME_ANSWERS = 3  # questions of a document
FEW = 20  # questions of a structure; fewer give wide intervals
KEPT = "kept"

# An engine: (documents, max_queries) -> for each document, candidates and what was left out.
Propose = Callable[[list[Document], int], list[tuple[list[Candidate], list[Rejected]]]]


def draw(documents: list[Document], count: int | None, seed: int) -> list[Document]:
    """Draw `count` documents to ask about, in their order; all if `count` is None or too large."""
    if count is None or count >= len(documents):
        return documents
    chosen = set(random.Random(seed).sample(range(len(documents)), count))
    return [document for at, document in enumerate(documents) if at in chosen]


def annotate(
    documents: list[Document], propose: Propose, max_queries: int = 10
) -> tuple[list[Query], list[Rejected]]:
    """Return at most `max_queries` queries per document, and each rejected proposal with a reason.

    No two documents answer a question differently. `propose` is
    `lib.annotate.model.pairs.by_model(…)` or `lib.lab.engines.ask_facts(…)`.
    Raises ValueError if max_queries is below 1, and whatever `propose` raises.
    """
    if max_queries < 1:
        raise ValueError(f"max_queries is {max_queries}: ask for at least 1 query per document")
    proposals = propose(documents, max_queries)
    answers = defaultdict(set)
    for candidate in (one for candidates, _ in proposals for one in candidates):
        answers[folded(candidate.question)].add(_as_set(candidate))
    queries, rejected = [], []
    for document, (candidates, unread) in zip(documents, proposals, strict=True):
        kept, left_out = _chosen(document, candidates, answers, max_queries)
        queries += [_query(document, number, one) for number, one in enumerate(kept, 1)]
        rejected += unread + [
            Rejected(
                document_id=document.document_id,
                item=one.question,
                reason=reason,
                structure=one.structure,
            )
            for one, reason in left_out
        ]
        if not candidates and not unread:
            reason = "no question was proposed"
            rejected.append(
                Rejected(document_id=document.document_id, item=document.title, reason=reason)
            )
    return queries, rejected


def yields(queries: list[Query], rejected: list[Rejected]) -> pd.DataFrame:
    """Count the questions asked, kept, and refused by each constraint, in columns by structure."""
    rows = [(one.structure, KEPT) for one in queries]
    rows += [(one.structure or "none", f"refused: {one.reason.split(': ')[0]}") for one in rejected]
    table = pd.DataFrame(rows, columns=["structure", "group"])
    table = pd.crosstab(table.group, table.structure)
    table.loc["asked"] = table.sum()
    order = [name for name in ("asked", KEPT) if name in table.index]
    table = table.loc[[*order, *sorted(set(table.index) - set(order))]]
    return table.rename_axis(index=None, columns=None)


# the order of entities does not make another answer
def _as_set(candidate: Candidate | Query) -> str:
    return "; ".join(sorted(map(folded, candidate.answer.split("\n"))))


def _chosen(
    document: Document, candidates: list[Candidate], answers: dict[str, set[str]], max_queries: int
) -> tuple[list[Candidate], list[tuple[Candidate, str]]]:
    fit: dict[str, Candidate] = {}
    left_out, same = [], Counter()
    for one in candidates:
        question, answer = folded(one.question), _as_set(one)
        reason = violation(one, document.text)
        if not reason and len(answers[question]) > 1:
            reason = "the question has another answer elsewhere in the documents"
        if not reason and question in fit:
            reason = "the same question is asked already"
        if not reason and same[answer] == MAX_SAME_ANSWERS:
            reason = f"{MAX_SAME_ANSWERS} questions of the document have this answer already"
        if reason:
            left_out.append((one, reason))
        else:
            fit[question] = one
            same[answer] += 1
    chosen = sorted(
        _evenly(list(fit.values()), max_queries), key=lambda one: (one.start, one.end, one.question)
    )
    full = f"fits, but the document already has its {max_queries} queries"
    return chosen, left_out + [(one, full) for one in fit.values() if one not in chosen]


def _evenly(fit: list[Candidate], count: int) -> list[Candidate]:
    pools: dict[str, list[Candidate]] = {structure: [] for structure in STRUCTURES}
    for one in sorted(fit, key=lambda one: one.start):
        pools[one.structure].append(one)
    shares = dict.fromkeys(STRUCTURES, 0)
    for _ in range(min(count, len(fit))):
        not_empty = [name for name in STRUCTURES if shares[name] < len(pools[name])]
        shares[min(not_empty, key=shares.get)] += 1
    chosen = []
    for structure, pool in pools.items():
        n_parts = shares[structure]
        edges = [round(part * len(pool) / max(n_parts, 1)) for part in range(n_parts + 1)]
        chosen += [pool[left] for left in edges[:-1]]
    return chosen


def _query(document: Document, number: int, candidate: Candidate) -> Query:
    is_list = STRUCTURES[candidate.structure].has_entities
    count = len(candidate.answer.split("\n")) if is_list else None
    return Query(
        query_id=f"{document.document_id}-q{number:03d}",
        document_id=document.document_id,
        question=candidate.question,
        answer=candidate.answer,
        structure=candidate.structure,
        source_reference=document.text[candidate.start : candidate.end],
        start=candidate.start,
        end=candidate.end,
        entity_count=count,
        block_type=candidate.kind,
        source_header=candidate.header,
        grounding=candidate.grounding,
        grounding_score=candidate.grounding_score,
    )
