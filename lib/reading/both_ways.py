"""Compare reading with learning: the same question with its passage in the prompt, and without."""

import numpy as np
import pandas as pd

from lib.analyze.format import in_points, p_value
from lib.analyze.stats import cluster_interval, sign_flip_p
from lib.core.records import RECALL

COLUMNS = ["arm", "form", "n", "both", "only_read", "only_recalled", "neither",
           "difference_points", "low_points", "high_points", "p"]


def reading_and_learning(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per arm and form over the questions scored both ways; columns COLUMNS.

    `rows` has one row per scored answer, with arm, question_id, form (how the passage was written,
    or RECALL), cluster and right. difference_points is recalled - read, with its 95% interval over
    clusters; p is from flipping the signs of whole clusters (see stats.sign_flip_p).
    """
    cells = []
    for arm in rows.arm.unique():
        of_arm = rows[rows.arm == arm]
        sides = of_arm.pivot(index="question_id", columns="form", values="right")
        cluster_of = rows.drop_duplicates("question_id").set_index("question_id").cluster
        for form in rows.form.unique():
            if form == RECALL or not {form, RECALL} <= {*sides}:
                continue
            pair = sides[[form, RECALL]].dropna().astype(bool)
            read, recalled = pair[form], pair[RECALL]
            change, clusters = recalled.astype(float) - read, cluster_of.reindex(pair.index)
            low, high = cluster_interval(change, clusters, 1) if len(pair) else (np.nan, np.nan)
            counts = [int(cell.sum()) for cell in (read & recalled, read & ~recalled,
                                                   recalled & ~read, ~read & ~recalled)]
            cells.append((arm, form, len(pair), *counts, 100 * (recalled.mean() - read.mean()),
                          100 * low, 100 * high, sign_flip_p(change, clusters)))
    return pd.DataFrame(cells, columns=COLUMNS)


def learning_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """Format `reading_and_learning` as text."""
    return pd.DataFrame([{
        "model": row.arm, "passage as": row.form, "questions": row.n,
        "read": f"{row.both + row.only_read}/{row.n}",
        "recalled": f"{row.both + row.only_recalled}/{row.n}",
        "only read / only recalled": f"{row.only_read} / {row.only_recalled}",
        "recalled - read, points [95%]": in_points(row.difference_points, row.low_points,
                                                   row.high_points),
        "p": p_value(row.p)} for row in table.itertuples()])
