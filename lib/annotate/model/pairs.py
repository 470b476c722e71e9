"""A model as annotator: what it is asked, and which pairs of its replies are usable (paper, 3.1)."""

import json
import re
from functools import lru_cache

from pydantic import BaseModel, ConfigDict, ValidationError

from lib.annotate.constraints import Candidate, folded
from lib.annotate.model.grounding import Place, missing_number, places
from lib.annotate.model.parts import parts, room, shares
from lib.annotate.model.replies import Reading, read_pairs
from lib.core.prompts import prompt_template
from lib.core.records import Document, Rejected, Structure
from lib.core.untrusted import SPLIT, defused
from lib.documents.blocks import STRUCTURE_OF, Block, parse, structure_at
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request

# What models call the three structures; any other name leaves the parser to decide.
NAMES: dict[str, Structure] = {name: structure for structure, names in {
    "natural": "natural, natural language, natural text, prose, text, paragraph, sentence, narrative",
    "entity-list": "entity list, entities, list, bullet list, enumeration",
    "tabular": "tabular, table, table row, row, cell"}.items() for name in names.split(", ")}

_TAGS = "record"
_MARKER = re.compile(r"^[\s>]*(?:[-*+•]|\d{1,3}[.)])\s+", re.M)  # of a list item
_LAST_CHARACTERS = 2000  # of a reply that could not be read, shown to the model again
_MOST_OF_A_TITLE = 200  # characters

Proposals = tuple[list[Candidate], list[Rejected]]


class _Pair(BaseModel):
    """One element of a reply, with the fields of the annotation prompt; others are ignored."""

    model_config = ConfigDict(str_strip_whitespace=True)

    question: str
    answer: str
    source_reference: str
    source_reference_type: str = ""
    entity_list_length: int | None = None


class _Unusable(ValueError):
    """Why one pair of a reply cannot be a query: a kind, and after a colon what is particular."""


def proposed_by_model(documents: list[Document], model: str, max_queries: int, calls: Calls | None) -> list[Proposals]:
    """For each document, the grounded pairs of `model` and what was left out of its replies, with the reason.

    A reply without any pair is sent back once. Raises ValueError without `calls` or where the model's context is too
    small, CallsStopped as `lib.llm.complete` does.
    """
    if calls is None:
        raise ValueError(f"the annotator {model!r} is a model: give `calls`, a lib.llm.Calls with the cache of the "
                         "study and what may be spent")
    space = room(model, max_queries)
    asked = [(number, *span) for number, document in enumerate(documents)
             for span in parts(document.text, space.record, lambda text: space.count(defused(text, _TAGS)))]
    requests = [Request.ask(prompt, max_tokens=space.reply) for prompt in _prompts(documents, asked, max_queries)]
    replies = _repaired(requests, complete(requests, model, calls), model, calls)
    found: list[Proposals] = [([], []) for _ in documents]
    for (number, start, end), reply in zip(asked, replies, strict=True):
        candidates, rejected = read_reply(reply, documents[number], start, end)
        found[number][0].extend(candidates)
        found[number][1].extend(rejected)
    return found


def _prompts(documents: list[Document], asked: list[tuple[int, int, int]], max_queries: int) -> list[str]:
    """One prompt a part (document number, start, end); a document's questions are shared out over all its parts."""
    counts = [count for number in range(len(documents)) for count in
              shares([end - start for other, start, end in asked if other == number], max_queries)]
    titles = [defused(" ".join(document.title.split())[:_MOST_OF_A_TITLE], _TAGS) for document in documents]
    return [prompt_template("annotate").render(title=titles[number], text=defused(documents[number].text[start:end], _TAGS),
                     count=count) for (number, start, end), count in zip(asked, counts, strict=True)]


def _repaired(requests: list[Request], replies: list[Reply], model: str, calls: Calls) -> list[Reply]:
    """The replies, those that are whole and yet hold no pair replaced by what a second request brought.

    One that was cut or refused is not sent back: it would be cut or refused again.
    """
    unread = [at for at, reply in enumerate(replies)
              if not reply.reason and not read_pairs(reply.text, "").is_readable]
    again = [requests[at].then(replies[at].text[-_LAST_CHARACTERS:], prompt_template("annotate_repair").render()) for at in unread]
    second = dict(zip(unread, complete(again, model, calls) if again else [], strict=True))
    return [second.get(at, reply) for at, reply in enumerate(replies)]


