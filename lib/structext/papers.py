"""The papers' result tables, beside a run's.

They asked other models with other prompts about samples of the official generator with its faults,
at temperature 0.95: rows share a scale, not an experiment.
"""

import pandas as pd

from lib.analyze.agreement import correlations
from lib.analyze.tables import by_group
from lib.core.arms import ALL
from lib.structext.analyze import HUMAN, JUDGE, SCORE, printed
from lib.structext.names import BLIND, LANGUAGES, TASKS, V1

COLUMNS = (ALL, *LANGUAGES, *dict.fromkeys(TASKS.values()))
# the papers' table -> suite and metric
_TABLES = {
    "v1, Table 1": ("v1", JUDGE),
    "v1, Table 2": ("v1-hard", JUDGE),
    "v1, Table 9": ("v1", "rouge_l"),
    "v2, Table 3": ("test", SCORE),
    "v2, Table 4": ("test-hard", SCORE),
    "v2, Table 6": ("test-hard", ""),
}
_NAMES = {  # of columns and prompts, in small letters -> ours
    **{name.lower(): name for name in COLUMNS},
    **{"statistic": "Statistics", "cot": "self-cot", "1-shot": "few-shot-1"},
    **{"2-shot": "few-shot-2", "rule hint": "hint", "rule-hint": "hint", "w/ hint": "hint"},
}
_METRICS = {  # column of v2's Table 6 -> ours
    "rouge-l": SCORE,
    "gpt-4o": JUDGE,
    "gpt-4o-mini": f"{JUDGE} (GPT-4o-mini)",
    "exact match": "exact",
}
# Suite -> n, mean and 95% interval over texts of the best constants (`learned`) on our suite
# in faithful mode, which has the official generator's faults; seed 42. A test measures them again.
FLOORS = {"test": (3712, 0.27459, 0.26045, 0.28920), "test-hard": (2088, 0.21820, 0.20093, 0.23653)}
_FLOOR = ["model", "column", "n", "mean", "low", "high"]


def paper_scores() -> pd.DataFrame:
    """Return each printed score: where, suite, metric, model, prompt, column, percent.

    Prompts and columns have the names of ours. People have the prompt "base".
    """
    parts = []
    for where, (suite, metric) in _TABLES.items():
        table = printed(where)
        kind = "column" if "prompt" in table else "prompt" if metric else "metric"
        keys = [name for name in ("model", "prompt") if name in table]
        cells = table.melt(keys, var_name=kind, value_name="percent")
        given = {"column": ALL, "prompt": "base", "metric": metric, "where": where, "suite": suite}
        parts.append(cells.assign(**{k: v for k, v in given.items() if k not in cells}).dropna())
    cells = pd.concat(parts, ignore_index=True).replace({"metric": _METRICS})
    names = cells[["prompt", "column"]].apply(lambda each: each.str.lower().replace(_NAMES))
    return cells.assign(**names)


def beside_paper(rows: pd.DataFrame) -> pd.DataFrame:
    """Return published scores, then a run's, as fractions by language, kind of task and ALL.

    A row is a model with a prompt on a suite, in the metric of the published table. `rows` are from
    `rows_of`; low and high are the 95% interval of ALL over texts.
    """
    keys, parts = ["suite", "metric", "source", "model", "prompt", "where"], []
    for (suite, metric), cells in paper_scores().groupby(["suite", "metric"], sort=False):
        floors = [(BLIND, ALL, *FLOORS[suite])] if metric == SCORE else []
        sources = {
            "paper": cells.assign(mean=cells.percent / 100, n=FLOORS.get(suite, (None,))[0]),
            "floor of the paper's suite": pd.DataFrame(floors, columns=_FLOOR),
        }
        if metric in rows:
            own = rows[rows.suite.isin(V1 if suite == "v1" else (suite,))]
            sources["this run"] = _ours(own, metric)
        parts += [
            part.assign(source=source, suite=suite, metric=metric)
            for source, part in sources.items()
        ]
    cells = pd.concat(parts, ignore_index=True).astype({"mean": float, "low": float, "high": float})
    cells[keys] = cells[keys].fillna("").astype(str)
    ends = cells[cells.column == ALL].set_index(keys)[["n", "low", "high"]].astype({"n": "Int64"})
    means = cells.pivot(index=keys, columns="column", values="mean")
    return ends.join(means[[*COLUMNS]]).reset_index()


def _ours(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    columns = (rows.language.astype(str), rows.task.astype(str).map(TASKS), ALL)
    every = pd.concat([rows.assign(column=names) for names in columns])
    table = by_group(every, ["arm", "prompt", "column"], metric, "text")
    return table.rename(columns={"arm": "model"})


def paper_agreement() -> pd.DataFrame:
    """Return Pearson's r of metrics with human judgments over the models of v2's Table 6."""
    means = printed("v2, Table 6").rename(columns={"model": "arm", **_METRICS})
    return correlations(means.set_index("arm"), [HUMAN]).query("over == 'arms'")
