"""Choose demonstrations for few-shot prompts among samples of the same task and size (v2)."""

from collections.abc import Sequence
from random import Random

from lib.structext.records import Sample


def demonstrations_for(samples: Sequence[Sample], pool: Sequence[Sample], n_shots: int,
                       seed: int = 42, *, is_shortest: bool = False) -> list[tuple[Sample, ...]]:
    """Return, for each sample in order, `n_shots` of `pool`: random draws, or its cell's shortest.

    The texts shown with a sample differ from each other and from its own. A draw depends on `seed`,
    the sample's id and its cell of the pool (task, depth, width), not on the order of samples. A
    draw of more shots extends the draw of fewer, so a curve over shots uses the same draws. Texts
    with the same seed and number have the same structure in every mode and in Real-Test, so
    generate `pool` with another seed than `samples`.
    Raises ValueError, naming the cell, if the pool has too few other texts.
    """
    cells = _by_cell(pool, is_shortest)
    return [_drawn(sample, cells.get(sample.cell, []), n_shots,
                   None if is_shortest else f"{seed} {sample.id}") for sample in samples]


def _by_cell(pool: Sequence[Sample], is_shortest: bool) -> dict[tuple, list[Sample]]:
    """Return cell -> its samples, one per text, in an order that does not depend on the pool's."""
    cells: dict[tuple, dict[str, Sample]] = {}
    for one in sorted(pool, key=lambda one: (_length(one) if is_shortest else 0, one.id)):
        cells.setdefault(one.cell, {}).setdefault(one.reference, one)
    return {cell: list(texts.values()) for cell, texts in cells.items()}


def _length(sample: Sample) -> int:
    """Return how many characters a sample adds to a prompt."""
    return len(sample.reference) + len(sample.question) + len(sample.answer)


def _drawn(sample: Sample, cell: list[Sample], n_shots: int, key: str | None) -> tuple[Sample, ...]:
    """Return the first `n_shots` of `cell` with other texts, in its order or shuffled by `key`."""
    others = [one for one in cell if one.reference != sample.reference]
    if len(others) < n_shots:
        raise ValueError(f"{sample.task} at depth {sample.depth}, width {sample.width}: the pool "
                         f"has {len(others)} texts in addition to that of {sample.id}, too few for "
                         f"{n_shots} shots; generate a pool with more samples per task")
    if key is not None:
        Random(key).shuffle(others)
    return tuple(others[:n_shots])
