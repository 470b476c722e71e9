"""Tabulate the results of reading structured texts, by question and arm and as means (v2, 5).

Every question stays in its denominator. A question scores 0 and is counted separately if it exceeds
the context window of the arm that is asked, if its call failed, or if its reply has no answer. Only
what a judge could not score leaves the judge's own denominator.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from lib.analyze.stats import share_interval
from lib.core.arms import ALL
from lib.core.files import made_by
from lib.core.records import Answer, Rejected, Verdict
from lib.structext.analyze.scores import METRICS, frame
from lib.structext.ask.prompts import SETTINGS, Prompted
from lib.structext.ask.replies import NO_ROW, scored
from lib.structext.generate.samples import SUITES
from lib.structext.records import LANGUAGES, TASKS

FORMS = {  # form of the text in the prompt -> its languages
    "table": ("csv",),
    "nested objects": ("json", "yaml", "xml"),
    "document with headings": ("latex", "markdown", "org"),
    "list of edges": ("tree",)}
ANSWERED, LEFT_OUT = "an answer", "left out: longer than the arm's window"
JUDGE = "judge"
SUMMARY = ["n", "texts", "left_out", "asked", "failed", "no_answer", "truncated", "rouge_score",
           "low", "high", "rouge_asked", "bleu", "exact", "judged", "correct",
           "judge", "judge_low", "judge_high"]
_FORM_OF = {language: form for form, languages in FORMS.items() for language in languages}


def rows_of(asked: Sequence[Prompted], left_out: Mapping[str, Sequence[Rejected]],
            answers: Mapping[str, list[Answer]],
            verdicts: Mapping[str, list[Verdict]]) -> pd.DataFrame:
    """Return one row per question and arm, arms in the order of `answers`.

    The columns are arm, query_id, suite, prompt ("few-shot-3"), setting, n_shots, sample, twin
    (shared by a sample of Test and its rewrite in Real-Test), text (see `clusters`), language,
    form, task, depth, width, state (ANSWERED, LEFT_OUT, or why there is no answer), truncated,
    those of `scores.Scored` with metrics as fractions, and judge (1 or 0, NaN if unscored).
    `left_out` has the questions too long for an arm's context window (item = query_id); an arm
    without any may be absent. Raises ValueError if a question is repeated, or if the answers,
    verdicts or questions left out of an arm are not those of `asked`.
    """
    ids = pd.Series([one.query_id for one in asked])
    if ids.duplicated().any():
        raise ValueError(f"question {ids[ids.duplicated()].iloc[0]!r} appears twice in "
                         f"asked.jsonl: remove it and run {made_by('asked')} again")
    about = _about(asked)
    arms = pd.CategoricalDtype(list(answers), ordered=True)
    tables = [_of_arm(arm, asked, about, {row.item for row in left_out.get(arm, ())}, rows,
                      verdicts[arm]) for arm, rows in answers.items()]
    return pd.concat(tables, ignore_index=True).astype({"arm": arms})


def _about(questions: Sequence[Prompted]) -> pd.DataFrame:
    table = pd.DataFrame([{
        "query_id": one.query_id, "suite": one.suite,
        "prompt": f"{one.setting}-{one.n_shots}" if one.n_shots else one.setting,
        "setting": one.setting, "n_shots": one.n_shots, "sample": one.sample.id,
        "twin": one.sample.id.replace("-real-d", "-d"), "text": one.sample.text_id,
        "language": one.sample.language, "form": _FORM_OF[one.sample.language],
        "task": one.sample.task, "depth": one.sample.depth, "width": one.sample.width}
        for one in questions])
    table["text"] = clusters(table.text, pd.Series([one.sample.reference for one in questions]))
    places = table.setting.map([*SETTINGS].index)
    prompts = table.assign(place=places).sort_values(["place", "n_shots"], kind="stable").prompt
    orders = {"suite": [*SUITES, *table.suite], "prompt": prompts, "form": FORMS,
              "language": [*LANGUAGES, ALL], "task": TASKS}
    return table.astype({column: pd.CategoricalDtype(list(dict.fromkeys(order)), ordered=True)
                         for column, order in orders.items()})


def clusters(names: pd.Series, others: pd.Series) -> pd.Series:
    """Return the first of `names` in each connected group of rows.

    Rows that share a name or one of `others` are connected. Two names may have equal texts, because
    small structures recur. One name may have two texts, one with and one without an error.
    """
    ids, known = pd.factorize(names)
    more, also = pd.factorize(others)
    size = len(known) + len(also)
    links = coo_array((np.ones(len(ids)), (ids, len(known) + more)), shape=(size, size))
    component = pd.Series(connected_components(links, directed=False)[1][ids], names.index)
    return names.groupby(component).transform("first")


def _of_arm(arm: str, asked: Sequence[Prompted], about: pd.DataFrame, left_out: set[str],
            answers: list[Answer], verdicts: list[Verdict]) -> pd.DataFrame:
    judged = {row.query_id: row.verdict for row in verdicts}
    replied = {row.query_id: row for row in answers}
    ids, named = {one.query_id for one in asked}, left_out | set(replied)
    if (ids != set(judged) or len(verdicts) != len(judged) or named - ids
            or left_out & set(replied)):
        raise ValueError(
            f"arm {arm}: {len(verdicts)} verdicts, {len(answers)} answers and {len(left_out)} "
            f"questions left out are not those of the {len(ids)} questions in asked.jsonl: run "
            f"{made_by('answers', arm=arm)} and {made_by('verdicts', arm=arm)} again")
    scores = frame(scored(asked, answers)).drop(columns="id")
    rows = pd.concat([about, scores], axis=1).assign(arm=arm)
    is_left_out = rows.query_id.isin(left_out)
    rows["state"] = rows.error.where(rows.error != "", ANSWERED).mask(is_left_out, LEFT_OUT)
    rows["truncated"] = [name in replied and replied[name].truncated for name in rows.query_id]
    values = {"correct": 1.0, "incorrect": 0.0, "unscored": np.nan}
    rows[JUDGE] = rows.query_id.map(judged).map(values).mask(is_left_out, 0.0)
    return rows[["arm", *rows.columns.drop("arm")]]


def summary(rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return the means of each group of `by`, in the fixed orders; columns `by` and SUMMARY.

    n counts every question. Those in left_out, failed (no answer row) and no_answer (a reply
    without an answer) score 0; rouge_asked is the mean over the n - left_out that were asked.
    judged counts the questions with a verdict other than unscored (a question left out counts as
    incorrect), and correct counts the correct ones. low and high are the interval of the paper's
    score, judge_low and judge_high that of `judge`. Scores are fractions of 1.
    """
    table = []
    for key, cell in rows.groupby([*by], observed=True):
        is_out, is_failed = cell.state == LEFT_OUT, cell.state == NO_ROW
        verdict = cell[JUDGE].dropna()
        low, high = share_interval(cell.rouge_score, cell.text)
        judge_low, judge_high = share_interval(verdict, cell.text[verdict.index])
        table.append({
            **dict(zip(by, key, strict=True)), "n": len(cell), "texts": cell.text.nunique(),
            "left_out": is_out.sum(), "asked": (~is_out).sum(), "failed": is_failed.sum(),
            "no_answer": (~is_out & ~is_failed & (cell.state != ANSWERED)).sum(),
            "truncated": cell.truncated.sum(), "low": low, "high": high,
            "rouge_asked": cell.rouge_score[~is_out].mean(),
            **cell[[*METRICS]].astype(float).mean(), "judged": len(verdict),
            "correct": int(verdict.sum()), JUDGE: verdict.mean(), "judge_low": judge_low,
            "judge_high": judge_high})
    return ordered(pd.DataFrame(table, columns=[*by, *SUMMARY]), rows, by)


