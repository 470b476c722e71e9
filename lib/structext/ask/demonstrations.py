"""Choose demonstrations for few-shot prompts among samples of the same task (v2).

`few-shot` shows samples of the same depth and width. `simple-few-shot` shows what the official code
shows under this name: samples of depth 2 and width 1, whatever is asked. `shortest-few-shot` is
what the paper says of it: the shortest training examples.
"""

from collections.abc import Sequence
from random import Random

from lib.structext.records import Sample

FEW_SHOT = ("few-shot", "simple-few-shot", "shortest-few-shot")
SIMPLE = (2, 1)  # depth and width, in the official code (Generation/datagen_simplefewshot.py)


def demonstrations_for(samples: Sequence[Sample], pool: Sequence[Sample], n_shots: int,
                       seed: int = 42, setting: str = "few-shot") -> list[tuple[Sample, ...]]:
    """Return, for each sample in order, `n_shots` of `pool`, chosen as `setting` of FEW_SHOT says.

    The texts shown with a sample differ from each other and from its own. A draw depends on `seed`,
    the sample's id and its part of the pool, not on the order of samples; the shortest are not
    drawn. A draw of more shots extends the draw of fewer, so a curve over shots uses the same
    draws. Texts with the same seed and number have the same structure in every mode and in
    Real-Test, so generate `pool` with another seed than `samples`.
    Raises ValueError, naming task and dials, if the pool has too few other texts.
    """
    is_shortest = setting == "shortest-few-shot"
    parts: dict[tuple, dict[str, Sample]] = {}  # part of the pool -> its samples, one per text
    for one in sorted(pool, key=lambda one: (_length(one) if is_shortest else 0, one.id)):
        part = one.cell[:1] if is_shortest else one.cell
        parts.setdefault(part, {}).setdefault(one.reference, one)
    chosen = []
    for sample in samples:
        part = {"few-shot": sample.cell, "simple-few-shot": (sample.task, *SIMPLE),
                "shortest-few-shot": sample.cell[:1]}[setting]
        chosen.append(_drawn(sample, part, list(parts.get(part, {}).values()), n_shots,
                             None if is_shortest else f"{seed} {sample.id}"))
    return chosen


def _length(sample: Sample) -> int:
    return len(sample.reference) + len(sample.question) + len(sample.answer)


def _drawn(sample: Sample, part: tuple, pool: list[Sample], n_shots: int,
           key: str | None) -> tuple[Sample, ...]:
    others = [one for one in pool if one.reference != sample.reference]
    if len(others) < n_shots:
        dials = " at depth {}, width {}".format(*part[1:]) if part[1:] else ""
        raise ValueError(f"{sample.task}{dials}: the pool has {len(others)} texts in addition to "
                         f"that of {sample.id}, too few for {n_shots} shots; generate a pool with "
                         "more samples per task")
    if key is not None:
        Random(key).shuffle(others)
    return tuple(others[:n_shots])
