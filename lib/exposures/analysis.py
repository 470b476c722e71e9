"""Effects over bases: structures and arms on the same facts, by number of exposures."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit, xlog1py, xlogy

from lib.analyze.format import estimate, p_value
from lib.analyze.stats import ALPHA, LEAST_FLIPS, holm, over_units
from lib.core.records import STRUCTURES, prose, structure_of
from lib.exposures.arms import RAW
from lib.lab.records import ATTRIBUTES

NATS, POINTS, DOUBLINGS = "nats per token", "points", "doublings"
MEASURES = {"question": NATS, "record": NATS, "answered": POINTS, "stored": POINTS}
NAMING = {True: "named", False: "title only"}  # where a record has the product's name
REGIME = ["learning_rate", "replay_share"]
EVERY, SCALAR, LIST_VALUED = "all", "scalar", "list-valued"  # facts, by the form of their value
_LISTS = [attribute.label for attribute in ATTRIBUTES if attribute.is_list]


def curve(rows: pd.DataFrame) -> pd.DataFrame:
    """Return each measure by arm, naming, structure and exposures: mean and 95% t over bases.

    Shares are in percent.
    """
    keys = ["arm", "is_named", "structure", "exposures"]
    found = [
        dict(zip(keys, cell, strict=True)) | {"measure": name} | over_units(values[name])
        for cell, values in _scaled(rows.groupby([*keys, "base"])).groupby(level=keys)
        for name in MEASURES
    ]
    return pd.DataFrame(found).drop(columns=["p", "p_flips"])


def structure_effects(rows: pd.DataFrame, arm: str = RAW) -> pd.DataFrame:
    """Return each base's difference of a structure to prose, averaged over facts and exposures.

    Columns contrast, is_named, measure, base, value. Every fact has each structure once, so the
    differences are between the same facts.
    """
    read = _trained(rows[rows.arm == arm])
    means = _scaled(read.groupby(["base", "is_named", "structure"]))
    first = means.xs(prose(), level="structure")
    found = [
        (means.xs(name, level="structure") - first).assign(contrast=f"{name} - {prose()}")
        for name in STRUCTURES
        if name != prose() and name in read.structure.unique()
    ]
    return _long(pd.concat(found)) if found else pd.DataFrame()


def arm_effects(rows: pd.DataFrame) -> pd.DataFrame:
    """Return each base's gain of an arm over raw text on the same facts in the same rotation.

    Columns as in structure_effects, with `structure`, that of the raw record.
    """
    keys = ["base", "rotation", "product", "attribute", "exposures"]
    read, found = _trained(rows), []
    raw = read[read.arm == RAW].set_index(keys)
    for arm in (name for name in read.arm.unique() if name != RAW):
        own = read[read.arm == arm].set_index(keys)
        gained = (own[list(MEASURES)] - raw[list(MEASURES)]).dropna()  # in the arm's rotations
        both = raw[["is_named", "structure"]].join(gained, how="inner")
        means = _scaled(both.reset_index().groupby(["base", "is_named", "structure"]))
        found.append(_long(means.assign(contrast=f"{arm} - {RAW}")))
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame()


def ratios(rows: pd.DataFrame, measure: str, arm: str = RAW) -> pd.DataFrame:
    """Return how many doublings of exposures more a structure needs than prose, base by base.

    A logistic regression per base and naming: `measure` on log2 of exposures and structure; the
    value is minus the structure's coefficient over that of log2. Columns as structure_effects.
    """
    import statsmodels.api as sm  # slow to import

    read = _trained(rows[rows.arm == arm])
    found = []
    for (base, is_named), cells in read.groupby(["base", "is_named"]):
        counts = cells.groupby(["structure", "exposures"])[measure].agg(["sum", "size"])
        counts = counts.reset_index()
        others = [
            name for name in STRUCTURES if name != prose() and (counts.structure == name).any()
        ]
        x = np.column_stack(
            [
                np.ones(len(counts)),
                np.log2(counts.exposures),
                *((counts.structure == name) for name in others),
            ]
        ).astype(float)
        y = np.column_stack([counts["sum"], counts["size"] - counts["sum"]])
        fit = sm.GLM(y, x, family=sm.families.Binomial()).fit()
        slope = fit.params[1] if fit.params[1] > 0 else np.nan
        found += [
            {
                "contrast": f"{name} - {prose()}",
                "is_named": is_named,
                "measure": measure,
                "base": base,
                "value": -coefficient / slope,
            }
            for name, coefficient in zip(others, fit.params[2:], strict=True)
        ]
    return pd.DataFrame(found)


def by_value(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows of all facts, of scalar ones, and of those whose value is a list."""
    is_list = rows.attribute.isin(_LISTS)
    parts = {EVERY: rows, SCALAR: rows[~is_list], LIST_VALUED: rows[is_list]}
    return {name: part for name, part in parts.items() if len(part)}


