"""Define the arms of the controlled experiment: how records are written, treated and trained on.

The rotations change the structure. An arm changes one more thing, equally in all rotations.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lib.controlled.design.augment import Augmentation
from lib.controlled.design.latin_square import Layout
from lib.normalize.interventions import INTERVENTIONS

RAW, NORMALIZED, NORMALIZED_BY_MODEL = "raw", "normalized", "normalized-llm"
PROSE = "prose"
TWICE = "raw-2x"  # with which longer training and added texts are compared
PARAPHRASE = "paraphrase"  # a writing that a base must have read before an arm adds paraphrases
_ADDED: dict[str, Callable[[int], dict[str, object]]] = {
    r"paraphrase-(\d+)": lambda n: {"paraphrases": n},
    r"permuted-(\d+)": lambda n: {"permutations": n},
    r"pairs": lambda _: {"pairs": True},
    r"pairs-first": lambda _: {"pairs": True, "are_pairs_first": True},
    r"all-structures": lambda _: {"every_structure": True}}


@dataclass(frozen=True)
class Arm:
    """An arm: a layout, a treatment of the raw document, and whether to train on both texts."""

    name: str
    layout: Layout
    treatment: str = ""  # a key of INTERVENTIONS, NORMALIZED, NORMALIZED_BY_MODEL; "": raw text
    is_mixed: bool = False  # whether to train on both the raw text and the treated one
    is_writing: bool = True  # whether the arm has a style of its own, which a base must have read
    adds: Augmentation | None = None  # synthetic texts in addition to the raw ones


def arm_named(name: str, structures: tuple[str, ...]) -> Arm:
    """Return the arm `name` over `structures`. Raises ValueError with the legal names."""
    own = Layout(structures)
    plain: dict[str, Callable[[], Arm]] = {
        RAW: lambda: Arm(RAW, own),
        TWICE: lambda: Arm(name, own, is_writing=False),
        "mixed": lambda: Arm(name, own, NORMALIZED, is_mixed=True, is_writing=False),
        PROSE: lambda: Arm(name, Layout(("natural",)), is_writing=False),  # worded as raw prose
        PARAPHRASE: lambda: Arm(name, own, PARAPHRASE),
        "low-context": lambda: Arm(name, Layout(structures, is_named=False)),
        NORMALIZED: lambda: Arm(name, own, NORMALIZED),
        NORMALIZED_BY_MODEL: lambda: Arm(name, own, NORMALIZED_BY_MODEL, is_writing=False)}
    if name in plain:
        return plain[name]()
    if name in INTERVENTIONS:
        is_new = name in ("repeat-header", "prefix-name")  # the others write the rules' sentences
        return Arm(name, own, name, is_writing=is_new)
    if found := re.fullmatch(r"far-(\d+)", name):
        return Arm(name, Layout(structures, filler_lines=int(found[1])))
    if found := re.fullmatch(r"table-(\d+)x(\d+)", name):
        return Arm(name, Layout(structures, table=(int(found[1]), int(found[2]))))
    if (found := re.fullmatch(r"planted-([a-z0-9-]+)", name)) and found[1] in structures:
        return Arm(name, Layout(structures, repeated=found[1]), is_writing=False)
    if added := _added(name):
        return Arm(name, own, is_writing=False, adds=added)
    legal = [*plain, *INTERVENTIONS, "far-20 (lines)", "table-3x5 (width x height)",
             *(f"planted-{structure}" for structure in structures), "paraphrase-4 (per record)",
             "permuted-4", "pairs", "pairs-first", "all-structures, or several of these with +"]
    raise ValueError(f"arm {name!r} is unknown: choose among {', '.join(legal)}")


def _added(name: str) -> Augmentation | None:
    """Return what an arm such as "paraphrase-8+pairs" adds to raw text; None for another name."""
    given: dict[str, object] = {}
    for part in name.split("+"):
        found = [(match, build) for pattern, build in _ADDED.items()
                 if (match := re.fullmatch(pattern, part))]
        if not found:
            return None
        match, build = found[0]
        given |= build(int(match[1]) if match.groups() else 0)
    return Augmentation(**given)


def has_pairs(name: str) -> bool:
    """Return whether the arm trains on the questions about half of the products."""
    return bool({"pairs", "pairs-first"} & {*name.split("+")})


def epochs_of(name: str) -> int:
    """Return an arm's epochs as a multiple of the usual number: 2 for raw-2x, else 1."""
    found = re.fullmatch(r"raw-(\d+)x", name)
    return int(found[1]) if found else 1


def rotations_of(arm: Arm) -> int:
    """Return the number of an arm's rotations: 1 if all its facts share a structure or a table."""
    return 1 if arm.layout.table else len(arm.layout.structures)


def runs_of(arms: list[str], structures: tuple[str, ...], bases: Iterable[int],
            every_rotation: list[str]) -> list[str]:
    """Return the runs' names, arm-rotation-base. Arms not in `every_rotation` have one per base.

    That rotation is (base - 1) mod rotations, so three bases in a row use all three rotations of
    three structures, and each run has a run of `raw` with the same base and rotation.
    """
    runs = []
    for name in arms:
        rotations = rotations_of(arm_named(name, structures))
        for base in bases:
            chosen = range(rotations) if name in every_rotation else [(base - 1) % rotations]
            runs += [f"{name}-{rotation}-{base}" for rotation in chosen]
    return runs


def split_run(run: str) -> tuple[str, int, int]:
    """Return the arm, rotation and seed in a run's name. Raises ValueError for another form."""
    found = re.fullmatch(r"(?P<arm>.+)-(?P<rotation>\d+)-(?P<seed>\d+)", run)
    if not found:
        raise ValueError(f"run {run!r}: a run has a name such as raw-0-1 (arm, rotation, seed)")
    return found["arm"], int(found["rotation"]), int(found["seed"])
