"""Format the tables of a run on StrucText-Eval as text, and quote its failures."""

from collections.abc import Mapping, Sequence

import pandas as pd

from lib.analyze.format import DASH, estimate, in_points, number, one_line, percent
from lib.analyze.statistics.paired import FEW_CLUSTERS
from lib.core.records import Answer
from lib.structext.analyze.floor import BLIND
from lib.structext.analyze.tables import ANSWERED, LEFT_OUT
from lib.structext.ask.prompts import Prompted
from lib.structext.ask.replies import final_answer
from lib.structext.records import EXTRA_TASKS, TASKS

SCORE = "ROUGE-L ≥ 0.75"
_LONGEST = 240  # characters of a text that a table shows


def answer(scores: pd.DataFrame, floors: pd.DataFrame) -> str:
    """Return two sentences: the scores by suite and arm, and each arm's distance from the floor.

    `scores` are from `summary` by suite and arm, `floors` from `against` BLIND.
    """
    means = "; ".join(f"{row.arm} on {row.suite} {percent(row.rouge_score, row.low, row.high)}"
                      for row in scores.itertuples() if row.arm != BLIND)
    apart = "; ".join(f"{row.arm} on {row.suite} {_points(row)}" for row in floors.itertuples())
    return (f"Mean ROUGE-L (0 below 0.75) over all questions, % [95% over texts]: {means}. "
            f"Difference from {BLIND}, which reads nothing, on the same questions, points: "
            f"{apart}; only an interval above 0 shows that an arm reads.")


