"""Whether the analysis finds nothing where nothing is (shuffled labels), and what is there (planted effects).

Shuffled labels check the code and the width of the interval: their p is uniform by construction. That an effect is
found is checked twice: of known size among the answers, through `contrasts`; and trained, by the arm planted-….
"""

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from lib.analyze.format import in_points, p_value
from lib.analyze.statistics.seeds import BOTH
from lib.analyze.stats import ALPHA
from lib.controlled.analyze.contrasts import contrasts, is_found
from lib.controlled.analyze.interventions import matched
from lib.controlled.analyze.permutation import dealt_p, sign_flip_p, square
from lib.controlled.analyze.rows import ESTIMATE, MEASURES, RAW, estimated, in_order_of_structure

SHUFFLED = ["structure", "reference", *ESTIMATE, "p", "shuffles", "p_below", "p_below_low", "p_below_high",
            "intervals_without_0", "without_0_low", "without_0_high"]
KNOWN = ["structure", "reference", "planted_points", *ESTIMATE, "p", "p_holm", "is_held", "is_found"]
PLANTED = ["arm", "structure", *ESTIMATE, "gain_planted", "gain_others", "left_out", "p", "is_found"]


def shuffled_control(rows: pd.DataFrame, reference: str = "natural", *, arm: str = RAW, shuffles: int = 200,
                     draws: int = 999, seed: int = 17) -> pd.DataFrame:
    """The contrasts of strict accuracy where the structures are dealt anew, so that there is no effect to find.

    One row a structure, columns SHUFFLED: the estimate, interval and p of the first shuffle; of all shuffles, how many
    have p < 0.05 (about 5% should) and how many intervals leave out 0 (at most about 5%), each count with its Wilson
    interval (fractions). A real effect is in the shuffles as a difference between products, which widens them. Empty
    where the arm's rotations are not complete, as nothing can be dealt anew then.
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
    without = sum(one["low"] > 0 or one["high"] < 0 for one in each)
    ends, without_ends = (proportion_confint(count, len(each), method="wilson") for count in (below, without))
    return {"shuffles": len(each), "p_below": below, "p_below_low": ends[0], "p_below_high": ends[1],
            "intervals_without_0": without, "without_0_low": without_ends[0], "without_0_high": without_ends[1]}


def known_effect(rows: pd.DataFrame, reference: str = "natural", *, arm: str = RAW, points: float = 10.0,
                 draws: int = 999, seed: int = 17) -> pd.DataFrame:
    """What `contrasts` says of an effect of known size, planted in the first two structures each; columns KNOWN.

    The labels are shuffled once, so that no effect is there; then so many wrong answers in one structure are made right
    that its accuracy rises by `points` (fewer where fewer are wrong: planted_points says). is_held: the interval holds
    that; is_found as in contrasts. What one shuffle leaves by chance is in the estimate. Empty without all rotations.
    """
    rows = rows[rows.arm == arm].reset_index(drop=True)
    try:
        whole = square(rows, MEASURES["correct"])
    except ValueError:  # a rotation is missing
        return pd.DataFrame(columns=KNOWN)
    rng, cycle, found = np.random.default_rng(seed), whole.cycle, []
    shifts = pd.Series(rng.permutation(whole.offsets) - whole.offsets, sorted(whole.pairs["product"].unique()))
    moved = rows.structure.map(cycle.index) + rows["product"].map(shifts).fillna(0).astype(int)
    shuffled = rows.assign(structure=[cycle[place % len(cycle)] for place in moved])
    for structure in in_order_of_structure(rows.structure, reference)[1:3]:
        own = shuffled[shuffled.structure == structure]
        wrong = own.index[~own.correct.astype(bool)]
        chosen = rng.choice(wrong, min(round(points / 100 * len(own)), len(wrong)), replace=False)
        planted = shuffled.assign(correct=shuffled.correct | shuffled.index.isin(chosen))
        table = contrasts(planted, reference, arm=arm, draws=draws, seed=seed)
        row = table[(table.measure == "correct") & (table.structure == structure)].iloc[0]
        size = 100 * len(chosen) / len(own)
        found.append(dict(row[["structure", "reference", *ESTIMATE, "p", "p_holm"]]) | {
            "planted_points": size, "is_held": bool(row.low <= size <= row.high), "is_found": is_found(row)})
    return pd.DataFrame(found, columns=KNOWN)


def planted_control(rows: pd.DataFrame, *, draws: int = 9999, seed: int = 17) -> pd.DataFrame:
    """Whether repeating one structure's sections is found: one row an arm planted-<structure>; columns PLANTED.

    The estimate, in points, is the gain over `raw` on facts in that structure less the gain on the others, product by
    product, same rotation and seed; left_out counts pairs of product and seed without both. It is found where the
    interval is above 0 and over seeds too.
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
        found.append(row | {"is_found": bool(row["low"] > 0 and row["interval"] == BOTH)})
    return pd.DataFrame(found, columns=PLANTED)


def shuffled_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """`shuffled_control` as text, a row a structure."""
    return pd.DataFrame([{
        "shuffled labels": f"{row.structure} – {row.reference}",
        "one shuffle, points [95%]": in_points(row.estimate, row.low, row.high), "its p": p_value(row.p),
        f"shuffles with p < {ALPHA}": f"{row.p_below} of {row.shuffles} = {row.p_below / row.shuffles:.1%} "
                                      f"[{row.p_below_low:.1%}, {row.p_below_high:.1%}]",
        "intervals without 0": f"{row.intervals_without_0} of {row.shuffles} = "
                               f"{row.intervals_without_0 / row.shuffles:.1%} [{row.without_0_low:.1%}, "
                               f"{row.without_0_high:.1%}]"} for row in table.itertuples()],
        columns=None if len(table) else ["shuffled labels"])


def known_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """`known_effect` as text, a row a structure."""
    return pd.DataFrame([{
        "planted among shuffled labels": f"{row.structure} – {row.reference}: {row.planted_points:+.1f} points",
        "facts (products), seeds": f"{row.n} ({row.clusters}), {row.seeds}",
        "estimate, points [95%]": in_points(row.estimate, row.low, row.high), "the interval holds": row.interval,
        "p": p_value(row.p), "p (Holm)": p_value(row.p_holm), "interval holds what was planted":
        "yes" if row.is_held else "NO", "found": "yes" if row.is_found else "NO"} for row in table.itertuples()],
        columns=None if len(table) else ["planted among shuffled labels"])


def planted_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """`planted_control` as text, a row an arm."""
    return pd.DataFrame([{
        "planted arm": row.arm, "products, seeds": f"{row.clusters}, {row.seeds}"
        + (f"; {row.left_out} pairs of product and seed left out" if row.left_out else ""),
        "gain on the planted structure, points": f"{row.gain_planted:+.1f}",
        "gain on the others, points": f"{row.gain_others:+.1f}",
        "difference [95%]": in_points(row.estimate, row.low, row.high), "the interval holds": row.interval,
        "p": p_value(row.p), "found": "yes" if row.is_found else "NO"} for row in table.itertuples()],
        columns=None if len(table) else ["planted arm"])
