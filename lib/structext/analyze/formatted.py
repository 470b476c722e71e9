"""Format the tables of a run on StrucText-Eval as text, and quote its failures."""

from collections.abc import Mapping, Sequence

import pandas as pd

from lib.analyze.format import in_points, number, one_line, percent
from lib.analyze.statistics.paired import FEW_CLUSTERS
from lib.core.records import Answer
from lib.structext.analyze.floor import BLIND
from lib.structext.analyze.tables import ANSWERED, LEFT_OUT
from lib.structext.ask.prompts import Prompted
from lib.structext.ask.replies import final_answer
from lib.structext.records import TASKS

INTERVALS = {  # column -> the columns of its interval
    "rouge_score": ("low", "high"), "judge": ("judge_low", "judge_high"),
    "common_score": ("common_low", "common_high"),
    **{f"{prefix}{name}points": (f"{prefix}{end}low_points", f"{prefix}{end}high_points")
       for prefix in ("", "gain_") for name, end in (("difference_", ""), ("whole_", "whole_"),
                                                     ("judge_", "judge_"))}}
SCORES = ("n", "texts", "left_out", "failed", "no_answer", "truncated", "rouge_score",
          "rouge_asked", "bleu", "exact", "judge")
DIFFERENCES = ("n", "whole", "unpaired", "first", "second", "difference_points", "judge_points",
               "whole_points")
SHOTS = ("suite", "arm", "setting", "n_shots", "n", "left_out", "rouge_score", "common",
         "common_score", "gain_n", "gain_difference_points", "gain_whole_points")
_LONGEST = 240  # characters of a text that a table shows


def answer(scores: pd.DataFrame, floors: pd.DataFrame) -> str:
    """Return two sentences: the scores by suite and arm, and each arm's distance from the floor.

    `scores` are from `summary` by suite and arm, `floors` from `against` BLIND.
    """
    means = "; ".join(f"{row.arm} on {row.suite} {percent(row.rouge_score, row.low, row.high)}"
                      for row in scores.itertuples() if row.arm != BLIND)
    apart = "; ".join(f"{row.arm} on {row.suite} "
                      f"{in_points(row.difference_points, row.low_points, row.high_points)}"
                      for row in floors.itertuples())
    return (f"Mean ROUGE-L (0 below 0.75) over all questions, % [95% over texts]: {means}. "
            f"Difference from {BLIND}, which reads nothing, on the same questions, points: "
            f"{apart}; only an interval above 0 shows that an arm reads.")


def shown(table: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Format the columns `names`: shares in %, differences in points, each with its interval."""
    few = table.texts < FEW_CLUSTERS if "texts" in table else pd.Series(False, table.index)
    return pd.DataFrame({
        {"arm": "model"}.get(name, name.replace("_", " ").replace("<answer>", "answer tag")):
        [_cell(row, name) + " †" * (name in INTERVALS and is_few)
         for row, is_few in zip(table.to_dict("records"), few, strict=True)] for name in names})


def differences_formatted(table: pd.DataFrame, first: str, second: str,
                          by: Sequence[str]) -> pd.DataFrame:
    """Format `differences`, second - first, by the columns `by`."""
    return shown(table, *by, *DIFFERENCES).rename(columns={"first": first, "second": second})


def _cell(row: dict, name: str) -> str:
    value, ends = row[name], [row[end] for end in INTERVALS.get(name, ())]
    if name.endswith("_points"):
        return in_points(value, *ends)
    if name in INTERVALS:
        return percent(value, *ends)
    if isinstance(value, float) and name not in ("pearson", "kappa", "gain_n"):
        return percent(value)
    if name == "task":
        return f"{value} {TASKS[value]}"
    return shortened(number(value, ".0f" if name == "gain_n" else ".3f"))


def or_note(formatted: pd.DataFrame, note: str) -> pd.DataFrame:
    """Return `formatted` or, if it has no rows, a table with the reason."""
    return formatted if len(formatted) else pd.DataFrame({"note": [note]})


def failures(rows: pd.DataFrame, asked: Sequence[Prompted],
             answers: Mapping[str, Sequence[Answer]], each: int = 1) -> pd.DataFrame:
    """Return the first `each` incorrect replies of every arm, language and state, abridged.

    Replies come from models, so show them only where HTML is escaped (as pandas does by default).
    Questions left out have no row.
    """
    questions = {one.query_id: one.sample for one in asked}
    replies = {(arm, row.query_id): row.answer for arm, given in answers.items() for row in given}
    wrong = rows[(rows.rouge_score == 0) & (rows.state != LEFT_OUT)]
    groups = wrong.groupby(["arm", "language", "state"], observed=True)
    table = []
    for row in groups.head(each).sort_values(["arm", "language"]).itertuples():
        sample, reply = questions[row.query_id], replies.get((row.arm, row.query_id))
        reason = "below 0.75" if row.state == ANSWERED else row.state
        table.append({
            "model": row.arm, "prompt": row.prompt, "task": row.task,
            "question": shortened(sample.question), "reference answer": shortened(sample.answer),
            "reply": shortened(reply or ""),
            "what was scored": shortened(final_answer(reply, row.setting).text),
            "why 0": reason + ", truncated" * row.truncated})
    return pd.DataFrame(table)


def shortened(text: str) -> str:
    """Return `text` on one line, with ↵ for line breaks and without the middle if it is long."""
    line = one_line(text)
    if len(line) <= _LONGEST:
        return line
    omitted = len(line) - _LONGEST
    return f"{line[:_LONGEST // 2]} […{omitted} characters…] {line[-_LONGEST // 2:]}"
