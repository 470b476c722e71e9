"""Estimate over bases, with one value per base, and decide with Holm what is found (paper, 5.1).

The base is what is repeated: its products, facts, weights and trainings share their chance
variation, so only the bases' values are independent.
"""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from scipy.stats import t

from lib.analyze.stats import ALPHA, holm, t_over
from lib.controlled.analyze.rows import pairs_of

ESTIMATE = ["n", "clusters", "bases", "pairs", "estimate", "low", "high", "sd_bases", "interval"]
DECISION = ["p", "p_holm", "family", "hypotheses", "low_holm", "high_holm", "found"]
OVER_BASES, NONE = "bases", "none: "
PRIMARY, EXPLORATORY = "primary", "exploratory"


def over_bases(values: pd.Series) -> dict:
    """Return the mean of the bases' values with its 95% interval and p (Student's t, scipy).

    `values` has one number per base; NaN is left out. Keys: bases, estimate, low, high, sd_bases,
    interval, p (two-sided, against 0). With one base, or if the bases do not differ, there is no
    interval and no p; `interval` says why.
    """
    found = t_over(values)
    n, deviation = found.pop("n"), found.pop("sd")
    reason = ("no rows" if not n else "one base" if n == 1 else "the bases do not differ")
    return found | {"bases": n, "sd_bases": deviation,
                    "interval": OVER_BASES if found["low"] == found["low"] else NONE + reason}


def estimated(pairs: pd.DataFrame, scale: float = 100.0, column: str = "difference") -> dict:
    """Return `over_bases` of each base's mean of `column`, times `scale`; also n, clusters, pairs.

    n counts facts and clusters products, both over all bases.
    """
    return {"n": pairs.fact_id.nunique(), "clusters": pairs["product"].nunique(),
            "pairs": len(pairs), **over_bases(scale * _by_base(pairs, column))}


def mean_of(pairs: pd.DataFrame, column: str, scale: float = 100.0) -> float:
    """Return the mean over bases of each base's mean of `column`, times `scale`."""
    return float(scale * _by_base(pairs, column).mean())


def _by_base(pairs: pd.DataFrame, column: str) -> pd.Series:
    return pairs[column].astype(float).groupby(pairs.seed).mean()


def share(rows: pd.DataFrame, column: str = "correct") -> dict:
    """Return `estimated` for a share in percent; the interval is clipped to 0 and 100."""
    found = estimated(rows, 100.0, column)
    return found | {end: float(np.clip(found[end], 0, 100)) for end in ("low", "high")}


def primary_p(rows: pd.DataFrame, primary: Iterable[str]) -> dict[str, float]:
    """Map each primary contrast to its p. Raises ValueError as rows.pairs_of does."""
    return {name: estimated(pairs_of(rows, name))["p"] for name in primary}


def decided(table: pd.DataFrame, families: Iterable[str],
            primary: Mapping[str, float] | None = None) -> pd.DataFrame:
    """Return `table` with Holm's correction and the verdict `found`; columns DECISION.

    `table` has contrast (unique names), estimate, sd_bases, bases and p. `primary` maps the names
    of the study's hypotheses to their p, including those of other tables: Holm's correction is over
    exactly these, and all other rows are exploratory, with an uncorrected p, and never found. If
    `primary` is empty, the correction is within each of `families` (one label per row).

    Holm's method tests the smallest of m p values at ALPHA / m, the next at ALPHA / (m - 1) and so
    on, until one fails. A hypothesis whose p has k values at least as large (its own included) is
    tested at ALPHA / k, so the interval that goes with it has the level 1 - ALPHA / k: low_holm and
    high_holm. A contrast is found if p_holm <= ALPHA and this interval excludes 0. Both come from
    one t distribution and agree at each step; p_holm also requires that all earlier steps passed. A
    hypothesis without a p (one base) counts among the m and is not found.
    """
    family = (np.where(table.contrast.isin(list(primary)), PRIMARY, EXPLORATORY) if primary
              else list(families))
    table = table.assign(family=family, p=table.p.astype(float)).set_index("contrast", drop=False)
    left = pd.Series(np.nan, table.index)
    table["p_holm"], table["hypotheses"] = np.nan, 0
    for name, own in table[table.family != EXPLORATORY].groupby("family"):
        known = pd.Series(primary or own.p, dtype=float)
        every = known.fillna(1.0)
        adjusted = pd.Series(holm(every), every.index).where(known.notna())
        is_own = table.family == name
        table.loc[is_own, "p_holm"] = adjusted[own.index]
        table.loc[is_own, "hypotheses"] = len(every)
        left[own.index] = [float((every >= p).sum()) for p in every[own.index]]
    reach = (t.ppf(1 - ALPHA / left / 2, (table.bases - 1).clip(lower=1)) * table.sd_bases
             / np.sqrt(table.bases.clip(lower=1))).where(table.p_holm.notna())
    table["low_holm"], table["high_holm"] = table.estimate - reach, table.estimate + reach
    is_apart = (table.low_holm > 0) | (table.high_holm < 0)
    return table.assign(found=(table.p_holm <= ALPHA) & is_apart).reset_index(drop=True)


def each_base(rows: pd.DataFrame, contrasts: Iterable[str]) -> pd.DataFrame:
    """Return one row per contrast (see rows.pairs_of) and base: contrast, base, n pairs, points."""
    found = []
    for name in contrasts:
        cells = pairs_of(rows, name).groupby("seed").difference
        found += [{"contrast": name, "base": base, "n": len(each), "points": 100 * each.mean()}
                  for base, each in cells]
    return pd.DataFrame(found, columns=["contrast", "base", "n", "points"])
