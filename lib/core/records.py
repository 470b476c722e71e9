"""The typed rows of the files between two stages (lib.core.stages), and the structures of facts."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

UNKNOWN = "und"  # ISO 639-2: a language that is none of those that can be told
OUTCOMES = ("A", "B", "tie")  # of a comparison of two arms' answers: which is better


class Record(BaseModel):
    """A row of a file between two stages; an unknown or missing field is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Document(Record):
    """One technical record. `start`/`end` of every other record count characters of `text`."""

    document_id: str
    title: str
    path: str  # where it was read from; "" for a generated one
    text: str
    language: str = "en"  # its main language, ISO 639-1 or UNKNOWN
    doubt: str = ""  # what its text lacks or cannot be trusted in, counted
    doubted: list[tuple[int, int]] = []  # the spans where it is: nothing is asked about them

    def doubt_in(self, start: int, end: int) -> str:
        """Return its doubt if text[start:end] has a part of a span in doubt."""
        return self.doubt if any(one < end and start < two for one, two in self.doubted) else ""

    def sure(self, start: int, end: int) -> str:
        """Return text[start:end] with blanks for its parts in doubt."""
        text = self.text[start:end]
        for span in self.doubted:
            one, two = (max(0, place - start) for place in span)
            text = text[:one] + " " * len(text[one:two]) + text[two:]
        return text


class Rejected(Record):
    """An item that was left out, with the reason, so that every rate has its denominator."""

    document_id: str
    rejected_text: str  # a file's name, a question, a raw reply
    reason: str
    structure: str = ""  # of a question's block; "" if unknown


class Query(Record):
    """A question whose answer is in a document, labelled with the structure of that place."""

    query_id: str
    document_id: str
    question: str
    answer: str  # an entity list has one entity per line
    structure: str = ""  # one of STRUCTURES, "" if the task has none
    source_reference: str = ""  # verbatim: document.text[start:end]
    start: int = 0
    end: int = 0
    entity_count: int | None = None  # None if the answer is no list
    block_type: str  # of the parsed Markdown block there: prose, list or table
    context: str = ""  # what the model may read when it answers; empty in a recall study
    source_header: str = ""  # of a table's row: the header row, verbatim, to be read before it


class Segment(Record):
    """A part of a document for the normalizer; a document's segments cover it without overlap."""

    segment_id: str
    document_id: str
    start: int
    end: int
    text: str  # document.text[start:end]
    n_tokens: int
    doubt: str = ""  # its document's, if a part of it is in doubt: it is trained on as it is


class Normalized(Record):
    """A segment rewritten as prose, or the reason why it was dropped (then `text` is empty)."""

    segment_id: str
    document_id: str
    rating: int | None  # 1-10, the segment's quality according to the normalizer
    remark: str
    text: str
    dropped: str  # "" if the rewrite was kept


class Augmented(Record):
    """A synthetic text made from a segment, or the reason why it is not trained on."""

    segment_id: str
    document_id: str
    strategy: str  # wordings or questions
    number: int  # of the strategy's texts for this segment, from 1
    text: str  # also if it was dropped for its content; "" if none was written
    dropped: str  # "" if it is trained on
    answer: str = ""  # of a question


class Answer(Record):
    """One arm's reply to one query."""

    query_id: str
    arm: str
    answer: str
    n_tokens: int
    truncated: bool  # stopped by the token budget, not by the model
    incomplete_reason: str = ""  # empty, refused, filtered or cut, of an endpoint's reply


class GivenAnswer(Answer):
    """An answer in a file of its own, with its question."""

    question: str


class Score(Record):
    """Log-likelihood (natural log) of the reference answer in one arm, teacher-forced.

    After the question, it shows what can be retrieved; after the record's own words (cloze), what
    is stored.
    """

    query_id: str
    arm: str
    answer_loglik: float  # sum over the answer's tokens
    answer_tokens: int
    answer_is_greedy: bool  # each of these tokens is the argmax
    cloze_loglik: float | None  # None: see cloze_missing
    cloze_tokens: int | None
    cloze_is_greedy: bool | None
    cloze_missing: str  # why there is no cloze; "" if there is one


class Verdict(Record):
    """One judge's verdict on one answer; `unscored` if the judge cannot tell."""

    query_id: str
    arm: str
    judge: str
    verdict: Literal["correct", "incorrect", "unscored"]
    reason: str


class RetentionItem(Record):
    """One item of one task of general knowledge, as one arm answered it."""

    task: str  # a column of Table 3, by lm-eval's name
    item: str  # subtask and number, the same for every arm
    arm: str
    is_correct: bool
    loglik: float  # log-likelihood of the correct answer, natural logarithm


class Retention(NamedTuple):
    """An arm's measurement: what determines it, its summaries by task, and its items."""

    arm: str
    fingerprint: dict[str, object]
    tasks: list[dict]
    items: list[RetentionItem]


class Fact(Record):
    """A fact of the laboratory and its location."""

    fact_id: str
    entity: str
    attribute: str
    value: list[str]  # one string for a scalar, several for a list-valued attribute
    structure: str
    document_id: str
    start: int
    end: int
    in_pretraining: bool  # public facts are for pretraining, private ones for DAPT


def by_document(rows: Iterable[Any]) -> defaultdict[str, list[Any]]:
    """Return the rows of each document, in their order, by its id."""
    found = defaultdict(list)
    for row in rows:
        found[row.document_id].append(row)
    return found


class Structure(NamedTuple):
    """A structure of facts; models' names for it are compared without case and punctuation."""

    name: str  # in files and tables: the code of the paper
    label: str  # in figures
    kind: str  # of the parsed blocks that are its own (lib.documents.markdown.Block)
    called: tuple[str, ...] = ()  # other names that models use
    has_entities: bool = False  # an answer can be several entities, one per line


# By name, in the order of tables; the first is the one that the others are compared with.
STRUCTURES = {
    one.name: one
    for one in (
        Structure(
            "natural",
            "prose",
            "prose",
            (
                "natural",
                "natural language",
                "natural text",
                "text",
                "paragraph",
                "sentence",
                "narrative",
            ),
        ),
        Structure(
            "entity-list",
            "list",
            "list",
            ("entity list", "entities", "bullet list", "enumeration"),
            has_entities=True,
        ),
        Structure("tabular", "table", "table", ("tabular", "table row", "row", "cell")),
    )
}


def structure_of(kind: str) -> Structure | None:
    """The structure of a kind of block; None if no question is asked about such blocks."""
    return next((one for one in STRUCTURES.values() if one.kind == kind), None)


def prose() -> str:
    """The name of the first structure."""
    return next(iter(STRUCTURES))


def structure_label(name: str) -> str:
    """The label of a structure; any other `name` is returned unchanged."""
    return STRUCTURES[name].label if name in STRUCTURES else name


def listed(items: Sequence[str], word: str = "and") -> str:
    """Join items in English: "a", "a and b", "a, b and c"; semicolons if an item has a comma."""
    if len(items) < 2:
        return "".join(items)
    comma = "; " if any("," in item for item in items) else ", "
    return f"{comma.join(items[:-1])}{comma.rstrip(', ')} {word} {items[-1]}"
