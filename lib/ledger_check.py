"""The ledger of the laboratory checked against its known facts, by other means than the ledger's own (the ledger).

Places come from the facts' spans, not from the queries; blocks are decoded to characters, not looked up by tokens.
"""

from collections.abc import Iterator

from transformers import PreTrainedTokenizerBase

from lib.ledger import LedgerRow
from lib.ledger_training import Trained
from lib.packing import IGNORED, Blocks
from lib.records import Document, Fact, Normalized, Query, Segment
from lib.seeds import split_arm

Span = tuple[int, int]


def wrong_rows(ledger: list[LedgerRow], facts: list[Fact], queries: list[Query], documents: list[Document],
               segments: list[Segment], normalized: list[Normalized], arms: dict[str, Trained]) -> list[str]:
    """What is wrong in the ledger, one line a row: empty where every row is right.

    The facts' documents must be ASCII, as the laboratory's are: tokens are compared by their decoded characters.
    """
    asked = {query.query_id: query for query in queries}
    texts = {document.document_id: document.text for document in documents}
    of_document: dict[str, list[Fact]] = {}
    for fact in facts:
        of_document.setdefault(fact.document_id, []).append(fact)
    rewrites = {row.segment_id: row for row in normalized}
    ranges = {arm: _ranges(trained) for arm, trained in arms.items()}
    wrong = []
    for row in ledger:
        query = asked[row.query_id]
        fact = next((fact for fact in of_document.get(query.document_id, [])
                     if fact.start <= query.start and query.end <= fact.end), None)
        if fact is None:
            wrong.append(f"{row.arm} {row.query_id}: its source reference is no fact's")
            continue
        own = [segment for segment in segments if segment.document_id == query.document_id]
        expected = _expected(fact, texts[query.document_id], own, rewrites, row.arm, arms[row.arm], ranges[row.arm])
        differ = [f"{name} is {getattr(row, name)!r}, not {value!r}" for name, value in expected.items()
                  if getattr(row, name) != value]
        wrong += [f"{row.arm} {row.query_id}: {'; '.join(differ)}"] if differ else []
    return wrong


def _expected(fact: Fact, text: str, segments: list[Segment], rewrites: dict[str, Normalized], arm: str,
              trained: Trained, ranges: list[list[Span]]) -> dict[str, object]:
    """What the row of a fact must say, from its values and span."""
    spans, place = [], fact.start
    for value in fact.value:  # in the order in which the fact names them
        place = text.index(value, place, fact.end)
        spans.append((place, place + len(value)))
        place += len(value)
    start, end = spans[0][0], spans[-1][1]
    holding = [segment for segment in segments if segment.start < end and segment.end > start]
    ids = [segment.segment_id for segment in holding]
    held = [one for one in ids if one in trained.corpus.held_out]
    is_raw = split_arm(arm)[0] == "dapt"
    there = fact.value if is_raw else [value for value in fact.value if any(value in rewrites[one].text for one in ids)]
    block = "nowhere"
    if len(there) == len(fact.value):
        own = "\0".join(rewrites[one].text for one in ids)
        block = _block(trained, ranges, [(text, *span) for span in spans] if is_raw else [
            (own, own.index(value), own.index(value) + len(value)) for value in fact.value], is_raw)
    kept = (len(ids) == 1, is_raw or not any(rewrites[one].dropped for one in ids), len(there) == len(fact.value),
            not held)
    stages = ("segment", "extraction", "rewrite", "split")
    lost_at = next((stage for stage, is_so in zip(stages, kept, strict=True) if not is_so), "block")
    return {"structure": fact.structure, "items": len(fact.value), "source": "exact", "source_items": len(fact.value),
            "start": start, "end": end, "segments": ids, "segment": "whole" if len(ids) == 1 else "cut",
            "rewritten_items": len(there), "rewritten": "exact" if len(there) == len(fact.value) else "absent",
            "split": "training" if not held else "held out" if len(held) == len(ids) else "both",
            "subject": fact.entity, "block": block, "lost_at": "" if block == "whole" else lost_at}


