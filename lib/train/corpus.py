"""The texts that an arm trains on (paper, 4.2), packed into blocks of tokens."""

import hashlib
import json
import re
from bisect import bisect_left, insort
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import chain, cycle, groupby, islice
from operator import add
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lib.core import arms
from lib.core.records import Normalized, Query, Segment
from lib.core.store import REPOSITORY, load, made_by, read_lines, require_known
from lib.infer.prompts import beginning, encode, encoded, end_token, is_chat, prompt_for

if TYPE_CHECKING:  # slow to import, and only named here
    from transformers import PreTrainedTokenizerBase

IGNORED = -100  # a label that carries no loss
_COLUMNS = ("input_ids", "labels", "position_ids")
GENERAL = "data/general/replay.jsonl"
SEED = 42  # of the split and of general questions
END = "\n</answer>"  # ends a reply to a ready-made prompt
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.M)


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
        return {name: getattr(self, name)[index] for name in _COLUMNS}

    def __add__(self, other: "PackedBlocks") -> "PackedBlocks":
        return PackedBlocks(*map(add, vars(self).values(), vars(other).values()))

    def padded_to(self, multiple: int) -> "PackedBlocks":
        """The blocks, and blocks without loss up to a multiple of `multiple`."""
        size, missing = len(self.input_ids[0]), -len(self) % multiple
        rows = ([0] * size, [IGNORED] * size, list(range(size)))
        return self + PackedBlocks(*([row] * missing for row in rows), 0, 0)

    def digest(self) -> str:
        """Hash of tokens, labels and positions."""
        parts = (np.asarray(getattr(self, name)) for name in _COLUMNS)
        return digest(part.tobytes() for part in parts)


def digest(parts: Iterable[bytes]) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of all parts together."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(part)
    return whole.hexdigest()[:16]


class Corpus(NamedTuple):
    """Texts to train on and to validate with, and the segments in them."""

    training: list[str]
    validation: list[str]
    held_out: list[str]  # segment ids of the validation share
    dropped: list[str]  # segment ids of the training share without a text in this corpus
    places: dict[str, tuple[int, int]]  # segment id -> index in `training`, character offset
    pairs: list[Query]  # questions; loss is on their answers


class TrainingTexts(NamedTuple):
    """An arm's packed texts, with a summary, and the texts themselves."""

    training: PackedBlocks
    validation: PackedBlocks | None
    summary: str
    texts: list[str]  # to train on, questions too; of prompts with replies, the first
    facts: dict[str, object]  # go into training.json


def for_arm(
    study: str,
    arm: str,
    tokenizer: "PreTrainedTokenizerBase",
    *,
    corpus: str = "",
    block_size: int,
    packing: str,
    validation_fraction: float,
    is_titled: bool = False,
) -> TrainingTexts:
    """Pack the texts that `arm` learns: `lib.core.arms.corpus_of` says which.

    Raises BadInput if a file is missing, and ValueError as `read_corpus` and `pack` do.
    """
    kind = arms.corpus_of(arm, corpus)
    if arms.REPLIES in kind.split("+"):
        return _replies(study, arm, tokenizer, block_size, validation_fraction, kind)
    segments, normalized = load(study, "segments"), load(study, "normalized")
    held_out = split(segments, validation_fraction)
    texts = read_corpus(study, kind, segments, normalized, held_out, is_titled)
    training = pack(texts.training, tokenizer, block_size, packing)
    facts = {
        "texts": kind,
        "packing": packing,
        "held_out": texts.held_out,
        "is_titled": is_titled,
        "dropped": texts.dropped,
        "own_blocks": training.digest(),
    }
    pairs = _pairs(tokenizer, texts.pairs, block_size)
    if texts.pairs:
        training += _packed_pairs(pairs, block_size, tokenizer)
    validation = None
    if texts.validation:
        validation = pack(texts.validation, tokenizer, block_size, packing)
    summary = (
        f"{kind}: {len(segments)} segments, {len(held_out)} held out for validation, "
        f"{len(texts.dropped)} dropped by the normalizer; {len(texts.training)} texts to train "
        f"on, {len(pairs)} questions with answers, {len(texts.pairs) - len(pairs)} more are longer "
        f"than a block; {len(texts.validation)} to validate with"
    )
    said = tokenizer.batch_decode([one.tokens for one in pairs])
    return TrainingTexts(training, validation, summary, texts.training + said, facts)


