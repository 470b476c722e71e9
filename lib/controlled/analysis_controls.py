"""Whether the analysis finds nothing where nothing is (shuffled labels), and what is there (a planted effect)."""

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from lib.controlled.analysis_rows import ESTIMATE, MEASURES, RAW, estimated, in_order_of_structure
from lib.controlled.interventions_table import matched
from lib.controlled.permutation import dealt_p, sign_flip_p, square
from lib.paired import ALPHA, in_points, p_text

SHUFFLED = ["structure", "reference", *ESTIMATE, "p", "shuffles", "p_below", "p_below_low", "p_below_high",
            "intervals_without_0"]
PLANTED = ["arm", "structure", *ESTIMATE, "gain_planted", "gain_others", "left_out", "p", "is_found"]


def shuffled_control(rows: pd.DataFrame, reference: str = "natural", *, arm: str = RAW, shuffles: int = 200,
                     draws: int = 999, seed: int = 17) -> pd.DataFrame:
    """The contrasts of strict accuracy where the structures are dealt anew, so that there is no effect to find.

    One row a structure, columns SHUFFLED: the estimate, interval and p of the first shuffle; of all shuffles, how many
    have p < 0.05 (about 5% should; its Wilson interval beside it, fractions) and how many intervals leave out 0.
    Empty where the arm's rotations are not complete, as nothing can be dealt anew then.
    """
    rows, measure = rows[rows.arm == arm], MEASURES["correct"]
    try:
        whole = square(rows, measure)
    except ValueError:  # a rotation is missing
        return pd.DataFrame(columns=SHUFFLED)
    found, rng, k = [], np.random.default_rng(seed), len(whole.cycle)
    dealt = [rng.permutation(whole.offsets) for _ in range(shuffles)]
    for structure in in_order_of_structure(rows.structure, reference)[1:]:
        totals, each = whole.totals(structure, reference), []
        for offsets in dealt:
            shifts = (offsets - whole.offsets) % k
            pairs = whole.pairs.assign(difference=whole.differences(structure, reference, shifts[whole.units]))
            moved = np.stack([np.roll(row, -shift) for row, shift in zip(totals, shifts, strict=True)])
            each.append(estimated(pairs, measure.scale) | {"p": dealt_p(moved, offsets, draws, rng)})
        found.append({"structure": structure, "reference": reference, **each[0], **_counted(each)})
    return pd.DataFrame(found, columns=SHUFFLED)


def _counted(each: list[dict]) -> dict:
    below = sum(one["p"] < ALPHA for one in each)
    low, high = proportion_confint(below, len(each), method="wilson")
    return {"shuffles": len(each), "p_below": below, "p_below_low": low, "p_below_high": high,
            "intervals_without_0": sum(one["low"] > 0 or one["high"] < 0 for one in each)}


def planted_control(rows: pd.DataFrame, *, draws: int = 9999, seed: int = 17) -> pd.DataFrame:
    """Whether repeating one structure's sections is found: one row an arm planted-<structure>; columns PLANTED.

    The estimate, in points, is the gain over `raw` on facts in that structure less the gain on the others, product by
    product, same rotation and seed; products without both are left out. It is found where the interval is above 0.
    """
    found = []
    for arm in sorted(name for name in rows.arm.unique() if name.startswith("planted")):
        structure = arm.removeprefix("planted").lstrip("-") or "tabular"
        pairs, _ = matched(rows, arm)
        is_planted = (pairs.structure == structure).map({True: "planted", False: "others"})
        cells = pairs.groupby(["product", "seed", is_planted]).difference.mean().unstack()
        cells = cells.reindex(columns=["planted", "others"])
        both = cells.dropna().reset_index().assign(fact_id=lambda each: each["product"])
        both["difference"] = both.planted - both.others
        row = {"arm": arm, "structure": structure, **estimated(both, 100.0), "left_out": len(cells) - len(both),
               "gain_planted": 100 * both.planted.mean(), "gain_others": 100 * both.others.mean(),
               "p": sign_flip_p(both.difference, both["product"], draws=draws, seed=seed)}
        found.append(row | {"is_found": bool(row["low"] > 0)})
    return pd.DataFrame(found, columns=PLANTED)


def shuffled_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """`shuffled_control` as text, a row a structure."""
    return pd.DataFrame([{
        "shuffled labels": f"{row.structure} – {row.reference}",
        "one shuffle, points [95%]": in_points(row.estimate, row.low, row.high), "its p": p_text(row.p),
        f"shuffles with p < {ALPHA}": f"{row.p_below} of {row.shuffles} = {row.p_below / row.shuffles:.1%} "
                                      f"[{row.p_below_low:.1%}, {row.p_below_high:.1%}]",
        "intervals without 0": f"{row.intervals_without_0} of {row.shuffles}"} for row in table.itertuples()],
        columns=None if len(table) else ["shuffled labels"])


def planted_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """`planted_control` as text, a row an arm."""
    return pd.DataFrame([{
        "planted arm": row.arm, "products, seeds": f"{row.clusters}, {row.seeds}"
        + (f"; {row.left_out} left out" if row.left_out else ""),
        "gain on the planted structure, points": f"{row.gain_planted:+.1f}",
        "gain on the others, points": f"{row.gain_others:+.1f}",
        "difference [95%]": in_points(row.estimate, row.low, row.high), "the interval holds": row.interval,
        "p": p_text(row.p), "found": "yes" if row.is_found else "NO"} for row in table.itertuples()],
        columns=None if len(table) else ["planted arm"])
