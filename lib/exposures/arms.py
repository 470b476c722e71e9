"""The arms of the exposure study: which text states the facts at each exposure."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from lib.core.errors import choices
from lib.core.records import Document, Fact, Segment
from lib.core.structures import STRUCTURES
from lib.core.text import laid
from lib.lab.documents import make_records, paraphrases
from lib.lab.engines import rewrite_facts, sentence_of
from lib.lab.products import Product

N_PARAPHRASES = 8


@dataclass(frozen=True)
class Written:
    """A text to train on, and the characters of each fact's statement in it, by fact_id."""

    text: str
    places: dict[str, tuple[int, int]]


Write = Callable[[list[Document], list[Fact], int], list[Written]]  # records, facts, exposure


@dataclass(frozen=True)
class Arm:
    """An arm; it trains once per rotation of the structures, or in the base's own rotation."""

    write: Write
    every_rotation: bool = False


def records(products: list[Product], seed: int, rotation: int) -> tuple[list[Document], list[Fact]]:
    """Return the private records of a base in one rotation."""
    return make_records(products, seed, public=False, rotation=rotation)


def _raw(documents: list[Document], facts: list[Fact], exposure: int) -> list[Written]:
    return [
        Written(
            one.text,
            {
                fact.fact_id: (fact.start, fact.end)
                for fact in facts
                if fact.document_id == one.document_id
            },
        )
        for one in documents
    ]


def _rewritten(is_prose_kept: bool) -> Write:
    def write(documents: list[Document], facts: list[Fact], exposure: int) -> list[Written]:
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
        of_id = {one.document_id: one for one in documents}
        rows = rewrite_facts(facts, is_prose_kept)(segments, of_id)
        found = []
        for row in rows:
            said = {
                fact.fact_id: sentence_of(fact, of_id[row.document_id].text, is_prose_kept)
                for fact in facts
                if fact.document_id == row.document_id
            }
            found.append(
                Written(
                    row.text,
                    {
                        name: (row.text.index(one), row.text.index(one) + len(one))
                        for name, one in said.items()
                    },
                )
            )
        return found

    return write


# The record itself, then its facts in eight other wordings, and again from the start.
def _paraphrased(documents: list[Document], facts: list[Fact], exposure: int) -> list[Written]:
    turn = exposure % (N_PARAPHRASES + 1)
    if turn == 0:
        return _raw(documents, facts, exposure)
    found = []
    for one in documents:
        own = [fact for fact in facts if fact.document_id == one.document_id]
        said = {
            fact.fact_id: paraphrases(
                fact.entity,
                fact.attribute,
                fact.value,
                N_PARAPHRASES,
                random.Random(f"paraphrases {fact.fact_id}"),
            )[turn - 1]
            for fact in own
        }
        order = random.Random(f"order {one.document_id} {turn}").sample(list(said), len(said))
        text, spans = laid([said[name] for name in order], between=" ")
        found.append(Written(text, dict(zip(order, spans, strict=True))))
    return found


RAW = "raw"
ARMS = {
    RAW: Arm(_raw, every_rotation=True),
    "normalized": Arm(_rewritten(is_prose_kept=False)),
    "rewritten-structures": Arm(_rewritten(is_prose_kept=True)),  # lists and tables alone
    "paraphrase-8": Arm(_paraphrased),
}


def arm_named(name: str) -> Arm:
    """Return the arm `name`. Raises ValueError with the legal names."""
    if name not in ARMS:
        raise ValueError(f"arm {name!r} is unknown; {choices(name, ARMS)}")
    return ARMS[name]


def runs_of(
    arms: list[str], rotations: list[int], regimes: list[dict], base: int
) -> list[tuple[str, int, dict]]:
    """Return arm, rotation and regime of each run from base number `base`.

    Without `rotations`, an arm trains in all of them or in the base's own one.
    """
    n = len(STRUCTURES)
    return [
        (arm, rotation, regime)
        for arm in arms
        for rotation in rotations
        or (range(n) if arm_named(arm).every_rotation else [base // 10 % n])
        for regime in regimes
    ]
