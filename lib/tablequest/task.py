"""TableQuest as a task: prompts with a passage, answers in JSON, figures judged with their unit."""

from collections.abc import Sequence

from lib.core.errors import BadInput, Stopped
from lib.core.records import Answer, Query, Verdict
from lib.judge.scorer import judge
from lib.llm.calls import Calls
from lib.tablequest.answers import (
    as_queries,
    cut_to_fit,
    form_of,
    judged,
    question_id_of,
    read_reply,
    with_shots,
)
from lib.tablequest.questions import ask_by_model
from lib.tablequest.records import Filing, Grid, Passage, TableQuestion, by_id, texts_by_id
from lib.tasks.task import Asked, Final, Room, Rows, Shown, Task


class TableQuest(Task):
    """Questions of three levels on annual reports; see lib.tasks.task.Task."""

    texts = {"filings": Filing, "grids": Grid, "passages": Passage}
    groups, cluster = ("level", "form"), "passage"
    needs = {"questions": TableQuestion, "passages": Passage, "grids": Grid}
    with_shots = staticmethod(with_shots)  # examples written by hand before each passage

    def ask(
        self,
        texts: Rows,
        annotator: str,
        calls: Calls,
        *,
        max_queries: int = 80,
        forms: Sequence[str] = ("html",),
        seed: int = 42,
        **_: object,
    ) -> Asked:
        """Return at most `max_queries` questions of each level, in each of `forms`."""
        if max_queries < 1:
            raise ValueError(f"max_queries is {max_queries}: ask for at least 1 of each level")
        read = texts_by_id(texts)
        try:
            questions, rejected = ask_by_model(read, annotator, calls, max_queries, seed)
        except Stopped as error:
            if annotator != "shipped":
                raise
            raise BadInput(
                "the shipped questions are about data/filings: for other reports, set `annotator` "
                f"to a model's id in the study's file ({error})"
            ) from error
        queries = as_queries(questions, read, forms)
        return Asked(queries, rejected, {"questions": questions})

    def fit(self, queries: list[Query], rows: Rows, room: Room) -> Shown:
        """Cut the end of a passage that does not fit, as the paper does."""
        return cut_to_fit(queries, room)

    def final(self, query: Query, reply: str) -> Final:
        """Read the JSON of a reply."""
        found = read_reply(reply)
        return Final(found.text, found.missing)

    def verdicts(self, queries: list[Query], answers: list[Answer], rows: Rows) -> list[Verdict]:
        """Judge figures with sign, scale and unit; hard answers are unscored."""
        asked = by_id(rows["questions"])
        return judge(
            queries,
            answers,
            lambda queries, texts: [
                judged(asked[question_id_of(query.query_id)], text)
                for query, text in zip(queries, texts, strict=True)
            ],
        )

    def replies(self, queries: list[Query], rows: Rows) -> dict[str, str]:
        """Return the constant baseline, which says the same to every query."""
        return dict.fromkeys((query.query_id for query in queries), '{"steps": [], "answer": "0"}')

    def about(self, query: Query, rows: Rows) -> dict[str, object]:
        """Return the question's level, the tables' form and the passage."""
        question = by_id(rows["questions"])[question_id_of(query.query_id)]
        return {
            "level": question.level,
            "passage": question.passage_id,
            "form": form_of(query.query_id),
        }


TASK = TableQuest()
