"""Write the findings of a run on StrucText-Eval as text, which `make study` prints at its end."""

import pandas as pd

from lib.analyze.format import aligned, in_points, percent
from lib.core.arms import ALL
from lib.core.text import listed
from lib.structext.analyze.tables import JUDGE

_CAUTION = (
    "Intervals are not corrected for their number; one that includes 0 shows no difference, which "
    "does not mean that there is none. The tables in this folder have every language, task, prompt "
    "and difference.")


def conclusion(scores: pd.DataFrame, forms: pd.DataFrame, gains: pd.DataFrame,
               curve: pd.DataFrame, real: pd.DataFrame, agreed: pd.DataFrame) -> str:
    """Return tables of scores by suite and, for the first suite, by form; one line per comparison.

    `scores` and `forms` are from `summary` for one prompt, by suite and arm and by suite, form and
    arm. The others are from `against_first` (for that prompt), `shots`, `real_and_test` and
    `agreement`. If there is nothing to compare, the line says so.
    """
    first = forms[forms.suite == forms.suite.min()]
    parts = ["ROUGE-L, 0 below 0.75: mean over all questions, % [95% over texts].",
             _table(scores, "suite", ("rouge_score", "low", "high")),
             f"Correct according to the judge, %, by what is in the prompt ({first.suite.min()}; "
             "left out counts as incorrect):",
             _table(first, "form", (JUDGE, "judge_low", "judge_high")),
             _counts(scores), _arms(gains), _shots(curve), _real(real), _agreed(agreed), _CAUTION]
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(cells: pd.DataFrame, by: str, columns: tuple[str, str, str]) -> str:
    """Return one row per group and one column per arm."""
    rows = []
    for group, cell in cells.groupby(by, observed=True):
        own = cell.set_index("arm")
        row = own.iloc[0]  # every arm was asked the same questions
        rows.append({by: group, "n (texts)": f"{row.n} ({row.texts})", "left out": row.left_out,
                     **{arm: percent(*own.loc[arm, [*columns]])
                        for arm in cells.arm.cat.categories if arm in own.index}})
    return aligned(pd.DataFrame(rows))


def _counts(scores: pd.DataFrame) -> str:
    """Count, by arm and with denominators, the questions that scored 0 without an answer."""
    columns = ["n", "left_out", "failed", "no_answer", "truncated"]
    totals = scores.groupby("arm", observed=True)[columns].sum()
    counts = [f"{arm} {row.failed} that failed, {row.no_answer} replies without an answer, "
              f"{row.truncated} truncated by the budget" for arm, row in totals.iterrows()]
    first = totals.iloc[0]  # every arm was asked the same questions
    return (f"Of {first.n} questions, {first.left_out} exceed base_model's context window and were "
            f"sent to no arm. Of the {first.n - first.left_out} others: {'; '.join(counts)}.")


def _arms(gains: pd.DataFrame) -> str:
    texts = [f"{row.arm} on {row.suite} {_difference(row)}"
             for row in gains.itertuples() if row.whole]
    return ("Compared with the first arm on the same questions, points: "
            f"{'; '.join(texts)}." if texts else "")


def _difference(row, prefix: str = "") -> str:
    """Describe the difference over pairs asked both ways, then over all pairs.

    "not shown" means that the first interval includes 0. The columns' names begin with `prefix`.
    """
    points, low, high, n, whole, *of_all = (getattr(row, prefix + name) for name in (
        "difference_points", "low_points", "high_points", "n", "whole", "whole_points",
        "whole_low_points", "whole_high_points"))
    notes = [f"n = {n:.0f}" + (" asked both ways" if n < whole else "")]
    if low <= 0 <= high:
        notes[0] += ", not shown"
    if n < whole:
        notes.append(f"all {whole:.0f}, left out as 0: {in_points(*of_all)}")
    return f"{in_points(points, low, high) if n else 'unknown'} ({'; '.join(notes)})"


def _shots(curve: pd.DataFrame) -> str:
    """Describe the gain from the most demonstrations, on the first suite with demonstrations."""
    most = curve[curve.gain_whole > 0]
    if most.empty:
        return "No question was asked both with demonstrations and with the base prompt."
    most = most[most.suite == most.suite.min()]
    most = most[most.n_shots == most.n_shots.max()]
    texts = [f"{row.arm}, {row.setting} {_difference(row, 'gain_')}" for row in most.itertuples()]
    number = most.n_shots.max()
    shown = "1 demonstration" if number == 1 else f"{number} demonstrations"
    return (f"{shown} compared with the base prompt, on {most.suite.min()}, points: "
            f"{'; '.join(texts)}.")


def _real(real: pd.DataFrame) -> str:
    rows = real[(real.language == ALL) & (real.whole > 0)]
    if rows.empty:
        return "No sample was asked both in Test and in Real-Test, so they cannot be compared."
    texts = [f"{row.arm} {percent(row.first)} → {percent(row.second)}, {_difference(row)}"
             for row in rows.itertuples()]
    return ("Real-Test compared with Test, the same structures in words of a scenario, points: "
            f"{'; '.join(texts)}.")


def _agreed(agreed: pd.DataFrame) -> str:
    """Describe how far each metric agrees with the judge, over all arms."""
    is_pooled = (agreed.arm == agreed.arm.iloc[-1]) & (agreed["second"] == JUDGE)
    pooled = agreed[is_pooled & agreed.pearson.notna()]
    if pooled.empty:
        return "How far the metrics agree with the judge is unknown: in no arm do they vary."
    texts = [f"{row.first} {row.pearson:.3f}" for row in pooled.itertuples()]
    return (f"Pearson with the judge's verdict, over {pooled.n.max()} replies with an answer: "
            f"{listed(texts)}.")
