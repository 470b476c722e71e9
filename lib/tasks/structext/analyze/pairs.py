"""Compare arms, floor, demonstrations and Real-Test on the same questions, and metrics."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from lib.analyze.stats import cluster_interval
from lib.core.arms import ALL
from lib.core.records import Answer
from lib.tasks.structext.analyze.floor import BLIND
from lib.tasks.structext.analyze.scores import METRICS, metric_agreement, score
from lib.tasks.structext.analyze.tables import (
    ANSWERED,
    JUDGE,
    LEFT_OUT,
    clusters,
    summary,
    with_all,
)
from lib.tasks.structext.ask.plan import OFFICIAL
from lib.tasks.structext.ask.prompts import FEW_SHOT, Prompted

DIFFERENCE = ("n", "texts", "first", "second", "difference_points", "low_points", "high_points")
LEAST_MODELS = 3  # for a coefficient over their means: two points always lie on a line


def differences(first: pd.DataFrame, second: pd.DataFrame, on: Sequence[str],
                by: Sequence[str]) -> pd.DataFrame:
    """Return the paper's score in second - first, by `by`, over the n pairs asked both ways.

    Rows are matched by `on`. Differences are in points, with 95% intervals over texts.
    """
    own, values = [name for name in by if name not in on], ["text", "state", "rouge_score"]
    both = first[[*on, *values]].merge(second[[*on, *own, *values]], on=[*on],
                                       suffixes=("_first", ""), validate="one_to_many")
    table = []
    for key, cell in both.groupby([*by], observed=True):
        texts = clusters(cell.text, cell.text_first)
        pairs = cell[(cell.state != LEFT_OUT) & (cell.state_first != LEFT_OUT)]
        values = pairs.rouge_score - pairs.rouge_score_first
        texts = texts[pairs.index]
        ends = cluster_interval(values, texts, 1) if len(pairs) else (np.nan, np.nan)
        table.append((*key, len(pairs), texts.nunique(), pairs.rouge_score_first.mean(),
                      pairs.rouge_score.mean(), *(100 * np.array([values.mean(), *ends]))))
    return pd.DataFrame(table, columns=[*by, *DIFFERENCE])


def against(rows: pd.DataFrame, arm: str,
            by: Sequence[str] = ("suite", "prompt", "arm")) -> pd.DataFrame:
    """Return `differences` of every other arm from `arm`, by group of `by`.

    With BLIND, they are each arm's distance from the floor, on the questions that fit its window.
    """
    is_first = rows.arm == arm
    return differences(rows[is_first], rows[~is_first], ["query_id"], by)


def shots(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `summary` by suite, arm, setting (FEW_SHOT) and number of demonstrations.

    The base prompt has n_shots 0. The columns gain_… are `differences` from it.
    """
    with_shots, base = rows[rows.setting.isin(FEW_SHOT)], rows[rows.prompt == "base"]
    curve = pd.concat([with_shots, *(
        base[base.suite.isin(with_shots.suite[with_shots.setting == setting])].assign(
            setting=setting) for setting in FEW_SHOT)])
    keys = ["suite", "arm", "setting", "n_shots"]
    gains = differences(base, with_shots, ["arm", "suite", "twin"], keys)
    gains = gains.rename(columns={name: f"gain_{name}" for name in DIFFERENCE})
    return summary(curve, keys).merge(gains, how="left", on=keys)


