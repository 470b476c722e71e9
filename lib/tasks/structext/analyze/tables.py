"""Tabulate the results of reading structured texts, by question and arm and as means (v2, 5).

Every question stays in its denominator: one that is too long for an arm's window, whose call failed
or whose reply has no answer scores 0. The judge's denominator lacks what it could not score.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from lib.analyze import export
from lib.analyze.format import in_points, number, percent
from lib.analyze.tables import by_group
from lib.core.arms import ALL
from lib.core.records import Answer, Rejected, Verdict
from lib.core.store import figures_path, made_by, write_text
from lib.tasks.structext.ask.prompts import SETTINGS, Prompted
from lib.tasks.structext.ask.replies import NO_ROW, scored
from lib.tasks.structext.generate.samples import SUITES
from lib.tasks.structext.records import BLIND, LANGUAGES, TASKS

ANSWERED, LEFT_OUT = "an answer", "left out: longer than the arm's window"
JUDGE = "judge"
INTERVALS = {  # column -> the columns of its interval
    "rouge_score": ("low", "high"),
    JUDGE: ("judge_low", "judge_high"),
    ALL: ("low", "high"),
    "difference_points": ("low_points", "high_points"),
}
COUNTED = ("left_out", "failed", "no_answer", "truncated")


def rows_of(
    asked: Sequence[Prompted],
    left_out: Mapping[str, Sequence[Rejected]],
    answers: Mapping[str, list[Answer]],
    verdicts: Mapping[str, list[Verdict]],
) -> pd.DataFrame:
    """Return one row per question and arm, arms in the order of `answers`.

    Metrics are from 0 to 1, `judge` is NaN if unscored; a sample of Test and its rewrite in
    Real-Test share their `twin`. Raises ValueError if an arm's rows are not those of `asked`.
    """
    about, tables = _about(asked), []
    for arm, replies in answers.items():
        out = {row.item for row in left_out.get(arm, ())}
        truncated = {row.query_id: row.truncated for row in replies}
        judged = {row.query_id: row.verdict for row in verdicts[arm]}
        if set(judged) != set(about.query_id) or out & set(truncated):
            raise ValueError(
                f"arm {arm}: {len(judged)} verdicts, {len(replies)} answers and {len(out)} left "
                f"out are not those of {len(about)} questions in asked.jsonl: run "
                f"{made_by('answers', arm=arm)} and {made_by('verdicts', arm=arm)} again"
            )
        rows = about.join(pd.DataFrame(scored(asked, replies)))
        is_out, verdict = rows.query_id.isin(out), rows.query_id.map(judged)
        state = rows.error.where(rows.error != "", ANSWERED).mask(is_out, LEFT_OUT)
        tables.append(
            rows.assign(
                arm=arm,
                state=state,
                left_out=is_out,
                failed=state == NO_ROW,
                no_answer=~state.isin([ANSWERED, LEFT_OUT, NO_ROW]),
                truncated=[truncated.get(name, False) for name in rows.query_id],
                judge=verdict.map({"correct": 1.0, "incorrect": 0.0}).mask(is_out, 0.0),
            )
        )
    return pd.concat(tables, ignore_index=True).astype({"arm": _ordered(answers)})


def _about(questions: Sequence[Prompted]) -> pd.DataFrame:
    table = pd.DataFrame(
        [
            {
                "query_id": one.query_id,
                "suite": one.suite,
                "setting": one.setting,
                "prompt": f"{one.setting}-{one.n_shots}" if one.n_shots else one.setting,
                "n_shots": one.n_shots,
                "twin": one.sample.id.replace("-real-d", "-d"),
                "text": one.sample.text_id.replace("-real-d", "-d"),
                "reference": one.sample.reference,
                **one.sample.model_dump(include={"language", "task", "depth", "width"}),
            }
            for one in questions
        ]
    )
    table["text"] = _clusters(table.text, table.pop("reference"))
    order = table.setting.map([*SETTINGS].index)
    prompts = table.assign(order=order).sort_values(["order", "n_shots"], kind="stable").prompt
    return table.astype(
        {
            "suite": _ordered([*SUITES, *table.suite]),
            "prompt": _ordered(prompts),
            "language": _ordered([*LANGUAGES, ALL]),
            "task": _ordered(TASKS),
        }
    )


def _ordered(names) -> pd.CategoricalDtype:
    return pd.CategoricalDtype(list(dict.fromkeys(names)), ordered=True)


# The first name in each connected group of rows, with a name or a text in common: two names may
# have equal texts, because small structures recur, and one name two texts.
def _clusters(names: pd.Series, texts: pd.Series) -> pd.Series:
    ids, known = pd.factorize(names)
    more, also = pd.factorize(texts)
    size = len(known) + len(also)
    links = coo_array((np.ones(len(ids)), (ids, len(known) + more)), shape=(size, size))
    component = pd.Series(connected_components(links, directed=False)[1][ids], names.index)
    return names.groupby(component).transform("first")


def summary(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return counts, mean scores and their 95% intervals over texts, by group of `by`, in order.

    n counts every question; rouge_asked is the mean over those that were not left out.
    """
    rows = rows.assign(rouge_asked=rows.rouge_score.mask(rows.left_out)).sort_values(
        by, kind="stable"
    )
    more = {
        "text": "nunique",
        **dict.fromkeys(COUNTED, "sum"),
        **dict.fromkeys(("rouge_asked", "bleu", "exact"), "mean"),
    }
    counts = rows.groupby(by, sort=False, observed=True).agg(more).rename(columns={"text": "texts"})
    scores = by_group(rows, by, "rouge_score", "text").rename(columns={"mean": "rouge_score"})
    judged = by_group(rows, by, JUDGE, "text").drop(columns=by)
    judged.columns = ["judged", JUDGE, *INTERVALS[JUDGE]]
    return pd.concat([scores, counts.reset_index(drop=True), judged], axis=1)


