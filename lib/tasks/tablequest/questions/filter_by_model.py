"""Filter questions by a model."""

from collections.abc import Mapping, Sequence

from lib.core.prompts import prompt_template
from lib.core.records import Rejected
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request
from lib.tasks.tablequest.ask.prompts import defused_slots
from lib.tasks.tablequest.ask.replies import last_object
from lib.tasks.tablequest.ask.serialize import serialized
from lib.tasks.tablequest.places.places import source_of
from lib.tasks.tablequest.questions.filter import CRITERIA, Screening
from lib.tasks.tablequest.records import Filing, Grid, Passage, TableQuestion, by_id

_TAGS = "passage|question|steps|answer"
_MAX_TOKENS = 700  # per reply
_YES, _NO = ("true", "yes"), ("false", "no")


def screened_by_model(questions: Sequence[TableQuestion], filings: Sequence[Filing],
                      passages: Sequence[Passage], grids: Mapping[str, Grid], model: str,
                      calls: Calls) -> list[Screening]:
    """Return the findings of `model` on each question, in order.

    `grids` are by grid_id. If the reply has no clear decision on a criterion, the criterion is
    not met and the reason says so. Raises Stopped as `complete`
    does.
    """
    of_filing, read = by_id(filings), by_id(passages)
    requests = [_request(one, of_filing[one.filing_id], read[one.passage_id], grids)
                for one in questions]
    replies = complete(requests, model, calls) if requests else []
    return [_screening(question, model, reply)
            for question, reply in zip(questions, replies, strict=True)]


def kept(questions: Sequence[TableQuestion],
         screenings: Sequence[Screening]) -> tuple[list[TableQuestion], list[Rejected]]:
    """Return the questions that pass all `screenings`; reject the others with filter and reason."""
    faults: dict[str, str] = {}
    for screening in screenings:
        if screening.fault:
            faults.setdefault(screening.question_id, f"{screening.fault} ({screening.by})")
    rejected = [Rejected(document_id=question.filing_id, item=question.question,
                         reason=faults[question.question_id])
                for question in questions if question.question_id in faults]
    return [question for question in questions if question.question_id not in faults], rejected


def _request(question: TableQuestion, filing: Filing, passage: Passage, grids: Mapping[str, Grid]
             ) -> Request:
    slots = defused_slots(
        _TAGS, source=source_of(filing) or filing.company,
        passage=serialized(passage, grids, "markdown"), question=question.question,
        steps="\n".join(question.steps), answer=question.answer)
    prompt = prompt_template("tablequest/filter").render(level=question.level, **slots)
    return Request.ask(prompt, max_tokens=_MAX_TOKENS)


def _screening(question: TableQuestion, model: str, reply: Reply) -> Screening:
    text = "" if reply.reason else reply.text.rpartition("</think>")[2]
    decided = last_object(text, *CRITERIA)
    faults = {name: _fault(decided.get(name), reply.reason) for name in CRITERIA}
    return Screening(question_id=question.question_id, by=model, **faults)


def _fault(decided: object, missing: str) -> str:
    if not isinstance(decided, dict):
        return f"no decision: {missing or 'the reply holds none'}"
    decision = str(decided.get("ok", "")).strip().lower()
    reason = " ".join(str(decided.get("reason", "")).split())
    if decision in _YES:
        return ""
    if decision in _NO:
        return reason or "no reason given"
    return f"no decision: {reason or 'the reply holds none'}"
