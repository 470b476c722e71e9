"""Write the texts that an arm trains on: private records, raw or treated (paper, 3.2)."""

import random

from lib.controlled.design.arms import NORMALIZED, NORMALIZED_BY_MODEL, PARAPHRASE, Arm
from lib.controlled.design.augment import augmented, paragraphs
from lib.controlled.design.facts import by_product
from lib.controlled.design.latin_square import render
from lib.controlled.records import KnownFact, Rendered
from lib.core.records import Document, Segment
from lib.normalize.interventions import INTERVENTIONS
from lib.normalize.rewrite import Rewrite, normalize
from lib.normalize.rules.engine import by_rules


class NotRewritten(RuntimeError):
    """The normalizer dropped records, so their facts would be missing from the arm."""


def arm_texts(facts: list[KnownFact], arm: Arm, rotation: int, seed: int, *, rendering: int = 0,
              rewrite: Rewrite = by_rules) -> list[Rendered]:
    """Return the documents of `arm` in one rotation: `text` is treated, `raw` and places are not.

    `rewrite` is the engine of the arm normalized-llm. A mixed arm has each document twice, raw
    first; an arm with an augmentation has the raw documents, then what it adds. Raises the engine's
    errors, and NotRewritten if a rewrite is missing, because an arm that lacks some facts cannot be
    compared.
    """
    rendered = render(facts, rotation, seed, arm.layout, rendering)
    if arm.adds:
        return augmented(rendered, facts, arm.adds, arm.layout, rotation, seed)
    if not arm.treatment:
        return rendered
    documents = [Document(document_id=one.document_id, title=one.title, path="", text=one.raw)
                 for one in rendered]
    if arm.treatment in (NORMALIZED, NORMALIZED_BY_MODEL):
        texts = _rewritten(documents, by_rules if arm.treatment == NORMALIZED else rewrite)
    elif arm.treatment == PARAPHRASE:
        texts = [paragraphs(known, 1, random.Random(f"read {seed} {name} {rendering}"))[0]
                 for name, known in by_product(facts).items()]
    else:
        texts = [INTERVENTIONS[arm.treatment](document) for document in documents]
    treated = [one.model_copy(update={"text": text})
               for one, text in zip(rendered, texts, strict=True)]
    return [*rendered, *treated] if arm.is_mixed else treated


def _rewritten(documents: list[Document], rewrite: Rewrite) -> list[str]:
    """Rewrite each document as one segment; all are far below the paper's limit of 700 tokens."""
    segments = [Segment(segment_id=one.document_id, document_id=one.document_id, start=0,
                        end=len(one.text), text=one.text, n_tokens=0) for one in documents]
    rows = normalize(segments, documents, rewrite)
    dropped = [f"{row.document_id} ({row.dropped})" for row in rows if row.dropped]
    if dropped:
        raise NotRewritten(f"{len(dropped)} of {len(rows)} records have no rewrite; the first is "
                           f"{dropped[0]}: run the stage to request them again, or choose another "
                           "normalizer")
    return [row.text for row in rows]
