"""A run's results by question and arm, their means, the floor, and differences on same questions.

Every question stays in its denominator: one that is too long for an arm's window, whose call failed
or whose reply has no answer scores 0. The judge's denominator lacks what it could not score.
The floor is the arm BLIND: many labels are degenerate (v2: almost every text is well-formed), so a
constant answer scores. Constants are learned from the training split alone.
The papers asked other models with other prompts about samples of the official generator with its
faults, at temperature 0.95: beside a run's, their rows share a scale, not an experiment.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from lib.analyze import tables
from lib.analyze.agreement import LONGEST_CELL, Item, Sheet, correlations, item_name
from lib.analyze.metrics import LEAST_ROUGE, rouge_l
from lib.analyze.plots import draw_forest, panels, seaborn, styled
from lib.analyze.stats import cluster_interval
from lib.analyze.tables import by_group, estimate
from lib.core.arms import ALL, is_trained
from lib.core.records import Answer, Rejected, Verdict
from lib.core.store import artifact_path, data_path, load, made_by, package_file
from lib.structext.names import BLIND, LANGUAGES, TASKS, V1, Sample
from lib.structext.prompts import (
    FEW_SHOT,
    NO_ROW,
    OFFICIAL,
    SETTINGS,
    TASK,
    Prompted,
    Scored,
    as_queries,
    as_reply,
    score,
    scored,
)
from lib.structext.samples import SUITES
from lib.tasks.task import final_answers

HUMAN = "human"  # the arm of sheets that people filled in
ANSWERED, LEFT_OUT = "an answer", "left out: longer than the arm's window"
JUDGE = "judge"
INTERVALS = {  # what is drawn -> the columns of its interval
    "rouge_score": ("low", "high"),
    JUDGE: ("judge_low", "judge_high"),
    "difference_points": ("low_points", "high_points"),
}
COUNTED = ("left_out", "failed", "no_answer", "truncated")
Constants = dict[tuple[str, int], str]  # (task, depth) -> answer
SCORE = "rouge_score"
LABELS = {
    SCORE: "ROUGE-L, 0 below 0.75 (%)",
    JUDGE: "Correct according to the judge (%)",
    "difference_points": "Real-Test compared with Test, ROUGE-L, 0 below 0.75 (points)",
}
MEANS = ["input", "instruction", "answer", "nodes"]  # of v1's Table 3: characters, nodes
FLOOR = "floor of the paper's suite"  # the source of BLIND
COLUMNS = (ALL, *LANGUAGES, *dict.fromkeys(TASKS.values()))


def rows_of(
    asked: Sequence[Prompted],
    left_out: Mapping[str, Sequence[Rejected]],
    answers: Mapping[str, list[Answer]],
    verdicts: Mapping[str, list[Verdict]],
) -> pd.DataFrame:
    """Return one row per question and arm, arms in the order of `answers`.

    Metrics are from 0 to 1, `judge` is NaN if unscored, `reply` is verbatim, None if there is none;
    a sample of Test and its rewrite in Real-Test share their `twin`. Raises ValueError if an arm's
    rows are not those of `asked`.
    """
    about, tables = _about(asked), []
    for arm, replies in answers.items():
        out = {row.rejected_text for row in left_out.get(arm, ())}
        given = {row.query_id: row for row in replies}
        verdict = {row.query_id: row.verdict for row in verdicts[arm]}
        if set(verdict) != set(about.query_id) or out & set(given):
            raise ValueError(
                f"arm {arm}: {len(verdict)} verdicts, {len(replies)} answers and {len(out)} left "
                f"out are not those of {len(about)} questions in asked.jsonl: run "
                f"{made_by('answers', arm=arm)} and {made_by('verdicts', arm=arm)} again"
            )
        rows = about.join(pd.DataFrame([scored(one, given) for one in asked]))
        ids, is_out = rows.query_id, rows.query_id.isin(out)
        state = rows.error.where(rows.error != "", ANSWERED).mask(is_out, LEFT_OUT)
        correct = ids.map(verdict).map({"correct": 1.0, "incorrect": 0.0})
        tables.append(
            rows.assign(
                arm=arm,
                state=state,
                left_out=is_out,
                failed=state == NO_ROW,
                no_answer=~state.isin([ANSWERED, LEFT_OUT, NO_ROW]),
                truncated=[name in given and given[name].truncated for name in ids],
                reply=[given[name].answer if name in given else None for name in ids],
                judge=correct.mask(is_out, 0.0),
            )
        )
    return pd.concat(tables, ignore_index=True).astype({"arm": _ordered(answers)})


def steps_of(study: str, asked: Sequence[Prompted], arms: Iterable[str]) -> pd.DataFrame:
    """Return the `mean` loss and, after each of `eval_epochs`, share correct of tuned arms.

    Rows of a `figure` have its `panel`: a language, a kind of task, ALL, or the loss. An arm is
    asked in the prompt it learns.
    """
    known, parts, tables = {one.query_id: one for one in asked}, [], []
    for arm in filter(is_trained, arms):
        trained = artifact_path(study, "model", arm=arm) / "training.json"
        for step, epoch in json.loads(trained.read_bytes())["steps"].items():
            replies = load(study, "replies", arm=arm, epoch=epoch)
            own = [known[row.query_id] for row in replies]
            right = [row.verdict == "correct" for row in _judged(own, replies)]
            parts.append(_about(own).assign(right=right, arm=arm, step=int(step)))
        log = pd.read_json(data_path(study, "logs", arm, "log.jsonl"), lines=True)
        log = log.assign(figure="loss", panel="loss", arm=arm, mean=log.loss)
        tables.append(log.dropna(subset="mean"))
    keys = ["figure", "panel", "arm", "step"]
    if not parts:
        return pd.DataFrame(columns=keys)
    rows = pd.concat(parts)
    figures = {"language": rows.language, "kind": rows.task.astype(str).map(TASKS), ALL: ALL}
    for figure, panel in figures.items():
        tables.append(by_group(rows.assign(figure=figure, panel=panel), keys, "right", "text"))
    return pd.concat(tables)[[*keys, "n", "mean", "low", "high"]]


def _about(questions: Sequence[Prompted]) -> pd.DataFrame:
    rows = [
        {
            "query_id": one.query_id,
            "suite": one.suite,
            "setting": one.setting,
            "prompt": one.name,
            "n_shots": one.n_shots,
            "twin": one.sample.id.replace("-real-d", "-d"),
            "text": one.sample.text_id.replace("-real-d", "-d"),
            "input": len(one.sample.reference),
            "nodes": one.sample.nodes,
            **one.sample.model_dump(exclude={"id", "reference", "hint"}),
        }
        for one in questions
    ]
    table = pd.DataFrame(rows)
    table["text"] = _clusters(table.text, pd.Series([one.sample.reference for one in questions]))
    prompts = sorted(questions, key=lambda one: ([*SETTINGS].index(one.setting), one.n_shots))
    orders = {
        "suite": [*SUITES, *table.suite],
        "prompt": [one.name for one in prompts],
        "language": [*LANGUAGES, ALL],
        "task": TASKS,
    }
    return table.astype({name: _ordered(values) for name, values in orders.items()})


def _ordered(names) -> pd.CategoricalDtype:
    return pd.CategoricalDtype(list(dict.fromkeys(names)), ordered=True)


# The first name in each connected group of rows, with a name or a text in common: two names may
# have equal texts, because small structures recur, and one name two texts.
def _clusters(names: pd.Series, texts: pd.Series) -> pd.Series:
    first = pd.Series(range(len(names)), names.index)
    while True:
        lower = first.groupby(names).transform("min").groupby(texts).transform("min")
        if lower.equals(first):
            return names.iloc[first].set_axis(names.index)
        first = lower


def summary(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return counts, mean scores and their 95% intervals over texts, by group of `by`, in order.

    n counts every question; rouge_asked is the mean over those that were not left out.
    """
    rows = rows.assign(rouge_asked=rows.rouge_score.mask(rows.left_out))
    rows = rows.sort_values(by, kind="stable")
    means = ("rouge_asked", "rouge_l", "bleu", "exact")
    more = {"text": "nunique", **dict.fromkeys(COUNTED, "sum"), **dict.fromkeys(means, "mean")}
    counts = rows.groupby(by, sort=False, observed=True).agg(more).rename(columns={"text": "texts"})
    scores = by_group(rows, by, "rouge_score", "text").rename(columns={"mean": "rouge_score"})
    judged = by_group(rows, by, JUDGE, "text").drop(columns=by)
    judged.columns = ["judged", JUDGE, *INTERVALS[JUDGE]]
    return pd.concat([scores, counts.reset_index(drop=True), judged], axis=1)


