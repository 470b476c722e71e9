"""How a document is put to a model: whole where the model's context holds it, else in parts cut at headings."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise

from lib.core.prompts import prompt_template
from lib.documents.blocks import parse
from lib.llm.prices import price_of
from lib.llm.tokens import ESTIMATE, counter

CONTEXT_TOKENS = 8192  # of a model that prices.csv does not know; a row there with its context_tokens changes that
TOKENS_A_PAIR = 400  # of a reply; a long entity list stands in answer and source reference
TOKENS_OF_A_REPAIR = 800  # a second request holds the first, the end of its reply and a few sentences


@dataclass(frozen=True)
class Room:
    """What fits in one call, in tokens as `count` counts them."""

    count: Callable[[str], int]
    record: int  # tokens of a document's text
    reply: int


def room(model: str, max_queries: int) -> Room:
    """The tokens that `model` has for a document and for its reply of `max_queries` pairs.

    Raises ValueError where its context holds nothing beside the prompt itself.
    """
    price = price_of(model)
    context = price.context_tokens if price and price.context_tokens else CONTEXT_TOKENS
    count, how = counter(model)
    reply = min(TOKENS_A_PAIR * max_queries, context // 4, price and price.max_output_tokens or context)
    record = context - reply - TOKENS_OF_A_REPAIR - count(prompt_template("annotate").render(title="", text="", count=max_queries))
    if how == ESTIMATE:
        record = record * 3 // 4  # a token of Chinese, code or digits has 3 bytes rather than 4
    if record < 1:
        raise ValueError(f"{model!r} has a context of {context} tokens: too few for prompts/annotate.md and a reply")
    return Room(count, record, reply)


def parts(text: str, most: int, count: Callable[[str], int]) -> list[tuple[int, int]]:
    """Spans that cover `text`, each of at most `most` tokens: one if it fits, else cut before headings, else blocks.

    A block that alone is too long is cut between its lines, a line anywhere.
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
            last = max((at for at in range(first + 1, last + 1) if pieces[at][0] in headings), default=last)
        spans.append((pieces[first][0], pieces[last - 1][1]))
        first = last
    return [(start, end) for start, end in spans if text[start:end].strip()]


def shares(lengths: list[int], n_queries: int) -> list[int]:
    """How many of `n_queries` to ask of each part, in proportion to its length and at least 1."""
    ends = accumulate(lengths, initial=0)
    counts = pairwise(round(n_queries * end / max(sum(lengths), 1)) for end in ends)
    return [max(1, last - first) for first, last in counts]


def _pieces(text: str, most: int, count: Callable[[str], int]) -> list[tuple[int, int, int]]:
    """(start, end, tokens) of every block with the blanks after it, those of more than `most` tokens in halves."""
    starts, end = [0], 0
    for block in parse(text):
        if block.start >= end:  # not inside a list that came before
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