def with_replay(
    learned: TrainingTexts,
    tokenizer: "PreTrainedTokenizerBase",
    share: float | dict[str, float],
    block_size: int,
) -> TrainingTexts:
    """Add general questions, drawn at random, up to `share` of all tokens.

    {place: share} adds those of a .jsonl file, or the .md and .txt files of a folder.
    """
    if not share:
        return learned
    [(source, own)] = share.items() if isinstance(share, dict) else [(GENERAL, share)]
    path, wanted = REPOSITORY / source, learned.training.n_tokens * own / (1 - own)
    if path.is_dir():
        texts = [
            one.read_text("utf-8")
            for one in sorted(path.rglob("*"))
            if one.suffix in (".md", ".txt")
        ]
        pieces = _pieces(_streams(texts, tokenizer), block_size)
    else:
        pieces = _pairs(tokenizer, _asked([source]), block_size)
    drawn, n_read = [], 0
    for one in cycle(Random(SEED).sample(pieces, len(pieces))):  # again, if they are too few
        if n_read >= wanted:
            break
        drawn.append(one)
        n_read += len(one.tokens)
    replayed = _packed_pairs(drawn, block_size, tokenizer)
    said = f"{replayed.n_tokens:,} tokens of {source}"
    return learned._replace(
        training=learned.training + replayed,
        summary=f"{learned.summary}; {said}",
        texts=learned.texts + tokenizer.batch_decode([one.tokens for one in drawn]),
        facts=learned.facts | {"replayed": said},
    )


def split(segments: list[Segment], validation_fraction: float) -> list[str]:
    """Ids of the segments to hold out, the same ones in all arms.

    The paper does not state the unit of its 90/10 split. Raises ValueError for a share not in
    [0, 1).
    """
    if not 0 <= validation_fraction < 1:
        raise ValueError(
            f"validation_fraction is {validation_fraction}: give at least 0 and less than 1"
        )
    ids = [segment.segment_id for segment in segments]
    n_held = max(1, round(len(ids) * validation_fraction)) if validation_fraction else 0
    return Random(SEED).sample(ids, min(n_held, max(0, len(ids) - 1)))


def read_corpus(
    study: str,
    kind: str,
    segments: list[Segment],
    normalized: list[Normalized],
    held_out: Collection[str],
    is_titled: bool = False,
) -> Corpus:
    """Texts of a corpus: the segments' own, or rewritten ones, then what is added to them.

    Without raw text, rewritten text validates. Neighbouring segments on one side of the split are
    rejoined, which restores raw text; if titled, each is a text after its document's title and
    section. Raises ValueError for a segment without a row in `normalized`.
    """
    parts = kind.split("+")
    rewritten = {row.segment_id: row.text for row in normalized}
    missing = [one.segment_id for one in segments if one.segment_id not in rewritten]
    if missing:
        raise ValueError(
            f"{len(missing)} of {len(segments)} segments, {missing[0]} first, have no "
            f"row in normalized.jsonl: run {made_by('normalized')} again"
        )
    raw = {segment.segment_id: segment.text for segment in segments}
    held = set(held_out)
    openings = _openings(study, segments) if is_titled else {}
    is_rewritten = arms.is_rewritten(kind)
    own, gap = (rewritten, "\n\n") if is_rewritten else (raw, "")
    training, validation, places = _joined(segments, own, gap, held, openings)
    dropped = [
        one.segment_id
        for one in segments
        if arms.REWRITTEN in parts and one.segment_id not in held and not rewritten[one.segment_id]
    ]
    added = []
    if arms.REWRITTEN in parts and not is_rewritten:
        added += _joined(segments, rewritten, "\n\n", held, openings)[0]
    written = [
        row
        for row in (load(study, "augmented") if {*parts} & {*arms.WRITTEN} else ())
        if row.strategy in parts and not row.dropped and row.segment_id not in held
    ]
    added += [openings.get(row.segment_id, "") + row.text for row in written if not row.answer]
    asked = [
        Query.model_construct(question=row.text, answer=row.answer, context="")
        for row in written
        if row.answer
    ]
    asked += _asked(arms.corpus_inputs(kind)[1])
    return Corpus(training + added, validation, sorted(held), dropped, places, asked)


