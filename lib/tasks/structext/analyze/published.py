"""Show a run's results next to the published ones of StrucText-Eval (v2, Tables 3, 4 and 6).

The paper asked other models with other prompts, on samples of the official generator with its
faults, at temperature 0.95: rows share a scale, not an experiment. published.csv has the numbers.
"""

import pandas as pd

from lib.core.paths import package_file
from lib.tasks.structext.analyze.floor import BLIND
from lib.tasks.structext.analyze.tables import JUDGE
from lib.tasks.structext.ask.replies import METRICS

COLUMNS = ["suite", "source", "model", "prompt", "n", "rouge_score", "low", "high", "floor",
           "where"]
# Suite -> n, mean and 95% interval over texts of the best constants (floor.learned) on our suite in
# faithful mode, which has the official generator's faults; seed 42. A test measures them again.
FLOORS = {"test": (3712, 0.27459, 0.26045, 0.28920),
          "test-hard": (2088, 0.21820, 0.20093, 0.23653)}
LEAST_MODELS = 3  # for a coefficient over their means: two points always lie on a line
# Pearson of each metric with human judgments, over models' means (v2, Table 6)
_AGREEMENT = {"rouge_score": 0.993, JUDGE: 0.994, "exact": 0.950}


def paper_scores() -> pd.DataFrame:
    """Return Tables 3 and 4, scores as fractions, each with the floor of its suite."""
    table = pd.read_csv(package_file("tasks/structext/analyze/published.csv"),
                        keep_default_na=False)
    return table.assign(source="paper", rouge_score=table.percent / 100, low=float("nan"),
                        high=float("nan"), floor=[FLOORS[suite][1] for suite in table.suite])


def with_ours(ours: pd.DataFrame) -> pd.DataFrame:
    """Return, by suite with published scores, these and then a run's arms, each with its floor.

    `ours` is from `summary`, by suite, prompt and arm, with the arm BLIND.
    """
    run = ours[ours.suite.isin(FLOORS)].rename(columns={"arm": "model"})
    blind = run[run.model == BLIND].set_index(["suite", "prompt"]).rouge_score
    run = run.join(blind.rename("floor"), on=["suite", "prompt"]).assign(
        source="this run", where="this study")
    table = pd.concat([paper_scores(), run], ignore_index=True)[COLUMNS]
    return table.sort_values("suite", kind="stable")


def agreement_of_means(rows: pd.DataFrame) -> pd.DataFrame:
    """Return Pearson's r of metrics over models' means: with human judgments, with our judge.

    The former are published. With fewer than LEAST_MODELS arms in `rows`, r is NaN.
    """
    means = rows[rows[JUDGE].notna()].groupby("arm", observed=True)[[*METRICS, JUDGE]].mean()
    ours = means[[*METRICS]].corrwith(means[JUDGE], min_periods=LEAST_MODELS)
    both = {"paper": pd.Series(_AGREEMENT), "this run": ours}
    table = pd.concat(both, names=["source", "metric"]).rename("pearson").reset_index()
    return table.assign(n=table.source.map({"this run": len(means)}).astype("Int64"))
