"""Estimate the gain of each intervention on the user's mix of structures (paper, 5 and 6).

The paper advises rewriting only what needs it but does not test this; here each option has an
interval.
"""

import numpy as np
import pandas as pd

from lib.analyze.advice.costs import MIXED, NORMALIZED
from lib.analyze.statistics.seeds import spread_pairs
from lib.analyze.stats import ALPHA, LEAST_ADDED, ROUNDING
from lib.core.arms import ALL, AUGMENTED, BASE, INTERVENTION, sorted_arms, split_arm
from lib.core.paths import output_root, shown
from lib.core.records import STRUCTURES

HERE, DERIVED, LABORATORY = "this study", "this study, derived", "the laboratory"
SURE, LIKELY, ONCE = "helps", "should help", "helped once"
OPEN, UNKNOWN, HARMFUL = "open", "no interval", "harms"
_POINTS = ["gain_points", "low_points", "high_points"]
GAINS = ["intervention", "evidence", "structure", "n", "clusters", "seeds", *_POINTS, "interval",
         "p_holm"]
MIX = ["intervention", "evidence", "n", "clusters", *_POINTS, "seeds", "known_share", "p_holm"]
RANKED = [*MIX, "verdict", "tokens_added_percent", "corpus_added", "points_per_percent"]
_NEEDED = {"arm", "structure", "n", *_POINTS, "seeds"}
LEAST_CLUSTERS = 3  # two documents or products give a t interval of one degree of freedom
_REWRITTEN = "dapt-n"  # the arm of the text `normalized`; any other arm is called by its name
# descriptions of the names in the tables of costs and of the laboratory's arms
WHAT = {NORMALIZED: "everything rewritten as prose",
        "normalized-llm": "everything rewritten as prose by a model",
        MIXED: "raw text together with its rewrite",
        "verbalize": "lists and tables rewritten in place",
        "targeted-entity-list": "only lists rewritten in place",
        "targeted-tabular": "only tables rewritten in place",
        "repeat-header": "the header repeated in each table cell",
        "prefix-name": "the subject's name before each item and row",
        AUGMENTED: "raw text together with synthetic texts made from it"}
DERIVABLE = {"verbalize": ("entity-list", "tabular"), "targeted-entity-list": ("entity-list",),
             "targeted-tabular": ("tabular",)}


def added_here(rows: pd.DataFrame, before: str = "dapt") -> pd.DataFrame:
    """Return what training on raw text adds to the base; empty if either was not judged.

    Below LEAST_CLUSTERS there is no interval.
    """
    if not _has_arms(rows, BASE, before):
        return pd.DataFrame(columns=["structure", "n", "difference_points", "low_points",
                                     "high_points"])
    return _with_intervals(spread_pairs(rows, [(BASE, before)]))


def gains_here(rows: pd.DataFrame, before: str = "dapt") -> pd.DataFrame:
    """Return what each other trained arm gains over `before` here, in columns GAINS.

    `rows` are those of lib.analyze.tables.joined, with clusters; there are none without `before` or
    another arm. Estimates and intervals are those of lib.analyze.statistics.seeds.spread_pairs.
    They cover seeds as well as queries only if an arm has several seeds, as `interval` says. Below
    LEAST_CLUSTERS there is no interval.
    """
    after = [arm for arm in sorted_arms({split_arm(name)[0] for name in rows.arm})
             if arm not in (BASE, before)]
    if not after or not _has_arms(rows, before):
        return pd.DataFrame(columns=GAINS)
    pairs = _with_intervals(spread_pairs(rows, [(before, arm) for arm in after]))
    pairs = pairs[pairs.structure.isin([*STRUCTURES, ALL])]
    seeds = pairs[["seeds_first", "seeds_second"]].min(axis=1)
    return pairs.assign(intervention=pairs["second"].replace(_REWRITTEN, NORMALIZED), evidence=HERE,
                        seeds=seeds, p_holm=np.nan,
                        gain_points=pairs.difference_points)[GAINS].reset_index(drop=True)


def _has_arms(rows: pd.DataFrame, *arms: str) -> bool:
    return set(arms) <= {split_arm(name)[0] for name in rows.arm.unique()}


