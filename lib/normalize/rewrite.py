"""Rewrites of segments as prose, and synthetic texts about them, by a model (paper, 3.2)."""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import replace
from functools import partial

import jinja2
import pandas as pd

from lib.core.arms import COVERAGE, QUESTIONS, WORDINGS
from lib.core.prompts import (
    BREAK_MARK,
    casefold_words,
    deconfuse,
    escape_prompt_markup,
    prompt_template,
)
from lib.core.records import UNKNOWN, Augmented, Document, Normalized, Query, Segment
from lib.core.store import model_named, tell
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request
from lib.normalize.audit import KINDS, SegmentAudit, audit, audit_texts
from lib.normalize.segment import KEPT, WORDLESS, Draft, Rewrite, Vary

TESTED = "asks what a question of the test asks"
WITHHELD = "withheld by lot"
_JOINING = {"and", "or", "the", "a", "an"}  # do not count in answers
NOT_STATED = "its answer is not in the segment"
NOTHING = "the model found nothing of this kind in the segment"
_TAGS = "document_title|part"
_MIN_REPLY = 4096  # tokens of the limit of a reply; above it twice the tokens of all its variants
_FENCE = re.compile(r"\A```\w*\s*\n(.*)\n\s*```\Z", re.S)

# The marker in text from `deconfuse`, in which other chevrons and HTML escapes are < and >.
_OPEN = re.compile(r"(?<!<)(?<!<\s)(?:<[ \t]?){3,}+\s*+\{\s?\{")
_CLOSE = re.compile(r"\}\s?\}\s*+(?:>[ \t]?){3,}+")
_LABEL = re.compile(
    r"\A(?:\W*(?:rating|remark)\b[^\n]*\n)*\W*"
    r"conversion to high-quality data\W*?:[\s*_]*",
    re.I,
)
_PLACEHOLDER = "<the rewritten text>"
_PROMPT_TAG = re.compile(r"<\s*/?\s*(?:part|document_title)\s*>")
# Reasons for asking once more, because the model or a proxy may have cut or repeated the reply.
_UNCLOSED, _SEVERAL, _ECHO = AGAIN = (
    "the rewrite's closing marker is missing",
    "several rewrites in the reply",
    "the rewrite repeats a marker of the prompt",
)

# An integer from 1 to 10, perhaps "of 10"; not a range, another scale or a percentage.
_RATING = re.compile(
    r"\brating[\s:=–<(\[]*(10|[1-9])(?:\.0)?(?: ?(?:/|out of) ?10)?[ >)\]]*(?:\(.*\))?$",
    re.I | re.M,
)
_REMARK = re.compile(r"^[^\w\n]*(?:\d[.)][ \t]*)?remarks?[*_` ]*[:=][*_` \t]*(\S.*)$", re.I | re.M)


def normalize(
    segments: list[Segment], documents: list[Document], rewrite: Rewrite
) -> list[Normalized]:
    """One row per segment, in order; one without a rewrite gives the reason.

    `rewrite` is `llm_normalizer(…)` or `lib.lab.facts.rewrite_facts(…)`. Raises KeyError naming
    a document that is not in `documents`, and whatever `rewrite` raises.
    """
    return rewrite(segments, {document.document_id: document for document in documents})


