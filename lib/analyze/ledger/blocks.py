"""Find a passage in the blocks that an arm was trained on."""

import json
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lib.analyze.ledger.matching import places
from lib.core.arms import AUGMENTED, split_arm
from lib.core.files import artifact_path, load, made_by
from lib.core.paths import required, shown
from lib.core.records import Normalized, Segment
from lib.llm.tokens import tokenizer_of
from lib.train.checkpoints import data_hash
from lib.train.packing import IGNORED, PackedBlocks, pack, stream_of
from lib.train.texts import Corpus, corpus_of

if TYPE_CHECKING:  # slow to import, and only named here
    from transformers import PreTrainedTokenizerBase


class OtherTraining(ValueError):
    """The segments and rewrites found are not those that an arm was trained on."""


@dataclass(frozen=True)
class Piece:
    """A stream's tokens from start to end, which share a block and attend to each other."""

    block: int
    start: int
    end: int
    text: str  # the decoded tokens


@dataclass(frozen=True)
class Located:
    """The pieces of blocks that contain a passage of text."""

    whole: tuple[Piece, ...]  # pieces that hold all of its tokens
    parts: tuple[Piece, ...]  # pieces that hold some of them


class Trained:
    """What an arm was trained on: its texts, and every token of them in its blocks."""

    def __init__(self, corpus: Corpus, tokenizer: "PreTrainedTokenizerBase", block_size: int,
                 packing: str) -> None:
        """Rebuild the blocks and find each text in them.

        Raises ValueError if the tokenizer gives no offsets, or the blocks lack part of a text.
        """
        if not tokenizer.is_fast:
            raise ValueError(f"the tokenizer {tokenizer.name_or_path!r} gives no offsets of its "
                             "tokens: the ledger needs a fast tokenizer (tokenizer.json)")
        self.corpus, self.tokenizer = corpus, tokenizer
        self.blocks = pack(corpus.training, tokenizer, block_size, packing)
        self.offsets: list[list[tuple[int, int]]] = []  # for each text: its tokens' characters
        self.begins: list[tuple[int, int]] = []  # for each text: its stream and first token
        self.streams: list[list[int]] = []
        for text in corpus.training:
            own = stream_of(text, tokenizer)
            encoded = tokenizer(text, add_special_tokens=False, split_special_tokens=True,
                                return_offsets_mapping=True)
            self.offsets.append(encoded["offset_mapping"])
            if packing == "document" or not self.streams:
                self.streams.append([])
            stream = self.streams[-1]
            first = len(stream) + len(own) - len(self.offsets[-1]) - 1  # after a BOS, before EOS
            self.begins.append((len(self.streams) - 1, first))
            stream += own
        self.pieces = list(_placed(self.streams, self.blocks, tokenizer))

    def locate(self, text: int, start: int, end: int) -> Located:
        """Return the pieces that hold training[text][start:end]; none if its words are missing."""
        stream, begin = self.begins[text]
        offsets = self.offsets[text]
        first = begin + bisect_left(offsets, start + 1, key=lambda span: span[1])
        last = begin + bisect_left(offsets, end, key=lambda span: span[0])
        decoded = _decoded(self.streams[stream][first:last], self.tokenizer)
        if first >= last or not places(self.corpus.training[text][start:end], decoded):
            return Located((), ())
        near = [one for one in self.pieces[stream] if one.start < last and first < one.end]
        whole = (one for one in near if one.start <= first and last <= one.end)
        return Located(tuple(whole), tuple(near))


def read_trained(study: str, arm: str, segments: list[Segment],
                 normalized: list[Normalized]) -> Trained:
    """Return what `arm` of `study` was trained on, from its own training.json and tokenizer.

    Raises BadInput if the arm was not trained, OtherTraining if `segments`, `normalized` and,
    of dapt-a, augmented.jsonl do not give the blocks that its weights come from.
    """
    folder, notebook = artifact_path(study, "model", arm=arm), made_by("model", arm=arm)
    path = required(folder / "training.json", notebook)
    facts = json.loads(path.read_text(encoding="utf-8"))
    unknown = set(facts["held_out"]) - {segment.segment_id for segment in segments}
    kind = split_arm(arm)[0]
    augmented = load(study, "augmented") if kind == AUGMENTED else []
    corpus = corpus_of(segments, normalized, kind, facts["held_out"], augmented)
    tokenizer = tokenizer_of(folder)
    trained = Trained(corpus, tokenizer, facts["block_size"], facts["packing"])
    if unknown or data_hash(trained.blocks) != facts["fingerprint"]["data.training"]:
        raise OtherTraining(f"{shown(path)}: {arm} was trained on other text than segments.jsonl "
                            f"and normalized.jsonl hold now: run {notebook} again")
    return trained


def _decoded(ids: list[int], tokenizer: "PreTrainedTokenizerBase") -> str:
    return tokenizer.decode(ids, clean_up_tokenization_spaces=False)


def _placed(streams: list[list[int]], blocks: PackedBlocks,
            tokenizer: "PreTrainedTokenizerBase") -> Iterator[list[Piece]]:
    """Yield the pieces of each stream; neighbours share the token before a cut."""
    where: dict[tuple[int, ...], deque[int]] = defaultdict(deque)
    for number in range(len(blocks)):
        for ids in _pieces_of(blocks, number):
            where[ids].append(number)
    size = len(blocks.input_ids[0])
    for number, stream in enumerate(streams):
        pieces: list[Piece] = []
        while not pieces or pieces[-1].end < len(stream):
            start = pieces[-1].end - 1 if pieces else 0
            ids = tuple(stream[start:start + size])
            end = start + len(ids)
            if not where[ids]:
                raise ValueError(f"tokens {start} to {end} of training text {number} are in no "
                                 "block: the ledger does not know how lib.train.packing cuts")
            pieces.append(Piece(where[ids].popleft(), start, end, _decoded(list(ids), tokenizer)))
        yield pieces


def _pieces_of(blocks: PackedBlocks, number: int) -> Iterator[tuple[int, ...]]:
    """Yield the pieces of a block: tokens between two restarts of positions, without padding."""
    ids, labels = blocks.input_ids[number], blocks.labels[number]
    restarts = [n for n, position in enumerate(blocks.position_ids[number]) if position == 0]
    for start, end in zip(restarts, [*restarts[1:], len(ids)], strict=True):
        if any(label != IGNORED for label in labels[start:end]):
            yield tuple(ids[start:end])
