"""Compute win rates of pairs of arms (the paper's Table 4), and flips with the order (3.1)."""

from collections.abc import Callable, Iterable
from typing import Any

import pandas as pd

from lib.analyze.format import fraction
from lib.analyze.stats import share_interval
from lib.analyze.tables import crossed
from lib.core.records import OUTCOMES, Query
from lib.core.store import BadInput, made_by
from lib.judge.llm_judge import CRITERIA, Preference

_KEYS = ["first_arm", "second_arm", "structure", "criterion"]
COLUMNS = [*_KEYS, "outcome", "n", "unscored", "count", "share", "low", "high"]


def table4(queries: list[Query], preferences: Iterable[Preference]) -> pd.DataFrame:
    """Return Table 4 in COLUMNS: a row per pair of arms, structure, criterion and outcome.

    Each share has its own interval over documents. Raises BadInput unless a pair has one
    preference per query and criterion.
    """
    known = pd.DataFrame(
        [(query.query_id, query.structure, query.document_id) for query in queries],
        columns=["query_id", "structure", "cluster"],
    )
    rows = pd.DataFrame(map(vars, preferences), columns=list(Preference.model_fields))
    tables = [pd.DataFrame(columns=COLUMNS)]
    for pair, found in rows.groupby(["first_arm", "second_arm"], sort=False):
        for criterion in CRITERIA:
            judged = found.query_id[found.criterion == criterion]
            if sorted(judged) != sorted(known.query_id):
                raise BadInput(
                    f"{' and '.join(pair)}, {criterion}: {len(judged)} preferences do not match "
                    f"the {len(known)} queries one to one: run {made_by('preferences')} again "
                    "for this pair, in one order and by one judge"
                )
        each = pd.concat(
            [
                found.assign(
                    outcome=outcome,
                    verdict=found.verdict.map(
                        {**dict.fromkeys(OUTCOMES, "incorrect"), outcome: "correct"}
                    ),
                )
                for outcome in OUTCOMES
            ]
        ).merge(known, on="query_id")
        cells = crossed(each, {"structure": (), "criterion": CRITERIA, "outcome": OUTCOMES})
        cells = cells.rename(columns={"correct": "count", "accuracy": "share"})
        tables.append(cells.assign(first_arm=pair[0], second_arm=pair[1])[COLUMNS])
    return pd.concat(tables[1:] or tables, ignore_index=True)


def formatted_table4(table: pd.DataFrame) -> pd.DataFrame:
    """Format Table 4 as in the paper: one row per pair and structure that has queries.

    Cells are "21/191 = 10.99% [7.3, 16.2]", a dash if nothing was scored.
    """
    table = table[table.n > 0]
    texts = pd.DataFrame(
        {
            "pair": table.first_arm + " (A) vs " + table.second_arm + " (B)",
            "structure": table.structure,
            "column": table.criterion + ": " + table.outcome,
            "text": list(
                map(fraction, table["count"], table.n - table.unscored, table.low, table.high)
            ),
        }
    )
    keys = pd.MultiIndex.from_frame(texts[["pair", "structure"]].drop_duplicates())
    columns = [f"{criterion}: {outcome}" for criterion in CRITERIA for outcome in OUTCOMES]
    wide = texts.pivot(index=["pair", "structure"], columns="column", values="text")
    return wide.reindex(index=keys, columns=columns).rename_axis(columns=None).reset_index()


def flips(queries: list[Query], preferences: Iterable[Preference]) -> pd.DataFrame:
    """Return how often a verdict changed with the order, by criterion; see `flip_counts`."""
    documents = {query.query_id: query.document_id for query in queries}
    rows = list(preferences)
    return pd.DataFrame(
        [
            {
                "criterion": criterion,
                **flip_counts(
                    [row for row in rows if row.criterion == criterion],
                    lambda row: documents[row.query_id],
                ),
            }
            for criterion in CRITERIA
        ]
    )


def flip_counts(rows: list, cluster_of: Callable[[Any], str]) -> dict[str, float]:
    """Count verdicts that change with the order, among the pairs scored in both orders.

    The scorer sees both answers at once, so its rate of 0 has no interval.
    """
    asked = [row for row in rows if row.is_asked]
    scored = [row for row in asked if row.verdict != "unscored"]
    flipped = pd.Series([row.is_flipped for row in scored], dtype=bool)
    low, high = share_interval(flipped, pd.Series([*map(cluster_of, scored)], dtype=object))
    if all(row.judge == "scorer" for row in scored):
        low = high = float("nan")
    return {
        "asked": len(asked),
        "unscored": len(asked) - len(scored),
        "both_orders": len(scored),
        "flipped": int(flipped.sum()),
        "rate": flipped.mean(),
        "low": low,
        "high": high,
    }
