"""The arms of the controlled experiment: how the private records are written, what is done to them, what is trained.

Structure is what the rotations change; an arm changes one thing more, the same in all rotations.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from lib.controlled.design.latin_square import Layout
from lib.normalize.interventions import INTERVENTIONS

RAW, NORMALIZED, NORMALIZED_BY_MODEL, PROSE = "raw", "normalized", "normalized-llm", "prose"
_LEVELS = {"far": r"far-(\d+)", "table": r"table-(\d+)x(\d+)", "planted": r"planted-([a-z0-9-]+)"}


@dataclass(frozen=True)
class Arm:
    """One arm: a layout, what `rewritten` makes of the raw document, and whether both texts are trained on."""

    name: str
    layout: Layout
    treatment: str = ""  # a key of INTERVENTIONS, NORMALIZED, NORMALIZED_BY_MODEL, or "" for raw text
    is_mixed: bool = False  # the raw text and the treated one
    is_writing: bool = True  # whether it writes in a way of its own, which a base model must have read before


def arm_named(name: str, structures: tuple[str, ...]) -> Arm:
    """The arm that `name` means, over these structures. Raises ValueError naming the legal names."""
    plain: dict[str, Callable[[], Arm]] = {
        RAW: lambda: Arm(RAW, Layout(structures)),
        "raw-2x": lambda: Arm(name, Layout(structures), is_writing=False),
        "mixed": lambda: Arm(name, Layout(structures), NORMALIZED, is_mixed=True, is_writing=False),
        PROSE: lambda: Arm(name, Layout(("natural",)), is_writing=False),  # in the four wordings of raw prose
        "low-context": lambda: Arm(name, Layout(structures, is_named=False)),
        NORMALIZED: lambda: Arm(name, Layout(structures), NORMALIZED),
        NORMALIZED_BY_MODEL: lambda: Arm(name, Layout(structures), NORMALIZED_BY_MODEL, is_writing=False)}
    if name in plain:
        return plain[name]()
    if name in INTERVENTIONS:
        is_new = name in ("repeat-header", "prefix-name")  # the others write sentences as the rules do
        return Arm(name, Layout(structures), name, is_writing=is_new)
    if found := re.fullmatch(_LEVELS["far"], name):
        return Arm(name, Layout(structures, filler_lines=int(found[1])))
    if found := re.fullmatch(_LEVELS["table"], name):
        return Arm(name, Layout(structures, table=(int(found[1]), int(found[2]))))
    if (found := re.fullmatch(_LEVELS["planted"], name)) and found[1] in structures:
        return Arm(name, Layout(structures, repeated=found[1]), is_writing=False)
    levels = ["far-20 (lines)", "table-3x5 (width x height)", *(f"planted-{structure}" for structure in structures)]
    raise ValueError(f"arm {name!r} is unknown: choose among {', '.join([*plain, *INTERVENTIONS, *levels])}")


def epochs_of(name: str) -> int:
    """How many times the epochs of other arms an arm has; its name alone says so."""
    found = re.fullmatch(r"raw-(\d+)x", name)
    return int(found[1]) if found else 1


def rotations_of(arm: Arm) -> int:
    """How many rotations an arm has: one where its layout has one structure, or tables, for all facts."""
    return 1 if arm.layout.table else len(arm.layout.structures)


def runs_of(arms: list[str], structures: tuple[str, ...], seeds: int, every_rotation: list[str]) -> list[str]:
    """The runs as names arm-rotation-seed: all rotations of an arm in `every_rotation`, else one a seed.

    A seed's one rotation is (seed - 1) mod rotations. With as many seeds as structures, an arm's facts have then stood
    in each structure, and each of its runs has a run of `raw` with the same base, rotation and order beside it.
    """
    runs = []
    for name in arms:
        rotations = rotations_of(arm_named(name, structures))
        for seed in range(1, seeds + 1):
            chosen = range(rotations) if name in every_rotation else [(seed - 1) % rotations]
            runs += [f"{name}-{rotation}-{seed}" for rotation in chosen]
    return runs


def split_run(run: str) -> tuple[str, int, int]:
    """arm, rotation and seed of a run's name. Raises ValueError for a name of another form."""
    found = re.fullmatch(r"(?P<arm>.+)-(?P<rotation>\d+)-(?P<seed>\d+)", run)
    if not found:
        raise ValueError(f"run {run!r}: a run has a name such as raw-0-1 (arm, rotation, seed)")
    return found["arm"], int(found["rotation"]), int(found["seed"])
