"""The tables of a run on StrucText-Eval as they are read, its failures word for word, and what was found in words."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from lib.analyze.format import in_points
from lib.analyze.statistics.paired import FEW_CLUSTERS
from lib.core.records import Answer
from lib.structext.analyze.tables import ANSWERED, LEFT_OUT
from lib.structext.ask.prompts import Asked
from lib.structext.ask.replies import final_answer
from lib.structext.records import EXTRA_TASKS, TASKS

UNKNOWN = "–"
_LONGEST = 240  # characters of a text that a table shows


def summary_for_reading(table: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """`analysis.summary` as text, a row a group; the score is the paper's, in % of all questions."""
    kinds = TASKS | EXTRA_TASKS
    return pd.DataFrame([{
        **{_head(name): f"{getattr(row, name)} {kinds[row.task]}" if name == "task" else str(getattr(row, name))
           for name in by},
        "n (texts)": f"{row.n} ({row.texts})", "left out": f"{row.left_out}/{row.n}", "failed": f"{row.failed}/{row.n}",
        "no answer": f"{row.no_answer}/{row.n}", "truncated": f"{row.truncated}/{row.n}",
        "ROUGE-L ≥ 0.75, % [95%]": percent(row.rouge_score, row.low, row.high) + _few(row.texts),
        "of those asked, %": percent(row.rouge_asked), "BLEU, %": percent(row.bleu), "exact, %": percent(row.exact),
        "structural, %": percent(row.structural),
        "judge, correct/scored = % [95%]": f"{row.correct}/{row.judged} = "
        f"{percent(row.judge, row.judge_low, row.judge_high)}{_few(row.texts)}"} for row in table.itertuples()])


def counts_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """`analysis.states` as text: each count with its denominator."""
    keys = table.columns[:list(table.columns).index("n")]
    return pd.DataFrame([{**{_head(name): str(row[name]) for name in keys}, "n": str(row["n"])}
                         | {name.replace("<answer>", "answer tag"): f"{row[name]}/{row['n']}"  # no tag in Markdown
                            for name in table.columns[len(keys) + 1:]}
                         for _, row in table.iterrows()])


def heat_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """`analysis.heat` as text, a row a cell."""
    return pd.DataFrame([{
        "suite": str(row.suite), "model": str(row.arm), "depth": str(row.depth), "width": str(row.width),
        "n (texts)": f"{row.n} ({row.texts})", "left out": f"{row.left_out}/{row.n}",
        "ROUGE-L ≥ 0.75, % [95%]": percent(row.rouge_score, row.low, row.high) + _few(row.texts),
        f"SD across {table.n_tasks.max()} tasks, points": percent(row.sd_tasks),
        "SD across languages, points": percent(row.sd_languages)} for row in table.itertuples()])


def differences_for_reading(table: pd.DataFrame, first: str, second: str, by: Sequence[str]) -> pd.DataFrame:
    """`analysis_pairs.differences` as text, second - first; of the pairs asked both ways but for the last column."""
    return pd.DataFrame([{
        **{_head(name): str(getattr(row, name)) for name in by},
        "pairs asked both ways (texts)": f"{row.n} of {row.whole} ({row.texts})"
        + (f", {row.unpaired} without a partner" if row.unpaired else ""),
        f"{first}, %": percent(row.first), f"{second}, %": percent(row.second),
        "ROUGE-L ≥ 0.75, points [95%]": in_points(row.difference_points, row.low_points, row.high_points)
        + _few(row.texts),
        "judge, points [95%]": in_points(row.judge_points, row.judge_low_points, row.judge_high_points)
        + f" (n = {row.judged})",
        "ROUGE-L ≥ 0.75 of all pairs, left out as 0": in_points(row.whole_points, row.whole_low_points,
                                                                row.whole_high_points) + f" (n = {row.whole})"}
        for row in table.itertuples()])


def shots_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """`analysis_pairs.shots` as text, a row a number of demonstrations."""
    return pd.DataFrame([{
        "suite": str(row.suite), "model": str(row.arm), "demonstrations": row.setting, "shots": str(row.n_shots),
        "n (texts)": f"{row.n} ({row.texts})", "left out": f"{row.left_out}/{row.n}",
        "ROUGE-L ≥ 0.75, % [95%]": percent(row.rouge_score, row.low, row.high) + _few(row.texts),
        "of those asked with every number, % [95%]":
        f"{percent(row.common_score, row.common_low, row.common_high)} (n = {row.common})",
        "over the base prompt, of pairs asked both ways, points [95%]": UNKNOWN if row.n_shots == 0 else in_points(
            row.gain_difference_points, row.gain_low_points, row.gain_high_points) + f" (n = {row.gain_n:.0f})",
        "of all pairs, left out as 0": UNKNOWN if row.n_shots == 0 else in_points(
            row.gain_whole_points, row.gain_whole_low_points, row.gain_whole_high_points)
        + f" (n = {row.gain_whole:.0f})"}
        for row in table.itertuples()])


