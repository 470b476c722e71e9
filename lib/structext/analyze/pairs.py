"""Compare arms, floor, demonstrations and Real-Test on the same questions, and metrics."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from lib.analyze.stats import cluster_interval
from lib.core.arms import ALL
from lib.core.records import Answer
from lib.structext.analyze.floor import BLIND
from lib.structext.analyze.scores import METRICS, metric_agreement, score
from lib.structext.analyze.tables import (
    ANSWERED,
    JUDGE,
    LEFT_OUT,
    clusters,
    ordered,
    summary,
    with_all,
)
from lib.structext.ask.demonstrations import FEW_SHOT
from lib.structext.ask.plan import OFFICIAL
from lib.structext.ask.prompts import Prompted

TEST, REAL = "test", "real-test"
BASE_PROMPT = "base"
DIFFERENCE = ["n", "texts", "unpaired", "first", "second", "difference_points", "low_points",
              "high_points", "whole", "whole_points", "whole_low_points", "whole_high_points",
              "judged", "judge_points", "judge_low_points", "judge_high_points"]
COMMON = ["common", "common_score", "common_low", "common_high"]
LEAST_MODELS = 3  # for a coefficient over their means: two points always lie on a line


def differences(first: pd.DataFrame, second: pd.DataFrame, on: Sequence[str],
                by: Sequence[str]) -> pd.DataFrame:
    """Return second - first by group of `by`, rows matched by `on`; columns `by` and DIFFERENCE.

    The columns `by` are in `on` or in `second`. n counts the pairs asked both ways; with the rest,
    a longer prompt would lose because of the context window, not because of its content. Over the n
    pairs, first and second are means of the paper's score (fractions of 1); the differences are in
    points with 95% intervals over texts, NaN if no pair differs; judged counts those with two
    verdicts. whole counts all pairs; in whole_points a question left out scores 0. unpaired counts
    the rows of `second` without a partner.
    """
    own = [name for name in by if name not in on]
    values = ["text", "state", "rouge_score", JUDGE]
    both = first[[*on, *values]].merge(second[[*on, *own, *values]], on=[*on], how="right",
                                       suffixes=("_first", ""), validate="one_to_many")
    table = []
    for key, cell in both.groupby([*by], observed=True):
        whole = cell[cell.text_first.notna()]
        texts = clusters(whole.text, whole.text_first)
        pairs = whole[(whole.state != LEFT_OUT) & (whole.state_first != LEFT_OUT)]
        judged = (pairs[JUDGE] - pairs[f"{JUDGE}_first"]).dropna()
        table.append((
            *key, len(pairs), texts[pairs.index].nunique(), len(cell) - len(whole),
            pairs.rouge_score_first.mean(), pairs.rouge_score.mean(),
            *_points(pairs.rouge_score - pairs.rouge_score_first, texts), len(whole),
            *_points(whole.rouge_score - whole.rouge_score_first, texts), len(judged),
            *_points(judged, texts)))
    return ordered(pd.DataFrame(table, columns=[*by, *DIFFERENCE]), second, by)


def _points(values: pd.Series, texts: pd.Series) -> np.ndarray:
    """Return mean, low and high of `values`, in points; `texts` has the text of each by index."""
    ends = (np.nan, np.nan)
    if len(values):
        ends = cluster_interval(values, texts[values.index], 1)
    return 100 * np.array([values.mean(), *ends])


def against(rows: pd.DataFrame, arm: str,
            by: Sequence[str] = ("suite", "prompt", "arm")) -> pd.DataFrame:
    """Return `differences` of every other arm from `arm`, by the columns `by`, the arm the last.

    With BLIND, they are each arm's distance from the floor, on the questions that fit its window.
    With only one arm there are no rows.
    """
    is_first = rows.arm == arm
    tables = [differences(rows[is_first], cell, ["query_id"], by)
              for _, cell in rows[~is_first].groupby("arm", observed=True)]
    if not tables:
        return pd.DataFrame(columns=[*by, *DIFFERENCE])
    return pd.concat(tables, ignore_index=True)


def shots(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `summary` by suite, arm, setting (FEW_SHOT) and number of demonstrations, with gains.

    The base prompt is in each setting of its suite, with n_shots 0. More columns give `differences`
    from the base prompt, with the prefix gain_, and COMMON: the number of samples of the suite
    that were asked at every point of its curves, and their mean score with its interval. There are
    no rows if no suite was asked with demonstrations.
    """
    shown = rows[rows.setting.isin(FEW_SHOT)]
    base = rows[rows.prompt == BASE_PROMPT]
    curve = pd.concat([shown, *(
        base[base.suite.isin(shown.suite[shown.setting == setting])].assign(setting=setting)
        for setting in FEW_SHOT)])
    keys = ["suite", "arm", "setting", "n_shots"]
    gains = pd.DataFrame(columns=[*keys, *DIFFERENCE])
    if len(shown):
        gains = differences(base, shown, ["arm", "suite", "sample"], keys)
    gains = gains.rename(columns={name: f"gain_{name}" for name in DIFFERENCE})
    samples = [curve.suite, curve["sample"]]
    fits = (curve.state != LEFT_OUT).groupby(samples, observed=True).transform("all")
    common = summary(curve[fits], keys)[[*keys, "n", "rouge_score", "low", "high"]]
    common = common.set_axis([*keys, *COMMON], axis=1)
    table = summary(curve, keys).merge(common, how="left", on=keys)
    return table.fillna({"common": 0}).astype({"common": int}).merge(gains, how="left", on=keys)


