"""Check that the analysis finds planted effects, and finds none among shuffled labels.

Shuffled labels check the code and the width of the interval: their p is uniform by construction.
Effects are planted in the answers, with a known size, and in training (arm planted-…).
"""

import numpy as np
import pandas as pd

from lib.analyze.statistics.seeds import BOTH
from lib.analyze.stats import ALPHA, wilson
from lib.controlled.analyze.contrasts import contrasts, is_found
from lib.controlled.analyze.interventions import matched
from lib.controlled.analyze.permutation import offsets_p, sign_flip_p, square
from lib.controlled.analyze.rows import ESTIMATE, MEASURES, estimated, sorted_structures
from lib.controlled.design.arms import RAW

SHUFFLED = ["structure", "reference", *ESTIMATE, "p", "shuffles", "p_below", "p_below_low",
            "p_below_high", "intervals_without_0", "without_0_low", "without_0_high"]
KNOWN = ["structure", "reference", "planted_points", *ESTIMATE, "p", "p_holm", "is_held",
         "is_found"]
PLANTED = ["arm", "structure", *ESTIMATE, "gain_planted", "gain_others", "left_out", "p",
           "is_found"]


def shuffled_control(rows: pd.DataFrame, reference: str = "natural", *, arm: str = RAW,
                     shuffles: int = 200, draws: int = 999, seed: int = 17) -> pd.DataFrame:
    """Return contrasts of strict accuracy with structures permuted, so that there is no effect.

    The table has one row per structure and the columns SHUFFLED. Estimate, interval and p come from
    the first shuffle. The counts are over all shuffles: p is below 0.05 in about 5% of them, and
    the interval excludes 0 in at most about 5%; each count has its Wilson interval (fractions). A
    real effect widens the intervals, because it adds to the differences between products. The
    table is empty if a rotation is missing.
    """
    rows, measure = rows[rows.arm == arm], MEASURES["correct"]
    try:
        complete = square(rows, measure)
    except ValueError:  # a rotation is missing
        return pd.DataFrame(columns=SHUFFLED)
    found, rng, k = [], np.random.default_rng(seed), len(complete.cycle)
    drawn = [rng.permutation(complete.offsets) for _ in range(shuffles)]
    for structure in sorted_structures(rows.structure, reference)[1:]:
        totals, each = complete.totals(structure, reference), []
        for offsets in drawn:
            shifts = (offsets - complete.offsets) % k
            pairs = complete.pairs.assign(difference=complete.differences(
                structure, reference, shifts[complete.units]))
            moved = np.stack([np.roll(row, -shift)
                              for row, shift in zip(totals, shifts, strict=True)])
            each.append(estimated(pairs, measure.scale)
                        | {"p": offsets_p(moved, offsets, draws, rng)})
        found.append({"structure": structure, "reference": reference, **each[0], **_counted(each)})
    return pd.DataFrame(found, columns=SHUFFLED)


def _counted(each: list[dict]) -> dict:
    n = len(each)
    below = sum(one["p"] < ALPHA for one in each)
    without = sum(one["low"] > 0 or one["high"] < 0 for one in each)
    return {"shuffles": n, "p_below": below, "intervals_without_0": without,
            **dict(zip(("p_below_low", "p_below_high"), wilson(below, n), strict=True)),
            **dict(zip(("without_0_low", "without_0_high"), wilson(without, n), strict=True))}


def known_effect(rows: pd.DataFrame, reference: str = "natural", *, arm: str = RAW,
                 points: float = 10.0, draws: int = 999, seed: int = 17) -> pd.DataFrame:
    """Return `contrasts` after planting an effect of known size in a structure; columns KNOWN.

    The labels are shuffled once, which removes any effect. Then wrong answers in one structure are
    made correct until its accuracy has risen by `points` (by less if too few are wrong: see
    planted_points). There is one row for each of the first two structures. is_held says whether the
    interval includes the planted effect; is_found is as in contrasts. The estimate includes chance
    effects of the shuffle. The table is empty if a rotation is missing.
    """
    rows = rows[rows.arm == arm].reset_index(drop=True)
    try:
        complete = square(rows, MEASURES["correct"])
    except ValueError:  # a rotation is missing
        return pd.DataFrame(columns=KNOWN)
    rng, cycle, found = np.random.default_rng(seed), complete.cycle, []
    shifts = pd.Series(rng.permutation(complete.offsets) - complete.offsets,
                       sorted(complete.pairs["product"].unique()))
    places = (rows.structure.map(cycle.index)
              + rows["product"].map(shifts).fillna(0).astype(int)) % len(cycle)
    shuffled = rows.assign(structure=[cycle[place] for place in places])
    for structure in sorted_structures(rows.structure, reference)[1:3]:
        own = shuffled[shuffled.structure == structure]
        wrong = own.index[~own.correct.astype(bool)]
        n = min(round(points / 100 * len(own)), len(wrong))
        is_planted = shuffled.index.isin(rng.choice(wrong, n, replace=False))
        planted = shuffled.assign(correct=shuffled.correct | is_planted)
        table = contrasts(planted, reference, arm=arm, draws=draws, seed=seed)
        row = table[(table.measure == "correct") & (table.structure == structure)].iloc[0]
        size = 100 * n / len(own)
        found.append({**row[["structure", "reference", *ESTIMATE, "p", "p_holm"]],
                      "planted_points": size, "is_held": bool(row.low <= size <= row.high),
                      "is_found": is_found(row)})
    return pd.DataFrame(found, columns=KNOWN)


def planted_control(rows: pd.DataFrame, *, draws: int = 9999, seed: int = 17) -> pd.DataFrame:
    """Return, for each arm planted-…, whether the effect of repeating a structure's sections shows.

    Columns PLANTED. The estimate, in points, is the gain over `raw` on facts in that structure
    minus the gain on the others, by product and seed in the same rotation. left_out counts pairs of
    product and seed that lack one gain. is_found: the interval is above 0 and covers seeds too.
    """
    found = []
    for arm in sorted(name for name in rows.arm.unique() if name.startswith("planted")):
        structure = arm.removeprefix("planted").lstrip("-") or "tabular"
        pairs, _ = matched(rows, arm)
        side = (pairs.structure == structure).map({True: "planted", False: "others"})
        cells = pairs.groupby(["product", "seed", side]).difference.mean().unstack()
        cells = cells.reindex(columns=["planted", "others"])
        both = cells.dropna().reset_index().assign(fact_id=lambda each: each["product"])
        both["difference"] = both.planted - both.others
        row = {"arm": arm, "structure": structure, **estimated(both, 100.0),
               "gain_planted": 100 * both.planted.mean(), "gain_others": 100 * both.others.mean(),
               "left_out": len(cells) - len(both),
               "p": sign_flip_p(both.difference, both["product"], draws=draws, seed=seed)}
        found.append(row | {"is_found": bool(row["low"] > 0 and row["interval"] == BOTH)})
    return pd.DataFrame(found, columns=PLANTED)
