"""Segments rewritten by a model: the prompt, and the strict reading of its replies (paper, 3.2)."""

import re

from lib.llm import Reply, complete, rendered
from lib.records import Document, Normalized, Segment

_REWRITE = re.compile(r"Conversion to High-Quality Data:\s*<<<<\{\{(.*?)\}\}>>>>", re.S)
_RATING = re.compile(r"^Rating:[ \t]*(10|[1-9])[ \t]*$", re.M)
_REMARK = re.compile(r"^Remark:[ \t]*(\S.*)$", re.M)


def ask_model(segments: list[Segment], documents: dict[str, Document], model: str,
              document_kind: str) -> list[Normalized]:
    """One row a segment, in order. A failed call or a reply that cannot be read is dropped with its reason.

    A segment without any word is not sent. Raises RuntimeError where no key is set or every call failed.
    """
    worded = [segment for segment in segments if re.search(r"\w", segment.text)]
    prompts = [rendered("normalize", document_kind=document_kind, title=documents[segment.document_id].title,
                        segment=segment.text) for segment in worded]
    replies = dict(zip((segment.segment_id for segment in worded), complete(prompts, model), strict=True))
    blank = Reply("", "nothing but blanks, rules and markup")
    return [read_reply(segment, replies.get(segment.segment_id, blank)) for segment in segments]


def read_reply(segment: Segment, reply: Reply) -> Normalized:
    """Rating, remark and rewrite of one reply; all three must be there, the rewrite exactly once."""
    rewrites, rating, remark = _REWRITE.findall(reply.text), _RATING.search(reply.text), _REMARK.search(reply.text)
    dropped = reply.reason or _unreadable(rewrites, rating, remark)
    return Normalized(segment_id=segment.segment_id, document_id=segment.document_id,
                      rating=int(rating[1]) if rating else None, remark=remark[1].strip() if remark else "",
                      text="" if dropped else rewrites[0].strip(), dropped=dropped)


def _unreadable(rewrites: list[str], rating: re.Match | None, remark: re.Match | None) -> str:
    """Why a reply cannot be used; "" where it can."""
    if len(rewrites) != 1:
        return f"{len(rewrites)} rewrites between <<<<{{{{ and }}}}>>>> in the reply, not one"
    if not rewrites[0].strip():
        return "the rewrite is empty"
    if not rating:
        return "no rating from 1 to 10 in the reply"
    return "" if remark else "no remark in the reply"
