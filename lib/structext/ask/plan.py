"""Plan the prompts of a study (suites × settings) and the training queries of tuned arms."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from lib.core.files import made_by
from lib.core.paths import output_root
from lib.core.records import Query
from lib.structext.ask.demonstrations import FEW_SHOT, SIMPLE
from lib.structext.ask.prompts import SETTINGS, Prompted, as_queries, prompts_for
from lib.structext.generate.samples import SIZE, SUITES, generate, split, suite
from lib.structext.records import Sample
from lib.structext.solve import official as published

POOL = 24  # samples per task, depth and width from which demonstrations are drawn
POOL_SEED = 1  # added to a study's seed: no demonstration has the structure of a tested text
TUNED = {"tuned": ("base", 0), "tuned-hint": ("hint", 0),
         "tuned-few-shot": ("few-shot", 2)}  # arm -> setting and shots
OWN = "own"  # a suite with custom dials
OFFICIAL = "official"  # a suite of published samples, with the demonstrations in their files
TRAINING_SUITES = ("v1-simple", "v1-hard")


class Own(NamedTuple):
    """The suite OWN: tasks or languages (json.3, csv), and its dials."""

    tasks: Sequence[str]
    depth: int
    width: int
    size: int


def asked_in(suites: Sequence[str], settings: Sequence[str], shots: Sequence[int], *,
             mode: str = "corrected", seed: int = 42, per_task: int = 0,
             rewritten: Sequence[Sample] | None = None, own: Own | None = None,
             official: str | Path = "") -> Iterator[list[Prompted]]:
    """Yield the prompts of a study, one list per suite, setting and number of shots.

    `rewritten` is Real-Test with names from a model, if one was asked for them; demonstrations have
    names from the rules. `own` defines the suite OWN, and `official` is the file or folder of the
    suite OFFICIAL, below output_root() if relative (see `official_prompts`). `per_task` limits the
    samples per task, depth and width; 0 means the suite's own number. Real-Test has the structures
    of Test, sample by sample. Raises ValueError for an unknown suite or setting, for a suite
    without samples, and as `prompts_for` and `lib.structext.solve.official.load` do.
    """
    known = (*SUITES, OWN, OFFICIAL)
    unknown = [name for name in (*suites, *settings) if name not in (*known, *SETTINGS)]
    if unknown or not suites or not settings:
        raise ValueError(f"{unknown[0] if unknown else 'nothing'!r} cannot be asked: choose suites "
                         f"({', '.join(known)}) and settings ({', '.join(SETTINGS)})")
    for name in suites:
        if name == OFFICIAL:
            yield from official_prompts(official, settings, shots, per_task)
            continue
        samples = _samples(name, mode, seed, per_task, rewritten, own)
        size, is_real = own.size if name == OWN else SIZE, name == "real-test"
        for setting in settings:
            pool = _pool(setting, samples, mode, seed + POOL_SEED, size, is_real)
            for n_shots in shots if setting in FEW_SHOT else [0]:
                yield prompts_for(samples, setting, n_shots, pool, seed, name)


def official_prompts(path: str | Path, settings: Sequence[str], shots: Sequence[int],
                     per_task: int = 0) -> Iterator[list[Prompted]]:
    """Yield the prompts of the published samples in `path`, as `asked_in` does.

    A sample is asked once in each setting without demonstrations, and once in few-shot, with all
    demonstrations in its file, if `shots` has their number. Raises ValueError for a setting that
    would draw demonstrations or without `path`, and as `lib.structext.solve.official.load` does.
    """
    if not path or set(settings) & set(FEW_SHOT[1:]):
        raise ValueError(f"the suite {OFFICIAL} needs the parameter official (a file or a folder), "
                         f"and not the settings {', '.join(FEW_SHOT[1:])}: its files have "
                         "demonstrations, which few-shot shows")
    path = output_root() / Path(path).expanduser()
    samples = published.load(path, with_demonstrations=True)
    own: dict[str, list[Sample]] = {}  # id -> demonstrations, which follow their sample
    for sample in samples:
        asked = next(reversed(own), None)
        if asked is not None and sample.id == f"{asked}#{len(own[asked]) + 1}":
            own[asked].append(sample)
        else:
            own[sample.id] = []
    samples = some_of([sample for sample in samples if sample.id in own], per_task)
    for setting in settings:
        for n_shots in shots if setting in FEW_SHOT else [0]:
            kept = [one for one in samples if not n_shots or len(own[one.id]) == n_shots]
            yield prompts_for(kept, setting, n_shots, suite=OFFICIAL,
                              own=[own[one.id] for one in kept])


def training_samples(tested: Iterable[Sample], *, mode: str = "corrected",
                     seed: int = 42) -> tuple[list[Sample], int]:
    """Return the samples from which tuned arms and the floor learn, and the number left out.

    They are v1's training split (9 of 11 texts of its simple and hard halves), drawn with the
    study's seed + 2. A sample is left out if its text is in `tested`, because another seed may draw
    the same small text (depth 1, width 1).
    """
    drawn = [sample for name in TRAINING_SUITES
             for sample in split(suite(name, seed + POOL_SEED + 1, mode))[0]]
    texts = {sample.reference for sample in tested}
    kept = [sample for sample in drawn if sample.reference not in texts]
    return kept, len(drawn) - len(kept)


def training_queries(arm: str, samples: Sequence[Sample], seed: int = 42) -> list[Query]:
    """Return prompts with answers for a tuned arm, one per sample of the training split.

    A sample is left out if no other text of its cell is left as a demonstration. Raises ValueError
    for an arm that is not in TUNED.
    """
    if arm not in TUNED:
        raise ValueError(f"arm {arm!r} is not trained on StrucText-Eval: choose one of "
                         f"{', '.join(TUNED)}")
    setting, n_shots = TUNED[arm]
    texts: dict[tuple, set[str]] = {}
    for sample in samples:
        texts.setdefault(sample.cell, set()).add(sample.reference)
    kept = [sample for sample in samples if len(texts[sample.cell]) > n_shots]
    return as_queries(prompts_for(kept, setting, n_shots, kept, seed, "train"))


def some_of(samples: Sequence[Sample], per_task: int) -> list[Sample]:
    """Return the first `per_task` of each task, depth and width, in order; all if 0."""
    counts: dict[tuple[str, int, int], int] = {}
    kept = []
    for sample in samples:
        counts[sample.cell] = counts.get(sample.cell, 0) + 1
        if not per_task or counts[sample.cell] <= per_task:
            kept.append(sample)
    return kept


def _samples(name: str, mode: str, seed: int, per_task: int, rewritten: Sequence[Sample] | None,
             own: Own | None) -> list[Sample]:
    if name == OWN:
        return list(generate(mode, own.tasks, own.depth, own.width, per_task, seed, own.size))
    if name != "real-test" or rewritten is None:
        return suite(name, seed, mode, per_task)
    if not rewritten:
        raise ValueError(f"the suite {name} has no sample: the rewriter rewrote none; see "
                         f"rewrite_rejected.jsonl of {made_by('rewrite_rejected')}")
    return list(rewritten)


def _pool(setting: str, samples: Sequence[Sample], mode: str, seed: int, size: int,
          is_real: bool) -> list[Sample]:
    """Make the samples that a setting's demonstrations are drawn from; none without them."""
    dials = {"few-shot": [one.cell[1:] for one in samples], "simple-few-shot": [SIMPLE],
             "shortest-few-shot": [dial[:2] for name in TRAINING_SUITES for dial in SUITES[name]]}
    tasks = {one.task for one in samples}
    return [sample for depth, width in dict.fromkeys(dials.get(setting, ()))
            for sample in generate(mode, tasks, depth, width, POOL, seed, size, is_real)]
