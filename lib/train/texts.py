"""Make an arm's training texts: records, raw (and augmented) or rewritten (paper, 4.2); replies."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from random import Random
from typing import TYPE_CHECKING

from lib.core.arms import AUGMENTED, RAW_ARMS, split_arm
from lib.core.files import load, made_by
from lib.core.records import Augmented, Normalized, Query, Segment
from lib.infer.prompts import encoded
from lib.train.packing import PackedBlocks, pack, pack_replies

if TYPE_CHECKING:  # slow to import, and only named here
    from transformers import PreTrainedTokenizerBase

TUNED = "tuned"  # prefix of the names of arms that learn replies
END = "\n</answer>"  # ends a reply to a ready-made prompt


@dataclass(frozen=True)
class Corpus:
    """Texts to train on and to validate with, and the segments in them."""

    training: list[str]
    validation: list[str]
    held_out: list[str]  # segment ids of the validation share
    dropped: list[str]  # segment ids of the training share without a text in this arm
    places: dict[str, tuple[int, int]]  # segment id -> index in `training`, character offset
    n_augmented: int  # the last texts in `training`


@dataclass(frozen=True)
class TrainingTexts:
    """An arm's packed texts, with a summary and an example."""

    training: PackedBlocks
    validation: PackedBlocks | None
    summary: str
    example: str
    facts: dict[str, object] = field(default_factory=dict)  # goes into training.json


def texts_for(study: str, arm: str, tokenizer: "PreTrainedTokenizerBase", *, block_size: int,
              packing: str, validation_share: float, split_seed: int) -> TrainingTexts:
    """Return the blocks of `arm`, made of segments (dapt, dapt-n, dapt-a) or replies (tuned).

    Raises BadInput if a file is missing, and ValueError as `make_corpus` and `pack` do.
    """
    if arm.startswith(TUNED):
        return _replies(study, arm, tokenizer, block_size, validation_share, split_seed)
    kind = split_arm(arm)[0]
    segments, normalized = load(study, "segments"), load(study, "normalized")
    augmented = load(study, "augmented") if kind == AUGMENTED else []
    own = make_corpus(segments, normalized, kind, validation_share, split_seed, augmented)
    training = pack(own.training, tokenizer, block_size, packing)
    validation = pack(own.validation, tokenizer, block_size, packing) if own.validation else None
    summary = (f"{len(segments)} segments: {len(own.held_out)} held out for validation, "
               f"{len(own.dropped)} dropped by the normalizer; {len(own.training)} texts to train "
               f"on, {len(own.validation)} to validate with")
    facts = {"packing": packing, "held_out": own.held_out, "dropped": own.dropped}
    if kind == AUGMENTED:
        facts["augmented"] = own.n_augmented
        summary += f"; {own.n_augmented} of these texts are synthetic"
    return TrainingTexts(training, validation, summary, own.training[0], facts)


def _replies(study: str, arm: str, tokenizer: "PreTrainedTokenizerBase", block_size: int,
             validation_share: float, seed: int) -> TrainingTexts:
    # The validation share is drawn over texts (document_id), so that no text is on both sides.
    queries: list[Query] = load(study, "training", arm=split_arm(arm)[0])
    answers = tokenizer([query.answer + END for query in queries], add_special_tokens=False,
                        split_special_tokens=True)["input_ids"]
    pairs = [(query, prompt, [*answer, tokenizer.eos_token_id]) for query, prompt, answer in zip(
        queries, encoded(tokenizer, queries), answers, strict=True)]
    fitting = [pair for pair in pairs if len(pair[1]) + len(pair[2]) <= block_size]
    documents = sorted({query.document_id for query, _, _ in fitting})
    held = set(Random(seed).sample(documents, round(len(documents) * validation_share)))
    sides = [[pair for pair in fitting if (pair[0].document_id in held) is is_held]
             for is_held in (False, True)]
    training, validation = (
        pack_replies([prompt for _, prompt, _ in side], [reply for _, _, reply in side], block_size,
                     tokenizer.eos_token_id) if side or side is sides[0] else None
        for side in sides)
    n_left_out = len(queries) - len(fitting)
    summary = (f"{len(queries)} prompts with their answers: {n_left_out} are longer than a block "
               f"of {block_size} tokens and left out; {len(sides[0])} to train on, "
               f"{len(sides[1])} to validate with")
    example = sides[0][0][0]
    return TrainingTexts(training, validation, summary,
                         example.context + example.answer + END,
                         {"held_out": sorted(held), "left_out": n_left_out})


def make_corpus(segments: list[Segment], normalized: list[Normalized], arm: str,
                validation_share: float, seed: int,
                augmented: Sequence[Augmented] = ()) -> Corpus:
    """Return the texts of `arm`: the segments' own for "dapt", the normalizer's for "dapt-n".

    "dapt-a" has the segments' own, then `augmented`, except those that were dropped or are made
    from a held-out segment; it is validated with raw text. The validation share is drawn over
    segments, so that all arms hold out the same ones (the paper does not state the unit of its
    90/10 split). Raises ValueError for any other arm, a share not in [0, 1) and a segment
    without a row in `normalized`.
    """
    if not 0 <= validation_share < 1:
        raise ValueError(f"validation_share is {validation_share}: give at least 0 and less than 1")
    ids = [segment.segment_id for segment in segments]
    n_held = max(1, round(len(ids) * validation_share)) if validation_share else 0
    held_out = Random(seed).sample(ids, min(n_held, max(0, len(ids) - 1)))
    return corpus_of(segments, normalized, arm, held_out, augmented)


def corpus_of(segments: list[Segment], normalized: list[Normalized], arm: str,
              held_out: Collection[str], augmented: Sequence[Augmented] = ()) -> Corpus:
    """Return the texts of `arm` with the segments `held_out` for validation; see `make_corpus`.

    Neighbouring segments on one side of the split are rejoined, which restores raw text exactly.
    """
    if arm not in (*RAW_ARMS, "dapt-n"):
        raise ValueError(f"arm {arm!r} is not trained here: choose dapt (raw text), dapt-n "
                         f"(normalized text) or {AUGMENTED} (raw and synthetic text)")
    rewritten = {row.segment_id: row.text for row in normalized}
    missing = [one.segment_id for one in segments if one.segment_id not in rewritten]
    if missing:
        raise ValueError(f"{len(missing)} of {len(segments)} segments, {missing[0]} first, have no "
                         f"row in normalized.jsonl: run {made_by('normalized')} again")
    raw = {segment.segment_id: segment.text for segment in segments}
    own, gap = (raw, "") if arm in RAW_ARMS else (rewritten, "\n\n")
    held, training, validation, places = set(held_out), [], [], {}
    for (_, is_held), run in groupby(
            segments, key=lambda one: (one.document_id, one.segment_id in held)):
        members = [segment.segment_id for segment in run if own[segment.segment_id]]
        text = gap.join(own[member] for member in members)
        if not text.strip():
            continue
        begin = len(text.lstrip()) - len(text)  # whitespace before the text is removed
        for member in members if not is_held else []:
            places[member] = (len(training), begin)
            begin += len(own[member]) + len(gap)
        (validation if is_held else training).append(text.strip())
    dropped = [one.segment_id for one in segments if one.segment_id not in held
               and arm == "dapt-n" and not rewritten[one.segment_id]]
    synthetic = [row.text for row in augmented if not row.dropped and row.segment_id not in held
                 ] if arm == AUGMENTED else []
    return Corpus(training + synthetic, validation, sorted(held), dropped, places, len(synthetic))
