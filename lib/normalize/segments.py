"""Cut documents into segments with semchunk, each with its place in the source (paper, 3.2)."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import semchunk
from tqdm import tqdm

from lib.core.records import Document, Segment
from lib.documents.tables import Table, tables_of

if TYPE_CHECKING:  # slow to import, and only named here
    from transformers import PreTrainedTokenizerBase

SEGMENTATIONS = ("plain", "table-aware")
MIN_TOKENS = 8  # one character can be several tokens, which semchunk cannot cut
WINDOW = 8  # segments that are cut again after a cut was moved: all others would take n^2 time
ELSEWHERE = "only headings, or the rest of a sentence: neighbouring segments contain them"
KEPT = "kept as it is"  # begins the remark on a segment that is not rewritten
WORDLESS = "only whitespace, rules and markup"  # why a segment is dropped without a try

_STOP = re.compile(r"[。！？｡][」』）】〉》”’)\]]*\s*")

Count = Callable[[str], int]


def segment(documents: list[Document], tokenizer: "PreTrainedTokenizerBase", max_tokens: int = 700,
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

    segments, count = [], _counter(tokenizer)
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


def _counter(tokenizer: "PreTrainedTokenizerBase") -> Count:
    def count(text: str) -> int:
        return len(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    count("")  # which also undoes any truncation that was stored with a fast tokenizer
    fast = getattr(tokenizer, "backend_tokenizer", None)
    if fast is None:
        return count
    return lambda text: len(fast.encode_batch_fast([text], add_special_tokens=False)[0])


# semchunk's cuts are kept until one is inside a table or a sentence; it is moved, and the next
# WINDOW segments are cut again
def _spans(text: str, tables: list[Table], count: Count,
           max_tokens: int) -> Iterator[tuple[int, int, str]]:
    cuts, room, repeated, index = _cuts(text, count, max_tokens), max_tokens, "", 0
    later = cuts  # semchunk's own cuts, in which a new window ends
    places = _Tables(text, tables, count)

    def window(start: int) -> list[int]:
        until = later[min(bisect_right(later, start) + WINDOW, len(later) - 1)]
        return [start, *(start + cut for cut in _cuts(text[start:until], count, room)[1:])]

    while index + 1 < len(cuts):
        if 0 < index == len(cuts) - 2 and cuts[-1] < len(text):  # it may be short: cut it anew
            cuts, index = window(cuts[index]), 0
        start, end = cuts[index], cuts[index + 1]
        if table := places.around(end):
            end = _moved(text, table, start, end, count, room + _slack(max_tokens),
                         is_small=places.size(table) <= room + _slack(max_tokens))
        else:
            end = _sentence_end(text, start, end)
        yield start, end, repeated
        before, repeated = repeated, places.header(end)
        if count(repeated) > max_tokens // 2:  # it would leave room for hardly a row
            repeated = ""
        index += 1
        if end != cuts[index] or repeated != before or index + 1 == len(cuts):
            room = max(MIN_TOKENS, max_tokens - count(repeated))
            cuts, index = (window(end), 0) if end < len(text) else ([], 0)


class _Tables:
    def __init__(self, text: str, tables: list[Table], count: Count) -> None:
        self._text, self._tables, self._count = text, tables, count
        self._sizes: dict[int, int] = {}  # start of a table -> its tokens

    def around(self, end: int) -> Table | None:
        """Return the table, with its headings and caption, that a cut at `end` would divide."""
        index = bisect_left(self._tables, end, key=lambda table: table.start) - 1
        table = self._tables[index] if index >= 0 else None
        return table if table and end < table.end else None

    def size(self, table: Table) -> int:
        """Return the tokens of a table."""
        if table.start not in self._sizes:
            self._sizes[table.start] = self._count(self._text[table.start:table.end])
        return self._sizes[table.start]

    def header(self, end: int) -> str:
        """Return the header rows to repeat after a cut at `end`, "" if it is not between rows."""
        table = self.around(end)
        is_between = table and table.rows and table.rows[0] < end < table.rows_end
        return table.header if is_between else ""


# Before the table if that fits into a segment of its own or if no row would be included; else after
# the last row that fits into `room` tokens. A row that fits nowhere is cut anywhere.
def _moved(text: str, table: Table, start: int, end: int, count: Count, room: int, *,
           is_small: bool) -> int:
    borders = [*table.rows[1:], table.end]
    first = bisect_right(borders, start)
    n_more = 1
    while first + n_more <= len(borders) and count(text[start:borders[first + n_more - 1]]) <= room:
        n_more *= 2
    last = min(first + n_more, len(borders))
    fitting = bisect_right(borders, room, first, last, key=lambda row: count(text[start:row]))
    if table.start > start and fitting < len(borders) and (is_small or fitting == first):
        return table.start
    if fitting == first and start < table.begin < end:  # its caption alone fills the segment
        return table.begin
    return borders[fitting - 1] if fitting > first else end


# semchunk does not know full-width stops: it would cut Japanese or Chinese at a space that
# separates a Latin word, or between any two characters
def _sentence_end(text: str, start: int, end: int) -> int:
    is_at_line = end == len(text) or "\n" in text[end - 1:end + 1]
    stops = [] if is_at_line else list(_STOP.finditer(text, start + (end - start) // 2, end))
    return stops[-1].end() if stops else end


def _cuts(text: str, count: Count, max_tokens: int) -> list[int]:
    if not text:
        return []

    def estimate(part: str) -> int:
        start = part[:8 * max_tokens]
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
        if whitespace > slack and count(text[cuts[-1]:following]) > max_tokens + slack:
            cuts += [start] * (start > cuts[-1]) + [end] * (following > end)
        cuts.append(following)
    return cuts


def _slack(max_tokens: int) -> int:
    return max(4, max_tokens // 50)
