"""Score an answer to an easy or medium question: figures by the rule below, other answers as words.

A figure is right if it is the reference rounded to the digits that the answer gives (at least three
significant ones, or all that the reference has). In a calculation it is also right if it is off by
at most `tolerance`, a share of the reference; an extraction has no tolerance.

- Scale: $391 million is wrong for $391 billion. A figure without a scale word has the scale that
  the question names, or none.
- Unit: another currency, or percent for dollars, is wrong. A missing unit is taken as the
  reference's; percent and percentage points are the same. 0.124 is right for 12.4% unless the
  question asks for a percentage, and 12.4% is right for 0.124.
- Sign: a minus and brackets are the same, and "fell by 5" is -5. The sign does not matter if the
  question itself asks how far something fell. Labels that a question quotes ("Net loss") give no
  direction.
- Other figures: years, numbers that the question names and the operands of the calculation may
  appear next to the answer. Any other figure makes it wrong, because it offers a second value.
- Comparison: the answer is right if it names the reference, by the item's own label or as a year in
  any wording ("FY2024"), and no other label of the same tables. An answer that denies or hedges is
  compared word by word.
"""

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from lib.core.values import folded, solid, tokens
from lib.judge.rules import compare
from lib.reading.metrics import EmptyText, bleu, exact_match, rouge_l
from lib.tablequest.analyze.amounts import MOST_DIGITS, Amount, amounts
from lib.tablequest.questions.wording import label_of
from lib.tablequest.records import Grid, TableQuestion, own_label

TOLERANCE = 0.005  # allowed error of a calculation, as a share of the reference
LEAST_DIGITS = 3
# "decreased by 5", "was lower"; not "at lowest"
_FALL = re.compile(r"\b(?:decreas|declin|fell\b|fall|drop|lower|reduc|down\b|less\b|shrank|shrink"
                   r"|loss)", re.I)
# "rose by 5", "is up"; not "upper"
_RISE = re.compile(r"\b(?:increas|rose\b|ris(?:e|es|ing)\b|grew\b|grow|higher|gain|up\b|more\b"
                   r"|climb)", re.I)
_QUOTED = re.compile(r'["“]([^"“”]+)["”]')
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
# "not pumps", "pumps or valves", "isn't"; not "notes"
_UNSURE = re.compile(r"\b(?:not?|never|neither|nor|or|either|except|without|maybe|perhaps|possibly"
                     r"|probably|cannot|\w+n't)\b")
