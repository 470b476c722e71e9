"""Judge by rules whether an answer states what the reference states, or abstain (paper, 4.4)."""

import re
from dataclasses import dataclass, replace

from lib.core.records import Query
from lib.core.values import folded, solid, tokens
from lib.judge.lists import ListMatch, decide, match, rows_of
from lib.judge.matching import respelled
from lib.judge.scalars import judge_sign, judge_value
from lib.judge.spellings import readings, table_of, unified
from lib.judge.words import Question, key, question_of, sign_of


@dataclass(frozen=True)
class Outcome:
    """A verdict (correct, incorrect or unscored) and a short reason."""

    verdict: str
    reason: str

    @property
    def is_correct(self) -> bool:
        """Whether the verdict is correct."""
        return self.verdict == "correct"


def by_rules(queries: list[Query], answers: list[str]) -> list[tuple[str, str]]:
    """Return the verdict and reason for each answer, as `lib.judge.verdicts.judge` needs them."""
    outcomes = (compare(query.question, query.answer, answer, query.entity_count)
                for query, answer in zip(queries, answers, strict=True))
    return [(one.verdict, one.reason) for one in outcomes]


def compare(question: str, reference: str, answer: str, entity_count: int | None = None) -> Outcome:
    """Return whether `answer` gives `reference` and nothing that contradicts it.

    Correct: each value, item and word of the reference, in any unit, spelling or layout, and words
    of the question. Incorrect: another value or item, or a denial. All else is unscored.
    """
    if folded(reference).strip() == folded(answer[:20_000]).strip():
        return Outcome("correct", "the reference verbatim")
    squeezed = [re.sub(r"[ \"'.-]", "", text.strip().casefold()) for text in (reference, answer)]
    n_digits = len(re.findall(r"\d", reference))
    if squeezed[0] == squeezed[1] and not 0 < n_digits < 7:
        return Outcome("correct", "the reference but for marks")
    read = question_of(unified(question))
    if read.loses_denial(read.read(unified(answer))):
        return Outcome("unscored", "restates the question without its denial")
    found = _match(read, reference, answer, entity_count)
    if found and found.n_wanted > 1:
        verdict, reason = decide(found, read)
        return Outcome(verdict, reason)
    return Outcome(*_scalar(read, reference, answer))


def match_list(question: str, reference: str, answer: str,
               entity_count: int | None = None) -> ListMatch | None:
    """Return how `answer` matches a reference that is a list; None if the reference is a scalar."""
    found = _match(question_of(unified(question)), reference, answer, entity_count)
    if found and found.n_wanted == 1:
        is_given = compare(question, reference, answer, entity_count).is_correct
        return ListMatch(1, int(is_given), [], [] if is_given else [reference])
    return found


# Of the readings of a layout, the one with the best match
def _match(question: Question, reference: str, answer: str,
           entity_count: int | None) -> ListMatch | None:
    lines = [unified(line) for line in reference.splitlines()]
    rows = rows_of("\n".join(lines), question, entity_count)
    if not rows:
        return None
    if len(rows[0]) > 1 and (table := table_of(lines)):
        heads = {key(token) for cell in table[0] for token in tokens(cell)}
        question = replace(question, keys=question.keys | heads)
    like = unified(f"{question.text}\n{reference}")
    if "/" not in reference:  # Linux/QNX
        answer = re.sub(r"(?<=[A-Za-z\d])/(?=[A-Za-z])", " / ", answer)
    matches = [match(rows, [respelled(line, like) for line in lines], question)
               for lines in readings(answer) if lines]
    return max(matches, default=ListMatch(len(rows), 0, [], [row[0] for row in rows]),
               key=lambda one: one.n_named - len(one.surplus) - len(one.doubts) / 2)


def _scalar(question: Question, reference: str, answer: str) -> tuple[str, str]:
    wanted = question.read(unified(reference))
    like = unified(f"{question.text}\n{reference}")
    lines = next(readings(answer), [])
    found = question.read(respelled("\n".join(lines), like))
    if not solid(found):
        return "incorrect", "no words"
    own = solid(wanted)
    sign = sign_of(own[0]) if own and (question.is_polar or len(own) == 1) else None
    if sign is not None:
        return judge_sign(sign, own, found, question)
    return judge_value(wanted, found, question)
