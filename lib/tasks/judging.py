"""Judge the final answers in the replies of any task."""

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from lib.core.records import Answer, Query, Verdict
from lib.judge.llm_judge import judge_with_llm
from lib.judge.scorer import check_single_arm, judge
from lib.llm.calls import Calls
from lib.tasks.task import Rows, Task


class Finals(NamedTuple):
    """One arm's answers reduced to the final answer, and query_id -> why one has none."""

    answers: list[Answer]
    missing: Mapping[str, str]

    def look(self, replies: list[Answer]) -> pd.DataFrame:
        """Return the replies that are longer than their final answer."""
        pairs = zip(replies, self.answers, strict=True)
        return pd.DataFrame(
            [
                (reply.arm, reply.answer, last.answer)
                for reply, last in pairs
                if reply.answer != last.answer
            ],
            columns=["arm", "reply", "final answer"],
        )


def final_answers(task: Task, queries: list[Query], replies: list[Answer]) -> Finals:
    """Return the final answers in one arm's replies.

    Raises ValueError as `lib.judge.scorer.check_single_arm` does.
    """
    _, given = check_single_arm(queries, replies)
    asked = {query.query_id: query for query in queries}
    finals = {name: task.final(asked[name], reply) for name, reply in given.items()}
    missing = {name: final.missing for name, final in finals.items() if final.missing}
    return Finals(
        [row.model_copy(update={"answer": finals[row.query_id].text}) for row in replies], missing
    )


def verdicts_of(
    task: Task, queries: list[Query], finals: Finals, rows: Rows, judge_name: str, calls: Calls
) -> list[Verdict]:
    """Return one verdict per query on one arm's final answers, by the task's scorer or a model.

    The verdict on a reply without a final answer gives the reason.
    """
    found = (
        task.verdicts(queries, finals.answers, rows)
        if judge_name == "scorer"
        else judge(queries, finals.answers, judge_with_llm(judge_name, calls), judge_name)
    )
    return [
        verdict.model_copy(update={"reason": finals.missing[verdict.query_id]})
        if verdict.verdict == "incorrect" and verdict.query_id in finals.missing
        else verdict
        for verdict in found
    ]
