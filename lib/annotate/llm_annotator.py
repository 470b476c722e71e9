"""A model as annotator: prompts, the pairs in its replies, where they are grounded (paper, 3.1).

A quotation is located by its words: markup, case and whitespace may differ.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Annotated, NamedTuple

import semchunk
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from lib.annotate.questions import Candidate, Proposals, Propose
from lib.core.prompts import (
    BREAK_MARK,
    casefold_words,
    escape_prompt_markup,
    objects_in,
    prompt_template,
)
from lib.core.records import STRUCTURES, UNKNOWN, Document, Rejected, structure_of
from lib.core.store import BadReply
from lib.documents.markdown import Block, block_at, parse
from lib.llm.calls import Calls, price_of
from lib.llm.complete import complete
from lib.llm.request import ESTIMATE, Reply, Request, counter

CONTEXT_TOKENS = 8192  # of a model without context_tokens in prices.csv
TOKENS_PER_PAIR = 400  # of a reply; a long entity list occurs in answer and source reference
_TAGS = "record"
_LAST_CHARACTERS = 2000  # of an incomplete reply, kept with its reason
_MAX_TITLE = 200  # characters
_MARKER = re.compile(r"^[ \t\u3000>]*+(?:[-*+•]|\d{1,3}[.)])\s+", re.M)  # of a list item
_OBJECT = re.compile(r"(?=\{\s*+[\"“„”'][\w -]{1,40}[\"“”']\s*+:)")
_DECODER = json.JSONDecoder(strict=False, parse_int=str, parse_float=str)

# of a Markdown link
_TARGET = re.compile(r"(?<=\])\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)")
_MARKS = re.compile(rf"(?:{_TARGET.pattern}|[^\w\s]|_)*+")  # after a quotation
_WORD = re.compile(  # 1.2.3 and -20 are one word each
    r"(?:(?<![\w)\]])[-−–](?=\d))?[^\W\d_]*\d+(?:[.,:]\d+)*[^\W_]*|[^\W_]+"
)
_MINUS = str.maketrans("−–", "--")

Span = tuple[int, int]


def llm_annotator(model: str, calls: Calls, per_call: int | None = None) -> Propose:
    """An annotator that asks `model` for `per_call` pairs at once; None: a document's parts share.

    Raises ValueError if the model's context window or `per_call` is too small. The annotator raises
    Stopped as `lib.llm.complete` does.
    """
    if per_call is not None and per_call < 1:
        raise ValueError(f"queries_per_call is {per_call}: ask for at least 1, or None")

    def propose(documents: list[Document], max_queries: int) -> list[Proposals]:
        budget = token_budget(model, max_queries, per_call)
        spans = [chunk(document.text, budget) for document in documents]
        requests = [
            request
            for document, own in zip(documents, spans, strict=True)
            for request in _requests(document, own, max_queries, per_call, budget.reply)
        ]
        replies = iter(complete(requests, model, calls))
        proposals = []
        for document, own in zip(documents, spans, strict=True):
            blocks = parse(document.text)
            read = [read_reply(next(replies), document, blocks, *span) for span in own]
            proposals.append(tuple(sum(lists, []) for lists in zip(*read, strict=True)) or ([], []))
        return proposals

    return propose


class Budget(NamedTuple):
    """Tokens of a call, as `count` counts them, for a document's text and for the reply."""

    count: Callable[[str], int]
    record: int
    reply: int
    parts: int = 1  # of a document, at least


