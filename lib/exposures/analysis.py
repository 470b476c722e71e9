"""Effects over bases: structures and arms on the same facts, by number of exposures; figures."""

from collections.abc import Callable, Iterable
from pathlib import Path

import jinja2
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from scipy.optimize import minimize
from scipy.special import expit, stdtr, xlog1py, xlogy

from lib.analyze import plots
from lib.analyze.stats import ALPHA, LEAST_FLIPS, holm, over_units
from lib.analyze.tables import estimate, p_value
from lib.core.arms import RAW
from lib.core.records import STRUCTURES, prose, structure_of
from lib.core.store import made_by, package_file, require_path
from lib.lab.records import ATTRIBUTES

NATS, POINTS, DOUBLINGS = "nats per token", "points", "doublings"
MEASURES = {"question": NATS, "record": NATS, "answered": POINTS, "stored": POINTS}
WORDED = "paraphrase-8"
REGIME = ["learning_rate", "replay_share"]
EVERY, SCALAR, LIST_VALUED = "all", "scalar", "list-valued"  # facts, by the form of their value
_LISTS = [attribute.label for attribute in ATTRIBUTES if attribute.is_list]
_LOOK = plots.series_look(STRUCTURES)
_LINES = {"hue": "structure", "style": "structure", "style_order": _LOOK["hue_order"], **_LOOK}
_LINES |= {"dashes": False, "err_kws": {"alpha": 0.15, "lw": 0}}


def read_rows(folder: Path, seeds: Iterable[int] = ()) -> pd.DataFrame:
    """The rows of <seed>.csv.gz in `folder`, with a column `base`; default: all seeds.

    Raises BadInput if a file is missing.
    """
    paths = [folder / f"{seed}.csv.gz" for seed in seeds] or sorted(folder.glob("[!.]*.csv.gz"))
    rows = [
        pd.read_csv(require_path(path, made_by("outcomes"))).assign(
            base=int(path.name.partition(".")[0])
        )
        for path in paths or [folder / "*.csv.gz"]
    ]
    return pd.concat(rows, ignore_index=True)


