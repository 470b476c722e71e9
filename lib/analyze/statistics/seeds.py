"""Variation over seeds (trainings of an arm) and over queries, with intervals for both."""

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from lib.analyze import stats
from lib.core.arms import ALL, BASE, sorted_arms, split_arm
from lib.core.structures import STRUCTURES, prose

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
    arms = {}
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
        "interval": _covered(seeds > 1, low),
    }


def _covered(has_seeds: bool, low: float) -> str:
    return NONE if np.isnan(low) else BOTH if has_seeds else QUERIES_ONLY


def _scored(rows: pd.DataFrame, names: list[str], structure: str) -> pd.DataFrame:
    cell = rows[
        rows.arm.isin(names)
        & ((rows.structure == structure) | (structure == ALL))
    ]
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
    variance, freedom = stats.satterthwaite(
        [(error**2, freedom), *((sd**2 / number, number - 1) for sd, number in seeds)]
    )
    reach = float(stdtrit(freedom, 1 - stats.ALPHA / 2)) * variance**0.5
    return max(-bound, mean - reach), min(bound, mean + reach)


def spread_pairs(rows: pd.DataFrame, pairs: list[tuple[str, str]]) -> pd.DataFrame:
    """Return differences second - first in points, each arm averaged over its seeds.

    A row per pair and structure, then one per structure for its gain - that of prose. With
    one seed of a trained arm, the interval covers queries only.
    """
    cells = [(structure, None) for structure in (*STRUCTURES, ALL)]
    cells += [(structure, prose()) for structure in list(STRUCTURES)[1:]]
    return pd.DataFrame([_difference(rows, pair, *cell) for pair in pairs for cell in cells])


def _difference(
    rows: pd.DataFrame, pair: tuple[str, str], structure: str, beyond: str | None
) -> dict:
    names = [[name for name in rows.arm.unique() if split_arm(name)[0] == arm] for arm in pair]
    means, deviations = zip(
        *(_of_seeds(rows, each, structure, beyond) for each in names), strict=True
    )
    difference = 100 * (means[1] - means[0]).dropna()
    queries = rows.drop_duplicates("query_id").set_index("query_id").reindex(difference.index)
    is_structure = (queries.structure == structure).to_numpy() if beyond else None
    mean, error, freedom = stats.cluster_mean(difference, queries.cluster, is_structure)
    covers_seeds = all(
        arm == BASE or not np.isnan(sd) for arm, sd in zip(pair, deviations, strict=True)
    )
    seeds = [
        (sd, len(each))
        for sd, each in zip(deviations, names, strict=True)
        if covers_seeds and not np.isnan(sd)
    ]
    low, high = both_sources(mean, error, freedom, seeds, 200 if beyond else 100)
    return {
        "first": pair[0],
        "second": pair[1],
        "structure": f"{structure} – {beyond}" if beyond else structure,
        "n": len(difference),
        "clusters": queries.cluster.nunique(),
        "seeds_first": len(names[0]),
        "seeds_second": len(names[1]),
        "difference_points": mean,
        "sd_first_points": deviations[0],
        "sd_second_points": deviations[1],
        "se_queries_points": error,
        "low_points": low,
        "high_points": high,
        "interval": _covered(covers_seeds, low),
    }


def _of_seeds(
    rows: pd.DataFrame, names: list[str], structure: str, beyond: str | None
) -> tuple[pd.Series, float]:
    scored = _scored(rows, names, structure)
    each = scored.groupby("arm").correct.mean()
    if beyond:
        other = _scored(rows, names, beyond)
        each = each - other.groupby("arm").correct.mean()
        scored = pd.concat([other, scored])
    return scored.groupby("query_id").correct.mean(), 100 * float(each.std(ddof=1))
