"""How many tokens a prompt has, and which prompts a model's window cannot hold: counted, never cut in silence."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from lib.core.records import Rejected
from lib.reading.context_window import Tokenizer, lengths_of, token_counts
from lib.structext.ask.prompts import Asked
from lib.structext.records import EXTRA_LANGUAGES, LANGUAGES

COLUMNS = ["language", "depth", "width", "n", "fits", "left_out", "longest_prompt", "longest_answer",
           "answers_over_budget"]


@dataclass(frozen=True)
class Fit:
    """What a model can be asked, what not and why, and a table of both."""

    asked: list[Asked]  # those that fit, in order
    left_out: list[Rejected]  # the others: not asked, so lib.structext.ask.replies.scored gives them 0
    table: pd.DataFrame  # COLUMNS, one row a language, depth and width; lengths in tokens


def fits(prompts: Sequence[Asked], tokenizer: Tokenizer, window: int, answer_budget: int, style: str = "auto",
         known: dict[str, int] | None = None) -> Fit:
    """Which of `prompts` stand, with room for `answer_budget` tokens of a reply, in a window of `window` tokens.

    The lengths are of what is asked: with BOS, and with the chat template in the `style` of lib.infer.prompts. Where
    the structured text alone does not fit, its own length stands for the prompt's: a suite's longest prompts together
    have hundreds of megabytes; `known` keeps the texts' lengths from one call to the next. The table also counts
    reference answers that are longer than the budget, which no reply can give whole.
    Raises ValueError for a window or budget below 1, and as `lib.infer.prompts.is_chat` does.
    """
    if window < 1 or answer_budget < 1:
        raise ValueError(f"window {window}, answer_budget {answer_budget}: both are tokens, at least 1")
    lengths = _lengths(prompts, tokenizer, window - answer_budget, style, {} if known is None else known)
    answers = token_counts([one.sample.answer for one in prompts], tokenizer)
    is_fitting = [length + answer_budget <= window for length in lengths]
    left_out = [Rejected(document_id=one.sample.id, item=one.query_id,
                         reason=f"{length:,} tokens and {answer_budget:,} for the reply do not fit in {window:,}")
                for one, length, fit in zip(prompts, lengths, is_fitting, strict=True) if not fit]
    rows = pd.DataFrame([(one.sample.language, one.sample.depth, one.sample.width) for one in prompts],
                        columns=COLUMNS[:3]).assign(prompt=lengths, answer=answers, fit=is_fitting)
    return Fit([one for one, fit in zip(prompts, is_fitting, strict=True) if fit], left_out,
               _table(rows, answer_budget))


def _lengths(prompts: Sequence[Asked], tokenizer: Tokenizer, room: int, style: str,
             alone: dict[str, int]) -> list[int]:
    """Tokens of each prompt, or of its structured text where that is longer than `room` already."""
    texts = [text for text in {one.sample.reference: None for one in prompts} if text not in alone]
    alone.update(zip(texts, token_counts(texts, tokenizer), strict=True))
    lengths = [alone[one.sample.reference] for one in prompts]
    places = [place for place, length in enumerate(lengths) if length <= room]
    for place, length in zip(places, lengths_of([prompts[place].prompt for place in places], tokenizer, style),
                             strict=True):
        lengths[place] = length
    return lengths


def _table(rows: pd.DataFrame, answer_budget: int) -> pd.DataFrame:
    """`rows` has a row a prompt; languages in the benchmark's order."""
    order = [*LANGUAGES, *EXTRA_LANGUAGES]
    table = rows.groupby(COLUMNS[:3], as_index=False).agg(
        n=("fit", "size"), fits=("fit", "sum"), left_out=("fit", lambda fit: int((~fit.astype(bool)).sum())),
        longest_prompt=("prompt", "max"), longest_answer=("answer", "max"),
        answers_over_budget=("answer", lambda tokens: int((tokens > answer_budget).sum())))
    return table.sort_values(COLUMNS[:3], key=lambda column: column.map(order.index) if column.name == "language"
                             else column, ignore_index=True)[COLUMNS]
