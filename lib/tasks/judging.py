"""Judge the final answers in the replies of any task."""

from collections.abc import Mapping

from lib.core.records import Answer, Query, Verdict
from lib.judge.model import by_model
from lib.judge.verdicts import answers_of_one_arm, judge
from lib.llm.calls import Calls
from lib.tasks.task import Rows, Task


def verdicts_of(task: Task, queries: list[Query], answers: list[Answer], rows: Rows,
                judge_name: str, calls: Calls, missing: Mapping[str, str]) -> list[Verdict]:
    """Return one verdict per query on one arm's final `answers`, by the task's rules or a model.

    A query in `missing` has no final answer: its verdict gives the reason.
    """
    found = (task.verdicts(queries, answers, rows) if judge_name == "rules" else
             judge(queries, answers, by_model(judge_name, calls), judge_name))
    return [verdict.model_copy(update={"reason": missing[verdict.query_id]})
            if verdict.verdict == "incorrect" and verdict.query_id in missing else verdict
            for verdict in found]


def final_answers(task: Task, queries: list[Query],
                  answers: list[Answer]) -> tuple[list[Answer], dict[str, str]]:
    """Return one arm's answers reduced to the final answer, and query_id -> why one has none.

    Raises ValueError as `lib.judge.verdicts.answers_of_one_arm` does.
    """
    _, replies = answers_of_one_arm(queries, answers)
    asked = {query.query_id: query for query in queries}
    finals = {name: task.final(asked[name], reply) for name, reply in replies.items()}
    missing = {name: final.missing for name, final in finals.items() if final.missing}
    return [row.model_copy(update={"answer": finals[row.query_id].text})
            for row in answers], missing
