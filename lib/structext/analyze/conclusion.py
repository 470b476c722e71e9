"""What a run on StrucText-Eval found, in words written from its tables: what `make study` prints at its end."""

import numpy as np
import pandas as pd

from lib.analyze.format import in_points
from lib.core.arms import ALL
from lib.core.text import listed
from lib.structext.analyze.formatted import percent
from lib.structext.analyze.tables import JUDGE

_CAUTION = ("Intervals are not corrected for their number; one that holds 0 shows no difference, and not that there is "
            "none. The tables in this folder have every language, task, prompt and difference.")


def conclusion(scores: pd.DataFrame, forms: pd.DataFrame, gains: pd.DataFrame, curve: pd.DataFrame,
               real: pd.DataFrame, agreed: pd.DataFrame) -> str:
    """A table of scores, one of what was read of the first suite, and a line a question, with denominators.

    `scores` and `forms` are `analysis.summary` of one prompt by suite and arm, and by suite, form and arm; the others
    are `against_first` (of that prompt), `shots`, `real_and_test` and `agreement` of analysis_pairs. Where there is
    nothing to compare, the line says so.
    """
    first = forms[forms.suite == forms.suite.min()]
    parts = ["ROUGE-L, 0 below 0.75: mean over all questions, % [95% over texts].",
             _table(scores, "suite", ("rouge_score", "low", "high")),
             f"Right by the judge, %, by what stands in the prompt ({first.suite.min()}; left out counts as wrong):",
             _table(first, "form", (JUDGE, "judge_low", "judge_high")),
             _counted(scores), _arms(gains), _shots(curve), _real(real), _agreed(agreed), _CAUTION]
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(cells: pd.DataFrame, by: str, columns: tuple[str, str, str]) -> str:
    """A row a group and a column an arm; columns are aligned, to be read in a terminal too."""
    arms = [arm for arm in cells.arm.cat.categories if (cells.arm == arm).any()]
    lines = [[by, "n (texts)", "left out", *arms]]
    for group, cell in cells.groupby(by, observed=True):
        own = cell.set_index("arm")
        row = own.iloc[0]  # every arm was asked the same
        lines.append([group, f"{row.n} ({row.texts})", f"{row.left_out}",
                      *(percent(*own.loc[arm, [*columns]]) for arm in arms)])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |"
                     for line in lines)


def _counted(scores: pd.DataFrame) -> str:
    """What scored 0 without an answer that could be right, by arm, each with its denominator."""
    totals = scores.groupby("arm", observed=True)[["n", "left_out", "failed", "no_answer", "truncated"]].sum()
    said = [f"{arm} {row.failed} that failed, {row.no_answer} replies without an answer, {row.truncated} cut off by "
            "the budget" for arm, row in totals.iterrows()]
    first = totals.iloc[0]  # every arm was asked the same
    return (f"Of {first.n} questions, {first.left_out} are longer than base_model's window and were asked of no arm. "
            f"Of the {first.n - first.left_out} others: {'; '.join(said)}.")


def _arms(gains: pd.DataFrame) -> str:
    said = [f"{row.arm} on {row.suite} {_found(row)}" for row in gains.itertuples() if row.whole]
    return f"Against the first arm on the same questions, points: {'; '.join(said)}." if said else ""


def _found(row, before: str = "") -> str:
    """A difference of the pairs asked both ways with its interval and n, whether it is shown to be one; and of all.

    `before` stands before the names of the columns.
    """
    points, low, high, n, whole, *of_whole = (getattr(row, before + name) for name in (
        "difference_points", "low_points", "high_points", "n", "whole", "whole_points", "whole_low_points",
        "whole_high_points"))
    is_shown = np.isnan(low) or low > 0 or high < 0
    all_of_them = f"; all {whole:.0f}, left out as 0: {in_points(*of_whole)}" * (n < whole)
    own = in_points(points, low, high) if n else "unknown"
    return f"{own} (n = {n:.0f}{' asked both ways' * (n < whole)}{'' if is_shown else ', not shown'}{all_of_them})"


def _shots(curve: pd.DataFrame) -> str:
    """The gain of the most demonstrations, on the first suite that was asked with some."""
    most = curve[curve.gain_whole > 0]
    if most.empty:
        return "No suite was asked with demonstrations."
    most = most[(most.suite == most.suite.min()) & (most.n_shots == most.n_shots.max())]
    said = [f"{row.arm}, {row.setting} {_found(row, 'gain_')}" for row in most.itertuples()]
    shown = "1 demonstration" if most.n_shots.max() == 1 else f"{most.n_shots.max()} demonstrations"
    return f"{shown} less the base prompt, on {most.suite.min()}, points: {'; '.join(said)}."


def _real(real: pd.DataFrame) -> str:
    whole = real[(real.language == ALL) & (real.whole > 0)]
    if whole.empty:
        return "Test and Real-Test were not both asked, so that they cannot be compared."
    said = [f"{row.arm} {percent(row.first)}% → {percent(row.second)}%, {_found(row)}" for row in whole.itertuples()]
    return f"Real-Test less Test, the same structures in words of a scenario, points: {'; '.join(said)}."


def _agreed(agreed: pd.DataFrame) -> str:
    """How far each metric agrees with the judge, over all arms or the only one."""
    widest = agreed[(agreed.arm == agreed.arm.iloc[-1]) & (agreed["second"] == JUDGE) & agreed.pearson.notna()]
    if widest.empty:
        return "How far the metrics agree with the judge is unknown: in no arm do they vary."
    said = [f"{row.first} {row.pearson:.3f}" for row in widest.itertuples()]
    return f"Pearson with the judge's verdict, over {widest.n.max()} replies with an answer: {listed(said)}."