def llm_normalizer(model: str, document_kind: str, calls: Calls) -> Rewrite:
    """A normalizer that sends each segment to `model`; `document_kind` fills the prompt's slot.

    A reply that may be cut or repeated is asked for once more; so is, with the reason, a rewrite
    that loses or invents a fact. If it is not better, the segment stays as it is. Raises BadStudy
    if `model` names none; the normalizer raises Stopped as `lib.llm.complete` does.
    """
    model_named("normalizer", model)

    def rewrite(segments: list[Segment], documents: dict[str, Document]) -> list[Normalized]:
        named = {one.segment_id: one for one in segments}
        template = prompt_template("normalize")
        requests = {
            name: Request.ask(_prompt(template, one, documents, document_kind=document_kind))
            for name, one in named.items()
        }
        replies = _replies(segments, requests, model, calls)
        rows = {name: parse_rewrite(one, replies[name]) for name, one in named.items()}
        faults = _faults(segments, documents, rows)
        again = {
            name: _repair_request(requests[name], replies[name], faults[name])
            if name in faults
            else replace(requests[name], attempt=1)
            for name, row in rows.items()
            if name in faults or row.dropped in AGAIN
        }
        second = dict(zip(again, complete([*again.values()], model, calls), strict=True))
        rows |= {name: parse_rewrite(named[name], reply) for name, reply in second.items()}
        tell(
            f"{len(again)} replies were asked for once more: {len(again) - len(faults)} were cut "
            f"or repeated, {len(faults)} lost a fact or added one"
        )
        left = _faults(segments, documents, rows)
        for name in faults:
            if reason := left.get(name) or rows[name].dropped:
                kept = {"text": named[name].text.strip(), "remark": f"{KEPT}: {reason}"}
                rows[name] = rows[name].model_copy(update=kept | {"dropped": ""})
        return [*rows.values()]

    return rewrite


# A segment without a word is not sent
def _replies(
    segments: list[Segment], requests: dict[str, Request], model: str, calls: Calls
) -> dict[str, Reply]:
    names = [one.segment_id for one in segments if re.search(r"\w", one.text)]
    replies = complete([requests[name] for name in names], model, calls)
    return dict.fromkeys(requests, Reply("", WORDLESS)) | dict(zip(names, replies, strict=True))


def _repair_request(request: Request, reply: Reply, fault: str) -> Request:
    return request.then(reply.text, prompt_template("normalize_repair").render(reason=fault))


def _faults(
    segments: list[Segment], documents: dict[str, Document], rows: dict[str, Normalized]
) -> dict[str, str]:
    audits = audit(segments, list(documents.values()), list(rows.values()))
    return {row.segment_id: reason for row in audits if not row.dropped and (reason := row.fault)}


def _prompt(
    template: jinja2.Template, segment: Segment, documents: dict[str, Document], **slots: object
) -> str:
    document = documents[segment.document_id]
    return template.render(
        language=document.language or UNKNOWN,
        title=escape_prompt_markup(document.title, _TAGS),
        segment=escape_prompt_markup(segment.text, _TAGS),
        **slots,
    )


def parse_rewrite(segment: Segment, reply: Reply) -> Normalized:
    """Rating, remark and rewrite of a reply, or the reason why there is no rewrite.

    A reply without a rating (None) or a remark ("") keeps its rewrite, which was paid for; the
    paper's 99.4% also counts only rewrites.
    """
    before, marked, after, fault = _between_markers(reply.text, segment.text)
    text = "" if fault else _rewrite(marked)
    dropped = (
        reply.reason
        or fault
        or (_ECHO if _echoes(text, segment.text) else "" if text else "the rewrite is empty")
    )
    remarks = _REMARK.findall(before) or _REMARK.findall(after)
    if BREAK_MARK not in segment.text:
        text = text.replace(BREAK_MARK, "")
    return Normalized(
        segment_id=segment.segment_id,
        document_id=segment.document_id,
        rating=_rating(before) or _rating(after),
        remark=remarks[-1].strip(" \t*_`") if remarks else "",
        text="" if dropped else text,
        dropped=dropped,
    )


# Where a marker begins and ends
def _marks(pattern: re.Pattern, text: str) -> list[tuple[int, int]]:
    letters, ends = deconfuse(text)
    bounds = [0, *ends]
    return [(bounds[one.start()], bounds[one.end()]) for one in pattern.finditer(letters)]