def token_budget(model: str, max_queries: int, per_call: int | None) -> Budget:
    """The tokens that `model` has for a document's part and for a reply of `per_call` pairs.

    Raises ValueError if its context window holds no more than the prompt itself.
    """
    price = price_of(model)
    context = price.context_tokens if price and price.context_tokens else CONTEXT_TOKENS
    count, how = counter(model)
    most = price and price.max_output_tokens or context
    n_pairs = per_call or max_queries
    reply = min(TOKENS_PER_PAIR * n_pairs, context // 4, most)
    prompt = prompt_template("annotate").render(title="", text="", count=n_pairs, language="")
    record = context - reply - count(prompt)
    if how == ESTIMATE:
        record = record * 3 // 4  # tokens of Chinese, code or digits have 3 bytes rather than 4
    if record < 1:
        raise ValueError(
            f"{model!r} has a context window of {context} tokens: too few for "
            "prompts/annotate.md and a reply"
        )
    parts = -(-max_queries // n_pairs)
    return Budget(lambda text: count(escape_prompt_markup(text, _TAGS)), record, reply, parts)


def chunk(text: str, budget: Budget) -> list[tuple[int, int]]:
    """Spans of at most `budget.record` tokens that cover `text` except for whitespace."""
    n_tokens = budget.count(text)
    most = min(budget.record, 1 + n_tokens * 6 // (5 * budget.parts))  # uneven, so that few remain
    if n_tokens <= most:
        return [(0, len(text))] if text.strip() else []
    return semchunk.chunk(text, most, budget.count, offsets=True, memoize=False)[1]


def _requests(
    document: Document,
    spans: list[tuple[int, int]],
    max_queries: int,
    per_call: int | None,
    max_tokens: int,
) -> list[Request]:
    lengths = [end - start for start, end in spans]
    shares = pairwise(
        round(max_queries * end / max(sum(lengths), 1)) for end in accumulate(lengths, initial=0)
    )
    prompts = [
        prompt_template("annotate").render(
            title=escape_prompt_markup(" ".join(document.title.split())[:_MAX_TITLE], _TAGS),
            text=escape_prompt_markup(document.text[start:end], _TAGS),
            count=per_call or max(1, last - first),
            language=document.language or UNKNOWN,
        )
        for (start, end), (first, last) in zip(spans, shares, strict=True)
    ]
    return [Request.ask(prompt, max_tokens=max_tokens, shape="annotate") for prompt in prompts]


def _as_text(value: object) -> object:
    if isinstance(value, list):
        return "\n".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else value


_Text = Annotated[str, BeforeValidator(_as_text)]


class _Pair(BaseModel):
    model_config = ConfigDict(str_strip_whitespace=True, coerce_numbers_to_str=True)

    question: _Text
    answer: _Text
    source_reference: _Text
    source_reference_type: str = ""
    entity_list_length: int | None = None


def read_reply(
    reply: Reply, document: Document, blocks: Sequence[Block], start: int, end: int
) -> Proposals:
    """The usable pairs of a reply about document.text[start:end], and the others' reasons.

    `blocks` are those of the document. The complete pairs of a truncated reply are used, because
    they were paid for and each is checked on its own.
    """
    candidates, refused = [], []
    text = reply.text.rpartition("</think>")[2].replace(BREAK_MARK, "")
    for written in (one for one in _OBJECT.split(text)[1:] if "question" in one):
        try:
            if reply.reason and "}" not in written:
                raise BadReply("the pair is truncated")
            pair = _validate(_fields(written))
            candidates.append(_candidate(pair, document, blocks, start, end))
        except BadReply as error:
            refused.append((written, str(error)))
    if reply.reason:
        reason = f"the reply is not a complete answer: {reply.reason}"
        refused.append((reply.text[-_LAST_CHARACTERS:], reason))
    elif not candidates and not refused:
        refused.append((reply.text, "the reply contains no pair"))
    return candidates, [
        Rejected(document_id=document.document_id, rejected_text=item, reason=reason)
        for item, reason in refused
    ]


def _fields(written: str) -> dict:
    try:
        return _DECODER.raw_decode(written)[0]
    except (ValueError, RecursionError):  # a slip
        return next(iter(objects_in(written)), {})


def _validate(fields: dict) -> _Pair:
    try:  # half of a surrogate pair, which cannot be stored, is refused
        pair = _Pair.model_validate_json(json.dumps(fields))
    except ValidationError as error:
        first = error.errors()[0]
        details = ": ".join(map(str, (*first["loc"], first["msg"])))
        raise BadReply(f"a field of the pair is missing or wrong: {details}") from None
    return pair.model_copy(update={"question": " ".join(pair.question.split())})


def _candidate(
    pair: _Pair, document: Document, blocks: Sequence[Block], start: int, end: int
) -> Candidate:
    text = document.text
    if "source_reference_type" in text and casefold_words(pair.question) in casefold_words(text):
        raise BadReply("the pair is in the document, which thus dictates the annotator's reply")
    (first, last), block = _ground(pair, places(pair.source_reference, text, start, end), blocks)
    if doubt := document.doubt_in(block.start, block.end):
        raise BadReply(f"its block is in doubt: {doubt}")
    is_list = structure_of(block.kind).has_entities
    lines = [_MARKER.sub("", line).strip() for line in pair.answer.splitlines() if line.strip()]
    answer = "\n".join(lines) if is_list else pair.answer
    stated, counted = pair.entity_list_length, len(lines) if is_list else 1
    if stated not in (None, counted) and (is_list or stated != 0):
        raise BadReply(
            f"the entity count is not the number of lines: {stated} stated, {counted} there"
        )
    source = text[first:last]
    if answer in ("true", "false") and (shown := re.search(rf"\b{answer}\b", source, re.I)):
        answer = shown[0]  # a sheet has TRUE where JSON has true
    if number := missing_number(answer, source):
        raise BadReply(
            f"the answer does not appear verbatim in the source reference: no {number!r} there"
        )
    items = [f" {casefold_words(item)} " for item in _MARKER.split(source)]
    for line in answer.split("\n") if is_list else ():
        if not any(f" {casefold_words(line)} " in item for item in items):
            raise BadReply(f"an entity spans two items of the list: {line!r}")
    header = text[block.header[0].start : block.header[-1].end] if block.header else ""
    return Candidate(pair.question, answer, block.kind, first, last, header)


def _ground(pair: _Pair, found: list[Span], blocks: Sequence[Block]) -> tuple[Span, Block]:
    if not found:
        raise BadReply("the source reference is not in the document")
    label = re.sub(r"[\W_]+", " ", pair.source_reference_type).strip().lower()
    named = next((one for one in STRUCTURES.values() if label in (one.label, *one.called)), None)
    around = [block_at(blocks, *one) for one in found]
    seen = [structure_of(block.kind) if block else None for block in around]
    for place, block, structure in zip(found, around, seen, strict=True):
        if structure and named in (None, structure):
            return place, block
    raise BadReply(
        "the label is not the structure that the parser sees there: "
        f"{pair.source_reference_type or 'none'} stated, "
        f"{seen[0].name if seen[0] else 'none'} seen"
    )


def places(reference: str, text: str, start: int, end: int) -> list[Span]:
    """Return the places of `reference` in text[start:end]: verbatim, else by its words alone.

    A match does not begin or end inside a word or a number: "2 V" is not in "12 V", and "20 °C"
    is not in "-20 °C".
    """
    parts = reference.split()
    if not parts:
        return []
    before = r"(?<!\w)" if re.match(r"\w", parts[0]) else ""
    if parts[0][0].isdigit():
        before += r"(?<!\d[.,:])(?<!(?<![\w)\]])[-−–])"
    after = r"(?!\w)" if re.search(r"\w\Z", parts[-1]) else ""
    if parts[-1][-1].isdigit():
        after += r"(?![.,:]\d)"
    pattern = re.compile(before + r"\s+".join(map(re.escape, parts)) + after)
    found = [match.span() for match in pattern.finditer(text, start, end)]
    if found:
        return sorted(found, key=lambda span: text[slice(*span)] != reference.strip())
    said, there = [word for word, *_ in _words(reference)], _words(text[start:end])
    runs = zip(*(there[at:] for at in range(len(said))), strict=False)
    same = [run for run in runs if [word for word, *_ in run] == said]
    return [_with_marks(text, start + run[0][1], start + run[-1][2]) for run in same]


def missing_number(answer: str, source: str) -> str:
    """Return the first word with a digit in `answer` that is not in `source`, "" if none.

    Signs and decimals are compared.
    """
    there = {word for word, _, _ in _words(source)}
    return next(
        (word for word, _, _ in _words(answer) if re.search(r"\d", word) and word not in there), ""
    )


@lru_cache(4)  # the part of a document is needed for each of its pairs
def _words(text: str) -> list[tuple[str, int, int]]:
    visible = _TARGET.sub(lambda target: " " * len(target[0]), text)
    return [
        (unicodedata.normalize("NFKC", match[0]).casefold().translate(_MINUS), *match.span())
        for match in _WORD.finditer(visible)
    ]


# Extend text[start:end] over adjacent markup, such as "**36** l" or a link's target
def _with_marks(text: str, start: int, end: int) -> tuple[int, int]:
    while start and not (text[start - 1].isspace() or text[start - 1].isalnum()):
        start -= 1
    return start, _MARKS.match(text, end).end()
