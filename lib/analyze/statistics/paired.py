"""Two arms on the same queries: difference with an interval over clusters, exact McNemar, Holm; bounds for unscored.

The paper gives no test at all (section 5); what its counts alone allow is in `mcnemar_bounds`.
"""

from collections.abc import Iterable
from itertools import combinations

import numpy as np
import pandas as pd
from statsmodels.stats.multitest import multipletests

from lib.analyze.format import in_points, p_value
from lib.analyze.stats import ALPHA, cluster_interval, exact_p, smallest_p
from lib.core.arms import ALL, sorted_arms, split_arm
from lib.core.records import STRUCTURES, Fact, Query
from lib.core.text import listed

ROUNDING = 1e-9  # a standard error below is none: nothing varies between clusters
FEW_CLUSTERS = 10  # with fewer, a bootstrap over clusters is known to be too narrow
PAIRED = ["first", "second", "structure", "n", "clusters", "left_out", "only_first", "only_second",
          "difference_points", "low_points", "high_points", "p", "p_holm", "family", "smallest_p", "note"]


def clusters_of(queries: Iterable[Query], facts: Iterable[Fact] = ()) -> dict[str, str]:
    """query_id -> what may make its answer like that of other queries: the product it asks about, else its document.

    Facts are only known in a laboratory. A product may stand in several documents and a document may hold several
    products, so a query belongs to the entity of the facts whose span meets its own; where none does, to the only
    entity of its document, and else to the document.
    """
    ledger: dict[str, list[Fact]] = {}
    for fact in facts:
        ledger.setdefault(fact.document_id, []).append(fact)
    found = {}
    for query in queries:
        known = ledger.get(query.document_id, [])
        met = [fact.entity for fact in known if fact.start < query.end and query.start < fact.end]
        entities = dict.fromkeys(met or [fact.entity for fact in known])
        found[query.query_id] = next(iter(entities)) if len(entities) == 1 else query.document_id
    return found


def add_clusters(rows: pd.DataFrame, queries: Iterable[Query], facts: Iterable[Fact] = ()) -> pd.DataFrame:
    """`rows` of lib.analyze.tables.joined with a column `cluster`; see clusters_of."""
    return rows.assign(cluster=rows.query_id.map(clusters_of(queries, facts)))


def side_by_side(rows: pd.DataFrame, first: str, second: str, structure: str = ALL) -> pd.DataFrame:
    """One row a query that was scored in both arms: query_id (index), structure, cluster, first, second (0 or 1).

    Raises ValueError where an arm has no verdicts.
    """
    if missing := {first, second} - set(rows.arm):
        raise ValueError(f"arm {missing.pop()} has no verdicts here; there are {', '.join(rows.arm.unique())}: "
                         "name other arms, or run 05_judge.ipynb for it")
    scored = rows[rows.verdict != "unscored"].set_index("query_id")
    scored = scored.assign(correct=(scored.verdict == "correct").astype(int))
    both = scored.loc[scored.arm == first, ["structure", "cluster", "correct"]].rename(columns={"correct": "first"})
    both = both.join(scored.correct[scored.arm == second].rename("second"), how="inner")
    return both[(both.structure == structure) | (structure == ALL)]


def paired(rows: pd.DataFrame, pairs: list[tuple[str, str]] | None = None, *, resamples: int = 9999,
           seed: int = 17) -> pd.DataFrame:
    """One row a pair of arms and structure, "all" last; columns PAIRED. Differences are second - first, in points.

    `pairs` are by default all of the arms, each with its first seed. n counts queries scored in both arms, left_out
    the others. p is the exact McNemar test (binomial on the discordant pairs), two-sided; p_holm is Holm's over the
    `family` of all rows with a query; smallest_p is what the row's number of discordant pairs could give at best.
    McNemar takes queries as independent. Where the answers of a cluster change together its p is too small, and the
    interval, which draws clusters, is what holds.
    """
    pairs = pairs or list(combinations([arm for arm in sorted_arms(list(rows.arm.unique())) if split_arm(arm)[1] == 1], 2))
    table = pd.DataFrame([_compared(rows, *pair, structure, resamples, seed)
                          for pair in pairs for structure in (*STRUCTURES, ALL)], columns=PAIRED)
    tested = table.p.notna()
    table["family"] = int(tested.sum())
    if tested.any():
        table.loc[tested, "p_holm"] = multipletests(table.p[tested], alpha=ALPHA, method="holm")[1]
    return table


