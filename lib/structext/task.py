"""Implement StrucText-Eval as a reading task: fit prompts, read answers, judge, and solve."""

from functools import cache

from lib.core.files import load
from lib.core.records import Answer, Query, Rejected, Verdict
from lib.infer.answers import Decoding
from lib.reading.context_window import Tokenizer, lengths_of
from lib.reading.task import Shown
from lib.structext.analyze.verdicts import judged_by_structure
from lib.structext.ask.prompts import REASONING, Prompted
from lib.structext.ask.replies import Final, finals
from lib.structext.solve.solver import solve
from lib.structext.solve.unsolvable import Unsolvable


class StrucText:
    """Implement lib.reading.task.Task. Methods raise MissingInput without asked.jsonl."""

    def fitted(self, study: str, queries: list[Query], tokenizer: Tokenizer, window: int,
               how: Decoding) -> Shown:
        """Leave out prompts that do not fit: cutting a structured text would change its structure.

        The prompts were chosen to fit the base model's context window; an arm's may be smaller.
        """
        read = [query for query in queries if query.context]
        lengths = lengths_of([query.context for query in read], tokenizer, how.prompt_style)
        too_long = [
            Rejected(document_id=query.document_id, item=query.query_id,
                     reason=f"{length:,} tokens and {how.max_read_tokens:,} for the reply do not "
                            f"fit in {window:,}")
            for query, length in zip(read, lengths, strict=True)
            if length + how.max_read_tokens > window]
        left_out = {row.item for row in too_long}
        return Shown([query for query in queries if query.query_id not in left_out], [], too_long)

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
