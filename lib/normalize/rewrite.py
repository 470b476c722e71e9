"""Rewrites of segments as prose, and synthetic texts about them, by a model (paper, 3.2)."""

import json
import re
import unicodedata
from collections.abc import Callable, Container, Iterable
from dataclasses import replace
from typing import NamedTuple

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
from lib.core.store import tell
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request
from lib.normalize.audit import KINDS, SegmentAudit, audit, audit_texts
from lib.normalize.segment import KEPT, WORDLESS

TESTED = "asks what a question of the test asks"
WITHHELD = "withheld by lot"
NOT_STATED = "its answer is not in the segment, or in doubt there"
NOTHING = "the model found nothing of this kind in the segment"
_TAGS = "document_title|part"
_JOINING = {"and", "or", "the", "a", "an"}  # do not count in answers
_MIN_REPLY = 4096  # tokens of the limit of a reply; above it twice the tokens of all its variants

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
    segments: list[Segment],
    documents: list[Document],
    model: str,
    document_kind: str,
    calls: Calls,
) -> list[Normalized]:
    """One row per segment, in order, from `model`; one without a rewrite gives the reason.

    A reply that may be cut or repeated is asked for once more; so is, with the reason, a rewrite
    that loses or invents a fact. If it is not better, the segment stays as it is.
    """
    named, template = {one.segment_id: one for one in segments}, prompt_template("normalize")
    requests, replies = _ask(segments, documents, template, document_kind, model, calls)
    rows = {name: parse_rewrite(one, replies[name]) for name, one in named.items()}
    faults, repair = _faults(segments, documents, rows), prompt_template("normalize_repair")
    again = {
        name: requests[name].then(replies[name].text, repair.render(reason=faults[name]))
        if name in faults
        else replace(requests[name], attempt=1)
        for name, row in rows.items()
        if name in faults or row.dropped in AGAIN
    }
    second = zip(again, complete([*again.values()], model, calls), strict=True)
    rows |= {name: parse_rewrite(named[name], reply) for name, reply in second}
    tell(
        f"{len(again)} replies were asked for once more: {len(again) - len(faults)} were cut "
        f"or repeated, {len(faults)} lost a fact or added one"
    )
    left = _faults(segments, documents, rows)
    for name in again:
        if reason := left.get(name) or name in faults and rows[name].dropped:
            text, remark = named[name].text.strip(), f"{KEPT}: {reason}"
            kept = {"text": text, "remark": remark, "dropped": ""}
            rows[name] = rows[name].model_copy(update=kept)
    return [*rows.values()]


# The request about each segment, and its reply; a segment without a word is not sent
def _ask(
    segments: list[Segment],
    documents: list[Document],
    template: jinja2.Template,
    document_kind: str,
    model: str,
    calls: Calls,
    k: int = 0,
    shape: str = "",
) -> tuple[dict[str, Request], dict[str, Reply]]:
    by_id = {document.document_id: document for document in documents}
    requests = {
        one.segment_id: Request.ask(
            template.render(
                document_kind=document_kind,
                language=by_id[one.document_id].language or UNKNOWN,
                title=escape_prompt_markup(by_id[one.document_id].title, _TAGS),
                segment=escape_prompt_markup(one.text, _TAGS),
                count=k,
            ),
            max_tokens=max(_MIN_REPLY, 2 * k * one.n_tokens),
            shape=shape,
        )
        for one in segments
    }
    names = [one.segment_id for one in segments if re.search(r"\w", one.text)]
    replies = complete([requests[name] for name in names], model, calls)
    wordless = dict.fromkeys(requests, Reply("", WORDLESS))
    return requests, wordless | dict(zip(names, replies, strict=True))


def _faults(
    segments: list[Segment], documents: list[Document], rows: dict[str, Normalized]
) -> dict[str, str]:
    audits = audit(segments, documents, list(rows.values()))
    return {row.segment_id: reason for row in audits if not row.dropped and (reason := row.fault)}