def _block(trained: Trained, ranges: list[list[Span]], wanted: list[tuple[str, int, int]], is_raw: bool) -> str:
    """Whether pieces hold these stretches of a source text, all in one, over several, or not all of them."""
    placed = []
    for source, start, end in wanted:
        at = next(((number, begin) for number, text in enumerate(trained.corpus.training)
                   for begin in _begins(source, text, start, end, is_raw)), None)
        placed.append(None if at is None else (at[0], start - at[1], end - at[1]))
    if any(place is None for place in placed):
        return "nowhere"
    texts = {number for number, _, _ in placed}
    first, last = min(start for _, start, _ in placed), max(end for _, _, end in placed)
    return "whole" if len(texts) == 1 and any(start <= first and last <= end for start, end in ranges[texts.pop()]) \
        else "cut"


def _begins(source: str, text: str, start: int, end: int, is_raw: bool) -> Iterator[int]:
    """Where in `source` the training text begins that holds source[start:end]."""
    if is_raw:
        begin = source.find(text)
        if begin >= 0 and begin <= start and end <= begin + len(text):
            yield begin
        return
    left = source.rfind("\0", 0, start) + 1  # the one rewrite of several that holds it
    right = source.find("\0", end)
    rewrite = source[left:right if right >= 0 else len(source)]
    inside = text.find(rewrite.strip())
    if inside >= 0:
        yield left + len(rewrite) - len(rewrite.lstrip()) - inside


def _ranges(trained: Trained) -> list[list[Span]]:
    """Of each training text the characters that each of its pieces holds, from the decoded blocks."""
    texts, said = trained.corpus.training, list(_decoded(trained.blocks, trained.tokenizer))
    if len(trained.streams) == len(texts):
        return [_chain(text, said) for text in texts]
    spans, begins = _chain("".join(texts), said), [sum(map(len, texts[:number])) for number in range(len(texts))]
    return [[(start - begin, end - begin) for start, end in spans] for begin in begins]


def _chain(text: str, said: list[tuple[int, str, str]]) -> list[Span]:
    """Characters of `text` that each of its pieces holds, one piece after the other.

    A piece goes on where the one before ended, but for its first token; only the last may be shorter than a block.
    Pieces of other texts may fit as well for a while, so a way that ends nowhere is gone back.
    """
    size, pieces = max(length for length, _, _ in said), sorted(set(said), key=lambda piece: -len(piece[2]))
    way: list[tuple[Span, Iterator[Span]]] = []
    following = _fitting(text, pieces, size, None)
    while not way or way[-1][0][1] < len(text):
        span = next(following, None)
        if span is not None:
            way.append((span, following))
            following = _fitting(text, pieces, size, span[1])
        elif way:
            following = way.pop()[1]
        else:
            raise ValueError(f"no blocks hold the text that begins {text[:40]!r}")
    return [span for span, _ in way]


def _fitting(text: str, pieces: list[tuple[int, str, str]], size: int, place: int | None) -> Iterator[Span]:
    """The characters of each piece that may go on from `place`, or open the text where that is None."""
    for length, first, rest in pieces:
        start = 0 if place is None else place - len(first)
        end = start + len(first) + len(rest)
        if text.startswith(first + rest, max(start, 0)) and start >= 0 and end > (place or 0) and (
                length == size or end == len(text)):
            yield start, end


def _decoded(blocks: Blocks, tokenizer: PreTrainedTokenizerBase) -> Iterator[tuple[int, str, str]]:
    """Of each piece its length, its first token and the rest as characters, without special tokens."""
    for ids, labels, positions in zip(blocks.input_ids, blocks.labels, blocks.position_ids, strict=True):
        starts = [place for place, position in enumerate(positions) if not position] + [len(ids)]
        for start, end in zip(starts, starts[1:], strict=False):
            if any(label != IGNORED for label in labels[start:end]):
                yield (end - start, *(tokenizer.decode(part, skip_special_tokens=True,
                                                       clean_up_tokenization_spaces=False)
                                      for part in (ids[start:start + 1], ids[start + 1:end])))
