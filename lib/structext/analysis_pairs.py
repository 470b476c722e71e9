"""The same questions asked twice: of two arms, with demonstrations, in Real-Test's words; and how far metrics agree."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lib.paired import cluster_interval
from lib.structext.analysis import ANSWERED, JUDGE, LEFT_OUT, RESAMPLES, ordered, summary, with_all
from lib.structext.ask import FEW_SHOT
from lib.structext.scores import METRICS, metric_agreement
from lib.tables import ALL

TEST, REAL = "test", "real-test"
BASE_PROMPT = "base"
DIFFERENCE = ["n", "texts", "unpaired", "first", "second", "difference_points", "low_points", "high_points", "asked",
              "asked_points", "asked_low_points", "asked_high_points", "judged", "judge_points", "judge_low_points",
              "judge_high_points"]


def differences(first: pd.DataFrame, second: pd.DataFrame, on: Sequence[str], by: Sequence[str],
                resamples: int = RESAMPLES) -> pd.DataFrame:
    """second - first, rows matched by `on`, in each group of `by`; columns `by` and DIFFERENCE.

    `by` are of `on`, or columns of `second`. first and second are means of the paper's score, fractions of 1;
    differences are points with 95% intervals over texts, NaN where no pair differs. asked_points are over the pairs of
    which neither was left out: without them a longer prompt loses by the window, not by what it says. unpaired counts
    the rows of `second` without a partner, asked and judged the pairs that were asked and that have two verdicts.
    """
    own = [name for name in by if name not in on]
    values = ["text", "state", "rouge_score", JUDGE]
    both = first[[*on, *values]].merge(second[[*on, *own, *values]], on=[*on], how="right", suffixes=("_first", ""),
                                       validate="one_to_many")
    table = []
    for key, cell in both.groupby([*by], observed=True):
        pairs = cell[cell.text_first.notna()]
        gain, judged = pairs.rouge_score - pairs.rouge_score_first, (pairs[JUDGE] - pairs[f"{JUDGE}_first"]).dropna()
        asked = gain[(pairs.state != LEFT_OUT) & (pairs.state_first != LEFT_OUT)]
        table.append((*key, len(pairs), pairs.text.nunique(), len(cell) - len(pairs), pairs.rouge_score_first.mean(),
                      pairs.rouge_score.mean(), *_points(gain, pairs.text, resamples),
                      len(asked), *_points(asked, pairs.text[asked.index], resamples),
                      len(judged), *_points(judged, pairs.text[judged.index], resamples)))
    return ordered(pd.DataFrame(table, columns=[*by, *DIFFERENCE]), second, by)


def _points(values: pd.Series, texts: pd.Series, resamples: int) -> np.ndarray:
    """Mean, low and high of differences of fractions, in points; NaN where there are none."""
    ends = cluster_interval(values, texts, resamples=resamples) if len(values) else (np.nan, np.nan)
    return 100 * np.array([values.mean(), *ends])


def against_first(rows: pd.DataFrame, resamples: int = RESAMPLES) -> pd.DataFrame:
    """`differences` of every other arm to the first one, by suite, prompt and arm; no rows where there is one arm."""
    is_first = rows.arm == rows.arm.cat.categories[0]
    others = rows[~is_first]
    tables = [differences(rows[is_first], cell, ["query_id"], ["suite", "prompt", "arm"], resamples)
              for _, cell in others.groupby("arm", observed=True)]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(
        columns=["suite", "prompt", "arm", *DIFFERENCE])


def shots(rows: pd.DataFrame, resamples: int = RESAMPLES) -> pd.DataFrame:
    """`summary` by suite, arm, setting (FEW_SHOT) and number of demonstrations, with the gain over the base prompt.

    The base prompt stands in each setting that its suite was asked in, with n_shots 0. The further columns are those
    of `differences`, with gain_ before their names. No rows where no suite was asked with demonstrations.
    """
    shown = rows[rows.setting.isin(FEW_SHOT)]
    base = rows[rows.prompt == BASE_PROMPT]
    curve = pd.concat([shown, *(base[base.suite.isin(shown.suite[shown.setting == setting])].assign(setting=setting)
                                for setting in FEW_SHOT)])
    keys = ["suite", "arm", "setting", "n_shots"]
    gains = differences(base, shown, ["arm", "suite", "sample"], keys, resamples) if len(shown) else pd.DataFrame(
        columns=[*keys, *DIFFERENCE])
    gains = gains.rename(columns={name: f"gain_{name}" for name in DIFFERENCE})
    return summary(curve, keys, resamples).merge(gains, how="left", on=keys)


def real_and_test(rows: pd.DataFrame, resamples: int = RESAMPLES) -> pd.DataFrame:
    """`differences` Real-Test - Test of the samples that share their structure, by arm and language, then ALL.

    `rows` are of one prompt. No rows where one of the two suites was not asked.
    """
    both = with_all(rows)
    return differences(both[both.suite == TEST], both[both.suite == REAL], ["arm", "language", "twin"],
                       ["arm", "language"], resamples)


def agreement(rows: pd.DataFrame) -> pd.DataFrame:
    """`metric_agreement` of the paper's metrics and the judge, by arm and then over ALL; a column arm before it.

    Over the replies with an answer alone: where there is none every metric says 0, and nothing was compared.
    """
    answered = rows[rows.state == ANSWERED]
    cells = [*answered.groupby("arm", observed=True)] + [(ALL, answered)] * (answered.arm.nunique() > 1)
    return pd.concat([metric_agreement(cell, (*METRICS, JUDGE)).assign(arm=str(arm)) for arm, cell in cells] or [
        metric_agreement(answered, (*METRICS, JUDGE)).assign(arm=ALL)])[
        ["arm", "first", "second", "n", "pearson", "agreement", "kappa"]].reset_index(drop=True)
