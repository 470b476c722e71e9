"""Make an arm's training texts: records, raw (and augmented) or rewritten (paper, 4.2); replies."""

import json
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, groupby
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from lib.core.arms import (
    AUGMENTED,
    MIXED,
    REPLAYED,
    REPLIES,
    REWRITTEN,
    TEXTS,
    split_arm,
    texts_of,
)
from lib.core.records import Normalized, Query, Segment
from lib.core.store import REPOSITORY, load, made_by
from lib.documents.folder import read_folder
from lib.infer.prompts import encoded, prompt_for
from lib.train.checkpoints import data_hash
from lib.train.packing import PackedBlocks, pack, pack_replies

if TYPE_CHECKING:  # slow to import, and only named here
    from transformers import PreTrainedTokenizerBase

END = "\n</answer>"  # ends a reply to a ready-made prompt
GENERAL = REPOSITORY / "data" / "general" / "replay.jsonl"


@dataclass(frozen=True)
class Corpus:
    """Texts to train on and to validate with, and the segments in them."""

    training: list[str]
    validation: list[str]
    held_out: list[str]  # segment ids of the validation share
    dropped: list[str]  # segment ids of the training share without a text in this arm
    places: dict[str, tuple[int, int]]  # segment id -> index in `training`, character offset
    n_added: int  # the last texts in `training`


@dataclass(frozen=True)
class TrainingTexts:
    """An arm's packed texts, with a summary and an example."""

    training: PackedBlocks
    validation: PackedBlocks | None
    summary: str
    example: str
    facts: dict[str, object] = field(default_factory=dict)  # goes into training.json


def texts_for(
    study: str,
    arm: str,
    tokenizer: "PreTrainedTokenizerBase",
    *,
    texts: str = "",
    base_model: str = "",
    block_size: int,
    packing: str,
    validation_share: float,
    split_seed: int,
    replay_share: float = 0,
    own_records: bool = True,
) -> TrainingTexts:
    """Return the blocks of `arm`: its `texts` (see `corpus_of`; without `own_records` only the
    folder that they name) with a `replay_share` of tokens of general questions, or replies.

    Raises BadInput if a file is missing, and ValueError as `corpus_of` and `pack` do.
    """
    kind = texts_of(arm, texts)
    if kind == REPLIES:
        return _replies(study, arm, tokenizer, block_size, validation_share, split_seed)
    segments, normalized = load(study, "segments"), load(study, "normalized")
    held_out = (
        split(segments, validation_share, split_seed)
        if own_records
        else [segment.segment_id for segment in segments]
    )
    own = corpus_of(
        segments, normalized, kind, held_out, added_texts(study, kind, held_out, base_model)
    )
    training = pack(own.training, tokenizer, block_size, packing)
    is_validated = own.validation and own_records
    validation = pack(own.validation, tokenizer, block_size, packing) if is_validated else None
    summary = (
        f"{kind}: {len(segments)} segments, {len(own.held_out)} held out for validation, "
        f"{len(own.dropped)} dropped by the normalizer; {len(own.training)} texts to train "
        f"on, {own.n_added} of them added, {len(own.validation)} to validate with"
    )
    facts = {
        "texts": kind,
        "packing": packing,
        "held_out": own.held_out,
        "dropped": own.dropped,
        "added": own.n_added,
        "own_blocks": data_hash(training),
    }
    if replay_share:
        wanted = training.n_tokens * replay_share / (1 - replay_share)
        replayed = _general(tokenizer, wanted, block_size, split_seed)
        training += replayed
        summary += f"; {replayed.n_tokens:,} tokens of general questions with answers"
    return TrainingTexts(training, validation, summary, own.training[0], facts)


def added_texts(study: str, kind: str, held_out: Collection[str], base_model: str) -> list[str]:
    """Return the texts that an arm learns besides its segments: synthetic, public or a folder's.

    Public ones are those that the laboratory of `base_model` has taught it. Raises BadInput if a
    file is missing.
    """
    if kind == AUGMENTED:
        return [
            row.text
            for row in load(study, "augmented")
            if not row.dropped and row.segment_id not in held_out
        ]
    if kind == REPLAYED:
        return [
            document.text
            for document in load(Path(base_model).parent.parent.name, "documents_public")
        ]
    if kind in TEXTS:
        return []
    return [document.text for document in read_folder(REPOSITORY / kind).documents]


def _general(
    tokenizer: "PreTrainedTokenizerBase", n_tokens: float, block_size: int, seed: int
) -> PackedBlocks:
    rows = [json.loads(line) for line in GENERAL.read_text(encoding="utf-8").splitlines()]
    queries = [
        Query.model_construct(
            question=row["question"],
            answer=row["answer"],
            context=row["text"] and prompt_for(row["question"], row["text"]),
        )
        for row in rows
    ]
    pairs = _pairs(tokenizer, queries)
    sizes = [len(prompt) + len(reply) for _, prompt, reply in pairs]
    order = Random(seed).sample(range(len(pairs)), len(pairs))
    order *= math.ceil(n_tokens / sum(sizes))  # repeated if there are too few
    read = accumulate((sizes[one] for one in order), initial=0)
    drawn = [pairs[one] for one, before in zip(order, read, strict=False) if before < n_tokens]
    return _packed(drawn, block_size, tokenizer)


