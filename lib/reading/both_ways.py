"""Reading beside learning: the same question asked with its passage in the prompt, and closed-book."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from lib.analyze.format import in_points, p_value
from lib.analyze.stats import cluster_interval, exact_p
from lib.core.records import RECALL, Answer, Query, Verdict

COLUMNS = ["arm", "form", "n", "both", "only_read", "only_recalled", "neither", "difference_points", "low_points",
           "high_points", "p"]


def closed_book(queries: list[Query], answers: list[Answer],
                verdicts: list[Verdict]) -> tuple[list[Query], list[Answer], list[Verdict]]:
    """What was asked without a context, where there is any such query; else all."""
    kept = {query.query_id for query in queries if not query.context} or {query.query_id for query in queries}
    return tuple([row for row in rows if row.query_id in kept] for rows in (queries, answers, verdicts))


def asked_both_ways(queries: Iterable[Query], verdicts: Iterable[Verdict]) -> pd.DataFrame:
    """A row a verdict on a question that is asked in both ways: arm, question_id, form, cluster (document), right.

    The form is what stands behind the last colon of a query_id: how the passage was written, or RECALL. Unscored
    verdicts are left out.
    """
    asked = {query.query_id: query for query in queries}
    whole = {query_id.rpartition(":")[0] for query_id in asked if query_id.endswith(f":{RECALL}")}
    rows = [(row.arm, *row.query_id.rpartition(":")[::2], asked[row.query_id].document_id, row.verdict == "correct")
            for row in verdicts if row.verdict != "unscored" and row.query_id.rpartition(":")[0] in whole]
    return pd.DataFrame(rows, columns=["arm", "question_id", "form", "cluster", "right"])


def reading_and_learning(rows: pd.DataFrame, resamples: int = 1999, seed: int = 17) -> pd.DataFrame:
    """The same questions read and recalled, a row an arm and form: COLUMNS.

    `rows` as asked_both_ways gives them. n counts questions scored both ways; difference_points is recalled - read with
    its 95% interval over clusters; p is of the exact McNemar test, which takes questions as independent.
    """
    cells = []
    for arm in rows.arm.unique():
        sides = rows[rows.arm == arm].pivot(index="question_id", columns="form", values="right")
        for form in [form for form in rows.form.unique() if form != RECALL and {form, RECALL} <= {*sides}]:
            pair = sides[[form, RECALL]].dropna().astype(bool)
            read, recalled = pair[form], pair[RECALL]
            clusters = rows.drop_duplicates("question_id").set_index("question_id").cluster.reindex(pair.index)
            low, high = cluster_interval(recalled.astype(float) - read.astype(float), clusters, resamples=resamples,
                                         seed=seed) if len(pair) else (np.nan, np.nan)
            only_read, only_recalled = int((read & ~recalled).sum()), int((recalled & ~read).sum())
            cells.append((arm, form, len(pair), int((read & recalled).sum()), only_read, only_recalled,
                          int((~read & ~recalled).sum()), 100 * (recalled.mean() - read.mean()), 100 * low, 100 * high,
                          exact_p(only_read, only_recalled)))
    return pd.DataFrame(cells, columns=COLUMNS)


def learning_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """`reading_and_learning` as text."""
    return pd.DataFrame([{
        "model": row.arm, "passage as": row.form, "questions": row.n, "read": f"{row.both + row.only_read}/{row.n}",
        "recalled": f"{row.both + row.only_recalled}/{row.n}",
        "only read / only recalled": f"{row.only_read} / {row.only_recalled}",
        "recalled - read, points [95%]": in_points(row.difference_points, row.low_points, row.high_points),
        "p": p_value(row.p)} for row in table.itertuples()])
