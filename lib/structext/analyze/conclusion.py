"""Write the findings of a run on StrucText-Eval as text, which `make study` prints at its end.

A score says that a model reads only as far as it is above the floor, the arm BLIND, which reads
nothing. Where an arm stands is said by its paired difference, with a 95% interval over texts.
"""

import pandas as pd

from lib.analyze.format import aligned, in_points, percent
from lib.core.arms import ALL
from lib.core.text import listed
from lib.structext.analyze.floor import BLIND
from lib.structext.analyze.published import FLOORS, PAPER
from lib.structext.analyze.tables import JUDGE

_CAUTION = (
    "Intervals are not corrected for their number; one that includes 0 shows no difference, which "
    "does not mean that there is none. The tables in this folder have every language, task, prompt "
    "and difference.")


def conclusion(*, scores: pd.DataFrame, forms: pd.DataFrame, floors: pd.DataFrame,
               curve: pd.DataFrame, real: pd.DataFrame, margins: pd.DataFrame,
               agreed: pd.DataFrame, means: pd.DataFrame, official: pd.DataFrame,
               both: pd.DataFrame, prompt: str = "base") -> str:
    """Return tables of scores by suite and, for the first suite, by form; one line per finding.

    `scores` and `forms` are from `summary` for `prompt`, by suite and arm and by suite, form and
    arm; `floors` from `against` BLIND; `curve` from `shots`; `real` and `margins` from
    `real_and_test`, the latter of `over_floor`; `agreed` and `means` from `agreement` and
    `agreement_of_means`; `official` from `both_scores`; `both` from `with_ours`.
    If there is nothing to compare, the line says so.
    """
    first = forms[forms.suite == forms.suite.min()]
    at = floors[floors.prompt == prompt]
    parts = ["ROUGE-L, 0 below 0.75: mean over all questions, % [95% over texts]. The arm "
             f"{BLIND} reads nothing and gives one constant answer per task and depth: the floor.",
             _table(scores, "suite", ("rouge_score", "low", "high")),
             f"Correct according to the judge, %, by what is in the prompt ({first.suite.min()}; "
             "left out counts as incorrect):",
             _table(first, "form", (JUDGE, "judge_low", "judge_high")), _counts(scores),
             _listed("Compared with the floor on the same questions, points",
                     [f"{row.arm} on {row.suite} {_difference(row)}: {standing(row)}"
                      for row in at.itertuples() if row.whole]),
             _shots(curve, floors), _real(real, margins), _published(both),
             _official(official), _agreed(agreed, means), _CAUTION]
    return "\n\n".join(part for part in parts if part) + "\n"


def standing(row) -> str:
    """Say where an arm stands; `row` is one of `against(rows, BLIND)`."""
    if not row.n:
        return "not compared with the floor"
    if row.low_points > 0:
        return "above the floor"
    if row.high_points < 0:
        return "below the floor"
    return ("at or below the floor" if row.difference_points <= 0
            else "not shown to be above the floor")


def _listed(head: str, texts: list[str]) -> str:
    return f"{head}: {'; '.join(texts)}." if texts else ""


def _unless_above(floors: pd.DataFrame, arm: str, suite: str, prompt: str) -> str:
    """Return "" for an arm above the floor, else ", on <suite> <where it stands>"."""
    own = floors[(floors.arm == arm) & (floors.suite == suite) & (floors.prompt == prompt)]
    stands = {standing(row) for row in own.itertuples()} - {"above the floor"}
    return "".join(f", on {suite} {text}" for text in stands)


def _table(cells: pd.DataFrame, by: str, columns: tuple[str, str, str]) -> str:
    """Return one row per group and one column per arm."""
    rows = []
    for group, cell in cells.groupby(by, observed=True):
        own = cell.set_index("arm")
        row = own.iloc[0]  # every arm was asked the same questions
        rows.append({by: group, "n (texts)": f"{row.n} ({row.texts})",
                     **{arm: percent(*own.loc[arm, [*columns]])
                        for arm in cells.arm.cat.categories if arm in own.index},
                     "left out": _shares(own)})
    return aligned(pd.DataFrame(rows))


