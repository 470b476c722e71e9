"""How an answer fails: each easy and medium question of an arm has one mode, tried in a stated order."""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction

import pandas as pd

from lib.tablequest.analyze.accuracy import (
    LEAST_DIGITS,
    TOLERANCE,
    asserted,
    assess,
    is_figure,
    operand_values,
    readings,
)
from lib.tablequest.analyze.amounts import Amount, amounts
from lib.tablequest.ask.replies import IN_THOUGHTS, NO_ANSWER, NO_REPLY, Final
from lib.tablequest.records import LEVELS, Grid, Passage, TableQuestion

RIGHT = "right"
ANSWERED = "answered"  # of a hard question, whose answer no rule scores
HARD_MODES = ("empty", "format", "incomplete")
CUT_AWAY = "cut away"
MODES = (*HARD_MODES, "wrong unit", CUT_AWAY, "wrong cell", "wrong arithmetic", "other")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?|\.\d+")
_POWERS = tuple(Fraction(10) ** power for power in (-9, -6, -3, -2, 0, 2, 3, 6, 9))


def failure(question: TableQuestion, final: Final, passage: Passage, grids: Mapping[str, Grid], truncated: bool = False,
            tolerance: float = TOLERANCE, cut_away: bool = False) -> str:
    """RIGHT or the first of MODES that holds; of a hard question one of its own three, else ANSWERED.

    empty: no reply, or an empty answer. format: a reply without the JSON asked for. incomplete: cut before its answer,
    or a calculation of which the reply names some cells and no others. wrong unit: the right digits with another scale,
    unit or sign. cut away: a cell that is needed was lost when the prompt was cut to fit (is_cut_away). wrong cell: an
    extraction gives another value of the passage's tables, or a calculation names one instead of one of its own. wrong
    arithmetic: the calculation names all its cells, and the result is wrong.
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
    said = asserted(question, final.text, grids)
    if any(_has_its_digits(question, amount) for amount in said):
        return "wrong unit"
    if cut_away:
        return CUT_AWAY
    if len(question.cells) < 2:
        return "wrong cell" if any(_stands(amount, _others(question, passage, grids)) for amount in said) else "other"
    return _wrong_calculation(question, final, passage, grids)


def is_cut_away(question: TableQuestion, whole: str, short: str, grids: Mapping[str, Grid]) -> bool:
    """Whether the printed number of a cell of `question` stands in the prompt `whole`, and no longer in `short`."""
    texts = [grids[where.grid_id].cells[where.row][where.column].text for where in question.cells.values()]
    printed = [rf"(?<![\d.,]){re.escape(found[0])}(?!\d|[.,]\d)" for text in texts if (found := _NUMBER.search(text))]
    return any(re.search(number, whole) and not re.search(number, short) for number in printed)


def failures(arm: str, questions: Sequence[TableQuestion], found: Mapping[str, str]) -> pd.DataFrame:
    """One row a level and mode of modes_of: arm, level, mode, count, n, share; `found` is question_id -> mode.

    n is the number of the level's questions that were answered, so that the shares of a level add up to 1.
    """
    rows = []
    for level in LEVELS:
        modes = [found[question.question_id] for question in questions
                 if question.level == level and question.question_id in found]
        rows += [{"arm": arm, "level": level, "mode": mode, "count": modes.count(mode), "n": len(modes),
                  "share": modes.count(mode) / len(modes)} for mode in modes_of(level) if modes]
    return pd.DataFrame(rows, columns=["arm", "level", "mode", "count", "n", "share"])


def modes_of(level: str) -> tuple[str, ...]:
    """What `failure` can say of a question of this level, in order."""
    return (ANSWERED, *HARD_MODES) if level == "hard" else (RIGHT, *MODES)


def _wrong_calculation(question: TableQuestion, final: Final, passage: Passage, grids: Mapping[str, Grid]) -> str:
    named = amounts("\n".join((*final.steps, final.text)))
    own = operand_values(question, grids)
    used = [value for value in own if any(_is_value(amount, value) for amount in named)]
    if len(used) == len(own):
        return "wrong arithmetic"
    others = _others(question, passage, grids)
    if any(_stands(amount, others) for amount in named if not amount.is_year and not any(
            _is_value(amount, value) for value in own)):
        return "wrong cell"
    return "incomplete" if used else "other"


def _wrong_words(question: TableQuestion, final: Final, passage: Passage, grids: Mapping[str, Grid]) -> str:
    """Where the answer is a label: another label of the same grids is a wrong cell."""
    tables = {block.grid_id for block in passage.blocks if block.grid_id} | {
        where.grid_id for where in question.cells.values()}
    labels = {label.rpartition(": ")[2].casefold() for key in tables for label in (*grids[key].rows,
                                                                                   *grids[key].columns)}
    reference = question.answer.casefold()
    said = final.text.casefold()
    is_other = any(label and label in said and label not in reference for label in labels)
    return "wrong cell" if is_other else "other"


def _has_its_digits(question: TableQuestion, amount: Amount) -> bool:
    """Whether the amount is the reference but for scale, unit and sign."""
    reference = abs(Fraction(str(question.value)) * Fraction(str(question.scale)))
    if not reference:
        return not amount.value
    values = {abs(amount.value), *(abs(value) for value in readings(question, amount))}
    return amount.n_digits >= min(LEAST_DIGITS, len(str(question.value).strip("-0.").replace(".", ""))) and any(
        abs(value * power - reference) <= amount.step * power / 2 for value in values for power in _POWERS)


def _others(question: TableQuestion, passage: Passage, grids: Mapping[str, Grid]) -> list[Fraction]:
    """The values of the passage's tables that the question does not ask for, in whole units."""
    own = {(where.grid_id, where.row, where.column) for where in question.cells.values()}
    return [Fraction(str(cell.value)) * Fraction(str(cell.scale))
            for key in dict.fromkeys(block.grid_id for block in passage.blocks if block.grid_id)
            for row, cells in enumerate(grids[key].cells) for column, cell in enumerate(cells)
            if cell.value and (key, row, column) not in own]


def _stands(amount: Amount, values: Sequence[Fraction]) -> bool:
    return any(_is_value(amount, value) for value in values)


def _is_value(amount: Amount, value: Fraction) -> bool:
    """Whether the amount has the digits of a cell, whatever its scale word: steps are written shortly."""
    said = abs(amount.value)
    return bool(said) and any(said * power == abs(value) for power in _POWERS)
