"""Which block of an arm's training holds a stretch of its text, found in the blocks themselves (the ledger)."""

import json
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from transformers import AutoTokenizer, PreTrainedTokenizerBase

from lib.analyze.ledger.matching import places
from lib.core.arms import split_arm
from lib.core.paths import data_path, required, shown
from lib.core.records import Normalized, Segment
from lib.train.checkpoints import data_hash
from lib.train.corpus import Corpus, texts_of
from lib.train.packing import IGNORED, Blocks, pack, stream_of


class OtherTraining(ValueError):
    """The segments and rewrites that lie there are not those that an arm was trained on."""


@dataclass(frozen=True)
class Piece:
    """Tokens start to end of a stream, which stand together in a block and see each other."""

    block: int
    start: int
    end: int
    text: str  # decoded


@dataclass(frozen=True)
class Located:
    """Where a stretch of text stands in the blocks."""

    whole: tuple[Piece, ...]  # pieces that hold all of its tokens
    parts: tuple[Piece, ...]  # pieces that hold some of them


class Trained:
    """What an arm was trained on: its texts, and every token of them in its blocks."""

    def __init__(self, corpus: Corpus, tokenizer: PreTrainedTokenizerBase, block_size: int, packing: str) -> None:
        """Rebuild the blocks and find each text in them.

        Raises ValueError where the tokenizer tells no offsets, or where the blocks lack a part of a text.
        """
        if not tokenizer.is_fast:
            raise ValueError(f"the tokenizer {tokenizer.name_or_path!r} does not tell where its tokens stand in the "
                             "text: the ledger needs a fast tokenizer (tokenizer.json)")
        self.corpus, self.tokenizer = corpus, tokenizer
        self.blocks = pack(corpus.training, tokenizer, block_size, packing)
        self.offsets: list[list[tuple[int, int]]] = []  # of each text, a token's characters
        self.begins: list[tuple[int, int]] = []  # of each text, its stream and the place of its first token there
        streams: list[list[int]] = []
        for text in corpus.training:
            own = stream_of(text, tokenizer)
            offsets = tokenizer(text, add_special_tokens=False, split_special_tokens=True,
                                return_offsets_mapping=True)["offset_mapping"]
            self.offsets.append(offsets)
            if packing == "document" or not streams:
                streams.append([])
            self.begins.append((len(streams) - 1, len(streams[-1]) + len(own) - len(offsets) - 1))
            streams[-1] += own
        self.streams = streams
        self.pieces = list(_placed(streams, self.blocks, tokenizer))

    def locate(self, text: int, start: int, end: int) -> Located:
        """The pieces that hold training[text][start:end]; none where the decoded tokens lack its words."""
        offsets = self.offsets[text]
        first = bisect_left(offsets, start + 1, key=lambda span: span[1])
        last = bisect_left(offsets, end, key=lambda span: span[0])
        stream, begin = self.begins[text]
        first, last = begin + first, begin + last
        said = self._decoded(self.streams[stream][first:last])
        if first >= last or not places(self.corpus.training[text][start:end], said):
            return Located((), ())
        near = [piece for piece in self.pieces[stream] if piece.start < last and first < piece.end]
        return Located(tuple(piece for piece in near if piece.start <= first and last <= piece.end), tuple(near))

    def _decoded(self, ids: list[int]) -> str:
        return self.tokenizer.decode(ids, clean_up_tokenization_spaces=False)


def read_trained(study: str, arm: str, segments: list[Segment], normalized: list[Normalized]) -> Trained:
    """What `arm` of `study` was trained on, by its own training.json and tokenizer.

    Raises MissingInput where the arm was not trained, OtherTraining where the blocks made of `segments` and
    `normalized` are not those that its weights come from.
    """
    folder = data_path(study, "models", arm)
    made_by = f"03_train.ipynb with arm {arm}"
    path = required(folder / "training.json", made_by)
    facts = json.loads(Path(path).read_text(encoding="utf-8"))
    unknown = set(facts["held_out"]) - {segment.segment_id for segment in segments}
    corpus = texts_of(segments, normalized, split_arm(arm)[0], facts["held_out"])
    trained = Trained(corpus, AutoTokenizer.from_pretrained(folder), facts["block_size"], facts["packing"])
    if unknown or data_hash(trained.blocks) != facts["identity"]["data.training"]:
        raise OtherTraining(f"{shown(path)}: {arm} was trained on other text than segments.jsonl and normalized.jsonl "
                            f"hold now: run {made_by} again")
    return trained


def _placed(streams: list[list[int]], blocks: Blocks, tokenizer: PreTrainedTokenizerBase) -> Iterator[list[Piece]]:
    """The pieces of each stream, found in the blocks: a stream's pieces overlap by the token before a cut."""
    where: dict[tuple[int, ...], deque[int]] = defaultdict(deque)
    for number in range(len(blocks)):
        for ids in _cut_out(blocks, number):
            where[ids].append(number)
    size = len(blocks.input_ids[0])
    for number, stream in enumerate(streams):
        pieces: list[Piece] = []
        while not pieces or pieces[-1].end < len(stream):
            start = pieces[-1].end - 1 if pieces else 0
            ids = tuple(stream[start:start + size])
            if not where[ids]:
                raise ValueError(f"tokens {start} to {start + len(ids)} of training text {number} are in no block: "
                                 "lib/train/packing.py cuts in a way that the ledger does not know")
            said = tokenizer.decode(list(ids), clean_up_tokenization_spaces=False)
            pieces.append(Piece(where[ids].popleft(), start, start + len(ids), said))
        yield pieces


def _cut_out(blocks: Blocks, number: int) -> Iterator[tuple[int, ...]]:
    """The pieces of a block: what stands between two restarts of its positions, less the padding."""
    ids, labels, positions = blocks.input_ids[number], blocks.labels[number], blocks.position_ids[number]
    starts = [place for place, position in enumerate(positions) if position == 0]
    for start, end in zip(starts, [*starts[1:], len(ids)], strict=True):
        if any(label != IGNORED for label in labels[start:end]):
            yield tuple(ids[start:end])
