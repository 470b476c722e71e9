"""Estimate arms' gains over `raw` on the same fact, rotation and seed, and tokens (paper, 5.1)."""

import re

import numpy as np
import pandas as pd

from lib.analyze.stats import LEAST_ADDED, holm
from lib.controlled.analyze.permutation import sign_flip_p
from lib.controlled.analyze.rows import ESTIMATE, estimated, sorted_structures
from lib.controlled.design.arms import NORMALIZED, PROSE, RAW, epochs_of
from lib.core.arms import ALL, INTERVENTION

FACTOR, CONTROL = "factor", "control"
INTERVENTIONS = ["arm", "role", "structure", "n", "clusters", "seeds", "pairs", "left_out",
                 "accuracy_raw", "accuracy_arm", "gain_points", "low_points", "high_points",
                 "interval", "p", "p_holm", "family", "tokens_added_percent", "points_per_percent",
                 "as_asked_raw_percent", "as_asked_arm_percent"]
ARM_PAIRS = ["first", "second", *ESTIMATE, "left_out", "accuracy_first", "accuracy_second", "p",
             "p_holm", "tokens_added_percent", "as_asked_first_percent", "as_asked_second_percent"]
# Also compared, in addition to `raw`: longer training alone, and prose in other words.
_PAIRS = (("raw-2x", "mixed"), (PROSE, NORMALIZED))
_ROLES = {r"planted.*|raw-\d+x": CONTROL, rf"low-context|{PROSE}|far-\d+|table-\d+x\d+": FACTOR}


def role(arm: str) -> str:
    """Return an arm's role: intervention (open to an engineer), factor (form) or control."""
    return next((name for pattern, name in _ROLES.items() if re.fullmatch(pattern, arm)),
                INTERVENTION)


def matched(rows: pd.DataFrame, arm: str, first: str = RAW) -> tuple[pd.DataFrame, int]:
    """Match rows of `arm` and `first` by fact, rotation and seed; count those without a match.

    The columns are fact_id, product, rotation, seed, structure (in `first`), first and second (0 or
    1), difference, tokens_first and tokens_second (read by the run per epoch of `raw`), and
    as_asked_first and as_asked_second. Prose has the same text in every rotation, so it is matched
    by fact and seed alone, except with `raw`.
    """
    is_any_rotation = PROSE in (arm, first) and RAW not in (arm, first)
    keys = ["fact_id", "product", *([] if is_any_rotation else ["rotation"]), "seed"]
    sides = []
    for name, side in ((first, "first"), (arm, "second")):
        cells = rows[rows.arm == name].set_index(keys)
        sides.append(pd.DataFrame({
            side: cells.correct.astype(float), f"tokens_{side}": cells.run_tokens * epochs_of(name),
            f"as_asked_{side}": cells.as_asked.astype(float)}))
    structures = rows[rows.arm == first].set_index(keys)[["structure"]]
    pairs = structures.join(sides[0]).join(sides[1], how="inner")
    pairs = pairs.assign(difference=pairs.second - pairs["first"]).reset_index()
    return pairs, len(sides[1]) - len(pairs)


def interventions(rows: pd.DataFrame, reference: str = "natural", *, draws: int = 9999,
                  seed: int = 17) -> pd.DataFrame:
    """Return, for each arm except `raw`, one row per structure and "all"; columns INTERVENTIONS.

    gain_points is the arm's accuracy minus that of `raw`; for its interval see rows.estimated. p
    comes from flipping the signs of products and tests whether these runs differ; chance variation
    between runs is in the interval, not in p. p_holm corrects p over the arms' rows "all", and
    separately over the rows by structure (`family` counts the tests). tokens_added_percent compares
    the tokens that the matched runs read in all epochs; points_per_percent is NaN below
    LEAST_ADDED. as_asked_… is the percentage of matched facts stated in the question's words.
    """
    order = {INTERVENTION: 0, FACTOR: 1, CONTROL: 2}
    arms = sorted((arm for arm in rows.arm.unique() if arm != RAW),
                  key=lambda arm: (order[role(arm)], arm))
    structures = sorted_structures(rows.structure[rows.arm == RAW], reference)
    found = []
    for arm in arms:
        pairs, left_out = matched(rows, arm)
        added = _tokens_added(pairs)
        for structure in (*structures, ALL):
            cells = pairs[(pairs.structure == structure) | (structure == ALL)]
            found.append({"arm": arm, "role": role(arm), "structure": structure,
                          "tokens_added_percent": added, **_gained(cells, added, draws, seed),
                          "left_out": left_out if structure == ALL else 0})
    table = pd.DataFrame(found, columns=INTERVENTIONS).astype({"p": float})
    families = table.p.groupby(table.structure == ALL)
    return table.assign(p_holm=families.transform(holm), family=families.transform("count"))


def arm_pairs(rows: pd.DataFrame, *, draws: int = 9999, seed: int = 17) -> pd.DataFrame:
    """Compare two arms other than `raw` on the same facts and seeds; columns ARM_PAIRS.

    `mixed` minus `raw-2x` shows what rewriting adds to equally long training; `normalized` minus
    `prose` shows what the rules' words add to prose. Each pair that was run has one row. Estimate
    and p are as in `interventions`; Holm's correction is over these rows.
    """
    found = []
    for first, second in _PAIRS:
        pairs, left_out = matched(rows, second, first)
        if len(pairs):
            found.append({"first": first, "second": second, **estimated(pairs, 100.0),
                          "left_out": left_out, **_means(pairs, draws, seed),
                          "tokens_added_percent": _tokens_added(pairs)})
    table = pd.DataFrame(found, columns=ARM_PAIRS)
    return table.assign(p_holm=holm(table.p))


def _means(pairs: pd.DataFrame, draws: int, seed: int) -> dict:
    return {"accuracy_first": 100 * pairs["first"].mean(),
            "accuracy_second": 100 * pairs.second.mean(),
            "as_asked_first_percent": 100 * pairs.as_asked_first.mean(),
            "as_asked_second_percent": 100 * pairs.as_asked_second.mean(),
            "p": sign_flip_p(pairs.difference, pairs["product"], draws=draws, seed=seed)}


def _tokens_added(pairs: pd.DataFrame) -> float:
    """Return how many percent more tokens the second arm's runs read; NaN without runs."""
    runs = pairs.drop_duplicates([name for name in ("rotation", "seed") if name in pairs])
    if runs.empty:
        return np.nan
    return 100 * float(runs.tokens_second.sum() / runs.tokens_first.sum() - 1)


def _gained(pairs: pd.DataFrame, added: float, draws: int, seed: int) -> dict:
    found = estimated(pairs, 100.0)
    gain, low, high = (found.pop(key) for key in ("estimate", "low", "high"))
    means = {key.replace("first", "raw").replace("second", "arm"): value
             for key, value in _means(pairs, draws, seed).items()}
    return found | means | {"gain_points": gain, "low_points": low, "high_points": high,
                            "points_per_percent": gain / added if added >= LEAST_ADDED else np.nan}
