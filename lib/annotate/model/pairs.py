"""Annotate with a model: its requests, and which pairs in its replies are usable (paper, 3.1)."""

import json
import re
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, ValidationError

from lib.annotate.constraints import Candidate
from lib.annotate.model.grounding import Place, missing_number, places
from lib.annotate.model.parts import parts, room, shares
from lib.annotate.model.replies import Reading, read_pairs
from lib.annotate.queries import Propose
from lib.core.errors import BadReply, model_named
from lib.core.prompts import SPLIT, defused, prompt_template
from lib.core.records import Document, Rejected
from lib.core.structures import STRUCTURES, structure_of
from lib.core.text import folded
from lib.documents.language import UNKNOWN
from lib.documents.markdown import Block, block_at, parse
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request

_TAGS = "record"
_MARKER = re.compile(r"^[\s>]*(?:[-*+•]|\d{1,3}[.)])\s+", re.M)  # of a list item
_LAST_CHARACTERS = 2000  # of an unreadable reply, sent back to the model
_MAX_TITLE = 200  # characters

Proposals = tuple[list[Candidate], list[Rejected]]


class _Pair(BaseModel):
    model_config = ConfigDict(str_strip_whitespace=True)

    question: str
    answer: str
    source_reference: str
    source_reference_type: str = ""
    entity_list_length: int | None = None


def by_model(model: str, calls: Calls) -> Propose:
    """Return an engine that asks `model`; a reply without any pair is sent back once.

    Raises BadStudy if `model` names none. The engine raises ValueError if the model's context
    window is too small, and Stopped as `lib.llm.complete` does.
    """
    model_named("annotator", model)

    def propose(documents: list[Document], max_queries: int) -> list[Proposals]:
        space = room(model, max_queries)
        spans = [
            parts(document.text, space.record, lambda text: space.count(defused(text, _TAGS)))
            for document in documents
        ]
        requests = [
            request
            for document, its_spans in zip(documents, spans, strict=True)
            for request in _requests(document, its_spans, max_queries, space.reply)
        ]
        replies = iter(_repaired(requests, complete(requests, model, calls), model, calls))
        found: list[Proposals] = []
        for document, its_spans in zip(documents, spans, strict=True):
            candidates, rejected = [], []
            blocks = parse(document.text)
            for span in its_spans:
                more, left_out = read_reply(next(replies), document, blocks, *span)
                candidates += more
                rejected += left_out
            found.append((candidates, rejected))
        return found

    return propose


def _requests(
    document: Document, spans: list[tuple[int, int]], max_queries: int, max_tokens: int
) -> list[Request]:
    title = defused(" ".join(document.title.split())[:_MAX_TITLE], _TAGS)
    counts = shares([end - start for start, end in spans], max_queries)
    prompts = [
        prompt_template("annotate").render(
            title=title,
            text=defused(document.text[start:end], _TAGS),
            count=count,
            language=document.language or UNKNOWN,
        )
        for (start, end), count in zip(spans, counts, strict=True)
    ]
    return [Request.ask(prompt, max_tokens=max_tokens) for prompt in prompts]


# A truncated or refused reply is not sent back: it would be truncated or refused again
def _repaired(
    requests: list[Request], replies: list[Reply], model: str, calls: Calls
) -> list[Reply]:
    unread = [
        at
        for at, reply in enumerate(replies)
        if not reply.reason and not read_pairs(reply.text, "").is_readable
    ]
    repair = prompt_template("annotate_repair").render()
    again = [requests[at].then(replies[at].text[-_LAST_CHARACTERS:], repair) for at in unread]
    second = dict(zip(unread, complete(again, model, calls) if again else [], strict=True))
    return [second.get(at, reply) for at, reply in enumerate(replies)]


