"""Implement StrucText-Eval as a reading task: fit prompts, read answers, judge, and solve."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lib.core.files import load
from lib.core.records import Answer, Query, Rejected, Verdict
from lib.reading.context_window import Tokenizer, lengths_of, token_counts
from lib.reading.task import Shown
from lib.structext.ask.prompts import REASONING, Prompted
from lib.structext.ask.replies import Final, finals, judged_by_rules
from lib.structext.solve.solver import solved

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
        """Judge by comparison: the reference is correct, whatever its whitespace."""
        return judged_by_rules(_asked(study, queries), answers)

    def replies_by_rules(self, study: str, queries: list[Query]) -> dict[str, str]:
        """Return the solver's replies, which show whether each text has the answer to its question.

        A reply has the form that its prompt asks for, and is empty if the solver fails.
        """
        asked = load(study, "asked", Prompted)
        samples = {one.sample.id: one.sample for one in asked}  # each is solved once
        texts = {row.id: row.answer for row in solved(samples.values())}
        return {one.query_id: f"<answer>\n{text}\n</answer>"
                if (text := texts[one.sample.id]) and one.setting in REASONING else text
                for one in asked}


TASK = StrucText()


def too_long(queries: Sequence[Query], texts: Mapping[str, str], tokenizer: Tokenizer, window: int,
             answer_budget: int, style: str = "auto") -> list[Rejected]:
    """Return the queries whose prompt does not fit in `window` tokens with `answer_budget` free.

    A length is that of the prompt as sent, with BOS and the model's chat template. `texts` maps
    query_id to the structured text; if that alone does not fit, its length is used instead of the
    prompt's, because a suite's longest prompts amount to hundreds of megabytes.
    Raises ValueError for a window or budget below 1, and as `lib.infer.prompts.is_chat` does.
    """
    if window < 1 or answer_budget < 1:
        raise ValueError(f"window {window}, answer_budget {answer_budget}: each must be at least "
                         "1 token")
    room = window - answer_budget
    different = list(dict.fromkeys(texts[query.query_id] for query in queries))
    of_text = dict(zip(different, token_counts(different, tokenizer), strict=True))
    lengths = {query.query_id: of_text[texts[query.query_id]] for query in queries}
    short = [query for query in queries if lengths[query.query_id] <= room]
    counted = lengths_of([query.context for query in short], tokenizer, style)
    lengths |= {query.query_id: length for query, length in zip(short, counted, strict=True)}
    return [Rejected(document_id=query.document_id, item=query.query_id,
                     reason=f"{lengths[query.query_id]:,} tokens or more and {answer_budget:,} for "
                            f"the reply do not fit in {window:,}")
            for query in queries if lengths[query.query_id] > room]


def _asked(study: str, queries: list[Query]) -> list[Prompted]:
    kept = {query.query_id for query in queries}
    return [one for one in load(study, "asked", Prompted) if one.query_id in kept]
