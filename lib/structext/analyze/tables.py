"""What models read in structured texts: a row a question and arm, and means over them with intervals (v2, section 5).

Every question stays in its denominator. What did not fit the window of the study's base_model and was asked of no arm,
whose call failed, or whose reply has no answer, scores 0 and is counted apart; only what a judge could not score leaves
the judge's own denominator.
"""

import re
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from statsmodels.stats.proportion import proportion_confint

from lib.analyze.stats import cluster_interval
from lib.core.arms import ALL
from lib.core.records import Answer, Verdict
from lib.structext.analyze.scores import METRICS, frame
from lib.structext.ask.prompts import SETTINGS, Asked
from lib.structext.ask.replies import NO_ROW, scored
from lib.structext.generate.samples import SUITES
from lib.structext.records import EXTRA_LANGUAGES, EXTRA_TASKS, LANGUAGES, TASKS

FORMS = {  # what stands in the prompt -> its languages
    "table": ("csv", "html-table", "markdown-table"), "nested objects": ("json", "yaml", "xml", "toml"),
    "document with headings": ("latex", "markdown", "org"), "list of edges": ("tree",), "log lines": ("log",)}
ANSWERED, LEFT_OUT = "an answer", "left out: longer than base_model's window"
JUDGE = "judge"
RESAMPLES = 1999
SUMMARY = ["n", "texts", "left_out", "asked", "failed", "no_answer", "truncated", "rouge_score", "low", "high",
           "rouge_asked", "bleu", "exact", "structural", "judged", "correct", "judge", "judge_low", "judge_high"]
_REAL = re.compile(r"-(?:real|rewritten)-(?=d\d+-w\d+)")  # of a sample's id: in a scenario's words, or in a model's
_FORM_OF = {language: form for form, languages in FORMS.items() for language in languages}


def rows_of(asked: Sequence[Asked], left_out: Sequence[Asked], answers: Mapping[str, list[Answer]],
            verdicts: Mapping[str, list[Verdict]]) -> pd.DataFrame:
    """One row a question and arm, arms in the order of `answers`; metrics are fractions of 1.

    Columns arm, query_id, suite, prompt ("few-shot-3"), setting, n_shots, sample, twin (the same of a sample of
    Test and its rewrite in Real-Test), text (the name of the first of equal texts, and of what is asked on them),
    language, form, task, depth, width, state (ANSWERED, LEFT_OUT, or why there is no answer), truncated, those of
    `scores.Scored`, and judge: 1 or 0, NaN where it is unscored. `left_out` were not asked and have neither answers
    nor verdicts.
    Raises ValueError where a question stands twice, and where the answers or verdicts of an arm are not those of
    `asked`.
    """
    whole = [*asked, *left_out]
    twice = pd.Series([one.query_id for one in whole]).pipe(lambda ids: ids[ids.duplicated()])
    if len(twice):
        raise ValueError(f"question {twice.iloc[0]!r} stands twice in asked.jsonl and left_out.jsonl: remove both and "
                         "run 00_samples.ipynb again")
    about = _about(whole)
    return pd.concat([_of_arm(arm, asked, whole, about, rows, verdicts[arm]) for arm, rows in answers.items()],
                     ignore_index=True).astype({"arm": pd.CategoricalDtype(list(answers), ordered=True)})


def _about(whole: Sequence[Asked]) -> pd.DataFrame:
    """What each question is, with categories in the order of every table."""
    known = [(one.query_id, one.suite, f"{one.setting}-{one.n_shots}" if one.n_shots else one.setting, one.setting,
              one.n_shots, one.sample.id, _REAL.sub("-", one.sample.id), one.sample.text_id,
              one.sample.language, _FORM_OF[one.sample.language], one.sample.task, one.sample.depth, one.sample.width)
             for one in whole]
    table = pd.DataFrame(known, columns=["query_id", "suite", "prompt", "setting", "n_shots", "sample", "twin", "text",
                                         "language", "form", "task", "depth", "width"])
    table["text"] = clusters(table.text, pd.Series([one.sample.reference for one in whole]))
    places = table.setting.map([*SETTINGS].index)
    prompts = table.assign(place=places).sort_values(["place", "n_shots"], kind="stable").prompt
    orders = {"suite": [*SUITES, *table.suite], "prompt": prompts, "form": FORMS,
              "language": [*LANGUAGES, *EXTRA_LANGUAGES, ALL], "task": [*TASKS, *EXTRA_TASKS]}
    return table.astype({column: pd.CategoricalDtype(list(dict.fromkeys(order)), ordered=True)
                         for column, order in orders.items()})


def clusters(names: pd.Series, others: pd.Series) -> pd.Series:
    """The first of `names` that each row hangs together with: rows do that share a name or one of `others`.

    Two names may stand for one text, because small structures come again; and one name for a text with and without an
    error.
    """
    ids, known = pd.factorize(names)
    more, also = pd.factorize(others)
    links = coo_array((np.ones(len(ids)), (ids, len(known) + more)), shape=(len(known) + len(also),) * 2)
    component = pd.Series(connected_components(links, directed=False)[1][ids], names.index)
    return names.groupby(component).transform("first")


