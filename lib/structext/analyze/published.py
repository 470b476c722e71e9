"""Show a run's results next to the published ones of StrucText-Eval (v2, Tables 3 and 4).

The paper asked other models with other prompts, on samples of the official generator with its
faults, and decoded with temperature 0.95. Published and own rows thus share only their scale.
published.csv has the numbers, in percent. For Test, Table 3 has the base prompt and the best of the
others. For a human, v2 says 92.6 in Table 4 and 95.7 elsewhere.
"""

import pandas as pd

from lib.core.paths import package_file
from lib.structext.analyze.tables import JUDGE

PAPER, RUN = "paper", "this run"
COLUMNS = ["suite", "source", "model", "prompt", "n", "rouge_score", "low", "high", "where"]
_HARD_PROMPTS = ("base", "hint", "few-shot-3", "simple-few-shot-3")  # in Table 4
# Pearson of each metric with human judgments
_AGREEMENT = {"rouge_score": 0.993, JUDGE: 0.994, "exact": 0.950}


def paper_scores() -> pd.DataFrame:
    """Return Tables 3 and 4 with COLUMNS.

    n is the suite's number of samples, and rouge_score is a fraction of 1. No intervals are
    published.
    """
    path = package_file("structext/analyze/published.csv")
    table = pd.read_csv(path, keep_default_na=False)
    return table.assign(source=PAPER, rouge_score=table.percent / 100, low=float("nan"),
                        high=float("nan"))[COLUMNS]


def with_ours(ours: pd.DataFrame) -> pd.DataFrame:
    """Return the published scores and then a run's arms, for each suite with published scores.

    `ours` is from `summary`, by suite, prompt and arm. Test has the base prompt and the best of the
    others, as in Table 3; Test-Hard has the prompts of Table 4. The best of several prompts is
    chosen by the scores shown, so its score is biased upwards.
    """
    run = ours.rename(columns={"arm": "model"}).astype(
        {"suite": str, "model": str, "prompt": str}).assign(source=RUN, where="this study")[COLUMNS]
    others = run[(run.suite == "test") & (run.prompt != "base")]
    others = others.sort_values("rouge_score", ascending=False, kind="stable")
    best = others.drop_duplicates("model")
    is_wanted = (run.suite == "test") & ((run.prompt == "base") | run.index.isin(best.index))
    is_wanted |= (run.suite == "test-hard") & run.prompt.isin(_HARD_PROMPTS)
    both = pd.concat([paper_scores(), run[is_wanted]], ignore_index=True)
    return pd.concat([both[both.suite == suite] for suite in ("test", "test-hard")],
                     ignore_index=True)


def agreement_with_ours(ours: pd.DataFrame) -> pd.DataFrame:
    """Return Pearson's r of metrics with human judgments (published) and with our judge.

    Columns metric, source, with, n, pearson. `ours` is from `agreement`; only its rows over all
    arms are used. The paper does not state its number of judgments.
    """
    rows = [(metric, PAPER, "human judgments", None, pearson)
            for metric, pearson in _AGREEMENT.items()]
    pooled = ours[ours.arm == ours.arm.iloc[-1]]  # ALL, or the only arm
    rows += [(row.first, RUN, "the judge's verdicts", row.n, row.pearson)
             for row in pooled[pooled["second"] == JUDGE].itertuples()]
    table = pd.DataFrame(rows, columns=["metric", "source", "with", "n", "pearson"])
    return table.astype({"n": "Int64"})