# What is before, between and after the markers, and why that cannot be used. A rewrite may quote
# a marker that its source contains.
def _between_markers(reply: str, source: str) -> tuple[str, str, str, str]:
    opens, closes = _marks(_OPEN, reply), _marks(_CLOSE, reply)
    if not opens:
        return reply, "", "", "no rewrite between <<<<{{ and }}>>>> in the reply"
    start, first = opens[0]
    closes = [mark for mark in closes if mark[0] >= first]
    is_quoted = bool(_marks(_OPEN, source) or _marks(_CLOSE, source))
    if not closes or not is_quoted and len(closes) < len(opens):
        return reply[:start], "", "", _UNCLOSED
    last, end = closes[-1]
    is_second = not is_quoted and closes[0][1] <= opens[-1][0]
    return reply[:start], reply[first:last], reply[end:], _SEVERAL if is_second else ""


def _echoes(text: str, source: str) -> bool:
    patterns = (_OPEN, _CLOSE, _PROMPT_TAG)
    return any(_marks(one, text) and not _marks(one, source) for one in patterns)


def _rating(text: str) -> int | None:
    text = re.sub(r"[*_`#]", "", unicodedata.normalize("NFKC", text))
    return next((int(found) for found in reversed(_RATING.findall(text))), None)


def _rewrite(marked: str) -> str:
    text = _LABEL.sub("", marked.strip()).strip()
    return "" if text == _PLACEHOLDER else text


def augment(
    segments: list[Segment],
    documents: list[Document],
    queries: list[Query],
    augmenters: Mapping[str, Vary],
    k: int,
    withheld: Container[str] = (),
) -> tuple[list[Augmented], list[SegmentAudit]]:
    """The texts of each kind, `k` a segment or 5k questions, and the audit of each with a text.

    `augmenters` is `llm_augmenters(…)`. A text with a query's question is dropped, and so is one
    that is `withheld` or states what is nowhere in its document.
    """
    document_of = {segment.segment_id: segment.document_id for segment in segments}
    by_id = {document.document_id: document for document in documents}
    asked = [casefold_words(query.question) for query in queries]
    numbers, rows = Counter(), []
    for kind, vary in augmenters.items():
        for draft in vary(segments, by_id, k):
            name, text = draft.segment_id, casefold_words(draft.text)
            left_out = WITHHELD if draft.text in withheld else ""
            left_out = TESTED if any(one in text for one in asked) else left_out
            numbers[kind, name] += 1
            rows.append(
                Augmented(
                    segment_id=name,
                    document_id=document_of[name],
                    strategy=kind,
                    number=numbers[kind, name],
                    text=draft.text,
                    dropped=draft.dropped or left_out,
                    answer=draft.answer,
                )
            )
    audits = audit_texts([row for row in rows if row.text], segments, documents)
    audit_of = iter(audits)
    return [_checked(row, next(audit_of)) if row.text else row for row in rows], audits


def _checked(row: Augmented, audit: SegmentAudit) -> Augmented:
    words = [word for kind in KINDS for word in audit.invented[kind]]
    if row.dropped or row.answer or not words:  # a question may say what is not so
        return row
    return row.model_copy(update={"dropped": f"invents {', '.join(words[:5])}"})


def augmented_table(
    rows: list[Augmented], audits: list[SegmentAudit], count: Callable[[str], int]
) -> pd.DataFrame:
    """One row a kind; `count` returns a text's tokens.

    `tokens` counts those of kept texts, `written` the words, amounts and items of all texts, and
    `invented` those that are nowhere in the document.
    """
    table = pd.DataFrame(
        {
            "kind": row.strategy,
            "texts": 1,
            "kept": not row.dropped,
            "asked_by_test": row.dropped == TESTED,
            "tokens": 0 if row.dropped else count(f"{row.text} {row.answer}".strip()),
            "written": audit.number("written"),
            "invented": audit.number("invented"),
        }
        for row, audit in zip((row for row in rows if row.text), audits, strict=True)
    )
    return table.groupby("kind", sort=False).sum() if len(table) else table


