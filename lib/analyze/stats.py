"""Intervals and tests over clusters, seeds and bases: CR2, Wilson, t, sign flips, Holm."""

from collections.abc import Iterable, Sequence
from itertools import combinations, product

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtr, stdtrit  # scipy.stats takes five times as long to import

from lib.core.arms import ALL, is_trained, sorted_arms, split_arm
from lib.core.records import STRUCTURES, Fact, Query, by_document, prose

ALPHA = 0.05  # two-sided
ROUNDING = 1e-9  # a smaller standard error or sum counts as 0
LEAST_FLIPS = 6  # clusters; the least two-sided p of n sign flips is 2 ** (1 - n)
LEAST_CLUSTERS = 8  # of an interval that informs: with 5 it is 49 points wide, at nominal coverage
TOO_FEW = "too few documents to tell"
SPREAD = "arm structure n clusters seeds mean each sd_seeds low high".split()
PAIRED = (
    "first second structure n clusters seeds_first seeds_second only_first only_second "
    "difference_points low_points high_points p"
).split()


def wilson(count: float, n: int) -> tuple[float, float]:
    """Return the Wilson 95% interval of count / n as fractions; NaN if n is 0."""
    return _ends(count / n, float(ndtri(1 - ALPHA / 2)) ** 2 / n) if n else (np.nan, np.nan)


def _ends(share: float, z2: float) -> tuple[float, float]:
    middle, reach = share + z2 / 2, (z2 * max(0.0, share * (1 - share)) + z2**2 / 4) ** 0.5
    ends = np.array([middle - reach, middle + reach]) / (1 + z2)
    low, high = np.clip(ends, (0, share), (share, 1))  # rounding may move an end past the share
    return float(low), float(high)


def cluster_mean(
    values: pd.Series, clusters: pd.Series, is_second: np.ndarray | None = None
) -> tuple[float, float, float]:
    """Return the mean of `values`, its CR2 error over clusters, and Satterthwaite's freedom.

    With `is_second` (bool per value) it is the mean of these minus that of the others. Bell and
    McCaffrey 2002, Survey Methodology 28:169-181. NaN if a side is one cluster.
    """
    codes, names = pd.factorize(np.asarray(clusters))
    values = np.asarray(values, dtype=float)
    sides = [np.ones(len(values), bool)] if is_second is None else [is_second, ~is_second]
    mean, scores, covariance = 0.0, np.zeros(len(names)), np.zeros((len(names),) * 2)
    for sign, side in zip((1, -1), sides, strict=False):
        n, own = side.sum(), codes[side]
        if not n:
            return (np.nan,) * 3
        share, middle = np.bincount(own, minlength=len(names)) / n, values[side].mean()
        with np.errstate(divide="ignore", invalid="ignore"):
            adjusted = 1 / np.sqrt(1 - share)
            scores += sign * adjusted * np.bincount(own, values[side] - middle, len(names)) / n
            apart = np.diag(share) - np.outer(share, share)
            covariance += apart * np.outer(adjusted, adjusted) / n
        mean += sign * middle
    if not np.isfinite(covariance).all():  # a cluster has all values of a side
        return float(mean), np.nan, np.nan
    freedom = np.trace(covariance) ** 2 / (covariance**2).sum()
    return float(mean), float(np.sqrt((scores**2).sum())), float(freedom)


def cluster_interval(values: pd.Series, clusters: pd.Series) -> tuple[float, float]:
    """Return the 95% t interval over clusters of a mean.

    (NaN, NaN) with one cluster, or if all have equal means.
    """
    mean, error, freedom = cluster_mean(values, clusters)
    return t_test(mean, [(error**2, freedom)])[:2]


def over_units(values: Sequence[float]) -> dict[str, float]:
    """Return n, estimate, low, high, sd and p (t test against 0) of one value per independent unit.

    `p_flips` is of `sign_flip_p`. NaN values are left out; low, high, p and p_flips are NaN with
    fewer than two values or equal ones.
    """
    known = pd.Series(values, dtype=float).dropna()
    n, mean, sd = len(known), known.mean(), known.std()
    low, high, p = t_test(mean, [(sd**2 / max(n, 1), n - 1)])
    flips = np.nan if np.isnan(p) else sign_flip_p(known.to_numpy())
    return {
        "n": n,
        "estimate": mean,
        "low": low,
        "high": high,
        "sd": sd,
        "p": p,
        "p_flips": flips,
    }


