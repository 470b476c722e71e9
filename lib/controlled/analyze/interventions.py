"""Estimate arms' gains over `raw` on the same fact, rotation and seed, and tokens (paper, 5.1)."""

import re
from collections.abc import Iterable

import numpy as np
import pandas as pd

from lib.analyze.stats import LEAST_ADDED
from lib.controlled.analyze.bases import DECISION, ESTIMATE, decided, estimated, mean_of, primary_p
from lib.controlled.analyze.rows import matched, sorted_structures
from lib.controlled.design.arms import NORMALIZED, PROSE, RAW
from lib.core.arms import ALL, INTERVENTION

FACTOR, CONTROL = "factor", "control"
GAIN = {"estimate": "gain_points", "low": "low_points", "high": "high_points"}
_SIDES = ["accuracy_first", "accuracy_second", "as_asked_first_percent", "as_asked_second_percent"]
_AS_RAW = {name: name.replace("first", "raw").replace("second", "arm") for name in _SIDES}
INTERVENTIONS = ["contrast", "arm", "role", "structure", *ESTIMATE, "left_out", *_SIDES, *DECISION,
                 "tokens_added_percent"]
ARM_PAIRS = ["contrast", "first", "second", *ESTIMATE, "left_out", *_SIDES, *DECISION,
             "tokens_added_percent"]
# Also compared, in addition to `raw`: longer training alone, and prose in other words.
_PAIRS = ("mixed - raw-2x", f"{NORMALIZED} - {PROSE}")
_ROLES = {r"planted.*|raw-\d+x": CONTROL, rf"low-context|{PROSE}|far-\d+|table-\d+x\d+": FACTOR}


def role(arm: str) -> str:
    """Return an arm's role: intervention (open to an engineer), factor (form) or control."""
    return next((name for pattern, name in _ROLES.items() if re.fullmatch(pattern, arm)),
                INTERVENTION)


def interventions(rows: pd.DataFrame, reference: str = "natural", *,
                  primary: Iterable[str] = ()) -> pd.DataFrame:
    """Return, for each arm except `raw`, one row per structure and "all".

    Columns INTERVENTIONS with estimate, low and high named as in GAIN, and accuracy_raw, …_arm for
    the sides. gain_points is the arm's accuracy minus that of `raw`, the mean over bases. `primary`
    names the study's hypotheses, such as "mixed"; without any, the rows "all" are one family and
    the rows by structure another (see bases.decided). tokens_added_percent compares the tokens that
    the matched runs read in all epochs; points_per_percent is NaN below LEAST_ADDED. as_asked_… is
    the percentage of matched facts stated in the question's words. `seeds` repeats `bases`.
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
            found.append({"contrast": arm if structure == ALL else f"{arm}, {structure}",
                          "arm": arm, "role": role(arm), "structure": structure, **_sides(cells),
                          "left_out": left_out if structure == ALL else 0,
                          "tokens_added_percent": added})
    table = pd.DataFrame(found, columns=INTERVENTIONS)
    families = np.where(table.structure == ALL, "arms", "arms by structure")
    table = decided(table, families, primary_p(rows, primary)).rename(columns=GAIN | _AS_RAW)
    added = table.tokens_added_percent
    return table.assign(seeds=table.bases, points_per_percent=(table.gain_points / added).where(
        added >= LEAST_ADDED))


def arm_pairs(rows: pd.DataFrame, *, primary: Iterable[str] = ()) -> pd.DataFrame:
    """Compare two arms other than `raw` on the same facts and seeds; columns ARM_PAIRS.

    `mixed` minus `raw-2x` shows what rewriting adds to equally long training; `normalized` minus
    `prose` shows what the rules' words add to prose. Each of these that was run has one row, as has
    each pair of arms among `primary`. Estimates are as in `interventions`.
    """
    found = []
    for name in dict.fromkeys([*_PAIRS, *primary]):
        second, _, first = name.partition(" - ")
        if not {first, second} <= set(rows.arm):
            continue
        pairs, left_out = matched(rows, second, first)
        if len(pairs):
            found.append({"contrast": name, "first": first, "second": second, **_sides(pairs),
                          "left_out": left_out, "tokens_added_percent": _tokens_added(pairs)})
    table = pd.DataFrame(found, columns=ARM_PAIRS)
    return decided(table, ["pairs of arms"] * len(table), primary_p(rows, primary))


def _sides(pairs: pd.DataFrame) -> dict:
    return estimated(pairs) | {
        name: mean_of(pairs, name.removeprefix("accuracy_").removesuffix("_percent"))
        for name in _SIDES}


def _tokens_added(pairs: pd.DataFrame) -> float:
    """Return how many percent more tokens the second arm's runs read; NaN without runs."""
    runs = pairs.drop_duplicates([name for name in ("rotation", "seed") if name in pairs])
    if runs.empty:
        return np.nan
    return 100 * float(runs.tokens_second.sum() / runs.tokens_first.sum() - 1)
