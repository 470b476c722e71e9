"""Score an answer to an easy or medium question: figures by the rule below, other answers as words.

A figure is right if it is the reference rounded to the digits that the answer gives (at least three
significant ones, or all that the reference has), or if it is the reference as printed without zeros
at its end ("2%" for 2.0%). After "about" and the like, zeros at the end of a whole number are
rounding: "about 391,000 million" has three digits. In a calculation a figure is also right if it is
off by at most `tolerance`, a share of the reference; an extraction has no tolerance.

- Scale: $391 million is wrong for $391 billion. A figure without a scale word has the scale that
  the question names, or none.
- Unit: another currency, percent for dollars, "million shares" for dollars, an amount per share for
  a total, and money for "how many" are wrong. A missing unit is taken as the reference's. Percent
  and percentage points are the same, but not for a percent change. 0.124 is right for 12.4% unless
  the question asks for a percentage, and 12.4% is right for 0.124.
- Sign: a minus and brackets are the same. "Fell by 5" is -5; "a loss of 5", "an outflow of 5" and
  "used 5" are -5 unless the question or the row's label is itself of a loss, which leaves the sign
  open, as "income (loss)" does. The sign does not matter if the question itself asks how far
  something fell. Labels ("Net loss") give a change no direction.
- Period and row: an answer is wrong if its figure's sentence names a year, month or quarter and
  none is the question's, or another row's label without the row's own. A change may name no other
  year. A figure directly after "not" is wrong.
- Calculations: in "(5 - 4) / 50 = 0.02 = 2.0%" only the last number is the answer. Numbers joined
  by operators, and results that a later calculation uses, are steps.
- Other figures: years, numbers that the question names, what an extraction is "compared with" or
  "rose from", what "(2023: 5)" says of another year, and the operands of a calculation (of a
  percentage or average also their sum and difference) may appear next to the answer, as may 0.02
  next to 2%. Any other figure makes it wrong, because it offers a second value.
- Comparison: the answer is right if it names the reference, by the item's own label or as a year in
  any wording ("FY2024"), and no other label of the same tables. An answer that denies or hedges is
  compared word by word.
"""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from lib.core.files import made_by
from lib.core.records import Answer, Query, Verdict
from lib.core.values import folded
from lib.judge.rules import compare
from lib.judge.verdicts import answers_of_one_arm
from lib.tasks.tablequest.analyze.amounts import Amount, amounts, plain, without_endless
from lib.tasks.tablequest.analyze.asserted import asserted, is_right
from lib.tasks.tablequest.analyze.claims import (
    is_denied,
    other_period,
    other_row,
    sentence_of,
    without_comparison,
)
from lib.tasks.tablequest.ask.prompts import question_id_of
from lib.tasks.tablequest.questions.wording import label_of
from lib.tasks.tablequest.records import CellRef, Grid, TableQuestion, by_id, own_label

UNRULED = "a hard answer has no rule: name a model as judge"
TOLERANCE = 0.005  # allowed error of a calculation, as a share of the reference
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
# "not pumps", "pumps or valves", "isn't"; not "notes"
_UNSURE = re.compile(r"\b(?:not?|never|neither|nor|or|either|except|without|maybe|perhaps|possibly"
                     r"|probably|cannot|\w+n't)\b")


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
    outcome = compare(question.question, question.answer, without_endless(answer))
    return Outcome(outcome.is_correct, outcome.reason)


def is_figure(question: TableQuestion) -> bool:
    """Return whether the reference is a figure rather than the name of the larger of two items."""
    has_figure = question.value is not None and bool(amounts(question.answer))
    return has_figure and question.kind != "comparison"


def _assess_figure(question: TableQuestion, answer: str, grids: Mapping[str, Grid],
                   tolerance: float) -> Outcome:
    share = Fraction(0) if question.level == "easy" else Fraction(str(tolerance))
    if question.level == "easy":
        answer = without_comparison(answer, question.question)
    offered = asserted(question, answer, grids)
    if not offered:
        return Outcome(False, "no figure in the answer")
    used = [(grids[ref.grid_id], ref) for ref in question.cells.values() if ref.grid_id in grids]
    labels = [grid.rows[ref.row] for grid, ref in used]
    right = [amount for amount in offered
             if is_right(question, amount, answer, share, "\n".join(labels))]
    wrong = [amount for amount in offered if amount not in right]
    if not right:
        return Outcome(False, f"{wrong[0].text} is not {question.answer}")
    if any(amount.unit == "%" for amount in right):  # "0.02, or 2%"
        wrong = [one for one in wrong if one.unit or not is_right(question, one._replace(
            value=100 * one.value, step=100 * one.step, unit="%"), answer, share)]
    if wrong:
        return Outcome(False, f"{wrong[0].text} is offered too")
    fault = next(filter(None, (_misnamed(question, amount, answer, used) for amount in right)), "")
    return Outcome(not fault, fault or f"{right[0].text} is right")


def _misnamed(question: TableQuestion, amount: Amount, answer: str,
              used: Sequence[tuple[Grid, CellRef]]) -> str:
    """Return why the sentence of a right amount says it of something else, or ""."""
    said = sentence_of(plain(answer), amount)
    if is_denied(plain(answer), amount):
        return f"{amount.text} is denied"
    asked = " ".join([question.question, *(grid.columns[ref.column] for grid, ref in used)])
    if period := other_period(said, asked, is_change=len(question.cells) > 1):
        return f"{amount.text} is said of {period}"
    row = other_row(said, asked, (grid.rows[ref.row] for grid, ref in used),
                    (row for grid, _ in used for row in grid.rows))
    return f"{amount.text} is said of {row}" if row else ""


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


def judged_by_rule(questions: Sequence[TableQuestion], queries: Sequence[Query],
                   answers: Sequence[Answer], grids: Sequence[Grid],
                   tolerance: float = TOLERANCE) -> list[Verdict]:
    """Return one verdict per query, in order, on one arm's final `answers`, as in 06_tablequest.

    Hard queries and queries without an answer row are unscored; an empty answer is incorrect.
    Raises ValueError as `answers_of_one_arm` and `assess` do, and for a query whose question is not
    in `questions`.
    """
    arm, given = answers_of_one_arm(list(queries), list(answers))
    asked, tables = by_id(questions), by_id(grids)
    verdicts = []
    for query in queries:
        if (question := asked.get(question_id_of(query.query_id))) is None:
            raise ValueError(f"query {query.query_id!r} has no question in questions.jsonl; run "
                             f"{made_by('questions')} again")
        if question.level == "hard":
            verdict, reason = "unscored", UNRULED
        elif query.query_id not in given:
            verdict, reason = "unscored", f"no answer row: run {made_by('answers')} for this query"
        else:
            is_correct, reason = assess(question, given[query.query_id], tables, tolerance)
            verdict = "correct" if is_correct else "incorrect"
        verdicts.append(Verdict(query_id=query.query_id, arm=arm, judge="rules", verdict=verdict,
                                reason=reason))
    return verdicts
