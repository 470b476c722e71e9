"""The ledger of the laboratory checked against its known facts, by other means than the ledger's own (the ledger).

Places come from the facts' spans, not from the queries; blocks are decoded to bytes, not looked up by tokens.
"""

from collections.abc import Iterator

from transformers import PreTrainedTokenizerBase
from transformers.convert_slow_tokenizer import bytes_to_unicode

from lib.analyze.ledger.blocks import Trained
from lib.analyze.ledger.trace import LedgerRow
from lib.core.arms import split_arm
from lib.core.records import Document, Fact, Normalized, Query, Segment
from lib.train.packing import IGNORED, Blocks

Span = tuple[int, int]


def wrong_rows(ledger: list[LedgerRow], facts: list[Fact], queries: list[Query], documents: list[Document],
               segments: list[Segment], normalized: list[Normalized], arms: dict[str, Trained]) -> list[str]:
    """What is wrong in the ledger, one line a row: empty where every row is right.

    A row "cannot be checked" where the bytes of the arm's blocks are not those of its texts (another tokenizer than a
    byte-level one may drop blanks).
    """
    asked = {query.query_id: query for query in queries}
    texts = {document.document_id: document.text for document in documents}
    of_document: dict[str, list[Fact]] = {}
    for fact in facts:
        of_document.setdefault(fact.document_id, []).append(fact)
    rewrites = {row.segment_id: row for row in normalized}
    ranges, unread = {}, {}
    for arm, trained in arms.items():
        try:
            ranges[arm] = _ranges(trained)
        except ValueError as problem:
            unread[arm] = problem
    wrong = []
    for row in ledger:
        if row.arm in unread:
            wrong.append(f"{row.arm} {row.query_id}: cannot be checked: {unread[row.arm]}")
            continue
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
    is_raw = split_arm(arm)[0] == "dapt"
    homes = [] if is_raw else [_home(value, fact, ids, segments, rewrites, trained) for value in fact.value]
    there = fact.value if is_raw else [home for home in homes if home]
    is_there, is_cut = len(there) == len(fact.value), len(ids) > 1
    of = ids if is_raw or not is_there else sorted(set(homes))
    held = [one for one in of if one in trained.corpus.held_out]
    split = "training" if not held else "held out" if len(held) == len(of) else "both"
    block = "nowhere"
    if is_there:
        block = _block(trained, ranges, [(text, *span) for span in spans] if is_raw else [
            (own, own.index(value), own.index(value) + len(value))
            for value, own in zip(fact.value, (rewrites[home].text for home in homes), strict=True)], is_raw)
    is_dropped = not is_raw and any(rewrites[one].dropped for one in ids)
    if is_there:
        lost_at = "segment" if is_cut and split == "both" else "split" if held else "block"
    else:
        lost_at = "segment" if is_cut else "extraction" if is_dropped else "rewrite"
    return {"structure": fact.structure, "items": len(fact.value), "source": "exact", "source_items": len(fact.value),
            "start": start, "end": end, "segments": ids, "segment": "cut" if is_cut else "whole",
            "rewritten_items": len(there), "rewritten": "exact" if is_there else "absent", "split": split,
            "subject": fact.entity, "block": block, "lost_at": "" if block == "whole" else lost_at}


def _home(value: str, fact: Fact, ids: list[str], segments: list[Segment], rewrites: dict[str, Normalized],
          trained: Trained) -> str:
    """The segment whose rewrite has the value: one of `ids`, else one that the fact's span reaches into; "" if none."""
    near = [one.segment_id for one in segments if one.start < fact.end and fact.start < one.end]
    for among in (ids, near):
        found = [one for one in among if value in rewrites[one].text]
        if found:
            return next((one for one in found if one not in trained.corpus.held_out), found[0])
    return ""


