"""Write the texts that an arm trains on: private records, raw or treated (paper, 3.2)."""

import random
from collections.abc import Sequence

from lib.controlled.design.arms import PARAPHRASE, Arm
from lib.controlled.design.augment import augmented, paragraphs
from lib.controlled.design.facts import by_product
from lib.controlled.design.latin_square import render
from lib.controlled.records import KnownFact, Rendered
from lib.core.records import Document, Fact, Segment
from lib.lab.engines import rewrite_facts


def arm_texts(
    facts: list[KnownFact],
    arm: Arm,
    rotation: int,
    seed: int,
    structures: Sequence[str],
    rendering: int = 0,
) -> list[Rendered]:
    """Return the documents of `arm` in one rotation: `text` is treated, `raw` and places are not.

    A mixed arm has each document twice, raw first.
    """
    rendered = render(facts, rotation, seed, structures, rendering)
    if arm.adds:
        return augmented(rendered, facts, arm.adds, rotation, seed, structures)
    if not arm.treatment:
        return rendered
    if arm.treatment == PARAPHRASE:
        texts = [
            paragraphs(known, 1, random.Random(f"read {seed} {name} {rendering}"))[0]
            for name, known in by_product(facts).items()
        ]
    else:
        texts = _rewritten(rendered, _known(rendered, facts))
    treated = [
        one.model_copy(update={"text": text}) for one, text in zip(rendered, texts, strict=True)
    ]
    return [*rendered, *treated] if arm.is_mixed else treated


def _known(rendered: list[Rendered], facts: list[KnownFact]) -> list[Fact]:
    of_id = {fact.fact_id: fact for fact in facts}
    return [
        Fact(
            fact_id=place.fact_id,
            entity=one.title,
            attribute=of_id[place.fact_id].attribute,
            value=of_id[place.fact_id].value,
            structure=place.structure,
            document_id=one.document_id,
            start=place.start,
            end=place.end,
            public=False,
        )
        for one in rendered
        for place in one.places
    ]


# Each document is one segment: all are far below the paper's limit of 700 tokens.
def _rewritten(rendered: list[Rendered], known: list[Fact]) -> list[str]:
    documents = {
        one.document_id: Document(
            document_id=one.document_id, title=one.title, path="", text=one.raw
        )
        for one in rendered
    }
    segments = [
        Segment(
            segment_id=name, document_id=name, start=0, end=len(one.text), text=one.text, n_tokens=0
        )
        for name, one in documents.items()
    ]
    return [row.text for row in rewrite_facts(known)(segments, documents)]