def ceilings(rows: pd.DataFrame, arm: str = RAW) -> pd.DataFrame:
    """Fit answers = ceiling / (1 + (half / exposures)^slope) per base and naming, by likelihood.

    Columns base, is_named, structure, ceiling (a share), half (exposures to half of the ceiling);
    structures share the slope. NaN where half lies beyond the last exposure: not determined.
    """
    read, found = _trained(rows[rows.arm == arm]), []
    for (base, is_named), cells in read.groupby(["base", "is_named"]):
        counts = cells.groupby(["structure", "exposures"]).answered.agg(["sum", "size"])
        fitted = _fit_ceilings(counts.reset_index()).assign(base=base, is_named=is_named)
        found.append(fitted)
    return pd.concat(found, ignore_index=True)


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


def ceiling_effects(rows: pd.DataFrame) -> pd.DataFrame:
    """Return, base by base, a structure's ceiling and exposures to half of it over prose's.

    Values are doublings (log2 of a ratio); columns as structure_effects.
    """
    fitted = ceilings(rows).set_index(["base", "is_named", "structure"])
    values = np.log2(fitted).unstack("structure")
    found = [
        (values[measure][name] - values[measure][prose()])
        .rename("value")
        .reset_index()
        .assign(measure=measure, contrast=f"{name} - {prose()}")
        for measure in ("ceiling", "half")
        for name in list(values[measure])
        if name != prose()
    ]
    return pd.concat(found, ignore_index=True)


def gains_by_exposures(rows: pd.DataFrame) -> pd.DataFrame:
    """Return each arm's gain over raw text in points answered, by number of exposures.

    Means over facts, structures and naming, then over bases with a 95% t interval.
    """
    found = []
    for exposures, part in rows[rows.exposures > 0].groupby("exposures"):
        gains = arm_effects(part)
        if len(gains):
            each = gains[gains.measure == "answered"].groupby(["contrast", "base"]).value.mean()
            found += [
                {"contrast": name, "exposures": exposures} | over_units(values)
                for name, values in each.groupby(level=0)
            ]
    return pd.DataFrame(found)


def summarize(
    values: pd.DataFrame, unit: str, primary: Sequence[tuple] = (), margin: float = np.nan
) -> pd.DataFrame:
    """Return the mean over bases of each contrast: t interval, exact sign flips, equivalence.

    `primary` has (contrast, is_named, measure). p_equivalent is of the two one-sided t tests
    against -margin and +margin.
    """
    from statsmodels.stats.weightstats import DescrStatsW  # slow to import

    keys = [name for name in ("contrast", "structure", "is_named", "measure") if name in values]
    found = []
    for cell, one in values.groupby(keys, sort=False):
        known = one.value.dropna()
        equal = np.nan
        if len(known) > 1 and known.std() > 0 and margin == margin:
            equal = DescrStatsW(known).ttost_mean(-margin, margin)[0]
        row = dict(zip(keys, cell, strict=True))
        named = tuple(row[key] for key in ("contrast", "is_named", "measure"))
        found.append(
            row
            | {
                "unit": unit,
                "is_primary": named in primary,
                **over_units(one.value),
                "p_equivalent": equal,
            }
        )
    return pd.DataFrame(found).rename(columns={"n": "bases", "estimate": "mean"})


def retained(runs: pd.DataFrame) -> pd.DataFrame:
    """Return, by regime and arm, the last scores and the fall in public questions answered.

    Falls are in points from the base, which has exposures 0; means and 95% t over bases.
    """
    return pd.DataFrame(
        [
            dict(zip([*REGIME, "arm"], cell, strict=True)) | over_units(values)
            for cell, values in _falls(runs).groupby(level=[*REGIME, "arm"])
        ]
    )


def _falls(runs: pd.DataFrame) -> pd.Series:
    ordered = runs.sort_values("exposures").groupby([*REGIME, "arm", "base", "rotation"])
    falls = 100 * (ordered.public_answered.first() - ordered.public_answered.last())
    return falls.groupby(level=[*REGIME, "arm", "base"]).mean()


def _trained(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows.exposures > 0]


def _scaled(groups) -> pd.DataFrame:
    means = groups[list(MEASURES)].mean()
    means[["answered", "stored"]] *= 100
    return means


def _long(means: pd.DataFrame) -> pd.DataFrame:
    table = means.reset_index()
    keys = [name for name in table if name not in MEASURES]
    return table.melt(keys, list(MEASURES), "measure", "value")


