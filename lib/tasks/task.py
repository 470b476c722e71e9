"""The protocol of a task: its questions, prompts, final answers, verdicts and groups."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import NamedTuple

from lib.core.records import Answer, Document, Query, Record, Rejected, Verdict
from lib.core.stages import SYSTEMS
from lib.core.store import BadInput, load, require_known
from lib.judge.scorer import Decide, check_single_arm, judge
from lib.llm.calls import Calls

Rows = Mapping[str, list]  # artifact -> its rows, as `Task.needs` names them


class Final(NamedTuple):
    """The final answer in a reply as `text`, or why there is none as `missing`; one is empty."""

    text: str
    missing: str
    steps: tuple[str, ...] = ()  # before it


class Shown(NamedTuple):
    """The queries sent to a model, in order; those cut to fit; those too long to be sent."""

    queries: list[Query]
    cut: list[Query]
    too_long: list[Rejected]
    note: str = ""  # what else limits the replies, in a sentence


class Room(NamedTuple):
    """A context window in tokens, what a reply may use of it, and how prompts are counted."""

    window: int
    reply: int
    tokenizer: Callable


class Asked(NamedTuple):
    """What 01_annotate saves: queries, what was left out, and further artifacts by name."""

    queries: list[Query]
    rejected: list[Rejected]
    more: Mapping[str, list[Record]] = {}


class Task:
    """A system's questions and how they are asked, read, judged and grouped; it reads no files.

    A query with a context is sent as that prompt, one without asks for what was learned.

        class Capitals(Task):
            score = staticmethod(lambda queries, answers: [
                ("correct", "the same") if query.answer in answer else ("incorrect", "another")
                for query, answer in zip(queries, answers)])
            groups, cluster = ("continent",), "country"

            def about(self, query, rows):
                return {"continent": query.structure, "country": query.document_id}

            def final(self, query, reply):
                return Final(reply.partition(".")[0], "")
    """

    texts: Mapping[str, type[Record]] = {"documents": Document}  # that its questions are about
    needs: Mapping[str, type[Record]] = {}  # artifacts that methods get as `rows`
    groups: tuple[str, ...] = ("structure",)  # columns of `about` by which results are grouped
    cluster: str = "document"  # the column whose values are sampled, for intervals
    score: Decide  # verdicts without a model

    def ask(self, texts: Rows, annotator: str, calls: Calls, **how: object) -> Asked:
        """Return the questions that rules or the model `annotator` write on the texts."""
        raise BadInput("this task generates its questions: run its notebook 00")

    def fit(self, queries: list[Query], rows: Rows, room: Room) -> Shown:
        """Return the queries as they are sent to a model with this `room`."""
        return Shown(queries, [], [])

    def final(self, query: Query, reply: str) -> Final:
        """Return the final answer in a reply; 05_judge shows the judge nothing else."""
        return Final(reply, "")

    def replies(self, queries: list[Query], rows: Rows) -> Mapping[str, str]:
        """Return query_id -> the reply of the task's own reader, which needs no model."""
        raise BadInput("this task has no reader without a model: set mode to model")

    def verdicts(self, queries: list[Query], answers: list[Answer], rows: Rows) -> list[Verdict]:
        """Return one verdict per query, in order, on one arm's final answers, without a model."""
        return judge(queries, answers, self.score)

    def about(self, query: Query, rows: Rows) -> dict[str, object]:
        """Return the groups and the cluster of the results on a query."""
        return {"structure": query.structure, "document": query.document_id}


def task_of(name: str) -> Task:
    """Return the task of a system. Raises ValueError for an unknown one."""
    require_known("task", [name], SYSTEMS)
    return import_module(SYSTEMS[name]).TASK


def rows_of(task: Task, study: str) -> Rows:
    """Return the rows that the methods of `task` need, by artifact."""
    return {name: load(study, name, kind) for name, kind in task.needs.items()}


class Finals(NamedTuple):
    """One arm's answers reduced to the final answer, and query_id -> why one has none."""

    answers: list[Answer]
    missing: Mapping[str, str]


def final_answers(task: Task, queries: list[Query], replies: list[Answer]) -> Finals:
    """Return the final answers in one arm's replies.

    Raises ValueError as `lib.judge.scorer.check_single_arm` does.
    """
    check_single_arm(queries, replies)
    asked = {query.query_id: query for query in queries}
    pairs = [(reply, task.final(asked[reply.query_id], reply.answer)) for reply in replies]
    return Finals(
        [reply.model_copy(update={"answer": final.text}) for reply, final in pairs],
        {reply.query_id: final.missing for reply, final in pairs if final.missing},
    )


def verdicts_of(
    task: Task, queries: list[Query], finals: Finals, rows: Rows, decide: Decide | None, name: str
) -> list[Verdict]:
    """Return one verdict per query on one arm's final answers, by `decide`, a judge called `name`.

    None is the task's own scorer. The verdict on a reply without a final answer gives the reason.
    """
    found = (
        judge(queries, finals.answers, decide, name)
        if decide
        else task.verdicts(queries, finals.answers, rows)
    )
    return [
        row.model_copy(update={"reason": finals.missing.get(row.query_id, row.reason)})
        if row.verdict == "incorrect"
        else row
        for row in found
    ]