def _asked(files: Iterable[str]) -> list[Query]:
    lines = chain.from_iterable(read_lines(REPOSITORY / path) for path in files)
    return [
        Query.model_construct(
            document_id=row["question"],
            question=row["question"],
            answer=row["answer"],
            context=prompt_for(row["question"], row["text"]) if row.get("text") else "",
        )
        for row in map(json.loads, filter(bytes.strip, lines))
    ]


def _openings(study: str, segments: list[Segment]) -> dict[str, str]:
    documents = {document.document_id: document for document in load(study, "documents")}
    openings = {}
    for segment in segments:
        document = documents[segment.document_id]
        first = segment.text.lstrip().partition("\n")[0]  # perhaps its own heading
        sections = _HEADING.findall(f"{document.text[: segment.start]}\n{first}")
        place = ", ".join([document.title, *sections[-1:]])
        openings[segment.segment_id] = f"From {place}:\n\n"
    return openings


def _joined(
    segments: list[Segment],
    own: dict[str, str],
    gap: str,
    held: set[str],
    openings: dict[str, str],
) -> tuple[list[str], list[str], dict[str, tuple[int, int]]]:
    def run_of(one: Segment) -> tuple[str, bool]:
        return one.segment_id if openings else one.document_id, one.segment_id in held

    training, validation, places = [], [], {}
    for (_, is_held), run in groupby(segments, key=run_of):
        members = [segment.segment_id for segment in run if own[segment.segment_id].strip()]
        if not members:
            continue
        text = gap.join(own[member] for member in members)
        opening = openings.get(members[0], "")
        begin = len(opening) + len(text.lstrip()) - len(text)  # whitespace before it is removed
        for member in members if not is_held else []:
            places[member] = (len(training), begin)
            begin += len(own[member]) + len(gap)
        (validation if is_held else training).append(opening + text.strip())
    return training, validation, places


class _Piece(NamedTuple):
    tokens: list[int]
    n_given: int = 1  # nothing precedes the first
    query: Query | None = None  # whose prompt and reply it is


def _pairs(
    tokenizer: "PreTrainedTokenizerBase", queries: list[Query], block_size: int, end: str = ""
) -> list[_Piece]:
    # those that fit a block
    space = "" if end or is_chat(tokenizer) else " "  # as lib.infer.loglik scores an answer
    answers = encode(tokenizer, [space + query.answer + end for query in queries])
    pairs = [
        _Piece([*prompt, *answer, end_token(tokenizer)], len(prompt), query)
        for prompt, answer, query in zip(encoded(tokenizer, queries), answers, queries, strict=True)
    ]
    return [pair for pair in pairs if len(pair.tokens) <= block_size]