def effects(rows: pd.DataFrame, margin: float, primary: tuple[str, str]) -> pd.DataFrame:
    """Return all structure effects and ratios of raw text, summarized; `primary` has two measures.

    Primary, one family of Holm: tables to prose in named statements, of the first in its own unit,
    with equivalence within `margin`, and of the second in doublings of exposures. Means are over
    exposures, `last` is after the last one; `facts` is EVERY, SCALAR or LIST_VALUED.
    """
    table, (first, second), found = f"{structure_of('table').name} - {prose()}", primary, []
    for facts, part in by_value(rows).items():
        values = structure_effects(part)
        last = structure_effects(part[part.exposures == part.exposures.max()])
        for name, unit in MEASURES.items():
            tested = [(table, True, name)] * (facts == EVERY and name == first)
            mean, end = (
                summarize(every[every.measure == name], unit, tested, limit)
                for every, limit in ((values, margin if unit == NATS else np.nan), (last, np.nan))
            )
            ends = {"last": end["mean"], "last_low": end.low, "last_high": end.high}
            found.append(mean.assign(facts=facts, **ends))
        if facts != LIST_VALUED:  # too few are answered for a fit per base
            found.append(summarize(ceiling_effects(part), DOUBLINGS).assign(facts=facts))
    for name in ("stored", "answered"):
        tested = [(table, True, name)] * (name == second)
        found.append(summarize(ratios(rows, name), DOUBLINGS, tested).assign(facts=EVERY))
    joined = pd.concat(found, ignore_index=True)
    return joined.assign(p_holm=holm(joined.p_flips[joined.is_primary], count_unknown=True))


def answer(table: pd.DataFrame) -> str:
    """Answer from `effects`: the two registered differences, and what the second supposes."""
    rows = list(table[table.is_primary].itertuples())
    first, second = sorted(rows, key=lambda row: row.unit == DOUBLINGS)
    if first.bases < 2:
        return "One base, which shows how this is measured: see the replicates.\n"
    shown = {row: "is" if row.p_holm <= ALPHA else "is not" for row in rows}
    if first.bases < LEAST_FLIPS:  # no pattern of signs is rare enough
        shown = dict.fromkeys(rows, "of so few bases cannot be")
    ratio = [2**value for value in (second.mean, second.low, second.high)]
    nats, end = (
        estimate(*values, digits=3, sign="+")
        for values in (
            (first.mean, first.low, first.high),
            (first.last, first.last_low, first.last_high),
        )
    )
    return (
        f"Over {first.bases} bases, the log-likelihood of the answer differs by {nats} {NATS} "
        f"between a fact in a named table row and the same fact in a sentence (mean over all "
        f"numbers of exposures; after the last {end}). A difference {shown[first]} shown (exact "
        f"sign flips, Holm p {p_value(first.p_holm)}). Equivalence within the margin is"
        f"{'' if first.p_equivalent <= ALPHA else ' not'} shown. The row needs "
        f"{estimate(*ratio, digits=2)} times the exposures to be {second.measure} as often; a "
        f"difference {shown[second]} shown (Holm p {p_value(second.p_holm)}). This ratio is from "
        "a curve that ends at 100%, so it supposes that every fact is answered in the end.\n"
    )


def frontier(rows: pd.DataFrame, kept: pd.DataFrame) -> pd.DataFrame:
    """Return, by regime and base, what raw text teaches by the last exposure, and the fall.

    `question` is in nats per token, `answered` in percent, `fall` in points of public questions.
    """
    last = rows[(rows.arm == RAW) & (rows.exposures == rows.exposures.max())]
    learned = _scaled(last.groupby([*REGIME, "base"]))
    return learned.assign(fall=_falls(kept).xs(RAW, level="arm")).reset_index()


def sized(rows: pd.DataFrame, kept: pd.DataFrame) -> pd.DataFrame:
    """Return `rows` with the parameters of their base, the median of those of its first digit.

    The vocabularies of bases of one size differ a bit.
    """
    sizes = kept.groupby("base").parameters.first()
    medians = sizes.groupby(sizes.map("{:.0e}".format)).transform("median").astype(int)
    return rows.assign(parameters=rows.base.map(medians))


def commonest(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the size and regime that most `sized` rows have, the first if equal."""
    keys = ["parameters", *REGIME]
    return rows[(rows[keys] == list(rows.groupby(keys).size().idxmax())).all(axis=1)]


def by_size(studies: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Return the structure effects of named raw text, in nats, of each base of `sized` studies."""
    found = []
    for size, rows in (pair for study in studies for pair in study.groupby("parameters")):
        values = structure_effects(commonest(rows))
        found.append(
            values[values.is_named.astype(bool) & (values.measure == "question")].assign(
                parameters=size
            )
        )
    return pd.concat(found, ignore_index=True)


def scale(sizes: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over bases of each contrast by size, with its t interval."""
    return pd.DataFrame(
        [
            {"contrast": contrast, "parameters": size, **over_units(cells.value)}
            for (contrast, size), cells in sizes.groupby(["contrast", "parameters"], sort=False)
        ]
    ).rename(columns={"estimate": "mean"})
