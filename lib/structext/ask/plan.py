"""What a study asks of StrucText-Eval: which samples of which suites in which prompts, and what is learned before."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from lib.core.records import Query
from lib.structext.ask.prompts import FEW_SHOT, SETTINGS, Asked, as_queries, prompts_for
from lib.structext.generate.samples import SUITES, generate, split, suite
from lib.structext.records import Sample

POOL = 24  # samples of each task that demonstrations are drawn from, in each depth and width
POOL_SEED = 1  # added to a study's seed, so that no demonstration has the structure of a text that is asked about
TUNED = {"tuned": ("base", 0), "tuned-hint": ("hint", 0), "tuned-few-shot": ("few-shot", 2)}  # arm -> setting and shots
SIZE = 6  # of the papers' nodes
OWN, OWN_PER_TASK = "own", 16  # a suite of one's own difficulty, and its samples of a task where no number is given
TRAINING_SUITES = ("v1-simple", "v1-hard")


class Own(NamedTuple):
    """The suite OWN: tasks or languages (json.3, toml), and its dials."""

    tasks: Sequence[str]
    depth: int
    width: int
    size: int


def asked_in(suites: Sequence[str], settings: Sequence[str], shots: Sequence[int], *, mode: str = "corrected",
             seed: int = 42, per_task: int = 0, rewritten: Sequence[Sample] | None = None,
             own: Own | None = None) -> Iterator[list[Asked]]:
    """The prompts of a study, a list for each suite, setting and number of shots.

    `rewritten` are the samples of Real-Test where a model has named things in them; demonstrations have the names of
    the rules' scenarios all the same. `own` makes the suite OWN. `per_task` is the most samples of a task in a
    depth and width; 0: all that the suite has. Real-Test has the structures of Test, sample by sample. Raises
    ValueError for an unknown suite or setting, a suite without samples, and as `prompts_for` does.
    """
    unknown = [name for name in (*suites, *settings) if name not in (*SUITES, OWN, *SETTINGS)]
    if unknown or not suites or not settings:
        raise ValueError(f"{unknown[0] if unknown else 'nothing'!r} cannot be asked: give suites of "
                         f"{', '.join((*SUITES, OWN))} and settings of {', '.join(SETTINGS)}")
    for name in suites:
        is_real = name == "real-test"
        if name == OWN:
            samples = list(generate(mode, own.tasks, own.depth, own.width, per_task or OWN_PER_TASK, seed, own.size))
        elif is_real and rewritten is not None:
            samples = list(rewritten)
        else:
            samples = some_of(suite(name, seed, mode), per_task)
        if not samples:
            raise ValueError(f"the suite {name} has no sample: the rewriter named none, see rewrite_rejected.jsonl")
        size = own.size if name == OWN else SIZE
        pool = [sample for depth, width in dict.fromkeys((one.depth, one.width) for one in samples)
                for sample in generate(mode, {one.task for one in samples}, depth, width, POOL, seed + POOL_SEED, size,
                                       is_real)] if set(settings) & set(FEW_SHOT) else []
        for setting in settings:
            for n_shots in shots if setting in FEW_SHOT else [0]:
                yield prompts_for(samples, setting, n_shots, pool, seed, name)


def training_queries(arm: str, asked: Iterable[Sample], *, mode: str = "corrected", seed: int = 42,
                     per_task: int = 0) -> tuple[list[Query], int]:
    """Prompts with answers for a tuned arm, and how many were left out: `asked` has their text, or no other is shown.

    They are of v1's training split, 9 of 11 texts of its simple and its hard half, with the second seed after the
    study's; a text of depth 1 and width 1 may be so small that another seed draws it too. `per_task` as above.
    Raises ValueError for an arm that is none of TUNED.
    """
    if arm not in TUNED:
        raise ValueError(f"arm {arm!r} is not trained on StrucText-Eval: choose among {', '.join(TUNED)}")
    setting, n_shots = TUNED[arm]
    drawn = [sample for name in TRAINING_SUITES
             for sample in some_of(split(suite(name, seed + POOL_SEED + 1, mode))[0], per_task)]
    tested = {sample.reference for sample in asked}
    texts: dict[tuple, set[str]] = {}
    for sample in drawn:
        if sample.reference not in tested:
            texts.setdefault((sample.task, sample.depth, sample.width), set()).add(sample.reference)
    kept = [sample for sample in drawn if sample.reference not in tested
            and len(texts[sample.task, sample.depth, sample.width]) > n_shots]
    return as_queries(prompts_for(kept, setting, n_shots, kept, seed, "train")), len(drawn) - len(kept)


def some_of(samples: Sequence[Sample], per_task: int) -> list[Sample]:
    """The first `per_task` of each task in each depth and width, in order; all where it is 0."""
    counts: dict[tuple[str, int, int], int] = {}
    kept = []
    for sample in samples:
        cell = (sample.task, sample.depth, sample.width)
        counts[cell] = counts.get(cell, 0) + 1
        if not per_task or counts[cell] <= per_task:
            kept.append(sample)
    return kept
