"""Documents cut into segments for the normalizer, with semchunk and their places in the source (paper, 3.2)."""

from bisect import bisect_right
from collections.abc import Callable, Iterator

import semchunk
from tqdm import tqdm
from transformers import PreTrainedTokenizerBase

from lib.core.records import Document, Segment
from lib.documents.tables import Table, tables_of

SEGMENTATIONS = ("plain", "table-aware")
Count = Callable[[str], int]
WORDLESS = "nothing but blanks, rules and markup"  # why a segment is dropped without a try


def segment(documents: list[Document], tokenizer: PreTrainedTokenizerBase, max_tokens: int = 700,
            segmentation: str = "plain") -> list[Segment]:
    """Cut documents at semantic boundaries into segments of at most `max_tokens` tokens, special tokens not counted.

    The segments of a document cover it: "".join(segment.text) == document.text. semchunk leaves out the blanks
    where it cuts, so each segment keeps those that follow it, which may add a few tokens to the limit; a long run
    of blanks becomes a segment of its own. `n_tokens` counts what the segment holds, these blanks included. An
    empty document has no segments.

    `segmentation` is "plain" (semchunk alone, as the paper) or "table-aware": a table stays with its heading and
    caption, in one segment where it fits; a longer one is cut between rows only (where a row fits), and what goes on
    with it has the header rows in `repeated`, which count to the limit but not to `n_tokens`.
    Raises ValueError for another segmentation and where max_tokens is below 8: a single character can be several
    tokens, which semchunk could never cut.
    """
    if max_tokens < 8:
        raise ValueError(f"max_segment_tokens is {max_tokens}: give at least 8, such as the paper's 700")
    if segmentation not in SEGMENTATIONS:
        raise ValueError(f"segmentation {segmentation!r} is not one of {', '.join(SEGMENTATIONS)}")

    def count(text: str) -> int:
        return len(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    segments = []
    for document in tqdm(documents, desc="segment"):
        tables = tables_of(document.text) if segmentation == "table-aware" else []
        for number, (start, end, repeated) in enumerate(_spans(document.text, tables, count, max_tokens)):
            text = document.text[start:end]
            segments.append(Segment(segment_id=f"{document.document_id}-s{number:04d}", start=start, end=end, text=text,
                                    document_id=document.document_id, n_tokens=count(text), repeated=repeated))
    return segments


def _spans(text: str, tables: list[Table], count: Count, max_tokens: int) -> Iterator[tuple[int, int, str]]:
    """Start and end of each segment of `text`, and the header rows that are repeated for it.

    semchunk's cuts hold until one falls into a table; that one is moved, and what follows is cut anew.
    """
    cuts, room, repeated, index = _cuts(text, count, max_tokens), max_tokens, "", 0
    while index + 1 < len(cuts):
        start = cuts[index]
        end = _moved(text, tables, start, cuts[index + 1], count, room + _slack(max_tokens))
        yield start, end, repeated
        before, repeated = repeated, next((table.header for table in tables if table.rows and
                                           table.rows[0] < end < table.rows_end), "")
        if count(repeated) > max_tokens // 2:  # hardly a row would fit beside it
            repeated = ""
        index += 1
        if end != cuts[index] or repeated != before:
            room = max(8, max_tokens - count(repeated))
            cuts, index = [end, *(end + cut for cut in _cuts(text[end:], count, room)[1:])], 0


def _moved(text: str, tables: list[Table], start: int, end: int, count: Count, room: int) -> int:
    """Where the segment from `start` ends instead of at `end`, where that is inside a table with its heading.

    Before the table where it fits into a segment of its own or no row of it would come along; else behind the last
    row that fits into `room` tokens. A row that fits nowhere is cut as semchunk does.
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
    """Where the segments of `text` begin, and its end: characters, ascending."""
    if not text:
        return []
    _, spans = semchunk.chunk(text, max_tokens, count, offsets=True, memoize=False)
    if not spans:
        return [0, len(text)]
    slack = _slack(max_tokens)
    cuts = [0]
    for (start, end), following in zip(spans, [*(span[0] for span in spans[1:]), len(text)], strict=True):
        blanks = (start - cuts[-1]) + (following - end)
        if blanks > slack and count(text[cuts[-1]:following]) > max_tokens + slack:
            cuts += [start] * (start > cuts[-1]) + [end] * (following > end)
        cuts.append(following)
    return cuts


def _slack(max_tokens: int) -> int:
    """Tokens by which the blanks after a segment may pass the limit."""
    return max(4, max_tokens // 50)
