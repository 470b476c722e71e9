"""Estimate whether a change of arm helps one structure more than another, in one clustered model.

The paper asks this about normalization and lists (section 5.1), comparing percentages by eye.
"""

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy.stats import f, t

from lib.analyze.format import estimate, in_points, named_p, p_value
from lib.analyze.statistics.paired import side_by_side
from lib.analyze.stats import ALPHA, ROUNDING, cluster_mean
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
    the estimate is (gain of the structure) - (gain of the reference) on the queries scored in both
    arms, with the error and degrees of freedom of stats.cluster_mean. On "odds ratio" it is the
    ratio of the two odds ratios: a coefficient of arm x structure in a GEE with independent working
    correlation and the sandwich covariance over clusters of Mancl and DeRouen (2001, Biometrics
    57:126-134), which is made for few clusters. Its t, and the F of the joint tests, have those
    degrees of freedom (F the fewest). What cannot be estimated is NaN, with the reason in `note`; a
    difference in points is given even if it has no interval.
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
        tests = {name: {"estimate": 100 * _gap(both, name, reference)[0]}
                 for name in others if scale == POINTS}
        tests |= _fitted(both, [reference, *kept], family, scale) if kept else {}
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
    effect, covariance = result.params[terms], result.cov_params().loc[terms, terms].to_numpy()
    error = np.sqrt(np.clip(np.diag(covariance), 0, None))
    gaps = [_gap(both, name, structures[0]) for name in structures[1:]]
    fewest = min(freedom for *_, freedom in gaps)
    ends = [gap[:2] for gap in gaps] if scale == POINTS else zip(effect, error, strict=True)
    found = {name: _test(*pair, freedom, scale)
             for name, pair, (*_, freedom) in zip(structures[1:], ends, gaps, strict=True)}
    is_regular = len(terms) <= fewest and np.linalg.matrix_rank(covariance) == len(terms)
    if (error > ROUNDING).all() and is_regular:
        wald = float(effect.to_numpy() @ np.linalg.solve(covariance, effect.to_numpy()))
        found[JOINT] = {"p": float(f.sf(wald / len(terms), len(terms), fewest))}
    return found


def _gap(both: pd.DataFrame, structure: str, reference: str) -> tuple[float, float, float]:
    """Return gain of `structure` - gain of `reference`, in fractions: see cluster_mean."""
    both = both[both.structure.isin([structure, reference])]
    return cluster_mean(both.second - both["first"], both.cluster,
                        (both.structure == structure).to_numpy())


def _test(value: float, error: float, freedom: float, scale: str) -> dict:
    """Return estimate, low, high and p, or the estimate in points with a note."""
    if not error > ROUNDING:
        return ({"estimate": 100 * value} if scale == POINTS else {}) | {
            "note": "nothing varies between the clusters, so there is no error to judge by"}
    reach = t.ppf(1 - ALPHA / 2, freedom) * error
    ends = np.array([value, value - reach, value + reach])
    ends = np.clip(100 * ends, -200, 200) if scale == POINTS else np.exp(ends)
    return dict(zip(("estimate", "low", "high", "p"), (
        *map(float, ends), float(2 * t.sf(abs(value / error), freedom))), strict=True))


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
    known = [f"{row.contrast} {in_points(row.estimate, row.low, row.high)} ({named_p(row.p)}, "
             f"n = {row.n} queries in {row.clusters} cluster{'s' * (row.clusters != 1)}"
             f"{f'; {row.note}' if row.note else ''})"
             for row in rows if not np.isnan(row.estimate)]
    unknown = [f"{row.contrast} cannot be estimated ({row.note})"
               for row in rows if np.isnan(row.estimate)]
    joint = table[(table.scale == POINTS) & (table.contrast == JOINT)].p.dropna()
    sentences = []
    if known:
        sentences.append(f"Gains from {rows[0].first} to {rows[0].second} differ, in points, by "
                         f"{listed(known)}.")
    if len(joint):
        sentences.append(f"Both contrasts jointly: {named_p(joint.iloc[0])}.")
    if unknown:
        sentences.append(f"{listed(unknown)}.")
    return " ".join(sentences)
