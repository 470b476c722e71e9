"""Compare each structure with a reference on the same fact and seed, in two rotations (paper, 5.2).

The paper compares structures on different facts. Here each fact is compared with itself, so the
difference is due to the structure.
"""

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy.stats import t

from lib.analyze.statistics.paired import ROUNDING
from lib.analyze.statistics.seeds import BOTH
from lib.analyze.stats import ALPHA, holm
from lib.controlled.analyze.permutation import permuted_p, square
from lib.controlled.analyze.rows import (
    ESTIMATE,
    MEASURES,
    estimated,
    sorted_structures,
    within_fact,
)
from lib.controlled.design.arms import RAW

GEE = ["gee_points", "gee_low", "gee_high", "gee_odds_ratio", "gee_or_low", "gee_or_high",
       "gee_note"]
CONTRASTS = ["arm", "measure", "unit", "structure", "reference", *ESTIMATE, "left_out",
             "mean_reference", "mean_structure", "only_reference", "only_structure", "p", "p_holm",
             "family", "p_note", *GEE]


def contrasts(rows: pd.DataFrame, reference: str = "natural", *, arm: str = RAW,
              draws: int = 9999, seed: int = 17) -> pd.DataFrame:
    """Return one row per measure and structure other than `reference`; columns CONTRASTS.

    The estimate is the mean of structure - reference over pairs of fact and seed, in the measure's
    unit (for its interval, see rows.estimated). left_out counts pairs that lack a side; only_…
    counts the discordant pairs of a yes-or-no measure. p is from permutation.permuted_p; p_holm
    corrects it across the measure's structures. Only the first measure has a GEE. Raises ValueError
    if the arm has no rows, or none in `reference`.
    """
    rows = rows[rows.arm == arm]
    structures = sorted_structures(rows.structure, reference)
    if reference not in structures:
        raise ValueError(f"arm {arm} has no outcome in {reference!r}; it has "
                         f"{', '.join(structures) or 'none at all'}: name another reference or "
                         "arm, or run the arm")
    models = gee(rows, structures)
    table = pd.DataFrame([{"arm": arm, **_compared(rows, name, structure, reference, draws, seed),
                           **(models[structure] if name == "correct" else {})}
                          for name in MEASURES for structure in structures[1:]], columns=CONTRASTS)
    table["p_holm"] = table.groupby("measure").p.transform(holm)
    table["family"] = table.groupby("measure").p.transform("count")
    return table.fillna({"gee_note": "", "p_note": ""}).astype(
        dict.fromkeys(["p_holm", *GEE[:-1]], float))


def _compared(rows: pd.DataFrame, name: str, structure: str, reference: str, draws: int,
              seed: int) -> dict:
    measure = MEASURES[name]
    pairs, left_out = within_fact(rows, measure, structure, reference)
    found = {"measure": name, "unit": measure.unit, "structure": structure, "reference": reference,
             **estimated(pairs, measure.scale), "left_out": left_out,
             "mean_reference": measure.scale * pairs["first"].mean(),
             "mean_structure": measure.scale * pairs.second.mean()}
    if set(pairs["first"]) | set(pairs.second) <= {0.0, 1.0}:
        found |= {"only_reference": int((pairs.difference < 0).sum()),
                  "only_structure": int((pairs.difference > 0).sum())}
    try:
        complete = square(rows, measure)
    except ValueError as error:
        return found | {"p": np.nan, "p_note": str(error)}
    n = len(complete.pairs)
    return found | {"p": permuted_p(complete, structure, reference, draws=draws, seed=seed),
                    "p_note": "" if n == len(pairs) else f"of {n} complete pairs"}


