"""Implement StrucText-Eval as a reading task: fit prompts, read answers, judge, and solve."""

from functools import cache
from typing import TYPE_CHECKING

from lib.core.files import load
from lib.core.records import Answer, Query, Verdict
from lib.reading.context_window import Tokenizer, token_counts
from lib.reading.task import Shown
from lib.structext.analyze.verdicts import judged_by_structure
from lib.structext.ask.prompts import REASONING, Prompted
from lib.structext.ask.replies import Final, finals
from lib.structext.ask.window import too_long
from lib.structext.solve.solver import solve
from lib.structext.solve.unsolvable import Unsolvable

if TYPE_CHECKING:  # slow to import
    from lib.infer.decoding import Decoding


class StrucText:
    """Implement lib.reading.task.Task. Methods raise BadInput without asked.jsonl."""

    def fitted(self, study: str, queries: list[Query], tokenizer: Tokenizer, window: int,
               how: "Decoding") -> Shown:
        """Leave out prompts that do not fit: cutting a structured text would change its structure.

        The note counts reference answers that are longer than a reply may be.
        """
        budget = how.max_read_tokens
        texts = {one.query_id: one.sample.reference for one in load(study, "asked", Prompted)}
        left_out = too_long(queries, texts, tokenizer, window, budget, how.prompt_style)
        ids = {row.item for row in left_out}
        kept = [query for query in queries if query.query_id not in ids]
        answers = token_counts([query.answer for query in kept], tokenizer)
        note = (f"{sum(length > budget for length in answers)} of {len(kept)} reference answers "
                f"are longer than {budget} tokens: no reply can give them in full.")
        return Shown(kept, [], left_out, note)

    def finals(self, study: str, queries: list[Query], answers: list[Answer]) -> dict[str, Final]:
        """Read the final answer of each reply as its prompt setting requires."""
        return finals(_asked(study, queries), answers)

    def judged_by_rules(self, study: str, queries: list[Query],
                        answers: list[Answer]) -> list[Verdict]:
        """Judge by structure: an answer with the reference's structure is correct in any layout."""
        return judged_by_structure(_asked(study, queries), answers)

    def replies_by_rules(self, study: str, queries: list[Query]) -> dict[str, str]:
        """Return the solver's replies, which show whether each text has the answer to its question.

        A reply has the form that its prompt asks for, and is empty if the solver fails.
        """
        replies = {}
        for one in load(study, "asked", Prompted):
            sample = one.sample
            text = _solution(sample.language, sample.question, sample.reference)
            is_tagged = text and one.setting in REASONING
            replies[one.query_id] = f"<answer>\n{text}\n</answer>" if is_tagged else text
        return replies


TASK = StrucText()


def _asked(study: str, queries: list[Query]) -> list[Prompted]:
    kept = {query.query_id for query in queries}
    return [one for one in load(study, "asked", Prompted) if one.query_id in kept]


@cache  # a sample is solved once for all prompt settings
def _solution(language: str, question: str, reference: str) -> str:
    try:
        return solve(language, question, reference)
    except Unsolvable:
        return ""
