"""TableQuest as a task: prompts with a passage, answers in JSON, figures judged with their unit."""

from collections.abc import Sequence

from lib.core.records import Answer, Query, Verdict
from lib.llm.calls import Calls
from lib.tasks.tablequest.analyze.accuracy import judged_by_rule
from lib.tasks.tablequest.ask.prompts import as_queries, fits, question_id_of
from lib.tasks.tablequest.ask.reader import answer_by_rules
from lib.tasks.tablequest.ask.replies import final_of
from lib.tasks.tablequest.questions.by_model import synthesis_by_model
from lib.tasks.tablequest.questions.by_rules import synthesis_by_rules
from lib.tasks.tablequest.questions.check import evidence, verified
from lib.tasks.tablequest.records import Filing, Grid, Passage, TableQuestion, by_id
from lib.tasks.task import Asked, Final, Room, Rows, Shown, Task


class TableQuest(Task):
    """Questions of three levels on annual reports; see lib.tasks.task.Task."""

    texts = {"filings": Filing, "grids": Grid, "passages": Passage}
    groups, cluster = ("level", "form"), "passage"
    needs = {"questions": TableQuestion, "passages": Passage, "grids": Grid}

    def ask(self, texts: Rows, annotator: str, calls: Calls, *, max_queries: int = 80,
            forms: Sequence[str] = ("html",), seed: int = 42, **_: object) -> Asked:
        """Return chains of questions, at most `max_queries` of each level, in each of `forms`."""
        read = (texts["filings"], texts["grids"], texts["passages"])
        found = (synthesis_by_rules(*read, max_queries, seed) if annotator == "rules" else
                 synthesis_by_model(*read, annotator, calls, max_queries, seed))
        queries = as_queries(found.questions, texts["passages"], texts["grids"], texts["filings"],
                             forms)
        return Asked(queries, found.rejected, {"questions": found.questions,
                                               "questions_screened": found.screenings})

    def checks(self, asked: Asked, texts: Rows) -> list[str]:
        """Check that every answer follows from value, scale and unit of its cells as read."""
        questions, tables = asked.more["questions"], by_id(texts["grids"])
        wrong = {one.question_id: reason for one in questions if (reason := verified(one, tables))}
        assert not wrong, wrong
        total = evidence(questions, tables).drop(columns="filing_id").sum()
        return [f"{total['recomputed']} of {total['questions']} answers follow from their cells; "
                f"{total['tagged']} of these {total['cells']} cells have inline XBRL, so that "
                f"{total['all tagged']} answers rest on tags alone"]

    def fit(self, queries: list[Query], rows: Rows, room: Room) -> Shown:
        """Cut the end of a passage that does not fit, as the paper does."""
        fit = fits(queries, rows["questions"], room.tokenizer, room.window, room.reply, room.style,
                   is_cut=True)
        return Shown(fit.queries, fit.cut, fit.left_out)

    def final(self, query: Query, reply: str) -> Final:
        """Read the JSON of a reply; a closed-book reply is its own final answer."""
        found = final_of(query, reply)
        return Final(found.text, found.missing)

    def verdicts(self, queries: list[Query], answers: list[Answer], rows: Rows) -> list[Verdict]:
        """Judge figures with sign, scale and unit; hard answers are unscored."""
        return judged_by_rule(rows["questions"], queries, answers, rows["grids"])

    def replies(self, queries: list[Query], rows: Rows) -> dict[str, str]:
        """Return the lexical reader's replies, which come from matching words with labels."""
        found = answer_by_rules(queries, rows["questions"], rows["passages"], rows["grids"])
        return {row.query_id: row.answer for row in found}

    def about(self, query: Query, rows: Rows) -> dict[str, object]:
        """Return the question's level, the tables' form and the passage."""
        questions = {one.question_id: one for one in rows["questions"]}
        question = questions[question_id_of(query.query_id)]
        return {"level": question.level, "passage": question.passage_id,
                "form": query.query_id.rpartition(":")[2]}


TASK = TableQuest()
