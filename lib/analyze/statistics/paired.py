"""Two arms on the same queries: intervals and sign flips over clusters, and Holm."""

from collections.abc import Iterable
from itertools import combinations

import numpy as np
import pandas as pd

from lib.analyze import stats
from lib.analyze.statistics.seeds import both_sources, covered, of_seeds
from lib.analyze.stats import ALPHA, LEAST_FLIPS, TOO_FEW, holm
from lib.core.arms import ALL, BASE, sorted_arms, split_arm
from lib.core.records import Fact, Query
from lib.core.structures import STRUCTURES, prose

PAIRED = (
    "first second structure n clusters seeds_first seeds_second only_first only_second "
    "difference_points sd_first_points sd_second_points low_points high_points interval p"
).split()


def clusters_of(queries: Iterable[Query], facts: Iterable[Fact] = ()) -> dict[str, str]:
    """Map each query_id to its cluster: the product that it is about if facts are known, else
    its document. A query belongs to the entity of the facts that its span overlaps, or to the only
    entity of its document.
    """
    by_document: dict[str, list[Fact]] = {}
    for fact in facts:
        by_document.setdefault(fact.document_id, []).append(fact)
    clusters = {}
    for query in queries:
        known = by_document.get(query.document_id, [])
        met = [fact.entity for fact in known if fact.start < query.end and query.start < fact.end]
        entities = set(met or [fact.entity for fact in known])
        clusters[query.query_id] = entities.pop() if len(entities) == 1 else query.document_id
    return clusters


def add_clusters(
    rows: pd.DataFrame, queries: Iterable[Query], facts: Iterable[Fact] = ()
) -> pd.DataFrame:
    """Return `rows` of lib.analyze.tables.joined with a column `cluster` (see `clusters_of`)."""
    return rows.assign(cluster=rows.query_id.map(clusters_of(queries, facts)))


def paired(rows: pd.DataFrame, *, draws: int = 9999, seed: int = 17) -> pd.DataFrame:
    """Compare all pairs of arms, each averaged over its seeds, by structure, in points.

    An unscored answer is not correct, as in Table 2. Then each structure's gain - that of prose,
    untested. Arms differ if Holm's p is at most 5% and the interval excludes 0; `finding` says so.
    """
    arms = dict.fromkeys(split_arm(arm)[0] for arm in sorted_arms(rows.arm))
    cells = [(structure, "") for structure in (*STRUCTURES, ALL)]
    cells += [(structure, prose()) for structure in list(STRUCTURES)[1:]]
    found = [
        _compared(rows, pair, *cell, draws, seed)
        for pair in combinations(arms, 2)
        for cell in cells
    ]
    table = pd.DataFrame(found, columns=PAIRED)
    table["p_holm"] = holm(table.p)
    holds_0 = table.low_points.le(0) & table.high_points.ge(0)
    differs = table.p_holm.le(ALPHA) & ~holds_0
    finding = np.select(
        [table.p.isna(), table.clusters < LEAST_FLIPS, differs],
        ["", TOO_FEW, "a difference"],
        "no difference shown",
    )
    return table.assign(differs=differs, finding=finding)


def _compared(
    rows: pd.DataFrame, pair: tuple[str, str], structure: str, beyond: str, draws: int, seed: int
) -> dict:
    names = [[name for name in rows.arm.unique() if split_arm(name)[0] == arm] for arm in pair]
    means, deviations = zip(
        *(of_seeds(rows, each, structure, beyond) for each in names), strict=True
    )
    change = 100 * (means[1] - means[0]).dropna()
    queries = rows.drop_duplicates("query_id").set_index("query_id").loc[change.index]
    is_structure = (queries.structure == structure).to_numpy() if beyond else None
    mean, error, freedom = stats.cluster_mean(change, queries.cluster, is_structure)
    has_seeds = all(
        arm == BASE or not np.isnan(sd) for arm, sd in zip(pair, deviations, strict=True)
    )
    seeds = [
        (sd, len(each))
        for sd, each in zip(deviations, names, strict=True)
        if has_seeds and not np.isnan(sd)
    ]
    low, high = both_sources(mean, error, freedom, seeds, 200 if beyond else 100)
    return {
        "first": pair[0],
        "second": pair[1],
        "structure": f"{structure} – {beyond}" if beyond else structure,
        "n": len(change),
        "clusters": queries.cluster.nunique(),
        "seeds_first": len(names[0]),
        "seeds_second": len(names[1]),
        "only_first": int((change < 0).sum()),
        "only_second": int((change > 0).sum()),
        "difference_points": mean,
        "sd_first_points": deviations[0],
        "sd_second_points": deviations[1],
        "low_points": low,
        "high_points": high,
        "interval": covered(has_seeds, low),
        "p": np.nan
        if beyond
        else stats.sign_flip_p(change, queries.cluster, draws=draws, seed=seed),
    }