def _counts(scores: pd.DataFrame) -> str:
    """Count, by arm and with denominators, the questions that scored 0 without an answer."""
    columns = ["n", "left_out", "failed", "no_answer", "truncated"]
    totals = scores[scores.arm != BLIND].groupby("arm", observed=True)[columns].sum()
    counts = [f"{arm} {row.left_out} ({row.left_out / row.n:.1%}) longer than its context window "
              f"and not sent, {row.failed} that failed, {row.no_answer} replies without an answer, "
              f"{row.truncated} truncated by the budget" for arm, row in totals.iterrows()]
    return _listed(f"Of {scores.groupby('arm', observed=True).n.sum().max()} questions", counts)


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


def _shares(own: pd.DataFrame) -> str:
    """Name the arms whose window left out questions, with their share."""
    texts = [f"{arm} {row.left_out / row.n:.0%}" for arm, row in own.iterrows() if row.left_out]
    return ", ".join(texts) or "none"


def _shots(curve: pd.DataFrame, floors: pd.DataFrame) -> str:
    """Describe the gain from the most demonstrations, on the first suite with demonstrations.

    The floor is the same with and without them, so a gain is also one in distance from the floor.
    """
    most = curve[(curve.gain_whole > 0) & (curve.arm != BLIND)]
    if most.empty:
        return "No question was asked both with demonstrations and with the base prompt."
    most = most[most.suite == most.suite.min()]
    most = most[most.n_shots == most.n_shots.max()]
    texts = [f"{row.arm}, {row.setting} {_difference(row, 'gain_')}"
             f"{_unless_above(floors, row.arm, row.suite, f'{row.setting}-{row.n_shots}')}"
             for row in most.itertuples()]
    number = most.n_shots.max()
    shown = "1 demonstration" if number == 1 else f"{number} demonstrations"
    return (f"{shown} compared with the base prompt, on {most.suite.min()}, points: "
            f"{'; '.join(texts)}.")


def _real(real: pd.DataFrame, margins: pd.DataFrame) -> str:
    """Describe the change from Test to Real-Test, and that of the distance from the floor."""
    rows = real[(real.language == ALL) & (real.whole > 0)]
    if rows.empty:
        return "No sample was asked both in Test and in Real-Test, so they cannot be compared."
    of_margin = {row.arm: f", its distance from the floor {_difference(row)}"
                 for row in margins[margins.language == ALL].itertuples()}
    texts = [f"{row.arm} {percent(row.first)} → {percent(row.second)}, {_difference(row)}"
             f"{of_margin.get(row.arm, '')}" for row in rows.itertuples()]
    return _listed("Real-Test compared with Test, the same structures in words of a scenario, "
                   "points", texts)


def _published(both: pd.DataFrame) -> str:
    """Name the published scores that are at or below the floor of their suite."""
    rows = both[(both.source == PAPER) & (both.rouge_score <= both.floor)]
    names = {suite: [f"{row.model} {100 * row.rouge_score:.1f} ({row.prompt})"
                     for row in rows[rows.suite == suite].itertuples()] for suite in FLOORS}
    texts = [f"{suite} {percent(*floor)}, published at or below it {listed(names[suite]) or 'none'}"
             for suite, (_, *floor) in FLOORS.items()]
    return _listed("The floor of the paper's suites, which have the official faults, %", texts)


def _official(official: pd.DataFrame) -> str:
    """Give both scores of each arm on the published samples."""
    return _listed("Published samples, scored as the official code does and as here, %", [
        f"{row.arm}, {row.prompt} {percent(row.official)} (n = {row.replies - row.lost}, "
        f"{row.lost} lost) and {percent(row.rouge_score, row.low, row.high)} (n = {row.n})"
        for row in official.itertuples()])


def _agreed(agreed: pd.DataFrame, means: pd.DataFrame) -> str:
    """Describe how far each metric agrees with the judge: over replies, and over arms' means."""
    is_pooled = (agreed.arm == agreed.arm.iloc[-1]) & (agreed["second"] == JUDGE)
    pooled = agreed[is_pooled & agreed.pearson.notna()]
    if pooled.empty:
        return "How far the metrics agree with the judge is unknown: in no arm do they vary."
    texts = [f"{row.first} {row.pearson:.3f}" for row in pooled.itertuples()]
    of_means = [f"{row.first} {row.pearson:.3f}" for row in means.itertuples()
                if pd.notna(row.pearson)]
    return (f"Pearson with the judge's verdict, over {pooled.n.max()} replies with an answer: "
            f"{listed(texts)}; over the means of {means.n.max()} models, as in v2's Table 6: "
            f"{listed(of_means) if of_means else 'unknown'}.")