def _compared(rows: pd.DataFrame, first: str, second: str, structure: str, resamples: int, seed: int) -> dict:
    both = side_by_side(rows, first, second, structure)
    asked = rows[(rows.arm == first) & ((rows.structure == structure) | (structure == ALL))]
    cell = {"first": first, "second": second, "structure": structure, "n": len(both),
            "clusters": both.cluster.nunique(), "left_out": len(asked) - len(both),
            "only_first": int((both["first"] > both.second).sum()),
            "only_second": int((both["first"] < both.second).sum())}
    if both.empty:
        return cell | {"note": "no query was scored in both arms"}
    low, high = cluster_interval(both.second - both["first"], both.cluster, resamples=resamples, seed=seed)
    discordant = cell["only_first"] + cell["only_second"]
    return cell | {"difference_points": 100 * (both.second - both["first"]).mean(), "low_points": 100 * low,
                   "high_points": 100 * high, "p": exact_p(cell["only_first"], cell["only_second"]),
                   "smallest_p": smallest_p(discordant), "note": _note(discordant, cell["clusters"])}


def _note(discordant: int, clusters: int) -> str:
    notes = []
    if smallest_p(discordant) > ALPHA:
        notes.append(f"can never be significant: {discordant} discordant pairs")
    if discordant == 0:
        notes.append("no interval: nothing differs, so nothing varies")
    elif clusters < 2:
        notes.append("no interval: all queries are one cluster")
    elif clusters < FEW_CLUSTERS:
        notes.append(f"interval too narrow: only {clusters} clusters")
    return "; ".join(notes)


def mcnemar_bounds(n: int, first: int, second: int) -> tuple[float, float]:
    """The smallest and the largest exact McNemar p that `first` and `second` correct of the same n queries can give.

    Counts alone do not say how many queries both arms have right; every number that fits is tried. Raises ValueError
    where a count does not fit into n.
    """
    if not 0 <= min(first, second) <= max(first, second) <= n:
        raise ValueError(f"{first} and {second} correct do not fit into {n} queries")
    in_both = range(max(0, first + second - n), min(first, second) + 1)
    values = [exact_p(first - both, second - both) for both in in_both]
    return min(values), max(values)


def bounds_by_counts(table2: pd.DataFrame) -> pd.DataFrame:
    """What correct counts alone (lib.analyze.tables.table2 of two arms or more) allow exact McNemar to say, pair by pair.

    Columns first, second, structure, n, correct_first, correct_second, smallest_p, largest_p, largest_p_holm (Holm
    over the rows where every p is the largest: no pairing gives more) and verdict. For "all" the bounds may be wider
    than its structures allow. Rows whose arms were scored on unequal n are left out: they are not the same queries.
    """
    scored = table2.assign(n=table2.n - table2.unscored).set_index(["arm", "structure"])[["n", "correct"]]
    rows = []
    for first, second in combinations(sorted_arms(list(table2.arm.unique())), 2):
        for structure in (*STRUCTURES, ALL):
            (n, one), (n_second, other) = scored.loc[(first, structure)], scored.loc[(second, structure)]
            if n and n == n_second:
                rows.append((first, second, structure, n, one, other, *mcnemar_bounds(n, one, other)))
    table = pd.DataFrame(rows, columns=["first", "second", "structure", "n", "correct_first", "correct_second",
                                        "smallest_p", "largest_p"])
    table["largest_p_holm"] = multipletests(table.largest_p, method="holm")[1] if len(table) else []
    table["verdict"] = np.select(
        [table.smallest_p > ALPHA, table.largest_p_holm <= ALPHA, table.largest_p <= ALPHA],
        ["never significant", "significant in every pairing, also after Holm", "significant in every pairing"],
        "depends on the pairing")
    return table