def real_and_test(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `differences`, Real-Test - Test, of samples with the same structure, for one prompt.

    Rows are by arm and language, then ALL; there are none unless both suites were asked.
    """
    both = with_all(rows)
    return differences(both[both.suite == "test"], both[both.suite == "real-test"],
                       ["arm", "language", "twin"], ["arm", "language"])


def agreement(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `metric_agreement` of the paper's metrics and the judge, by arm and over ALL.

    It is over replies with an answer. ALL lacks arms that only copy the reference, and coefficients
    that no arm has: pooling a good arm with a bad one would make any two metrics correlate.
    """
    answered = rows[(rows.state == ANSWERED) & (rows.arm != BLIND)]
    cells = [*answered.groupby("arm", observed=True), (ALL, answered[~_copies(answered)])]
    tables = [metric_agreement(cell, (*METRICS, JUDGE)).assign(arm=arm) for arm, cell in cells]
    for name in ("pearson", "kappa"):
        is_known = np.any([table[name].notna() for table in tables[:-1]], axis=0)
        tables[-1][name] = tables[-1][name].where(is_known)
    table = pd.concat(tables if len(tables) > 2 else tables[:1], ignore_index=True)
    return table[["arm", "first", "second", "n", "pearson", "agreement", "kappa"]]


def agreement_of_means(rows: pd.DataFrame) -> pd.DataFrame:
    """Return Pearson's r of each metric with the judge over the arms' means, as in v2's Table 6.

    Arms are left out as in `agreement`; with fewer than LEAST_MODELS others, r is NaN.
    """
    known = rows[(rows.arm != BLIND) & rows[JUDGE].notna()]
    answered = known[known.state == ANSWERED]
    known = known[~known.arm.isin(answered.arm[_copies(answered)])]
    means = known.groupby("arm", observed=True)[[*METRICS, JUDGE]].mean()
    table = metric_agreement(means, (*METRICS, JUDGE))
    table = table[table["second"] == JUDGE].reset_index()[["first", "n", "pearson"]]
    return table.assign(pearson=table.pearson.where(table.n >= LEAST_MODELS))


def _copies(answered: pd.DataFrame) -> pd.Series:
    return answered.exact.groupby(answered.arm, observed=True).transform("min") == 1


def both_scores(rows: pd.DataFrame, asked: Sequence[Prompted],
                answers: Mapping[str, Sequence[Answer]]) -> pd.DataFrame:
    """Return `summary` of the suite OFFICIAL by prompt and arm, next to the official code's score.

    That code scores complete replies and loses empty and long ones (`lost` of `replies`).
    """
    by, own = ["prompt", "arm"], rows[rows.suite == OFFICIAL]
    references = {one.query_id: one.sample.answer for one in asked if one.suite == OFFICIAL}
    table = []
    for arm, replies in answers.items():
        for reply in (one for one in replies if one.query_id in references):
            found = score(references[reply.query_id], reply.answer)
            value = np.nan if found.official_fails else found.rouge_score
            table.append((arm, reply.query_id, found.official_fails, value))
    complete = pd.DataFrame(table, columns=["arm", "query_id", "lost", "official"])
    theirs = own[["prompt", "query_id"]].drop_duplicates().merge(complete).groupby(
        by, observed=True).agg(replies=("lost", "size"), lost=("lost", "sum"),
                               official=("official", "mean"))
    return summary(own, by).merge(theirs.reset_index(), on=by, how="left")[
        [*by, "n", "texts", "rouge_score", "low", "high", "official", "replies", "lost"]]


def failures(rows: pd.DataFrame, asked: Sequence[Prompted],
             answers: Mapping[str, Sequence[Answer]]) -> pd.DataFrame:
    """Return the first reply that scores 0 of every arm, language and state, but for BLIND."""
    wrong = rows[(rows.rouge_score == 0) & (rows.state != LEFT_OUT) & (rows.arm != BLIND)]
    first = wrong.groupby(["arm", "language", "state"], observed=True).head(1)
    samples = {one.query_id: one.sample for one in asked}
    replies = {(arm, row.query_id): row.answer for arm, given in answers.items() for row in given}
    return first[["arm", "prompt", "task", "state"]].assign(
        question=[samples[name].question for name in first.query_id],
        reference=[samples[name].answer for name in first.query_id],
        reply=[replies.get(key, "") for key in zip(first.arm, first.query_id, strict=True)])
