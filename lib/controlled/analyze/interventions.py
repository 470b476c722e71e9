"""What each arm gains over `raw` for the tokens it adds: same fact, rotation and seed (paper, 5.1 and limits)."""

import re

import numpy as np
import pandas as pd

from lib.analyze.format import in_points, p_value
from lib.controlled.analyze.permutation import holm, sign_flip_p
from lib.controlled.analyze.rows import ESTIMATE, RAW, estimated, in_order_of_structure
from lib.controlled.design.arms import NORMALIZED, PROSE, epochs_of
from lib.core.arms import ALL

INTERVENTION, FACTOR, CONTROL = "intervention", "factor", "control"
INTERVENTIONS = ["arm", "role", "structure", "n", "clusters", "seeds", "pairs", "left_out", "accuracy_raw",
                 "accuracy_arm", "gain_points", "low_points", "high_points", "interval", "p", "p_holm", "family",
                 "tokens_added_percent", "points_per_percent", "as_asked_raw_percent", "as_asked_arm_percent"]
BESIDE = ["first", "second", *ESTIMATE, "left_out", "accuracy_first", "accuracy_second", "p", "p_holm",
          "tokens_added_percent", "as_asked_first_percent", "as_asked_second_percent"]
LEAST_ADDED = 1.0  # percent of tokens; a ratio to fewer would be a large number that means nothing
# What else than `raw` an arm stands beside: more training alone, and prose that has other words than the question.
_BESIDE = (("raw-2x", "mixed"), (PROSE, NORMALIZED))
_ROLES = {r"planted.*|raw-\d+x": CONTROL, rf"low-context|{PROSE}|far-\d+|table-\d+x\d+": FACTOR}


def role(arm: str) -> str:
    """Whether an arm is something an engineer may do, another way of writing records, or a control."""
    return next((name for pattern, name in _ROLES.items() if re.fullmatch(pattern, arm)), INTERVENTION)


def matched(rows: pd.DataFrame, arm: str, first: str = RAW) -> tuple[pd.DataFrame, int]:
    """A row a fact, rotation and seed of `arm` that has its row of `first`, and how many have none.

    Columns fact_id, product, rotation, seed, structure (that of the fact in `first`), first and second (0 or 1),
    difference, tokens_first, tokens_second (read in all, in epochs of `raw`), as_asked_first, as_asked_second. Prose is
    the same text in every rotation: beside another arm than `raw` it is matched by fact and seed, with no rotation.
    """
    is_any_rotation = PROSE in (arm, first) and RAW not in (arm, first)
    keys = ["fact_id", "product", *([] if is_any_rotation else ["rotation"]), "seed"]
    sides = []
    for name, side in ((first, "first"), (arm, "second")):
        of_it = rows[rows.arm == name].set_index(keys)
        sides.append(pd.DataFrame({side: of_it.correct.astype(float), f"tokens_{side}": of_it.run_tokens
                                   * epochs_of(name), f"as_asked_{side}": of_it.as_asked.astype(float)}))
    structures = rows[rows.arm == first].set_index(keys)[["structure"]]
    pairs = structures.join(sides[0]).join(sides[1], how="inner")
    return pairs.assign(difference=pairs.second - pairs["first"]).reset_index(), len(sides[1]) - len(pairs)


def interventions(rows: pd.DataFrame, reference: str = "natural", *, draws: int = 9999, seed: int = 17) -> pd.DataFrame:
    """One row an arm other than `raw` and structure, "all" last; columns INTERVENTIONS.

    gain_points is the arm's accuracy less that of `raw`, with a 95% interval over products and seeds (see
    analysis_rows.estimated). p is from flipping the signs of products: it asks whether these trainings differ, and what
    one training differs from the next is not in it, but in the interval. p_holm is Holm's over the arms' rows "all",
    and apart from those over the rows by structure (`family` has their number). tokens_added_percent compares what the
    matched runs read in all, epochs counted; points_per_percent is NaN below LEAST_ADDED. as_asked_… is how many of the
    matched facts had the question's own words in the text trained on, in percent.
    """
    arms = [arm for arm in rows.arm.unique() if arm != RAW]
    order = {INTERVENTION: 0, FACTOR: 1, CONTROL: 2}
    structures = in_order_of_structure(rows.structure[rows.arm == RAW], reference)
    found = []
    for arm in sorted(arms, key=lambda name: (order[role(name)], name)):
        pairs, left_out = matched(rows, arm)
        added = _tokens_added(pairs)
        found += [{"arm": arm, "role": role(arm), "structure": structure, "tokens_added_percent": added,
                   **_gained(pairs[(pairs.structure == structure) | (structure == ALL)], added, draws, seed),
                   "left_out": left_out if structure == ALL else 0} for structure in (*structures, ALL)]
    table = pd.DataFrame(found, columns=INTERVENTIONS)
    families = table.p.astype(float).groupby(table.structure == ALL)
    return table.assign(p=table.p.astype(float), p_holm=families.transform(holm), family=families.transform("count"))


