"""The typed records between two stages: one row type per file (lib.core.artifacts)."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

Structure = Literal["natural", "entity-list", "tabular"]
Grounding = Literal["exact", "folded", "fuzzy"]  # how a quotation was found: as it is, but for blanks, but for slips
STRUCTURES: tuple[Structure, ...] = ("natural", "entity-list", "tabular")
RECALL = "recall"  # how a closed-book query's id ends where its question is asked with a passage too


class Record(BaseModel):
    """A row of a file between two stages; an unknown or missing field is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Document(Record):
    """One technical record. `start`/`end` of every other record count characters of `text`."""

    document_id: str
    title: str
    path: str  # where it was read from; "" for a generated one
    text: str


class Rejected(Record):
    """Something that was left out, and why. Kept so that no rate is printed without its denominator."""

    document_id: str
    item: str  # a file's name, a question, a raw reply
    reason: str


class Query(Record):
    """A question whose answer stands in a document, labelled with the structure it stands in."""

    query_id: str
    document_id: str
    question: str
    answer: str  # an entity list has one entity a line
    structure: Structure
    source_reference: str  # word for word: document.text[start:end]
    start: int
    end: int
    entity_count: int | None  # entity-list only
    block_type: str  # what the Markdown parser sees there: prose, list or table
    grounding: Grounding = "exact"  # how the annotator's source reference was found
    grounding_score: float = 1.0  # similarity of its words to the document's, 0-1
    context: str = ""  # what the model may read when it answers; empty in a recall study


class Segment(Record):
    """A stretch of a document for the normalizer; a document's segments cover it without gap or overlap."""

    segment_id: str
    document_id: str
    start: int
    end: int
    text: str  # document.text[start:end]
    n_tokens: int
    repeated: str = ""  # a cut table's header rows, which the normalizer sees before `text`; never trained on


class Normalized(Record):
    """A segment rewritten as prose, or the reason why it was dropped (then `text` is empty)."""

    segment_id: str
    document_id: str
    rating: int | None  # 1-10, the segment's quality as the normalizer sees it
    remark: str
    text: str
    dropped: str  # "" where the rewrite was kept


class Answer(Record):
    """One arm's reply to one query."""

    query_id: str
    arm: str
    answer: str
    n_tokens: int
    truncated: bool  # stopped by the token budget, not by the model


class Score(Record):
    """How likely one arm finds the reference answer, token by token given all before it; logs are natural.

    An arm can be asked for what is likely after the question; it has stored what is likely after the record's own words
    (cloze).
    """

    query_id: str
    arm: str
    question_loglik: float  # sum over the answer's tokens
    question_tokens: int
    question_argmax: bool  # each of these tokens is the likeliest one
    cloze_loglik: float | None  # None: see cloze_missing
    cloze_tokens: int | None
    cloze_argmax: bool | None
    cloze_missing: str  # why there is no cloze; "" where there is one


class Verdict(Record):
    """One judge's word on one answer. `unscored` is a third state, never a kind of incorrect."""

    query_id: str
    arm: str
    judge: str
    verdict: Literal["correct", "incorrect", "unscored"]
    reason: str


class Fact(Record):
    """A fact of the laboratory and where it stands."""

    fact_id: str
    entity: str
    attribute: str
    value: list[str]  # one string for a scalar, several for a list-valued attribute
    structure: Structure
    document_id: str
    start: int
    end: int
    public: bool  # public facts are for pretraining, private ones for DAPT