def agreement_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """`analysis_pairs.agreement` as text; a dash where a metric does not vary."""
    return pd.DataFrame([{
        "model": row.arm, "metrics": f"{row.first} – {row.second}", "n": str(row.n),
        "Pearson": _coefficient(row.pearson), "agree, %": percent(row.agreement),
        "Cohen's kappa": _coefficient(row.kappa)} for row in table.itertuples()])


def published_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """`published.beside` as text, a row a model and a column a prompt, each cell with its n where it is ours."""
    rows = []
    for (suite, source, model, where), cell in table.groupby(["suite", "source", "model", "where"], sort=False):
        scores = {row.prompt or "–": percent(row.rouge_score, row.low, row.high) if row.low == row.low else
                  percent(row.rouge_score) for row in cell.itertuples()}
        rows.append({"suite": suite, "source": source, "model": model, "n": f"{cell.n.max()}",
                     "ROUGE-L ≥ 0.75, %, by prompt": "; ".join(f"{name} {score}" for name, score in scores.items()),
                     "where": where})
    return pd.DataFrame(rows)


def agreement_beside_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """`published.agreement_beside` as text."""
    return pd.DataFrame([{"metric": row.metric, "source": row.source, "Pearson with": row.against,
                          "n": UNKNOWN if pd.isna(row.n) else str(row.n), "Pearson": _coefficient(row.pearson)}
                         for row in table.rename(columns={"with": "against"}).itertuples()])


def or_note(reading: pd.DataFrame, note: str) -> pd.DataFrame:
    """`reading`, or where it has no rows the reason for that as its only one."""
    return reading if len(reading) else pd.DataFrame({"note": [note]})


def failures(rows: pd.DataFrame, asked: Sequence[Asked], answers: Mapping[str, Sequence[Answer]],
             each: int = 1) -> pd.DataFrame:
    """The first `each` wrong replies of every arm, language and state, word for word but for their middle.

    Texts of models: show them only where HTML is escaped (pandas does by default). What was not asked is not there.
    """
    questions = {one.query_id: one for one in asked}
    said = {(arm, row.query_id): row.answer for arm, replies in answers.items() for row in replies}
    wrong = rows[(rows.rouge_score == 0) & (rows.state != LEFT_OUT)]
    wrong = wrong.groupby(["arm", "language", "state"], observed=True).head(each).sort_values(["arm", "language"])
    return pd.DataFrame([{
        "model": row.arm, "prompt": row.prompt, "task": row.task, 
        "question": shortened(questions[row.query_id].sample.question),
        "reference answer": shortened(questions[row.query_id].sample.answer),
        "reply": shortened(said.get((row.arm, row.query_id), "")),
        "what was scored": shortened(final_answer(said.get((row.arm, row.query_id)), row.setting).text),
        "why 0": ("below 0.75" if row.state == ANSWERED else row.state) + ", cut off" * row.truncated}
        for row in wrong.itertuples()])


def shortened(text: str) -> str:
    """`text` on one line, ↵ for a line's end; of a long one the middle is left out, and how much of it."""
    line = " ↵ ".join(text.splitlines())
    if len(line) <= _LONGEST:
        return line
    return f"{line[:_LONGEST // 2]} […{len(line) - _LONGEST} characters…] {line[-_LONGEST // 2:]}"


def percent(value: float, *ends: float) -> str:
    """A fraction of 1 in %, with its interval where `ends` are given; what is not known as a dash."""
    if np.isnan(value):
        return UNKNOWN
    known = "" if not ends else " [–]" if np.isnan(ends[0]) else f" [{100 * ends[0]:.1f}, {100 * ends[1]:.1f}]"
    return f"{100 * value:.1f}{known}"


def _few(texts: int) -> str:
    """A mark where the texts are so few that a bootstrap over them is known to be too narrow."""
    return " †" if texts < FEW_CLUSTERS else ""


def _coefficient(value: float) -> str:
    return UNKNOWN if np.isnan(value) else f"{value:.3f}"


def _head(column: str) -> str:
    return {"arm": "model", "form": "in the prompt"}.get(column, column)
