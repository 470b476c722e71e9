"""Vary segments by rules, deterministically and without a model."""

import random
from bisect import bisect_right
from collections import defaultdict

from lib.annotate.queries import annotate
from lib.annotate.rules.engine import by_rules as ask_by_rules
from lib.augment.drafts import Draft, Strategy, pair_text
from lib.augment.facts import facts_of
from lib.augment.wordings import PLAIN, paraphrases
from lib.core.records import Document, Segment

NO_FACT = "no fact that a rule can state in other words"
NO_QUESTION = "no question that a rule can ask"
_EVERY = 1_000_000  # questions per document: all that a rule can ask


def paraphrase(segments: list[Segment], documents: dict[str, Document], k: int) -> list[Draft]:
    """Return `k` texts per segment, each with all its complete facts in other words and order.

    Raises ValueError if there are fewer than `k` wordings.
    """
    own, facts = defaultdict(list), defaultdict(list)
    for segment in segments:
        own[segment.document_id].append(segment)
    for document_id, inside in own.items():
        for fact in facts_of(documents[document_id]):
            holder = inside[bisect_right(inside, fact.start, key=lambda one: one.start) - 1]
            facts[holder.segment_id] += [fact] * (fact.end <= holder.end)
    drafts: list[Draft] = []
    for segment in segments:
        rng = random.Random(f"paraphrase {segment.segment_id}")
        said = [paraphrases(fact.name, fact.label, fact.value, k, rng, PLAIN)
                for fact in facts[segment.segment_id]]
        texts = [" ".join(rng.sample(each, len(each))) for each in zip(*said, strict=True)]
        drafts += [Draft(segment.segment_id, text) for text in texts] or [
            Draft(segment.segment_id, "", NO_FACT)]
    return drafts


def pairs(segments: list[Segment], documents: dict[str, Document], k: int) -> list[Draft]:
    """Return all questions, with answers, that rules can ask of one segment; `k` is not used."""
    asked = defaultdict(list)
    for query in annotate(list(documents.values()), ask_by_rules, _EVERY)[0]:
        asked[query.document_id].append(query)
    drafts: list[Draft] = []
    for segment in segments:
        inside = [query for query in asked[segment.document_id]
                  if segment.start <= query.start and query.end <= segment.end]
        drafts += [Draft(segment.segment_id, pair_text(query.question, query.answer),
                         asks=(query.start, query.end)) for query in inside] or [
            Draft(segment.segment_id, "", NO_QUESTION)]
    return drafts


BY_RULES: dict[str, Strategy] = {"paraphrase": paraphrase, "pairs": pairs}
