"""Rows for tests: fields that a test does not give have values on which it does not depend."""

from itertools import accumulate, pairwise

from lib.core.records import Answer, Normalized, Query, Segment


def query(query_id: str = "q", **fields: object) -> Query:
    """Return a natural query about no text."""
    return Query(
        **{
            "query_id": query_id,
            "document_id": "d",
            "question": "Who?",
            "answer": "a",
            "structure": "natural",
            "source_reference": "",
            "start": 0,
            "end": 0,
            "entity_count": None,
            "block_type": "prose",
            **fields,
        }
    )


def answer(text: str, query_id: str = "q", arm: str = "dapt") -> Answer:
    """Return an arm's whole answer."""
    return Answer(query_id=query_id, arm=arm, answer=text, n_tokens=1, truncated=False)


def segments_of(document_id: str, *pieces: str) -> list[Segment]:
    """Return the segments <document_id>/0, 1, … of a document that is cut into `pieces`."""
    bounds = pairwise(accumulate(map(len, pieces), initial=0))
    return [
        Segment(
            segment_id=f"{document_id}/{number}",
            document_id=document_id,
            start=start,
            end=end,
            text=text,
            n_tokens=9,
        )
        for number, (text, (start, end)) in enumerate(zip(pieces, bounds, strict=True))
    ]


def rewritten(segment: Segment, text: str, reason: str = "blank") -> Normalized:
    """Return the row of a segment's rewrite; without a text it is dropped for `reason`."""
    return Normalized(
        segment_id=segment.segment_id,
        document_id=segment.document_id,
        rating=None,
        remark="",
        text=text,
        dropped="" if text else reason,
    )
