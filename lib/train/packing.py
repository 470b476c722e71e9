"""Pack texts into blocks without losing a token (the paper does not state its packing)."""

from bisect import bisect_left, insort
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from lib.infer.prompts import beginning

if TYPE_CHECKING:  # slow to import, and only named here
    from transformers import PreTrainedTokenizerBase

IGNORED = -100  # a label that carries no loss
PACKINGS = ("document", "concat")


@dataclass(frozen=True)
class PackedBlocks:
    """Blocks of `block_size` tokens, each list of shape (n_blocks, block_size)."""

    input_ids: list[list[int]]
    # the same tokens, but IGNORED for padding, prompts and tokens that nothing precedes
    labels: list[list[int]]
    position_ids: list[list[int]]  # attention does not look back beyond a restart of positions
    n_tokens: int  # tokens of the texts, with BOS and EOS
    n_targets: int  # tokens that carry loss

    def __len__(self) -> int:
        return len(self.input_ids)

    def __getitem__(self, index: int) -> dict[str, list[int]]:
        return {
            "input_ids": self.input_ids[index],
            "labels": self.labels[index],
            "position_ids": self.position_ids[index],
        }

    def padded_to(self, multiple: int) -> "PackedBlocks":
        """Append blocks that carry no loss, up to a multiple of `multiple` blocks."""
        size, missing = len(self.input_ids[0]), -len(self) % multiple
        return replace(
            self,
            input_ids=self.input_ids + [[0] * size] * missing,
            labels=self.labels + [[IGNORED] * size] * missing,
            position_ids=self.position_ids + [list(range(size))] * missing,
        )

    def __add__(self, other: "PackedBlocks") -> "PackedBlocks":
        return PackedBlocks(
            *(getattr(self, one.name) + getattr(other, one.name) for one in fields(self))
        )


class _Piece(NamedTuple):
    tokens: list[int]
    n_given: int = 1  # nothing precedes the first


def pack(
    texts: list[str], tokenizer: "PreTrainedTokenizerBase", block_size: int, packing: str
) -> PackedBlocks:
    """Cut `texts` into blocks, each text between the tokenizer's BOS (if it adds one) and EOS.

    "concat" joins all texts into one stream and cuts it; a text sees the texts before it in its
    block. "document" keeps a text intact if it fits into a block. No text sees another, because
    positions restart with each, which transformers reads as an attention boundary. A piece after a
    cut repeats the last token before the cut, so that every token is a target exactly once, except
    the first of a stream (concat) or of a text (document). Raises ValueError if the tokenizer has
    no EOS, if there is no text, or for an invalid setting.
    """
    if tokenizer.eos_token_id is None:
        raise ValueError(
            f"the tokenizer of {tokenizer.name_or_path!r} has no EOS token, so documents cannot be "
            "separated in a block: choose another base_model or set its eos_token"
        )
    if packing not in PACKINGS:
        raise ValueError(f"packing {packing!r} is not one of {', '.join(PACKINGS)}")
    if not any(text.strip() for text in texts):
        raise ValueError(
            "there is no text to train on: every segment is empty, dropped or held "
            "out for validation"
        )
    streams = [stream_of(text, tokenizer) for text in texts]
    n_tokens = sum(map(len, streams))
    if packing == "concat":
        streams = [list(chain.from_iterable(streams))]
    pieces = [
        _Piece(stream[start : start + block_size])
        for stream in streams
        for start in range(0, max(len(stream) - 1, 1), block_size - 1)
    ]
    groups = [[piece] for piece in pieces] if packing == "concat" else _best_fit(pieces, block_size)
    return _blocks(groups, block_size, tokenizer.eos_token_id, n_tokens)


def pack_replies(
    prompts: list[list[int]], replies: list[list[int]], block_size: int, filler: int
) -> PackedBlocks:
    """Pack pairs of a prompt and its reply: only replies are targets, and no pair sees another.

    A pair fits a block, which `filler` pads after its last pair. Raises ValueError without a pair.
    """
    pieces = [
        _Piece([*prompt, *reply], len(prompt))
        for prompt, reply in zip(prompts, replies, strict=True)
    ]
    if not pieces:
        raise ValueError(
            "there is nothing to train on: no prompt with its reply fits a block of "
            f"{block_size} tokens; raise block_size"
        )
    n_tokens = sum(len(piece.tokens) for piece in pieces)
    return _blocks(_best_fit(pieces, block_size), block_size, filler, n_tokens)


def stream_of(text: str, tokenizer: "PreTrainedTokenizerBase") -> list[int]:
    """Return BOS (if prompts begin with it too), the tokens of `text`, and EOS.

    A spelled-out `<s>` is encoded as ordinary characters. Raises ValueError if BOS or EOS still
    occurs inside the text.
    """
    tokens = tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
    inside = {tokenizer.bos_token_id, tokenizer.eos_token_id} & set(tokens)
    if inside:
        raise ValueError(
            f"{tokenizer.convert_ids_to_tokens(inside.pop())!r} occurs inside a text that begins "
            f"{text[:40]!r}: a block may contain it only where a text begins or ends"
        )
    return [*beginning(tokenizer), *tokens, tokenizer.eos_token_id]


def _best_fit(pieces: list[_Piece], block_size: int) -> list[list[_Piece]]:
    groups: list[list[_Piece]] = []
    room: list[tuple[int, int]] = []  # (free tokens, group), ascending
    for piece in sorted(pieces, key=lambda piece: len(piece.tokens), reverse=True):
        size = len(piece.tokens)
        place = bisect_left(room, (size, -1))
        if place == len(room):
            room.append((block_size, len(groups)))
            groups.append([])
        free, group = room.pop(place)
        groups[group].append(piece)
        insort(room, (free - size, group))
    return groups


def _blocks(
    groups: list[list[_Piece]], block_size: int, filler: int, n_tokens: int
) -> PackedBlocks:
    rows, n_targets = [], 0
    for group in groups:
        padding = block_size - sum(len(piece.tokens) for piece in group)
        ids = sum((tokens for tokens, _ in group), []) + [filler] * padding
        labels = sum(([IGNORED] * given + tokens[given:] for tokens, given in group), [])
        positions = [place for piece in group for place in range(len(piece.tokens))]
        n_targets += sum(label != IGNORED for label in labels)
        rows.append((ids, labels + [IGNORED] * padding, positions + list(range(padding))))
    input_ids, labels, position_ids = map(list, zip(*rows, strict=True))
    return PackedBlocks(input_ids, labels, position_ids, n_tokens, n_targets)
