"""Estimate whether a change of arm helps one structure more than another, in one clustered model.

The paper asks this about normalization and lists (section 5.1), comparing percentages by eye.
"""

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy.stats import f, t

from lib.analyze.format import estimate, in_points, p_value
from lib.analyze.statistics.paired import ROUNDING, side_by_side
from lib.core.records import STRUCTURES
from lib.core.text import listed

POINTS, ODDS = "points", "odds ratio"
JOINT = "any difference"
INTERACTION = ["scale", "first", "second", "contrast", "estimate", "low", "high", "p", "n",
               "clusters", "note"]


def interaction(rows: pd.DataFrame, first: str = "dapt", second: str = "dapt-n",
                reference: str = "natural") -> pd.DataFrame:
    """Estimate how much more a structure gains from `first` to `second` than `reference` does.

    Returns rows by scale and structure, and a joint test, as INTERACTION. On the scale "points"
    the estimate is (gain of the structure) - (gain of the reference), on "odds ratio" the ratio of
    the two odds ratios. Both are coefficients of arm x structure in one GEE on the queries scored
    in both arms, with independent working correlation and the sandwich covariance over clusters of
    Mancl and DeRouen (2001, Biometrics 57:126-134), which is made for few clusters. t and F have
    clusters - 1 degrees of freedom (MacKinnon, Nielsen and Webb 2023, J. Econometrics 232:272-299).
    What cannot be estimated is NaN, with the reason in `note`.
    """
    arms = {"first": first, "second": second}
    if missing := [arm for arm in (first, second) if arm not in set(rows.arm)]:
        found = [{"scale": POINTS, **arms, "contrast": f"any – {reference}", "n": 0, "clusters": 0,
                  "note": f"no verdicts of {' and '.join(missing)}"}]
        return pd.DataFrame(found, columns=INTERACTION).astype(
            dict.fromkeys(("estimate", "low", "high", "p"), float))
    both = side_by_side(rows, first, second)
    present = [name for name in STRUCTURES if (both.structure == name).any()]
    others = [name for name in present if name != reference] if reference in present else []
    found = []
    for scale, family in ((POINTS, sm.families.Gaussian()), (ODDS, sm.families.Binomial())):
        reasons = {name: _inestimable(both, [name, reference], scale, arms) for name in others}
        kept = [name for name in others if not reasons[name]]
        tests = _fitted(both, [reference, *kept], family, scale) if kept else {}
        for name in [*others, *([JOINT] if len(kept) > 1 else [])]:
            cell = both[both.structure.isin([reference, *(kept if name == JOINT else [name])])]
            test = tests.get(name, {})
            found.append({"scale": scale, **arms,
                          "contrast": name if name == JOINT else f"{name} – {reference}",
                          **test, "n": len(cell), "clusters": cell.cluster.nunique(),
                          "note": reasons.get(name, "") or test.get("note", "")})
    return pd.DataFrame(found, columns=INTERACTION)


def _inestimable(both: pd.DataFrame, structures: list[str], scale: str,
                 arms: dict[str, str]) -> str:
    """Say why the contrast of two structures cannot be estimated on `scale`; "" if it can."""
    reasons, cells = [], [both[both.structure == structure] for structure in structures]
    for structure, cell in zip(structures, cells, strict=True):
        if cell.cluster.nunique() < 2:
            reasons.append(f"{structure}: all {len(cell)} queries are one cluster")
        elif scale == ODDS:
            reasons += [f"{structure}: {cell[side].sum()} of {len(cell)} correct in {arm}, so its "
                        "odds are unbounded"
                        for side, arm in arms.items() if cell[side].mean() in (0, 1)]
    if not reasons and all((cell["first"] == cell.second).all() for cell in cells):
        reasons.append("no answer changed between the arms, so nothing varies")
    return "; ".join(reasons)


def _fitted(both: pd.DataFrame, structures: list[str], family: sm.families.Family,
            scale: str) -> dict[str, dict]:
    """Map each structure, and JOINT, to estimate, low, high and p, relative to structures[0]."""
    both = both[both.structure.isin(structures)]
    long = pd.concat([both.assign(correct=both["first"], arm=0.0),
                      both.assign(correct=both.second, arm=1.0)])
    design = pd.DataFrame({"constant": 1.0, "arm": long.arm}, index=long.index)
    for structure in structures[1:]:
        is_structure = (long.structure == structure).astype(float)
        design[structure], design[f"arm x {structure}"] = is_structure, is_structure * long.arm
    result = sm.GEE(long.correct, design, groups=long.cluster, family=family,
                    cov_struct=sm.cov_struct.Independence()).fit(cov_type="bias_reduced")
    terms = [f"arm x {structure}" for structure in structures[1:]]
    freedom = both.cluster.nunique() - 1
    effect, covariance = result.params[terms], result.cov_params().loc[terms, terms].to_numpy()
    error = pd.Series(np.sqrt(np.clip(np.diag(covariance), 0, None)), terms)
    reach = t.ppf(0.975, freedom) * error
    ends = [100 * value if scale == POINTS else np.exp(value)
            for value in (effect, effect - reach, effect + reach)]
    found = {}
    for structure, term in zip(structures[1:], terms, strict=True):
        if error[term] > ROUNDING:
            found[structure] = {"estimate": ends[0][term], "low": ends[1][term],
                                "high": ends[2][term],
                                "p": float(2 * t.sf(abs(effect[term] / error[term]), freedom))}
        else:
            found[structure] = {"note": "nothing varies between the clusters, so there is no error "
                                        "to judge by"}
    is_regular = len(terms) <= freedom and np.linalg.matrix_rank(covariance) == len(terms)
    if (error > ROUNDING).all() and is_regular:
        wald = float(effect.to_numpy() @ np.linalg.solve(covariance, effect.to_numpy()))
        found[JOINT] = {"p": float(f.sf(wald / len(terms), len(terms), freedom))}
    return found


def formatted_interaction(table: pd.DataFrame) -> pd.DataFrame:
    """Format `interaction` with one row per scale and contrast."""
    return pd.DataFrame([{
        "arms": f"{row.first} → {row.second}", "gain of … beyond …": row.contrast,
        "scale": row.scale,
        "estimate [95%]": estimate(row.estimate, row.low, row.high,
                                   **({"sign": "+"} if row.scale == POINTS else {"digits": 2})),
        "p": p_value(row.p), "n (clusters)": f"{row.n} ({row.clusters})", "note": row.note}
        for row in table.itertuples()])


def summary(table: pd.DataFrame) -> str:
    """Summarize the contrasts in points of `interaction` in one or two sentences."""
    rows = list(table[(table.scale == POINTS) & (table.contrast != JOINT)].itertuples())
    if not rows:
        return "There are no two structures whose gains could be compared."
    known = [f"for {row.contrast} by {in_points(row.estimate, row.low, row.high)} points "
             f"(p = {p_value(row.p)}, n = {row.n} queries in {row.clusters} clusters)"
             for row in rows if not np.isnan(row.estimate)]
    unknown = [f"{row.contrast} cannot be estimated ({row.note})"
               for row in rows if np.isnan(row.estimate)]
    joint = table[(table.scale == POINTS) & (table.contrast == JOINT)].p.dropna()
    sentences = []
    if known:
        sentences.append(f"The gain from {rows[0].first} to {rows[0].second} differs "
                         f"{listed(known)}.")
    if len(joint):
        sentences.append(f"Both contrasts jointly: p = {p_value(joint.iloc[0])}.")
    if unknown:
        sentences.append(f"{listed(unknown)}.")
    return " ".join(sentences)
