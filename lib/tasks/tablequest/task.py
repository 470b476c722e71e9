"""TableQuest as a task: prompts with a passage, answers in JSON, figures judged with their unit."""

from lib.core.records import Answer, Query, Verdict
from lib.tasks.tablequest.analyze.accuracy import judged_by_rule
from lib.tasks.tablequest.ask.prompts import fits, question_id_of
from lib.tasks.tablequest.ask.reader import answer_by_rules
from lib.tasks.tablequest.ask.replies import final_of
from lib.tasks.tablequest.records import Grid, Passage, TableQuestion
from lib.tasks.task import Final, Room, Rows, Shown, Task


class TableQuest(Task):
    """Questions of three levels on annual reports; see lib.tasks.task.Task."""

    texts, groups, cluster = "passages", ("level", "form"), "passage"
    needs = {"questions": TableQuestion, "passages": Passage, "grids": Grid}

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