def _replies(
    study: str,
    arm: str,
    tokenizer: "PreTrainedTokenizerBase",
    block_size: int,
    validation_fraction: float,
    kind: str,
) -> TrainingTexts:
    # Split over texts (document_id), so that no text is on both sides.
    queries = load(study, "training", arm=arms.split_arm(arm)[0])
    pairs = _pairs(tokenizer, queries, block_size, END)
    n_left_out = len(queries) - len(pairs)
    general = _pairs(tokenizer, _asked(arms.corpus_inputs(kind)[1]), block_size)
    if general:  # v1's set "mix": half of the samples are replaced
        pairs[1::2] = islice(cycle(Random(SEED).sample(general, len(general))), len(pairs) // 2)
    documents = sorted({pair.query.document_id for pair in pairs})
    held = set(Random(SEED).sample(documents, round(len(documents) * validation_fraction)))
    training, validation = (
        [pair for pair in pairs if (pair.query.document_id in held) is is_held]
        for is_held in (False, True)
    )
    blocks = _packed_pairs(training, block_size, tokenizer)
    return TrainingTexts(
        blocks,
        _packed_pairs(validation, block_size, tokenizer) if validation else None,
        f"{len(queries)} prompts with their answers: {n_left_out} are longer than a block "
        f"of {block_size} tokens and left out; {len(training)} to train on, "
        f"{len(validation)} to validate with",
        [training[0].query.context + training[0].query.answer + END],
        {"held_out": sorted(held), "left_out": n_left_out},
    )


def pack(
    texts: list[str], tokenizer: "PreTrainedTokenizerBase", block_size: int, packing: str
) -> PackedBlocks:
    """Cut `texts` into blocks, each text between the tokenizer's BOS (if it adds one) and EOS.

    "concat" joins all texts into one stream; "document" keeps a text intact if it fits into a
    block, and no text sees another. Raises ValueError without an EOS or a text.
    """
    require_known("packing", [packing], ("document", "concat"))
    if not any(text.strip() for text in texts):
        raise ValueError(
            "there is no text to train on: every segment is empty, dropped or held "
            "out for validation"
        )
    streams = _streams(texts, tokenizer)
    n_tokens = sum(map(len, streams))
    if packing == "concat":
        streams = [list(chain.from_iterable(streams))]
    return _blocks(_pieces(streams, block_size), block_size, tokenizer, n_tokens)


def _pieces(streams: list[list[int]], block_size: int) -> list[_Piece]:
    # A piece after a cut repeats the last token before it, so that every token is a target once,
    # except the first of a stream (concat) or of a text (document).
    return [
        _Piece(stream[start : start + block_size])
        for stream in streams
        for start in range(0, max(len(stream) - 1, 1), block_size - 1)
    ]


def pack_questions(
    queries: list[Query], tokenizer: "PreTrainedTokenizerBase", block_size: int
) -> PackedBlocks:
    """Blocks of questions in the prompt of 04_infer, with loss on answers and their ends alone.

    No question sees another, and longer ones are left out. Raises ValueError if none fits a block.
    """
    return _packed_pairs(_pairs(tokenizer, queries, block_size), block_size, tokenizer)


def _packed_pairs(
    pairs: list[_Piece], block_size: int, tokenizer: "PreTrainedTokenizerBase"
) -> PackedBlocks:
    # Only replies are targets, and no pair sees another.
    if not pairs:
        raise ValueError(
            "there is nothing to train on: no text, and no prompt with its reply that fits a "
            f"block of {block_size} tokens; raise block_size"
        )
    return _blocks(pairs, block_size, tokenizer, sum(len(pair.tokens) for pair in pairs))


def _streams(texts: list[str], tokenizer: "PreTrainedTokenizerBase") -> list[list[int]]:
    begin, end = beginning(tokenizer), end_token(tokenizer)
    return [[*begin, *tokens, end] for tokens in encode(tokenizer, texts)]


def _best_fit(pieces: list[_Piece], block_size: int) -> list[list[_Piece]]:
    groups, room = [], []  # room: (free tokens, group), ascending
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
    pieces: list[_Piece], block_size: int, tokenizer: "PreTrainedTokenizerBase", n_tokens: int
) -> PackedBlocks:
    rows = []
    for group in _best_fit(pieces, block_size):
        padding = block_size - sum(len(piece.tokens) for piece in group)
        group.append(_Piece([tokenizer.eos_token_id] * padding, padding))
        ids, labels, positions = [], [], []
        for tokens, n_given, _ in group:
            ids += tokens
            labels += [IGNORED] * n_given + tokens[n_given:]
            positions += range(len(tokens))
        rows.append((ids, labels, positions))
    input_ids, labels, position_ids = map(list, zip(*rows, strict=True))
    n_targets = sum(label != IGNORED for row in labels for label in row)
    return PackedBlocks(input_ids, labels, position_ids, n_tokens, n_targets)
