"""From a model's reply to queries: one prompt a document or part of one, strict parsing, grounding (paper, 3.1)."""

import json
import re
from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from lib.blocks import STRUCTURE_OF, Block, parse, structure_at
from lib.constraints import Candidate
from lib.llm import Reply, complete, rendered
from lib.records import Document, Rejected, Structure

MAX_PROMPT_CHARACTERS = 24_000  # of document text in one prompt; a longer document is cut at its headings

Proposals = tuple[list[Candidate], list[Rejected]]


class _Pair(BaseModel):
    """One element of the reply, with the fields of the paper's annotation prompt and no other."""

    model_config = ConfigDict(extra="forbid", strict=True)

    question: str
    answer: str
    source_reference: str
    source_reference_type: Structure
    entity_list_length: int | None = None


_PAIRS = TypeAdapter(list[_Pair])


class _Unusable(ValueError):
    """Why one pair of a reply cannot be a query."""


def proposed_by_model(documents: list[Document], model: str, max_queries: int) -> list[Proposals]:
    """For each document, the grounded pairs of `model` and what was left out of its replies, with the reason."""
    parts = [(number, start, end) for number, document in enumerate(documents)
             for start, end in cut_at_headings(document.text, MAX_PROMPT_CHARACTERS)]
    counts = [sum(number == other for other, _, _ in parts) for number in range(len(documents))]
    prompts = [rendered("annotate", title=documents[number].title, text=documents[number].text[start:end],
                        count=-(-max_queries // counts[number])) for number, start, end in parts]
    found: list[Proposals] = [([], []) for _ in documents]
    for (number, start, end), reply in zip(parts, complete(prompts, model), strict=True):
        candidates, rejected = read_reply(reply, documents[number], start, end)
        found[number][0].extend(candidates)
        found[number][1].extend(rejected)
    return found


def cut_at_headings(text: str, most: int) -> Iterator[tuple[int, int]]:
    """Spans of at most `most` characters that cover `text`, cut before a heading, else a block, else anywhere."""
    blocks = parse(text)
    headings = [block.start for block in blocks if block.kind == "heading"]
    start = 0
    while len(text) - start > most:
        end = max((cut for cut in headings if start < cut <= start + most), default=0)
        end = end or max((block.start for block in blocks if start < block.start <= start + most), default=start + most)
        yield start, end
        start = end
    if text[start:].strip():
        yield start, len(text)


def read_reply(reply: Reply, document: Document, start: int, end: int) -> Proposals:
    """The pairs of a reply about document.text[start:end] as candidates; a pair or reply that cannot be used, why."""
    def left_out(item: str, reason: str) -> Rejected:
        return Rejected(document_id=document.document_id, item=item, reason=reason)

    if reply.reason:
        return [], [left_out(reply.text, f"no whole reply for characters {start} to {end}: {reply.reason}")]
    try:
        items = json.loads(reply.text)
    except ValueError as error:
        return [], [left_out(reply.text, f"the reply is not a bare JSON array: {error}")]
    if not isinstance(items, list):
        return [], [left_out(reply.text, f"the reply is not a bare JSON array but {type(items).__name__}")]
    blocks, candidates, rejected = parse(document.text), [], []
    for item in items:
        try:
            candidates.append(_candidate(item, document.text, start, end, blocks))
        except _Unusable as error:
            rejected.append(left_out(json.dumps(item), str(error)))
    return candidates, rejected


def _candidate(item: object, text: str, start: int, end: int, blocks: list[Block]) -> Candidate:
    try:
        pair = _PAIRS.validate_json(json.dumps([item]))[0]  # refuses half characters, which cannot be stored
    except ValidationError as error:
        first = error.errors()[0]
        raise _Unusable(f"{'.'.join(map(str, first['loc'][1:])) or 'the pair'}: {first['msg']}") from error
    lines = len(pair.answer.split("\n")) if pair.source_reference_type == "entity-list" else None
    if pair.entity_list_length != lines:
        raise _Unusable(f"entity_list_length is {pair.entity_list_length}, but the answer has {lines or 'no'} entities")
    found = [match.span() for match in _occurrences(pair.source_reference, text, start, end)]
    if not found:
        raise _Unusable("the source reference does not stand in the document")
    kinds = [STRUCTURE_OF.get(structure_at(blocks, *span)) for span in found]
    if pair.source_reference_type not in kinds:
        raise _Unusable(f"the label is {pair.source_reference_type}, but the parser sees {kinds[0] or 'none'} there")
    span = found[kinds.index(pair.source_reference_type)]
    return Candidate(pair.question, pair.answer, pair.source_reference_type, *span)


def _occurrences(reference: str, text: str, start: int, end: int) -> list[re.Match[str]]:
    """Where `reference` stands in text[start:end], exactly or with its blanks and line breaks folded."""
    words = reference.split()
    pattern = re.compile(r"\s+".join(map(re.escape, words))) if words else None
    return list(pattern.finditer(text, start, end)) if pattern else []
