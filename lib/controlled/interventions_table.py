"""What each arm gains over `raw` for the tokens it adds: same fact, rotation and seed (paper, 5.1 and limits)."""

import re

import numpy as np
import pandas as pd

from lib.controlled.analysis_rows import RAW, estimated, in_order_of_structure
from lib.controlled.permutation import holm, sign_flip_p
from lib.paired import in_points, p_text
from lib.tables import ALL

INTERVENTION, FACTOR, CONTROL = "intervention", "factor", "control"
INTERVENTIONS = ["arm", "role", "structure", "n", "clusters", "seeds", "pairs", "left_out", "accuracy_raw",
                 "accuracy_arm", "gain_points", "low_points", "high_points", "interval", "p", "p_holm", "family",
                 "tokens_added_percent", "points_per_percent"]
_ROLES = {r"planted.*|raw-\d+x": CONTROL, r"low-context|far-\d+|table-\d+x\d+": FACTOR}


def role(arm: str) -> str:
    """Whether an arm is something an engineer may do, another way of writing records, or a control."""
    return next((name for pattern, name in _ROLES.items() if re.fullmatch(pattern, arm)), INTERVENTION)


def matched(rows: pd.DataFrame, arm: str) -> tuple[pd.DataFrame, int]:
    """A row a fact, rotation and seed of `arm` that has its row of `raw`, and how many have none.

    Columns fact_id, product, rotation, seed, structure (that of the fact in `raw`), first (raw) and second (0 or 1),
    difference, tokens_raw, tokens_arm.
    """
    keys = ["fact_id", "product", "rotation", "seed"]
    raw = rows[rows.arm == RAW].set_index(keys)
    other = rows[rows.arm == arm].set_index(keys)
    pairs = raw[["structure"]].assign(first=raw.correct.astype(float), tokens_raw=raw.run_tokens).join(
        pd.DataFrame({"second": other.correct.astype(float), "tokens_arm": other.run_tokens}), how="inner")
    pairs = pairs.assign(difference=pairs.second - pairs["first"]).reset_index()
    return pairs, len(other) - len(pairs)


def interventions(rows: pd.DataFrame, reference: str = "natural", *, draws: int = 9999, seed: int = 17) -> pd.DataFrame:
    """One row an arm other than `raw` and structure, "all" last; columns INTERVENTIONS.

    gain_points is the arm's accuracy less that of `raw`, with a 95% interval over products and seeds (see
    analysis_rows.estimated); p is from flipping the signs of products, p_holm Holm's over the arms' rows "all", and
    apart from those over the rows by structure (`family` has their number). tokens_added_percent compares what the
    matched runs train on in an epoch; points_per_percent is NaN where no token is added.
    """
    arms = [arm for arm in rows.arm.unique() if arm != RAW]
    order = {INTERVENTION: 0, FACTOR: 1, CONTROL: 2}
    structures = in_order_of_structure(rows.structure[rows.arm == RAW], reference)
    found = []
    for arm in sorted(arms, key=lambda name: (order[role(name)], name)):
        pairs, left_out = matched(rows, arm)
        runs = pairs.drop_duplicates(["rotation", "seed"])
        added = 100 * (runs.tokens_arm.sum() / runs.tokens_raw.sum() - 1) if len(runs) else np.nan
        found += [{"arm": arm, "role": role(arm), "structure": structure, "tokens_added_percent": added,
                   **_gained(pairs[(pairs.structure == structure) | (structure == ALL)], added, draws, seed),
                   "left_out": left_out if structure == ALL else 0} for structure in (*structures, ALL)]
    table = pd.DataFrame(found, columns=INTERVENTIONS)
    families = table.p.astype(float).groupby(table.structure == ALL)
    return table.assign(p=table.p.astype(float), p_holm=families.transform(holm), family=families.transform("count"))


def _gained(pairs: pd.DataFrame, added: float, draws: int, seed: int) -> dict:
    found = estimated(pairs, 100.0)
    gain, low, high = (found.pop(key) for key in ("estimate", "low", "high"))
    return found | {
        "gain_points": gain, "low_points": low, "high_points": high, "accuracy_raw": 100 * pairs["first"].mean(),
        "accuracy_arm": 100 * pairs.second.mean(), "points_per_percent": gain / added if added > 0 else np.nan,
        "p": sign_flip_p(pairs.difference, pairs["product"], draws=draws, seed=seed)}


def interventions_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """`interventions` as text, a row an arm and structure."""
    return pd.DataFrame([{
        "run": f"{row.arm} ({row.role})", "structure": row.structure,
        "facts (products), seeds": f"{row.n} ({row.clusters}), {row.seeds}"
        + (f"; {row.left_out} without raw" if row.left_out else ""),
        "raw → arm": "–" if np.isnan(row.accuracy_raw) else f"{row.accuracy_raw:.1f}% → {row.accuracy_arm:.1f}%",
        "gain, points [95%]": in_points(row.gain_points, row.low_points, row.high_points),
        "the interval holds": row.interval, "p": p_text(row.p), "p (Holm)": p_text(row.p_holm),
        "tokens added": "–" if np.isnan(row.tokens_added_percent) else f"{row.tokens_added_percent:+.1f}%",
        "points for 1% more tokens": "–" if np.isnan(row.points_per_percent) else f"{row.points_per_percent:+.2f}"}
        for row in table.itertuples()], columns=None if len(table) else ["run"])