def share_interval(
    values: pd.Series, clusters: pd.Series, others: Iterable[tuple[float, float]] = ()
) -> tuple[float, float]:
    """Return the 95% interval over clusters of a share: Wilson's for the effective number.

    Korn and Graubard 1998, Survey Methodology 24:193-201. `others` has (variance, freedom) of
    further sources. (NaN, NaN) with one cluster.
    """
    values = np.asarray(values, dtype=float)
    mean, error, freedom = cluster_mean(values, clusters)
    if np.isnan(error):
        return np.nan, np.nan
    n, spread = len(values), max(0.0, mean * (1 - mean))
    each = 1 / n
    if np.ptp(values) > 1e-6:  # ROUGE's F of equal texts is 1 - 5e-9
        each = max(error**2, np.var(values, ddof=1) / n) / spread
    rarer = max(1.0, min(mean, 1 - mean) / each)
    alike = float((pd.Index(clusters).value_counts() ** 2).sum()) / n**2
    parts = [((rarer * each + alike) / (rarer + 1), freedom)]
    parts += [(variance / spread, degrees) for variance, degrees in others if spread > 1e-6]
    variance, freedom = satterthwaite(parts)
    return _ends(mean, float(stdtrit(freedom, 1 - ALPHA / 2)) ** 2 * variance)


