"""Choose demonstrations for few-shot prompts among samples of the same task (v2).

`few-shot` shows samples of the same depth and width, `simple-few-shot` samples of depth 2 and width
1, as the official code does (the paper says: the shortest training examples).
"""

from collections.abc import Sequence
from random import Random

from lib.structext.records import Sample

FEW_SHOT = ("few-shot", "simple-few-shot")
SIMPLE = (2, 1)  # depth and width, in the official code (Generation/datagen_simplefewshot.py)


def demonstrations_for(samples: Sequence[Sample], pool: Sequence[Sample], n_shots: int,
                       seed: int = 42, setting: str = "few-shot") -> list[tuple[Sample, ...]]:
    """Return, for each sample in order, `n_shots` of `pool` with other texts, drawn by `seed`.

    A draw depends on the sample's id and its part of the pool alone, and a draw of more shots
    extends the draw of fewer. Raises ValueError if the pool has too few other texts.
    """
    parts: dict[tuple, dict[str, Sample]] = {}  # cell -> its samples, one per text
    for one in sorted(pool, key=lambda one: one.id):
        parts.setdefault(one.cell, {}).setdefault(one.reference, one)
    chosen = []
    for sample in samples:
        cell = sample.cell if setting == "few-shot" else (sample.task, *SIMPLE)
        others = [one for text, one in parts.get(cell, {}).items() if text != sample.reference]
        if len(others) < n_shots:
            task, depth, width = cell
            raise ValueError(f"{task} at depth {depth}, width {width}: the pool has {len(others)} "
                             f"texts in addition to that of {sample.id}, too few for {n_shots} "
                             "shots; generate a pool with more samples per task")
        Random(f"{seed} {sample.id}").shuffle(others)
        chosen.append(tuple(others[:n_shots]))
    return chosen
