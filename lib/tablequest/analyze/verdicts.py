"""Give verdicts by the rule for figures, the same verdicts that 02_analyze counts."""

from collections.abc import Sequence

from lib.core.files import made_by
from lib.core.records import Answer, Query, Verdict
from lib.judge.verdicts import answers_of_one_arm
from lib.tablequest.analyze.accuracy import TOLERANCE, assess
from lib.tablequest.ask.prompts import question_id_of
from lib.tablequest.records import Grid, TableQuestion, by_id

UNRULED = "a hard answer has no rule: name a model as judge"


def judged_by_rule(questions: Sequence[TableQuestion], queries: Sequence[Query],
                   answers: Sequence[Answer], grids: Sequence[Grid],
                   tolerance: float = TOLERANCE) -> list[Verdict]:
    """Return one verdict per query, in order, on one arm's final `answers`; see `assess`.

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
