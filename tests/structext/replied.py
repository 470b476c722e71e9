"""Small samples with prompts, and rows of arms that reply to them, for the analysis tests."""

import pandas as pd

from lib.core.records import Answer
from lib.structext.analyze.tables import rows_of
from lib.structext.analyze.verdicts import judged_by_structure
from lib.structext.ask.prompts import REASONING, Prompted, prompts_for
from lib.structext.ask.replies import finals
from lib.structext.generate.samples import generate


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
    return lambda one: replies[min(order.setdefault(one.query_id, len(order)),
                                   len(replies) - 1)](one)


def answered(arm: str, query_id: str, text: str, truncated: bool = False) -> Answer:
    return Answer(query_id=query_id, arm=arm, answer=text, n_tokens=1, truncated=truncated)


def final_answers(prompted: list[Prompted], answers: list[Answer]) -> list[Answer]:
    found = finals(prompted, answers)
    return [row.model_copy(update={"answer": found[row.query_id].text}) for row in answers]


def of_arms(asked: list[Prompted], left_out: list[Prompted] = (), **arms) -> pd.DataFrame:
    """Return `rows_of` judged by rules; an arm maps a question to its reply, None for no row."""
    answers, verdicts = {}, {}
    for arm, reply in arms.items():
        answers[arm] = [answered(arm, one.query_id, text, len(text) > 200)
                        for one in asked if (text := reply(one)) is not None]
        verdicts[arm] = judged_by_structure(asked, final_answers(asked, answers[arm]))
    return rows_of(asked, left_out, answers, verdicts)
