"""Show a run's results next to the published ones of StrucText-Eval (v2, Tables 3 and 4).

The paper asked other models with other prompts, on samples of the official generator with its
faults, and decoded with temperature 0.95. Published and own rows thus share only their scale, but
each has a floor: the best constant answers on samples of its own kind. published.csv has the
numbers, in percent. For Test, Table 3 has the base prompt and the best of the others. For a human,
v2 says 92.6 in Table 4 and 95.7 elsewhere. Not there, because we have no reliable copy: v1's tables
of scores, and the columns of v2's Table 3 by language.
"""

import pandas as pd

from lib.core.paths import package_file
from lib.structext.analyze.floor import BLIND
from lib.structext.analyze.tables import JUDGE

PAPER, FLOOR, RUN = "paper", "floor of the paper's suite", "this run"
COLUMNS = ["suite", "source", "model", "prompt", "n", "rouge_score", "low", "high", "floor",
           "where"]
# Suite -> n, mean and 95% interval over texts of the best constants (floor.learned) on our suite in
# faithful mode, which has the official generator's faults; seed 42. A test measures them again.
FLOORS = {"test": (3712, 0.27459, 0.26045, 0.28920),
          "test-hard": (2088, 0.21820, 0.20093, 0.23653)}
# the prompts of Tables 3 (the best of the others is added) and 4
_PROMPTS = {"test": ("base",),
            "test-hard": ("base", "hint", "few-shot-3", "simple-few-shot-3")}
# Pearson of each metric with human judgments, over models' means (v2, Table 6)
_AGREEMENT = {"rouge_score": 0.993, JUDGE: 0.994, "exact": 0.950}


def paper_scores() -> pd.DataFrame:
    """Return Tables 3 and 4 with COLUMNS.

    n is the suite's number of samples, rouge_score and floor are fractions of 1. No intervals are
    published.
    """
    path = package_file("structext/analyze/published.csv")
    table = pd.read_csv(path, keep_default_na=False)
    return table.assign(source=PAPER, rouge_score=table.percent / 100, low=float("nan"),
                        high=float("nan"), floor=table.suite.map(
                            {suite: floor[1] for suite, floor in FLOORS.items()}))[COLUMNS]


def with_ours(ours: pd.DataFrame) -> pd.DataFrame:
    """Return, for each suite with published scores, these, their floor, and then a run's arms.

    `ours` is from `summary`, by suite, prompt and arm, with the arm BLIND. Test has the base prompt
    and the best of the others, as in Table 3; Test-Hard has the prompts of Table 4. The best of
    several prompts is chosen by the scores shown, so its score is biased upwards.
    """
    run = ours.rename(columns={"arm": "model"}).astype(
        {"suite": str, "model": str, "prompt": str}).assign(source=RUN, where="this study")
    blind = run[run.model == BLIND].set_index(["suite", "prompt"]).rouge_score
    run = run.join(blind.rename("floor"), on=["suite", "prompt"])[COLUMNS]
    others = run[(run.suite == "test") & (run.prompt != "base")]
    others = others.sort_values("rouge_score", ascending=False, kind="stable")
    best = others.drop_duplicates("model")
    paper, tables = paper_scores(), []
    for suite, (n, *values) in FLOORS.items():
        floor = pd.DataFrame([(suite, FLOOR, BLIND, "", n, *values, values[0], "this repository")],
                             columns=COLUMNS)
        is_wanted = run.prompt.isin(_PROMPTS[suite]) | run.index.isin(best.index)
        tables += [paper[paper.suite == suite], floor, run[(run.suite == suite) & is_wanted]]
    return pd.concat(tables, ignore_index=True)


def agreement_with_ours(means: pd.DataFrame, replies: pd.DataFrame) -> pd.DataFrame:
    """Return Pearson's r of metrics with human judgments (published) and with our judge.

    Columns metric, source, over, with, n, pearson. `means` is from `agreement_of_means`, the
    paper's kind of coefficient; `replies` from `agreement`, of which only the rows over all arms
    are used. The paper does not state its number of judgments.
    """
    judge = "the judge's verdicts"
    pooled = replies[(replies.arm == replies.arm.iloc[-1]) & (replies["second"] == JUDGE)]
    rows = [(metric, PAPER, "models' means", "human judgments", None, pearson)
            for metric, pearson in _AGREEMENT.items()]
    for table, over in ((means, "models' means"), (pooled, "replies")):
        rows += [(row.first, RUN, over, judge, row.n, row.pearson) for row in table.itertuples()]
    table = pd.DataFrame(rows, columns=["metric", "source", "over", "with", "n", "pearson"])
    return table.astype({"n": "Int64"})
