"""The arms of the exposure study: which text states the facts of a record at each exposure."""

import random
from collections.abc import Callable
from typing import NamedTuple

from lib.core.records import STRUCTURES, Document, Fact, Segment
from lib.core.store import choices
from lib.lab.facts import rewrite_facts, sentence_of
from lib.lab.records import Product, laid, make_records, paraphrases

N_PARAPHRASES = 8
REGIME = ("learning_rate", "public_text_share")  # what a study can vary between runs


class Written(NamedTuple):
    """A text to train on, and the characters of each fact's statement in it, by fact_id."""

    text: str
    places: dict[str, tuple[int, int]]


Write = Callable[[Document, list[Fact], int], Written]  # a record, its facts, the exposure


def records(products: list[Product], seed: int, rotation: int) -> tuple[list[Document], list[Fact]]:
    """The private records of a base in one rotation."""
    return make_records(products, seed, public=False, rotation=rotation)


def texts_at(
    arm: str, documents: list[Document], facts: list[Fact], exposure: int
) -> list[Written]:
    """What an arm reads of each record at an exposure, counted from 0."""
    of_record = {one.document_id: [] for one in documents}
    for fact in facts:
        of_record[fact.document_id].append(fact)
    return [ARMS[arm](one, of_record[one.document_id], exposure) for one in documents]


def _raw(record: Document, facts: list[Fact], exposure: int) -> Written:
    return Written(record.text, {fact.fact_id: (fact.start, fact.end) for fact in facts})


def _rewritten(is_prose_kept: bool) -> Write:
    def write(record: Document, facts: list[Fact], exposure: int) -> Written:
        name, text = record.document_id, record.text
        whole = Segment(
            segment_id=name, document_id=name, start=0, end=len(text), text=text, n_tokens=0
        )
        (row,) = rewrite_facts(facts, is_prose_kept)([whole], {name: record})
        places = {}
        for fact in facts:
            said = sentence_of(fact, text, is_prose_kept)
            start = row.text.index(said)
            places[fact.fact_id] = (start, start + len(said))
        return Written(row.text, places)

    return write


# The record itself, then its facts in eight other wordings, and again from the start.
def _paraphrased(record: Document, facts: list[Fact], exposure: int) -> Written:
    turn = exposure % (N_PARAPHRASES + 1)
    if turn == 0:
        return _raw(record, facts, exposure)
    said = {}
    for fact in facts:
        rng = random.Random(f"paraphrases {fact.fact_id}")
        wordings = paraphrases(fact.entity, fact.attribute, fact.value, N_PARAPHRASES, rng)
        said[fact.fact_id] = wordings[turn - 1]
    order = random.Random(f"order {record.document_id} {turn}").sample(list(said), len(said))
    text, spans = laid([said[name] for name in order], between=" ")
    return Written(text, dict(zip(order, spans, strict=True)))


RAW = "raw"
ARMS: dict[str, Write] = {
    RAW: _raw,
    "normalized": _rewritten(is_prose_kept=False),
    "rewritten-structures": _rewritten(is_prose_kept=True),  # lists and tables alone
    "paraphrase-8": _paraphrased,
}


def check(arms: list[str], regimes: list[dict[str, object]]) -> None:
    """Raise ValueError with the legal names for an arm or a regime's key that is unknown."""
    given = [("arm", arm, ARMS) for arm in arms]
    given += [("regimes:", name, REGIME) for regime in regimes for name in regime]
    for what, name, legal in given:
        if name not in legal:
            raise ValueError(f"{what} {name!r} is unknown; {choices(name, legal)}")


def runs_of(
    arms: list[str], rotations: list[int], regimes: list[dict], base: int
) -> list[tuple[str, int, dict]]:
    """Arm, rotation and regime of each run from base number `base`.

    Without `rotations`, raw text is trained in all of them, other arms in the base's own one.
    """
    check(arms, regimes)
    n = len(STRUCTURES)
    return [
        (arm, rotation, regime)
        for arm in arms
        for rotation in rotations or (range(n) if arm == RAW else [base // 10 % n])
        for regime in regimes
    ]
