"""Compute intervals and tests that analyses share: Wilson, cluster bootstrap, McNemar, Holm."""

import numpy as np
import pandas as pd
from scipy.stats import bootstrap
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import proportion_confint

ALPHA = 0.05  # two-sided
LEAST_ADDED = 1.0  # percent of tokens; below it, the gain per percent is a large, meaningless ratio


def wilson(count, n) -> tuple:
    """Return the Wilson 95% interval of count / n as fractions in [0, 1]; arrays give arrays.

    NaN if n is 0. At 0 and 1 the floating-point formula misses its bound by 1e-17; this is
    corrected, so the interval always contains the share.
    """
    count, n = np.asarray(count, dtype=float), np.asarray(n, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = proportion_confint(count, n, method="wilson")
        share = count / n
    low, high = np.clip(np.minimum(low, share), 0, 1), np.clip(np.maximum(high, share), 0, 1)
    return (float(low), float(high)) if count.ndim == n.ndim == 0 else (low, high)


def cluster_interval(values: pd.Series, clusters: pd.Series, *, resamples: int = 9999,
                     seed: int = 17) -> tuple[float, float]:
    """Return the 95% BCa interval of the mean of `values`, resampling entire clusters (scipy).

    A resample's mean is the sum over its clusters divided by their number of values, so large
    clusters count as they do in the mean. (NaN, NaN) if the resamples cannot vary, because
    there is one cluster or all clusters have equal means.
    """
    groups = values.groupby(clusters.to_numpy())
    totals, sizes = groups.sum().to_numpy(float), groups.size().to_numpy(float)
    if len(sizes) < 2 or np.allclose(totals / sizes, totals.sum() / sizes.sum()):
        return float("nan"), float("nan")
    result = bootstrap((totals, sizes), lambda total, size, axis: total.sum(axis) / size.sum(axis),
                       paired=True, vectorized=True, n_resamples=resamples, method="BCa",
                       rng=np.random.default_rng(seed))
    return float(result.confidence_interval.low), float(result.confidence_interval.high)


def exact_p(only_first: int, only_second: int) -> float:
    """Return the two-sided p of the exact McNemar test."""
    return float(mcnemar([[0, only_first], [only_second, 0]], exact=True).pvalue)


def smallest_p(discordant: int) -> float:
    """Return McNemar's p if all discordant pairs go one way: 2 / 2^discordant, at most 1."""
    return exact_p(0, discordant)


def holm(p_values) -> np.ndarray:
    """Return p values after Holm's correction over the known ones; NaN stays NaN.

    Holm (1979), Scandinavian J. of Statistics 6:65-70, as in statsmodels' multipletests, which
    spends 0.1 to 0.5 s per family of tests on garbage collection.
    """
    p_values = np.asarray(p_values, dtype=float)
    known = np.argsort(p_values)[:(~np.isnan(p_values)).sum()]  # ascending; NaN is last
    adjusted = np.full_like(p_values, np.nan)
    steps = p_values[known] * np.arange(len(known), 0, -1)
    adjusted[known] = np.minimum(np.maximum.accumulate(steps), 1)
    return adjusted
