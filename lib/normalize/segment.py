"""Segments of documents: semchunk's semantic boundaries, with their offsets (paper, 3.2)."""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

import semchunk
from tqdm import tqdm

from lib.core.records import Document, Segment

if TYPE_CHECKING:  # slow to import, and only named here
    from transformers import PreTrainedTokenizerBase

MIN_TOKENS = 8  # one character can be several tokens, which semchunk cannot cut
ELSEWHERE = "only headings, or the rest of a sentence: neighbouring segments contain them"
KEPT = "kept as it is"  # begins the remark on a segment that is not rewritten
WORDLESS = "only whitespace, rules and markup"  # why a segment is dropped without a try

# semchunk does not know full-width stops: it would cut Japanese or Chinese at a space that
# separates a Latin word. It is shown a return, at which it cuts as at the end of a line.
_STOP = re.compile(r"[。！？｡](?=[^」』）】〉》”’)\]\s])|(?<=[。！？｡])[」』）】〉》”’](?=\S)")
_SHOWN = "\r"

Count = Callable[[str], int]


def segment(
    documents: list[Document], tokenizer: "PreTrainedTokenizerBase", max_tokens: int
) -> list[Segment]:
    """Cut documents at semantic boundaries into segments of at most `max_tokens` tokens.

    The segments cover a document: each keeps the whitespace after it, which may add a few tokens;
    a long run of it is a segment of its own. Raises ValueError if max_tokens is below MIN_TOKENS.
    """
    if max_tokens < MIN_TOKENS:
        raise ValueError(
            f"max_segment_tokens is {max_tokens}: give at least {MIN_TOKENS}, such "
            "as the paper's 700"
        )

    def count(text: str) -> int:
        return len(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    segments = []
    for document in tqdm(documents, desc="segment"):
        cuts = _cuts(document.text, count, max_tokens)
        for number, (start, end) in enumerate(pairwise(cuts)):
            text = document.text[start:end]
            segments.append(
                Segment(
                    segment_id=f"{document.document_id}-s{number:04d}",
                    start=start,
                    end=end,
                    text=text,
                    document_id=document.document_id,
                    n_tokens=count(text),
                    doubt=document.doubt_in(start, end),
                )
            )
    return segments


def _cuts(text: str, count: Count, max_tokens: int) -> list[int]:
    slack, cuts = max(4, max_tokens // 50), [0]

    def estimate(part: str) -> int:
        part = part.replace(_SHOWN, "。")
        start = part[: 8 * max_tokens]
        if len(part) > 2 * len(start) and (n_tokens := count(start)) > max_tokens + slack:
            return n_tokens * len(part) // len(start)  # semchunk counts it again at each level
        return count(part)

    shown = _STOP.sub(_SHOWN, text)
    _, spans = semchunk.chunk(shown, max_tokens, estimate, offsets=True, memoize=False)
    next_starts = [*(start for start, _ in spans[1:]), len(text)]
    for (start, end), following in zip(spans, next_starts, strict=bool(spans)):
        whitespace = (start - cuts[-1]) + (following - end)
        if whitespace > slack and count(text[cuts[-1] : following]) > max_tokens + slack:
            cuts += [start] * (start > cuts[-1]) + [end] * (following > end)
        cuts.append(following)
    return cuts if spans or not text else [0, len(text)]
