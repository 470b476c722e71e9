"""Is an answer to an easy or medium question right? A stated rule for figures, and words where there are none.

The rule. A figure is right where it is the reference rounded to the digits that it is written with, three significant
ones at least (or all that the reference has), or where it is off by no more than `tolerance` of the reference in a
calculation; an extraction has no tolerance. Scale counts: $391 million is wrong for $391 billion, and a figure without
a scale word is read in the scale that the question names, else as it stands. Unit: another currency, or percent for
dollars, is wrong; none at all is taken for the reference's, and percent and percentage points for each other. 0.124 is
right for 12.4% unless the question asks for a percentage, and 12.4% for 0.124. Sign: a minus and brackets are the same;
"fell by 5" is -5; where the question itself asks how far something fell, the sign is free. The labels that a question
quotes ("Net loss") say no direction. Years, numbers that the
question names and the operands of the calculation may stand beside the answer; any other figure makes it wrong, since
it offers a second value. A comparison is right where it names the reference, by the item's own label or as a year in
any wording ("FY2024"), and no other label of these tables; one that denies or hedges is compared word by word.
"""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from lib.core.values import folded, solid, tokens
from lib.judge.rules import compare
from lib.structext.analyze.scores import score
from lib.tablequest.analyze.amounts import MOST_DIGITS, Amount, amounts
from lib.tablequest.questions.periods import label_of
from lib.tablequest.records import Grid, TableQuestion

TOLERANCE = 0.005  # of a calculation, as a share of the reference
LEAST_DIGITS = 3
_FALL = re.compile(r"\b(?:decreas|declin|fell\b|fall|drop|lower|reduc|down\b|less\b|shrank|shrink|loss)", re.I)
_RISE = re.compile(r"\b(?:increas|rose\b|ris(?:e|es|ing)\b|grew\b|grow|higher|gain|up\b|more\b|climb)", re.I)
_QUOTED = re.compile(r'["“]([^"“”]+)["”]')
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_UNSURE = re.compile(r"\b(?:not?|never|neither|nor|or|either|except|without|maybe|perhaps|possibly|probably|cannot"
                     r"|\w+n't)\b")