def parse_rewrite(segment: Segment, reply: Reply) -> Normalized:
    """Rating, remark and rewrite of a reply, or the reason why there is no rewrite.

    A reply without a rating (None) or a remark ("") keeps its rewrite, which was paid for; the
    paper's 99.4% also counts only rewrites.
    """
    before, marked, after, fault = _between_markers(reply.text)
    text = "" if fault else _LABEL.sub("", marked.strip()).strip()
    if text == _PLACEHOLDER:
        text = ""
    is_echo = any(
        _marks(one, text) and not _marks(one, segment.text) for one in (_OPEN, _CLOSE, _PROMPT_TAG)
    )
    dropped = (
        reply.reason or fault or (_ECHO if is_echo else "" if text else "the rewrite is empty")
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


# What is before, between and after the markers, and why that cannot be used
def _between_markers(reply: str) -> tuple[str, str, str, str]:
    opens, closes = _marks(_OPEN, reply), _marks(_CLOSE, reply)
    if not opens:
        return reply, "", "", "no rewrite between <<<<{{ and }}>>>> in the reply"
    start, first = opens[0]
    closes = [mark for mark in closes if mark[0] >= first]
    if len(closes) < len(opens):
        return reply[:start], "", "", _UNCLOSED
    last, end = closes[-1]
    fault = _SEVERAL * (closes[0][1] <= opens[-1][0])
    return reply[:start], reply[first:last], reply[end:], fault


def _rating(text: str) -> int | None:
    found = _RATING.findall(re.sub(r"[*_`#]", "", unicodedata.normalize("NFKC", text)))
    return int(found[-1]) if found else None


class _Draft(NamedTuple):
    text: str
    dropped: str = ""
    answer: str = ""  # of a question


def augment(
    segments: list[Segment],
    documents: list[Document],
    queries: list[Query],
    model: str,
    kinds: Iterable[str],
    document_kind: str,
    calls: Calls,
    k: int,
    withheld: Container[str] = (),
) -> tuple[list[Augmented], list[SegmentAudit]]:
    """The texts of each kind by `model`, `k` a segment or 5k questions, and each text's audit.

    A failed call leaves a row with its reason. A text is dropped with a query's question, if it is
    `withheld` or states what is nowhere in its document.
    """
    named, rows = {one.document_id: one for one in documents}, []
    for kind in kinds:
        template, parse = _WRITTEN[kind]
        _, replies = _ask(segments, documents, template, document_kind, model, calls, k, kind)
        rows += [
            Augmented(
                segment_id=one.segment_id,
                document_id=one.document_id,
                strategy=kind,
                number=number,
                **draft._asdict(),
            )
            for one in segments
            for sure in [named[one.document_id].sure(one.start, one.end)]
            for number, draft in enumerate(_drafts(sure, replies[one.segment_id], parse, k), 1)
        ]
    asked = [casefold_words(query.question) for query in queries]
    audits = audit_texts(rows, segments, documents)
    return [
        row.model_copy(update={"dropped": _reason(row, asked, withheld, audit)})
        for row, audit in zip(rows, audits, strict=True)
    ], audits


def _reason(row: Augmented, asked: list[str], withheld: Container[str], audit: SegmentAudit) -> str:
    is_asked = any(question in casefold_words(row.text) for question in asked)
    left_out = TESTED * is_asked or WITHHELD * (row.text in withheld)
    if row.dropped or left_out or row.answer:  # a question may say what is not so
        return row.dropped or left_out
    invented = [word for kind in KINDS for word in audit.invented[kind]]
    return f"invents {', '.join(invented[:5])}" if invented else ""


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
            "texts": bool(row.text),
            "kept": not row.dropped,
            "asked_by_test": row.dropped == TESTED,
            "tokens": 0 if row.dropped else count(f"{row.text} {row.answer}".strip()),
            "written": audit.number("written"),
            "invented": audit.number("invented"),
        }
        for row, audit in zip(rows, audits, strict=True)
    )
    return table.groupby("kind", sort=False).sum() if len(table) else table


def _drafts(sure: str, reply: Reply, parse: Callable, k: int) -> list[_Draft]:
    if reply.reason:
        return [_Draft("", reply.reason)]
    own = BREAK_MARK if BREAK_MARK in sure else ""  # it may be the document's
    text = reply.text.replace(BREAK_MARK, own)
    try:
        found = json.loads(text[text.find("[") : text.rfind("]") + 1], strict=False)
        found = parse(sure, found, k)
        "".join(one.text + one.answer for one in found).encode()  # no half of a surrogate pair
    except (ValueError, AttributeError, TypeError, KeyError, RecursionError):
        return [_Draft("", "the reply is not a JSON array of the form asked for")]
    return found or [_Draft("", NOTHING)]


def _texts(_: str, found: list[str], k: int) -> list[_Draft]:
    return [_Draft(text) for text in dict.fromkeys(one.strip() for one in found) if text][:k]


def _questions(sure: str, found: list[dict[str, str]], k: int) -> list[_Draft]:
    part, written = f" {casefold_words(sure)} ", []
    for row in found:
        lines = [line.strip() for line in row["answer"].splitlines() if line.strip()]
        is_stated = all(f" {casefold_words(line)} " in part for line in lines)
        reason = "" if lines and is_stated else NOT_STATED
        texts = dict.fromkeys(row[name].strip() for name in ("question", "other_wording"))
        written += [_Draft(text, reason, "\n".join(lines)) for text in texts if text]
    return written


# The prompt and the reader of the reply of each kind of text.
_WRITTEN = {
    WORDINGS: (prompt_template("augment_paraphrase"), _texts),
    QUESTIONS: (prompt_template("augment_questions"), _questions),
}


def coverage(queries: Iterable[Query], rows: Iterable[Augmented]) -> pd.DataFrame:
    """Label queries by the nearest training question of their document: query_id, coverage.

    Of 100 labels that were read, 65 of 68 *asked* were right; most of the others were asked, too.
    """
    asked = [row for row in rows if row.answer and not row.dropped]
    labels = []
    for query in queries:
        own = (_nearness(query, row) for row in asked if row.document_id == query.document_id)
        labels.append((query.query_id, COVERAGE[max(own, default=0)]))
    return pd.DataFrame(labels, columns=["query_id", "coverage"])


def _nearness(query: Query, row: Augmented) -> int:
    first, second = ({*casefold_words(one.answer).split()} - _JOINING for one in (query, row))
    own, other = ({*casefold_words(one).split()} for one in (query.question, row.text))
    answer, words = len(first & second) / len(first | second), len(own & other) / len(own)
    is_part = bool(first & second) and (first <= second or second <= first)
    is_asked = answer >= 0.8 and words >= 0.5
    return 2 if is_asked else int((is_part or answer >= 0.4) and words >= 0.3)
