"""Documents cut into segments for the normalizer, with semchunk and their places in the source (paper, 3.2)."""

from collections.abc import Callable

import semchunk
from tqdm import tqdm
from transformers import PreTrainedTokenizerBase

from lib.records import Document, Segment


def segment(documents: list[Document], tokenizer: PreTrainedTokenizerBase, max_tokens: int = 700) -> list[Segment]:
    """Cut documents at semantic boundaries into segments of at most `max_tokens` tokens, special tokens not counted.

    The segments of a document cover it: "".join(segment.text) == document.text. semchunk leaves out the blanks
    where it cuts, so each segment keeps those that follow it, which may add a few tokens to the limit; a long run
    of blanks becomes a segment of its own. `n_tokens` counts what the segment holds, these blanks included. An
    empty document has no segments. Raises ValueError where max_tokens is below 8: a single character can be several
    tokens, which semchunk could never cut.
    """
    if max_tokens < 8:
        raise ValueError(f"max_segment_tokens is {max_tokens}: give at least 8, such as the paper's 700")

    def count(text: str) -> int:
        return len(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    segments = []
    for document in tqdm(documents, desc="segment"):
        cuts = _cuts(document.text, count, max_tokens)
        for number, (start, end) in enumerate(zip(cuts, cuts[1:], strict=False)):
            text = document.text[start:end]
            segments.append(Segment(segment_id=f"{document.document_id}-s{number:04d}",
                                    document_id=document.document_id, start=start, end=end, text=text,
                                    n_tokens=count(text)))
    return segments


def _cuts(text: str, count: Callable[[str], int], max_tokens: int) -> list[int]:
    """Where the segments of `text` begin, and its end: characters, ascending."""
    if not text:
        return []
    _, spans = semchunk.chunk(text, max_tokens, count, offsets=True, memoize=False)
    if not spans:
        return [0, len(text)]
    slack = max(4, max_tokens // 50)
    cuts = [0]
    for (start, end), following in zip(spans, [*(span[0] for span in spans[1:]), len(text)], strict=True):
        blanks = (start - cuts[-1]) + (following - end)
        if blanks > slack and count(text[cuts[-1]:following]) > max_tokens + slack:
            cuts += [start] * (start > cuts[-1]) + [end] * (following > end)
        cuts.append(following)
    return cuts