def unscored_bounds(rows: pd.DataFrame) -> pd.DataFrame:
    """Accuracy by arm and structure if every unscored answer were wrong (worst) or right (best); fractions of 1."""
    cells = []
    for arm in sorted_arms(list(rows.arm.unique())):
        for structure in (*STRUCTURES, ALL):
            verdicts = rows.verdict[(rows.arm == arm) & ((rows.structure == structure) | (structure == ALL))]
            n, correct, unscored = len(verdicts), (verdicts == "correct").sum(), (verdicts == "unscored").sum()
            cells.append({"arm": arm, "structure": structure, "n": n, "correct": correct, "unscored": unscored,
                          "worst": correct / n if n else np.nan, "best": (correct + unscored) / n if n else np.nan})
    return pd.DataFrame(cells)


def paired_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """`paired` as text, a row a comparison."""
    return pd.DataFrame([{
        "arms": f"{row.first} → {row.second}", "structure": row.structure,
        "n (clusters)": f"{row.n} ({row.clusters})" + (f", {row.left_out} left out" if row.left_out else ""),
        "only first / only second": f"{row.only_first} / {row.only_second}",
        "difference, points [95%]": in_points(row.difference_points, row.low_points, row.high_points),
        "p": p_value(row.p), f"p (Holm of {row.family})": p_value(row.p_holm), "smallest p": p_value(row.smallest_p),
        "note": row.note} for row in table.itertuples()])


def unscored_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """`unscored_bounds` as text, a column an arm."""
    texts = table.assign(text=[f"{row.unscored} of {row.n} unscored: {row.worst:.1%} to {row.best:.1%}"
                               if row.unscored else f"0 of {row.n} unscored: {row.worst:.1%}" if row.n else "–"
                               for row in table.itertuples()])
    return pd.DataFrame([{"structure": structure, **dict(zip(cell.arm, cell.text, strict=True))}
                         for structure, cell in texts.groupby("structure", sort=False)])


def bounds_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """`bounds_by_counts` as text."""
    return pd.DataFrame([{
        "arms": f"{row.first} → {row.second}", "structure": row.structure,
        "correct of n": f"{row.correct_first} → {row.correct_second} of {row.n}",
        "p, by pairing": " to ".join(dict.fromkeys((p_value(row.smallest_p), p_value(row.largest_p)))),
        f"largest p (Holm of {len(table)})": p_value(row.largest_p_holm), "exact McNemar": row.verdict}
        for row in table.itertuples()])


def told(table: pd.DataFrame, bounds: pd.DataFrame) -> str:
    """The comparisons of `paired` and the bounds of `unscored_bounds` as sentences."""
    tested = table[table.p.notna()]
    if tested.empty:
        return "No query was scored in two arms, so no arms are compared."
    found = tested[tested.p_holm.le(ALPHA) & (tested.low_points.gt(0) | tested.high_points.lt(0))]
    said = [f"{second} against {first}, in points, on " + listed(
        [f"{row.structure} {in_points(row.difference_points, row.low_points, row.high_points)} (n = {row.n}, Holm p "
         f"{'' if row.p_holm < 1e-4 else '= '}{p_value(row.p_holm)})" for row in cells.itertuples()])
        for (first, second), cells in found.groupby(["first", "second"], sort=False)]
    never = int((tested.smallest_p > ALPHA).sum())
    few = (f" In {never} of {len(tested)} the discordant pairs are so few that exact McNemar could not be significant "
           "whichever way they went.") if never else ""
    return (f"Of {len(tested)} paired comparisons (each arm's first seed), {len(found)} differ: McNemar's p, which "
            f"takes queries as independent, is at most {ALPHA:.0%} after Holm's correction, and the interval over "
            f"clusters leaves out 0{': ' + '; '.join(said) if said else ''}.{few} {_bounds_told(bounds)}")


def _bounds_told(bounds: pd.DataFrame) -> str:
    cells = bounds[(bounds.structure == ALL) & (bounds.unscored > 0)]
    if cells.empty:
        return f"None of {bounds.n[bounds.structure == ALL].sum()} answers is unscored."
    return "With the unscored counted as wrong or as right, accuracy is " + listed(
        [f"{row.worst:.1%} to {row.best:.1%} for {row.arm} ({row.unscored} of {row.n})"
         for row in cells.itertuples()]) + "."
