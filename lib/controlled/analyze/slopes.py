"""Estimate accuracy by the number of paraphrases, and on facts without question in training."""

import numpy as np
import pandas as pd

from lib.controlled.analyze.bases import ESTIMATE, estimated, over_bases
from lib.controlled.analyze.rows import matched, sorted_structures
from lib.core.arms import ALL

SLOPES = ["structure", "arms", "n", "bases", "estimate", "low", "high", "sd_bases", "interval",
          "p", "each"]
UNPAIRED = ["arm", "first", "structure", *ESTIMATE, "p", "left_out"]


def slopes(rows: pd.DataFrame, prefix: str = "paraphrase-",
           reference: str = "natural") -> pd.DataFrame:
    """Return the slope of strict accuracy over the arms <prefix>k, in points per doubling of k.

    One row per structure and "all", columns SLOPES. Each base has one slope, by least squares over
    its arms' accuracies (`each`, in the order of the bases); the estimate is their mean, with
    interval and p (uncorrected) over bases. A base with fewer than two arms has no slope.
    """
    names = rows.arm.str.removeprefix(prefix).where(rows.arm.str.startswith(prefix))
    copies = pd.to_numeric(names, errors="coerce")
    rows, found = rows[copies > 0].assign(doublings=np.log2(copies[copies > 0])), []
    for structure in (*sorted_structures(rows.structure, reference), ALL):
        cells = rows[(rows.structure == structure) | (structure == ALL)]
        each = pd.Series([_slope(base) for _, base in cells.groupby("seed")], dtype=float)
        found.append({"structure": structure, "arms": cells.arm.nunique(),
                      "n": cells.fact_id.nunique(), **over_bases(each), "each": each.tolist()})
    return pd.DataFrame(found, columns=SLOPES)


def _slope(base: pd.DataFrame) -> float:
    """Return the least-squares slope over a base's arms, in points; NaN with one arm."""
    points = 100 * base.correct.astype(float).groupby(base.doublings).mean()
    return float(np.polyfit(points.index, points, 1)[0]) if len(points) > 1 else np.nan


def unpaired(rows: pd.DataFrame, first: str = "raw-2x", reference: str = "natural") -> pd.DataFrame:
    """Return arms minus `first`, in points, on facts whose question was not in an arm's training.

    Of each arm that has rows with has_pair True, those with has_pair False are compared. The table
    is empty without the column. One row per arm and structure, and "all", columns UNPAIRED; p is
    uncorrected.
    """
    flags = rows.get("has_pair", pd.Series(None, rows.index, dtype=object))
    arms = sorted(set(rows.arm[flags.eq(True)]) - {first})
    found, rows = [], rows[flags.eq(False) | (rows.arm == first)]
    for arm in arms:
        pairs, left_out = matched(rows, arm, first)
        for structure in (*sorted_structures(pairs.structure, reference), ALL):
            cells = pairs[(pairs.structure == structure) | (structure == ALL)]
            found.append({"arm": arm, "first": first, "structure": structure, **estimated(cells),
                          "left_out": left_out if structure == ALL else 0})
    return pd.DataFrame(found, columns=UNPAIRED)
