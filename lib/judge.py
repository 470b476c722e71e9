"""Judge: is an answer right, given the reference? Three states: correct, incorrect, unscored (paper, 4.4)."""

import re
from collections import Counter

from lib.comparison import compare
from lib.llm import complete, rendered
from lib.records import Answer, Query, Verdict

_MARK = re.compile(r"\[\[\s*(true|false)\s*\]\]", re.I)
_DELIMITER = re.compile(r"<(?=\s*/?\s*(?:question|reference|answer)\b)", re.I)


def judge(queries: list[Query], answers: list[Answer], judge: str = "rules") -> list[Verdict]:
    """One verdict a query, in the queries' order, by `judge`: "rules" or the id of a model.

    A query without an answer row is unscored, because nothing was asked; an empty answer is incorrect, because the
    model said nothing. A judge's reply that cannot be read is unscored with its reason.
    Raises ValueError where `answers` are none, of several arms, doubled, or to unknown queries.
    """
    arm, given = _checked(queries, answers)
    decide = _by_rules if judge == "rules" else _by_model
    answered = [query for query in queries if given.get(query.query_id, "").strip()]
    decided = dict(zip((query.query_id for query in answered),
                       decide(answered, [given[query.query_id] for query in answered], judge), strict=True))
    for query in queries:
        if query.query_id not in given:
            decided[query.query_id] = ("unscored", "no answer row: run 04_infer.ipynb for this query")
        elif not given[query.query_id].strip():
            decided[query.query_id] = ("incorrect", "empty answer")
    return [Verdict(query_id=query.query_id, arm=arm, judge=judge, verdict=decided[query.query_id][0],
                    reason=decided[query.query_id][1]) for query in queries]


def defused(text: str) -> str:
    """`text` that can neither close its delimiter in the prompt nor hold a verdict mark."""
    return re.sub(r"(?<=\[)\[|(?<=\])\]", r" \g<0>", _DELIMITER.sub("&lt;", text))


def verdict_in(reply: str) -> tuple[str, str]:
    """(verdict, reason) of a judge model's reply; its last [[True]] or [[False]] counts."""
    marks = list(_MARK.finditer(reply))
    if not marks:
        return "unscored", f"no [[True]] or [[False]] in the reply: {reply[-200:]!r}"
    explanation = " ".join(reply[:marks[-1].start()].split())
    return ("correct" if marks[-1][1].lower() == "true" else "incorrect"), explanation


def _checked(queries: list[Query], answers: list[Answer]) -> tuple[str, dict[str, str]]:
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


def _by_rules(queries: list[Query], answers: list[str], _: str) -> list[tuple[str, str]]:
    outcomes = [compare(query.question, query.answer, answer, query.entity_count)
                for query, answer in zip(queries, answers, strict=True)]
    return [("correct" if outcome.is_correct else "incorrect", outcome.reason) for outcome in outcomes]


def _by_model(queries: list[Query], answers: list[str], model: str) -> list[tuple[str, str]]:
    if not queries:
        return []
    prompts = [rendered("judge", question=defused(query.question), reference=defused(query.answer),
                        answer=defused(answer)) for query, answer in zip(queries, answers, strict=True)]
    return [("unscored", f"the judge gave no whole reply: {reply.reason}") if reply.reason else verdict_in(reply.text)
            for reply in complete(prompts, model)]