def with_all(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `rows` twice, the second time with the language ALL, to give tables a last row ALL."""
    both = pd.concat([rows, rows.assign(language=ALL)])
    return both.astype({"language": rows.language.dtype})


def heat(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `summary` by suite, arm, depth and width, with sd_tasks over the means of tasks."""
    by = ["suite", "arm", "depth", "width"]
    tasks = by_group(rows, [*by, "task"], "rouge_score", "text")
    return summary(rows, by).merge(tasks.groupby(by)["mean"].std().rename("sd_tasks"), on=by)


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """Format a table: shares in %, differences in points, with intervals in the same cell."""
    ends = {end for name, pair in INTERVALS.items() if name in table for end in pair}
    names = [name for name in table if name not in ends]
    return pd.DataFrame(
        [[_cell(row, name) for name in names] for row in table.to_dict("records")],
        columns=[name.replace("_", " ") for name in names],
    )


def _cell(row: dict, name: str) -> str:
    value, ends = row[name], [row[end] for end in INTERVALS.get(name, ())]
    if name.endswith("_points"):
        return in_points(value, *ends)
    if isinstance(value, float) and name not in ("pearson", "kappa"):
        return percent(value, *ends)
    return number(value, ".3g")


def show(study: str, name: str, table: pd.DataFrame) -> pd.DataFrame:
    """Write `table` to figures/<study> and return it as text, for display."""
    return export.show(study, name, table, shown(table))


def write_answer(study: str, scores: pd.DataFrame, floors: pd.DataFrame) -> str:
    """Write structext.md: each arm's score by suite, and its distance from the floor."""
    means = "; ".join(
        f"{row.arm} on {row.suite} {percent(row.rouge_score, row.low, row.high)}"
        for row in scores.itertuples()
    )
    apart = "; ".join(
        f"{row.arm} on {row.suite} "
        f"{in_points(row.difference_points, row.low_points, row.high_points)}"
        for row in floors.itertuples()
    )
    text = (
        f"Mean ROUGE-L (0 below 0.75) over all questions, % [95% over texts]: {means}. "
        f"Difference from {BLIND}, which reads nothing, on the same questions, points: "
        f"{apart}; only an interval above 0 shows that an arm reads.\n"
    )
    write_text(figures_path(study, "structext.md"), text)
    return text
