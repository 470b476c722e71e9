"""Segments rewritten by a model: the prompt, and the reading of its replies (paper, 3.2)."""

import re
import unicodedata
from itertools import pairwise

from lib.core.prompts import prompt_template
from lib.core.records import Document, Normalized, Segment
from lib.core.untrusted import SPLIT, defused, folded
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request
from lib.normalize.segments import WORDLESS

# The marker in text as `folded` shows it, where fullwidth and other chevrons and HTML escapes are < and >.
_OPEN = re.compile(r"(?<!<)(?<!<\s)(?:<[ \t]?){3,}+\s*+\{\s?\{")
_CLOSE = re.compile(r"\}\s?\}\s*+(?:>[ \t]?){3,}+")
_BEFORE_FORM = re.compile(r"(?:\A|[:\n]|\}\}[\s>]*>)\W*\Z")
_BAD_CLOSE = re.compile(r"(?:\}\s?\}[\s>]*|\}?\s*(?:>\s?){3,})\Z")  # what there is of a close where the reply ends
_LABEL = re.compile(r"\A(?:\W*(?:rating|remark)\b[^\n]*\n)*\W*conversion to high-quality data\W*?:[\s*_]*", re.I)
_PLACEHOLDER = "<the rewritten text>"

# A whole number from 1 to 10, perhaps of ten; no range, no other scale, no percentage.
_NUMBER = (r"(10|[1-9])(?:[.,]0)?(?![\d%]|[.,]\d)(?![ \t]*(?:[-–~]|to\b|or\b)[ \t]*\d)"
           r"(?![ \t]*(?:/|(?:out )?of\b)[ \t]*(?!10\b)\d)(?:[ \t]*/[ \t]*10|[ \t]+(?:[^\W\d]+[ \t]+){1,2}10)?(?!\w)")
_RATING = re.compile(r"^[^\w\n]*(?:\d[.)][ \t]*)?(?:[a-z]+ ){0,2}rating(?: is)?\s*(?:[(<\[].*?[)>\]])?\s*"
                     rf"[:=–-]?[\s<(\[]*{_NUMBER}", re.I | re.M)
_NUMBER_LINE = re.compile(r"^(?:[^\w\n-]|-[ \t])*+(?:\d[.)][ \t]+)?(?!remark)(?:[^\W\d]+(?: [^\W\d]+){0,2}[ \t]*[:=])?"
                          rf"[ \t<(\[]*{_NUMBER}[^\w\n]*$", re.I | re.M)
_REMARK = re.compile(r"^[^\w\n]*(?:\d[.)][ \t]*)?remarks?[*_` ]*[:=][*_` \t]*(\S.*)$", re.I | re.M)

Form = tuple[int, int, int, int]  # where in a reply a marked form starts, its rewrite starts, that ends, the form ends


def ask_model(segments: list[Segment], documents: dict[str, Document], model: str, document_kind: str,
              calls: Calls | None) -> list[Normalized]:
    """One row a segment, in order. A failed call or a reply that cannot be read is dropped with its reason.

    A segment without any word is not sent. Raises ValueError without `calls`, CallsStopped as `lib.llm.complete`.
    """
    if calls is None:
        raise ValueError(f"the normalizer {model!r} is a model: give `calls`, a lib.llm.Calls with the cache of the "
                         "study and what may be spent")
    worded = [segment for segment in segments if re.search(r"\w", segment.text)]
    requests = [_request(segment, documents[segment.document_id].title, document_kind) for segment in worded]
    replies = dict(zip((segment.segment_id for segment in worded), complete(requests, model, calls), strict=True))
    blank = Reply("", WORDLESS)
    return [read_reply(segment, replies.get(segment.segment_id, blank)) for segment in segments]


def _request(segment: Segment, title: str, document_kind: str) -> Request:
    tags = "document_title|part"
    return Request.ask(prompt_template("normalize").render(document_kind=document_kind, title=defused(title, tags),
                                segment=defused(segment.repeated + segment.text, tags)))


