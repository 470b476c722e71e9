"""Measure precision and recall of list items; verdicts are all or nothing (paper, 4.4)."""

import numpy as np
import pandas as pd
from scipy import stats

from lib.analyze.format import fraction, percent
from lib.analyze.stats import wilson
from lib.analyze.tables import cells
from lib.core.files import made_by
from lib.core.records import Answer, Query
from lib.judge.rules import match_list

LEAST_ENTITIES = 2  # with one entity, precision and recall add nothing to the verdict
MEASURES = ("recall", "precision")


def match_items(queries: list[Query], answers: list[Answer]) -> pd.DataFrame:
    """Return one row per answer to a query whose reference lists at least LEAST_ENTITIES.

    Columns are arm, query_id, document_id, structure, wanted, named (of these), surplus (other
    items), recall = named / wanted, precision = named / (named + surplus), which is NaN without
    items, and is_whole, the rules' verdict: all entities and nothing else. Items are matched by the
    rules. Raises ValueError for an answer to an unknown query.
    """
    asked = {query.query_id: query for query in queries}
    rows = []
    for answer in answers:
        query = asked.get(answer.query_id)
        if query is None:
            raise ValueError(f"query {answer.query_id!r} is not in queries.jsonl: run "
                             f"{made_by('answers', arm=answer.arm)} again")
        match = match_list(query.question, query.answer, answer.answer, query.entity_count)
        if match is None or match.n_wanted < LEAST_ENTITIES:
            continue
        n_given = match.n_named + len(match.surplus)
        rows.append((answer.arm, query.query_id, query.document_id, query.structure, match.n_wanted,
                     match.n_named, len(match.surplus), match.n_named / match.n_wanted,
                     match.n_named / n_given if n_given else float("nan"),
                     n_given == match.n_named == match.n_wanted))
    return pd.DataFrame(rows, columns=["arm", "query_id", "document_id", "structure", "wanted",
                                       "named", "surplus", "recall", "precision", "is_whole"])


def item_table(items: pd.DataFrame, seed: int = 1, n_resamples: int = 9999) -> pd.DataFrame:
    """Return counts of lists and entities, the strict verdict and two means, by arm and structure.

    strict is whole / lists with its Wilson 95% interval. recall and precision are means over lists,
    with low and high of the 95% percentile bootstrap interval over documents, because lists of one
    document are correlated; NaN below two documents or if all are equal. with_items counts the
    lists that precision averages. Structures without lists are left out.
    """
    rows = []
    for arm, structure, cell in cells(items):
        if cell.empty:
            continue
        n_whole = int(cell.is_whole.sum())
        low, high = wilson(n_whole, len(cell))
        row = {"arm": arm, "structure": structure, "lists": len(cell),
               "documents": cell.document_id.nunique(), "whole": n_whole,
               **{name: int(cell[name].sum()) for name in ("wanted", "named", "surplus")},
               "with_items": int(cell.precision.notna().sum()),
               "strict": n_whole / len(cell), "strict_low": low, "strict_high": high}
        for measure in MEASURES:
            low, high = _interval(cell, measure, seed, n_resamples)
            row |= {measure: cell[measure].mean(), f"{measure}_low": low, f"{measure}_high": high}
        rows.append(row)
    return pd.DataFrame(rows)


def _interval(cell: pd.DataFrame, measure: str, seed: int, n_resamples: int) -> tuple[float, float]:
    """Return the interval of a mean from documents drawn with replacement."""
    groups = cell.dropna(subset=measure).groupby("document_id")[measure]
    sums, counts = groups.sum().to_numpy(), groups.size().to_numpy()
    if len(sums) < 2 or np.ptp(sums / counts) == 0:  # nothing varies: an interval of width 0
        return float("nan"), float("nan")
    interval = stats.bootstrap(
        (sums, counts), lambda s, n, axis: s.sum(axis) / n.sum(axis), paired=True,
        n_resamples=n_resamples, method="percentile", rng=np.random.default_rng(seed),
    ).confidence_interval
    return float(interval.low), float(interval.high)


def formatted(table: pd.DataFrame) -> pd.DataFrame:
    """Format the table of `item_table`; each rate is shown with its denominator."""
    return pd.DataFrame([{
        "model": row.arm, "structure": row.structure,
        "lists (documents)": f"{row.lists} ({row.documents})",
        "complete lists": fraction(row.whole, row.lists, row.strict_low, row.strict_high),
        "entities named": f"{row.named}/{row.wanted}", "surplus items": str(row.surplus),
        "mean recall, %": f"{percent(row.recall, row.recall_low, row.recall_high)}, "
                          f"n = {row.lists}",
        "mean precision, %": f"{percent(row.precision, row.precision_low, row.precision_high)}, "
                             f"n = {row.with_items}"} for row in table.itertuples()])