def real_and_test(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `differences`, Real-Test - Test, between samples with the same structure.

    Rows are by arm and language, then ALL; there are none unless both suites were asked. `rows`
    must be for one prompt.
    """
    both = with_all(rows)
    return differences(both[both.suite == TEST], both[both.suite == REAL],
                       ["arm", "language", "twin"], ["arm", "language"])


def over_floor(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the arms except BLIND, with its score and verdict subtracted from theirs.

    Differences between such rows are changes of an arm's distance from the floor.
    """
    known = rows[rows.arm == BLIND].set_index("query_id")[["rouge_score", JUDGE]]
    others = rows[rows.arm != BLIND]
    return others.assign(**{name: others[name] - others.query_id.map(known[name])
                            for name in known})


def agreement(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `metric_agreement` of the paper's metrics and the judge, by arm and then over ALL.

    It is over replies with an answer, because without one every metric is 0; BLIND is no model. ALL
    excludes arms whose every answer is the reference verbatim. If no arm has a coefficient, ALL has
    none either: pooling a good arm with a bad one would make any two metrics correlate.
    """
    answered = rows[(rows.state == ANSWERED) & (rows.arm != BLIND)]
    own = [_agreement(cell, str(arm)) for arm, cell in answered.groupby("arm", observed=True)]
    if len(own) < 2:
        return own[0] if own else _agreement(answered, ALL)
    pooled = _agreement(answered[~_copies(answered)], ALL)
    for name in ("pearson", "kappa"):
        is_known = np.any([table[name].notna() for table in own], axis=0)
        pooled[name] = pooled[name].where(is_known)
    return pd.concat([*own, pooled], ignore_index=True)


def agreement_of_means(rows: pd.DataFrame) -> pd.DataFrame:
    """Return Pearson's r of each metric with the judge over the arms' means, as in v2's Table 6.

    Columns first, second (JUDGE), n (arms) and pearson. Arms are left out as in `agreement`; with
    fewer than LEAST_MODELS others, r is NaN. Every question with a verdict counts.
    """
    known = rows[(rows.arm != BLIND) & rows[JUDGE].notna()]
    answered = known[known.state == ANSWERED]
    known = known[~known.arm.isin(answered.arm[_copies(answered)])]
    means = known.groupby("arm", observed=True)[[*METRICS, JUDGE]].mean()
    table = metric_agreement(means, (*METRICS, JUDGE))[["first", "second", "n", "pearson"]]
    table = table[table["second"] == JUDGE].reset_index(drop=True)
    return table.assign(pearson=table.pearson.where(table.n >= LEAST_MODELS))


def _copies(answered: pd.DataFrame) -> pd.Series:
    """Return whether a row's arm answers every question by the reference verbatim."""
    return answered.exact.groupby(answered.arm, observed=True).transform("min") == 1


def both_scores(rows: pd.DataFrame, asked: Sequence[Prompted],
                answers: Mapping[str, Sequence[Answer]]) -> pd.DataFrame:
    """Return `summary` of the suite OFFICIAL by prompt and arm, next to the official code's score.

    That code scores the complete reply, and loses an empty or a long one, which raises there:
    `official` is the mean of the others (a fraction), and `lost` of `replies` are lost. Ours scores
    the final answer and keeps every question. There are no rows if the suite was not asked.
    """
    by, own = ["prompt", "arm"], rows[rows.suite == OFFICIAL]
    references = {one.query_id: one.sample.answer for one in asked if one.suite == OFFICIAL}
    scored = {(arm, reply.query_id): score(references[reply.query_id], reply.answer)
              for arm, replies in answers.items() for reply in replies
              if reply.query_id in references}
    found = [scored.get(key) for key in zip(own.arm, own.query_id, strict=True)]
    lost = pd.Series([one and one.official_fails for one in found], own.index, dtype=float)
    kept = pd.Series([one and one.rouge_score for one in found], own.index, dtype=float)
    theirs = own.assign(lost=lost, kept=kept.where(lost == 0)).groupby(by, observed=True).agg(
        replies=("lost", "count"), lost=("lost", "sum"), official=("kept", "mean"))
    return summary(own, by).merge(theirs.astype({"lost": int}).reset_index(), on=by)[
        [*by, "n", "texts", "rouge_score", "low", "high", "official", "replies", "lost"]]


def _agreement(cell: pd.DataFrame, arm: str) -> pd.DataFrame:
    table = metric_agreement(cell, (*METRICS, JUDGE)).assign(arm=arm)
    return table[["arm", "first", "second", "n", "pearson", "agreement", "kappa"]]
