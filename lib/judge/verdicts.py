"""Judge: is an answer right, given the reference? Three states: correct, incorrect, unscored (paper, 4.4)."""

from collections import Counter
from typing import TYPE_CHECKING

from lib.core.records import Answer, Query, Verdict
from lib.judge.rules import compare

if TYPE_CHECKING:
    from lib.llm.calls import Calls


def judge(queries: list[Query], answers: list[Answer], judge: str = "rules",
          calls: "Calls | None" = None) -> list[Verdict]:
    """One verdict a query, in the queries' order, by `judge`: "rules", or the id of a model that is asked with `calls`.

    A query without an answer row is unscored, because nothing was asked; an empty answer is incorrect, because the
    model said nothing. A judge's reply that cannot be read is unscored with its reason.
    Raises ValueError where `answers` are none, of several arms, doubled, or to unknown queries, and for a model
    without `calls`; CallsStopped as `lib.llm.complete` does.
    """
    arm, given = answers_of_one_arm(queries, answers)
    answered = [query for query in queries if given.get(query.query_id, "").strip()]
    texts = [given[query.query_id] for query in answered]
    if judge == "rules":
        decisions = _by_rules(answered, texts)
    else:
        from lib.judge.model import decide_by_model  # the rules need no client
        decisions = decide_by_model(answered, texts, judge, calls)
    decided = dict(zip((query.query_id for query in answered), decisions, strict=True))
    for query in queries:
        if query.query_id not in given:
            decided[query.query_id] = ("unscored", "no answer row: run 04_infer.ipynb for this query")
        elif not given[query.query_id].strip():
            decided[query.query_id] = ("incorrect", "empty answer")
    return [Verdict(query_id=query.query_id, arm=arm, judge=judge, verdict=decided[query.query_id][0],
                    reason=decided[query.query_id][1]) for query in queries]


def answers_of_one_arm(queries: list[Query], answers: list[Answer]) -> tuple[str, dict[str, str]]:
    """The arm, and query_id -> answer. Raises ValueError as `judge` does."""
    arms = sorted({answer.arm for answer in answers})
    if len(arms) != 1:
        raise ValueError(f"the answers must be of one arm but are of {arms or 'none'}: "
                         "judge one answers/<arm>.jsonl at a time, written by 04_infer.ipynb")
    doubled = [query_id for query_id, n in Counter(answer.query_id for answer in answers).items() if n > 1]
    unknown = sorted({answer.query_id for answer in answers} - {query.query_id for query in queries})
    if doubled or unknown:
        what = "answered twice" if doubled else "not in queries.jsonl"
        raise ValueError(f"arm {arms[0]}: query {(doubled or unknown)[0]!r} is {what}; "
                         "remove the arm's answers and run 04_infer.ipynb again")
    return arms[0], {answer.query_id: answer.answer for answer in answers}


def _by_rules(queries: list[Query], answers: list[str]) -> list[tuple[str, str]]:
    outcomes = [compare(query.question, query.answer, answer, query.entity_count)
                for query, answer in zip(queries, answers, strict=True)]
    return [("correct" if outcome.is_correct else "incorrect", outcome.reason) for outcome in outcomes]
