"""Differences of arms, floor, demonstrations and Real-Test on the same questions; agreement."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.inter_rater import cohens_kappa

from lib.analyze.stats import cluster_interval
from lib.core.records import Answer
from lib.tasks.structext.analyze.floor import BLIND
from lib.tasks.structext.analyze.tables import ANSWERED, JUDGE, summary, with_all
from lib.tasks.structext.ask.plan import OFFICIAL
from lib.tasks.structext.ask.prompts import FEW_SHOT, Prompted
from lib.tasks.structext.ask.replies import LEAST_ROUGE, METRICS, Scored, score

DIFFERENCE = ("n", "texts", "first", "second", "difference_points", "low_points", "high_points")
AGREEMENT = ["arm", "first", "second", "n", "pearson", "agreement", "kappa"]


def differences(
    first: pd.DataFrame, second: pd.DataFrame, on: list[str], by: list[str]
) -> pd.DataFrame:
    """Return the paper's score in second - first, by `by`, over the n pairs asked both ways.

    Rows are matched by `on`. Differences are in points, with 95% intervals over texts.
    """
    own, values = [name for name in by if name not in on], ["text", "left_out", "rouge_score"]
    both = first[[*on, *values]].merge(
        second[[*on, *own, *values]], on=on, suffixes=("_first", ""), validate="one_to_many"
    )
    table = []
    for key, cell in both.groupby(by, observed=True):
        pairs = cell[~(cell.left_out | cell.left_out_first)]
        change = pairs.rouge_score - pairs.rouge_score_first
        ends = cluster_interval(change, pairs.text, 1)
        table.append(
            (
                *key,
                len(pairs),
                pairs.text.nunique(),
                pairs.rouge_score_first.mean(),
                pairs.rouge_score.mean(),
                *(100 * np.array([change.mean(), *ends])),
            )
        )
    return pd.DataFrame(table, columns=[*by, *DIFFERENCE])


def against(
    rows: pd.DataFrame, arm: str, by: Sequence[str] = ("suite", "prompt", "arm")
) -> pd.DataFrame:
    """Return `differences` of every other arm from `arm`, by group of `by`.

    With BLIND, they are each arm's distance from the floor, on the questions that fit its window.
    """
    is_first = rows.arm == arm
    return differences(rows[is_first], rows[~is_first], ["query_id"], [*by])


def shots(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `differences` from the base prompt by suite, arm, setting of FEW_SHOT and n_shots."""
    return differences(
        rows[rows.prompt == "base"],
        rows[rows.setting.isin(FEW_SHOT)],
        ["arm", "suite", "twin"],
        ["suite", "arm", "setting", "n_shots"],
    )


def real_and_test(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `differences`, Real-Test - Test, of samples with the same structure, for one prompt.

    Rows are by arm and language, then ALL; there are none unless both suites were asked.
    """
    both = with_all(rows)
    return differences(
        both[both.suite == "test"],
        both[both.suite == "real-test"],
        ["arm", "language", "twin"],
        ["arm", "language"],
    )


def agreement(rows: pd.DataFrame) -> pd.DataFrame:
    """Return Pearson's r, agreement and Cohen's kappa of two metrics over an arm's answers.

    For agreement and kappa, at least LEAST_ROUGE is correct. NaN if a metric does not vary.
    """
    table = []
    for arm, cell in rows[rows.state == ANSWERED].groupby("arm", observed=True):
        for first, second in combinations((*METRICS, JUDGE), 2):
            pair = cell[[first, second]].astype(float).dropna()
            correct = pair >= LEAST_ROUGE
            varies = len(pair) > 1 and (pair.nunique() > 1).all()
            table.append(
                (
                    arm,
                    first,
                    second,
                    len(pair),
                    stats.pearsonr(pair[first], pair[second]).statistic if varies else np.nan,
                    (correct[first] == correct[second]).mean(),
                    cohens_kappa(pd.crosstab(correct[first], correct[second]), return_results=False)
                    if (correct.nunique() > 1).all()
                    else np.nan,
                )
            )
    return pd.DataFrame(table, columns=AGREEMENT)


def both_scores(
    rows: pd.DataFrame, asked: Sequence[Prompted], answers: Mapping[str, Sequence[Answer]]
) -> pd.DataFrame:
    """Return `summary` of the suite OFFICIAL by prompt and arm, next to the official code's score.

    That code scores complete replies and loses empty and long ones (`lost` of `replies`).
    """
    by, own = ["prompt", "arm"], rows[rows.suite == OFFICIAL]
    references = {one.query_id: one.sample.answer for one in asked if one.suite == OFFICIAL}
    complete = pd.DataFrame(
        [
            (arm, reply.query_id, *score(references[reply.query_id], reply.answer))
            for arm, replies in answers.items()
            for reply in replies
            if reply.query_id in references
        ],
        columns=["arm", "query_id", *Scored._fields],
    )
    both = own[["prompt", "arm", "query_id"]].merge(complete, on=["arm", "query_id"])
    both["official"] = both.rouge_score.mask(both.official_fails)
    theirs = both.groupby(by, observed=True).agg(
        replies=("official", "size"), lost=("official_fails", "sum"), official=("official", "mean")
    )
    return summary(own, by).merge(theirs, on=by, how="left")[
        [*by, "n", "texts", "rouge_score", "low", "high", "official", "replies", "lost"]
    ]


def failures(
    rows: pd.DataFrame, asked: Sequence[Prompted], answers: Mapping[str, Sequence[Answer]]
) -> pd.DataFrame:
    """Return the first reply that scores 0 of every arm, language and state, but for BLIND."""
    wrong = rows[(rows.rouge_score == 0) & ~rows.left_out & (rows.arm != BLIND)]
    first = wrong.groupby(["arm", "language", "state"], observed=True).head(1)
    samples = {one.query_id: one.sample for one in asked}
    replies = {(arm, row.query_id): row.answer for arm, given in answers.items() for row in given}
    return first[["arm", "prompt", "task", "state"]].assign(
        question=[samples[name].question for name in first.query_id],
        reference=[samples[name].answer for name in first.query_id],
        reply=[replies.get(key, "") for key in zip(first.arm, first.query_id, strict=True)],
    )
