"""Verdicts on one arm's answers: correct, incorrect or unscored (paper, 4.4)."""

from collections import Counter
from collections.abc import Callable

from lib.core.records import Answer, Query, Verdict
from lib.core.store import made_by

Decision = tuple[str, str]  # verdict, reason
Decide = Callable[[list[Query], list[str]], list[Decision]]  # queries and their answers, none empty


def judge(
    queries: list[Query], answers: list[Answer], decide: Decide, judge: str = "rules"
) -> list[Verdict]:
    """Return one verdict per query, in the queries' order.

    `decide` is `lib.judge.rules.by_rules` or `lib.judge.model.by_model(…)`, and `judge` its name in
    the verdicts. A query without an answer row is unscored, because it was not asked; an empty
    answer is incorrect, because the model gave none. Raises ValueError as `answers_of_one_arm`
    does, and what `decide` raises.
    """
    arm, given = answers_of_one_arm(queries, answers)
    answered = [query for query in queries if given.get(query.query_id, "").strip()]
    decisions = decide(answered, [given[query.query_id] for query in answered])
    decided = {query.query_id: one for query, one in zip(answered, decisions, strict=True)}
    verdicts = []
    for query in queries:
        if query.query_id not in given:
            verdict, reason = "unscored", f"no answer row: run {made_by('answers')} for this query"
        else:
            verdict, reason = decided.get(query.query_id, ("incorrect", "empty answer"))
        verdicts.append(
            Verdict(query_id=query.query_id, arm=arm, judge=judge, verdict=verdict, reason=reason)
        )
    return verdicts


def answers_of_one_arm(queries: list[Query], answers: list[Answer]) -> tuple[str, dict[str, str]]:
    """Return the arm, and query_id -> answer.

    Raises ValueError if there are no answers, or if they belong to several arms, are repeated, or
    are for unknown queries.
    """
    arms = sorted({answer.arm for answer in answers})
    if len(arms) != 1:
        raise ValueError(
            f"the answers must belong to one arm, not to {arms or 'none'}: judge one "
            f"answers/<arm>.jsonl at a time, written by {made_by('answers')}"
        )
    counts = Counter(answer.query_id for answer in answers)
    repeated = [query_id for query_id, n in counts.items() if n > 1]
    unknown = sorted(counts.keys() - {query.query_id for query in queries})
    if repeated or unknown:
        fault = "answered twice" if repeated else "not in queries.jsonl"
        raise ValueError(
            f"arm {arms[0]}: query {(repeated or unknown)[0]!r} is {fault}; remove "
            f"the arm's answers and run {made_by('answers')} again"
        )
    return arms[0], {answer.query_id: answer.answer for answer in answers}