_PERCENT = re.compile(r"%|per\s?cent|percentage", re.I)
_SCALE = re.compile(r"\b(thousand|million|billion)s?\b", re.I)
_SCALES = {"thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_ENDLESS = re.compile(rf"(?:\d[,.]?){{{MOST_DIGITS},}}")
_ROUNDING = Fraction(1, 10**9)  # error of a reference that was computed with floats, as a share


class Outcome(NamedTuple):
    """Whether an answer is right, and the reason in a few words."""

    is_correct: bool
    reason: str


def assess(question: TableQuestion, answer: str, grids: Mapping[str, Grid],
           tolerance: float = TOLERANCE) -> Outcome:
    """Return whether `answer` is right by the rule above. `grids` maps grid_id to grid.

    If the reference is neither a figure nor one of the items compared, lib.judge.rules compares the
    answer as words. Raises ValueError for a hard question, which no rule can score, and for a
    negative `tolerance`.
    """
    if question.level == "hard":
        raise ValueError(f"question {question.question_id} is hard: it is rated by pairs, not by a "
                         "rule")
    if tolerance < 0:
        raise ValueError(f"the tolerance is {tolerance}: give a share of the reference, such as "
                         f"{TOLERANCE}")
    if not answer.strip():
        return Outcome(False, "empty answer")
    if is_figure(question):
        return _assess_figure(question, answer, grids, tolerance)
    if question.kind == "comparison" and (outcome := _compared(question, answer, grids)):
        return outcome
    outcome = compare(question.question, question.answer, _without_endless(answer))
    return Outcome(outcome.is_correct, outcome.reason)


def is_figure(question: TableQuestion) -> bool:
    """Return whether the reference is a figure rather than the name of the larger of two items."""
    has_figure = question.value is not None and bool(amounts(question.answer))
    return has_figure and question.kind != "comparison"


def _assess_figure(question: TableQuestion, answer: str, grids: Mapping[str, Grid],
                   tolerance: float) -> Outcome:
    share = Fraction(0) if question.level == "easy" else Fraction(str(tolerance))
    offered = asserted(question, answer, grids)
    if not offered:
        return Outcome(False, "no figure in the answer")
    wrong = [amount for amount in offered if not is_right(question, amount, answer, share)]
    right = [amount for amount in offered if amount not in wrong]
    if not right:
        return Outcome(False, f"{wrong[0].text} is not {question.answer}")
    if wrong:
        return Outcome(False, f"{wrong[0].text} is offered too")
    return Outcome(True, f"{right[0].text} is right")


def _compared(question: TableQuestion, answer: str, grids: Mapping[str, Grid]) -> Outcome | None:
    """Assess a comparison by the items that `answer` names; None if its words must decide.

    They must if the answer names no item, denies or hedges, or names another label of the same
    tables next to the reference, or if the reference is not one of the items.
    """
    refs = question.cells.values()
    used = [grids[ref.grid_id] for ref in refs]
    if is_year := bool(_YEAR.fullmatch(question.answer)):
        columns = " | ".join(grids[ref.grid_id].columns[ref.column] for ref in refs)
        items = set(_YEAR.findall(columns))
        labels = set(_YEAR.findall(" | ".join(column for grid in used for column in grid.columns)))
    else:
        items = {_own(grids[ref.grid_id].rows[ref.row]) for ref in refs}
        labels = {_own(row) for grid in used for row in grid.rows} - {""}
    edge, found, rest = r"\d" if is_year else r"[\w-]", set(), folded(answer).casefold()
    for label in sorted(labels, key=len, reverse=True):  # "Total products" contains "products"
        rest, count = re.subn(rf"(?<!{edge}){re.escape(label)}(?!{edge})", " ", rest)
        found |= {label} if count else set()
    reference = _own(question.answer)
    if reference not in items or not found & items:
        return None
    if found & items != {reference}:
        return Outcome(False, f"names {', '.join(sorted(found & items))}")
    is_clear = found == {reference} and not _UNSURE.search(rest)
    return Outcome(True, f"names {reference}") if is_clear else None


def _own(label: str) -> str:
    return folded(own_label(label_of(label))).casefold()


def asserted(question: TableQuestion, answer: str, grids: Mapping[str, Grid]) -> list[Amount]:
    """Return the amounts that `answer` gives as its result.

    Years, amounts that the question names and (next to other amounts) operands of the calculation
    are left out; if no amount remains, the last one is returned.
    """
    named = {amount.value for amount in amounts(question.question)}
    is_calculation = len(question.cells) > 1
    operands = set(map(abs, operand_values(question, grids))) if is_calculation else set()
    found = amounts(answer)
    own = [amount for amount in found if not amount.is_year and amount.value not in named
           and not any(abs(value) in operands for value in readings(question, amount))]
    # The result of a change from zero equals an operand.
    is_operand = question.value is not None and abs(question.exact) in operands
    return (found if is_operand else own) or found[-1:]


def operand_values(question: TableQuestion, grids: Mapping[str, Grid]) -> list[Fraction]:
    """Return the values of the calculation's cells in whole units (dollars, not millions)."""
    return [cell.exact for cell in question.cells_in(grids) if cell.value is not None]


def is_right(question: TableQuestion, amount: Amount, answer: str, tolerance: Fraction) -> bool:
    """Return whether one amount of `answer` is the reference, by the rule above."""
    printed = amounts(question.answer)[-1:]
    digits = min([LEAST_DIGITS, *(one.n_digits for one in printed)])
    for value in readings(question, amount):
        step = amount.step * abs(value / amount.value) if amount.value else amount.step
        for signed, wanted in _signed(question, value, answer):
            distance = abs(signed - wanted)
            is_exact = amount.n_digits >= digits or not distance
            if is_exact and distance <= step / 2 + abs(wanted) * _ROUNDING:
                return True
            if distance <= tolerance * abs(wanted):
                return True
    return False


def readings(question: TableQuestion, amount: Amount) -> list[Fraction]:
    """Return what `amount` may mean in whole units, by the question and the reference's unit."""
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


def _signed(question: TableQuestion, value: Fraction,
            answer: str) -> list[tuple[Fraction, Fraction]]:
    """Return pairs of `value` and reference, signed as the words for a rise or fall imply."""
    labels = sorted(map(own_label, _QUOTED.findall(question.question)), key=len, reverse=True)
    if labels:
        answer = re.sub("|".join(map(re.escape, labels)), " ", answer, flags=re.I)
    asked = _QUOTED.sub(" ", question.question)
    fell, rose = bool(_FALL.search(answer)), bool(_RISE.search(answer))
    is_change = question.kind in ("difference", "percent change")
    if _FALL.search(asked) and not _RISE.search(asked):
        return [] if is_change and rose and not fell else [(abs(value), abs(question.exact))]
    is_fall = is_change and fell and not rose and value > 0
    return [(-value if is_fall else value, question.exact)]


def word_scores(reference: str, answer: str) -> dict[str, float]:
    """Return exact_match, f1 (see `f1`), bleu and rouge_l of an answer, each from 0 to 1."""
    try:
        overlap = (bleu(reference, answer), rouge_l(reference, answer))
    except EmptyText:
        overlap = (0.0, 0.0)
    return {"exact_match": float(exact_match(reference, answer)), "f1": f1(reference, answer),
            **dict(zip(("bleu", "rouge_l"), overlap, strict=True))}


def f1(reference: str, answer: str) -> float:
    """Return the harmonic mean of precision and recall over tokens with repetition, as in SQuAD.

    The tokens come from lib.core.values: folded words and numbers with their units.
    """
    wanted, given = ([(token.kind, token.value) for token in solid(tokens(_without_endless(text)))]
                     for text in (reference, answer))
    rest = list(wanted)
    common = sum(1 for value in given if value in rest and not rest.remove(value))
    return 2 * common / (len(wanted) + len(given)) if common else 0.0


def _without_endless(text: str) -> str:
    """Put a word in place of each number with too many digits to read."""
    return _ENDLESS.sub(" endless ", text)
