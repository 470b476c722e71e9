"""TableQuest's tables: accuracy, word metrics, failures, lengths of prompts, grades."""

import random
from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from lib.analyze.agreement.sheet import Item
from lib.analyze.format import DASH, estimate, fraction, number, percent
from lib.analyze.stats import cluster_interval
from lib.analyze.tables import by_group, counted
from lib.core.arms import ALL
from lib.core.errors import BadInput
from lib.core.records import Answer, Query, Verdict
from lib.tasks.tablequest.answer.prompts import form_of, question_id_of
from lib.tasks.tablequest.answer.replies import read_reply
from lib.tasks.tablequest.judge.pairs import FAULTS, Grade
from lib.tasks.tablequest.judge.score import (
    MODES,
    WORD_METRICS,
    bert_scores,
    failure,
    word_scores,
)
from lib.tasks.tablequest.records import LEVELS, Grid, Passage, TableQuestion, by_id

# The paper's ratings. Its models and questions are not ours, so these only illustrate the scale.
PUBLISHED = pd.DataFrame([
    ("GPT-4o (baseline)", "all", 1000.0), ("GPT-4 Turbo", "all", 1164.35),
    ("Llama-3.1-70B", "all", 869.27), ("Llama-3.1-70B", "easy", 880.19),
    ("Llama-3.1-70B", "medium", 1008.80), ("Llama-3.1-70B", "hard", 703.98),
    ("Gemini-1.5 Pro", "easy", 967.86), ("Gemini-1.5 Pro", "hard", 779.98),
    ("Gemini-1.5 Flash", "easy", 880.19), ("Gemini-1.5 Flash", "hard", 779.98)],
    columns=["arm", "level", "elo"])
_KEYS = ["arm", "level", "form"]


def scored(questions: Sequence[TableQuestion], queries: Sequence[Query],
           answers: Mapping[str, list[Answer]], verdicts: Sequence[Verdict],
           passages: Sequence[Passage], grids: Sequence[Grid],
           bertscore_model: str = "") -> pd.DataFrame:
    """Return one row per verdict: question, final answer, failure mode and word metrics (0 to 1).

    Without an answer row, the mode is "" and the metrics are NaN.
    """
    asked, read, tables = by_id(questions), by_id(passages), by_id(grids)
    query_of = by_id(queries)
    given = {(arm, row.query_id): row for arm, rows in answers.items() for row in rows}
    rows = []
    for verdict in verdicts:
        question = asked[question_id_of(verdict.query_id)]
        row = {"arm": verdict.arm, "level": question.level, "form": form_of(verdict.query_id),
               "question_id": question.question_id, "cluster": question.passage_id, "mode": "",
               "verdict": verdict.verdict, "reason": verdict.reason, "answer": "", "reply": "",
               "question": query_of[verdict.query_id].question, "reference": question.answer}
        if reply := given.get((verdict.arm, verdict.query_id)):
            final = read_reply(reply.answer)
            row |= {"answer": final.text, "reply": reply.answer[:600], "mode": failure(
                question, final, read[question.passage_id], tables, reply.truncated)}
            row |= word_scores(question.answer, final.text)
        rows.append(row)
    table = pd.DataFrame(rows)
    if bertscore_model and (is_known := table["mode"] != "").any():
        table.loc[is_known, "bertscore"] = bert_scores(
            list(table.reference[is_known]), list(table.answer[is_known]), bertscore_model)
    return table


def form_shown(queries: Sequence[Query], form: str = "") -> str:
    """Return `form`, or the first one asked. Raises BadInput if `form` was not asked."""
    forms = list(dict.fromkeys(form_of(query.query_id) for query in queries))
    if form and form not in forms:
        raise BadInput(f"no passage has tables as {form!r}: choose from {', '.join(forms)}, or "
                       "add it to `forms` where the questions are made")
    return form or forms[0]


def accuracy_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `counted` of easy and medium questions by arm, level and form, over passages."""
    return counted(rows[rows.level != "hard"], _KEYS)


def word_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return mean word metrics by arm, level and form; n counts the answers."""
    names = [name for name in (*WORD_METRICS, "bertscore") if name in rows]
    means = rows.groupby(_KEYS, sort=False)[names].mean()
    means.insert(0, "n", rows.groupby(_KEYS, sort=False)["f1"].count())
    return means.reset_index()


def failure_table(rows: pd.DataFrame, form: str) -> pd.DataFrame:
    """Return the share of each mode by arm and level among the answers in one form."""
    shown = rows[(rows.form == form) & (rows["mode"] != "")]
    cells = pd.concat([shown.assign(failure=mode, value=shown["mode"] == mode) for mode in MODES
                       if (shown["mode"] == mode).any()])
    return by_group(cells, ["arm", "level", "failure"], "value", "cluster").rename(
        columns={"mean": "share"})


def length_table(queries: Sequence[Query], questions: Sequence[TableQuestion], count: Callable,
                 cut: Mapping[str, Sequence[Query]]) -> pd.DataFrame:
    """Return the length of the complete prompts by level and form, and how many each arm cut.

    `count` maps texts to lengths; `cut` has the truncated queries of each arm.
    """
    levels = {one.question_id: one.level for one in questions}
    rows = pd.DataFrame({"level": [levels[question_id_of(one.query_id)] for one in queries],
                         "form": [form_of(one.query_id) for one in queries],
                         "length": count([one.context for one in queries])})
    for arm, short in cut.items():
        names = {one.query_id for one in short}
        rows[f"truncated_{arm}"] = [one.query_id in names for one in queries]
    return rows.groupby(["level", "form"], sort=False, as_index=False).agg(
        n=("length", "size"), median=("length", "median"), longest=("length", "max"),
        **{name: (name, "sum") for name in rows.columns[3:]})


