"""Lists item by item: precision and recall of entities beside the strict verdict (paper, 4.4: partly is incorrect)."""

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from lib.core.arms import ALL, sorted_arms
from lib.core.records import STRUCTURES, Answer, Query
from lib.judge.rules import match_list

LEAST_ENTITIES = 2  # of one entity, precision and recall say no more than the verdict
MEASURES = ("recall", "precision")


def match_items(queries: list[Query], answers: list[Answer]) -> pd.DataFrame:
    """One row an answer to a query whose reference is a list of at least LEAST_ENTITIES, in any structure.

    Columns arm, query_id, document_id, structure, wanted, named (of these), surplus (items that are none of them),
    recall = named / wanted, precision = named / (named + surplus), NaN for an answer without any item, and is_whole:
    all entities and no other, the strict verdict of the rules. Items are matched as the rules match them.
    Raises ValueError for an answer to an unknown query.
    """
    asked = {query.query_id: query for query in queries}
    rows = []
    for answer in answers:
        query = asked.get(answer.query_id)
        if query is None:
            raise ValueError(f"arm {answer.arm}: query {answer.query_id!r} is not in queries.jsonl: "
                             "run 04_infer.ipynb for this arm again")
        match = match_list(query.question, query.answer, answer.answer, query.entity_count)
        if match is None or match.n_wanted < LEAST_ENTITIES:
            continue
        n_given = match.n_named + len(match.surplus)
        rows.append((answer.arm, query.query_id, query.document_id, query.structure, match.n_wanted, match.n_named,
                     len(match.surplus), match.n_named / match.n_wanted,
                     match.n_named / n_given if n_given else float("nan"), n_given == match.n_named == match.n_wanted))
    return pd.DataFrame(rows, columns=["arm", "query_id", "document_id", "structure", "wanted", "named", "surplus",
                                       "recall", "precision", "is_whole"])


def item_table(items: pd.DataFrame, seed: int = 1, n_resamples: int = 9999) -> pd.DataFrame:
    """By arm and structure ("all" last): counts of lists and entities, the strict verdict, two means.

    strict is whole / lists with its Wilson 95% interval. recall and precision are means over lists, each with low and
    high: the 95% percentile bootstrap interval that draws documents, not lists, because lists of one document are
    alike; NaN below two documents and where all are the same. with_items is the number of lists that precision is over.
    Structures without lists are left out.
    """
    cells = []
    for arm in sorted_arms(list(items.arm.unique())):
        for structure in (*STRUCTURES, ALL):
            cell = items[(items.arm == arm) & ((items.structure == structure) | (structure == ALL))]
            if cell.empty:
                continue
            row = {"arm": arm, "structure": structure, "lists": len(cell), "documents": cell.document_id.nunique(),
                   "whole": int(cell.is_whole.sum()), "wanted": int(cell.wanted.sum()),
                   "named": int(cell.named.sum()), "surplus": int(cell.surplus.sum()),
                   "with_items": int(cell.precision.notna().sum())}
            low, high = proportion_confint(row["whole"], row["lists"], method="wilson")
            row |= {"strict": row["whole"] / row["lists"], "strict_low": max(0.0, low), "strict_high": min(1.0, high)}
            for measure in MEASURES:
                low, high = _interval(cell, measure, seed, n_resamples)
                row |= {measure: cell[measure].mean(), f"{measure}_low": low, f"{measure}_high": high}
            cells.append(row)
    return pd.DataFrame(cells)


def _interval(cell: pd.DataFrame, measure: str, seed: int, n_resamples: int) -> tuple[float, float]:
    """The mean's interval from documents drawn with replacement: sum of sums / sum of counts."""
    groups = cell.dropna(subset=measure).groupby("document_id")[measure]
    sums, counts = groups.sum().to_numpy(), groups.size().to_numpy()
    if len(sums) < 2 or np.ptp(sums / counts) == 0:  # nothing that could vary: no interval rather than one of width 0
        return float("nan"), float("nan")
    interval = stats.bootstrap((sums, counts), lambda s, n, axis: s.sum(axis) / n.sum(axis), paired=True,
                               n_resamples=n_resamples, method="percentile", rng=np.random.default_rng(seed)
                               ).confidence_interval
    return float(interval.low), float(interval.high)


def items_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """The table of `item_table` as text, a row an arm and structure, each rate with its denominator."""
    return pd.DataFrame([
        {"model": row.arm, "structure": row.structure, "lists (documents)": f"{row.lists} ({row.documents})",
         "whole lists": f"{row.whole}/{row.lists} = " + _share_text(row.strict, row.strict_low, row.strict_high),
         "entities named": f"{row.named}/{row.wanted}", "surplus items": str(row.surplus),
         "mean recall": f"{_share_text(row.recall, row.recall_low, row.recall_high)}, n = {row.lists}",
         "mean precision": f"{_share_text(row.precision, row.precision_low, row.precision_high)}, n = {row.with_items}"}
        for row in table.itertuples()])


def _share_text(share: float, low: float, high: float) -> str:
    if pd.isna(share):
        return "–"
    return f"{share:.2%}" + ("" if pd.isna(low) else f" [{100 * low:.1f}, {100 * high:.1f}]")
