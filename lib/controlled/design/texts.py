"""Write the texts that an arm trains on: private records, raw or treated (paper, 3.2)."""

import random
from collections.abc import Sequence

from lib.controlled.design.arms import NORMALIZED, PARAPHRASE, Arm
from lib.controlled.design.augment import augmented, paragraphs
from lib.controlled.design.facts import by_product
from lib.controlled.design.latin_square import render
from lib.controlled.records import KnownFact, Rendered
from lib.core.errors import BadReply
from lib.core.records import Document, Fact, Segment
from lib.lab.engines import rewrite_facts
from lib.normalize.rewrite import Rewrite, normalize


def arm_texts(
    facts: list[KnownFact],
    arm: Arm,
    rotation: int,
    seed: int,
    structures: Sequence[str],
    *,
    rendering: int = 0,
    rewrite: Rewrite | None = None,
) -> list[Rendered]:
    """Return the documents of `arm` in one rotation: `text` is treated, `raw` and places are not.

    A mixed arm has each document twice, raw first. `rewrite` is the engine of normalized-llm.
    Raises BadReply if a rewrite is missing: an arm that lacks some facts cannot be compared.
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
        is_known = arm.treatment == NORMALIZED or rewrite is None
        own = rewrite_facts(_known(rendered, facts))
        texts = _rewritten(rendered, own if is_known else rewrite)
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
def _rewritten(rendered: list[Rendered], rewrite: Rewrite) -> list[str]:
    documents = [
        Document(document_id=one.document_id, title=one.title, path="", text=one.raw)
        for one in rendered
    ]
    segments = [
        Segment(
            segment_id=one.document_id,
            document_id=one.document_id,
            start=0,
            end=len(one.text),
            text=one.text,
            n_tokens=0,
        )
        for one in documents
    ]
    rows = normalize(segments, documents, rewrite)
    dropped = [f"{row.document_id} ({row.dropped})" for row in rows if row.dropped]
    if dropped:
        raise BadReply(
            f"{len(dropped)} of {len(rows)} records have no rewrite; the first is "
            f"{dropped[0]}: run the stage to request them again, or choose another "
            "normalizer"
        )
    return [row.text for row in rows]
