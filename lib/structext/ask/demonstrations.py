"""Demonstrations for few-shot prompts: samples of the same task, depth and width on other texts (v2)."""

from collections.abc import Sequence
from random import Random

from lib.structext.records import Sample

Cell = tuple[str, int, int]  # task, depth, width


def demonstrations_for(samples: Sequence[Sample], pool: Sequence[Sample], n_shots: int, seed: int = 42, *,
                       is_shortest: bool = False) -> list[tuple[Sample, ...]]:
    """`n_shots` of `pool` for each sample, in order: drawn, or the shortest ones of the cell (text, question, answer).

    No two of them have the same text, and none has the sample's. What is drawn depends on `seed`, the sample's id and
    its cell of the pool, not on the order of either; more shots are the fewer ones and further ones, so that a curve
    over shots is of the same draws. Texts of another mode, or of Real-Test, share their structure with those of the
    same seed and number: make their pool with a seed of its own.
    Raises ValueError, naming the cell, where the pool has too few other texts.
    """
    cells = _by_cell(pool, is_shortest)
    return [_drawn(sample, cells.get(_cell(sample), []), n_shots, None if is_shortest else f"{seed} {sample.id}")
            for sample in samples]


def _cell(sample: Sample) -> Cell:
    return sample.task, sample.depth, sample.width


def _by_cell(pool: Sequence[Sample], is_shortest: bool) -> dict[Cell, list[Sample]]:
    """Cell -> its samples, one a text, in an order that is not the pool's."""
    cells: dict[Cell, dict[str, Sample]] = {}
    for one in sorted(pool, key=lambda one: (_length(one) if is_shortest else 0, one.id)):
        cells.setdefault(_cell(one), {}).setdefault(one.reference, one)
    return {cell: list(texts.values()) for cell, texts in cells.items()}


def _length(sample: Sample) -> int:
    """Characters that a sample adds to a prompt."""
    return len(sample.reference) + len(sample.question) + len(sample.answer)


def _drawn(sample: Sample, cell: list[Sample], n_shots: int, key: str | None) -> tuple[Sample, ...]:
    """The first `n_shots` of `cell` on other texts, in its order or shuffled by `key`."""
    others = [one for one in cell if one.reference != sample.reference]
    if len(others) < n_shots:
        raise ValueError(f"{sample.task} at depth {sample.depth}, width {sample.width}: the pool has {len(others)} "
                         f"texts beside that of {sample.id}, too few for {n_shots} shots; generate a pool with more "
                         "per task")
    if key is not None:
        Random(key).shuffle(others)
    return tuple(others[:n_shots])
