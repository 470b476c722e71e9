"""Find the prompts that do not fit in a model's context window; none is truncated."""

from collections.abc import Mapping, Sequence

from lib.core.records import Query, Rejected
from lib.reading.context_window import Tokenizer, lengths_of, token_counts


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
