"""Cut documents into segments with semchunk, each with its place in the source (paper, 3.2)."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import semchunk
from tqdm import tqdm

from lib.core.records import Document, Segment

if TYPE_CHECKING:  # slow to import, and only named here
    from transformers import PreTrainedTokenizerBase

MIN_TOKENS = 8  # one character can be several tokens, which semchunk cannot cut
WINDOW = 8  # segments that are cut again after a cut was moved: all others would take n^2 time
ELSEWHERE = "only headings, or the rest of a sentence: neighbouring segments contain them"
KEPT = "kept as it is"  # begins the remark on a segment that is not rewritten
WORDLESS = "only whitespace, rules and markup"  # why a segment is dropped without a try

_STOP = re.compile(r"[。！？｡][」』）】〉》”’)\]]*\s*")

Count = Callable[[str], int]


def segment(
    documents: list[Document], tokenizer: "PreTrainedTokenizerBase", max_tokens: int = 700
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
    segments, count = [], _counter(tokenizer)
    for document in tqdm(documents, desc="segment"):
        for number, (start, end) in enumerate(_spans(document.text, count, max_tokens)):
            text = document.text[start:end]
            segments.append(
                Segment(
                    segment_id=f"{document.document_id}-s{number:04d}",
                    start=start,
                    end=end,
                    text=text,
                    document_id=document.document_id,
                    n_tokens=count(text),
                )
            )
    return segments


def _counter(tokenizer: "PreTrainedTokenizerBase") -> Count:
    def count(text: str) -> int:
        return len(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    count("")  # which also undoes any truncation that was stored with a fast tokenizer
    fast = getattr(tokenizer, "backend_tokenizer", None)
    if fast is None:
        return count
    return lambda text: len(fast.encode_batch_fast([text], add_special_tokens=False)[0])


# semchunk's cuts are kept until one is inside a sentence; it is moved, and the next WINDOW segments
# are cut again
def _spans(text: str, count: Count, max_tokens: int) -> Iterator[tuple[int, int]]:
    cuts, index = _cuts(text, count, max_tokens), 0
    later = cuts  # semchunk's own cuts, in which a new window ends

    def window(start: int) -> list[int]:
        until = later[min(bisect_right(later, start) + WINDOW, len(later) - 1)]
        return [start, *(start + cut for cut in _cuts(text[start:until], count, max_tokens)[1:])]

    while index + 1 < len(cuts):
        if 0 < index == len(cuts) - 2 and cuts[-1] < len(text):  # it may be short: cut it anew
            cuts, index = window(cuts[index]), 0
        start, end = cuts[index], _sentence_end(text, cuts[index], cuts[index + 1])
        yield start, end
        index += 1
        if end != cuts[index] or index + 1 == len(cuts):
            cuts, index = (window(end), 0) if end < len(text) else ([], 0)


# semchunk does not know full-width stops: it would cut Japanese or Chinese at a space that
# separates a Latin word, or between any two characters
def _sentence_end(text: str, start: int, end: int) -> int:
    is_at_line = end == len(text) or "\n" in text[end - 1 : end + 1]
    stops = [] if is_at_line else list(_STOP.finditer(text, start + (end - start) // 2, end))
    return stops[-1].end() if stops else end


def _cuts(text: str, count: Count, max_tokens: int) -> list[int]:
    if not text:
        return []

    def estimate(part: str) -> int:
        start = part[: 8 * max_tokens]
        if len(part) > 2 * len(start) and (n_tokens := count(start)) > max_tokens + slack:
            return n_tokens * len(part) // len(start)  # semchunk counts it again at each level
        return count(part)

    slack, cuts = _slack(max_tokens), [0]
    _, spans = semchunk.chunk(text, max_tokens, estimate, offsets=True, memoize=False)
    if not spans:
        return [0, len(text)]
    next_starts = [*(start for start, _ in spans[1:]), len(text)]
    for (start, end), following in zip(spans, next_starts, strict=True):
        whitespace = (start - cuts[-1]) + (following - end)
        if whitespace > slack and count(text[cuts[-1] : following]) > max_tokens + slack:
            cuts += [start] * (start > cuts[-1]) + [end] * (following > end)
        cuts.append(following)
    return cuts


def _slack(max_tokens: int) -> int:
    return max(4, max_tokens // 50)