def read_reply(reply: Reply, document: Document, start: int, end: int) -> Proposals:
    """The pairs of a reply about document.text[start:end] as candidates; a pair or reply that cannot be used, why.

    A reply that was cut is no answer as a whole, but the whole pairs in it are used, because they were paid and each
    is checked alone; the rest is left out with the reason.
    """
    def left_out(item: str, reason: str) -> Rejected:
        return Rejected(document_id=document.document_id, item=item, reason=reason)

    reading, blocks, candidates = read_pairs(reply.text, document.text[start:end]), _blocks(document.text), []
    rejected = [left_out(item, reason) for item, reason in _unread(reply, reading)]
    for written, fields in reading.pairs:
        try:
            candidates.append(_candidate(_pair(fields, document.text), document.text, start, end, blocks))
        except _Unusable as error:
            rejected.append(left_out(written, str(error)))
    return candidates, rejected


@lru_cache(1)
def _blocks(text: str) -> list[Block]:
    """parse(text), once for all parts of a document."""
    return parse(text)


def _unread(reply: Reply, reading: Reading) -> list[tuple[str, str]]:
    """(text, reason) of what could not be read of a reply, or why the whole reply holds nothing."""
    if reply.reason:
        return [*reading.broken, (reply.text[-_LAST_CHARACTERS:], f"the reply is no whole answer: {reply.reason}")]
    if reading.pairs or reading.broken:
        return reading.broken
    return [(reply.text, "the reply is an empty array" if reading.is_empty else "the reply holds no pair")]


def _pair(fields: dict[str, str | None], text: str) -> _Pair:
    split = SPLIT if SPLIT not in text else ""  # else it may be the record's own
    given = {name: value.replace(split, "") for name, value in fields.items() if value is not None}
    try:
        pair = _Pair.model_validate_json(json.dumps(given))  # refuses half characters, which cannot be stored
    except ValidationError as error:
        first = error.errors()[0]
        raise _Unusable("a field of the pair is missing or wrong: "
                        + ": ".join(map(str, (*first["loc"], first["msg"])))) from None
    return pair.model_copy(update={"question": " ".join(pair.question.split())})


def _candidate(pair: _Pair, text: str, start: int, end: int, blocks: list[Block]) -> Candidate:
    """The pair as a question about text[start:end], grounded there; _Unusable where that cannot be."""
    if "source_reference_type" in text and folded(pair.question) in folded(text):
        raise _Unusable("the pair stands in the document, which thus tells the annotator what to reply")
    place, structure = _grounded(pair, places(pair.source_reference, text, start, end), blocks)
    lines = [_MARKER.sub("", line).strip() for line in pair.answer.splitlines() if line.strip()]
    answer = "\n".join(lines) if structure == "entity-list" else pair.answer
    stated, counted = pair.entity_list_length, len(lines) if structure == "entity-list" else 1
    if stated not in (None, counted) and (stated, structure != "entity-list") != (0, True):
        raise _Unusable(f"the entity count is not the number of lines: {stated} stated, {counted} there")
    source = text[place.start:place.end]
    if number := missing_number(answer, source):
        raise _Unusable(f"the answer does not stand word for word in the source reference: no {number!r} there")
    if structure == "entity-list" and (joined := _entity_over_items(answer, source)):
        raise _Unusable(f"an entity runs over two items of the list: {joined!r}")
    return Candidate(pair.question, answer, structure, place.start, place.end, grounding=place.how,
                     grounding_score=place.score)


def _grounded(pair: _Pair, found: list[Place], blocks: list[Block]) -> tuple[Place, Structure]:
    """The best place that the parser labels as the pair does; where the pair's label is unknown, the best labelled."""
    if not found:
        raise _Unusable("the source reference does not stand in the document")
    stated = NAMES.get(re.sub(r"[\W_]+", " ", pair.source_reference_type).strip().lower())
    seen = [STRUCTURE_OF.get(structure_at(blocks, place.start, place.end)) for place in found]
    for place, structure in zip(found, seen, strict=True):
        if structure and stated in (None, structure):
            return place, structure
    raise _Unusable("the label is not the structure that the parser sees there: "
                    f"{pair.source_reference_type or 'none'} stated, {seen[0] or 'none'} seen")


def _entity_over_items(answer: str, source: str) -> str:
    """The first line of `answer` whose words stand in no single item of the list `source`; "" where all do."""
    items = [f" {folded(item)} " for item in _MARKER.split(source)]
    return next((line for line in answer.split("\n") if not any(f" {folded(line)} " in item for item in items)), "")