def with_all(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `rows` twice, the second time with the language ALL, to give tables a last row ALL."""
    return pd.concat([rows, rows.assign(language=ALL)]).astype({"language": rows.language.dtype})


def heat(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `summary` by suite, arm, depth and width, with SDs over tasks and over languages."""
    by = ["suite", "arm", "depth", "width"]
    table = summary(rows, by)
    for name in ("task", "language"):
        means = rows.groupby([*by, name], observed=True).rouge_score.mean()
        table[f"sd_{name}s"] = means.groupby(by, observed=True).std().array
    return table


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """Format a table: shares in %, differences in points, with intervals in the same cell.

    Columns of counts that are 0 everywhere, of BLEU and of the number judged stay in the CSV.
    """
    hidden = {name for name in table.columns.intersection(COUNTED) if not table[name].any()}
    hidden |= {"bleu", "judged", *["rouge_asked"] * ("left_out" in hidden)}
    shares = table.select_dtypes("float").filter(regex="(?<!_points)$")
    return tables.compact(table.assign(**100 * shares).drop(columns=hidden, errors="ignore"))


def show(study: str, name: str, table: pd.DataFrame) -> pd.DataFrame:
    """Write `table` to figures/<study> and return it as text, for display."""
    return tables.show(study, name, table, shown(table))


def learned(training: Iterable[Sample]) -> Constants:
    """Return the best constant answer of each task and depth in `training`.

    It is the one of the cell's answers with the best mean score (the paper's) over them; of equals,
    the most frequent.
    """
    rows = pd.DataFrame([one.model_dump() for one in training], columns=[*Sample.model_fields])
    return rows.groupby(["task", "depth"]).answer.agg(_best).to_dict()


def _best(answers: pd.Series) -> str:
    counts = Counter(answers)
    words = {answer: set(answer.replace(".", " ").split()) for answer in counts}

    def mean_score(response: str) -> float:
        given, total = words[response], 0.0
        for answer, n in counts.items():
            known = words[answer]
            # with fewer common words, the score is 0: most pairs, at a small part of the time
            if 2 * len(known & given) >= LEAST_ROUGE * max(1, len(known) + len(given)):
                rouge = rouge_l(answer, response)
                total += n * rouge * (rouge >= LEAST_ROUGE)
        return total

    return max(sorted(counts, key=lambda answer: (-counts[answer], answer)), key=mean_score)


def constant(sample: Sample, constants: Constants) -> str:
    """Return the answer to a sample's task at the nearest depth, the smaller of two."""
    answers = {depth: answer for (task, depth), answer in constants.items() if task == sample.task}
    nearest = min(sorted(answers), key=lambda depth: abs(depth - sample.depth), default=0)
    return answers.get(nearest, "")


def blind(asked: Sequence[Prompted], constants: Constants) -> tuple[list[Answer], list[Verdict]]:
    """Return the replies and verdicts of the arm BLIND, which has no window and answers all."""
    return _answered(asked, BLIND, [constant(one.sample, constants) for one in asked])


def _answered(
    asked: Sequence[Prompted], arm: str, texts: Iterable[str]
) -> tuple[list[Answer], list[Verdict]]:
    replies = [
        Answer(
            query_id=one.query_id,
            arm=arm,
            answer=as_reply(text, one.setting),
            n_tokens=0,
            truncated=False,
        )
        for one, text in zip(asked, texts, strict=True)
    ]
    return replies, _judged(asked, replies)


def _judged(asked: Sequence[Prompted], replies: list[Answer]) -> list[Verdict]:
    queries = as_queries(asked)
    return TASK.verdicts(queries, final_answers(TASK, queries, replies).answers, {})


def to_answer(asked: Iterable[Prompted]) -> list[Item]:
    """Return the questions as rows of a sheet to answer, if a cell holds the text."""
    items = []
    for prompted in asked:
        one, query_id = prompted.sample, prompted.query_id
        texts = {"text": one.reference, "question": one.question}
        if len(one.reference) <= LONGEST_CELL:
            name = item_name(query_id, *texts.values())
            items.append(Item(name, query_id, "", one.task, "", texts))
    return items


def beside_readers(
    rows: pd.DataFrame, asked: Sequence[Prompted], items: Iterable[Item], sheets: Iterable[Sheet]
) -> pd.DataFrame:
    """Return `rows` of the questions on `sheets`, and a sheet's answers as an arm of its name.

    People's sheets are one arm, HUMAN.
    """
    names, parts = {item.query_id: item.item for item in items}, [rows]
    for sheet in sheets:
        labels = {query_id: sheet.labels.get(name) for query_id, name in names.items()}
        if own := [one for one in asked if labels.get(one.query_id)]:
            arm = HUMAN if sheet.is_person else sheet.name
            replies, verdicts = _answered(own, arm, [labels[one.query_id] for one in own])
            parts.append(rows_of(own, {}, {arm: replies}, {arm: verdicts}))
    read = {query_id for part in parts[1:] for query_id in part.query_id}
    both = pd.concat(parts)
    return both[both.query_id.isin(read)].astype({"arm": _ordered(both.arm)})


def by_depth(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `summary` of BLIND by suite, task and depth, with its answer; of one prompt's rows."""
    by, own = ["suite", "task", "depth"], rows[rows.arm == BLIND]
    answers = own.groupby(by, observed=True).reply.first().rename("answer")
    return summary(own, by).merge(answers, on=by)


def differences(
    first: pd.DataFrame, second: pd.DataFrame, on: list[str], by: list[str]
) -> pd.DataFrame:
    """Return the paper's score in second - first, by `by`, over the n pairs asked both ways.

    Rows are matched by `on`. Differences are in points, with 95% intervals over texts.
    """
    both = first.merge(second, on=on, suffixes=("_first", ""), validate="one_to_many")
    table = []
    for key, cell in both.groupby(by, observed=True):
        pairs = cell[~(cell.left_out | cell.left_out_first)]
        scores = pairs[["rouge_score_first", "rouge_score"]]
        change = pairs.rouge_score - pairs.rouge_score_first
        points = 100 * np.clip([change.mean(), *cluster_interval(change, pairs.text)], -1, 1)
        table.append((*key, len(pairs), pairs.text.nunique(), *scores.mean(), *points))
    names = "n texts first second difference_points low_points high_points".split()
    return pd.DataFrame(table, columns=[*by, *names])


def against(rows: pd.DataFrame, arm: str, by: list[str]) -> pd.DataFrame:
    """Return `differences` of every other arm from `arm`, by group of `by`.

    With BLIND, they are each arm's distance from the floor, on the questions that fit its window.
    """
    is_first = rows.arm == arm
    return differences(rows[is_first], rows[~is_first], ["query_id"], by)


def shots(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `differences` from the base prompt by suite, arm, setting of FEW_SHOT and n_shots."""
    base, few = rows[rows.prompt == "base"], rows[rows.setting.isin(FEW_SHOT)]
    return differences(base, few, ["arm", "suite", "twin"], ["suite", "arm", "setting", "n_shots"])


def real_and_test(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `differences`, Real-Test - Test, of samples with the same structure, for one prompt.

    Rows are by arm and language, then ALL; there are none unless both suites were asked.
    """
    both = with_all(rows)
    return differences(
        *(both[both.suite == suite] for suite in ("test", "real-test")),
        ["arm", "language", "twin"],
        ["arm", "language"],
    )


def both_scores(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `summary` of the suite OFFICIAL by prompt and arm, next to the official code's score.

    That code scores complete replies and loses empty and long ones (`lost` of `replies`).
    """
    by, own = ["prompt", "arm"], rows[rows.suite == OFFICIAL]
    given = own[own.reply.notna()]
    scores = pd.DataFrame([*map(score, given.answer, given.reply)], given.index, Scored._fields)
    given = given.assign(
        lost=scores.official_fails, official=scores.rouge_score.mask(scores.official_fails)
    )
    theirs = given.groupby(by, observed=True).agg(
        replies=("lost", "size"), lost=("lost", "sum"), official=("official", "mean")
    )
    columns = ["n", "texts", "rouge_score", "low", "high", "official", "replies", "lost"]
    return summary(own, by).merge(theirs, on=by, how="left")[[*by, *columns]]


def draw_groups(
    table: pd.DataFrame, by: str, measure: str = "rouge_score"
) -> tuple[Figure, pd.DataFrame]:
    """Draw a key of LABELS by group of `by` and arm, one panel per suite; also return `table`.

    A hollow marker is an estimate without an interval.
    """
    columns, scale = (measure, *INTERVALS[measure]), 1 if measure.endswith("_points") else 100
    named = table.assign(**{name: scale * table[name] for name in columns})
    return draw_forest(
        named,
        columns,
        by,
        series="arm",
        label=LABELS[measure],
        panel="suite" if "suite" in table else "",
        filled=table[columns[1]].notna(),
    ), table


@styled
def draw_heat(
    table: pd.DataFrame, arms: Sequence[str], row: str = "depth", column: str = "width"
) -> tuple[Figure, pd.DataFrame]:
    """Draw mean score, SD over tasks and SD over languages by two columns, a panel per arm.

    Without SD, the judge's share and n. The figure shows the suite with the most cells; a cell
    without questions asked is empty.
    """
    value = SCORE if "sd_tasks" in table else JUDGE
    plotted = table[(table.suite == table.suite.mode().iloc[-1]) & table.arm.isin(arms)]
    figure, drawn = panels(len(arms), 0.9 + 0.5 * plotted[row].nunique(), sharey=True, names=arms)
    for axes, arm in zip(drawn, arms, strict=False):
        own = plotted[plotted.arm == arm].set_index([row, column])
        score, other = 100 * own[value].where(own.left_out < own.n), "\nn = " + own.n.astype(str)
        if value == SCORE:
            other = "\nSD " + (100 * own.sd_tasks).map(estimate)
            other += "\nand " + (100 * own.sd_languages).map(estimate)
        seaborn.heatmap(
            score.unstack(),
            annot=(score.map(estimate) + other).unstack().fillna(""),
            fmt="",
            ax=axes,
            annot_kws={"fontsize": 8, "linespacing": 0.95},
            cmap="cividis",
            vmin=0,
            vmax=100,
            cbar=False,
        )
        axes.tick_params(length=0, rotation=0)
        axes.set(xlabel=column.capitalize(), ylabel=row.capitalize() * (axes is drawn[0]))
    if arms:
        figure.colorbar(drawn[0].collections[0], ax=drawn, shrink=0.9, label=LABELS[value])
    return figure, plotted


def lengths(asked: Sequence[Prompted]) -> pd.DataFrame:
    """Return v1's Table 3 with the means of our samples, `_ours`.

    `is_met`: all are within 20%, or 10 characters where the paper has fewer than 50.
    """
    table = _about(asked)
    means = table.assign(instruction=table.question.str.len(), answer=table.answer.str.len())
    means = means.groupby(["suite", "task"], observed=True)[MEANS].mean().reset_index()
    printed = pd.read_csv(package_file("structext/published/v1-table3.csv"))
    both = printed.merge(means, on=["suite", "task"], suffixes=("", "_ours"))
    most = 0.2 * both[MEANS].mask((both[MEANS] < 50) & [True, True, True, False], 50)
    gaps = (both[MEANS] - both[[f"{name}_ours" for name in MEANS]].to_numpy()).abs()
    return both.assign(is_met=(gaps <= most).all(axis=1))


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
