"""Check that the analysis finds planted effects, and finds none among shuffled labels.

Shuffled labels check the test and its interval. Effects are planted in the answers, with a known
size, and in training (arm planted-…); they are found by the rule for all contrasts.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy.stats import ttest_1samp

from lib.analyze.stats import ALPHA, ROUNDING, wilson
from lib.controlled.analyze.bases import (
    DECISION,
    ESTIMATE,
    decided,
    estimated,
    over_bases,
    primary_p,
)
from lib.controlled.analyze.rows import MEASURES, matched, sorted_structures, within_fact
from lib.controlled.design.arms import RAW

SHUFFLED = ["structure", "reference", *ESTIMATE, "p", "shuffles", "p_below", "p_below_low",
            "p_below_high"]
KNOWN = ["contrast", "structure", "reference", "planted_points", *ESTIMATE, *DECISION, "is_held"]
PLANTED = ["contrast", "arm", "structure", *ESTIMATE, "gain_planted", "gain_others", "left_out",
           *DECISION]


def swapped(pairs: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Exchange the two labels of about half of the products of each base, with all their facts."""
    products = pairs.groupby(["seed", "product"]).ngroup()
    is_swapped = (rng.random(products.max() + 1) < 0.5)[products]
    first, second = pairs["first"], pairs.second
    return pairs.assign(first=first.where(~is_swapped, second),
                        second=second.where(~is_swapped, first),
                        difference=pairs.difference.where(~is_swapped, -pairs.difference))


def _swappable(rows: pd.DataFrame, reference: str) -> dict[str, pd.DataFrame]:
    """Map the structures of `raw` to their pairs; {} with one base, which has no test."""
    raw = rows[rows.arm == RAW]
    each = {name: within_fact(raw, MEASURES["correct"], name, reference)[0]
            for name in sorted_structures(raw.structure, reference)[1:]}
    return {name: pairs for name, pairs in each.items() if pairs.seed.nunique() > 1}


def shuffled_control(rows: pd.DataFrame, reference: str = "natural", *, shuffles: int = 2000,
                     seed: int = 17) -> pd.DataFrame:
    """Return contrasts of strict accuracy with labels shuffled within base, hence without effect.

    One row per structure, columns SHUFFLED. Estimate, interval and p are those of the first
    shuffle. p_below counts p <= ALPHA over all shuffles, which is also the number of 95% intervals
    without 0: about 5%, with its Wilson interval (fractions). An effect that varies between bases
    is not in the shuffles, so they cannot test that part of the interval. Empty with one base.
    """
    found, rng = [], np.random.default_rng(seed)
    for structure, pairs in _swappable(rows, reference).items():
        sums = pairs.groupby(["seed", "product"]).difference.sum()
        signs = rng.choice([-1, 1], (len(sums), shuffles))  # -1: the product's labels exchanged
        totals = pd.DataFrame(signs * sums.to_numpy()[:, None], sums.index).groupby("seed").sum()
        values = 100 * totals.div(pairs.groupby("seed").size(), axis=0)
        varying = values.loc[:, values.std() > ROUNDING]  # the others have no p
        below = int((ttest_1samp(varying, 0).pvalue <= ALPHA).sum())
        low, high = wilson(below, shuffles)
        found.append({"structure": structure, "reference": reference, **estimated(pairs),
                      **over_bases(values[0]),
                      "shuffles": shuffles, "p_below": below, "p_below_low": low,
                      "p_below_high": high})
    return pd.DataFrame(found, columns=SHUFFLED)


def known_effect(rows: pd.DataFrame, reference: str = "natural", *, primary: Iterable[str] = (),
                 points: float = 10.0, seed: int = 17) -> pd.DataFrame:
    """Return contrasts after planting an effect of known size in a structure; columns KNOWN.

    The labels are shuffled once within base, which removes any effect. Then wrong answers in the
    structure are made correct until its accuracy has risen by `points` (by less if too few are
    wrong: see planted_points). There is one row for each of the first two structures. is_held says
    whether the interval includes the planted effect. The rows are decided as further hypotheses of
    the `primary` family. The estimate includes chance effects of the shuffle. Empty with one base.
    """
    found, rng = [], np.random.default_rng(seed)
    for structure, pairs in list(_swappable(rows, reference).items())[:2]:
        pairs = swapped(pairs, rng)
        wrong = pairs.index[pairs.second == 0]
        n = min(round(points / 100 * len(pairs)), len(wrong))
        pairs.loc[rng.choice(wrong, n, replace=False), "second"] = 1.0
        size = 100 * n / len(pairs)
        row = estimated(pairs.assign(difference=pairs.second - pairs["first"]))
        found.append({"contrast": f"known {structure} - {reference}", "structure": structure,
                      "reference": reference, "planted_points": size, **row,
                      "is_held": bool(row["low"] <= size <= row["high"])})
    return _further(pd.DataFrame(found, columns=KNOWN), rows, primary)


def planted_control(rows: pd.DataFrame, *, primary: Iterable[str] = ()) -> pd.DataFrame:
    """Return, for each arm planted-…, whether the effect of repeating a structure's sections shows.

    Columns PLANTED. The estimate, in points, is the mean over bases of the gain over `raw` on facts
    in that structure minus the gain on the others, in the same rotation. left_out counts the arm's
    outcomes without `raw`. The rows are decided as further hypotheses of the `primary` family; an
    effect in the wrong direction is not found.
    """
    found = []
    for arm in sorted(name for name in rows.arm.unique() if name.startswith("planted")):
        structure = arm.removeprefix("planted").lstrip("-") or "tabular"
        pairs, left_out = matched(rows, arm)
        pairs["side"] = (pairs.structure == structure).map({True: "planted", False: "others"})
        means = pairs.pivot_table(values="difference", index="seed", columns="side")
        means = means.reindex(columns=["planted", "others"]).dropna()
        gains = means.planted - means.others
        both = pairs[pairs.seed.isin(means.index)]
        row = estimated(both.assign(difference=both.seed.map(gains)))  # constant within a base
        found.append({"contrast": f"{arm}: {structure} - others", "arm": arm,
                      "structure": structure, **row,
                      "gain_planted": 100 * means.planted.mean(),
                      "gain_others": 100 * means.others.mean(), "left_out": left_out})
    table = _further(pd.DataFrame(found, columns=PLANTED), rows, primary)
    return table.assign(found=table.found & (table.estimate > 0))


def _further(table: pd.DataFrame, rows: pd.DataFrame, primary: Iterable[str]) -> pd.DataFrame:
    """Decide a table as further hypotheses of the primary family; without one, on its own."""
    others = primary_p(rows, primary)
    own = dict(zip(table.contrast, table.p, strict=True))
    return decided(table, ["control"] * len(table), {**others, **own} if others else {})
