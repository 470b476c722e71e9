"""The verdicts of 05_judge where the judge is "rules": by the rule for figures, as 02_analyze counts them."""

from collections.abc import Sequence

from lib.core.records import Answer, Query, Verdict
from lib.judge.verdicts import answers_of_one_arm
from lib.tablequest.analyze.accuracy import TOLERANCE, assess
from lib.tablequest.ask.prompts import question_id_of
from lib.tablequest.records import Grid, TableQuestion

UNRULED = "a hard answer has no rule: name a model as judge"


def judged_by_rule(questions: Sequence[TableQuestion], queries: Sequence[Query], answers: Sequence[Answer],
                   grids: Sequence[Grid], tolerance: float = TOLERANCE) -> list[Verdict]:
    """One verdict a query, in the queries' order, on the final `answers` of one arm, by lib.tablequest.analyze.accuracy.assess.

    A hard query is unscored, answered or not, so that its rate is none; so is one without an answer row. An empty
    answer is incorrect. Raises ValueError as `lib.judge.verdicts.judge` and `assess` do, and for a query whose question is not
    among `questions`.
    """
    arm, given = answers_of_one_arm(list(queries), list(answers))
    asked, tables = {one.question_id: one for one in questions}, {grid.grid_id: grid for grid in grids}
    verdicts = []
    for query in queries:
        if (question := asked.get(question_id_of(query.query_id))) is None:
            raise ValueError(f"query {query.query_id!r} asks no question of questions.jsonl; run 01_questions.ipynb "
                             "again")
        if question.level == "hard":
            verdict, reason = "unscored", UNRULED
        elif query.query_id not in given:
            verdict, reason = "unscored", "no answer row: run 04_infer.ipynb for this query"
        else:
            outcome = assess(question, given[query.query_id], tables, tolerance)
            verdict, reason = "correct" if outcome.is_correct else "incorrect", outcome.reason
        verdicts.append(Verdict(query_id=query.query_id, arm=arm, judge="rules", verdict=verdict, reason=reason))
    return verdicts
