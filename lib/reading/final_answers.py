"""The final answer in each reply, and its verdict: what a study's prompts ask for, without the way to it."""

from typing import TYPE_CHECKING

from lib.core.files import read_records
from lib.core.paths import data_path
from lib.core.records import Answer, Query, Verdict
from lib.judge.verdicts import judge

if TYPE_CHECKING:
    from lib.llm.calls import Calls


def final_answers(study: str, queries: list[Query], answers: list[Answer]) -> tuple[list[Answer], dict[str, str]]:
    """`answers` of one arm with the final answer alone, in order; and by query_id why one is empty though a reply came.

    How a reply is read depends on what `study` has: asked.jsonl (StrucText-Eval) or questions.jsonl (TableQuest). With
    neither, a reply is its own final answer. Raises ValueError as `lib.judge.verdicts.judge` does.
    """
    if data_path(study, "asked.jsonl").exists():
        from lib.structext.ask.prompts import Asked
        from lib.structext.ask.replies import finals

        kept = {query.query_id for query in queries}
        asked = read_records(data_path(study, "asked.jsonl"), Asked, "00_samples.ipynb")
        found = finals([one for one in asked if one.query_id in kept], answers)
    elif data_path(study, "questions.jsonl").exists():
        from lib.tablequest.ask.replies import finals

        found = finals(queries, answers)
    else:
        return answers, {}
    return ([row.model_copy(update={"answer": found[row.query_id].text}) for row in answers],
            {query_id: final.missing for query_id, final in found.items() if final.missing})


def judged(study: str, queries: list[Query], answers: list[Answer], missing: dict[str, str], by: str = "rules",
           calls: "Calls | None" = None) -> list[Verdict]:
    """`lib.judge.verdicts.judge` over final answers; one on a reply without a final answer says what the reply lacks.

    The rules of TableQuest are its own (figures with signs, scales and units), and those of StrucText-Eval (the same
    structure in any layout). Raises as `lib.judge.verdicts.judge` does.
    """
    if by == "rules" and data_path(study, "questions.jsonl").exists():
        from lib.tablequest.analyze.verdicts import judged_by_rule
        from lib.tablequest.records import Grid, TableQuestion

        questions = read_records(data_path(study, "questions.jsonl"), TableQuestion, "01_questions.ipynb")
        grids = read_records(data_path(study, "grids.jsonl"), Grid, "00_filings.ipynb")
        verdicts = judged_by_rule(questions, queries, answers, grids)
    elif by == "rules" and data_path(study, "asked.jsonl").exists():
        from lib.structext.analyze.verdicts import judged_by_structure
        from lib.structext.ask.prompts import Asked

        kept = {query.query_id for query in queries}
        asked = read_records(data_path(study, "asked.jsonl"), Asked, "00_samples.ipynb")
        verdicts = judged_by_structure([one for one in asked if one.query_id in kept], answers)
    else:
        verdicts = judge(queries, answers, by, calls)
    return [verdict.model_copy(update={"reason": missing[verdict.query_id]})
            if verdict.query_id in missing and verdict.verdict == "incorrect" else verdict for verdict in verdicts]
