"""Implement TableQuest as a reading task: fit prompts, read answers, judge, and read by rules."""

from typing import TYPE_CHECKING

from lib.core.files import load
from lib.core.records import Answer, Query, Verdict
from lib.reading.context_window import Tokenizer
from lib.reading.task import Shown
from lib.tablequest.analyze.accuracy import judged_by_rule
from lib.tablequest.ask.prompts import fits
from lib.tablequest.ask.reader import answer_by_rules
from lib.tablequest.ask.replies import Final, finals
from lib.tablequest.records import Grid, Passage, TableQuestion

if TYPE_CHECKING:  # slow to import
    from lib.infer.answers import Decoding


class TableQuest:
    """Implement lib.reading.task.Task. Methods raise BadInput without the study's questions.

    Closed-book queries have no context and are sent as ordinary questions.
    """

    def fitted(self, study: str, queries: list[Query], tokenizer: Tokenizer, window: int,
               how: "Decoding") -> Shown:
        """Cut the end of a passage that does not fit, as the paper does."""
        questions = load(study, "questions", TableQuestion)
        fit = fits(queries, questions, tokenizer, window, how.max_read_tokens, how.prompt_style,
                   is_cut=True)
        return Shown(fit.queries, fit.cut, fit.left_out)

    def finals(self, study: str, queries: list[Query], answers: list[Answer]) -> dict[str, Final]:
        """Read the JSON of each reply; a closed-book reply is its own final answer."""
        return finals(queries, answers)

    def judged_by_rules(self, study: str, queries: list[Query],
                        answers: list[Answer]) -> list[Verdict]:
        """Judge figures with sign, scale and unit; hard answers are unscored."""
        return judged_by_rule(load(study, "questions", TableQuestion), queries, answers,
                              load(study, "grids", Grid))

    def replies_by_rules(self, study: str, queries: list[Query]) -> dict[str, str]:
        """Return the lexical reader's replies, which come from matching words with labels."""
        rows = answer_by_rules(queries, load(study, "questions", TableQuestion),
                               load(study, "passages", Passage), load(study, "grids", Grid))
        return {row.query_id: row.answer for row in rows}


TASK = TableQuest()
