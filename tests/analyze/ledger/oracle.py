"""The ledger of a laboratory derived from its known facts, by other means than the ledger's own.

Places come from the facts' spans, not from the queries; blocks are decoded to bytes, not looked up
by tokens.
"""

from collections import defaultdict
from collections.abc import Iterator

from transformers import PreTrainedTokenizerBase
from transformers.convert_slow_tokenizer import bytes_to_unicode

from lib.analyze.ledger.blocks import Trained
from lib.analyze.ledger.trace import LedgerRow
from lib.core.arms import RAW_ARMS, split_arm
from lib.core.records import Document, Fact, Normalized, Query, Segment
from lib.train.packing import IGNORED, PackedBlocks

Span = tuple[int, int]
Piece = tuple[int, bytes, bytes]  # tokens; the first token's bytes; the bytes of the others


def wrong_rows(ledger: list[LedgerRow], facts: list[Fact], queries: list[Query],
               documents: list[Document], segments: list[Segment], normalized: list[Normalized],
               arms: dict[str, Trained]) -> list[str]:
    """Return what is wrong in the ledger, one line per row; empty where every row is right.

    Raises ValueError where an arm's blocks do not hold the bytes of its texts.
    """
    asked = {query.query_id: query for query in queries}
    texts = {document.document_id: document.text for document in documents}
    facts_of, segments_of = defaultdict(list), defaultdict(list)
    for rows, by_document in ((facts, facts_of), (segments, segments_of)):
        for row in rows:
            by_document[row.document_id].append(row)
    rewrites = {row.segment_id: row for row in normalized}
    ranges = {arm: byte_ranges(trained) for arm, trained in arms.items()}
    wrong = []
    for row in ledger:
        query = asked[row.query_id]
        fact = next((fact for fact in facts_of[query.document_id]
                     if fact.start <= query.start and query.end <= fact.end), None)
        if fact is None:
            wrong.append(f"{row.arm} {row.query_id}: its source reference belongs to no fact")
            continue
        expected = _expected(fact, texts[query.document_id], segments_of[query.document_id],
                             rewrites, row.arm, arms[row.arm], ranges[row.arm])
        differ = [f"{name} is {getattr(row, name)!r}, not {value!r}"
                  for name, value in expected.items() if getattr(row, name) != value]
        wrong += [f"{row.arm} {row.query_id}: {'; '.join(differ)}"] if differ else []
    return wrong


def _expected(fact: Fact, text: str, segments: list[Segment], rewrites: dict[str, Normalized],
              arm: str, trained: Trained, ranges: list[list[Span]]) -> dict[str, object]:
    """Return what the row of a fact must say, from its values and span."""
    spans, place = [], fact.start
    for value in fact.value:  # in the order in which the fact names them
        place = text.index(value, place, fact.end)
        spans.append((place, place + len(value)))
        place += len(value)
    start, end = spans[0][0], spans[-1][1]
    ids = [one.segment_id for one in segments if one.start < end and one.end > start]
    is_raw = split_arm(arm)[0] in RAW_ARMS
    if is_raw:
        homes, there = ids, len(fact.value)
        passages = [(text, *span) for span in spans]
    else:
        homes = [_home(value, fact, ids, segments, rewrites, trained) for value in fact.value]
        there = sum(map(bool, homes))
        owns = [rewrites[home].text if home else value
                for value, home in zip(fact.value, homes, strict=True)]
        passages = [(own, own.index(value), own.index(value) + len(value))
                    for value, own in zip(fact.value, owns, strict=True)]
    is_there, is_cut = there == len(fact.value), len(ids) > 1
    homes = sorted(set(homes)) if is_there else ids
    held = set(homes) & set(trained.corpus.held_out)
    split = "training" if not held else "held out" if len(held) == len(homes) else "both"
    block = _block(trained, ranges, passages, is_raw) if is_there else "nowhere"
    is_dropped = not is_raw and any(rewrites[one].dropped for one in ids)
    if block == "whole":
        lost_at = ""
    elif is_there:
        lost_at = "segment" if is_cut and split == "both" else "split" if held else "block"
    else:
        lost_at = "segment" if is_cut else "extraction" if is_dropped else "rewrite"
    return {"structure": fact.structure, "items": len(fact.value), "source": "exact",
            "source_items": len(fact.value), "start": start, "end": end, "segments": ids,
            "segment": "cut" if is_cut else "whole", "rewritten_items": there,
            "rewritten": "exact" if is_there else "absent", "split": split,
            "subject": fact.entity, "block": block, "lost_at": lost_at}


