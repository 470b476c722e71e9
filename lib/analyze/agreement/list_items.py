"""Measure precision and recall of list items; verdicts are all or nothing (paper, 4.4)."""

import pandas as pd

from lib.analyze.format import fraction, percent
from lib.analyze.stats import share_interval
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


def item_table(items: pd.DataFrame) -> pd.DataFrame:
    """Return counts of lists and entities, the strict verdict and two means, by arm and structure.

    strict is whole / lists; recall and precision are means over lists. low and high are their 95%
    intervals over documents (lib.analyze.stats.share_interval), because lists of one document are
    correlated; NaN with one document. with_items counts the lists that precision averages.
    Structures without lists are left out.
    """
    rows = []
    for arm, structure, cell in cells(items):
        if cell.empty:
            continue
        row = {"arm": arm, "structure": structure, "lists": len(cell),
               "documents": cell.document_id.nunique(), "whole": int(cell.is_whole.sum()),
               **{name: int(cell[name].sum()) for name in ("wanted", "named", "surplus")},
               "with_items": int(cell.precision.notna().sum())}
        for name, values in (("strict", cell.is_whole.astype(float)),
                             *((measure, cell[measure].dropna()) for measure in MEASURES)):
            low, high = share_interval(values, cell.document_id[values.index])
            row |= {name: values.mean(), f"{name}_low": low, f"{name}_high": high}
        rows.append(row)
    return pd.DataFrame(rows)


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