def satterthwaite(parts: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Return the sum of variances and its degrees of freedom (1946, Biometrics Bull. 2:110-114)."""
    variances, degrees = np.array([*parts], dtype=float).T
    return float(variances.sum()), float(variances.sum() ** 2 / (variances**2 / degrees).sum())


def t_test(mean: float, parts: Iterable[tuple[float, float]]) -> tuple[float, float, float]:
    """Return the 95% interval of `mean` and its two-sided p against 0.

    `parts` has (variance, freedom) of independent sources. NaN if nothing varies.
    """
    parts = [*parts]
    if not sum(variance for variance, _ in parts) > ROUNDING**2:
        return (np.nan,) * 3
    variance, freedom = satterthwaite(parts)
    error = variance**0.5
    reach = float(stdtrit(freedom, 1 - ALPHA / 2)) * error
    return mean - reach, mean + reach, 2 * float(stdtr(freedom, -abs(mean) / error))


def sign_flip_p(values: np.ndarray) -> float:
    """Return the two-sided p of a sum of `values` over all 2^n patterns of their signs.

    Values are rounded to 1/20,000 of the largest (coarser above 200), so that equal sums can be
    counted together; a sum that rounding may have moved counts. 1 without a value but 0.
    """
    varied = values[np.abs(values) > ROUNDING]
    if not len(varied):
        return 1.0 if len(values) else np.nan
    steps = min(20_000, 4_000_000 // len(varied))
    whole = np.rint(steps * varied / np.abs(varied).max()).astype(int)
    unit = np.gcd.reduce(whole)
    shares = np.ones(1)  # of the patterns, by the sum of the values that are positive
    for size in np.abs(whole) // unit:
        shares = (np.pad(shares, (0, size)) + np.pad(shares, (size, 0))) / 2
    sums = np.abs(2 * np.arange(len(shares)) - len(shares) + 1) * unit
    return float(min(1.0, shares[sums >= abs(whole.sum()) - len(whole)].sum()))


def holm(p_values: pd.Series, n: int = 0) -> pd.Series:
    """Return Holm's p over the known ones, or over a family of `n`; NaN stays NaN."""
    known = p_values.astype(float).dropna().sort_values()
    n = n or len(known)
    adjusted = (known * np.arange(n, n - len(known), -1)).cummax().clip(upper=1)
    return adjusted.reindex(p_values.index)


def clusters_of(queries: Iterable[Query], facts: Iterable[Fact] = ()) -> dict[str, str]:
    """Map each query_id to its cluster: the product that it is about if facts are known, else
    its document. A query belongs to the entity of the facts that its span overlaps, or to the only
    entity of its document.
    """
    of_document, clusters = by_document(facts), {}
    for query in queries:
        known = of_document[query.document_id]
        met = [fact.entity for fact in known if fact.start < query.end and query.start < fact.end]
        entities = set(met or [fact.entity for fact in known])
        clusters[query.query_id] = entities.pop() if len(entities) == 1 else query.document_id
    return clusters


def by_seed(rows: pd.DataFrame, value: str) -> pd.DataFrame:
    """Return `value` by query_id, structure and cluster, with columns by arm and seed (dapt@2)."""
    names = pd.DataFrame([split_arm(arm) for arm in rows.arm], rows.index, ["arm", "seed"])
    query = ["query_id", "structure", "cluster"]
    return rows.assign(**names).pivot_table(value, query, ["arm", "seed"])


def has_one_seed(arms: Iterable[str], sizes: Iterable[int]) -> bool:
    """True if one of `arms`, with `sizes` seeds each, was trained once alone."""
    return any(n == 1 and is_trained(arm) for arm, n in zip(arms, sizes, strict=True))


def mean_of(seeds: pd.DataFrame, is_own: np.ndarray | None) -> pd.Series:
    """Return each seed's mean over the queries, or over those of `is_own` minus the others."""
    return seeds.mean() if is_own is None else seeds[is_own].mean() - seeds[~is_own].mean()


def _answered(rows: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    seeds = by_seed(rows.assign(correct=rows.verdict.eq("correct").astype(float)), "correct")
    return seeds, sorted_arms(seeds.columns.get_level_values("arm"))


def _of(seeds: pd.DataFrame, *structures: str) -> pd.DataFrame:
    if ALL in structures:
        return seeds
    return seeds[seeds.index.isin(structures, level="structure")]


def spread(rows: pd.DataFrame) -> pd.DataFrame:
    """Return accuracy by arm and structure over the arm's seeds (dapt, dapt@2, …): SPREAD."""
    seeds, arms = _answered(rows)
    found = []
    for arm, structure in product(arms, (*STRUCTURES, ALL)):
        own = _of(seeds, structure)[arm]
        values, each, clusters = own.mean(axis=1), own.mean(), own.index.get_level_values("cluster")
        sizes = len(values), clusters.nunique(), len(each)
        means = values.mean(), [*each.dropna()], each.std()
        ends = share_interval(values, clusters, _of_seeds(each))
        found.append((arm, structure, *sizes, *means, *ends))
    return pd.DataFrame(found, columns=SPREAD)


def _of_seeds(each: pd.Series) -> list[tuple[float, float]]:
    return [(each.std() ** 2 / len(each), len(each) - 1)] if each.std() > 0 else []


def paired(rows: pd.DataFrame) -> pd.DataFrame:
    """Compare all pairs of arms, each averaged over its seeds, by structure, in points.

    An unscored answer is not correct, as in Table 2. Then each structure's gain - that of prose,
    untested. Arms differ if Holm's p is at most 5% and the interval excludes 0.
    """
    seeds, arms = _answered(rows)
    cells = [(structure, "") for structure in (*STRUCTURES, ALL)]
    cells += [(structure, prose()) for structure in list(STRUCTURES)[1:]]
    found = [_difference(seeds, *pair, *cell) for pair in combinations(arms, 2) for cell in cells]
    table = pd.DataFrame(found, columns=PAIRED)
    table["p_holm"] = holm(table.p)
    holds_0 = table.low_points.le(0) & table.high_points.ge(0)
    return table.assign(differs=table.p_holm.le(ALPHA) & ~holds_0)


# The variances of queries and seeds add, which is conservative for crossed factors (Cameron,
# Gelbach and Miller 2011); with two seeds the interval covers 87%, so take three.
def _difference(
    seeds: pd.DataFrame, first: str, second: str, structure: str, beyond: str
) -> tuple[object, ...]:
    used, bound = 100 * _of(seeds, structure, beyond), 200 if beyond else 100
    clusters, sides = used.index.get_level_values("cluster"), (used[first], used[second])
    is_own = used.index.isin([structure], level="structure") if beyond else None
    each = [mean_of(side, is_own) for side in sides]
    change = sides[1].mean(axis=1) - sides[0].mean(axis=1)
    mean, error, freedom = cluster_mean(change, clusters, is_own)
    sizes = len(each[0]), len(each[1])
    is_one = has_one_seed((first, second), sizes)
    parts = [] if is_one else [part for one in each for part in _of_seeds(one)]
    low, high, _ = t_test(mean, [(error**2, freedom), *parts] if error > ROUNDING else [])
    name = f"{structure} – {beyond}" if beyond else structure
    counts = len(change), clusters.nunique(), *sizes, (change < 0).sum(), (change > 0).sum()
    p = np.nan if beyond else sign_flip_p(change.groupby(clusters).sum().to_numpy())
    return first, second, name, *counts, mean, max(low, -bound), min(high, bound), p
