"""Judge by rules whether an answer states what the reference states, or abstain (paper, 4.4)."""

import re
from dataclasses import dataclass, replace

from lib.core.records import Query
from lib.core.values import folded, solid, tokens
from lib.judge.lists import ListMatch, decide, match, rows_of
from lib.judge.matching import judge_sign, judge_value, respelled
from lib.judge.spellings import MOST_READ, readings, table_of, unified
from lib.judge.words import Question, key, question_of, sign_of


@dataclass(frozen=True)
class Outcome:
    """A verdict (correct, incorrect or unscored) and a short reason."""

    verdict: str
    reason: str


def by_rules(queries: list[Query], answers: list[str]) -> list[tuple[str, str]]:
    """Return the verdict and reason for each answer, as `lib.judge.verdicts.judge` needs them."""
    outcomes = (
        compare(query.question, query.answer, answer, query.entity_count)
        for query, answer in zip(queries, answers, strict=True)
    )
    return [(one.verdict, one.reason) for one in outcomes]


def compare(question: str, reference: str, answer: str, entity_count: int | None = None) -> Outcome:
    """Return whether `answer` gives `reference` and nothing else, or another value in its place.

    Correct: each value, item and word of the reference, in any unit or layout, and words of the
    question. Incorrect: another value of its kind, a missing or another item. Else unscored.
    """
    if folded(reference).strip() == folded(answer[:MOST_READ]).strip():
        return Outcome("correct", "the reference verbatim")
    read = question_of(unified(question))
    if read.loses_denial(read.read(unified(answer))):
        return Outcome("unscored", "restates the question without its denial")
    rows = _rows(read, reference, entity_count)
    if len(rows) > 1:
        found = _match(read, rows, reference, answer)
        return Outcome(*decide(found, read.read(unified(answer)), read))
    return Outcome(*_scalar(read, reference, answer))


def match_list(
    question: str, reference: str, answer: str, entity_count: int | None = None
) -> ListMatch | None:
    """Return how `answer` matches a reference that is a list; None if the reference is a scalar."""
    read = question_of(unified(question))
    rows = _rows(read, reference, entity_count)
    if len(rows) == 1:
        is_given = compare(question, reference, answer, entity_count).verdict == "correct"
        return ListMatch(1, int(is_given), [], [] if is_given else [reference])
    return _match(read, rows, reference, answer) if rows else None


def _rows(question: Question, reference: str, entity_count: int | None) -> list[list[str]]:
    lines = [unified(line) for line in reference.splitlines()]
    return rows_of("\n".join(lines), question, entity_count)


# Of the readings of a layout, the one with the best match
def _match(question: Question, rows: list[list[str]], reference: str, answer: str) -> ListMatch:
    if len(rows[0]) > 1 and (table := table_of(reference.splitlines())):
        heads = {key(token) for cell in table[0] for token in tokens(cell)}
        question = replace(question, keys=question.keys | heads)
    like = unified(f"{question.text}\n{reference}")
    if "/" not in reference:  # Linux/QNX
        answer = re.sub(r"(?<=[A-Za-z\d])/(?=[A-Za-z])", " / ", answer)
    matches = [
        match(rows, [respelled(line, like) for line in lines], question)
        for lines in readings(answer)
        if lines
    ]
    return max(
        matches,
        default=ListMatch(len(rows), 0, [], [row[0] for row in rows]),
        key=lambda one: one.n_named - len(one.surplus) - len(one.unclear) / 2,
    )


def _scalar(question: Question, reference: str, answer: str) -> tuple[str, str]:
    wanted = question.read(unified(reference))
    like = unified(f"{question.text}\n{reference}")
    found = question.read(respelled("\n".join(next(readings(answer), [])), like))
    if not solid(found):
        return "incorrect", "no words"
    own = solid(wanted)
    sign, said = (sign_of(each[0]) if each else None for each in (own, solid(found)))
    if sign is not None and (len(own) == 1 or question.is_polar and said not in (None, sign)):
        return judge_sign(sign, found, question)
    return judge_value(wanted, found, question)
