"""What an arm is trained on: raw or rewritten segments, split 90/10 alike for both arms (paper, 4.2)."""

import random
from collections.abc import Collection
from dataclasses import dataclass
from itertools import groupby

from lib.core.records import Normalized, Segment


@dataclass(frozen=True)
class Corpus:
    """Texts to train on and to validate with, and which segments each of them holds."""

    training: list[str]
    validation: list[str]
    held_out: list[str]  # segment ids of the validation share
    dropped: list[str]  # segment ids in the training share that this arm has no text for
    places: dict[str, tuple[int, int]]  # segment id -> its text in `training`, and the character where it begins there


def make_corpus(segments: list[Segment], normalized: list[Normalized], arm: str, validation_share: float,
                seed: int) -> Corpus:
    """The texts of `arm`: "dapt" has the segments' own words, "dapt-n" the normalizer's.

    The split is drawn over segments, so that both arms hold the same ones out (the paper does not say what its 90/10
    was drawn over). Neighbouring segments of a document on the same side are joined again, raw text as it stood.
    Raises ValueError for another arm, for a share outside [0, 1), and where a segment has no row in `normalized`.
    """
    if not 0 <= validation_share < 1:
        raise ValueError(f"validation_share is {validation_share}: give a share from 0 up to, not including, 1")
    ids = [segment.segment_id for segment in segments]
    n_held = min(max(1, round(len(ids) * validation_share)), len(ids) - 1) if validation_share else 0
    return texts_of(segments, normalized, arm, random.Random(seed).sample(ids, n_held))


def texts_of(segments: list[Segment], normalized: list[Normalized], arm: str, held_out: Collection[str]) -> Corpus:
    """The texts of `arm` where the segments `held_out` are for validation; as make_corpus."""
    if arm not in ("dapt", "dapt-n"):
        raise ValueError(f"arm {arm!r} is not trained here: choose dapt (raw text) or dapt-n (normalized text)")
    rewritten = {row.segment_id: row.text for row in normalized}
    missing = [segment.segment_id for segment in segments if segment.segment_id not in rewritten]
    if missing:
        raise ValueError(f"{len(missing)} of {len(segments)} segments, {missing[0]} first, have no row in "
                         "normalized.jsonl: run 02_normalize.ipynb again")
    raw = {segment.segment_id: segment.text for segment in segments}
    own, gap = (raw, "") if arm == "dapt" else (rewritten, "\n\n")
    held = set(held_out)
    texts: dict[bool, list[str]] = {True: [], False: []}
    places: dict[str, tuple[int, int]] = {}
    for (_, is_held), run in groupby(segments, key=lambda segment: (segment.document_id, segment.segment_id in held)):
        members = [segment.segment_id for segment in run if own[segment.segment_id]]
        joined = gap.join(own[member] for member in members)
        if not joined.strip():
            continue
        begin = len(joined.lstrip()) - len(joined)  # the blanks before the text are left out
        for member in members if not is_held else []:
            places[member] = (len(texts[False]), begin)
            begin += len(own[member]) + len(gap)
        texts[is_held].append(joined.strip())
    dropped = [segment.segment_id for segment in segments if segment.segment_id not in held
               and arm == "dapt-n" and not rewritten[segment.segment_id]]
    return Corpus(texts[False], texts[True], sorted(held), dropped, places)