def read_reply(
    reply: Reply, document: Document, blocks: Sequence[Block], start: int, end: int
) -> Proposals:
    """Return the usable pairs of a reply about document.text[start:end], and the others' reasons.

    `blocks` are those of the document.

    The complete pairs of a truncated reply are used, because they were paid for and each is
    checked on its own.
    """
    reading = read_pairs(reply.text, document.text[start:end])
    candidates, left_out = [], _unread(reply, reading)
    for written, fields in reading.pairs:
        try:
            pair = _pair(fields, document.text)
            candidates.append(_candidate(pair, document, blocks, start, end))
        except BadReply as error:
            left_out.append((written, str(error)))
    return candidates, [
        Rejected(document_id=document.document_id, item=item, reason=reason)
        for item, reason in left_out
    ]


def _unread(reply: Reply, reading: Reading) -> list[tuple[str, str]]:
    if reply.reason:
        reason = f"the reply is not a complete answer: {reply.reason}"
        return [*reading.broken, (reply.text[-_LAST_CHARACTERS:], reason)]
    if reading.pairs or reading.broken:
        return list(reading.broken)
    reason = "the reply is an empty array" if reading.is_empty else "the reply contains no pair"
    return [(reply.text, reason)]


def _pair(fields: dict[str, str | None], text: str) -> _Pair:
    split = SPLIT if SPLIT not in text else ""  # otherwise it may be the record's own
    given = {name: value.replace(split, "") for name, value in fields.items() if value is not None}
    try:  # JSON refuses half of a surrogate pair, which cannot be stored
        pair = _Pair.model_validate_json(json.dumps(given))
    except ValidationError as error:
        first = error.errors()[0]
        details = ": ".join(map(str, (*first["loc"], first["msg"])))
        raise BadReply(f"a field of the pair is missing or wrong: {details}") from None
    return pair.model_copy(update={"question": " ".join(pair.question.split())})


def _candidate(
    pair: _Pair, document: Document, blocks: Sequence[Block], start: int, end: int
) -> Candidate:
    text, doubt = document.text, document.doubt
    if "source_reference_type" in text and folded(pair.question) in folded(text):
        raise BadReply("the pair is in the document, which thus dictates the annotator's reply")
    place, block = _grounded(pair, places(pair.source_reference, text, start, end), blocks)
    if block.kind == "table" and doubt:
        raise BadReply(f"the tables are in doubt: {doubt}")
    is_list = structure_of(block.kind).has_entities
    lines = [_MARKER.sub("", line).strip() for line in pair.answer.splitlines() if line.strip()]
    answer = "\n".join(lines) if is_list else pair.answer
    stated, counted = pair.entity_list_length, len(lines) if is_list else 1
    if stated not in (None, counted) and (is_list or stated != 0):
        raise BadReply(
            f"the entity count is not the number of lines: {stated} stated, {counted} there"
        )
    source = text[place.start : place.end]
    if number := missing_number(answer, source):
        raise BadReply(
            f"the answer does not appear verbatim in the source reference: no {number!r} there"
        )
    if is_list and (joined := _entity_over_items(answer, source)):
        raise BadReply(f"an entity spans two items of the list: {joined!r}")
    header = text[block.header[0].start : block.header[-1].end] if block.header else ""
    return Candidate(
        pair.question,
        answer,
        block.kind,
        place.start,
        place.end,
        header=header,
        grounding=place.how,
        grounding_score=place.score,
    )


def _grounded(pair: _Pair, found: list[Place], blocks: Sequence[Block]) -> tuple[Place, Block]:
    if not found:
        raise BadReply("the source reference is not in the document")
    label = re.sub(r"[\W_]+", " ", pair.source_reference_type).strip().lower()
    named = next((one for one in STRUCTURES.values() if label in (one.label, *one.called)), None)
    around = [block_at(blocks, one.start, one.end) for one in found]
    seen = [structure_of(block.kind) if block else None for block in around]
    for place, block, structure in zip(found, around, seen, strict=True):
        if structure and named in (None, structure):
            return place, block
    raise BadReply(
        "the label is not the structure that the parser sees there: "
        f"{pair.source_reference_type or 'none'} stated, "
        f"{seen[0].name if seen[0] else 'none'} seen"
    )


def _entity_over_items(answer: str, source: str) -> str:
    items = [f" {folded(item)} " for item in _MARKER.split(source)]
    return next(
        (
            line
            for line in answer.split("\n")
            if not any(f" {folded(line)} " in item for item in items)
        ),
        "",
    )