def _pairs(
    tokenizer: "PreTrainedTokenizerBase", queries: list[Query], end: str = ""
) -> list[tuple[Query, list[int], list[int]]]:
    answers = tokenizer(
        [query.answer + end for query in queries],
        add_special_tokens=False,
        split_special_tokens=True,
    )["input_ids"]
    return [
        (query, prompt, [*answer, tokenizer.eos_token_id])
        for query, prompt, answer in zip(queries, encoded(tokenizer, queries), answers, strict=True)
    ]


def _packed(
    pairs: list[tuple[Query, list[int], list[int]]],
    block_size: int,
    tokenizer: "PreTrainedTokenizerBase",
) -> PackedBlocks:
    return pack_replies(
        [prompt for _, prompt, _ in pairs],
        [reply for _, _, reply in pairs],
        block_size,
        tokenizer.eos_token_id,
    )


def _replies(
    study: str,
    arm: str,
    tokenizer: "PreTrainedTokenizerBase",
    block_size: int,
    validation_share: float,
    seed: int,
) -> TrainingTexts:
    # The validation share is drawn over texts (document_id), so that no text is on both sides.
    queries: list[Query] = load(study, "training", arm=split_arm(arm)[0])
    pairs = _pairs(tokenizer, queries, END)
    fitting = [pair for pair in pairs if len(pair[1]) + len(pair[2]) <= block_size]
    documents = sorted({query.document_id for query, _, _ in fitting})
    held = set(Random(seed).sample(documents, round(len(documents) * validation_share)))
    sides = [
        [pair for pair in fitting if (pair[0].document_id in held) is is_held]
        for is_held in (False, True)
    ]
    training, validation = (
        _packed(side, block_size, tokenizer) if side or side is sides[0] else None for side in sides
    )
    n_left_out = len(queries) - len(fitting)
    summary = (
        f"{len(queries)} prompts with their answers: {n_left_out} are longer than a block "
        f"of {block_size} tokens and left out; {len(sides[0])} to train on, "
        f"{len(sides[1])} to validate with"
    )
    example = sides[0][0][0]
    return TrainingTexts(
        training,
        validation,
        summary,
        example.context + example.answer + END,
        {"held_out": sorted(held), "left_out": n_left_out},
    )


def split(segments: list[Segment], validation_share: float, seed: int) -> list[str]:
    """Return the ids of the segments to hold out, the same ones in all arms.

    The paper does not state the unit of its 90/10 split. Raises ValueError for a share not in
    [0, 1).
    """
    if not 0 <= validation_share < 1:
        raise ValueError(f"validation_share is {validation_share}: give at least 0 and less than 1")
    ids = [segment.segment_id for segment in segments]
    n_held = max(1, round(len(ids) * validation_share)) if validation_share else 0
    return Random(seed).sample(ids, min(n_held, max(0, len(ids) - 1)))


def corpus_of(
    segments: list[Segment],
    normalized: list[Normalized],
    kind: str,
    held_out: Collection[str],
    added: Sequence[str] = (),
) -> Corpus:
    """Return an arm's texts: the segments' own, but rewritten ones for REWRITTEN; then `added`.

    MIXED has both. All but REWRITTEN are validated with the segments `held_out` themselves.
    Neighbouring segments on one side of the split are rejoined, which restores raw text exactly.
    Raises ValueError for a segment without a row in `normalized`.
    """
    rewritten = {row.segment_id: row.text for row in normalized}
    missing = [one.segment_id for one in segments if one.segment_id not in rewritten]
    if missing:
        raise ValueError(
            f"{len(missing)} of {len(segments)} segments, {missing[0]} first, have no "
            f"row in normalized.jsonl: run {made_by('normalized')} again"
        )
    if not kind:
        raise ValueError(f"this arm has no texts: name one of {', '.join(TEXTS)}, or a folder")
    raw = {segment.segment_id: segment.text for segment in segments}
    held = set(held_out)
    own, gap = (rewritten, "\n\n") if kind == REWRITTEN else (raw, "")
    training, validation, places = _joined(segments, own, gap, held)
    dropped = [
        one.segment_id
        for one in segments
        if one.segment_id not in held
        and kind in (REWRITTEN, MIXED)
        and not rewritten[one.segment_id]
    ]
    if kind == MIXED:
        added = [*_joined(segments, rewritten, "\n\n", held)[0], *added]
    return Corpus(training + [*added], validation, sorted(held), dropped, places, len(added))


def _joined(
    segments: list[Segment], own: dict[str, str], gap: str, held: set[str]
) -> tuple[list[str], list[str], dict[str, tuple[int, int]]]:
    training, validation, places = [], [], {}
    for (_, is_held), run in groupby(
        segments, key=lambda one: (one.document_id, one.segment_id in held)
    ):
        members = [segment.segment_id for segment in run if own[segment.segment_id]]
        text = gap.join(own[member] for member in members)
        if not text.strip():
            continue
        begin = len(text.lstrip()) - len(text)  # whitespace before the text is removed
        for member in members if not is_held else []:
            places[member] = (len(training), begin)
            begin += len(own[member]) + len(gap)
        (validation if is_held else training).append(text.strip())
    return training, validation, places
