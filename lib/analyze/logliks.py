"""Log-likelihoods of reference answers by structure, registered contrasts, and documents known."""

import numpy as np
import pandas as pd

from lib.analyze.stats import cluster_interval, cluster_mean, holm, t_test
from lib.core.arms import ALL, BASE, is_trained, sorted_arms, split_arm
from lib.core.records import STRUCTURES, Loss, Query, Score

WAYS = ("question", "cloze")  # after the question; after the record's own words
ONE_SEED = "one seed: no interval over retraining"
SHOWN = ["contrast", "n", "clusters", "estimate", "low", "high", "p", "covers", "by_seed"]
CONTRAST = [*SHOWN, "documents_low", "documents_high", "documents_p"]


def scored(queries: list[Query], scores: list[Score], clusters: dict[str, str]) -> pd.DataFrame:
    """Return a row per score: arm, query_id, structure, cluster, and nats per token by WAYS."""
    structures = {query.query_id: query.structure for query in queries}
    rows = [
        (
            row.arm,
            row.query_id,
            structures[row.query_id],
            clusters[row.query_id],
            row.answer_loglik / row.answer_tokens,
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

    Arms are averaged over their seeds. low, high, p and p_holm are over clusters (CR2) and seeds,
    documents_* over clusters alone. A contrast is left out if an arm has no values of `way`.
    """
    names = pd.DataFrame([split_arm(arm) for arm in rows.arm], rows.index, ["arm", "seed"])
    seeds = rows.assign(**names).pivot_table(
        index=["query_id", "structure", "cluster"], columns=["arm", "seed"], values=way
    )
    known = {*seeds.columns.get_level_values("arm")}
    found = []
    for text in registered:
        arms, _, structures = text.partition(": ")
        second, first = arms.split(" - ")
        if {second, first} <= known:
            found.append((text, *_contrast(seeds, second, first, structures)))
    table = pd.DataFrame(found, columns=CONTRAST)
    table.insert(len(SHOWN), "p_holm", holm(table.p))
    return table.assign(documents_p_holm=holm(table.documents_p))


def _contrast(seeds: pd.DataFrame, second: str, first: str, structures: str) -> tuple:
    left, _, right = (side.split("+") for side in structures.partition(" - "))
    used = seeds[seeds.index.get_level_values("structure").isin([*left, *right])]
    is_left = used.index.get_level_values("structure").isin(left)
    # the same seed of two arms draws alike; an arm that no seed changes has the same for all
    most = max((used[second], used[first]), key=lambda arm: arm.shape[1])
    sides = [
        used[arm]
        if used[arm].shape[1] > 1
        else pd.concat([used[arm].iloc[:, 0]] * most.shape[1], axis=1, keys=most.columns)
        for arm in (second, first)
    ]
    each = (sides[0] - sides[1]).dropna(axis=1, how="all")
    clusters = used.index.get_level_values("cluster")
    of_documents = cluster_mean(
        each.mean(axis=1), pd.Series(clusters), None if is_left.all() else is_left
    )
    mean, error, freedom = of_documents
    by_seed = each[is_left].mean() - (0 if is_left.all() else each[~is_left].mean())
    parts = [(error**2, freedom)]
    alone = t_test(mean, parts)
    is_one = [
        used[arm].shape[1] == 1 and is_trained(arm.removeprefix("open-")) for arm in (second, first)
    ]
    if not any(is_one) and len(by_seed) > 1:
        parts.append((by_seed.var() / len(by_seed), len(by_seed) - 1))
    covers = ONE_SEED if any(is_one) else "documents and seeds" if len(parts) > 1 else "documents"
    return (len(used), clusters.nunique(), mean, *t_test(mean, parts), covers, [*by_seed], *alone)


def matched(end: pd.DataFrame, by_epoch: list[pd.DataFrame], registered: list[str]) -> pd.DataFrame:
    """Return `contrasts` of trained arms at equal epochs, best with best, and at the end.

    Rows are those of `scored`, those in `by_epoch` with a column `epoch`. An arm's best epoch has
    its highest mean after the question, and is a little too good for being chosen.
    """
    rows = pd.concat([end, *by_epoch])
    if "epoch" not in rows:
        return pd.DataFrame()
    epoch, names = rows.epoch.fillna(np.inf), [split_arm(arm)[0] for arm in rows.arm]
    best = rows.groupby([names, epoch])[WAYS[0]].mean().groupby(level=0).idxmax()
    kinds = {f"{one:g}": epoch == one for one in sorted(rows.epoch.dropna().unique())}
    kinds["best of each"] = [best[arm][1] == one for arm, one in zip(names, epoch, strict=True)]
    kinds["end"] = epoch == np.inf
    both = [
        text for text in registered if all(map(is_trained, text.partition(": ")[0].split(" - ")))
    ]
    found = [contrasts(rows[chosen], both).assign(epochs=name) for name, chosen in kinds.items()]
    table = pd.concat(found, ignore_index=True).sort_values("contrast", kind="stable")
    return table[["epochs", *SHOWN]]


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
