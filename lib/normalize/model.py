"""Rewrite segments with a model: its requests, and how its replies are read (paper, 3.2)."""

import re
import unicodedata
from dataclasses import replace

from lib.core.errors import model_named
from lib.core.prompts import SPLIT, defused, folded, prompt_template
from lib.core.records import Document, Normalized, Segment
from lib.documents.language import UNKNOWN
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request
from lib.normalize.audit import audit
from lib.normalize.rewrite import Rewrite
from lib.normalize.segments import KEPT, WORDLESS

# The marker in text from `folded`, in which other chevrons and HTML escapes are < and >.
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


def by_model(model: str, document_kind: str, calls: Calls) -> Rewrite:
    """Return an engine that sends each segment to `model`; `document_kind` fills the prompt's slot.

    A reply that may be cut or repeated (AGAIN) is asked for once more; so is, with the reason, a
    rewrite in which the audit misses a fact or finds one of its own. If it is not better, the
    segment stays as it is. The engine raises Stopped as `lib.llm.complete` does.
    Raises BadStudy if `model` names none.
    """
    model_named("normalizer", model)

    def rewrite(segments: list[Segment], documents: dict[str, Document]) -> list[Normalized]:
        requests = {
            segment.segment_id: _request(segment, documents[segment.document_id], document_kind)
            for segment in segments
            if re.search(r"\w", segment.text)
        }
        replies = dict(zip(requests, complete(list(requests.values()), model, calls), strict=True))
        wordless = Reply("", WORDLESS)
        rows = {
            segment.segment_id: read_reply(segment, replies.get(segment.segment_id, wordless))
            for segment in segments
        }
        wrong = _wrong(segments, documents, rows)
        again = [
            one
            for one in segments
            if one.segment_id in wrong or rows[one.segment_id].dropped in AGAIN
        ]
        more = [
            requests[name].then(
                replies[name].text, prompt_template("normalize_repair").render(reason=wrong[name])
            )
            if name in wrong
            else replace(requests[name], attempt=1)
            for name in (one.segment_id for one in again)
        ]
        for segment, reply in zip(again, complete(more, model, calls), strict=True):
            rows[segment.segment_id] = read_reply(segment, reply)
        print(
            f"{len(again)} replies were asked for once more: {len(again) - len(wrong)} were cut "
            f"or repeated, {len(wrong)} lost a fact or added one"
        )
        still = _wrong(segments, documents, rows)
        for one in (one for one in segments if one.segment_id in wrong):
            reason = still.get(one.segment_id) or rows[one.segment_id].dropped
            if reason:
                rows[one.segment_id] = rows[one.segment_id].model_copy(
                    update={"text": one.text.strip(), "remark": f"{KEPT}: {reason}", "dropped": ""}
                )
        return list(rows.values())

    return rewrite


def _wrong(
    segments: list[Segment], documents: dict[str, Document], rows: dict[str, Normalized]
) -> dict[str, str]:
    found = audit(segments, list(documents.values()), list(rows.values()))
    return {row.segment_id: reason for row in found if not row.dropped and (reason := row.fault)}


def _request(segment: Segment, document: Document, document_kind: str) -> Request:
    tags = "document_title|part"
    return Request.ask(
        prompt_template("normalize").render(
            document_kind=document_kind,
            language=document.language or UNKNOWN,
            title=defused(document.title, tags),
            segment=defused(segment.text, tags),
        )
    )


def read_reply(segment: Segment, reply: Reply) -> Normalized:
    """Return rating, remark and rewrite of a reply, or the reason why there is no rewrite.

    A reply without a rating (None) or a remark ("") keeps its rewrite, which was paid for; the
    paper's 99.4% also counts only rewrites.
    """
    before, marked, after, fault = _taken_out(reply.text, segment.text)
    text = "" if fault else _rewrite(marked)
    dropped = (
        reply.reason
        or fault
        or (_ECHO if _echoes(text, segment.text) else "" if text else "the rewrite is empty")
    )
    remarks = _REMARK.findall(before) or _REMARK.findall(after)
    if SPLIT not in segment.text:
        text = text.replace(SPLIT, "")
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
def _taken_out(reply: str, source: str) -> tuple[str, str, str, str]:
    letters, ends = folded(reply)
    bounds = [0, *ends]
    opens, closes = list(_OPEN.finditer(letters)), list(_CLOSE.finditer(letters))
    if not opens:
        return reply, "", "", "no rewrite between <<<<{{ and }}>>>> in the reply"
    first = opens[0]
    closes = [mark for mark in closes if mark.start() >= first.end()]
    is_quoted = any(pattern.search(folded(source)[0]) for pattern in (_OPEN, _CLOSE))
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
        pattern.search(folded(text)[0]) and not pattern.search(folded(source)[0])
        for pattern in (_OPEN, _CLOSE, _PROMPT_TAG)
    )


# without that label, the only line that is a number
def _rating(text: str) -> int | None:
    text = re.sub(r"[*_`#]", "", unicodedata.normalize("NFKC", text))
    found, lines = _RATING.findall(text), _NUMBER_LINE.findall(text)
    return int(found[-1]) if found else int(lines[0]) if len(lines) == 1 else None


def _rewrite(marked: str) -> str:
    text = _LABEL.sub("", marked.strip()).strip()
    letters, ends = folded(text)
    first, last = _OPEN.match(letters), list(_CLOSE.finditer(letters))[-1:]
    if first and last and last[0].end() == len(letters):  # a form in a form
        bounds = [0, *ends]
        text = _LABEL.sub("", text[bounds[first.end()] : bounds[last[0].start()]].strip()).strip()
    return "" if text == _PLACEHOLDER else text
