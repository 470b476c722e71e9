"""Contrasts over independent units (bases, replicates): t, exact sign flips, Holm."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lib.analyze import stats
from lib.analyze.stats import t_over


def over_units(values: Sequence[float]) -> dict[str, float]:
    """Return `stats.t_over` of one value per unit, and p_flips, by exact sign flips.

    NaN values are left out. Interval and p are NaN for one unit, or if all units are equal.
    """
    found = t_over(values)
    if np.isnan(found["p"]):
        return found | {"p_flips": np.nan}
    return found | {"p_flips": exact_flips(pd.Series(values, dtype=float).dropna().to_numpy())}


def exact_flips(values: np.ndarray) -> float:
    """Return the two-sided p of a sum of `values` over all 2^n patterns of signs.

    Values are rounded to 1/20,000 of the largest, so that equal sums can be counted together; a
    sum that rounding may have moved below the observed one counts.
    """
    sizes = np.rint(20_000 * np.abs(values) / np.abs(values).max()).astype(int)
    shares = np.ones(1)  # of the patterns, by the sum of the values that are positive
    for size in sizes:
        shares = (np.pad(shares, (0, size)) + np.pad(shares, (size, 0))) / 2
    sums = 2 * np.arange(len(shares)) - sizes.sum()
    observed = abs((np.sign(values) * sizes).sum())
    return float(min(1.0, shares[np.abs(sums) >= observed - len(sizes)].sum()))


def holm(p_values: pd.Series) -> pd.Series:
    """Return Holm's p. A hypothesis without a p counts in the family, and stays without one."""
    adjusted = pd.Series(stats.holm(p_values.fillna(1.0)), p_values.index)
    return adjusted.where(p_values.notna())
