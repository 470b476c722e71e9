"""Does a change of arm help one structure more than another? One model of two arms on the same queries, with clusters.

The paper asks it of normalization and lists (section 5.1) and compares percentages by eye.
"""

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy.stats import f, t

from lib.analyze.format import in_points, p_value
from lib.analyze.statistics.paired import ROUNDING, side_by_side
from lib.core.records import STRUCTURES
from lib.core.text import listed

POINTS, ODDS = "points", "odds ratio"
JOINT = "any difference"
INTERACTION = ["scale", "first", "second", "contrast", "estimate", "low", "high", "p", "n", "clusters", "note"]


def interaction(rows: pd.DataFrame, first: str = "dapt", second: str = "dapt-n",
                reference: str = "natural") -> pd.DataFrame:
    """What the change from `first` to `second` does to a structure beyond what it does to `reference`.

    One row a scale and structure, and a joint test; columns INTERACTION. On the scale "points" the estimate is (gain
    of the structure) - (gain of the reference), on "odds ratio" the ratio of the two odds ratios. Both are
    coefficients of arm x structure in one GEE on the queries scored in both arms, with independent working
    correlation and the sandwich covariance over clusters of Mancl and DeRouen (2001, Biometrics 57:126-134), which
    is made for few clusters. t and F have clusters - 1 degrees of freedom (MacKinnon, Nielsen and Webb 2023, J.
    Econometrics 232:272-299). What cannot be estimated has NaN and says why in `note`.
    """
    if missing := [arm for arm in (first, second) if arm not in set(rows.arm)]:
        return pd.DataFrame([{"scale": POINTS, "first": first, "second": second, "contrast": f"any – {reference}",
                              "n": 0, "clusters": 0, "note": f"no verdicts of {' and '.join(missing)}"}],
                            columns=INTERACTION).astype({"estimate": float, "low": float, "high": float, "p": float})
    both = side_by_side(rows, first, second)
    present = [structure for structure in STRUCTURES if (both.structure == structure).any()]
    others = [structure for structure in present if structure != reference]
    if reference not in present:
        others = []
    found = []
    for scale, family in ((POINTS, sm.families.Gaussian()), (ODDS, sm.families.Binomial())):
        reasons = {name: _inestimable(both, [name, reference], scale, (first, second)) for name in others}
        kept = [structure for structure in others if not reasons[structure]]
        tests = _fitted(both, [reference, *kept], family, scale) if kept else {}
        for structure in [*others, *([JOINT] if len(kept) > 1 else [])]:
            cell = both[both.structure.isin([structure, reference] if structure != JOINT else [reference, *kept])]
            found.append({"scale": scale, "first": first, "second": second,
                          "contrast": structure if structure == JOINT else f"{structure} – {reference}",
                          **tests.get(structure, {}), "n": len(cell), "clusters": cell.cluster.nunique(),
                          "note": reasons.get(structure, "") or tests.get(structure, {}).get("note", "")})
    return pd.DataFrame(found, columns=INTERACTION)


def _inestimable(both: pd.DataFrame, structures: list[str], scale: str, arms: tuple[str, str]) -> str:
    """Why the contrast of two structures cannot be estimated on `scale`; "" where it can."""
    reasons = []
    for structure in structures:
        cell = both[both.structure == structure]
        if cell.cluster.nunique() < 2:
            reasons.append(f"{structure}: all {len(cell)} queries are one cluster")
        elif scale == ODDS:
            reasons += [f"{structure}: {cell[side].sum()} of {len(cell)} correct in {arm}, so its odds have no bound"
                        for side, arm in zip(("first", "second"), arms, strict=True) if cell[side].mean() in (0, 1)]
    if not reasons and all((both["first"] == both.second)[both.structure == structure].all()
                                               for structure in structures):
        reasons.append("no answer changed between the arms, so nothing varies")
    return "; ".join(reasons)


def _fitted(both: pd.DataFrame, structures: list[str], family: sm.families.Family, scale: str) -> dict[str, dict]:
    """structure (and JOINT) -> estimate, low, high, p; structures[0] is the reference."""
    both = both[both.structure.isin(structures)]
    long = pd.concat([both.assign(correct=both["first"], arm=0.0), both.assign(correct=both.second, arm=1.0)])
    design = pd.DataFrame({"constant": 1.0, "arm": long.arm}, index=long.index)
    for structure in structures[1:]:
        is_there = (long.structure == structure).astype(float)
        design[structure], design[f"arm x {structure}"] = is_there, is_there * long.arm
    result = sm.GEE(long.correct, design, groups=long.cluster, family=family,
                    cov_struct=sm.cov_struct.Independence()).fit(cov_type="bias_reduced")
    terms = [f"arm x {structure}" for structure in structures[1:]]
    freedom = both.cluster.nunique() - 1
    estimate, covariance = result.params[terms], result.cov_params().loc[terms, terms]
    error = pd.Series(np.sqrt(np.clip(np.diag(covariance), 0, None)), terms)
    reach = t.ppf(0.975, freedom) * error
    ends = [100 * value if scale == POINTS else np.exp(value)
            for value in (estimate, estimate - reach, estimate + reach)]
    found = {}
    for structure, term in zip(structures[1:], terms, strict=True):
        if error[term] > ROUNDING:
            found[structure] = {"estimate": ends[0][term], "low": ends[1][term], "high": ends[2][term],
                                "p": float(2 * t.sf(abs(estimate[term] / error[term]), freedom))}
        else:
            found[structure] = {"note": "nothing varies between the clusters, so there is no error to judge by"}
    between = covariance.to_numpy()
    if (error > ROUNDING).all() and len(terms) <= freedom and np.linalg.matrix_rank(between) == len(terms):
        wald = float(estimate.to_numpy() @ np.linalg.solve(between, estimate.to_numpy())) / len(terms)
        found[JOINT] = {"p": float(f.sf(wald, len(terms), freedom))}
    return found


def interaction_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """`interaction` as text, a row a scale and contrast."""
    return pd.DataFrame([{
        "arms": f"{row.first} → {row.second}", "gain of … beyond …": row.contrast, "scale": row.scale,
        "estimate [95%]": in_points(row.estimate, row.low, row.high) if row.scale == POINTS else
        "–" if np.isnan(row.estimate) else f"{row.estimate:.2f} [{row.low:.2f}, {row.high:.2f}]",
        "p": p_value(row.p), "n (clusters)": f"{row.n} ({row.clusters})", "note": row.note}
        for row in table.itertuples()])


def told(table: pd.DataFrame) -> str:
    """The contrasts in points as one or two sentences, written from `interaction`."""
    rows = list(table[(table.scale == POINTS) & (table.contrast != JOINT)].itertuples())
    if not rows:
        return "There are no two structures whose gains could be compared."
    said = [f"for {row.contrast} by {in_points(row.estimate, row.low, row.high)} points (p = {p_value(row.p)}, n = "
            f"{row.n} queries in {row.clusters} clusters)" for row in rows if not np.isnan(row.estimate)]
    lost = [f"{row.contrast} cannot be estimated ({row.note})" for row in rows if np.isnan(row.estimate)]
    gains = f"The gain from {rows[0].first} to {rows[0].second} differs {listed(said)}." if said else ""
    joint = table[(table.scale == POINTS) & (table.contrast == JOINT)].p.dropna()
    tested = f" Both at once: p = {p_value(joint.iloc[0])}." if len(joint) else ""
    return gains + tested + (f" {listed(lost)}." if lost else "")
