"""Contrasts over independent units (bases, replicates): t, exact sign flips, Holm."""

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd

from lib.analyze import stats
from lib.analyze.format import in_points
from lib.analyze.stats import ALPHA, t_over
from lib.core.errors import BadStudy

MOST_NAMED = 8  # hypotheses that are not found, in the answer


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


def summarize(
    table: pd.DataFrame, unit: str, primary: Sequence[str], levels: Collection[str] = ()
) -> pd.DataFrame:
    """Return one row per contrast of `table` (contrast, `unit`, points), the primary ones first.

    Holm's p is over the primary contrasts; the others are exploratory. `levels` names accuracies,
    which are not tested against 0. Raises BadStudy for an unknown primary contrast.
    """
    known = list(dict.fromkeys(table.contrast))
    if unknown := [name for name in primary if name not in known]:
        raise BadStudy(
            f"primary: {unknown[0]!r} is not a contrast; choose among {', '.join(known)}"
        )
    found = []
    for name in dict.fromkeys([*primary, *known]):
        each = over_units(table.points[table.contrast == name])
        if name in levels:
            each |= {"p": np.nan, "p_flips": np.nan}
        found.append({"contrast": name, "is_primary": name in primary, **each})
    summary = pd.DataFrame(found).rename(columns={"n": f"{unit}s", "estimate": "mean"})
    numbers = ["mean", "sd", "low", "high", "p", "p_flips"]
    summary = summary[["contrast", "is_primary", f"{unit}s", *numbers]]
    return summary.assign(p_holm=holm(summary.p[summary.is_primary]))


def answer(summary: pd.DataFrame, unit: str) -> str:
    """Answer from `summarize` in two sentences: which hypotheses are found, and how."""
    primary = summary[summary.is_primary]
    is_found = primary.p_holm <= ALPHA
    found, others = (
        "; ".join(
            f"{row.contrast} {in_points(row.mean, row.low, row.high)}"
            for row in primary[rows].itertuples()
        )
        for rows in (is_found, ~is_found)
    )
    if (~is_found).sum() > MOST_NAMED:
        others = f"the other {(~is_found).sum()}"
    n = int(primary[f"{unit}s"].max())
    return (
        f"Over {n} {unit}{'s' * (n != 1)}, found: {found or 'nothing'}; not shown: "
        f"{others or 'nothing'}. Numbers are points with 95% intervals (Student's t, one value "
        f"per {unit}), and found means that Holm's p over {len(primary)} hypotheses is at most "
        f"{ALPHA:.0%}.\n"
    )
