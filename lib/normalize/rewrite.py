"""Rewrites of segments as prose, and synthetic texts about them, by a model (paper, 3.2)."""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial

import pandas as pd

from lib.annotate.llm_annotator import read_reply
from lib.annotate.questions import violation
from lib.core.prompts import (
    BREAK_MARK,
    casefold_words,
    deconfuse,
    escape_prompt_markup,
    prompt_template,
)
from lib.core.records import Augmented, Document, Normalized, Query, Segment
from lib.core.store import model_named
from lib.documents.language import UNKNOWN
from lib.documents.markdown import parse
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request
from lib.normalize.audit import SegmentAudit, audit, audit_texts
from lib.normalize.segment import KEPT, WORDLESS, Draft, Rewrite, Strategy, pair_text

TESTED = "asks what a question of the test asks"
NOTHING = "the model found nothing of this kind in the segment"
_TAGS = "document_title|part"
_CHECKED = ["number", "unit", "path", "version", "name", "item", "negation"]  # not to be invented
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
_NUMBER = (
    r"(10|[1-9])(?:[.,]0)?(?![\d%]|[.,]\d)(?![ \t]*(?:[-–~]|to\b|or\b)[ \t]*\d)"
    r"(?![ \t]*(?:/|(?:out )?of\b)[ \t]*(?!10\b)\d)"
    r"(?:[ \t]*/[ \t]*10|[ \t]+(?:[^\W\d]+[ \t]+){1,2}10)?(?!\w)"
)
_RATING = re.compile(
    r"^[^\w\n]*(?:\d[.)][ \t]*)?(?:[a-z]+ ){0,2}rating(?: is)?\s*"
    rf"(?:[(<\[].*?[)>\]])?\s*[:=–-]?[\s<(\[]*{_NUMBER}",
    re.I | re.M,
)
_NUMBER_LINE = re.compile(
    r"^(?:[^\w\n-]|-[ \t])*+(?:\d[.)][ \t]+)?(?!remark)"
    rf"(?:[^\W\d]+(?: [^\W\d]+){{0,2}}[ \t]*[:=])?[ \t<(\[]*{_NUMBER}[^\w\n]*$",
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
    by_id = {document.document_id: document for document in documents}
    missing = sorted({segment.document_id for segment in segments} - set(by_id))
    if missing:
        raise KeyError(
            f"segments of {missing[0]!r}, but no such document: segment these documents first"
        )
    return rewrite(segments, by_id)


def llm_normalizer(model: str, document_kind: str, calls: Calls) -> Rewrite:
    """A normalizer that sends each segment to `model`; `document_kind` fills the prompt's slot.

    A reply that may be cut or repeated is asked for once more; so is, with the reason, a rewrite
    that loses or invents a fact. If it is not better, the segment stays as it is. Raises BadStudy
    if `model` names none; the normalizer raises Stopped as `lib.llm.complete` does.
    """
    model_named("normalizer", model)

    def rewrite(segments: list[Segment], documents: dict[str, Document]) -> list[Normalized]:
        named = {one.segment_id: one for one in segments}
        requests = {
            name: _rewrite_request(one, documents[one.document_id], document_kind)
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
        print(
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


def _rewrite_request(segment: Segment, document: Document, document_kind: str) -> Request:
    return Request.ask(
        prompt_template("normalize").render(
            document_kind=document_kind,
            language=document.language or UNKNOWN,
            title=escape_prompt_markup(document.title, _TAGS),
            segment=escape_prompt_markup(segment.text, _TAGS),
        )
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


# What is before, between and after the markers, and why that cannot be used. A rewrite may quote
# a marker that its source contains.
def _between_markers(reply: str, source: str) -> tuple[str, str, str, str]:
    letters, ends = deconfuse(reply)
    bounds = [0, *ends]
    opens, closes = list(_OPEN.finditer(letters)), list(_CLOSE.finditer(letters))
    if not opens:
        return reply, "", "", "no rewrite between <<<<{{ and }}>>>> in the reply"
    first = opens[0]
    closes = [mark for mark in closes if mark.start() >= first.end()]
    is_quoted = any(pattern.search(deconfuse(source)[0]) for pattern in (_OPEN, _CLOSE))
    if not closes or not is_quoted and len(closes) < len(opens):
        return reply[: bounds[first.start()]], "", "", _UNCLOSED
    last = closes[-1]
    is_second = any(close.end() <= mark.start() for close in closes for mark in opens)
    cut = [bounds[at] for at in (first.start(), first.end(), last.start(), last.end())]
    return (
        reply[: cut[0]],
        reply[cut[1] : cut[2]],
        reply[cut[3] :],
        _SEVERAL if is_second and not is_quoted else "",
    )


def _echoes(text: str, source: str) -> bool:
    return any(
        pattern.search(deconfuse(text)[0]) and not pattern.search(deconfuse(source)[0])
        for pattern in (_OPEN, _CLOSE, _PROMPT_TAG)
    )


# without that label, the only line that is a number
def _rating(text: str) -> int | None:
    text = re.sub(r"[*_`#]", "", unicodedata.normalize("NFKC", text))
    found, lines = _RATING.findall(text), _NUMBER_LINE.findall(text)
    return int(found[-1]) if found else int(lines[0]) if len(lines) == 1 else None


def _rewrite(marked: str) -> str:
    text = _LABEL.sub("", marked.strip()).strip()
    letters, ends = deconfuse(text)
    first, last = _OPEN.match(letters), list(_CLOSE.finditer(letters))[-1:]
    if first and last and last[0].end() == len(letters):  # a form in a form
        bounds = [0, *ends]
        text = _LABEL.sub("", text[bounds[first.end()] : bounds[last[0].start()]].strip()).strip()
    return "" if text == _PLACEHOLDER else text


def augment(
    segments: list[Segment],
    documents: list[Document],
    queries: list[Query],
    engine: Mapping[str, Strategy],
    strategies: Sequence[str],
    k: int,
) -> tuple[list[Augmented], list[SegmentAudit]]:
    """The texts of all strategies, and the audit of each row that has a text.

    `engine` is `llm_augmenter(…)` or `lib.lab.facts.vary_facts(…)`. A text that asks what a query
    asks, of the same passage, is dropped, and so is one that states what is nowhere in its
    document. Raises ValueError for a strategy that `engine` lacks.
    """
    if not engine:
        return [], []
    if unknown := [name for name in strategies if name not in engine] or not strategies:
        raise ValueError(
            f"strategies {unknown if strategies else '[]'}: choose among "
            f"{', '.join(engine)}, which this augmenter can do"
        )
    by_id = {document.document_id: document for document in documents}
    document_of = {segment.segment_id: segment.document_id for segment in segments}
    is_tested, rows = _test_of(queries), []
    for strategy in strategies:
        numbers = Counter()
        for draft in engine[strategy](segments, by_id, k):
            name, document = draft.segment_id, document_of[draft.segment_id]
            numbers[name] += 1
            rows.append(
                Augmented(
                    segment_id=name,
                    document_id=document,
                    strategy=strategy,
                    number=numbers[name],
                    text=draft.text,
                    dropped=draft.dropped or (TESTED if is_tested(document, draft) else ""),
                )
            )
    audits = audit_texts([row for row in rows if row.text], segments, documents)
    audit_of = iter(audits)
    return [_checked(row, next(audit_of)) if row.text else row for row in rows], audits


def _test_of(queries: list[Query]) -> Callable[[str, Draft], bool]:
    asked = [(casefold_words(one.question), one.document_id, one.start, one.end) for one in queries]

    def is_tested(document_id: str, draft: Draft) -> bool:
        text, (start, end) = casefold_words(draft.text), draft.asks or (0, 0)
        return any(
            question in text or own == document_id and first < end and start < last
            for question, own, first, last in asked
        )

    return is_tested


def _checked(row: Augmented, audit: SegmentAudit) -> Augmented:
    words = [word for kind in _CHECKED for word in audit.invented[kind]]
    if row.dropped or not words:
        return row
    return row.model_copy(update={"dropped": f"invents {', '.join(words[:5])}"})


def strategies_table(
    rows: list[Augmented], audits: list[SegmentAudit], count: Callable[[str], int]
) -> pd.DataFrame:
    """One row per strategy, "all" last; `count` returns a text's tokens.

    `tokens` counts those of kept texts, `written` the words, amounts and items of all texts, and
    `invented` those that are nowhere in the document.
    """
    written = [row for row in rows if row.text]
    table = pd.DataFrame(
        [
            {
                "strategy": row.strategy,
                "texts": 1,
                "kept": not row.dropped,
                "asked_by_test": row.dropped == TESTED,
                "tokens": 0 if row.dropped else count(row.text),
                "written": sum(audit.written[kind] for kind in _CHECKED),
                "invented": sum(len(audit.invented[kind]) for kind in _CHECKED),
            }
            for row, audit in zip(written, audits, strict=True)
        ],
        columns=["strategy", "texts", "kept", "asked_by_test", "tokens", "written", "invented"],
    )
    by_strategy = table.groupby("strategy", sort=False).sum().astype(int)
    by_strategy.loc["all"] = by_strategy.sum()
    return by_strategy.reset_index()


_VARIANTS = {
    "paraphrase": prompt_template("augment_paraphrase"),
    "pairs": prompt_template("augment_pairs"),
}
_blocks = lru_cache(1)(parse)  # the segments of a document follow each other


def llm_augmenter(model: str, document_kind: str, calls: Calls) -> dict[str, Strategy]:
    """The strategies that `model` is asked for; each segment with a word is one call.

    A failed call or an unreadable reply leaves a draft with its reason. A strategy raises
    Stopped as `lib.llm.complete` does. Raises BadStudy if `model` names none.
    """
    model_named("augmenter", model)

    def vary(
        strategy: str, segments: list[Segment], documents: dict[str, Document], k: int
    ) -> list[Draft]:
        requests = {
            one.segment_id: _variant_request(
                strategy, one, documents[one.document_id], k, document_kind
            )
            for one in segments
        }
        replies = _replies(segments, requests, model, calls)
        read = _pairs if strategy == "pairs" else _texts
        return [
            draft
            for one in segments
            for draft in read(one, documents[one.document_id], replies[one.segment_id], k)
        ]

    return {strategy: partial(vary, strategy) for strategy in _VARIANTS}


def _variant_request(
    strategy: str, segment: Segment, document: Document, k: int, document_kind: str
) -> Request:
    prompt = _VARIANTS[strategy].render(
        document_kind=document_kind,
        count=k,
        language=document.language or UNKNOWN,
        title=escape_prompt_markup(document.title, _TAGS),
        part=escape_prompt_markup(segment.text, _TAGS),
    )
    return Request.ask(prompt, max_tokens=max(_MIN_REPLY, 2 * k * segment.n_tokens))


def _texts(segment: Segment, document: Document, reply: Reply, k: int) -> list[Draft]:
    texts, reason = [], reply.reason
    if not reason:
        try:
            texts, reason = _parse_texts(reply.text)[:k], NOTHING
        except ValueError as error:
            reason = str(error)
    split = (
        BREAK_MARK if BREAK_MARK not in segment.text else ""
    )  # otherwise it may be the document's own
    return [Draft(segment.segment_id, text.replace(split, "")) for text in texts] or [
        Draft(segment.segment_id, "", reason)
    ]


def _parse_texts(reply: str) -> list[str]:
    bare = reply.strip()
    fenced = _FENCE.match(bare)
    try:
        found = json.loads(fenced[1] if fenced else bare, strict=False)
        texts = [one.strip() for one in (found if isinstance(found, list) else [None])]
        "".join(texts).encode()  # half of a surrogate pair cannot be stored
    except (ValueError, AttributeError, RecursionError):
        raise ValueError("the reply is not a JSON array of strings") from None
    return [text for text in dict.fromkeys(texts) if text]


def _pairs(segment: Segment, document: Document, reply: Reply, k: int) -> list[Draft]:
    candidates, rejected = read_reply(
        reply, document, _blocks(document.text), segment.start, segment.end
    )
    drafts = [
        Draft(
            segment.segment_id,
            pair_text(one.question, one.answer),
            violation(one, document.text),
            (one.start, one.end),
        )
        for one in candidates
    ]
    return drafts + [Draft(segment.segment_id, "", row.reason) for row in rejected]
