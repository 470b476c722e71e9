"""Cut documents into segments with semchunk, each with its place in the source (paper, 3.2)."""

from bisect import bisect_right
from collections.abc import Callable, Iterator

import semchunk
from tqdm import tqdm
from transformers import PreTrainedTokenizerBase

from lib.core.records import Document, Segment
from lib.documents.tables import Table, tables_of

SEGMENTATIONS = ("plain", "table-aware")
MIN_TOKENS = 8  # one character can be several tokens, which semchunk cannot cut
WORDLESS = "only whitespace, rules and markup"  # why a segment is dropped without a try

Count = Callable[[str], int]


def segment(documents: list[Document], tokenizer: PreTrainedTokenizerBase, max_tokens: int = 700,
            segmentation: str = "plain") -> list[Segment]:
    """Cut documents at semantic boundaries into segments of at most `max_tokens` tokens.

    "".join(segment.text) == document.text: semchunk drops the whitespace where it cuts, so each
    segment keeps what follows it, which may add a few tokens to the limit; a long run of
    whitespace becomes a segment of its own. `n_tokens` includes this whitespace, not special
    tokens. An empty document has no segments.

    `segmentation` is "plain" (semchunk alone, as in the paper) or "table-aware": a table stays
    with its heading and caption, in one segment if it fits; a longer one is cut only between rows
    (if a row fits), and the segments that continue it have the header rows in `repeated`, which
    count towards the limit but not in `n_tokens`.
    Raises ValueError for another segmentation, and if max_tokens is below MIN_TOKENS.
    """
    if max_tokens < MIN_TOKENS:
        raise ValueError(f"max_segment_tokens is {max_tokens}: give at least {MIN_TOKENS}, such "
                         "as the paper's 700")
    if segmentation not in SEGMENTATIONS:
        raise ValueError(f"segmentation {segmentation!r} is not one of {', '.join(SEGMENTATIONS)}")

    def count(text: str) -> int:
        return len(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    segments = []
    for document in tqdm(documents, desc="segment"):
        tables = tables_of(document.text) if segmentation == "table-aware" else []
        spans = _spans(document.text, tables, count, max_tokens)
        for number, (start, end, repeated) in enumerate(spans):
            text = document.text[start:end]
            segments.append(Segment(
                segment_id=f"{document.document_id}-s{number:04d}", start=start, end=end,
                text=text, document_id=document.document_id, n_tokens=count(text),
                repeated=repeated))
    return segments


def _spans(text: str, tables: list[Table], count: Count,
           max_tokens: int) -> Iterator[tuple[int, int, str]]:
    """Yield the start and end of each segment, and the header rows that are repeated for it.

    semchunk's cuts are kept until one is inside a table; it is moved, and the rest is cut again.
    """
    cuts, room, repeated, index = _cuts(text, count, max_tokens), max_tokens, "", 0
    while index + 1 < len(cuts):
        start = cuts[index]
        end = _moved(text, tables, start, cuts[index + 1], count, room + _slack(max_tokens))
        yield start, end, repeated
        before, repeated = repeated, next((table.header for table in tables if table.rows and
                                           table.rows[0] < end < table.rows_end), "")
        if count(repeated) > max_tokens // 2:  # it would leave room for hardly a row
            repeated = ""
        index += 1
        if end != cuts[index] or repeated != before:
            room = max(MIN_TOKENS, max_tokens - count(repeated))
            cuts, index = [end, *(end + cut for cut in _cuts(text[end:], count, room)[1:])], 0


def _moved(text: str, tables: list[Table], start: int, end: int, count: Count, room: int) -> int:
    """Return where the segment from `start` ends, moved if `end` is inside a table or its heading.

    Before the table if that fits into a segment of its own or if no row would be included; else
    after the last row that fits into `room` tokens. A row that fits nowhere is cut anywhere.
    """
    table = next((table for table in tables if table.start < end < table.end), None)
    if table is None:
        return end
    borders = [row for row in [*table.rows[1:], table.end] if start < row]
    n_fitting = bisect_right(borders, room, key=lambda row: count(text[start:row]))
    is_small = count(text[table.start:table.end]) <= room
    if table.start > start and n_fitting < len(borders) and (is_small or not n_fitting):
        return table.start
    if not n_fitting and start < table.begin < end:  # its caption alone fills the segment
        return table.begin
    return borders[n_fitting - 1] if n_fitting else end


def _cuts(text: str, count: Count, max_tokens: int) -> list[int]:
    """Return where the segments of `text` begin, and its end."""
    if not text:
        return []
    _, spans = semchunk.chunk(text, max_tokens, count, offsets=True, memoize=False)
    if not spans:
        return [0, len(text)]
    slack, cuts = _slack(max_tokens), [0]
    next_starts = [*(start for start, _ in spans[1:]), len(text)]
    for (start, end), following in zip(spans, next_starts, strict=True):
        whitespace = (start - cuts[-1]) + (following - end)
        if whitespace > slack and count(text[cuts[-1]:following]) > max_tokens + slack:
            cuts += [start] * (start > cuts[-1]) + [end] * (following > end)
        cuts.append(following)
    return cuts


def _slack(max_tokens: int) -> int:
    """Return the tokens by which the whitespace after a segment may exceed the limit."""
    return max(4, max_tokens // 50)
