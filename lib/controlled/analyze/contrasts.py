"""Contrasts on the same fact: structures within `raw`, and arms in the same rotation and base.

The base (column `seed`) is what is repeated: its products, facts, weights and trainings share their
chance variation, so it gives one value per contrast, and intervals and p are over bases.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from lib.analyze.statistics.units import over_units
from lib.controlled.analyze.rows import (
    MEASURES,
    Measure,
    matched,
    pairs_of,
    sorted_structures,
    within_fact,
)
from lib.controlled.design.arms import MIXED, RAW, TWICE
from lib.core.arms import ALL
from lib.core.errors import BadInput


def each_base(rows: pd.DataFrame, contrasts: Iterable[str]) -> pd.DataFrame:
    """Return one row per contrast (see rows.pairs_of) and base: contrast, base, n pairs, points."""
    found = []
    for name in contrasts:
        cells = pairs_of(rows, name).groupby("seed").difference
        found += [{"contrast": name, "base": base, "n": len(each), "points": 100 * each.mean()}
                  for base, each in cells]
    return pd.DataFrame(found, columns=["contrast", "base", "n", "points"])


def estimated(pairs: pd.DataFrame, scale: float = 100.0, column: str = "difference") -> dict:
    """Estimate the mean of `column`, times `scale`, over bases; count facts, products and pairs."""
    found = over_units(scale * _by_base(pairs, column))
    return {"n": pairs.fact_id.nunique(), "clusters": pairs["product"].nunique(),
            "bases": found.pop("n"), "pairs": len(pairs), "estimate": found["estimate"],
            "low": found["low"], "high": found["high"], "sd_bases": found["sd"], "p": found["p"],
            "p_flips": found["p_flips"]}


def mean_of(pairs: pd.DataFrame, column: str, scale: float = 100.0) -> float:
    """Return the mean over bases of each base's mean of `column`, times `scale`."""
    return float(scale * _by_base(pairs, column).mean())


def _by_base(pairs: pd.DataFrame, column: str) -> pd.Series:
    return pairs[column].astype(float).groupby(pairs.seed).mean()


def level(rows: pd.DataFrame, column: str = "correct", scale: float = 100.0) -> dict:
    """Estimate a mean as `estimated` does, without a test; a share stays within 0 and 100%."""
    found = {key: value for key, value in estimated(rows, scale, column).items()
             if key not in ("p", "p_flips")}
    return found if scale != 100 else found | {
        end: float(np.clip(found[end], 0, 100)) for end in ("low", "high")}


def contrasts(rows: pd.DataFrame) -> pd.DataFrame:
    """Return each structure - the first (prose, if it was run) of `raw`, by measure.

    left_out counts pairs that lack a side, only_… the discordant pairs of a yes-or-no measure.
    Raises BadInput if `raw` has no rows.
    """
    raw = rows[rows.arm == RAW]
    if raw.empty:
        raise BadInput(f"arm {RAW} has no outcome: run it")
    reference, *others = sorted_structures(raw.structure)
    return pd.DataFrame([
        {"contrast": f"{structure} - {reference}" + ("" if name == "correct" else f", {name}"),
         "measure": name, "unit": measure.unit, "structure": structure, "reference": reference,
         **_compared(raw, measure, structure, reference)}
        for name, measure in MEASURES.items() for structure in others])


def _compared(raw: pd.DataFrame, measure: Measure, structure: str, reference: str) -> dict:
    pairs, left_out = within_fact(raw, measure, structure, reference)
    found = {**estimated(pairs, measure.scale), "left_out": left_out,
             "mean_reference": mean_of(pairs, "first", measure.scale),
             "mean_structure": mean_of(pairs, "second", measure.scale)}
    if set(pairs["first"]) | set(pairs.second) <= {0.0, 1.0}:
        found |= {"only_reference": int((pairs.difference < 0).sum()),
                  "only_structure": int((pairs.difference > 0).sum())}
    return found


def gains(rows: pd.DataFrame, primary: Iterable[str] = ()) -> pd.DataFrame:
    """Return each arm's gain over `raw`, and those between arms, by structure and "all".

    Compared are all arms, mixed - raw-2x (equally long training), and the pairs of arms in
    `primary`. as_asked_… is the percentage of facts stated in the question's words.
    """
    arms = [arm for arm in rows.arm.unique() if arm != RAW]
    pairs = [name for name in (f"{MIXED} - {TWICE}", *primary)
             if " - " in name and {*name.split(" - ")} <= set(arms)]
    structures = sorted_structures(rows.structure[rows.arm == RAW])
    found = []
    for name in dict.fromkeys([*arms, *pairs]):
        second, _, first = name.partition(" - ")
        matches, left_out = matched(rows, second, first or RAW)
        for structure in (*structures, ALL):
            cells = matches[(matches.structure == structure) | (structure == ALL)]
            found.append({
                "contrast": name if structure == ALL else f"{name}, {structure}",
                "arm": second, "first": first or RAW, "structure": structure, **estimated(cells),
                "left_out": left_out if structure == ALL else 0,
                "accuracy_first": mean_of(cells, "first"),
                "accuracy_second": mean_of(cells, "second"),
                "as_asked_first_percent": mean_of(cells, "as_asked_first"),
                "as_asked_second_percent": mean_of(cells, "as_asked_second"),
                "tokens_added_percent": _tokens_added(matches)})
    return pd.DataFrame(found)


def _tokens_added(pairs: pd.DataFrame) -> float:
    runs = pairs.drop_duplicates(["rotation", "seed"])
    return 100 * float(runs.tokens_second.sum() / runs.tokens_first.sum() - 1) if len(
        runs) else np.nan


def acquisition(rows: pd.DataFrame) -> pd.DataFrame:
    """Return what is stored after each epoch, by arm, structure, epoch and measure.

    Measure "likeliest" is the percentage of reference answers whose every token is the argmax after
    the question and the tokens before it; "loglik" is in nats per token.
    """
    rows = rows.assign(loglik=rows.question_loglik / rows.question_tokens)
    found = []
    for (arm, structure, epoch), cell in rows.groupby(["arm", "structure", "epoch"]):
        keys = {"arm": arm, "structure": structure, "epoch": epoch}
        found += [keys | {"measure": "likeliest"} | level(cell, "question_argmax"),
                  keys | {"measure": "loglik"} | level(cell, "loglik", 1.0)]
    return pd.DataFrame(found)
