"""A model as quality filter: relevant, reasonable, valid, each with its reason; faults that people found help it."""

from collections.abc import Mapping, Sequence

from lib.core.prompts import prompt_template
from lib.core.records import Rejected
from lib.core.untrusted import defused
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request
from lib.tablequest.ask.replies import objects
from lib.tablequest.ask.serialize import serialized
from lib.tablequest.questions.filter import CRITERIA, Screening
from lib.tablequest.questions.places import source_of
from lib.tablequest.records import Filing, Grid, Passage, TableQuestion

_TAGS = "passage|question|steps|answer|faults"
_MAX_TOKENS = 700  # of a reply
_YES, _NO = ("true", "yes"), ("false", "no")


def screened_by_model(questions: Sequence[TableQuestion], filings: Sequence[Filing], passages: Sequence[Passage],
                      grids: Mapping[str, Grid], model: str, calls: Calls,
                      examples: Sequence[str] = ()) -> list[Screening]:
    """The word of `model` on each question, in order; `grids` by grid_id, `examples` of faults in words.

    A criterion without a clear word in the reply is not met, and its reason says so. Raises CallsStopped as
    `lib.llm.complete` does.
    """
    of_filing, read = ({one.filing_id: one for one in filings}, {one.passage_id: one for one in passages})
    requests = [_request(one, of_filing[one.filing_id], read[one.passage_id], grids, examples) for one in questions]
    replies = complete(requests, model, calls) if requests else []
    return [_screening(question, model, reply) for question, reply in zip(questions, replies, strict=True)]


def kept(questions: Sequence[TableQuestion],
         screenings: Sequence[Screening]) -> tuple[list[TableQuestion], list[Rejected]]:
    """The questions that pass every one of `screenings`, and the others with the filter and the reason."""
    faults: dict[str, str] = {}
    for screening in screenings:
        if screening.fault:
            faults.setdefault(screening.question_id, f"{screening.fault} ({screening.by})")
    rejected = [Rejected(document_id=question.filing_id, item=question.question, reason=faults[question.question_id])
                for question in questions if question.question_id in faults]
    return [question for question in questions if question.question_id not in faults], rejected


def _request(question: TableQuestion, filing: Filing, passage: Passage, grids: Mapping[str, Grid],
             examples: Sequence[str]) -> Request:
    shown = {name: defused(text, _TAGS) for name, text in {
        "source": source_of(filing) or filing.company, "passage": serialized(passage, grids, "markdown"),
        "question": question.question, "steps": "\n".join(question.steps), "answer": question.answer,
        "examples": "\n\n".join(examples)}.items()}
    return Request.ask(prompt_template("tablequest/filter").render(level=question.level, **shown), max_tokens=_MAX_TOKENS)


def _screening(question: TableQuestion, model: str, reply: Reply) -> Screening:
    said = [] if reply.reason else [found for found in objects(reply.text.rpartition("</think>")[2])
                                    if set(CRITERIA) & set(found)]
    faults = {name: _fault(said[-1].get(name) if said else None, reply.reason) for name in CRITERIA}
    return Screening(question_id=question.question_id, by=model, **faults)


def _fault(said: object, missing: str) -> str:
    """"" where a criterion is met; else the reason, or that there is no clear word."""
    if not isinstance(said, dict):
        return f"no decision: {missing or 'the reply holds none'}"
    decision, reason = str(said.get("ok", "")).strip().lower(), " ".join(str(said.get("reason", "")).split())
    if decision in _YES:
        return ""
    return (reason or "no reason given") if decision in _NO else f"no decision: {reason or 'the reply holds none'}"
