"""Plan the prompts of a study (suites × settings) and the training queries of tuned arms."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from lib.core.files import made_by
from lib.core.records import Query
from lib.structext.ask.prompts import FEW_SHOT, SETTINGS, Prompted, as_queries, prompts_for
from lib.structext.generate.samples import SIZE, SUITES, generate, split, suite
from lib.structext.records import Sample

POOL = 24  # samples per task, depth and width from which demonstrations are drawn
POOL_SEED = 1  # added to a study's seed: no demonstration has the structure of a tested text
TUNED = {"tuned": ("base", 0), "tuned-hint": ("hint", 0),
         "tuned-few-shot": ("few-shot", 2)}  # arm -> setting and shots
OWN, OWN_PER_TASK = "own", 16  # a suite with custom dials; its default samples per task
TRAINING_SUITES = ("v1-simple", "v1-hard")


class Own(NamedTuple):
    """The suite OWN: tasks or languages (json.3, toml), and its dials."""

    tasks: Sequence[str]
    depth: int
    width: int
    size: int


def asked_in(suites: Sequence[str], settings: Sequence[str], shots: Sequence[int], *,
             mode: str = "corrected", seed: int = 42, per_task: int = 0,
             rewritten: Sequence[Sample] | None = None,
             own: Own | None = None) -> Iterator[list[Prompted]]:
    """Yield the prompts of a study, one list per suite, setting and number of shots.

    `rewritten` is Real-Test with names from a model, if one was asked for them; demonstrations have
    names from the rules. `own` defines the suite OWN. `per_task` limits the samples per task, depth
    and width; 0 means no limit. Real-Test has the structures of Test, sample by sample. Raises
    ValueError for an unknown suite or setting, for a suite without samples, and as `prompts_for`
    does.
    """
    unknown = [name for name in (*suites, *settings) if name not in (*SUITES, OWN, *SETTINGS)]
    if unknown or not suites or not settings:
        raise ValueError(f"{unknown[0] if unknown else 'nothing'!r} cannot be asked: choose suites "
                         f"({', '.join((*SUITES, OWN))}) and settings ({', '.join(SETTINGS)})")
    for name in suites:
        is_real, size = name == "real-test", own.size if name == OWN else SIZE
        if name == OWN:
            samples = list(generate(mode, own.tasks, own.depth, own.width,
                                    per_task or OWN_PER_TASK, seed, size))
        elif is_real and rewritten is not None:
            samples = list(rewritten)
        else:
            samples = some_of(suite(name, seed, mode), per_task)
        if not samples:
            raise ValueError(f"the suite {name} has no sample: the rewriter rewrote none; see "
                             f"rewrite_rejected.jsonl of {made_by('rewrite_rejected')}")
        pool = []
        if set(settings) & set(FEW_SHOT):
            tasks = {one.task for one in samples}
            pool = [sample for depth, width in dict.fromkeys(one.cell[1:] for one in samples)
                    for sample in generate(mode, tasks, depth, width, POOL, seed + POOL_SEED, size,
                                           is_real)]
        for setting in settings:
            for n_shots in shots if setting in FEW_SHOT else [0]:
                yield prompts_for(samples, setting, n_shots, pool, seed, name)


def training_queries(arm: str, tested: Iterable[Sample], *, mode: str = "corrected",
                     seed: int = 42, per_task: int = 0) -> tuple[list[Query], int]:
    """Return prompts with answers for a tuned arm, and the number of samples left out.

    The samples are v1's training split (9 of 11 texts of its simple and hard halves), drawn with
    the study's seed + 2. A sample is left out if its text is in `tested`, because another seed may
    draw the same small text (depth 1, width 1), or if no other is left as a demonstration.
    `per_task` is as in `asked_in`. Raises ValueError for an arm that is not in TUNED.
    """
    if arm not in TUNED:
        raise ValueError(f"arm {arm!r} is not trained on StrucText-Eval: choose one of "
                         f"{', '.join(TUNED)}")
    setting, n_shots = TUNED[arm]
    drawn = [sample for name in TRAINING_SUITES for sample in some_of(
        split(suite(name, seed + POOL_SEED + 1, mode))[0], per_task)]
    tested = {sample.reference for sample in tested}
    new = [sample for sample in drawn if sample.reference not in tested]
    texts: dict[tuple, set[str]] = {}
    for sample in new:
        texts.setdefault(sample.cell, set()).add(sample.reference)
    kept = [sample for sample in new if len(texts[sample.cell]) > n_shots]
    queries = as_queries(prompts_for(kept, setting, n_shots, kept, seed, "train"))
    return queries, len(drawn) - len(kept)


def some_of(samples: Sequence[Sample], per_task: int) -> list[Sample]:
    """Return the first `per_task` of each task, depth and width, in order; all if 0."""
    counts: dict[tuple[str, int, int], int] = {}
    kept = []
    for sample in samples:
        counts[sample.cell] = counts.get(sample.cell, 0) + 1
        if not per_task or counts[sample.cell] <= per_task:
            kept.append(sample)
    return kept
