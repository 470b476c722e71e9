"""The verdicts of 05_judge where the judge is "rules": by structure, because that is what StrucText-Eval asks for."""

import re
from collections.abc import Sequence
from itertools import zip_longest

from lib.core.records import Answer, Verdict
from lib.judge.verdicts import answers_of_one_arm
from lib.structext.analyze.structural import bare, is_structural_match
from lib.structext.ask.prompts import Asked, as_queries

_ORDERED = re.compile(r"\bin the order of\b|\bcopy\b", re.IGNORECASE)  # the loose questions ask for neither
_LONGEST = 60  # characters of a line that a reason shows


def judged_by_structure(asked: Sequence[Asked], answers: Sequence[Answer]) -> list[Verdict]:
    """One verdict a question, in the order of `asked`, on the final `answers` of one arm.

    Right is the reference but for blanks, or what `is_structural_match` reads as the same; where the question wants a
    copy or a list in the order of the file, order counts too. A question without an answer row is unscored; an empty
    answer is incorrect. Raises ValueError as `lib.judge.verdicts.judge` does.
    """
    arm, given = answers_of_one_arm(as_queries(asked), list(answers))
    verdicts = []
    for one in asked:
        if one.query_id not in given:
            verdict, reason = "unscored", "no answer row: run 04_infer.ipynb for this query"
        else:
            reason = what_differs(one.sample.question, one.sample.answer, given[one.query_id])
            verdict, reason = "incorrect" if reason else "correct", reason or "the reference, whatever its layout"
        verdicts.append(Verdict(query_id=one.query_id, arm=arm, judge="rules", verdict=verdict, reason=reason))
    return verdicts


def what_differs(question: str, reference: str, answer: str) -> str:
    """What `answer` has otherwise than `reference`, in a few words; "" where it is right."""
    if not answer.strip():
        return "empty answer"
    is_ordered = _ORDERED.search(question) is not None
    if answer.strip() == reference.strip() or is_structural_match(reference, answer, is_ordered):
        return ""
    if is_structural_match(reference, answer):
        return "the same in another order"
    return _first_difference(reference, bare(answer))


def _first_difference(reference: str, answer: str) -> str:
    """Where two texts first part, line by line, blanks aside."""
    wanted, given = ([line for line in map(str.strip, text.splitlines()) if line] for text in (reference, answer))
    for number, (one, other) in enumerate(zip_longest(wanted, given), 1):
        if one is None:
            return f"further lines after the {len(wanted)} of the reference, first {_short(other)}"
        if other is None:
            return f"ends after {len(given)} of {len(wanted)} lines, before {_short(one)}"
        if one.split() != other.split():
            case = ": upper and lower case differ" * (one.casefold() == other.casefold())
            return f"line {number} is {_short(other)}, not {_short(one)}{case}"
    return "its lines are set otherwise, so that the structure is another"


def _short(line: str) -> str:
    return f'"{line if len(line) <= _LONGEST else line[:_LONGEST] + "…"}"'