def _with_intervals(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return `pairs` without the intervals over fewer than LEAST_CLUSTERS."""
    ends = pairs[["low_points", "high_points"]]
    return pairs.assign(**ends.where(pairs.clusters >= LEAST_CLUSTERS))


def gains_of_laboratory(study: str) -> pd.DataFrame:
    """Return the gains of a controlled study's interventions, in columns GAINS; empty if not run.

    Its controls and other factors are left out. Raises ValueError naming the columns that
    figures/<study>/interventions.csv lacks.
    """
    path = output_root() / "figures" / study / "interventions.csv"
    if not study or not path.exists():
        return pd.DataFrame(columns=GAINS)
    table = pd.read_csv(path)
    if missing := sorted(_NEEDED - set(table)):
        raise ValueError(f"{shown(path)} has no column {', '.join(missing)}: remove it and run "
                         f"`make study STUDY={study}` again")
    is_option = table.role == INTERVENTION if "role" in table else table.arm.isin(WHAT)
    table = table[is_option & table.structure.isin([*STRUCTURES, ALL])]
    table = table.rename(columns={"arm": "intervention"}).assign(evidence=LABORATORY)
    return table.reindex(columns=GAINS).reset_index(drop=True)


def on_my_mix(gains: pd.DataFrame, mix: dict[str, float]) -> pd.DataFrame:
    """Return points gained on all queries, by intervention and evidence, in columns MIX.

    The gain is the sum over structures of share × gain; `mix` has the shares of queries
    (lib.analyze.advice.costs.mix_of). This study's own "all" is used unchanged, because its queries
    are the mix. For other evidence, the ends of the intervals are summed in the same way. This is
    conservative, and valid for any correlation between structures. A structure that was not
    measured counts as no gain; known_share is the share of the mix that was measured. Derived rows
    assume that a structure gains as much as here if only some structures are rewritten; there are
    none for other text than the rewrite. n, clusters and p_holm are those of all structures
    together; p_holm is NaN except in the laboratory.
    """
    rows = []
    for (intervention, evidence), cells in gains.groupby(["intervention", "evidence"], sort=False):
        cells = cells.set_index("structure")
        options, called = {intervention: STRUCTURES}, evidence
        whole = {name: cells[name].get(ALL, np.nan) for name in ("n", "clusters", "p_holm")}
        if evidence == HERE:
            rows.append({**cells.loc[ALL], "intervention": intervention, "known_share": 1.0})
            options, called = DERIVABLE if intervention == NORMALIZED else {}, DERIVED
        for name, structures in options.items():
            if any(mix.get(structure) for structure in structures):
                rows.append({"intervention": name, "evidence": called, "seeds": cells.seeds.min(),
                             **whole, **_weighted(cells, mix, structures)})
    return pd.DataFrame(rows, columns=MIX)


def _weighted(cells: pd.DataFrame, mix: dict[str, float],
              structures: tuple[str, ...]) -> dict[str, float]:
    """Return gain and interval summed by share over `structures`, and the share that is known."""
    measured = cells.index[cells.gain_points.notna()]
    known = [name for name in structures if mix.get(name) and name in measured]
    unknown = sum(mix.get(name, 0.0) for name in structures if name not in known)
    sums = {column: float(sum(mix[name] * cells.loc[name, column] for name in known))
            if known else np.nan for column in _POINTS}
    return {**sums, "known_share": 1.0 - unknown}


def ranked(gains: pd.DataFrame, costs: pd.DataFrame) -> pd.DataFrame:
    """Return `on_my_mix` with the tokens of `training_costs`, best first, in columns RANKED.

    Gains measured here come first, then derived ones, then the laboratory's. Each group is sorted
    by verdict, then by points. points_per_percent is NaN if less than LEAST_ADDED is added.
    """
    added = costs[["intervention", "tokens_added_percent", "corpus_before", "corpus_after"]]
    table = gains.merge(added, how="left", on="intervention")
    table["verdict"] = [_verdict(row) for row in table.itertuples()]
    table["corpus_added"] = table.corpus_after - table.corpus_before
    is_enough = table.tokens_added_percent >= LEAST_ADDED
    table["points_per_percent"] = (table.gain_points / table.tokens_added_percent).where(is_enough)
    verdicts = (SURE, LIKELY, ONCE, OPEN, UNKNOWN, HARMFUL)
    order = table.assign(evidence=pd.Categorical(table.evidence, [HERE, DERIVED, LABORATORY]),
                         verdict=pd.Categorical(table.verdict, verdicts)).sort_values(
        ["evidence", "verdict", "gain_points"], ascending=[True, True, False]).index
    return table.loc[order, RANKED].reset_index(drop=True)


def _verdict(row) -> str:
    """Return the verdict: a change helps if its interval is above 0 and nothing contradicts it.

    In the laboratory it also needs Holm's p over all its facts; without one, it is open.
    """
    if np.isnan(row.low_points) or np.isnan(row.high_points):
        return UNKNOWN
    if row.evidence == LABORATORY and not row.p_holm <= ALPHA:
        return OPEN
    if row.known_share < 1 - ROUNDING:  # a structure of the mix was not measured
        return OPEN
    if row.low_points > 0 and row.evidence == DERIVED:  # no model was trained on it
        return LIKELY
    if row.low_points > 0:  # one seed does not cover variation between trainings
        return SURE if row.seeds > 1 else ONCE
    return HARMFUL if row.high_points < 0 else OPEN