def grade_table(grades: Sequence[Grade]) -> pd.DataFrame:
    """Return mean grades by level ("all" last) and arm, with the faults that the grader named.

    gap is the mean difference to the first arm, low and high its 95% interval over passages;
    apart counts the questions on which the two differ by two.
    """
    rows = pd.DataFrame([one.model_dump() for one in grades])
    keys, arms, cells = ["question_id", "passage_id"], list(dict.fromkeys(rows.arm)), []
    for level in (*LEVELS, ALL):
        cell = rows[(rows.level == level) | (level == ALL)]
        wide = cell.pivot(index=keys, columns="arm", values="grade").astype(float)
        for arm in arms if len(cell) else []:
            of_arm = cell[cell.arm == arm]
            gaps = (wide[arm] - wide[arms[0]]).dropna()
            low, high = cluster_interval(gaps, pd.Series(gaps.index.get_level_values(1))) if len(
                gaps) else (float("nan"),) * 2
            cells.append({"level": level, "arm": arm, "n": int(of_arm.grade.notna().sum()),
                          "lost": int(of_arm.grade.isna().sum()), "grade": wide[arm].mean(),
                          "gap": gaps.mean(), "low": low, "high": high,
                          "apart": int((gaps.abs() >= 2).sum()),
                          **{fault: int((of_arm.fault == fault).sum()) for fault in FAULTS}})
    return pd.DataFrame(cells)


def answer(table: pd.DataFrame, form: str) -> str:
    """Return two sentences: the accuracy of easy and of medium questions in one form, by arm."""
    shown = table[table.form == form]
    easy, medium = ("; ".join(
        f"{row.arm} {percent(row.accuracy, row.low, row.high)}"
        for row in shown[shown.level == level].itertuples()) for level in ("easy", "medium"))
    return (f"With the tables as {form}, easy questions (find a figure) are answered correctly in "
            f"% [95% over passages]: {easy}. Medium questions (compute): {medium}.")


def accuracy_formatted(table: pd.DataFrame) -> pd.DataFrame:
    """Format accuracy, one row per level and form, one column per arm."""
    texts = [fraction(row.correct, row.n - row.unscored, row.low, row.high, digits=1)
             + (f" ({row.unscored} unscored)" if row.unscored else "")
             for row in table.itertuples()]
    wide = table.assign(text=texts).pivot(index=["level", "form"], columns="arm", values="text")
    return wide[table.arm.unique()].fillna(DASH).rename_axis(columns=None).reset_index()


def ratings_formatted(table: pd.DataFrame) -> pd.DataFrame:
    """Format ratings, one row per level and model, with the published ones below."""
    ours = pd.DataFrame([{
        "source": "this study", "level": row.level, "model": row.arm, "matches": row.n,
        "ELO [95% of orders]": estimate(row.elo, row.elo_low, row.elo_high, digits=0),
        "Bradley–Terry [95%]": estimate(row.bradley_terry, row.low, row.high, digits=0)}
        for row in table.itertuples()])
    theirs = pd.DataFrame([{"source": "paper", "level": row.level, "model": row.arm,
                            "ELO [95% of orders]": f"{row.elo:.0f}"}
                           for row in PUBLISHED.itertuples()])
    return pd.concat([ours, theirs]).fillna(DASH)


def numbers_formatted(table: pd.DataFrame, pattern: str = ".3f") -> pd.DataFrame:
    """Format a table with its floats by `pattern`; the column "arm" is called model."""
    return pd.DataFrame({("model" if name == "arm" else name.replace("_", " ")):
                         [number(value, pattern) for value in table[name]] for name in table})


def to_check(questions: Sequence[TableQuestion], grids: Sequence[Grid], per_level: int,
             seed: int) -> list[Item]:
    """Return at most `per_level` questions of each level as rows of a sheet for a person.

    The column "answer" says where the answer is: a person checks that, the answer and the level
    (Appendix B).
    """
    tables, chance, items = by_id(grids), random.Random(seed), []
    for level in LEVELS:
        pool = [one for one in questions if one.level == level]
        for one in chance.sample(pool, min(per_level, len(pool))):
            used = [(tables[ref.grid_id], ref) for ref in one.cells.values()]
            places = [f"{grid.caption or grid.section}: {grid.rows[ref.row]} | "
                      f"{grid.columns[ref.column]} = {grid.cell(ref).text}" for grid, ref in used]
            shown = "\n".join([f"level: {level}", *places, *one.steps])
            items.append(Item(one.question_id, one.question_id, level, one.kind, "", one.question,
                              one.answer, shown))
    return items


def check_table(items: Sequence[Item], labels: Mapping[str, str]) -> pd.DataFrame:
    """Return by level how many questions a person found right; those without a label count in n."""
    words = {"correct": "correct", "incorrect": "incorrect"}
    rows = pd.DataFrame([{"level": one.arm, "verdict": words.get(labels.get(one.item), "unscored")}
                         for one in items], columns=["level", "verdict"])
    return counted(rows, ["level"])
