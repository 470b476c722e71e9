"""Variation over seeds (trainings of an arm) and over queries, with intervals for both."""

import numpy as np
import pandas as pd

from lib.analyze import stats
from lib.core.arms import ALL, sorted_arms, split_arm
from lib.core.structures import STRUCTURES

BOTH, QUERIES_ONLY = "queries and seeds; one base", "queries; one seed, one base"
NONE = "none: one cluster, or no variation"
SPREAD = [
    "arm",
    "structure",
    "n",
    "clusters",
    "seeds",
    "mean",
    "each",
    "sd_seeds",
    "se_queries",
    "design_effect",
    "low",
    "high",
    "interval",
]


def spread(rows: pd.DataFrame) -> pd.DataFrame:
    """Return accuracy by arm and structure over the arm's seeds (dapt, dapt@2, …): SPREAD.

    design_effect: n queries are worth n / design_effect independent ones (Kish 1965).
    """
    arms: dict[str, list[str]] = {}
    for name in sorted_arms(rows.arm):
        arms.setdefault(split_arm(name)[0], []).append(name)
    return pd.DataFrame(
        [
            _cell(rows, arm, names, structure)
            for arm, names in arms.items()
            for structure in (*STRUCTURES, ALL)
        ],
        columns=SPREAD,
    )


def _cell(rows: pd.DataFrame, arm: str, names: list[str], structure: str) -> dict:
    scored = _scored(rows, names, structure)
    clusters, seeds = scored.cluster.nunique(), len(names)
    cell = {
        "arm": arm,
        "structure": structure,
        "n": scored.query_id.nunique(),
        "clusters": clusters,
        "seeds": seeds,
    }
    if scored.empty:
        return cell | {"each": [], "interval": NONE}
    each = scored.groupby("arm").correct.mean().reindex(names)
    queries = scored.groupby("query_id").agg(
        correct=("correct", "mean"), cluster=("cluster", "first")
    )
    mean, error, _ = stats.cluster_mean(queries.correct, queries.cluster)
    independent = float(queries.correct.std(ddof=1)) / len(queries) ** 0.5
    deviation = float(each.std(ddof=1)) if seeds > 1 else float("nan")
    of_seeds = [(deviation**2 / seeds, seeds - 1)] if deviation > 0 else []
    low, high = stats.share_interval(queries.correct, queries.cluster, of_seeds)
    return cell | {
        "mean": mean,
        "each": [float(value) for value in each],
        "sd_seeds": deviation,
        "se_queries": error if error > stats.ROUNDING else np.nan,
        "design_effect": (error / independent) ** 2 if independent > 0 else np.nan,
        "low": low,
        "high": high,
        "interval": covered(seeds > 1, low),
    }


def covered(has_seeds: bool, low: float) -> str:
    """Return what an interval that begins at `low` covers."""
    return NONE if np.isnan(low) else BOTH if has_seeds else QUERIES_ONLY


def _scored(rows: pd.DataFrame, names: list[str], structure: str) -> pd.DataFrame:
    cell = rows[rows.arm.isin(names) & ((rows.structure == structure) | (structure == ALL))]
    return cell.assign(correct=(cell.verdict == "correct").astype(float))


def both_sources(
    mean: float, error: float, freedom: float, seeds: list[tuple[float, int]], bound: float = np.inf
) -> tuple[float, float]:
    """Return the 95% interval of `mean` over queries and seeds, clipped to -bound ... bound.

    `seeds` has (sd, number) of each arm. The variances add, which is conservative for crossed
    factors (Cameron, Gelbach and Miller 2011); with two seeds it covers 87%, so take three.
    """
    if not error > stats.ROUNDING:
        return float("nan"), float("nan")
    parts = [(error**2, freedom), *((sd**2 / number, number - 1) for sd, number in seeds)]
    low, high, _ = stats.t_test(mean, parts)
    return max(-bound, low), min(bound, high)


def of_seeds(
    rows: pd.DataFrame, names: list[str], structure: str, beyond: str = ""
) -> tuple[pd.Series, float]:
    """Return each query's mean over an arm's seeds, and the SD across seeds in points.

    With `beyond` it is the SD of the difference to that structure, whose queries come first.
    """
    scored = _scored(rows, names, structure)
    each = scored.groupby("arm").correct.mean()
    if beyond:
        other = _scored(rows, names, beyond)
        each = each - other.groupby("arm").correct.mean()
        scored = pd.concat([other, scored])
    return scored.groupby("query_id").correct.mean(), 100 * float(each.std(ddof=1))
