"""Texts as blocks of tokens for training, no token lost on the way (the paper does not state its packing)."""

from bisect import bisect_left, insort
from dataclasses import dataclass, replace
from typing import NamedTuple

from torch.utils.data import Dataset
from transformers import PreTrainedTokenizerBase

IGNORED = -100  # a label that carries no loss
PACKINGS = ("document", "concat")


@dataclass(frozen=True)
class Blocks(Dataset):
    """Blocks of `block_size` tokens. `n_tokens` counts the texts with BOS and EOS, `n_targets` what carries loss."""

    input_ids: list[list[int]]  # (n_blocks, block_size)
    labels: list[list[int]]  # the same, IGNORED where a token is padding or has nothing before it to predict it from
    position_ids: list[list[int]]  # a position that does not follow its neighbour's starts what attention may see
    n_tokens: int
    n_targets: int

    def __len__(self) -> int:
        return len(self.input_ids)

    def __getitem__(self, index: int) -> dict[str, list[int]]:
        return {"input_ids": self.input_ids[index], "labels": self.labels[index],
                "position_ids": self.position_ids[index]}

    @property
    def n_openings(self) -> int:
        """Tokens that are never a target, because nothing that they may see stands before them."""
        return self.n_tokens - self.n_targets

    @property
    def has_borders(self) -> bool:
        """Whether a block holds two texts that must not see each other; padding behind a text is none."""
        return any(position == 0 and any(label != IGNORED for label in labels[place:])
                   for labels, positions in zip(self.labels, self.position_ids, strict=True)
                   for place, position in enumerate(positions) if place)

    def padded_to(self, multiple: int) -> "Blocks":
        """With blocks behind them that carry no loss, up to a multiple of `multiple` blocks."""
        size, missing = len(self.input_ids[0]), -len(self) % multiple
        return replace(self, input_ids=self.input_ids + [[0] * size] * missing,
                       labels=self.labels + [[IGNORED] * size] * missing,
                       position_ids=self.position_ids + [list(range(size))] * missing)


def pack(texts: list[str], tokenizer: PreTrainedTokenizerBase, block_size: int, packing: str) -> Blocks:
    """Cut `texts`, each between the tokenizer's own BOS (where it adds one) and EOS, into blocks of tokens.

    "concat" joins them in order into one stream and cuts it; a text sees the texts before it in its block.
    "document" keeps a text whole where a block holds it, and no text sees another: positions restart with each, which
    transformers reads as a border for attention. In both, a piece after a cut begins with the last token before it, so
    that every token is a target exactly once but for the first of a stream (concat) or of a text (document).
    Raises ValueError where the tokenizer has no EOS, where there is no text, or for a bad block_size or packing.
    """
    if tokenizer.eos_token_id is None:
        raise ValueError(f"the tokenizer of {tokenizer.name_or_path!r} has no EOS token, so documents cannot be told "
                         "apart in a block: choose another base_model or set its eos_token")
    if block_size < 2:
        raise ValueError(f"block_size is {block_size}: at least 2 tokens are needed to predict one from the other")
    if packing not in PACKINGS:
        raise ValueError(f"packing {packing!r} is not one of {', '.join(PACKINGS)}")
    if not any(text.strip() for text in texts):
        raise ValueError("there is no text to train on: every segment is empty, dropped or held out for validation")
    streams = [stream_of(text, tokenizer) for text in texts]
    n_tokens = sum(map(len, streams))
    if packing == "concat":
        streams = [sum(streams, [])]
    pieces = [_Piece(stream[start:start + block_size]) for stream in streams
              for start in range(0, max(len(stream) - 1, 1), block_size - 1)]
    groups = [[piece] for piece in pieces] if packing == "concat" else _best_fit(pieces, block_size)
    return _blocks(groups, block_size, tokenizer.eos_token_id, n_tokens)


def pack_replies(prompts: list[list[int]], replies: list[list[int]], block_size: int, filler: int) -> Blocks:
    """Prompts, each with its reply behind it, in blocks of tokens: only replies are targets, and no pair sees another.

    `filler` stands behind the last pair of a block. Raises ValueError where a pair is longer than a block, a reply or a
    prompt has no token, or there is no pair.
    """
    pieces = [_Piece([*prompt, *reply], len(prompt)) for prompt, reply in zip(prompts, replies, strict=True)]
    if not pieces or not all(prompts) or not all(replies):
        raise ValueError("there is nothing to train on: give prompts and replies of at least one token each")
    longest = max(len(piece.tokens) for piece in pieces)
    if longest > block_size:
        raise ValueError(f"a prompt and its reply have {longest:,} tokens, but block_size is {block_size:,}: raise it, "
                         "or leave out what is too long")
    return _blocks(_best_fit(pieces, block_size), block_size, filler, sum(len(piece.tokens) for piece in pieces))


class _Piece(NamedTuple):
    """Tokens that stand together in a block; the first `n_given` of them carry no loss."""

    tokens: list[int]
    n_given: int = 1  # nothing stands before the first


def stream_of(text: str, tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """The tokens of `text` between BOS, where the tokenizer puts one before a prompt (as 04_infer's has), and EOS.

    Raises ValueError where one of them stands within the text too: a text that spells `<s>` has letters there.
    """
    begin = tokenizer("")["input_ids"][:1]
    begin = begin if begin == [tokenizer.bos_token_id] else []
    tokens = tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
    inside = {tokenizer.bos_token_id, tokenizer.eos_token_id} & set(tokens)
    if inside:
        raise ValueError(f"{tokenizer.convert_ids_to_tokens(inside.pop())!r} stands within a text that begins "
                         f"{text[:40]!r}: a block must have one where a text begins or ends and nowhere else")
    return [*begin, *tokens, tokenizer.eos_token_id]


def _best_fit(pieces: list[_Piece], block_size: int) -> list[list[_Piece]]:
    """Pieces as groups of at most `block_size` tokens: longest first, each where it leaves the least room."""
    groups: list[list[_Piece]] = []
    room: list[tuple[int, int]] = []  # (tokens free, group), ascending
    for piece in sorted(pieces, key=lambda piece: len(piece.tokens), reverse=True):
        size = len(piece.tokens)
        place = bisect_left(room, (size, -1))
        free, group = room.pop(place) if place < len(room) else (block_size, len(groups))
        if group == len(groups):
            groups.append([])
        groups[group].append(piece)
        insort(room, (free - size, group))
    return groups


def _blocks(groups: list[list[_Piece]], block_size: int, filler: int, n_tokens: int) -> Blocks:
    input_ids, labels, positions = [], [], []
    for group in groups:
        padding = block_size - sum(len(piece.tokens) for piece in group)
        input_ids.append(sum((piece.tokens for piece in group), []) + [filler] * padding)
        labels.append(sum(([IGNORED] * given + tokens[given:] for tokens, given in group), []) + [IGNORED] * padding)
        positions.append([place for piece in group for place in range(len(piece.tokens))] + list(range(padding)))
    return Blocks(input_ids, labels, positions, n_tokens, sum(label != IGNORED for block in labels for label in block))
