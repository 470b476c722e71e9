"""Compute intervals and tests that analyses share: over clusters, Wilson, sign flips, Holm."""

from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit  # scipy.stats takes five times as long to import

ALPHA = 0.05  # two-sided
ROUNDING = 1e-9  # a smaller standard error or sum counts as 0
LEAST_FLIPS = 6  # clusters; the least two-sided p of n sign flips is 2 ** (1 - n)
LEAST_CLUSTERS = 8  # of an interval that informs: with 5 it is 49 points wide, at nominal coverage
TOO_FEW = "too few documents to tell"


def wilson(count: float, n: int) -> tuple[float, float]:
    """Return the Wilson 95% interval of count / n as fractions; NaN if n is 0."""
    from statsmodels.stats.proportion import proportion_confint  # slow to import

    if not n:
        return float("nan"), float("nan")
    low, high = proportion_confint(count, n, method="wilson")
    # rounding may move an end past the share
    return max(0.0, min(float(low), count / n)), min(1.0, max(float(high), count / n))


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
        if not side.any():
            return (float("nan"),) * 3
        sizes = np.bincount(codes[side], minlength=len(names))
        share, own = sizes / sizes.sum(), values[side].mean()
        with np.errstate(divide="ignore", invalid="ignore"):
            adjusted = 1 / np.sqrt(1 - share)
            scores += (
                sign
                * adjusted
                * np.bincount(codes[side], values[side] - own, len(names))
                / sizes.sum()
            )
            covariance += (
                (np.diag(share) - np.outer(share, share))
                * np.outer(adjusted, adjusted)
                / sizes.sum()
            )
        mean += sign * own
    if not np.isfinite(covariance).all():  # a cluster has all values of a side
        return float(mean), float("nan"), float("nan")
    freedom = np.trace(covariance) ** 2 / (covariance**2).sum()
    return float(mean), float(np.sqrt((scores**2).sum())), float(freedom)


def cluster_interval(
    values: pd.Series, clusters: pd.Series, bound: float = np.inf
) -> tuple[float, float]:
    """Return the 95% t interval over clusters of a mean, clipped to -bound ... bound.

    (NaN, NaN) with one cluster, or if all have equal means.
    """
    mean, error, freedom = cluster_mean(values, clusters)
    if not error > ROUNDING:
        return float("nan"), float("nan")
    reach = float(stdtrit(freedom, 1 - ALPHA / 2)) * error
    return max(-bound, mean - reach), min(bound, mean + reach)


def t_over(values) -> dict[str, float]:
    """Return n, estimate, low, high, sd and p of independent `values` (t test against 0).

    NaN values are left out; low, high and p are NaN with fewer than two values or equal ones.
    """
    values = np.asarray(values, dtype=float)
    values = values[~np.isnan(values)]
    found = {"n": len(values), "estimate": values.mean() if len(values) else np.nan}
    found |= dict.fromkeys(("low", "high", "sd", "p"), np.nan)
    if len(values) < 2:
        return found
    found["sd"] = float(values.std(ddof=1))
    if found["sd"] < ROUNDING:
        return found
    from scipy.stats import ttest_1samp  # slow to import

    test = ttest_1samp(values, 0)
    low, high = test.confidence_interval(1 - ALPHA)
    return found | {"low": float(low), "high": float(high), "p": float(test.pvalue)}


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
        return float("nan"), float("nan")
    n, spread = len(values), max(0.0, mean * (1 - mean))
    each = 1 / n
    if np.ptp(values) > 1e-6:  # ROUGE's F of equal texts is 1 - 5e-9
        each = max(error**2, np.var(values, ddof=1) / n) / spread
    rarer = max(1.0, min(mean, 1 - mean) / each)
    alike = float((np.unique(np.asarray(clusters), return_counts=True)[1] ** 2).sum()) / n**2
    parts = [((rarer * each + alike) / (rarer + 1), freedom)]
    parts += [(variance / spread, degrees) for variance, degrees in others if spread > 1e-6]
    variance, freedom = satterthwaite(parts)
    z2 = float(stdtrit(freedom, 1 - ALPHA / 2)) ** 2 * variance
    middle, reach = mean + z2 / 2, (z2 * spread + z2**2 / 4) ** 0.5
    return (
        float(np.clip((middle - reach) / (1 + z2), 0, mean)),
        float(np.clip((middle + reach) / (1 + z2), mean, 1)),
    )


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
        return (float("nan"),) * 3
    variance, freedom = satterthwaite(parts)
    error = variance**0.5
    reach = float(stdtrit(freedom, 1 - ALPHA / 2)) * error
    return mean - reach, mean + reach, 2 * float(stdtr(freedom, -abs(mean) / error))


def sign_flip_p(
    differences: pd.Series, clusters: pd.Series, *, draws: int = 9999, seed: int = 17
) -> float:
    """Return the two-sided p of a mean difference, flipping the signs of whole clusters.

    Exact if fewer sign patterns than `draws`; 1 if no cluster differs, NaN without a value.
    """
    from scipy.stats import permutation_test  # slow to import, and many notebooks need no test

    sums = differences.groupby(np.asarray(clusters)).sum().to_numpy(float)
    varied = sums[np.abs(sums) > ROUNDING]
    if len(varied) < 2:
        return 1.0 if len(sums) else float("nan")
    return float(
        permutation_test(
            (varied,),
            lambda values, axis: values.sum(axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=draws,
            rng=np.random.default_rng(seed),
        ).pvalue
    )


def holm(p_values) -> np.ndarray:
    """Return p values after Holm's correction over the known ones; NaN stays NaN."""
    from statsmodels.stats.multitest import multipletests  # slow to import

    p_values = np.asarray(p_values, dtype=float)
    known, adjusted = ~np.isnan(p_values), np.full_like(p_values, np.nan)
    if known.any():
        adjusted[known] = multipletests(p_values[known], method="holm")[1]
    return adjusted
