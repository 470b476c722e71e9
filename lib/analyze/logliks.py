"""Log-likelihoods of reference answers by structure, registered contrasts, and documents known."""

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from lib.analyze.stats import ALPHA, cluster_interval, cluster_mean, holm
from lib.core.arms import ALL, BASE, sorted_arms, split_arm
from lib.core.records import Loss, Query, Score
from lib.core.structures import STRUCTURES

WAYS = ("question", "cloze")  # after the question; after the record's own words


def scored(queries: list[Query], scores: list[Score], clusters: dict[str, str]) -> pd.DataFrame:
    """Return a row per score: arm, query_id, structure, cluster, and nats per token by WAYS."""
    structures = {query.query_id: query.structure for query in queries}
    rows = [
        (
            row.arm,
            row.query_id,
            structures[row.query_id],
            clusters[row.query_id],
            row.question_loglik / row.question_tokens,
            row.cloze_loglik / row.cloze_tokens if row.cloze_tokens else np.nan,
        )
        for row in scores
    ]
    return pd.DataFrame(rows, columns=["arm", "query_id", "structure", "cluster", *WAYS])


def logliks_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return mean nats per token by arm and structure, and the gain over the base on the same
    answers; 95% intervals over clusters."""
    before = rows[rows.arm == BASE].set_index("query_id")
    found = []
    for arm in sorted_arms(rows.arm):
        own = rows[rows.arm == arm].set_index("query_id")
        for structure in (*STRUCTURES, ALL):
            part = own[own.structure.eq(structure) | (structure == ALL)]
            cell = {"arm": arm, "structure": structure, "n": len(part)}
            for way in WAYS:
                known, gain = part[way].dropna(), (part[way] - before[way]).dropna()
                for name, values in ((way, known), (f"{way}_gain", gain)):
                    low, high = cluster_interval(values, part.cluster[values.index])
                    is_empty = name != way and arm == BASE
                    cell |= {
                        name: np.nan if is_empty else values.mean(),
                        f"{name}_low": low,
                        f"{name}_high": high,
                    }
            found.append(cell)
    return pd.DataFrame(found)


def curve_table(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Return the mean after the question by arm, structure and epoch, of rows with an epoch."""
    if not parts:
        return pd.DataFrame()
    rows = pd.concat(parts)
    rows = pd.concat([rows, rows.assign(structure=ALL)])
    cells = rows.groupby(["arm", "structure", "epoch"], sort=False)[WAYS[0]]
    return cells.agg(["mean", "size"]).rename(columns={"size": "n"}).reset_index()


def contrasts(rows: pd.DataFrame, registered: list[str], way: str = WAYS[0]) -> pd.DataFrame:
    """Test "second - first: structures" or "…: structures - structures", joined by +, in nats.

    Arms are averaged over their seeds. A t test over clusters with CR2 errors, then Holm's; none
    if an arm has no values of `way`.
    """
    each = (
        rows.assign(arm=[split_arm(arm)[0] for arm in rows.arm])
        .pivot_table(index=["query_id", "structure", "cluster"], columns="arm", values=way)
        .reset_index()
    )
    found = []
    for text in registered:
        arms, _, structures = text.partition(": ")
        second, first = arms.split(" - ")
        if not {second, first} <= {*each}:
            continue
        left, _, right = (side.split("+") for side in structures.partition(" - "))
        used = each[each.structure.isin([*left, *right])]
        is_left = used.structure.isin(left).to_numpy()
        mean, error, freedom = cluster_mean(
            used[second] - used[first], used.cluster, None if is_left.all() else is_left
        )
        low, high = mean + np.array([-1, 1]) * stdtrit(freedom, 1 - ALPHA / 2) * error
        found.append(
            (
                text,
                len(used),
                used.cluster.nunique(),
                mean,
                low,
                high,
                2 * stdtr(freedom, -abs(mean / error)) if error else np.nan,
            )
        )
    columns = ["contrast", "n", "clusters", "estimate", "low", "high", "p"]
    table = pd.DataFrame(found, columns=columns)
    return table.assign(p_holm=holm(table.p))


def known_table(
    rows: pd.DataFrame, losses: list[Loss], most_loglik: float, most_share: float
) -> pd.DataFrame:
    """Return a row per document: the base's nats per token of its text, and its questions answered.

    `known` is True if the text's log-likelihood or the share answered exceeds its limit.
    `rows` are those of `lib.analyze.tables.joined`.
    """
    base = rows[rows.arm == BASE].assign(correct=rows.verdict == "correct")
    each = base.groupby("cluster").agg(n=("correct", "size"), answered=("correct", "sum"))
    table = pd.DataFrame(
        [(row.document_id, row.n_tokens, row.loglik / row.n_tokens) for row in losses],
        columns=["document", "tokens", "loglik"],
    )
    table = table.join(each, on="document").fillna({"n": 0, "answered": 0})
    share = table.answered / table.n.where(table.n > 0, 1)
    return (
        table.assign(known=(table.loglik > most_loglik) | (share > most_share))
        .astype({"n": int, "answered": int})
        .sort_values("loglik", ascending=False)
    )