def _of_arm(arm: str, asked: Sequence[Asked], whole: Sequence[Asked], about: pd.DataFrame, answers: list[Answer],
            verdicts: list[Verdict]) -> pd.DataFrame:
    judged, replied = {row.query_id: row.verdict for row in verdicts}, {row.query_id: row for row in answers}
    ids = {one.query_id for one in asked}
    if ids != set(judged) or len(verdicts) != len(judged) or set(replied) - ids:
        raise ValueError(f"arm {arm}: {len(verdicts)} verdicts and {len(answers)} answers are not those of the "
                         f"{len(ids)} questions in asked.jsonl: run 04_infer.ipynb and 05_judge.ipynb for it again")
    rows = pd.concat([about, frame(scored(whole, answers)).drop(columns="id")], axis=1).assign(arm=arm)
    is_left_out = ~rows.query_id.isin(ids)
    rows["state"] = rows.error.where(rows.error != "", ANSWERED).mask(is_left_out, LEFT_OUT)
    rows["truncated"] = [name in replied and replied[name].truncated for name in rows.query_id]
    worth = {"correct": 1.0, "incorrect": 0.0, "unscored": np.nan}
    rows[JUDGE] = [worth[judged[name]] if name in judged else 0.0 for name in rows.query_id]
    return rows[["arm", *rows.columns.drop("arm")]]


def interval(values: pd.Series, texts: pd.Series, resamples: int = RESAMPLES, seed: int = 17) -> tuple[float, float]:
    """The 95% interval of a mean of fractions over texts: `paired.cluster_interval`.

    Where every value is 0, or every one 1, nothing varies to be drawn from: then Wilson's for as many trials as there
    are texts. NaN for another constant, and for one text.
    """
    mean, n_texts = float(values.mean()), texts.nunique()
    if len(values) and (values.max() < 1e-6 or values.min() > 1 - 1e-6):  # ROUGE's F of equal texts is 1 - 5e-9
        low, high = proportion_confint(round(mean) * n_texts, n_texts, method="wilson")
        return min(low, mean), max(high, mean)
    return cluster_interval(values, texts, resamples=resamples, seed=seed)


def summary(rows: pd.DataFrame, by: Sequence[str], resamples: int = RESAMPLES) -> pd.DataFrame:
    """The means of each group of `by` that is there, in the fixed orders; columns `by` and SUMMARY, fractions of 1.

    n counts every question; left_out, failed (no answer row) and no_answer (a reply without one) are those that score
    0 for that, and rouge_asked is the mean of those asked, n - left_out. judged are those whose verdict is not unscored
    (left out is wrong), and correct those of them that are right; low and high are of the paper's score, judge_low and
    judge_high of `judge`.
    """
    table = []
    for key, cell in rows.groupby([*by], observed=True):
        is_out, is_failed, verdict = cell.state == LEFT_OUT, cell.state == NO_ROW, cell[JUDGE].dropna()
        low, high = interval(cell.rouge_score, cell.text, resamples)
        judge_low, judge_high = interval(verdict, cell.text[verdict.index], resamples)
        table.append({
            **dict(zip(by, key, strict=True)), "n": len(cell), "texts": cell.text.nunique(), "left_out": is_out.sum(),
            "asked": (~is_out).sum(), "failed": is_failed.sum(), "truncated": cell.truncated.sum(),
            "no_answer": (~is_out & ~is_failed & (cell.state != ANSWERED)).sum(), "low": low, "high": high,
            "rouge_asked": cell.rouge_score[~is_out].mean(), **cell[[*METRICS]].astype(float).mean(),
            "judged": len(verdict), "correct": int(verdict.sum()), JUDGE: verdict.mean(), "judge_low": judge_low,
            "judge_high": judge_high})
    return ordered(pd.DataFrame(table, columns=[*by, *SUMMARY]), rows, by)


def ordered(table: pd.DataFrame, rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """`table` with the categories, and so the fixed orders, that `rows` has in the columns `by`."""
    return table.astype({name: rows[name].dtype for name in by if isinstance(rows[name].dtype, pd.CategoricalDtype)})


def with_all(rows: pd.DataFrame) -> pd.DataFrame:
    """`rows` twice, the second time with the language ALL: a table by language then ends with the row of all."""
    return pd.concat([rows, rows.assign(language=ALL)]).astype({"language": rows.language.dtype})


def at_prompt(rows: pd.DataFrame, prompt: str) -> pd.DataFrame:
    """The rows of one prompt. Raises ValueError naming those that were asked where it is none of them."""
    if prompt not in set(rows.prompt):
        raise ValueError(f"no question was asked with prompt {prompt!r}; choose one of "
                         f"{', '.join(rows.prompt.cat.categories)}")
    return rows[rows.prompt == prompt]


def states(rows: pd.DataFrame, by: Sequence[str] = ("suite", "prompt", "arm")) -> pd.DataFrame:
    """How many replies of each group hold an answer, and why the others do not: `by`, n, a column a state, truncated.

    The states of a group sum to its n; truncated, cut off by the budget, may be of any state.
    """
    groups = rows.groupby([*by], observed=True)
    counts = groups.state.value_counts().unstack(fill_value=0)
    first = [state for state in (ANSWERED, LEFT_OUT, NO_ROW) if state in counts]
    counts = counts[[*first, *sorted(counts.columns.difference(first))]]
    return pd.concat([groups.size().rename("n"), counts, groups.truncated.sum()], axis=1).reset_index()


def heat(rows: pd.DataFrame, resamples: int = RESAMPLES) -> pd.DataFrame:
    """`summary` by suite, arm, depth and width, with n_tasks, sd_tasks and sd_languages.

    They are the standard deviations (n - 1) of the means of tasks and of languages in a cell; NaN where it has one.
    """
    by = ["suite", "arm", "depth", "width"]
    groups = rows.groupby(by, observed=True)
    spreads = {f"sd_{name}s": groups.apply(lambda cell, name=name: cell.groupby(name, observed=True).rouge_score.mean()
                                           .std(ddof=1)) for name in ("task", "language")}
    return summary(rows, by, resamples).merge(pd.DataFrame(spreads | {"n_tasks": groups.task.nunique()}).reset_index())
