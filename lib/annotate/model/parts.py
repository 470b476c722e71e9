"""Send a document in one piece if it fits the context window, else split it at headings."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise

from lib.core.prompts import prompt_template
from lib.documents.markdown import parse
from lib.llm.prices import price_of
from lib.llm.request import ESTIMATE, counter

CONTEXT_TOKENS = 8192  # of a model without context_tokens in prices.csv
TOKENS_PER_PAIR = 400  # of a reply; a long entity list occurs in answer and source reference
REPAIR_TOKENS = 800  # a second request adds the end of the first reply and a few sentences


@dataclass(frozen=True)
class Room:
    """What fits in one call, in tokens according to `count`."""

    count: Callable[[str], int]
    record: int  # tokens of a document's text
    reply: int


def room(model: str, max_queries: int) -> Room:
    """Return the tokens that `model` has for a document and for a reply of `max_queries` pairs.

    Raises ValueError if its context window holds no more than the prompt itself.
    """
    price = price_of(model)
    context = price.context_tokens if price and price.context_tokens else CONTEXT_TOKENS
    count, how = counter(model)
    most = price and price.max_output_tokens or context
    reply = min(TOKENS_PER_PAIR * max_queries, context // 4, most)
    prompt = prompt_template("annotate").render(title="", text="", count=max_queries, language="")
    record = context - reply - REPAIR_TOKENS - count(prompt)
    if how == ESTIMATE:
        record = record * 3 // 4  # tokens of Chinese, code or digits have 3 bytes rather than 4
    if record < 1:
        raise ValueError(
            f"{model!r} has a context window of {context} tokens: too few for "
            "prompts/annotate.md and a reply"
        )
    return Room(count, record, reply)


def parts(text: str, most: int, count: Callable[[str], int]) -> list[tuple[int, int]]:
    """Return spans that cover `text`, of at most `most` tokens each.

    A text that is too long is split before headings if possible, else between blocks; a block that
    is itself too long, between its lines; a line, anywhere.
    """
    if count(text) <= most:
        return [(0, len(text))] if text.strip() else []
    pieces = _pieces(text, most, count)
    headings = {block.start for block in parse(text) if block.kind == "heading"}
    spans, first = [], 0
    while first < len(pieces):
        totals = accumulate(tokens for _, _, tokens in pieces[first:])
        last = first + max(1, sum(total <= most for total in totals))
        if last < len(pieces):
            last = max(
                (at for at in range(first + 1, last + 1) if pieces[at][0] in headings), default=last
            )
        spans.append((pieces[first][0], pieces[last - 1][1]))
        first = last
    return [(start, end) for start, end in spans if text[start:end].strip()]


def shares(lengths: list[int], n_queries: int) -> list[int]:
    """Distribute `n_queries` over parts in proportion to their lengths, at least 1 each."""
    ends = accumulate(lengths, initial=0)
    counts = pairwise(round(n_queries * end / max(sum(lengths), 1)) for end in ends)
    return [max(1, last - first) for first, last in counts]


def _pieces(text: str, most: int, count: Callable[[str], int]) -> list[tuple[int, int, int]]:
    starts, end = [0], 0
    for block in parse(text):
        if block.start >= end:  # not inside the previous list
            starts.append(block.start)
        end = max(end, block.end)
    waiting, pieces = list(pairwise(sorted({*starts, len(text)})))[::-1], []
    while waiting:
        start, end = waiting.pop()
        tokens = count(text[start:end])
        if tokens <= most or end - start < 2:
            pieces.append((start, end, tokens))
            continue
        middle = (start + end) // 2
        cut = text.rfind("\n", start, middle) + 1 or text.find("\n", middle, end - 1) + 1 or middle
        waiting += [(cut, end), (start, cut)]
    return pieces
