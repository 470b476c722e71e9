"""Compare two arms on the same queries: intervals and sign flips over clusters, Holm, bounds.

The paper gives no test (section 5); `bounds_by_counts` says what its counts alone allow.
"""

from collections.abc import Iterable
from itertools import combinations

import numpy as np
import pandas as pd

from lib.analyze import stats
from lib.analyze.format import DASH, in_points, named_p, p_value, percent
from lib.analyze.stats import ALPHA, ROUNDING, exact_p, holm, smallest_p
from lib.analyze.tables import table2, widened
from lib.core.arms import ALL, sorted_arms, split_arm
from lib.core.files import made_by
from lib.core.records import STRUCTURES, Fact, Query
from lib.core.text import listed

FEW_CLUSTERS = 20  # with fewer, an interval rests on the assumptions of Student's t
PAIRED = ["first", "second", "structure", "n", "clusters", "left_out", "only_first", "only_second",
          "difference_points", "low_points", "high_points", "p", "p_holm", "family", "smallest_p",
          "p_mcnemar", "differs", "note"]


def clusters_of(queries: Iterable[Query], facts: Iterable[Fact] = ()) -> dict[str, str]:
    """Map each query_id to its cluster, within which answers may be correlated.

    A cluster is the product that a query is about if facts are known (in a laboratory), else its
    document. A document may be about several products, so a query belongs to the entity of the
    facts whose spans overlap its own; if none does, to the only entity of its document.
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


def add_clusters(rows: pd.DataFrame, queries: Iterable[Query],
                 facts: Iterable[Fact] = ()) -> pd.DataFrame:
    """Return `rows` of lib.analyze.tables.joined with a column `cluster` (see `clusters_of`)."""
    return rows.assign(cluster=rows.query_id.map(clusters_of(queries, facts)))


def side_by_side(rows: pd.DataFrame, first: str, second: str,
                 structure: str = ALL) -> pd.DataFrame:
    """Return one row per query scored in both arms: structure, cluster, first, second (0 or 1).

    The index is query_id. Raises ValueError if an arm has no verdicts.
    """
    if missing := {first, second} - set(rows.arm):
        raise ValueError(f"arm {missing.pop()} has no verdicts here; there are "
                         f"{', '.join(rows.arm.unique())}: name other arms, or run "
                         f"{made_by('verdicts')} for it")
    scored = rows[rows.verdict != "unscored"].set_index("query_id")
    scored = scored.assign(first=(scored.verdict == "correct").astype(int))
    both = scored.loc[scored.arm == first, ["structure", "cluster", "first"]]
    both = both.join(scored["first"][scored.arm == second].rename("second"), how="inner")
    return both[(both.structure == structure) | (structure == ALL)]


def paired(rows: pd.DataFrame, pairs: list[tuple[str, str]] | None = None, *, draws: int = 9999,
           seed: int = 17) -> pd.DataFrame:
    """Compare pairs of arms by structure, "all" last, in columns PAIRED.

    Differences are second - first, in points, with 95% t intervals over clusters (see
    stats.cluster_interval). `pairs` are by default all pairs of arms, each with its first seed. n
    counts queries scored in both arms, left_out the others. p is from sign flips of whole clusters
    (see stats.sign_flip_p); p_holm is Holm's over the `family` of all rows with a query; smallest_p
    is 2 / 2^(clusters that differ), the smallest p possible. A row differs if p_holm is at most 5%
    and the interval, if there is one, excludes 0. p_mcnemar is exact McNemar's; it takes queries as
    independent, is too small if those of a cluster are alike, and decides nothing.
    """
    arms = [arm for arm in sorted_arms(rows.arm) if split_arm(arm)[1] == 1]
    table = pd.DataFrame([_compared(rows, *pair, structure, draws, seed)
                          for pair in pairs or combinations(arms, 2)
                          for structure in (*STRUCTURES, ALL)], columns=PAIRED)
    table = table.assign(family=int(table.p.notna().sum()), p_holm=holm(table.p))
    holds_0 = table.low_points.le(0) & table.high_points.ge(0)
    return table.assign(differs=table.p_holm.le(ALPHA) & ~holds_0)


def _compared(rows: pd.DataFrame, first: str, second: str, structure: str, draws: int,
              seed: int) -> dict:
    both = side_by_side(rows, first, second, structure)
    change = both.second - both["first"]
    n = ((rows.arm == first) & ((rows.structure == structure) | (structure == ALL))).sum()
    only_first, only_second = int((change < 0).sum()), int((change > 0).sum())
    cell = {"first": first, "second": second, "structure": structure, "n": len(both),
            "clusters": both.cluster.nunique(), "left_out": n - len(both),
            "only_first": only_first, "only_second": only_second}
    if both.empty:
        return cell | {"note": "no query was scored in both arms"}
    low, high = stats.cluster_interval(change, both.cluster, 1)
    differing = int((change.groupby(both.cluster).sum().abs() > ROUNDING).sum())
    return cell | {"difference_points": 100 * change.mean(), "low_points": 100 * low,
                   "high_points": 100 * high, "smallest_p": smallest_p(differing),
                   "p": stats.sign_flip_p(change, both.cluster, draws=draws, seed=seed),
                   "p_mcnemar": exact_p(only_first, only_second),
                   "note": _note(differing, cell["clusters"], bool(change.any()), np.isnan(low))}


def _note(differing: int, clusters: int, is_any: bool, has_none: bool) -> str:
    """Say what a row cannot show, of `clusters`, of which `differing` differ between the arms."""
    notes = []
    if smallest_p(differing) > ALPHA:
        notes.append(f"can never be significant: {differing} of {clusters} clusters "
                     f"differ{'s' * (differing == 1)}")
    alike = "all clusters differ by the same" if is_any else "no answer differs"
    if has_none:
        notes.append(f"no interval: {stats.ONE_CLUSTER if clusters < 2 else alike}")
    elif clusters < FEW_CLUSTERS:
        notes.append(f"interval less certain: only {clusters} clusters")
    return "; ".join(notes)


def mcnemar_bounds(n: int, first: int, second: int) -> tuple[float, float]:
    """Return the smallest and largest exact McNemar p for `first` and `second` correct of n.

    Counts do not say how many queries both arms answer correctly; every possible number is tried.
    Raises ValueError if a count does not fit into n.
    """
    if not 0 <= min(first, second) <= max(first, second) <= n:
        raise ValueError(f"{first} and {second} correct do not fit into {n} queries")
    in_both = range(max(0, first + second - n), min(first, second) + 1)
    values = [exact_p(first - both, second - both) for both in in_both]
    return min(values), max(values)


def bounds_by_counts(table2: pd.DataFrame) -> pd.DataFrame:
    """Return what the counts of Table 2 alone allow exact McNemar to say, by pair of arms.

    Columns are first, second, structure, n, correct_first, correct_second, smallest_p, largest_p,
    largest_p_holm (Holm's correction if every row has its largest p, so an upper bound) and
    verdict. For "all" the bounds may be wider than its structures allow. Rows whose arms were
    scored on unequal n are left out: they are not the same queries.
    """
    scored = table2.assign(n=table2.n - table2.unscored).set_index(["arm", "structure"])
    scored, rows = scored[["n", "correct"]], []
    for first, second in combinations(sorted_arms(table2.arm), 2):
        for structure in (*STRUCTURES, ALL):
            (n, one), (n_second, other) = (scored.loc[(arm, structure)] for arm in (first, second))
            if n and n == n_second:
                rows.append((first, second, structure, n, one, other,
                             *mcnemar_bounds(n, one, other)))
    table = pd.DataFrame(rows, columns=["first", "second", "structure", "n", "correct_first",
                                        "correct_second", "smallest_p", "largest_p"])
    table["largest_p_holm"] = holm(table.largest_p)
    table["verdict"] = np.select(
        [table.smallest_p > ALPHA, table.largest_p_holm <= ALPHA, table.largest_p <= ALPHA],
        ["never significant", "significant in every pairing, also after Holm",
         "significant in every pairing"], "depends on the pairing")
    return table


def unscored_bounds(rows: pd.DataFrame) -> pd.DataFrame:
    """Return accuracy by arm and structure if all unscored were wrong (worst) or right (best).

    Values are fractions of 1, or NaN without a query.
    """
    table = table2(rows)[["arm", "structure", "n", "correct", "unscored"]]
    return table.assign(worst=table.correct / table.n,
                        best=(table.correct + table.unscored) / table.n)


def formatted_paired(table: pd.DataFrame) -> pd.DataFrame:
    """Format `paired` with one row per comparison."""
    return pd.DataFrame([{
        "arms": f"{row.first} → {row.second}", "structure": row.structure,
        "n (clusters)": f"{row.n} ({row.clusters})"
                        + (f", {row.left_out} left out" if row.left_out else ""),
        "only first / only second": f"{row.only_first} / {row.only_second}",
        "difference, points [95%]": in_points(row.difference_points, row.low_points,
                                              row.high_points),
        "p, flipping clusters": p_value(row.p),
        f"p (Holm of {row.family})": p_value(row.p_holm), "smallest p": p_value(row.smallest_p),
        "p if queries were independent (McNemar)": p_value(row.p_mcnemar), "note": row.note}
        for row in table.itertuples()])


def formatted_unscored(table: pd.DataFrame) -> pd.DataFrame:
    """Format `unscored_bounds` with one column per arm."""
    texts = [f"{row.unscored} of {row.n} unscored: {row.worst:.1%}"
             + (f" to {row.best:.1%}" if row.unscored else "") if row.n else DASH
             for row in table.itertuples()]
    return widened(table, ["structure"], "arm", texts)


def formatted_bounds(table: pd.DataFrame) -> pd.DataFrame:
    """Format `bounds_by_counts`."""
    return pd.DataFrame([{
        "arms": f"{row.first} → {row.second}", "structure": row.structure,
        "correct of n": f"{row.correct_first} → {row.correct_second} of {row.n}",
        "p, by pairing": " to ".join(dict.fromkeys((p_value(row.smallest_p),
                                                    p_value(row.largest_p)))),
        f"largest p (Holm of {len(table)})": p_value(row.largest_p_holm),
        "exact McNemar": row.verdict} for row in table.itertuples()])


def summary(table: pd.DataFrame, bounds: pd.DataFrame) -> str:
    """Summarize `paired` and `unscored_bounds` in sentences."""
    tested = table[table.p.notna()]
    if tested.empty:
        return "No query was scored in two arms, so no arms are compared."
    found = tested[tested.differs]
    texts = [f"{second} compared with {first}, in points, on {listed(_differences(cell))}"
             for (first, second), cell in found.groupby(["first", "second"], sort=False)]
    never = int((tested.smallest_p > ALPHA).sum())
    few = (f" In {never} of {len(tested)} so few clusters differ that no sign flip could be "
           "significant whichever way they went.") if never else ""
    return (f"Of {len(tested)} paired comparisons (each arm's first seed), {len(found)} differ: "
            f"p from sign flips of whole clusters is at most {ALPHA:.0%} after Holm's correction, "
            "and the interval over clusters, if there is one, excludes 0"
            f"{': ' + '; '.join(texts) if texts else ''}.{few} {_unscored_text(bounds)}")


def _differences(cell: pd.DataFrame) -> list[str]:
    return [f"{row.structure} {in_points(row.difference_points, row.low_points, row.high_points)} "
            f"(n = {row.n}, Holm {named_p(row.p_holm)})"
            for row in cell.itertuples()]


def _unscored_text(bounds: pd.DataFrame) -> str:
    every = bounds[bounds.structure == ALL]
    if not every.unscored.sum():
        return f"None of {every.n.sum()} answers is unscored."
    return "With the unscored counted as wrong or as right, accuracy is " + listed(
        [f"{percent(row.worst)} to {percent(row.best)} for {row.arm} ({row.unscored} of {row.n})"
         for row in every[every.unscored > 0].itertuples()]) + "."
