"""Effects of added texts: slopes in paraphrases, facts without a pair, gain and price."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lib.controlled.analyze.contrasts import each_base, estimated, level
from lib.controlled.analyze.rows import matched, sorted_structures
from lib.core.arms import ALL

TRANSFER = ("pairs - raw-2x",)  # arms compared on facts without a pair


def slopes(rows: pd.DataFrame, prefix: str = "paraphrase-") -> pd.DataFrame:
    """Return the slope of strict accuracy over the arms <prefix>k, in points per doubling of k.

    One row per structure and base, by least squares over the base's arms; a base with fewer than
    two arms has no slope.
    """
    names = rows.arm.str.removeprefix(prefix).where(rows.arm.str.startswith(prefix))
    copies = pd.to_numeric(names, errors="coerce")
    rows = rows[copies > 0].assign(doublings=np.log2(copies[copies > 0]))
    return pd.DataFrame([
        {"contrast": f"points per doubling of paraphrases, {structure}", "base": base,
         "n": cells.fact_id.nunique(), "points": _slope(cells)}
        for structure in sorted_structures(rows.structure)
        for base, cells in rows[rows.structure == structure].groupby("seed")],
        columns=["contrast", "base", "n", "points"])


def _slope(base: pd.DataFrame) -> float:
    points = 100 * base.correct.astype(float).groupby(base.doublings).mean()
    return float(np.polyfit(points.index, points, 1)[0]) if len(points) > 1 else np.nan


def hypotheses(rows: pd.DataFrame, transfer: Sequence[str] = TRANSFER) -> pd.DataFrame:
    """Return each base's value of the primary contrasts: slopes, then `transfer`.

    Those in `transfer` are over facts without a pair (see rows.pairs_of). Raises BadStudy if one of
    their arms was not run.
    """
    compared = each_base(rows, transfer)
    return pd.concat([slopes(rows), compared.assign(
        contrast=compared.contrast + ", facts without a pair")], ignore_index=True)


def augmentations(rows: pd.DataFrame, first: str = "raw-2x") -> pd.DataFrame:
    """Return each arm's accuracy by structure and "all", in percent over bases, with its price.

    unpaired_… is on the facts that have no pair in any arm, gain_… over `first`; the price is
    tokens and retained_percent, the share of public questions still answered.
    """
    found = []
    for arm in rows.arm.unique():
        own = rows[rows.arm == arm]
        pairs = matched(rows, arm, first)[0]
        price = own.groupby("seed")[["run_tokens", "trained_tokens", "retained"]].first().mean()
        for structure in (*sorted_structures(own.structure), ALL):
            cells, gains = (table[(table.structure == structure) | (structure == ALL)]
                            for table in (own, pairs))
            gained, left = estimated(gains), level(cells[~cells.has_pair.astype(bool)])
            found.append({
                "arm": arm, "structure": structure, **level(cells),
                "unpaired_percent": left["estimate"], "unpaired_low": left["low"],
                "unpaired_high": left["high"], "gain_points": gained["estimate"],
                "gain_low": gained["low"], "gain_high": gained["high"],
                "text_tokens": price.run_tokens,
                "trained_tokens": price.trained_tokens,
                "retained_percent": 100 * price.retained,
                "overlap_percent": 100 * cells.question_overlap.mean()})
    return pd.DataFrame(found)
