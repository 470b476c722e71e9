"""Each structure against a reference within fact: the same fact, the same seed, two rotations (paper, section 5.2).

The paper compares other facts in other structures; here a fact is compared with itself, so that the difference is the
structure's.
"""

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy.stats import t

from lib.analyze.format import in_points, p_value
from lib.analyze.statistics.paired import ROUNDING
from lib.analyze.statistics.seeds import BOTH
from lib.analyze.stats import ALPHA
from lib.controlled.analyze.permutation import holm, permuted_p, square
from lib.controlled.analyze.rows import (
    ESTIMATE,
    MEASURES,
    POINTS,
    RAW,
    estimated,
    in_order_of_structure,
    within_fact,
)

GEE = ["gee_points", "gee_low", "gee_high", "gee_odds_ratio", "gee_or_low", "gee_or_high", "gee_note"]
CONTRASTS = ["arm", "measure", "unit", "structure", "reference", *ESTIMATE, "left_out", "mean_reference",
             "mean_structure", "only_reference", "only_structure", "p", "p_holm", "family", "p_note", *GEE]
_TERMS = ("structure", "rotation", "seed")


def contrasts(rows: pd.DataFrame, reference: str = "natural", *, arm: str = RAW, draws: int = 9999,
              seed: int = 17) -> pd.DataFrame:
    """One row a measure and structure other than `reference`, of the outcomes of `arm`; columns CONTRASTS.

    The estimate is structure - reference in the measure's unit, means over the pairs of fact and seed; see
    analysis_rows.estimated for its interval. left_out counts pairs without both sides, only_… the discordant ones of a
    measure that is yes or no. p is lib.controlled.analyze.permutation's, p_holm Holm's over the measure's structures. The GEE
    is of the first measure alone. Raises ValueError where the arm has no rows, or none in `reference`.
    """
    rows = rows[rows.arm == arm]
    structures = in_order_of_structure(rows.structure, reference)
    if reference not in structures:
        raise ValueError(f"arm {arm} has no outcome in {reference!r}; it has {', '.join(structures) or 'none at all'}: "
                         "name another reference or arm, or run the arm")
    models = gee(rows, structures)
    found = [_compared(rows, name, structure, reference, draws, seed)
             | (models[structure] if name == "correct" else {})
             for name in MEASURES for structure in structures[1:]]
    table = pd.DataFrame([{"arm": arm} | row for row in found], columns=CONTRASTS)
    table["p_holm"] = table.groupby("measure").p.transform(holm)
    table["family"] = table.groupby("measure").p.transform("count")
    text = {"gee_note": "", "p_note": ""}
    return table.fillna(text).astype({column: float for column in CONTRASTS if column.startswith(("p_h", "gee_"))
                                      and column not in text})


def _compared(rows: pd.DataFrame, name: str, structure: str, reference: str, draws: int, seed: int) -> dict:
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
        whole = square(rows, measure)
    except ValueError as error:
        return found | {"p": np.nan, "p_note": str(error)}
    return found | {"p": permuted_p(whole, structure, reference, draws=draws, seed=seed),
                    "p_note": "" if len(whole.pairs) == len(pairs) else f"of {len(whole.pairs)} whole pairs"}


def gee(rows: pd.DataFrame, structures: list[str]) -> dict[str, dict]:
    """structure (but the first, the reference) -> GEE in points and as odds ratio, with 95% intervals over products.

    correct ~ structure + rotation + seed, independent working correlation, groups = products, the covariance of Mancl
    and DeRouen (2001, Biometrics 57:126-134) and t with clusters - 1 degrees of freedom, as in lib.analyze.statistics.interaction. Seeds
    and rotations are fixed terms, so that the interval is for these trainings: another seed is not in it. Odds have no
    bound where a structure, rotation or seed has all or nothing correct: then the note says so.
    """
    found = {structure: {"gee_note": ""} for structure in structures[1:]}
    for family, keys in ((sm.families.Gaussian(), GEE[:3]), (sm.families.Binomial(), GEE[3:6])):
        is_odds = keys[0] == "gee_odds_ratio"
        reasons = {structure: _inestimable(rows, structures[0], structure, is_odds) for structure in structures[1:]}
        kept = [structure for structure in structures[1:] if not reasons[structure]]
        ends = _fitted(rows[rows.structure.isin([structures[0], *kept])], kept, family) if kept else {}
        for structure in structures[1:]:
            found[structure] |= dict(zip(keys, ends[structure], strict=True)) if structure in ends else {}
            note = reasons[structure] or ("" if structure in ends else "nothing varies between the products")
            if note and note not in found[structure]["gee_note"]:
                found[structure]["gee_note"] = "; ".join(filter(None, [found[structure]["gee_note"], note]))
    return found