def llm_augmenters(
    model: str, kinds: Iterable[str], document_kind: str, calls: Calls
) -> dict[str, Vary]:
    """Augmenters that ask `model` for the texts named; a segment with a word is one call.

    A failed call or an unreadable reply leaves a draft with its reason. They raise Stopped as
    `lib.llm.complete` does. Raises BadStudy if `model` names none.
    """
    model_named("augmenter", model)

    def vary(
        kind: str, segments: list[Segment], documents: dict[str, Document], k: int
    ) -> list[Draft]:
        (template, parse), slots = _WRITTEN[kind], {"document_kind": document_kind}
        requests = {
            one.segment_id: Request.ask(
                _prompt(template, one, documents, count=k, **slots),
                max_tokens=max(_MIN_REPLY, 2 * k * one.n_tokens),
            )
            for one in segments
        }
        replies = _replies(segments, requests, model, calls)
        return [
            draft
            for one in segments
            for draft in _drafts(one, replies[one.segment_id], partial(parse, k=k))
        ]

    return {kind: partial(vary, kind) for kind in kinds}


def _drafts(segment: Segment, reply: Reply, parse: Callable) -> list[Draft]:
    own, reason = [], reply.reason
    if not reason:
        bare = reply.text.strip()
        fenced = _FENCE.match(bare)
        try:
            found = json.loads(fenced[1] if fenced else bare, strict=False)
            own = parse(segment, found if isinstance(found, list) else [None])
            "".join(one.text + one.answer for one in own).encode()  # no half of a surrogate pair
            reason = NOTHING
        except (ValueError, AttributeError, TypeError, KeyError, RecursionError):
            own, reason = [], "the reply is not a JSON array of the form asked for"
    if BREAK_MARK not in segment.text:  # otherwise it may be the document's own
        own = [replace(one, text=one.text.replace(BREAK_MARK, "")) for one in own]
    return own or [Draft(segment.segment_id, "", reason)]


def _texts(segment: Segment, found: list[str], k: int) -> list[Draft]:
    texts = [text for text in dict.fromkeys(one.strip() for one in found) if text]
    return [Draft(segment.segment_id, text) for text in texts[:k]]


def _questions(segment: Segment, found: list[dict[str, str]], k: int) -> list[Draft]:
    part, drafts = f" {casefold_words(segment.text)} ", []
    for row in found:
        answer = "\n".join(line.strip() for line in row["answer"].splitlines() if line.strip())
        missing = [one for one in answer.splitlines() if f" {casefold_words(one)} " not in part]
        reason = "" if answer and not missing else NOT_STATED
        texts = dict.fromkeys(row[name].strip() for name in ("question", "other_wording"))
        drafts += [Draft(segment.segment_id, text, reason, answer) for text in texts if text]
    return drafts


# The prompt and the reader of the reply of each kind of text.
_WRITTEN = {
    WORDINGS: (prompt_template("augment_paraphrase"), _texts),
    QUESTIONS: (prompt_template("augment_questions"), _questions),
}


def coverage(queries: Iterable[Query], rows: Iterable[Augmented]) -> pd.DataFrame:
    """The training question nearest to each query, of its document, and the query's COVERAGE.

    `answer` is the share of words that the two answers have in common, of all their words, `words`
    the share of the query's words in the training question.
    """
    asked = [row for row in rows if row.answer and not row.dropped]
    found = []
    for query in queries:
        near = [_nearness(query, row) for row in asked if row.document_id == query.document_id]
        level, words, answer, question = max(near, default=(0, 0.0, 0.0, ""))
        found.append((query.query_id, COVERAGE[level], answer, words, query.question, question))
    names = ["query_id", "coverage", "answer", "words", "question", "training_question"]
    return pd.DataFrame(found, columns=names)


def _nearness(query: Query, row: Augmented) -> tuple[int, float, float, str]:
    first, second = ({*casefold_words(one.answer).split()} - _JOINING for one in (query, row))
    own, other = ({*casefold_words(one).split()} for one in (query.question, row.text))
    answer, words = len(first & second) / len(first | second), len(own & other) / len(own)
    is_part = bool(first & second) and (first <= second or second <= first)
    is_asked = answer >= 0.8 and words >= 0.5
    level = 2 if is_asked else int((is_part or answer >= 0.4) and words >= 0.3)
    return level, words, answer, row.text
