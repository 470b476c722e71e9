"""Vary segments by the questions that an annotator without a model can ask of them."""

import random
import re
from collections import defaultdict
from functools import partial

from lib.annotate.queries import Propose, annotate
from lib.augment.drafts import Draft, Strategy, pair_text
from lib.augment.wordings import paraphrases
from lib.core.records import Document, Query, Segment

NO_FACT = "no fact that a rule can state in other words"
NO_QUESTION = "no question that a rule can ask"
_EVERY = 1_000_000  # questions per document: all that a rule can ask
_OF_ATTRIBUTE = re.compile(  # 'Under "Ports" in the document "X", what is the size of Y?'
    r"(?:(?:Under \"[^\"]*\" in|In) (?P<document>the .*document \"[^\"]*\"), )?"
    r"[Ww]hat (?:is|are) the (?P<label>[^?]+?)(?: (?:of|for) (?P<name>[^?]+))?\?"
)


def by_questions(ask: Propose) -> dict[str, Strategy]:
    """Return the strategies that need no model: paraphrases, `k` per segment, and pairs.

    `ask` proposes the questions, as `lib.annotate.rules.engine.by_rules` does. Paraphrases raise
    ValueError if there are fewer than `k` wordings.
    """
    return {"paraphrase": partial(_paraphrase, ask), "pairs": partial(_pairs, ask)}


def _paraphrase(
    ask: Propose, segments: list[Segment], documents: dict[str, Document], k: int
) -> list[Draft]:
    drafts: list[Draft] = []
    for segment, queries in _asked(ask, segments, documents):
        rng = random.Random(f"paraphrase {segment.segment_id}")
        facts = [
            (
                " in ".join(filter(None, found.group("name", "document"))),
                found["label"],
                query.answer.splitlines(),
            )
            for query in queries
            if (found := _OF_ATTRIBUTE.fullmatch(query.question))
            and any(found.group("name", "document"))
        ]
        said = [paraphrases(*fact, k, rng) for fact in facts]
        texts = [" ".join(rng.sample(each, len(each))) for each in zip(*said, strict=True)]
        drafts += [Draft(segment.segment_id, text) for text in texts] or [
            Draft(segment.segment_id, "", NO_FACT)
        ]
    return drafts


def _pairs(
    ask: Propose, segments: list[Segment], documents: dict[str, Document], k: int
) -> list[Draft]:
    drafts: list[Draft] = []
    for segment, queries in _asked(ask, segments, documents):
        drafts += [
            Draft(
                segment.segment_id,
                pair_text(query.question, query.answer),
                asks=(query.start, query.end),
            )
            for query in queries
        ] or [Draft(segment.segment_id, "", NO_QUESTION)]
    return drafts


def _asked(
    ask: Propose, segments: list[Segment], documents: dict[str, Document]
) -> list[tuple[Segment, list[Query]]]:
    of_document = defaultdict(list)
    for query in annotate(list(documents.values()), ask, _EVERY)[0]:
        of_document[query.document_id].append(query)
    return [
        (
            segment,
            [
                query
                for query in of_document[segment.document_id]
                if segment.start <= query.start and query.end <= segment.end
            ],
        )
        for segment in segments
    ]
