"""Preferences: which of two arms' answers is better, judged in both orders (paper, 4.4)."""

from collections.abc import Callable
from typing import Literal, get_args

from lib.core.records import Answer, Query, Record
from lib.core.store import made_by
from lib.judge.verdicts import Decision, answers_of_one_arm

Criterion = Literal["correctness", "domain relevance"]
Choice = Literal["A", "B", "tie", "unscored"]  # A: the first arm's answer is better
CRITERIA: tuple[Criterion, ...] = get_args(Criterion)
OUTCOMES: tuple[Choice, ...] = ("A", "B", "tie")
# For each criterion and pair of answers: the decisions with the first arm's answer shown first and
# shown second.
Decisions = dict[Criterion, list[tuple[Decision, Decision]]]
Decide = Callable[[list[Query], list[tuple[str, str]]], Decisions]


class Preference(Record):
    """One judge's preference between two arms' answers to one query, by one criterion."""

    query_id: str
    first_arm: str
    second_arm: str
    judge: str
    criterion: Criterion
    verdict: Choice  # unscored if either order is; a tie if the orders differ
    is_flipped: bool  # both orders were scored, and differently
    is_asked: bool  # False: no judge was needed, `reason` says why
    as_first: Choice  # with the first arm's answer shown first; A is that arm in either order
    as_second: Choice  # with it shown second
    reason: str
    reason_as_second: str


def prefer(
    queries: list[Query],
    first: list[Answer],
    second: list[Answer],
    decide: Decide,
    judge: str = "rules",
) -> list[Preference]:
    """Return one preference per query and criterion, in the queries' order.

    `decide` is `by_rules(…)` or `by_model(…)`, and `judge` its name in the rows. A query that an
    arm has no answer row for is unscored, and two equal answers are a tie; neither needs a judge.
    Raises ValueError as `lib.judge.verdicts.answers_of_one_arm` does or if both are of one arm.
    """
    arm, given = answers_of_one_arm(queries, first)
    other, given_other = answers_of_one_arm(queries, second)
    if arm == other:
        raise ValueError(
            f"both sets of answers belong to arm {arm}: first_arm and second_arm must differ"
        )
    pairs = {
        query.query_id: (given.get(query.query_id), given_other.get(query.query_id))
        for query in queries
    }
    settled = {query_id: settled_by_rule(*pair) for query_id, pair in pairs.items()}
    waiting = [query for query in queries if settled[query.query_id] is None]
    decisions = decide(waiting, [pairs[query.query_id] for query in waiting])
    decided = {
        (query.query_id, criterion): both
        for criterion, found in decisions.items()
        for query, both in zip(waiting, found, strict=True)
    }
    rows = []
    for query in queries:
        known = settled[query.query_id]
        for criterion in CRITERIA:
            as_first, as_second = (known, known) if known else decided[query.query_id, criterion]
            verdict, is_flipped = combined(as_first[0], as_second[0])
            rows.append(
                Preference(
                    query_id=query.query_id,
                    first_arm=arm,
                    second_arm=other,
                    judge=judge,
                    criterion=criterion,
                    verdict=verdict,
                    is_flipped=is_flipped,
                    is_asked=not known,
                    as_first=as_first[0],
                    as_second=as_second[0],
                    reason=as_first[1],
                    reason_as_second=as_second[1],
                )
            )
    return rows


def combined(as_first: Choice, as_second: Choice) -> tuple[Choice, bool]:
    """Return the verdict of both orders, and whether it flipped: a flip is a tie."""
    if "unscored" in (as_first, as_second):
        return "unscored", False
    return (as_first, False) if as_first == as_second else ("tie", True)


def settled_by_rule(answer: str | None, other: str | None) -> Decision | None:
    """Return the decision that needs no judge: an answer is missing, or both are the same."""
    if answer is None or other is None:
        return "unscored", f"no answer row of an arm: run {made_by('answers')} for this query"
    return ("tie", "both answers are the same") if answer.split() == other.split() else None