def gee(rows: pd.DataFrame, structures: list[str]) -> dict[str, dict]:
    """Map each structure after the first (the reference) to its GEE, in points and as odds ratios.

    The model is correct ~ structure + rotation + seed, with an independence working correlation
    within products, the covariance of Mancl and DeRouen (2001, Biometrics 57:126-134) and a t
    distribution with clusters - 1 degrees of freedom, as in lib.analyze.statistics.interaction.
    Seeds and rotations are fixed effects, so the interval holds for these training runs, not for
    other seeds. If all or none of a structure's, rotation's or seed's answers are correct, gee_note
    says so: odds are unbounded.
    """
    found = {structure: {"gee_note": ""} for structure in structures[1:]}
    for family, keys in ((sm.families.Gaussian(), GEE[:3]), (sm.families.Binomial(), GEE[3:6])):
        is_odds = isinstance(family, sm.families.Binomial)
        reasons = {structure: _inestimable(rows, structures[0], structure, is_odds)
                   for structure in structures[1:]}
        kept = [structure for structure in structures[1:] if not reasons[structure]]
        fitted = rows[rows.structure.isin([structures[0], *kept])]
        ends = _fitted(fitted, kept, family) if kept else {}
        for structure, row in found.items():
            if structure in ends:
                row |= dict(zip(keys, ends[structure], strict=True))
                continue
            note = reasons[structure] or "nothing varies between the products"
            if note not in row["gee_note"]:
                row["gee_note"] = "; ".join(filter(None, [row["gee_note"], note]))
    return found


def _inestimable(rows: pd.DataFrame, reference: str, structure: str, is_odds: bool) -> str:
    """Return why the GEE cannot be estimated; "" if it can."""
    both = rows[rows.structure.isin([reference, structure])]
    if (clusters := both["product"].nunique()) < 2:
        return f"only {clusters} product: at least 2 are needed"
    if both.correct.nunique() < 2:
        return f"nothing varies: {both.correct.sum()} of {len(both)} correct"
    cells = [(term, level, cell.correct) for term in ("structure", "rotation", "seed")
             for level, cell in both.groupby(term)] if is_odds else []
    empty = [f"{term} {level}: {correct.sum()} of {len(correct)} correct"
             for term, level, correct in cells if correct.mean() in (0, 1)]
    return f"no odds ratio, because the odds are unbounded ({', '.join(empty)})" if empty else ""


def _fitted(rows: pd.DataFrame, structures: list[str],
            family: sm.families.Family) -> dict[str, tuple]:
    """Map structures to estimate, low and high; leave out those whose standard error is 0."""
    design = pd.DataFrame({"constant": 1.0}, index=rows.index)
    for structure in structures:
        design[structure] = (rows.structure == structure).astype(float)
    for term in ("rotation", "seed"):
        for level in sorted(rows[term].unique())[1:]:
            design[f"{term} {level}"] = (rows[term] == level).astype(float)
    if np.linalg.matrix_rank(design) < design.shape[1]:  # one rotation per seed: confounded
        design = design.loc[:, [name for name in design if not name.startswith("rotation ")]]
    model = sm.GEE(rows.correct.astype(float), design, groups=rows["product"], family=family,
                   cov_struct=sm.cov_struct.Independence())
    result = model.fit(cov_type="bias_reduced")
    errors = np.sqrt(np.clip(np.diag(result.cov_params()), 0, None))
    reach = pd.Series(t.ppf(0.975, rows["product"].nunique() - 1) * errors, design.columns)
    is_odds = isinstance(family, sm.families.Binomial)
    ends = {name: result.params[name] + reach[name] * np.array([0, -1, 1])
            for name in structures if reach[name] > ROUNDING}
    return {name: tuple(np.exp(value) if is_odds else 100 * value) for name, value in ends.items()}


def is_found(row) -> bool:
    """Return whether a row of `contrasts` or `interventions` shows an effect.

    It does if the Holm-corrected p, which concerns these training runs alone, is at most 5%, and
    the interval accounts for seeds as well and excludes 0. With one seed, no row shows an effect.
    """
    low, high = (row.low, row.high) if hasattr(row, "low") else (row.low_points, row.high_points)
    return bool(row.p_holm <= ALPHA and row.interval == BOTH and (low > 0 or high < 0))
