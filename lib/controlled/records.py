"""Define the records of the controlled experiment: known facts, texts and outcomes."""

from typing import Literal

from lib.core.records import Record


class KnownFact(Record):
    """A fact. It is in section `section` at `place`, whatever the rotation."""

    fact_id: str  # <product>/<attribute>
    product: str
    attribute: str
    value: list[str]  # one string, or the items of a list
    kind: Literal["number", "word"]
    section: int
    place: int


class Place(Record):
    """The place at which a document states a fact, raw[start:end], and its structure there."""

    fact_id: str
    structure: str
    start: int
    end: int


class Rendered(Record):
    """A document of one arm and rotation. The model trains on `text`, which was made from `raw`."""

    document_id: str
    title: str
    raw: str
    text: str
    places: list[Place]
    is_first: bool = False  # trained on before the texts without this mark


class Outcome(Record):
    """The outcome of one run (arm, rotation, seed) for one fact."""

    arm: str
    rotation: int
    seed: int
    fact_id: str
    product: str
    attribute: str
    kind: Literal["number", "word"]
    n_items: int  # 1 for a single value
    section: int
    place: int
    structure: str
    answer: str
    correct: bool  # strictly: all items and no others
    items_named: int  # how many of n_items the answer names
    items_surplus: int
    question_loglik: float  # natural logarithms, summed over the reference answer's tokens
    question_tokens: int
    question_argmax: bool  # each of these tokens is the argmax
    cloze_loglik: float | None  # after the raw document's own words; None if there is no cloze
    cloze_tokens: int | None
    cloze_argmax: bool | None
    span_tokens: int  # tokens of the fact's span in the raw document
    distance_tokens: int  # from the end of the raw document's title to the fact
    run_tokens: int  # tokens that this run trains on in an epoch
    trained_tokens: int  # tokens that this run read in all of its training
    retained: float  # share of public questions that the run still answers
    has_pair: bool = False  # the fact is in the half with question-answer pairs, in arms with them
    question_overlap: float = 0.0  # longest run of the question's words in the record's texts, 0-1
    as_asked: bool = False  # the training text has the question's words "<attribute> of <product>"


class AcquiredFact(Record):
    """The teacher-forced scores of one fact after an epoch of a run."""

    arm: str
    rotation: int
    seed: int
    fact_id: str
    structure: str
    epoch: int
    question_loglik: float
    question_tokens: int
    question_argmax: bool
