"""Show a run's results next to the published ones of StrucText-Eval (v2, Tables 3, 4 and 6).

The paper asked other models with other prompts, on samples of the official generator with its
faults, at temperature 0.95: rows share a scale, not an experiment. published.csv has the numbers.
"""

import pandas as pd

from lib.core.paths import package_file
from lib.tasks.structext.analyze.floor import BLIND
from lib.tasks.structext.analyze.tables import JUDGE

COLUMNS = ["suite", "source", "model", "prompt", "n", "rouge_score", "low", "high", "floor",
           "where"]
# Suite -> n, mean and 95% interval over texts of the best constants (floor.learned) on our suite in
# faithful mode, which has the official generator's faults; seed 42. A test measures them again.
FLOORS = {"test": (3712, 0.27459, 0.26045, 0.28920),
          "test-hard": (2088, 0.21820, 0.20093, 0.23653)}
# Pearson of each metric with human judgments, over models' means (v2, Table 6)
_AGREEMENT = {"rouge_score": 0.993, JUDGE: 0.994, "exact": 0.950}


def paper_scores() -> pd.DataFrame:
    """Return Tables 3 and 4, scores as fractions, each with the floor of its suite."""
    table = pd.read_csv(package_file("tasks/structext/analyze/published.csv"),
                        keep_default_na=False)
    return table.assign(source="paper", rouge_score=table.percent / 100, low=float("nan"),
                        high=float("nan"), floor=[FLOORS[suite][1] for suite in table.suite])


def with_ours(ours: pd.DataFrame) -> pd.DataFrame:
    """Return, by suite with published scores, these, their floor, and then a run's arms.

    `ours` is from `summary`, by suite, prompt and arm, with the arm BLIND.
    """
    run = ours[ours.suite.isin(FLOORS)].rename(columns={"arm": "model"})
    blind = run[run.model == BLIND].set_index(["suite", "prompt"]).rouge_score
    run = run.join(blind.rename("floor"), on=["suite", "prompt"]).assign(
        source="this run", where="this study")
    floors = pd.DataFrame([
        (suite, "floor of the paper's suite", BLIND, "", n, *values, values[0], "this repository")
        for suite, (n, *values) in FLOORS.items()], columns=COLUMNS)
    table = pd.concat([paper_scores(), floors, run], ignore_index=True)[COLUMNS]
    return table.sort_values("suite", kind="stable")


def agreement_with_ours(means: pd.DataFrame) -> pd.DataFrame:
    """Return Pearson's r of metrics with human judgments (published) and with our judge.

    `means` is from `agreement_of_means`, the paper's kind of coefficient.
    """
    paper = pd.DataFrame([("paper", *row) for row in _AGREEMENT.items()],
                         columns=["source", "first", "pearson"])
    table = pd.concat([paper, means.assign(source="this run")])
    return table.rename(columns={"first": "metric"}).astype({"n": "Int64"})