def _inestimable(rows: pd.DataFrame, reference: str, structure: str, is_odds: bool) -> str:
    """Why the GEE cannot be estimated; "" where it can."""
    both = rows[rows.structure.isin([reference, structure])]
    if (clusters := both["product"].nunique()) < 2:
        return f"{clusters} product is no sample of products"
    if both.correct.nunique() < 2:
        return f"nothing varies: {both.correct.sum()} of {len(both)} correct"
    cells = [(term, level, cell.correct) for term in _TERMS for level, cell in both.groupby(term)] if is_odds else []
    empty = [f"{term} {level}: {correct.sum()} of {len(correct)} correct" for term, level, correct in cells
             if correct.mean() in (0, 1)]
    return f"no odds ratio, as its odds have no bound ({', '.join(empty)})" if empty else ""


def _fitted(rows: pd.DataFrame, structures: list[str], family: sm.families.Family) -> dict[str, tuple]:
    """structure -> estimate, low, high; none where its error is no number above 0."""
    design = pd.DataFrame({"constant": 1.0}, index=rows.index)
    for structure in structures:
        design[structure] = (rows.structure == structure).astype(float)
    for term in ("rotation", "seed"):
        for level in sorted(rows[term].unique())[1:]:
            design[f"{term} {level}"] = (rows[term] == level).astype(float)
    if np.linalg.matrix_rank(design) < design.shape[1]:  # one rotation a seed: the two cannot be told apart
        design = design.loc[:, [column for column in design if not column.startswith("rotation ")]]
    model = sm.GEE(rows.correct.astype(float), design, groups=rows["product"], family=family,
                   cov_struct=sm.cov_struct.Independence())
    result = model.fit(cov_type="bias_reduced")
    errors = np.sqrt(np.clip(np.diag(result.cov_params()), 0, None))
    reach = pd.Series(t.ppf(0.975, rows["product"].nunique() - 1) * errors, design.columns)
    is_odds = isinstance(family, sm.families.Binomial)
    ends = {name: np.array([result.params[name], result.params[name] - reach[name], result.params[name] + reach[name]])
            for name in structures if reach[name] > ROUNDING}
    return {name: tuple(np.exp(value) if is_odds else 100 * value) for name, value in ends.items()}


def is_found(row) -> bool:
    """Whether a row of `contrasts` or `interventions` says that there is an effect.

    Holm's p is at most 5%, which speaks of these trainings alone, and the interval is without 0 and over seeds too:
    with one seed nothing is found.
    """
    low, high = (row.low, row.high) if hasattr(row, "low") else (row.low_points, row.high_points)
    return bool(row.p_holm <= ALPHA and row.interval == BOTH and (low > 0 or high < 0))


def contrasts_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """`contrasts` as text, a row a measure and structure."""
    return pd.DataFrame([{
        "measure": MEASURES[row.measure].label, "structure – reference": f"{row.structure} – {row.reference}",
        "facts (products), seeds": f"{row.n} ({row.clusters}), {row.seeds}"
        + (f"; {row.left_out} of {row.pairs + row.left_out} pairs left out" if row.left_out else ""),
        "means": f"{mean_text(row.mean_reference, row.unit)} → {mean_text(row.mean_structure, row.unit)}",
        "only reference / only structure": "–" if np.isnan(row.only_reference) else
        f"{row.only_reference:.0f} / {row.only_structure:.0f} of {row.pairs}",
        "difference [95%]": difference_text(row.estimate, row.low, row.high, row.unit),
        "the interval holds": row.interval,
        "p (of these trainings)": p_value(row.p) + (f" ({row.p_note})" if row.p_note else ""),
        "p (Holm)": p_value(row.p_holm),
        "GEE, points": in_points(row.gee_points, row.gee_low, row.gee_high) if row.measure == "correct" else "–",
        "GEE, odds ratio": _ratio_text(row)} for row in table.itertuples()])


def difference_text(estimate: float, low: float, high: float, unit: str) -> str:
    """An estimate with its interval and unit: "-7.2 [-12.0, -2.4] points"; nats with three digits."""
    if np.isnan(estimate):
        return "–"
    if unit == POINTS:
        return f"{in_points(estimate, low, high)} {unit}"
    return f"{estimate:+.3f} " + ("[–]" if np.isnan(low) else f"[{low:+.3f}, {high:+.3f}]") + f" {unit}"


def mean_text(mean: float, unit: str) -> str:
    """A mean of a measure: "31.5%", or nats with three digits."""
    return "–" if np.isnan(mean) else f"{mean:.1f}%" if unit == POINTS else f"{mean:.3f}"


def _ratio_text(row) -> str:
    if np.isnan(row.gee_odds_ratio):
        return row.gee_note or "–"
    return f"{row.gee_odds_ratio:.2f} [{row.gee_or_low:.2f}, {row.gee_or_high:.2f}]"
