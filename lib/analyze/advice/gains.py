"""What each intervention gains on my mix of structures, from whose evidence, and what to do first (paper, 5 and 6).

The paper advises to rewrite only what needs it and never tries; here each option stands with its interval.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from lib.analyze.advice.costs import MIXED, NORMALIZED
from lib.analyze.statistics.paired import ROUNDING
from lib.analyze.statistics.seeds import spread_pairs
from lib.analyze.stats import ALPHA
from lib.controlled.analyze.interventions import INTERVENTION, LEAST_ADDED
from lib.core.arms import ALL, split_arm
from lib.core.paths import output_root, shown
from lib.core.records import STRUCTURES

HERE, DERIVED, LABORATORY = "this study", "this study, derived", "the laboratory"
SURE, LIKELY, ONCE, OPEN, UNKNOWN, HARMFUL = ("helps", "should help", "helped once", "open", "no interval", "harms")
GAINS = ["intervention", "evidence", "structure", "n", "clusters", "seeds", "gain_points", "low_points", "high_points",
         "interval", "p_holm"]
MIX = ["intervention", "evidence", "gain_points", "low_points", "high_points", "seeds", "known_share", "p_holm"]
RANKED = [*MIX, "verdict", "tokens_added_percent", "corpus_added", "points_per_percent"]
# What is done, in words, with the name that costs and the laboratory's arms have.
WHAT = {NORMALIZED: "everything rewritten as prose", "normalized-llm": "everything rewritten as prose by a model",
        MIXED: "raw text and its rewrite both", "verbalize": "lists and tables rewritten in place",
        "targeted-entity-list": "only lists rewritten in place", "targeted-tabular": "only tables rewritten in place",
        "repeat-header": "each table cell says its header",
        "prefix-name": "each item and row names its subject"}
DERIVABLE = {"verbalize": ("entity-list", "tabular"), "targeted-entity-list": ("entity-list",),
             "targeted-tabular": ("tabular",)}
_NEEDED = ["arm", "structure", "n", "gain_points", "low_points", "high_points", "seeds"]


def has_arms(rows: pd.DataFrame, *arms: str) -> bool:
    """Whether `rows` of lib.analyze.tables.joined have verdicts of all these arms, whatever their seeds."""
    return set(arms) <= {split_arm(name)[0] for name in rows.arm.unique()}


def added_here(rows: pd.DataFrame, before: str = "dapt") -> pd.DataFrame:
    """What training on raw text adds to `base` (lib.analyze.statistics.seeds.spread_pairs); no row where one of them was not judged."""
    pairs = spread_pairs(rows, [("base", before)]) if has_arms(rows, "base", before) else None
    return pd.DataFrame(columns=["structure", "n", "difference_points", "low_points", "high_points"]
                        ) if pairs is None else pairs


def gains_here(rows: pd.DataFrame, before: str = "dapt", after: str = "dapt-n") -> pd.DataFrame:
    """What `after` gains over `before` in this study, by structure and over all; columns GAINS, no row without both.

    `rows` are lib.analyze.tables.joined with clusters. The estimates and intervals are lib.analyze.statistics.seeds.spread_pairs': over queries
    and seeds where an arm has several, else over queries alone, as `interval` says.
    """
    if not has_arms(rows, before, after):
        return pd.DataFrame(columns=GAINS)
    pairs = spread_pairs(rows, [(before, after)])
    pairs = pairs[pairs.structure.isin([*STRUCTURES, ALL])]
    seeds = pairs[["seeds_first", "seeds_second"]].min(axis=1)
    return pairs.assign(intervention=NORMALIZED, evidence=HERE, seeds=seeds, gain_points=pairs.difference_points,
                        p_holm=np.nan)[GAINS].reset_index(drop=True)


def gains_of_laboratory(study: str) -> pd.DataFrame:
    """What the interventions of a controlled study gained over its raw records; columns GAINS, no row where it has not
    been run. Its controls and other factors (`role`) are no interventions.

    Raises ValueError naming the columns that figures/<study>/interventions.csv lacks.
    """
    path = Path(output_root(), "figures", study, "interventions.csv")
    if not study or not path.exists():
        return pd.DataFrame(columns=GAINS)
    table = pd.read_csv(path)
    if missing := [column for column in _NEEDED if column not in table]:
        raise ValueError(f"{shown(path)} has no column {', '.join(missing)}: remove it, run 03_analyze.ipynb again")
    table = table[table.role == INTERVENTION] if "role" in table else table[table.arm.isin(list(WHAT))]
    table = table[table.structure.isin([*STRUCTURES, ALL])].rename(columns={"arm": "intervention"})
    return table.assign(evidence=LABORATORY).reindex(columns=GAINS).reset_index(drop=True)


def on_my_mix(gains: pd.DataFrame, mix: dict[str, float]) -> pd.DataFrame:
    """Points gained on all queries of my mix, a row an intervention and evidence, and what can be derived from them.

    The gain is the sum of share x gain by structure; `mix` has the shares of queries (lib.analyze.advice.costs.mix_of). This
    study's own "all" is taken as it is: its queries are the mix. Elsewhere the ends of the intervals are summed alike,
    which holds however the structures' errors go together, and errs to the wide side. A structure of mine that was
    not measured counts as not gaining, and known_share says how much of the mix is known. Derived rows take this
    study's gain by structure for rewriting these structures alone: nothing else is assumed to change. p_holm is the
    laboratory's over all its facts, NaN elsewhere.
    """
    rows = []
    for (intervention, evidence), cells in gains.groupby(["intervention", "evidence"], sort=False):
        cells = cells.set_index("structure")
        options = {intervention: STRUCTURES} if evidence != HERE else DERIVABLE
        if evidence == HERE:
            rows.append({**cells.loc[ALL].to_dict(), "intervention": intervention, "known_share": 1.0})
        rows += [{"intervention": name, "evidence": DERIVED if evidence == HERE else evidence,
                  "seeds": cells.seeds.min(), "p_holm": cells.p_holm.get(ALL, np.nan),
                  **_weighted(cells, mix, structures)}
                 for name, structures in options.items() if any(mix.get(place) for place in structures)]
    return pd.DataFrame(rows, columns=MIX)


def _weighted(cells: pd.DataFrame, mix: dict[str, float], structures: tuple[str, ...]) -> dict[str, float]:
    """Gain and ends of its interval summed over `structures` by their shares, and how much of the mix is known."""
    measured = cells.gain_points[cells.gain_points.notna()].index
    there = [place for place in structures if mix.get(place) and place in measured]
    left_out = sum(mix.get(place, 0.0) for place in structures if place not in there)
    columns = ("gain_points", "low_points", "high_points")
    sums = [sum(mix[place] * cells.loc[place, column] for place in there) if there else np.nan for column in columns]
    return {**dict(zip(columns, map(float, sums), strict=True)), "known_share": 1.0 - left_out}


def ranked(gains: pd.DataFrame, costs: pd.DataFrame) -> pd.DataFrame:
    """`on_my_mix` beside the tokens of `lib.analyze.advice.costs.training_costs`, best first; columns RANKED.

    What was measured here goes before what is derived, and that before the laboratory's; within each what helps (the
    interval is above 0) before what is open and what harms, then by points. An interval from one seed lacks what
    another training would change: then it "helped once". A derived one "should help", since it was not trained. What
    the laboratory did not find over all its facts (p_holm), and what leaves a structure of mine unknown, is open.
    points_per_percent is NaN below LEAST_ADDED.
    """
    table = gains.merge(costs[["intervention", "tokens_added_percent", "corpus_before", "corpus_after"]], how="left",
                        on="intervention")
    is_above = table.low_points > 0
    is_open = (table.p_holm.astype(float) > ALPHA) | (table.known_share < 1 - ROUNDING)
    table["verdict"] = np.select(
        [table.low_points.isna() | table.high_points.isna(), is_open, is_above & (table.evidence == DERIVED),
         is_above & (table.seeds > 1), is_above, table.high_points < 0],
        [UNKNOWN, OPEN, LIKELY, SURE, ONCE, HARMFUL], OPEN)
    table["corpus_added"] = table.corpus_after - table.corpus_before
    table["points_per_percent"] = (table.gain_points / table.tokens_added_percent).where(
        table.tokens_added_percent >= LEAST_ADDED)
    order = {name: place for place, name in enumerate((
        SURE, LIKELY, ONCE, OPEN, UNKNOWN, HARMFUL, HERE, DERIVED, LABORATORY))}
    table = table.assign(a=table.evidence.map(order), b=table.verdict.map(order))
    return table.sort_values(["a", "b", "gain_points"], ascending=[True, True, False])[RANKED].reset_index(drop=True)
