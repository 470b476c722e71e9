"""Score responses by ROUGE-L, BLEU and exact match (v2).

The official code loses rows: an empty response raises ValueError, a long text RecursionError.
"""

from typing import NamedTuple

from lib.analyze.metrics import bleu, exact_match, rouge_l_with_steps

LEAST_ROUGE = 0.75  # a response with less scores 0 (v2, 4.2)
METRICS = ("rouge_score", "bleu", "exact")
RECURSION_LIMIT = 1000  # CPython's default, under which the official scorer runs
FRAMES = 12  # on that scorer's stack before the recursion begins, approximately


class Scored(NamedTuple):
    """The scores of a response, each metric 0 to 1."""

    rouge_l: float  # F, as in `rouge` 1.0.1
    rouge_score: float  # the paper's: rouge_l, or 0 below LEAST_ROUGE
    bleu: float
    exact: float  # 1 if equal except for whitespace at both ends
    error: str  # why the row has 0; "" if it was scored
    official_fails: bool  # the official scorer would lose the row, as it is empty or too long


def score(answer: str, response: str | None) -> Scored:
    """Score a response; if it cannot be scored, every metric is 0 and `error` has the reason."""
    answer, response = (text.encode("utf-8", "replace").decode()  # unpaired surrogates become "?"
                        for text in (answer, response or ""))
    try:
        if not response.strip():
            raise ValueError("there is no response")
        rouge, steps = rouge_l_with_steps(answer, response)
    except ValueError as empty:
        return Scored(0.0, 0.0, 0.0, 0.0, str(empty), True)
    return Scored(rouge, rouge if rouge >= LEAST_ROUGE else 0.0, bleu(answer, response),
                  float(exact_match(answer, response)), "", steps + FRAMES >= RECURSION_LIMIT)
