"""Classify how answers fail: each easy or medium answer has the first mode that applies."""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction

import pandas as pd

from lib.analyze.stats import share_interval
from lib.tasks.tablequest.analyze.accuracy import TOLERANCE, assess, is_figure
from lib.tasks.tablequest.analyze.amounts import Amount, amounts
from lib.tasks.tablequest.analyze.asserted import LEAST_DIGITS, asserted, readings
from lib.tasks.tablequest.ask.replies import IN_THOUGHTS, NO_ANSWER, NO_REPLY, Final
from lib.tasks.tablequest.records import LEVELS, Grid, Passage, TableQuestion, own_label

RIGHT = "right"
ANSWERED = "answered"  # for a hard question, whose answer no rule scores
HARD_MODES = ("empty", "format", "incomplete")
CUT_AWAY = "cut away"
MODES = (*HARD_MODES, "wrong unit", CUT_AWAY, "wrong cell", "wrong arithmetic", "other")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?|\.\d+")
_POWERS = tuple(Fraction(10) ** power for power in (-9, -6, -3, -2, 0, 2, 3, 6, 9))


def failure(question: TableQuestion, final: Final, passage: Passage, grids: Mapping[str, Grid],
            truncated: bool = False, tolerance: float = TOLERANCE, cut_away: bool = False) -> str:
    """Return RIGHT or the first of MODES that applies; for a hard question, HARD_MODES or ANSWERED.

    - empty: no reply, or an empty answer.
    - format: the reply lacks the JSON that the prompt asks for.
    - incomplete: truncated before its answer, or a calculation whose reply names only some cells.
    - wrong unit: the right digits with another scale, unit or sign.
    - cut away: a cell that the answer needs was lost when the prompt was truncated (`is_cut_away`).
    - wrong cell: an extraction gives another value of the passage's tables, or a calculation uses
      another value instead of one of its cells.
    - wrong arithmetic: the calculation names all its cells, but the result is wrong.
    """
    if final.missing:
        if truncated:
            return "incomplete"
        return "empty" if final.missing in (NO_REPLY, NO_ANSWER, IN_THOUGHTS) else "format"
    if question.level == "hard":
        return ANSWERED
    if assess(question, final.text, grids, tolerance).is_correct:
        return RIGHT
    if not is_figure(question):
        return CUT_AWAY if cut_away else _wrong_words(question, final, passage, grids)
    offered = asserted(question, final.text, grids)
    if any(_has_its_digits(question, amount) for amount in offered):
        return "wrong unit"
    if cut_away:
        return CUT_AWAY
    if len(question.cells) > 1:
        return _wrong_calculation(question, final, passage, grids)
    others = _others(question, passage, grids)
    return "wrong cell" if any(_is_in(amount, others) for amount in offered) else "other"


def is_cut_away(question: TableQuestion, complete: str, truncated: str,
                grids: Mapping[str, Grid]) -> bool:
    """Return whether one of the cells' numbers is in the `complete` prompt only."""
    printed = [_NUMBER.search(cell.text) for cell in question.cells_in(grids)]
    patterns = [rf"(?<![\d.,]){re.escape(found[0])}(?!\d|[.,]\d)" for found in printed if found]
    return any(re.search(number, complete) and not re.search(number, truncated)
               for number in patterns)


def failures(arm: str, questions: Sequence[TableQuestion],
             found: Mapping[str, str]) -> pd.DataFrame:
    """Return one row per level and mode (`modes_of`).

    Columns are arm, level, mode, count, n, share, low, high. `found` maps question_id to mode. n
    counts the level's questions in `found`, so the shares of a level add up to 1. The 95% interval
    of a share is stats.share_interval over passages, NaN with one.
    """
    rows = []
    for level in LEVELS:
        asked = [question for question in questions
                 if question.level == level and question.question_id in found]
        modes = pd.Series([found[question.question_id] for question in asked])
        passages = [question.passage_id for question in asked]
        rows += [(arm, level, mode, int((modes == mode).sum()), len(modes), (modes == mode).mean(),
                  *share_interval(modes == mode, passages))
                 for mode in modes_of(level) if asked]
    return pd.DataFrame(rows, columns=["arm", "level", "mode", "count", "n", "share", "low",
                                       "high"])


def modes_of(level: str) -> tuple[str, ...]:
    """Return the modes that `failure` can return for a question of this level, in order."""
    return (ANSWERED, *HARD_MODES) if level == "hard" else (RIGHT, *MODES)


def _wrong_calculation(question: TableQuestion, final: Final, passage: Passage,
                       grids: Mapping[str, Grid]) -> str:
    named = amounts("\n".join((*final.steps, final.text)))
    own = [cell.exact for cell in question.cells_in(grids) if cell.value is not None]
    used = [value for value in own if any(_is_in(amount, [value]) for amount in named)]
    if len(used) == len(own):
        return "wrong arithmetic"
    strange = [amount for amount in named if not amount.is_year and not _is_in(amount, own)]
    others = _others(question, passage, grids)
    if any(_is_in(amount, others) for amount in strange):
        return "wrong cell"
    return "incomplete" if used else "other"


def _wrong_words(question: TableQuestion, final: Final, passage: Passage,
                 grids: Mapping[str, Grid]) -> str:
    """Return "wrong cell" if the answer is another label of the same grids, else "other"."""
    used = [grids[key] for key in {*passage.grid_ids,
                                   *(ref.grid_id for ref in question.cells.values())}]
    labels = {own_label(label).casefold() for grid in used for label in (*grid.rows, *grid.columns)}
    reference, answer = question.answer.casefold(), final.text.casefold()
    is_other = any(label and label in answer and label not in reference for label in labels)
    return "wrong cell" if is_other else "other"


def _has_its_digits(question: TableQuestion, amount: Amount) -> bool:
    """Return whether the amount equals the reference except for scale, unit and sign."""
    reference = abs(question.exact)
    if not reference:
        return not amount.value
    values = {abs(amount.value), *(abs(value) for value in readings(question, amount))}
    digits = len(str(question.value).strip("-0.").replace(".", ""))
    return amount.n_digits >= min(LEAST_DIGITS, digits) and any(
        abs(value * power - reference) <= amount.step * power / 2
        for value in values for power in _POWERS)


def _others(question: TableQuestion, passage: Passage, grids: Mapping[str, Grid]) -> list[Fraction]:
    """Return the values of the passage's tables that the question does not ask for."""
    own = {(ref.grid_id, ref.row, ref.column) for ref in question.cells.values()}
    return [cell.exact for key in passage.grid_ids for row, cells in enumerate(grids[key].cells)
            for column, cell in enumerate(cells) if cell.value and (key, row, column) not in own]


def _is_in(amount: Amount, values: Sequence[Fraction]) -> bool:
    """Return whether the amount has a value's digits, in any scale; steps often omit the scale."""
    written = {abs(amount.value) * power for power in _POWERS} - {0}
    return any(abs(value) in written for value in values)
