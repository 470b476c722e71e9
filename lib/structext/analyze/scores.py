"""Score responses by ROUGE-L, BLEU and exact match, and compare these metrics (v2).

The paper's main metric is ROUGE-L F, set to 0 below 0.75. Its code loses rows: an empty response
raises ValueError, a long text raises RecursionError, and neither is counted in the denominator.
Here a row that cannot be scored has 0 and a reason, and a long text has its true score and a mark.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.inter_rater import cohens_kappa

from lib.analyze.metrics import bleu, exact_match, rouge_l_with_steps
from lib.core.records import Record

LEAST_ROUGE = 0.75  # a response with less scores 0 (v2, 4.2)
METRICS = ("rouge_score", "bleu", "exact")
NO_RESPONSE = "there is no response"
RECURSION_LIMIT = 1000  # CPython's default, under which the official scorer runs
FRAMES = 12  # on that scorer's stack before the recursion begins, approximately


class Scored(Record):
    """The scores of a response, each metric 0 to 1."""

    id: str
    rouge_l: float  # F, as in `rouge` 1.0.1
    rouge_score: float  # the paper's: rouge_l, or 0 below LEAST_ROUGE
    bleu: float
    exact: bool  # equal except for whitespace at both ends
    error: str  # why the row has 0; "" if it was scored
    official_fails: bool  # the official scorer would lose the row, as it is empty or too long


def score(answer: str, response: str | None, id: str = "") -> Scored:
    """Score a response; if it cannot be scored, every metric is 0 and `error` has the reason."""
    answer, response = (text.encode("utf-8", "replace").decode()  # unpaired surrogates become "?"
                        for text in (answer, response or ""))
    error, rouge, steps = "" if response.strip() else NO_RESPONSE, 0.0, 0
    if not error:
        try:
            rouge, steps = rouge_l_with_steps(answer, response)
        except ValueError as empty:
            error = str(empty)
    return Scored(
        id=id, rouge_l=rouge, rouge_score=rouge if rouge >= LEAST_ROUGE else 0.0,
        bleu=0.0 if error else bleu(answer, response), exact=exact_match(answer, response),
        error=error, official_fails=bool(error) or steps + FRAMES >= RECURSION_LIMIT)


def frame(rows: Iterable[Scored]) -> pd.DataFrame:
    """Return one row per response with the columns of Scored; metrics are from 0 to 1."""
    table = pd.DataFrame([row.model_dump() for row in rows], columns=list(Scored.model_fields))
    return table.astype({"exact": float})


def metric_agreement(rows: pd.DataFrame, metrics: Sequence[str] = METRICS) -> pd.DataFrame:
    """Return how far each pair of metrics agrees, over the rows that have both.

    Columns first, second, n, pearson, agreement, kappa. `rows` may have further metrics, such as a
    judge's verdict as 0 or 1. A row is left out if one of the two metrics is NaN. Pearson's r uses
    the values; for agreement and Cohen's kappa, a value of at least LEAST_ROUGE is correct. A
    coefficient is NaN if a metric does not vary.
    """
    table = []
    for first, second in combinations(metrics, 2):
        pair = rows[[first, second]].astype(float).dropna()
        correct = pair >= LEAST_ROUGE
        varies = len(pair) > 1 and (pair.nunique() > 1).all()
        counts = np.bincount(2 * correct[first] + correct[second], minlength=4).reshape(2, 2)
        table.append({
            "first": first, "second": second, "n": len(pair),
            "pearson": stats.pearsonr(pair[first], pair[second]).statistic if varies else np.nan,
            "agreement": (correct[first] == correct[second]).mean() if len(pair) else np.nan,
            "kappa": (cohens_kappa(counts, return_results=False)
                      if (correct.nunique() > 1).all() else np.nan)})
    return pd.DataFrame(table, columns=["first", "second", "n", "pearson", "agreement", "kappa"])