def _block(trained: Trained, ranges: list[list[Span]], wanted: list[tuple[str, int, int]], is_raw: bool) -> str:
    """Whether pieces hold these stretches of a source text, all in one, over several, or not all of them."""
    placed = []
    for source, start, end in wanted:
        at = next(((number, begin) for number, text in enumerate(trained.corpus.training)
                   for begin in _begins(source, text, start, end, is_raw)), None)
        placed.append(at and (at[0], *(len(trained.corpus.training[at[0]][:place - at[1]].encode())
                                       for place in (start, end))))
    if any(place is None for place in placed):
        return "nowhere"
    texts = {number for number, _, _ in placed}
    first, last = min(start for _, start, _ in placed), max(end for _, _, end in placed)
    return "whole" if len(texts) == 1 and any(start <= first and last <= end for start, end in ranges[texts.pop()]) \
        else "cut"


def _begins(source: str, text: str, start: int, end: int, is_raw: bool) -> Iterator[int]:
    """Where in `source`, a document or a rewrite, the training text begins that holds source[start:end]."""
    if is_raw:
        begin = source.find(text)
        if begin >= 0 and begin <= start and end <= begin + len(text):
            yield begin
        return
    inside = text.find(source.strip())
    if inside >= 0:
        yield len(source) - len(source.lstrip()) - inside


def _ranges(trained: Trained) -> list[list[Span]]:
    """Of each training text the bytes that each of its pieces holds, from the decoded blocks.

    Bytes, because a token may be a part of a character, and a cut may fall there.
    """
    texts = [text.encode() for text in trained.corpus.training]
    said = list(_decoded(trained.blocks, trained.tokenizer))
    if len(trained.streams) == len(texts):
        return [_chain(text, said) for text in texts]
    spans, begins = _chain(b"".join(texts), said), [sum(map(len, texts[:number])) for number in range(len(texts))]
    return [[(start - begin, end - begin) for start, end in spans] for begin in begins]


def _chain(text: bytes, said: list[tuple[int, bytes, bytes]]) -> list[Span]:
    """Bytes of `text` that each of its pieces holds, one piece after the other.

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
            raise ValueError(f"no blocks hold the text that begins {text[:40].decode(errors='ignore')!r}")
    return [span for span, _ in way]


def _fitting(text: bytes, pieces: list[tuple[int, bytes, bytes]], size: int, place: int | None) -> Iterator[Span]:
    """The bytes of each piece that may go on from `place`, or open the text where that is None."""
    for length, first, rest in pieces:
        start = 0 if place is None else place - len(first)
        end = start + len(first) + len(rest)
        if text.startswith(first + rest, max(start, 0)) and start >= 0 and end > (place or 0) and (
                length == size or end == len(text)):
            yield start, end


def _decoded(blocks: Blocks, tokenizer: PreTrainedTokenizerBase) -> Iterator[tuple[int, bytes, bytes]]:
    """Of each piece its length, its first token and the rest as bytes, without special tokens."""
    said = _bytes_of(tokenizer)
    for ids, labels, positions in zip(blocks.input_ids, blocks.labels, blocks.position_ids, strict=True):
        starts = [place for place, position in enumerate(positions) if not position] + [len(ids)]
        for start, end in zip(starts, starts[1:], strict=False):
            if any(label != IGNORED for label in labels[start:end]):
                first, *rest = (said[token] for token in ids[start:end])
                yield end - start, first, b"".join(rest)


def _bytes_of(tokenizer: PreTrainedTokenizerBase) -> dict[int, bytes]:
    """What each token stands for: a byte-level tokenizer writes every byte as one character of its own alphabet."""
    alphabet, added = {sign: byte for byte, sign in bytes_to_unicode().items()}, tokenizer.get_added_vocab()
    special = set(tokenizer.all_special_ids)
    return {number: b"" if number in special else token.encode() if token in added or not alphabet.keys() >= set(token)
            else bytes(alphabet[sign] for sign in token) for token, number in tokenizer.get_vocab().items()}
