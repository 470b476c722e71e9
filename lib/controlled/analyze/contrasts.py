"""Compare each structure with a reference on the same fact and seed, in two rotations (paper, 5.2).

The paper compares structures on different facts. Here each fact is compared with itself, so the
difference is due to the structure.
"""

from collections.abc import Iterable

import pandas as pd

from lib.controlled.analyze.bases import DECISION, ESTIMATE, decided, estimated, mean_of, primary_p
from lib.controlled.analyze.rows import MEASURES, sorted_structures, within_fact
from lib.controlled.design.arms import RAW

CONTRASTS = ["contrast", "arm", "measure", "unit", "structure", "reference", *ESTIMATE, "left_out",
             "mean_reference", "mean_structure", "only_reference", "only_structure", *DECISION]


def contrasts(rows: pd.DataFrame, reference: str = "natural", *,
              primary: Iterable[str] = ()) -> pd.DataFrame:
    """Return one row per measure and structure other than `reference`, of `raw`; columns CONTRASTS.

    The estimate is the mean over bases of structure - reference over a base's facts, in the
    measure's unit. left_out counts pairs that lack a side; only_… counts the discordant pairs of a
    yes-or-no measure. `primary` names the study's hypotheses, such as "tabular - natural" (strict
    accuracy) and arms; without any, each measure's structures are a family (see bases.decided).
    Raises ValueError if `raw` has no rows, or none in `reference`.
    """
    raw = rows[rows.arm == RAW]
    structures = sorted_structures(raw.structure, reference)
    if reference not in structures:
        raise ValueError(f"arm {RAW} has no outcome in {reference!r}; it has "
                         f"{', '.join(structures) or 'none at all'}: name another reference or "
                         "run the arm")
    table = pd.DataFrame([_compared(raw, name, structure, reference)
                          for name in MEASURES for structure in structures[1:]], columns=CONTRASTS)
    return decided(table, table.measure, primary_p(rows, primary))


def _compared(raw: pd.DataFrame, name: str, structure: str, reference: str) -> dict:
    measure = MEASURES[name]
    pairs, left_out = within_fact(raw, measure, structure, reference)
    found = {"contrast": f"{structure} - {reference}" + ("" if name == "correct" else f", {name}"),
             "arm": RAW, "measure": name, "unit": measure.unit, "structure": structure,
             "reference": reference, **estimated(pairs, measure.scale), "left_out": left_out,
             "mean_reference": mean_of(pairs, "first", measure.scale),
             "mean_structure": mean_of(pairs, "second", measure.scale)}
    if set(pairs["first"]) | set(pairs.second) <= {0.0, 1.0}:
        found |= {"only_reference": int((pairs.difference < 0).sum()),
                  "only_structure": int((pairs.difference > 0).sum())}
    return found
