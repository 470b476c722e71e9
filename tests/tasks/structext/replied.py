"""Small samples with prompts, and rows of arms that reply to them, for the analysis tests."""

import pandas as pd

from lib.core.records import Answer, Rejected
from lib.judge.scorer import judge
from lib.tasks.structext.analyze import floor
from lib.tasks.structext.analyze.tables import rows_of
from lib.tasks.structext.ask.prompts import REASONING, Prompted, as_queries, prompts_for
from lib.tasks.structext.ask.replies import finals, judged
from lib.tasks.structext.generate.samples import generate


def ask(suite: str = "test", setting: str = "base", n_shots: int = 0, **dials) -> list[Prompted]:
    dials = {"tasks": ["tree.1", "csv.0", "json.1"], "per_task": 2, "seed": 5} | dials
    pool = list(generate(**dials | {"per_task": 6, "seed": 6})) if n_shots else None
    return prompts_for(list(generate(**dials)), setting, n_shots, pool, suite=suite)


def right(one: Prompted) -> str:
    answer = one.sample.answer
    return f"So it is\n<answer>{answer}</answer>" if one.setting in REASONING else answer


def wrong(one: Prompted) -> str:
    return "none of them"


def silent(one: Prompted) -> str:
    return ""


def by_number(*replies):
    """Answer the first question by the first of `replies`, and all after the last by the last."""
    order: dict[str, int] = {}
    return lambda one: replies[min(order.setdefault(one.query_id, len(order)), len(replies) - 1)](
        one
    )


def answered(arm: str, query_id: str, text: str, truncated: bool = False) -> Answer:
    return Answer(query_id=query_id, arm=arm, answer=text, n_tokens=1, truncated=truncated)


def final_answers(prompted: list[Prompted], answers: list[Answer]) -> list[Answer]:
    found = finals(prompted, answers)
    return [row.model_copy(update={"answer": found[row.query_id].text}) for row in answers]


def too_long(questions: list[Prompted]) -> list[Rejected]:
    return [
        Rejected(document_id=one.sample.text_id, item=one.query_id, reason="too long")
        for one in questions
    ]


def of_arms(
    asked: list[Prompted], left_out: list[Prompted] = (), is_floored: bool = False, **arms
) -> pd.DataFrame:
    """Return `rows_of` judged by rules; an arm maps a question to its reply, None for no row.

    No arm's window holds the questions in `left_out`. With `is_floored`, the arm BLIND follows; its
    training split is the samples asked.
    """
    answers, verdicts, every = {}, {}, [*asked, *left_out]
    for arm, reply in arms.items():
        answers[arm] = [
            answered(arm, one.query_id, text, len(text) > 200)
            for one in asked
            if (text := reply(one)) is not None
        ]
        verdicts[arm] = judge(as_queries(every), final_answers(every, answers[arm]), judged)
    out = dict.fromkeys(arms, too_long(left_out))
    if is_floored:
        constants = floor.learned(one.sample for one in every)
        answers[floor.BLIND], verdicts[floor.BLIND] = floor.blind(every, constants)
    return rows_of(every, out, answers, verdicts)
