"""What a study asks of StrucText-Eval: which samples of which suites in which prompts, and what is learned before."""

from collections.abc import Iterable, Iterator, Sequence

from lib.records import Query
from lib.structext.ask import FEW_SHOT, SETTINGS, Asked, as_queries, prompts_for
from lib.structext.generate import SUITES, generate, split, suite
from lib.structext.records import Sample

POOL = 24  # samples of each task that demonstrations are drawn from, in each depth and width
POOL_SEED = 1  # added to a study's seed, so that no demonstration has the structure of a text that is asked about
TUNED = {"tuned": ("base", 0), "tuned-hint": ("hint", 0), "tuned-few-shot": ("few-shot", 2)}  # arm -> setting and shots
TRAINING_SUITES = ("v1-simple", "v1-hard")


def asked_in(suites: Sequence[str], settings: Sequence[str], shots: Sequence[int], *, mode: str = "corrected",
             seed: int = 42, per_task: int = 0, rewritten: Sequence[Sample] = ()) -> Iterator[list[Asked]]:
    """The prompts of a study, a list for each suite, setting and number of shots.

    `rewritten` are the samples of Real-Test where a model has named things in them; demonstrations have the names of
    the rules' scenarios all the same. `per_task` is the most samples of a task in a depth and width; 0: all that the
    suite has. Real-Test has the structures of Test, sample by sample. Raises ValueError for an unknown suite or
    setting, and as `prompts_for` does.
    """
    unknown = [name for name in (*suites, *settings) if name not in (*SUITES, *SETTINGS)]
    if unknown or not suites or not settings:
        raise ValueError(f"{unknown[0] if unknown else 'nothing'!r} cannot be asked: give suites of "
                         f"{', '.join(SUITES)} and settings of {', '.join(SETTINGS)}")
    for name in suites:
        is_real = name == "real-test"
        samples = list(rewritten) if is_real and rewritten else some_of(suite(name, seed, mode), per_task)
        pool = [sample for depth, width in dict.fromkeys((one.depth, one.width) for one in samples)
                for sample in generate(mode, None, depth, width, POOL, seed + POOL_SEED, is_real=is_real)
                ] if set(settings) & set(FEW_SHOT) else []
        for setting in settings:
            for n_shots in shots if setting in FEW_SHOT else [0]:
                yield prompts_for(samples, setting, n_shots, pool, seed, name)


def training_queries(arm: str, asked: Iterable[Sample], *, mode: str = "corrected", seed: int = 42,
                     per_task: int = 0) -> tuple[list[Query], int]:
    """Prompts with answers for a tuned arm, and how many were left out because `asked` has the same question and text.

    They are of v1's training split, 9 of 11 texts of its simple and its hard half, with the second seed after the
    study's; a text of depth 1 and width 1 may be so small that another seed draws it too. `per_task` as above.
    Raises ValueError for an arm that is none of TUNED.
    """
    if arm not in TUNED:
        raise ValueError(f"arm {arm!r} is not trained on StrucText-Eval: choose among {', '.join(TUNED)}")
    setting, n_shots = TUNED[arm]
    drawn = [sample for name in TRAINING_SUITES
             for sample in some_of(split(suite(name, seed + POOL_SEED + 1, mode))[0], per_task)]
    tested = {(sample.reference, sample.question) for sample in asked}
    kept = [sample for sample in drawn if (sample.reference, sample.question) not in tested]
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
