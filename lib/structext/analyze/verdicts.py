"""Judge answers by rules that compare structure, because StrucText-Eval asks about structure."""

import re
from collections.abc import Sequence
from itertools import zip_longest

from lib.core.files import made_by
from lib.core.records import Answer, Verdict
from lib.judge.verdicts import answers_of_one_arm
from lib.structext.analyze.structural import bare, is_structural_match
from lib.structext.ask.prompts import Prompted, as_queries

# other questions ask neither for an order nor for a copy
_ORDERED = re.compile(r"\bin the order of\b|\bcopy\b", re.IGNORECASE)
_LONGEST = 60  # characters of a line that a reason shows


def judged_by_structure(prompted: Sequence[Prompted], answers: Sequence[Answer]) -> list[Verdict]:
    """Return one verdict per question, in order, on the final `answers` of one arm.

    An answer is correct if it equals the reference except for whitespace, or is a structural match.
    Order counts if the question asks for a copy or for the order of the file. A question without an
    answer row is unscored; an empty answer is incorrect. Raises ValueError as
    `lib.judge.verdicts.answers_of_one_arm` does.
    """
    arm, given = answers_of_one_arm(as_queries(prompted), list(answers))
    verdicts = []
    for one in prompted:
        if one.query_id not in given:
            verdict = "unscored"
            reason = f"no answer row: run {made_by('answers')} for this query"
        else:
            reason = what_differs(one.sample.question, one.sample.answer, given[one.query_id])
            verdict = "incorrect" if reason else "correct"
        verdicts.append(Verdict(query_id=one.query_id, arm=arm, judge="rules", verdict=verdict,
                                reason=reason or "the reference, whatever its layout"))
    return verdicts


def what_differs(question: str, reference: str, answer: str) -> str:
    """Say in a few words how `answer` differs from `reference`; "" if it is correct."""
    if not answer.strip():
        return "empty answer"
    is_ordered = _ORDERED.search(question) is not None
    if answer.strip() == reference.strip() or is_structural_match(reference, answer, is_ordered):
        return ""
    if is_structural_match(reference, answer):
        return "the same in another order"
    return _first_difference(reference, bare(answer))


def _first_difference(reference: str, answer: str) -> str:
    """Say where two texts first differ, line by line, ignoring whitespace."""
    wanted, given = ([line for line in map(str.strip, text.splitlines()) if line]
                     for text in (reference, answer))
    for number, (one, other) in enumerate(zip_longest(wanted, given), 1):
        if one is None:
            return f"further lines after the {len(wanted)} of the reference, first {_short(other)}"
        if other is None:
            return f"ends after {len(given)} of {len(wanted)} lines, before {_short(one)}"
        if one.split() != other.split():
            case = ": upper and lower case differ" * (one.casefold() == other.casefold())
            return f"line {number} is {_short(other)}, not {_short(one)}{case}"
    return "its lines are arranged differently, so the structure differs"


def _short(line: str) -> str:
    return f'"{line if len(line) <= _LONGEST else line[:_LONGEST] + "…"}"'