def read_reply(segment: Segment, reply: Reply) -> Normalized:
    """Rating, remark and rewrite of one reply; without a whole rewrite it is dropped with its reason.

    Of several rewrites the last counts. A reply without a rating (None) or a remark ("") keeps its rewrite: that is
    what was paid for and what an arm learns from, and the paper's 99.4% counts rewrites alone.
    """
    forms = _forms(reply.text)
    rewrites = [_rewrite(reply.text[start:end]) for _, start, end, _ in forms]
    chosen = max((number for number, text in enumerate(rewrites) if text), default=len(forms))
    text = rewrites[chosen] if chosen < len(forms) else ""
    unreadable = "the rewrite is empty" if forms else "no rewrite between <<<<{{ and }}>>>> in the reply"
    dropped = reply.reason or ("" if text else unreadable)
    edges = [0, *(edge for start, _, _, end in forms for edge in (start, end)), len(reply.text)]
    outside = [reply.text[start:end] for start, end in list(pairwise(edges))[::2]]
    before, after = "\n".join(outside[:chosen + 1]), "\n".join(outside[chosen + 1:])
    remarks = _REMARK.findall(before) or _REMARK.findall(after)
    return Normalized(segment_id=segment.segment_id, document_id=segment.document_id,
                      rating=_rating(before) or _rating(after), remark=remarks[-1].strip(" \t*_`") if remarks else "",
                      text="" if dropped else text if SPLIT in segment.text else text.replace(SPLIT, ""),
                      dropped=dropped)


def _rating(text: str) -> int | None:
    """The last rating in `text`; where none is called so, the number of the only line that is one, in any language."""
    text = re.sub(r"[*_`#]", "", unicodedata.normalize("NFKC", text))
    found, lines = _RATING.findall(text), _NUMBER_LINE.findall(text)
    return int(found[-1]) if found else int(lines[0]) if len(lines) == 1 else None


def _rewrite(marked: str) -> str:
    """What stands in the marker, less a label or a second marker right inside it; "" for the prompt's placeholder."""
    text = _LABEL.sub("", marked.strip()).strip()
    match _forms(text):
        case [(0, start, end, whole)] if whole == len(text):
            text = _LABEL.sub("", text[start:end].strip()).strip()
    return "" if text == _PLACEHOLDER else text


def _forms(text: str) -> list[Form]:
    """The marked forms of a reply, in order.

    A form opens where a line begins, behind a colon or behind another form; where none does, anywhere. Forms nest,
    because a rewrite may quote the marker. Where none is closed, the last one goes to the end: a reply without a
    reason is whole, so its model meant to end there.
    """
    letters, ends = folded(text)
    marks = sorted([*_OPEN.finditer(letters), *_CLOSE.finditer(letters)], key=lambda mark: mark.start())
    opens = [mark.re is _OPEN for mark in marks]
    placed = [is_open and _BEFORE_FORM.search(letters[max(0, mark.start() - 80):mark.start()]) is not None
              for mark, is_open in zip(marks, opens, strict=True)]
    edges, at = [], 0
    while at < len(marks):
        end = _closed_by(at, opens, placed) if (placed if any(placed) else opens)[at] else None
        edges += [(*marks[at].span(), *marks[end].span())] if end else []
        at = (end or at) + 1
    if not edges and any(placed):
        last = max(number for number, is_placed in enumerate(placed) if is_placed)
        bad_close = _BAD_CLOSE.search(letters, max(marks[last].end(), len(letters) - 40))
        edges = [(*marks[last].span(), bad_close.start() if bad_close else len(letters), len(letters))]
    bounds = [0, *ends]
    return [tuple(bounds[edge] for edge in form) for form in edges]


def _closed_by(at: int, opens: list[bool], placed: list[bool]) -> int | None:
    """Which mark closes the one at `at`: the last before another one opens beside it; None where it is not closed."""
    depth, last = 0, None
    for number in range(at, len(opens)):
        if opens[number] and depth <= 0 and number > at:
            return last
        depth += 1 if opens[number] else -1
        last = last if opens[number] else number
    return None if depth > 0 and any(placed[at + 1:]) else last