_PERCENT = re.compile(r"%|per\s?cent|percentage", re.I)
_SCALE = re.compile(r"\b(thousand|million|billion)s?\b", re.I)
_SCALES = {"thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_ENDLESS = re.compile(rf"(?:\d[,.]?){{{MOST_DIGITS},}}")
_ROUNDING = Fraction(1, 10**9)  # of a reference that was computed with floats


class Outcome(NamedTuple):
    """Whether an answer is right, and why in a few words."""

    is_correct: bool
    reason: str


def assess(question: TableQuestion, answer: str, grids: Mapping[str, Grid], tolerance: float = TOLERANCE) -> Outcome:
    """Whether `answer` (of an easy or medium question) is right by the rule above.

    A question whose reference is no figure, nor one of the items that it compares, is compared in words, by
    lib.judge.rules.
    Raises ValueError for a hard question, which no rule can score, and for a negative `tolerance`.
    """
    if question.level == "hard":
        raise ValueError(f"question {question.question_id} is hard: it is rated by pairs, not by a rule")
    if tolerance < 0:
        raise ValueError(f"the tolerance is {tolerance}: give a share of the reference, such as {TOLERANCE}")
    if not answer.strip():
        return Outcome(False, "empty answer")
    if not is_figure(question):
        if question.kind == "comparison" and (outcome := _compared(question, answer, grids)):
            return outcome
        outcome = compare(question.question, question.answer, _without_endless(answer))
        return Outcome(outcome.is_correct, outcome.reason)
    share = Fraction(0) if question.level == "easy" else Fraction(str(tolerance))
    said = asserted(question, answer, grids)
    if not said:
        return Outcome(False, "no figure in the answer")
    wrong = [amount for amount in said if not is_right(question, amount, answer, share)]
    right = [amount for amount in said if amount not in wrong]
    if not right:
        return Outcome(False, f"{wrong[0].text} is not {question.answer}")
    return Outcome(False, f"{wrong[0].text} stands beside it") if wrong else Outcome(True, f"{right[0].text} is right")


def is_figure(question: TableQuestion) -> bool:
    """Whether the reference is a figure; the name of the larger of two items is none."""
    return question.value is not None and bool(amounts(question.answer)) and question.kind != "comparison"


def _compared(question: TableQuestion, answer: str, grids: Mapping[str, Grid]) -> Outcome | None:
    """A comparison by the items that `answer` names; None where words have to decide.

    That is where it names no item, denies or hedges, names another label of these tables beside the reference, or where
    the reference is none of the items.
    """
    places = [(grids[where.grid_id], where) for where in question.cells.values()]
    if is_year := bool(_YEAR.fullmatch(question.answer)):
        items = {year for grid, where in places for year in _YEAR.findall(grid.columns[where.column])}
        labels = {year for grid, _ in places for column in grid.columns for year in _YEAR.findall(column)}
    else:
        items = {_own(grid.rows[where.row]) for grid, where in places}
        labels = {_own(row) for grid, _ in places for row in grid.rows} - {""}
    edge, found, rest = r"\d" if is_year else r"[\w-]", set(), folded(answer).casefold()
    for label in sorted(labels, key=len, reverse=True):  # "Total products" holds "products"
        rest, count = re.subn(rf"(?<!{edge}){re.escape(label)}(?!{edge})", " ", rest)
        found |= {label} if count else set()
    reference = _own(question.answer)
    if reference not in items or not found & items:
        return None
    if found & items != {reference}:
        return Outcome(False, f"names {', '.join(sorted(found & items))}")
    return Outcome(True, f"names {reference}") if found == {reference} and not _UNSURE.search(rest) else None


def _own(label: str) -> str:
    """A row's own label without its group's, as answers are compared with it."""
    return folded(label_of(label).rpartition(": ")[2]).casefold()


def asserted(question: TableQuestion, answer: str, grids: Mapping[str, Grid]) -> list[Amount]:
    """The amounts that `answer` offers as its own: no years, nothing that the question says, no operand beside others.

    Where all that is left out is all there is, the last amount is what is offered.
    """
    named = {amount.value for amount in amounts(question.question)}
    operands = {abs(value) for value in operand_values(question, grids)} if len(question.cells) > 1 else set()
    found = amounts(answer)
    shown = [amount for amount in found if not amount.is_year and amount.value not in named
             and not any(abs(value) in operands for value in readings(question, amount))]
    reference = Fraction(str(question.value)) * Fraction(str(question.scale)) if question.value is not None else None
    is_operand = reference is not None and abs(reference) in operands  # a change from nil is its own operand
    return (found if is_operand else shown) or found[-1:]


def operand_values(question: TableQuestion, grids: Mapping[str, Grid]) -> list[Fraction]:
    """The values of the calculation's cells in whole units (dollars, not millions)."""
    cells = [grids[where.grid_id].cells[where.row][where.column] for where in question.cells.values()]
    return [Fraction(str(cell.value)) * Fraction(str(cell.scale)) for cell in cells if cell.value is not None]


def is_right(question: TableQuestion, amount: Amount, answer: str, tolerance: Fraction) -> bool:
    """Whether one amount of `answer` is the reference, by the rule above."""
    reference = Fraction(str(question.value)) * Fraction(str(question.scale))
    printed = amounts(question.answer)[-1:]
    digits = min(LEAST_DIGITS, printed[0].n_digits if printed else LEAST_DIGITS)
    for value in readings(question, amount):
        step = amount.step * abs(value / amount.value) if amount.value else amount.step
        for signed, wanted in _signed(question, value, answer, reference):
            distance = abs(signed - wanted)
            is_rounded = distance <= step / 2 + abs(wanted) * _ROUNDING and (amount.n_digits >= digits or not distance)
            if is_rounded or distance <= tolerance * abs(wanted):
                return True
    return False


def readings(question: TableQuestion, amount: Amount) -> list[Fraction]:
    """What `amount` may stand for in whole units, given the reference's unit and what the question names."""
    unit = question.unit.split("/")[0]
    unit = "%" if re.match(r"%|percent|pp\b|points?\b", unit) else unit
    if amount.unit == "%" != unit:
        return [amount.value / 100] if unit in ("", "ratio", "x", "times") else []
    if amount.unit and unit and amount.unit != unit:
        return []
    values = [amount.value]
    if unit == "%" and not amount.unit and not _PERCENT.search(question.question):
        values.append(100 * amount.value)
    if amount.scale == 1 and question.scale != 1 and (named := _SCALE.search(question.question)):
        values.append(amount.value * _SCALES[named[1].lower()])
    return values


def _signed(question: TableQuestion, value: Fraction, answer: str,
            reference: Fraction) -> list[tuple[Fraction, Fraction]]:
    """`value` and the reference as they are to be compared: by the direction that words give."""
    labels = sorted((label.rpartition(": ")[2] for label in _QUOTED.findall(question.question)), key=len, reverse=True)
    said = re.sub("|".join(map(re.escape, labels)), " ", answer, flags=re.I) if labels else answer
    fell, rose = (bool(words.search(said)) for words in (_FALL, _RISE))
    asks_fall, asks_rise = (bool(words.search(_QUOTED.sub(" ", question.question))) for words in (_FALL, _RISE))
    is_change = question.kind in ("difference", "percent change")
    if asks_fall and not asks_rise:
        return [] if is_change and rose and not fell else [(abs(value), abs(reference))]
    return [(-value if is_change and fell and not rose and value > 0 else value, reference)]


def word_scores(reference: str, answer: str) -> dict[str, float]:
    """exact_match, f1, bleu, rouge_l of an answer, each 0 to 1; f1 is of folded words and numbers, with repetition."""
    scored = score(reference, answer)
    return {"exact_match": float(scored.exact), "f1": f1(reference, answer), "bleu": scored.bleu,
            "rouge_l": scored.rouge_l}


def f1(reference: str, answer: str) -> float:
    """The harmonic mean of precision and recall over tokens as lib.core.values folds them (SQuAD's, with units read)."""
    wanted, said = (_values(text) for text in (reference, answer))
    rest = list(wanted)
    common = sum(1 for value in said if value in rest and not rest.remove(value))
    return 2 * common / (len(wanted) + len(said)) if common else 0.0


def _values(text: str) -> Sequence[object]:
    return [(token.kind, token.value) for token in solid(tokens(_without_endless(text)))]


def _without_endless(text: str) -> str:
    """`text` with a word for each number that has more digits than can be read as one."""
    return _ENDLESS.sub(" endless ", text)
