"""What an arm trains on: the private records in a rotation, as they are or treated (paper, 3.2 and its limits)."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from lib.controlled.design.arms import NORMALIZED, NORMALIZED_BY_MODEL, Arm
from lib.controlled.design.latin_square import render
from lib.controlled.records import KnownFact, Rendered
from lib.core.records import Document, Segment
from lib.normalize.interventions import INTERVENTIONS
from lib.normalize.rewrite import normalize

if TYPE_CHECKING:
    from lib.llm.calls import Calls


class NotRewritten(RuntimeError):
    """The normalizer dropped records, so that their facts would be missing from the arm."""


def arm_texts(facts: list[KnownFact], arm: Arm, rotation: int, seed: int, *, rendering: int = 0,
              normalizer: str = "rules", calls: "Calls | None" = None) -> list[Rendered]:
    """The documents of `arm` in one rotation; `raw` and places are those of its layout, `text` is trained on.

    A mixed arm has each document twice, raw first. Raises NotRewritten where a rewrite is missing: an arm without some
    facts could not be compared; and as lib.normalize.rewrite.normalize does.
    """
    rendered = render(facts, rotation, seed, arm.layout, rendering)
    if not arm.treatment:
        return rendered
    treat = _treatment(arm, normalizer, calls)
    documents = [Document(document_id=one.document_id, title=one.title, path="", text=one.raw) for one in rendered]
    treated = [one.model_copy(update={"text": text})
               for one, text in zip(rendered, treat(documents), strict=True)]
    return [*rendered, *treated] if arm.is_mixed else treated


def _treatment(arm: Arm, normalizer: str, calls: "Calls | None") -> Callable[[list[Document]], list[str]]:
    if arm.treatment == NORMALIZED:
        return lambda documents: _normalized(documents, "rules", None)
    if arm.treatment == NORMALIZED_BY_MODEL:
        return lambda documents: _normalized(documents, normalizer, calls)
    return lambda documents: [INTERVENTIONS[arm.treatment](document) for document in documents]


def _normalized(documents: list[Document], normalizer: str, calls: "Calls | None") -> list[str]:
    """Each document as one segment, rewritten: they are far shorter than the 700 tokens of the paper's segments."""
    segments = [Segment(segment_id=one.document_id, document_id=one.document_id, start=0, end=len(one.text),
                        text=one.text, n_tokens=0) for one in documents]
    rows = normalize(segments, documents, normalizer, "product records", calls)
    dropped = [f"{row.document_id} ({row.dropped})" for row in rows if row.dropped]
    if dropped:
        raise NotRewritten(f"{len(dropped)} of {len(rows)} records have no rewrite, {dropped[0]} first: run the stage "
                           "again to ask for them once more, or take another normalizer")
    return [row.text for row in rows]