def _home(value: str, fact: Fact, ids: list[str], segments: list[Segment],
          rewrites: dict[str, Normalized], trained: Trained) -> str:
    """Return the segment whose rewrite has the value: of `ids`, else one that the fact reaches."""
    near = [one.segment_id for one in segments if one.start < fact.end and fact.start < one.end]
    for among in (ids, near):
        found = [one for one in among if value in rewrites[one].text]
        if found:
            return next((one for one in found if one not in trained.corpus.held_out), found[0])
    return ""


def _block(trained: Trained, ranges: list[list[Span]], passages: list[tuple[str, int, int]],
           is_raw: bool) -> str:
    """Tell whether pieces hold these passages of a source text all in one, over several, or not."""
    placed = []
    for source, start, end in passages:
        found = [(number, *(len(text[:place - begin].encode()) for place in (start, end)))
                 for number, text in enumerate(trained.corpus.training)
                 if (begin := _begin(source, text, start, end, is_raw)) is not None]
        if not found:
            return "nowhere"
        placed.append(found[0])
    first, last = min(start for _, start, _ in placed), max(end for _, _, end in placed)
    is_whole = len({number for number, _, _ in placed}) == 1 and any(
        start <= first and last <= end for start, end in ranges[placed[0][0]])
    return "whole" if is_whole else "cut"


def _begin(source: str, text: str, start: int, end: int, is_raw: bool) -> int | None:
    """Return where in `source` the training text begins that holds source[start:end], if any."""
    if is_raw:
        begin = source.find(text)
        return begin if 0 <= begin <= start and end <= begin + len(text) else None
    inside = text.find(source.strip())
    return len(source) - len(source.lstrip()) - inside if inside >= 0 else None


def byte_ranges(trained: Trained) -> list[list[Span]]:
    """Return, by training text, the bytes that each of its pieces holds, from the decoded blocks.

    Bytes, because a token may be part of a character, and a cut may fall there.
    """
    texts = [text.encode() for text in trained.corpus.training]
    pieces = list(_decoded(trained.blocks, trained.tokenizer))
    if len(trained.streams) == len(texts):
        return [_chain(text, pieces) for text in texts]
    spans, begins = _chain(b"".join(texts), pieces), [0]
    for text in texts:
        begins.append(begins[-1] + len(text))
    return [[(start - begin, end - begin) for start, end in spans] for begin in begins[:-1]]


def _chain(text: bytes, pieces: list[Piece]) -> list[Span]:
    """Return the bytes of `text` that each of its pieces holds, one piece after the other.

    A piece repeats one token of the one before. Only the last may be shorter than a block. Pieces
    of other texts may fit as well for a while, so dead ends are backtracked.
    """
    size = max(length for length, _, _ in pieces)
    longest_first = sorted(set(pieces), key=lambda piece: -len(piece[2]))

    def after(place: int) -> list[Span] | None:
        for length, first, rest in longest_first:
            start = place - len(first) if place else 0
            end = start + len(first) + len(rest)
            if start < 0 or end <= place or not text.startswith(first + rest, start):
                continue
            if end == len(text):
                return [(start, end)]
            if length == size and (others := after(end)) is not None:
                return [(start, end), *others]
        return None

    spans = after(0)
    if spans is None:
        start = text[:40].decode(errors="ignore")
        raise ValueError(f"no blocks hold the text that begins {start!r}")
    return spans


def _decoded(blocks: PackedBlocks, tokenizer: PreTrainedTokenizerBase) -> Iterator[Piece]:
    """Yield each piece of the blocks as bytes, special tokens as none."""
    as_bytes = _bytes_of(tokenizer)
    for ids, labels, positions in zip(blocks.input_ids, blocks.labels, blocks.position_ids,
                                      strict=True):
        starts = [place for place, position in enumerate(positions) if not position] + [len(ids)]
        for start, end in zip(starts, starts[1:], strict=False):
            if any(label != IGNORED for label in labels[start:end]):
                first, *rest = (as_bytes[token] for token in ids[start:end])
                yield end - start, first, b"".join(rest)


def _bytes_of(tokenizer: PreTrainedTokenizerBase) -> dict[int, bytes]:
    """Return the bytes of each token: a byte-level tokenizer writes a byte as one character."""
    alphabet = {sign: byte for byte, sign in bytes_to_unicode().items()}
    added, special = tokenizer.get_added_vocab(), set(tokenizer.all_special_ids)
    return {number: b"" if number in special else token.encode()
            if token in added or not alphabet.keys() >= set(token)
            else bytes(alphabet[sign] for sign in token)
            for token, number in tokenizer.get_vocab().items()}