def summary_formatted(table: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Format `summary`, one row per group; the score is the paper's, in % of all questions."""
    return pd.DataFrame([{
        **_group(row, by), "n (texts)": f"{row.n} ({row.texts})",
        **{name.replace("_", " "): f"{getattr(row, name)}/{row.n}"
           for name in ("left_out", "failed", "no_answer", "truncated")},
        f"{SCORE}, % [95%]": percent(row.rouge_score, row.low, row.high) + _few(row.texts),
        "of those asked": percent(row.rouge_asked), "BLEU": percent(row.bleu),
        "exact": percent(row.exact),
        "judge, correct/scored = % [95%]": f"{row.correct}/{row.judged} = "
        f"{percent(row.judge, row.judge_low, row.judge_high)}{_few(row.texts)}"}
        for row in table.itertuples()])


def floor_formatted(table: pd.DataFrame) -> pd.DataFrame:
    """Format `floor.by_depth`: the constant answer, its score, and chance."""
    return pd.DataFrame([{
        **_group(row, ["suite", "task", "depth"]), "n (texts)": f"{row.n} ({row.texts})",
        "constant answer": shortened(row.answer) or DASH,
        f"{SCORE}, % [95%]": percent(row.rouge_score, row.low, row.high) + _few(row.texts),
        "chance": percent(row.chance)} for row in table.itertuples()])


def states_formatted(table: pd.DataFrame) -> pd.DataFrame:
    """Format `states`: each count with its denominator."""
    keys = table.columns[:list(table.columns).index("n")]
    return pd.DataFrame([{
        **{_head(name): str(row[name]) for name in keys}, "n": str(row["n"]),
        **{name.replace("<answer>", "answer tag"): f"{row[name]}/{row['n']}"  # no tag in Markdown
           for name in table.columns[len(keys) + 1:]}} for _, row in table.iterrows()])


def heat_formatted(table: pd.DataFrame) -> pd.DataFrame:
    """Format `heat`, one row per cell."""
    return pd.DataFrame([{
        **_group(row, ["suite", "arm", "depth", "width"]), "n (texts)": f"{row.n} ({row.texts})",
        "left out": f"{row.left_out}/{row.n}",
        f"{SCORE}, % [95%]": percent(row.rouge_score, row.low, row.high) + _few(row.texts),
        f"SD across {table.n_tasks.max()} tasks, points": estimate(100 * row.sd_tasks),
        "SD across languages, points": estimate(100 * row.sd_languages)}
        for row in table.itertuples()])


def differences_formatted(table: pd.DataFrame, first: str, second: str,
                          by: Sequence[str]) -> pd.DataFrame:
    """Format `differences`, second - first, over pairs asked both ways; last column: all pairs."""
    return pd.DataFrame([{
        **_group(row, by), "pairs asked both ways (texts)":
        f"{row.n} of {row.whole} ({row.texts})"
        + (f", {row.unpaired} without a partner" if row.unpaired else ""),
        first: percent(row.first), second: percent(row.second),
        f"{SCORE}, points [95%]": _points(row) + _few(row.texts),
        "judge, points [95%]": f"{_points(row, 'judge_')} (n = {row.judged})",
        f"{SCORE} of all pairs, left out as 0": f"{_points(row, 'whole_')} (n = {row.whole})"}
        for row in table.itertuples()])


def shots_formatted(table: pd.DataFrame) -> pd.DataFrame:
    """Format `shots`, one row per number of demonstrations."""
    return pd.DataFrame([{
        **_group(row, ["suite", "arm"]), "demonstrations": row.setting, "shots": str(row.n_shots),
        "n (texts)": f"{row.n} ({row.texts})", "left out": f"{row.left_out}/{row.n}",
        f"{SCORE}, % [95%]": percent(row.rouge_score, row.low, row.high) + _few(row.texts),
        "of those asked with every number, % [95%]":
        f"{percent(row.common_score, row.common_low, row.common_high)} (n = {row.common})",
        "over the base prompt, of pairs asked both ways, points [95%]":
        f"{_points(row, 'gain_')} (n = {row.gain_n:.0f})" if row.n_shots else DASH,
        "of all pairs, left out as 0":
        f"{_points(row, 'gain_whole_')} (n = {row.gain_whole:.0f})" if row.n_shots else DASH}
        for row in table.itertuples()])


def agreement_formatted(table: pd.DataFrame) -> pd.DataFrame:
    """Format `agreement`; a dash if a metric does not vary."""
    return pd.DataFrame([{
        "model": row.arm, "metrics": f"{row.first} – {row.second}", "replies": str(row.n),
        "Pearson over replies": number(row.pearson, ".3f"), "agree": percent(row.agreement),
        "Cohen's kappa": number(row.kappa, ".3f")} for row in table.itertuples()])


def published_formatted(table: pd.DataFrame) -> pd.DataFrame:
    """Format `published.with_ours`: one row per model, all its prompts in one cell.

    ≤ marks a score at or below the floor of its suite.
    """
    rows = []
    for (suite, source, model, where), cell in table.groupby(
            ["suite", "source", "model", "where"], sort=False):
        scores = []
        for row in cell.itertuples():
            ends = () if pd.isna(row.low) else (100 * row.low, 100 * row.high)
            mark = " ≤" if row.rouge_score <= row.floor and model != BLIND else ""
            scores.append(f"{row.prompt or DASH} {estimate(100 * row.rouge_score, *ends)}{mark}")
        rows.append({"suite": suite, "source": source, "model": model, "n": f"{cell.n.max()}",
                     f"{SCORE}, %, by prompt": "; ".join(scores),
                     "where": where})
    return pd.DataFrame(rows)


def published_agreement_formatted(table: pd.DataFrame) -> pd.DataFrame:
    """Format `published.agreement_with_ours`."""
    return pd.DataFrame({
        "metric": table.metric, "source": table.source, "Pearson with": table["with"],
        "over": table.over,
        "n": [number(n) for n in table.n], "Pearson": [number(p, ".3f") for p in table.pearson]})


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


def _points(row: tuple, prefix: str = "") -> str:
    """Format a row's difference with its interval."""
    name = "points" if prefix.endswith(("judge_", "whole_")) else "difference_points"
    columns = (name, "low_points", "high_points")
    return in_points(*(getattr(row, prefix + column) for column in columns))


def _few(texts: int) -> str:
    """Return a mark if there are so few texts that an interval is less certain, else ""."""
    return " †" if texts < FEW_CLUSTERS else ""


def _group(row: tuple, by: Sequence[str]) -> dict[str, str]:
    kinds = TASKS | EXTRA_TASKS
    return {_head(name): f"{getattr(row, name)} {kinds[row.task]}" if name == "task"
            else str(getattr(row, name)) for name in by}


def _head(column: str) -> str:
    return {"arm": "model", "form": "in the prompt"}.get(column, column)
