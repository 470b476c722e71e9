"""Plan the prompts of a study (suites × settings) and the training queries of tuned arms."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from lib.core.records import Query
from lib.core.store import output_root
from lib.tasks.structext.ask.prompts import (
    FEW_SHOT,
    SETTINGS,
    SIMPLE,
    Prompted,
    as_queries,
    prompts_for,
)
from lib.tasks.structext.generate.samples import SIZE, SUITES, generate, split, suite
from lib.tasks.structext.records import Sample
from lib.tasks.structext.solve import official as published

POOL = 24  # samples per task, depth and width from which demonstrations are drawn
POOL_SEED = 1  # added to a study's seed: no demonstration has the structure of a tested text
TUNED = {
    "tuned": ("base", 0),
    "tuned-hint": ("hint", 0),
    "tuned-few-shot": ("few-shot", 2),
}  # arm -> setting and shots
OWN = "own"  # a suite with custom dials
OFFICIAL = "official"  # a suite of published samples, with the demonstrations in their files
TRAINING_SUITES = ("v1-simple", "v1-hard")


def asked_in(
    suites: Sequence[str],
    settings: Sequence[str],
    shots: Sequence[int],
    *,
    mode: str = "corrected",
    seed: int = 42,
    per_task: int = 0,
    own: dict | None = None,
    official: str | Path = "",
) -> Iterator[list[Prompted]]:
    """Yield the prompts of a study, one list per suite, setting and number of shots.

    `own` has the dials of the suite OWN (arguments of `generate`); `official` is the file or folder
    of the suite OFFICIAL. `per_task` limits the samples of a cell (0: the suite's number).
    """
    known = (*SUITES, OWN, OFFICIAL)
    unknown = [name for name in (*suites, *settings) if name not in (*known, *SETTINGS)]
    if unknown or not suites or not settings:
        raise ValueError(
            f"{unknown[0] if unknown else 'nothing'!r} cannot be asked: choose suites "
            f"({', '.join(known)}) and settings ({', '.join(SETTINGS)})"
        )
    for name in suites:
        if name == OFFICIAL:
            yield from _published(official, settings, shots, per_task)
            continue
        dials = own if name == OWN else {}
        samples = (
            list(generate(mode, per_task=per_task, seed=seed, **dials))
            if dials
            else suite(name, seed, mode, per_task)
        )
        for setting in settings:
            pool = _pool(
                setting,
                samples,
                mode,
                seed + POOL_SEED,
                dials.get("size", SIZE),
                name == "real-test",
            )
            for n_shots in shots if setting in FEW_SHOT else [0]:
                yield prompts_for(samples, setting, n_shots, pool, seed, name)


def _published(
    path: str | Path, settings: Sequence[str], shots: Sequence[int], per_task: int
) -> Iterator[list[Prompted]]:
    if not path or set(settings) & set(FEW_SHOT[1:]):
        raise ValueError(
            f"the suite {OFFICIAL} needs the parameter official (a file or a folder), "
            f"and not the settings {', '.join(FEW_SHOT[1:])}: its files have "
            "demonstrations, which few-shot shows"
        )
    shown = dict(published.load(output_root() / Path(path).expanduser()))
    samples = some_of(list(shown), per_task)
    for setting in settings:
        for n_shots in shots if setting in FEW_SHOT else [0]:
            kept = [one for one in samples if not n_shots or len(shown[one]) == n_shots]
            yield prompts_for(
                kept, setting, n_shots, suite=OFFICIAL, own=[shown[one] for one in kept]
            )


def training_samples(
    tested: Iterable[Sample], *, mode: str = "corrected", seed: int = 42
) -> tuple[list[Sample], int]:
    """Return v1's training split, less the samples whose text is in `tested`, and their number.

    It is 9 of 11 texts of v1's halves, drawn with `seed` + 2: the same small text may come again.
    """
    drawn = [
        sample
        for name in TRAINING_SUITES
        for sample in split(suite(name, seed + POOL_SEED + 1, mode))[0]
    ]
    texts = {sample.reference for sample in tested}
    kept = [sample for sample in drawn if sample.reference not in texts]
    return kept, len(drawn) - len(kept)


def training_queries(arm: str, samples: Sequence[Sample], seed: int = 42) -> list[Query]:
    """Return prompts with answers for an arm in TUNED, one per sample of the training split.

    A sample is left out if its cell has too few other texts to demonstrate.
    """
    if arm not in TUNED:
        raise ValueError(
            f"arm {arm!r} is not trained on StrucText-Eval: choose one of {', '.join(TUNED)}"
        )
    setting, n_shots = TUNED[arm]
    texts = Counter(cell for cell, _ in {(one.cell, one.reference) for one in samples})
    kept = [sample for sample in samples if texts[sample.cell] > n_shots]
    return as_queries(prompts_for(kept, setting, n_shots, kept, seed, "train"))


def some_of(samples: Sequence[Sample], per_task: int) -> list[Sample]:
    """Return the first `per_task` of each task, depth and width, in order; all if 0."""
    counts, kept = Counter(), []
    for sample in samples:
        counts[sample.cell] += 1
        if not per_task or counts[sample.cell] <= per_task:
            kept.append(sample)
    return kept


def _pool(
    setting: str, samples: Sequence[Sample], mode: str, seed: int, size: int, is_real: bool
) -> list[Sample]:
    dials = {"few-shot": [one.cell[1:] for one in samples], "simple-few-shot": [SIMPLE]}
    tasks = {one.task for one in samples}
    return [
        sample
        for depth, width in dict.fromkeys(dials.get(setting, ()))
        for sample in generate(mode, tasks, depth, width, POOL, seed, size, is_real)
    ]