def beside(rows: pd.DataFrame, *, draws: int = 9999, seed: int = 17) -> pd.DataFrame:
    """Two arms other than `raw` on the same facts and seeds, a row a pair that was run; columns BESIDE.

    `mixed` less `raw-2x`: what rewriting adds where there is as much training. `normalized` less `prose`: what the
    rules' words add to prose as such. Estimate and p are those of `interventions`, Holm's is over these rows.
    """
    found = []
    for first, second in _BESIDE:
        pairs, left_out = matched(rows, second, first)
        if len(pairs):
            found.append({"first": first, "second": second, **estimated(pairs, 100.0), "left_out": left_out,
                          "accuracy_first": 100 * pairs["first"].mean(), "accuracy_second": 100 * pairs.second.mean(),
                          "p": sign_flip_p(pairs.difference, pairs["product"], draws=draws, seed=seed),
                          "tokens_added_percent": _tokens_added(pairs),
                          "as_asked_first_percent": 100 * pairs.as_asked_first.mean(),
                          "as_asked_second_percent": 100 * pairs.as_asked_second.mean()})
    table = pd.DataFrame(found, columns=BESIDE)
    return table.assign(p_holm=holm(table.p.astype(float)))


def _tokens_added(pairs: pd.DataFrame) -> float:
    """Percent of tokens that the second arm's runs read beyond the first's; NaN without runs."""
    runs = pairs.drop_duplicates([column for column in ("rotation", "seed") if column in pairs])
    return 100 * float(runs.tokens_second.sum() / runs.tokens_first.sum() - 1) if len(runs) else np.nan


def _gained(pairs: pd.DataFrame, added: float, draws: int, seed: int) -> dict:
    found = estimated(pairs, 100.0)
    gain, low, high = (found.pop(key) for key in ("estimate", "low", "high"))
    return found | {
        "gain_points": gain, "low_points": low, "high_points": high, "accuracy_raw": 100 * pairs["first"].mean(),
        "accuracy_arm": 100 * pairs.second.mean(),
        "points_per_percent": gain / added if added >= LEAST_ADDED else np.nan,
        "as_asked_raw_percent": 100 * pairs.as_asked_first.mean(),
        "as_asked_arm_percent": 100 * pairs.as_asked_second.mean(),
        "p": sign_flip_p(pairs.difference, pairs["product"], draws=draws, seed=seed)}


def interventions_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """`interventions` as text, a row an arm and structure."""
    return pd.DataFrame([{
        "run": f"{row.arm} ({row.role})", "structure": row.structure,
        "facts (products), seeds": f"{row.n} ({row.clusters}), {row.seeds}"
        + (f"; {row.left_out} without raw" if row.left_out else ""),
        "raw → arm": "–" if np.isnan(row.accuracy_raw) else f"{row.accuracy_raw:.1f}% → {row.accuracy_arm:.1f}%",
        "gain, points [95%]": in_points(row.gain_points, row.low_points, row.high_points),
        "the interval holds": row.interval, "p (of these trainings)": p_value(row.p), "p (Holm)": p_value(row.p_holm),
        "tokens added": "–" if np.isnan(row.tokens_added_percent) else f"{row.tokens_added_percent:+.1f}%",
        "points for 1% more tokens": "–" if np.isnan(row.points_per_percent) else f"{row.points_per_percent:+.2f}",
        "in the question's words": "–" if np.isnan(row.as_asked_raw_percent) else
        f"{row.as_asked_raw_percent:.0f}% → {row.as_asked_arm_percent:.0f}%"}
        for row in table.itertuples()], columns=None if len(table) else ["run"])


def beside_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """`beside` as text, a row a pair of arms."""
    return pd.DataFrame([{
        "arms": f"{row.first} → {row.second}",
        "facts (products), seeds": f"{row.n} ({row.clusters}), {row.seeds}"
        + (f"; {row.left_out} without {row.first}" if row.left_out else ""),
        "first → second": f"{row.accuracy_first:.1f}% → {row.accuracy_second:.1f}%",
        "difference, points [95%]": in_points(row.estimate, row.low, row.high), "the interval holds": row.interval,
        "p (of these trainings)": p_value(row.p), "p (Holm)": p_value(row.p_holm),
        "tokens added": f"{row.tokens_added_percent:+.1f}%",
        "in the question's words": f"{row.as_asked_first_percent:.0f}% → {row.as_asked_second_percent:.0f}%"}
        for row in table.itertuples()], columns=None if len(table) else ["arms"])