def ordered(table: pd.DataFrame, rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return `table` with its columns `by` categorical and ordered as in `rows`."""
    return table.astype({name: rows[name].dtype for name in by
                         if isinstance(rows[name].dtype, pd.CategoricalDtype)})


def with_all(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `rows` twice, the second time with the language ALL, to give tables a last row ALL."""
    language = rows.language.dtype
    return pd.concat([rows, rows.assign(language=ALL)]).astype({"language": language})


def at_prompt(rows: pd.DataFrame, prompt: str) -> pd.DataFrame:
    """Return the rows of `prompt`. Raises ValueError with the known prompts if it is unknown."""
    if prompt not in set(rows.prompt):
        raise ValueError(f"no question was asked with prompt {prompt!r}; choose one of "
                         f"{', '.join(rows.prompt.cat.categories)}")
    return rows[rows.prompt == prompt]


def states(rows: pd.DataFrame, by: Sequence[str] = ("suite", "prompt", "arm")) -> pd.DataFrame:
    """Count, in each group, the replies with an answer, and the others by reason.

    The columns are `by`, n, one per state, and truncated. The states of a group sum to its n;
    truncated replies may have any state.
    """
    groups = rows.groupby([*by], observed=True)
    counts = groups.state.value_counts().unstack(fill_value=0)
    first = [state for state in (ANSWERED, LEFT_OUT, NO_ROW) if state in counts]
    counts = counts[[*first, *sorted(counts.columns.difference(first))]]
    parts = [groups.size().rename("n"), counts, groups.truncated.sum()]
    return pd.concat(parts, axis=1).reset_index()


def heat(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `summary` by suite, arm, depth and width, with n_tasks, sd_tasks and sd_languages.

    sd_tasks and sd_languages are the standard deviations (n - 1) of a cell's means by task and by
    language; NaN if the cell has only one task or language.
    """
    by = ["suite", "arm", "depth", "width"]
    groups = rows.groupby(by, observed=True)
    spreads = {f"sd_{name}s": groups.apply(
        lambda cell, name=name: cell.groupby(name, observed=True).rouge_score.mean().std(ddof=1))
        for name in ("task", "language")}
    more = pd.DataFrame(spreads | {"n_tasks": groups.task.nunique()}).reset_index()
    return summary(rows, by).merge(more)
