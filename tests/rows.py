"""Rows for tests: fields that a test does not give have values on which it does not depend."""

from itertools import accumulate, pairwise

import pandas as pd

from lib.core.records import Answer, Normalized, Query, Segment, Verdict

STATES = {"1": "correct", "0": "incorrect", "-": "unscored"}


def query(query_id: str = "q", **fields: object) -> Query:
    """Return a natural query about no text."""
    known = {"document_id": "d", "question": "Who?", "answer": "a", "structure": "natural"}
    return Query(**{"query_id": query_id, "block_type": "prose"} | known | fields)


def answer(text: str, query_id: str = "q", arm: str = "dapt") -> Answer:
    """Return an arm's whole answer."""
    return Answer(query_id=query_id, arm=arm, answer=text, n_tokens=1, truncated=False)


def verdicts(arm: str, states: dict[str, str], judge: str = "scorer") -> list[Verdict]:
    """Return an arm's verdicts by query."""
    return [
        Verdict(query_id=query_id, arm=arm, judge=judge, verdict=state, reason="so")
        for query_id, state in states.items()
    ]


def judged(structure: str = "natural", per_cluster: int = 1, **arms: str) -> pd.DataFrame:
    """Return rows of `tables.joined`: verdicts are 1 (correct), 0 and - (unscored).

    `dapt_nAt2` is the arm dapt-n@2.
    """
    cells = [
        (arm.replace("_", "-").replace("At", "@"), f"{structure}{n}", structure, STATES[state])
        + (n // per_cluster,)
        for arm, states in arms.items()
        for n, state in enumerate(states)
    ]
    return pd.DataFrame(cells, columns=["arm", "query_id", "structure", "verdict", "cluster"])


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
