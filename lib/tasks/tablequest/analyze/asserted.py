"""Find the figures that an answer asserts, and what each may mean by the rule of accuracy.py."""

import re
from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations

from lib.tasks.tablequest.analyze.amounts import SCALES, Amount, amounts, plain
from lib.tasks.tablequest.analyze.claims import (
    asks_for_fall,
    counts_other,
    direction,
    sentence_of,
    signs,
    without_comparison,
)
from lib.tasks.tablequest.analyze.workings import results
from lib.tasks.tablequest.records import Grid, TableQuestion, own_label

LEAST_DIGITS = 3
_QUOTED = re.compile(r'["“]([^"“”]+)["”]')
_POINTS = re.compile(r"point|\bp?pts?\b|\bpp\b|bps", re.I)
_PERCENT = re.compile(r"%|per\s?cent|percentage", re.I)
_SCALE = re.compile(r"\b(thousand|million|billion)s?\b", re.I)
_ROUNDING = Fraction(1, 10**9)  # error of a reference that was computed with floats, as a share


def asserted(question: TableQuestion, answer: str, grids: Mapping[str, Grid]) -> list[Amount]:
    """Return the amounts that `answer` gives as its result; if there is none, its last one.

    See the rule above. A figure equal to the reference is always one.
    """
    if question.level == "easy":
        answer = without_comparison(answer, question.question)
    named = {amount.value for amount in amounts(question.question)}
    beside = _beside(question, grids)

    def is_beside(amount: Amount) -> bool:
        if question.value is not None and abs(amount.value) == abs(question.exact):
            return False
        values = {value for unit, value in beside if amount.unit in ("", unit)}
        return amount.value in named or any(
            abs(value) in values for value in (amount.value, *readings(question, amount)))

    found = [amount for amount in results(answer) if not amount.is_year]
    return [amount for amount in found if not is_beside(amount)] or amounts(answer)[-1:]


def _beside(question: TableQuestion, grids: Mapping[str, Grid]) -> set[tuple[str, Fraction]]:
    """Return units and values, without sign, that may stand beside a calculation's result.

    They are its operands, as printed or in whole units, and where the result is a percentage or an
    average also their sum and difference.
    """
    cells = [cell for cell in question.cells_in(grids) if cell.value is not None]
    if len(cells) < 2:
        return set()
    found: set[tuple[str, Fraction]] = set()
    for values in ([cell.exact for cell in cells], [Fraction(str(cell.value)) for cell in cells]):
        more = [sum(values), *(one - other for one, other in combinations(values, 2))]
        values += more if question.kind not in ("sum", "difference") else []
        found |= {(cells[0].unit.split("/")[0], abs(value)) for value in values}
    return found


def is_right(question: TableQuestion, amount: Amount, answer: str, tolerance: Fraction,
             labels: str = "") -> bool:
    """Return whether one amount of `answer` is the reference, by the rule above.

    `labels` are those of the question's cells.
    """
    printed = amounts(question.answer)[-1:]
    digits = min([LEAST_DIGITS, *(one.n_digits for one in printed)])
    text = plain(answer)
    if counts_other(text[amount.end:], _unit_of(question), question.question + labels) and (
            not amount.unit):
        return False
    for value in readings(question, amount):
        if any(value == one.value for one in printed):
            digits = 0  # "2%" for 2.0%
        step = amount.step * abs(value / amount.value) if amount.value else amount.step
        for signed, wanted in _signed(question, value, sentence_of(text, amount), labels):
            distance = abs(signed - wanted)
            is_exact = amount.n_digits >= digits or not distance
            if is_exact and distance <= step / 2 + abs(wanted) * _ROUNDING:
                return True
            if distance <= tolerance * abs(wanted):
                return True
    return False


def readings(question: TableQuestion, amount: Amount) -> list[Fraction]:
    """Return what `amount` may mean in whole units, by the question and the reference's unit."""
    unit = _unit_of(question)
    if amount.unit == "%" != unit:
        return [amount.value / 100] if unit in ("", "ratio", "x", "times") else []
    is_pure = question.kind == "ratio" or "how many" in question.question.lower()
    is_named = is_pure and unit == "" and amount.unit not in ("", "x")
    is_points = question.kind == "percent change" and _POINTS.search(amount.text)
    if is_named or is_points or amount.is_per_share and unit and "/" not in question.unit:
        return []
    if amount.unit and unit and amount.unit != unit:
        return []
    values = [amount.value]
    if unit == "%" and not amount.unit and not _PERCENT.search(question.question):
        values.append(100 * amount.value)
    if amount.scale == 1 and question.scale != 1 and (named := _SCALE.search(question.question)):
        values.append(amount.value * SCALES[named[1].lower()])
    return values


def _unit_of(question: TableQuestion) -> str:
    unit = question.unit.split("/")[0]
    return "%" if re.match(r"%|percent|pp\b|points?\b", unit) else unit


def _signed(question: TableQuestion, value: Fraction, said: str,
            labels: str) -> list[tuple[Fraction, Fraction]]:
    """Return pairs of `value` and reference, signed as the words for a rise or fall imply."""
    is_change = question.kind in ("difference", "percent change")
    asked = _QUOTED.sub(" ", question.question)
    if is_change:  # a label such as "Net loss" gives a change no direction
        names = {own_label(name) for name in
                 (*_QUOTED.findall(question.question), *labels.split("\n"))} - {""}
        for label in sorted(names, key=len, reverse=True):
            said, asked = (re.sub(re.escape(label), " ", text, flags=re.I)
                           for text in (said, asked))
    if asks_for_fall(asked) and (is_change or question.exact >= 0):
        is_denied = is_change and direction(said) > 0
        return [] if is_denied else [(abs(value), abs(question.exact))]
    if value < 0:
        return [(value, question.exact)]
    return [(sign * value, question.exact)
            for sign in signs(said, question.question, labels, question.kind)]
