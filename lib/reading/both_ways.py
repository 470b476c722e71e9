"""Compare reading with learning: the same question with its passage in the prompt, and without."""

import numpy as np
import pandas as pd

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
