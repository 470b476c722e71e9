"""Small samples with prompts, and rows of arms that reply to them, for the analysis tests."""

from collections.abc import Callable

import pandas as pd

from lib.core.records import Answer, Rejected
from lib.structext import analyze
from lib.structext.prompts import REASONING, TASK, Prompted, as_queries, prompts_for
from lib.structext.samples import generate
from lib.tasks.task import final_answers


def ask(suite: str = "test", setting: str = "base", n_shots: int = 0, **dials) -> list[Prompted]:
    tasks = dials.pop("tasks", ["tree.1", "csv.0", "json.1"])
    dials = {"per_task": 2, "seed": 5} | dials
    both = generate(**dials), generate(**dials | {"per_task": 6, "seed": 6})
    samples, pool = ([one for one in each if {one.task, one.language} & {*tasks}] for each in both)
    return prompts_for(samples, setting, n_shots, pool, suite=suite)


def right(one: Prompted) -> str:
    answer = one.sample.answer
    return f"So it is\n<answer>{answer}</answer>" if one.setting in REASONING else answer


def wrong(one: Prompted) -> str:
    return "none of them"


def replies_of(asked: list[Prompted], **arms: Callable) -> dict[str, list[Answer]]:
    """Map each arm to its replies; an arm maps a question to a text, None for no row."""
    return {
        arm: [
            Answer(
                query_id=one.query_id, arm=arm, answer=text, n_tokens=1, truncated=len(text) > 200
            )
            for one in asked
            if (text := reply(one)) is not None
        ]
        for arm, reply in arms.items()
    }


def of_arms(
    asked: list[Prompted], left_out: list[Prompted] = (), is_floored: bool = False, **arms: Callable
) -> pd.DataFrame:
    """Return `rows_of` judged by the scorer, for the replies of `arms` to `asked`.

    No arm's window holds the questions in `left_out`. With `is_floored`, the arm BLIND follows; its
    training split is the samples asked.
    """
    every, answers, verdicts = [*asked, *left_out], replies_of(asked, **arms), {}
    queries = as_queries(every)
    for arm, rows in answers.items():
        finals = final_answers(TASK, queries, rows).answers
        verdicts[arm] = TASK.verdicts(queries, finals, {})
    out = [
        Rejected(document_id="", rejected_text=one.query_id, reason="too long") for one in left_out
    ]
    if is_floored:
        constants = analyze.learned(one.sample for one in every)
        answers[analyze.BLIND], verdicts[analyze.BLIND] = analyze.blind(every, constants)
    return analyze.rows_of(every, dict.fromkeys(arms, out), answers, verdicts)