def commonest(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the regime that most rows have, the first if equal."""
    return rows[(rows[REGIME] == list(rows.groupby(REGIME).size().idxmax())).all(axis=1)]


def by_value(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows of all facts, of scalar ones, and of those whose value is a list."""
    is_list = rows.attribute.isin(_LISTS)
    parts = {EVERY: rows, SCALAR: rows[~is_list], LIST_VALUED: rows[is_list]}
    return {name: part for name, part in parts.items() if len(part)}


def curve(rows: pd.DataFrame) -> pd.DataFrame:
    """Return each measure by arm, naming, structure and exposures: mean and 95% t over bases.

    Shares are in percent.
    """
    keys = ["arm", "is_named", "structure", "exposures"]
    values = _means(rows, [*keys, "base"]).rename_axis(columns="measure").stack()
    return _over_bases(values).drop(columns=["p", "p_flips"])


def structure_effects(rows: pd.DataFrame) -> pd.DataFrame:
    """Return each base's difference of a structure to prose, averaged over facts and exposures.

    Of raw text; columns contrast, is_named, measure, base, value. Every fact has each structure
    once, so the differences are between the same facts.
    """
    return _to_prose(_means(_raw(rows), ["base", "is_named", "structure"]))


def arm_effects(rows: pd.DataFrame) -> pd.DataFrame:
    """Return each base's gain of an arm over raw text on the same facts in the same rotation.

    Columns as in structure_effects, with `structure`, that of the raw record.
    """
    keys = ["base", "rotation", "product", "attribute", "exposures"]
    arms = {name: own.set_index(keys) for name, own in _trained(rows).groupby("arm", sort=False)}
    raw, found = arms.pop(RAW), {}
    for arm, own in arms.items():
        gained = (own[list(MEASURES)] - raw[list(MEASURES)]).dropna()  # in the arm's rotations
        both = raw[["is_named", "structure"]].join(gained, how="inner").reset_index()
        found[f"{arm} - {RAW}"] = _means(both, ["base", "is_named", "structure"])
    return _long(found)


def gains_by_exposures(rows: pd.DataFrame) -> pd.DataFrame:
    """Return each arm's gain over raw text in points answered, by number of exposures.

    Means over facts, structures and naming, then over bases with a 95% t interval.
    """
    parts = _trained(rows).groupby("exposures")
    gains = pd.concat(arm_effects(part).assign(exposures=exposures) for exposures, part in parts)
    keys = ["exposures", "contrast", "base"]
    each = gains[gains.measure == "answered"].groupby(keys).value.mean()
    return _over_bases(each.swaplevel(0, 1))


def ratios(rows: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return how many doublings of exposures more a structure needs than prose, base by base.

    A logistic regression per base and naming: `measure` on log2 of exposures and structure; the
    value is minus the structure's coefficient over that of log2. Columns as structure_effects.
    """
    return _fitted(rows, measure, _fit_ratios).assign(measure=measure)


def ceilings(rows: pd.DataFrame) -> pd.DataFrame:
    """Fit answers = ceiling / (1 + (half / exposures)^slope) per base and naming, by likelihood.

    Columns base, is_named, structure, ceiling (a share), half (exposures to half of the ceiling);
    structures share the slope. NaN where half lies beyond the last exposure: not determined.
    """
    return _fitted(rows, "answered", _fit_ceilings)


def ceiling_effects(rows: pd.DataFrame) -> pd.DataFrame:
    """Return, base by base, a structure's ceiling and exposures to half of it over prose's.

    Values are doublings (log2 of a ratio); columns as structure_effects.
    """
    fitted = ceilings(rows).set_index(["base", "is_named", "structure"])
    return _to_prose(np.log2(fitted))


def _fitted(
    rows: pd.DataFrame, measure: str, fit: Callable[[pd.DataFrame], pd.DataFrame]
) -> pd.DataFrame:
    found = []
    for (base, is_named), cells in _raw(rows).groupby(["base", "is_named"]):
        counts = cells.groupby(["structure", "exposures"])[measure].agg(["sum", "size"])
        found.append(fit(counts.reset_index()).assign(base=base, is_named=is_named))
    return pd.concat(found, ignore_index=True)


def _fit_ratios(counts: pd.DataFrame) -> pd.DataFrame:
    import statsmodels.genmod.api as sm  # a third of the time of statsmodels.api

    others = _others(counts.structure)
    dummies = [counts.structure == name for name in others]
    x = np.column_stack([np.ones(len(counts)), np.log2(counts.exposures), *dummies]).astype(float)
    y = np.column_stack([counts["sum"], counts["size"] - counts["sum"]])
    _, slope, *coefficients = sm.GLM(y, x, family=sm.families.Binomial()).fit().params
    values = -np.array(coefficients) / (slope if slope > 0 else np.nan)
    return pd.DataFrame({"contrast": [f"{name} - {prose()}" for name in others], "value": values})


def _fit_ceilings(counts: pd.DataFrame) -> pd.DataFrame:
    names = [name for name in STRUCTURES if (counts.structure == name).any()]
    column, n = counts.structure.map(names.index).to_numpy(), len(names)
    doublings = np.log2(counts.exposures.to_numpy(float))
    right, asked = counts["sum"].to_numpy(float), counts["size"].to_numpy(float)

    def loss(point: np.ndarray) -> float:  # ceilings in logits, halves in doublings, log slope
        steps = np.exp(point[-1].clip(-5, 5)) * (doublings - point[n:-1][column])
        share = (expit(point[:n][column]) * expit(steps)).clip(1e-9, 1 - 1e-9)
        return -(xlogy(right, share) + xlog1py(asked - right, -share)).sum()

    best = minimize(loss, np.repeat([-1.5, 4.0, 0.0], [n, n, 1]), method="L-BFGS-B").x
    halves = np.where(best[n:-1] <= doublings.max(), best[n:-1], np.nan)
    tops = np.where(np.isnan(halves), np.nan, expit(best[:n]))
    return pd.DataFrame({"structure": names, "ceiling": tops, "half": 2**halves})


def summarize(values: pd.DataFrame, unit: str, margin: float = np.nan) -> pd.DataFrame:
    """Return the mean over bases of each contrast: t interval, exact sign flips, equivalence.

    p_equivalent is of the two one-sided t tests against -margin and +margin.
    """
    keys = [name for name in ("contrast", "structure", "is_named", "measure") if name in values]
    table = _over_bases(values.set_index([*keys, "base"]).value)
    error = (table.sd / table.n**0.5).where(table.sd > 0)
    equal = stdtr(table.n - 1, (table.estimate.abs() - margin) / error)
    table = table.assign(unit=unit, is_primary=False, p_equivalent=equal)
    return table.rename(columns={"n": "bases", "estimate": "mean"})


def effects(rows: pd.DataFrame, margin: float, primary: tuple[str, str]) -> pd.DataFrame:
    """Return all structure effects and ratios of raw text, summarized; `primary` has two measures.

    Primary, one family of Holm: tables to prose in named statements, of the first in its own unit,
    with equivalence within `margin`, and of the second in doublings of exposures. Means are over
    exposures, `last` is after the last one; `facts` is EVERY, SCALAR or LIST_VALUED.
    """
    found = []
    for facts, part in by_value(rows).items():
        values = structure_effects(part)
        last = structure_effects(part[part.exposures == part.exposures.max()])
        for name, unit in MEASURES.items():
            limit = margin if unit == NATS else np.nan
            mean = summarize(values[values.measure == name], unit, limit)
            end = summarize(last[last.measure == name], unit)
            mean = mean.assign(facts=facts, last=end["mean"], last_low=end.low, last_high=end.high)
            found.append(mean)
        if facts != LIST_VALUED:  # too few are answered for a fit per base
            found.append(summarize(ceiling_effects(part), DOUBLINGS).assign(facts=facts))
    for name in ("stored", "answered"):
        found.append(summarize(ratios(rows, name), DOUBLINGS).assign(facts=EVERY))
    table = pd.concat(found, ignore_index=True)
    measure = np.where(table.unit == DOUBLINGS, primary[1], primary[0])
    is_table = table.contrast == f"{structure_of('table').name} - {prose()}"
    is_first = is_table & table.is_named.astype(bool) & (table.facts == EVERY)
    table["is_primary"] = is_first & (table.measure == measure)
    return table.assign(p_holm=holm(table.p_flips[table.is_primary], 2))


def answer(table: pd.DataFrame) -> str:
    """Answer from `effects`: the two registered differences, and what the second supposes."""
    first, second = table[table.is_primary].sort_values("unit", ascending=False).itertuples()
    text = package_file("exposures/answer.md.j2").read_text("utf-8")
    return jinja2.Template(text).render(
        first=first,
        second=second,
        alpha=ALPHA,
        least=LEAST_FLIPS,
        estimate=estimate,
        p_value=p_value,
    )


def retained(runs: pd.DataFrame) -> pd.DataFrame:
    """Return, by regime and arm, the last scores and the fall in public questions answered.

    Falls are in points from the base, which has exposures 0; means and 95% t over bases.
    """
    ordered = runs.sort_values("exposures").groupby([*REGIME, "arm", "base", "rotation"])
    falls = 100 * (ordered.public_answered.first() - ordered.public_answered.last())
    return _over_bases(falls.groupby(level=[*REGIME, "arm", "base"]).mean())


def _over_bases(values: pd.Series) -> pd.DataFrame:
    keys = [name for name in values.index.names if name != "base"]
    groups = values.groupby(level=keys, sort=False)
    return pd.DataFrame(
        [dict(zip(keys, cell, strict=True)) | over_units(each) for cell, each in groups]
    )


def _trained(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows.exposures > 0]


def _raw(rows: pd.DataFrame) -> pd.DataFrame:
    return _trained(rows[rows.arm == RAW])


def _others(present: Iterable[str]) -> list[str]:
    return [name for name in STRUCTURES if name != prose() and name in set(present)]


def _to_prose(values: pd.DataFrame) -> pd.DataFrame:
    first = values.xs(prose(), level="structure")
    found = {
        f"{name} - {prose()}": values.xs(name, level="structure") - first
        for name in _others(values.index.unique("structure"))
    }
    return _long(found)


def _means(rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    means = rows.groupby(keys)[list(MEASURES)].mean()
    means[["answered", "stored"]] *= 100
    return means


def _long(found: dict[str, pd.DataFrame]) -> pd.DataFrame:
    if not found:
        return pd.DataFrame()
    table = pd.concat(found, names=["contrast"])
    return table.melt(var_name="measure", ignore_index=False).reset_index()


@plots.styled
def draw_answers(rows: pd.DataFrame) -> plots.Drawn:
    """Draw named facts answered by exposures, by the form of their value, and what 8 wordings gain.

    Bands are 95% over bases; dashes are the ceilings of a fit to all bases together. Without that
    arm, the last panel has the facts memorized.
    """
    named, found = rows[rows.is_named == 1], []
    figure, (*panels, last) = plots.panels(3, 2.6)
    for axes, (facts, part) in zip(panels, list(by_value(named).items())[1:], strict=True):
        cells = curve(part[part.arm == RAW]).query("measure == 'answered'")
        _draw_lines(axes, _trained(cells), **_LINES)
        tops = ceilings(part.assign(base=0)).set_index("structure").ceiling
        for index, name in enumerate(STRUCTURES):
            axes.axhline(100 * tops[name], ls="--", lw=0.8, color=plots.color(index, name))
        axes.set(ylabel=f"{facts.capitalize()} facts answered (%)", ylim=(0, None))
        found.append(cells.assign(facts=facts, ceiling=100 * cells.structure.map(tops)))
    if WORDED in rows.arm.unique():
        gains = gains_by_exposures(rows)
        shown = gains[gains.contrast == f"{WORDED} - {RAW}"]
        last.axhline(0, color="0.6", lw=0.8, zorder=0)
        _draw_lines(last, shown, color="C3", marker="D", err_style="bars")
        last.set(ylabel="Gain of 8 wordings (points)")
    else:
        shown = _trained(curve(named[named.arm == RAW]).query("measure == 'stored'"))
        _draw_lines(last, shown, **_LINES)
        last.set(ylabel="Facts memorized (%)", ylim=(0, None))
    points = sorted(shown.exposures.unique())
    for axes in (*panels, last):
        axes.set_xscale("log", base=2)
        axes.set_xticks(points, [*map(str, points)], fontsize=7)
        axes.set_xlabel("Exposures")
    plots.finish(figure, "Dashed: the ceiling of a fitted curve")
    return figure, pd.concat([*found, shown], ignore_index=True)


def _draw_lines(axes: Axes, cells: pd.DataFrame, **look: object) -> None:
    how = {"x": "exposures", "y": "drawn", "markersize": 3.5, "mew": 0, "estimator": "median"}
    drawn = plots.with_ends(cells, ["estimate", "low", "high"])
    plots.seaborn.lineplot(drawn, ax=axes, errorbar=("pi", 100), **how, **look)
