"""The papers' result tables, beside a run's.

They asked other models with other prompts about samples of the official generator with its faults,
at temperature 0.95: rows share a scale, not an experiment.
"""

import pandas as pd

from lib.analyze.agreement import correlations
from lib.analyze.tables import by_group
from lib.core.arms import ALL
from lib.core.store import package_file
from lib.structext.analyze import HUMAN
from lib.structext.names import BLIND, LANGUAGES, TASKS, V1

FLOOR = "floor of the paper's suite"  # the source of BLIND
COLUMNS = (ALL, *LANGUAGES, *dict.fromkeys(TASKS.values()))


def paper_scores() -> pd.DataFrame:
    """Return each printed score: where, suite, metric, model, prompt, column, percent, n.

    Prompts and columns have the names of ours. People have the prompt "base". The scores of BLIND,
    with low and high, are those of the best constants (`learned`) on our suite in faithful mode,
    which has the official generator's faults; seed 42. A test measures them again.
    """
    return pd.read_csv(package_file("structext/published/scores.csv"), dtype={"n": "Int64"})


def beside_paper(rows: pd.DataFrame) -> pd.DataFrame:
    """Return published scores, then a run's, as fractions by language, kind of task and ALL.

    A row is a model with a prompt on a suite, in the metric of the published table. `rows` are from
    `rows_of`; low and high are the 95% interval of ALL over texts.
    """
    keys, parts = ["suite", "metric", "source", "model", "prompt", "where"], []
    printed = paper_scores().rename(columns={"percent": "mean"})
    printed[["mean", "low", "high"]] /= 100
    printed["source"] = printed.model.map({BLIND: FLOOR}).fillna("paper")
    for (suite, metric), cells in printed.groupby(["suite", "metric"], sort=False):
        parts.append(cells)
        if metric in rows:
            own = rows[rows.suite.isin(V1 if suite == "v1" else (suite,))]
            parts.append(_ours(own, metric).assign(source="this run", suite=suite, metric=metric))
    cells = pd.concat(parts, ignore_index=True)
    cells[keys] = cells[keys].fillna("").astype(str)
    ends = cells[cells.column == ALL].set_index(keys)[["n", "low", "high"]]
    means = cells.pivot(index=keys, columns="column", values="mean")
    return ends.join(means[[*COLUMNS]]).reset_index()


def _ours(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    columns = (rows.language.astype(str), rows.task.astype(str).map(TASKS), ALL)
    every = pd.concat([rows.assign(column=names, model=rows.arm) for names in columns])
    return by_group(every, ["model", "prompt", "column"], metric, "text")


def paper_agreement() -> pd.DataFrame:
    """Return Pearson's r of metrics with human judgments over the models of v2's Table 6."""
    table = paper_scores().query("where == 'v2, Table 6'")
    means = table.pivot(index="model", columns="metric", values="percent").rename_axis("arm")
    return correlations(means, [HUMAN]).query("over == 'arms'")
