"""Arms of the controlled experiment: how records are written, treated and trained on.

The rotations change the structure. An arm changes one more thing, equally in all rotations.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lib.controlled.design.augment import Augmentation

RAW, NORMALIZED = "raw", "normalized"
TWICE, MIXED = "raw-2x", "mixed"  # longer training and added texts are compared with raw-2x
PARAPHRASE = "paraphrase"  # a writing that a base must have read before an arm adds paraphrases
_ADDED: dict[str, Callable[[int], dict[str, object]]] = {
    r"paraphrase-(\d+)": lambda n: {"paraphrases": n},
    r"permuted-(\d+)": lambda n: {"permutations": n},
    r"pairs": lambda _: {"pairs": True},
    r"pairs-first": lambda _: {"pairs": True, "are_pairs_first": True},
    r"all-structures": lambda _: {"every_structure": True},
}


@dataclass(frozen=True)
class Arm:
    """An arm: a treatment of the raw document, and whether to train on both texts."""

    name: str
    treatment: str = ""  # NORMALIZED or PARAPHRASE; "": raw text
    is_mixed: bool = False  # whether to train on both the raw text and the treated one
    adds: Augmentation | None = None  # synthetic texts in addition to the raw ones

    @property
    def writing(self) -> str:
        """The style that a base must have read before this arm; "" for that of raw text."""
        if self.adds:
            return PARAPHRASE if self.adds.paraphrases else ""
        return self.treatment


ARMS = {
    arm.name: arm
    for arm in (
        Arm(RAW),
        Arm(TWICE),
        Arm(NORMALIZED, NORMALIZED),
        Arm(MIXED, NORMALIZED, is_mixed=True),
        Arm(PARAPHRASE, PARAPHRASE),
    )
}


def arm_named(name: str) -> Arm:
    """Return the arm `name`. Raises ValueError with the legal names."""
    if name in ARMS:
        return ARMS[name]
    if added := _added(name):
        return Arm(name, adds=added)
    raise ValueError(
        f"arm {name!r} is unknown: choose among {', '.join(ARMS)}, paraphrase-4 (per "
        "record), permuted-4, pairs, pairs-first, all-structures, or several of these "
        "with +"
    )


def _added(name: str) -> Augmentation | None:
    given: dict[str, object] = {}
    for part in name.split("+"):
        found = [
            (match, build)
            for pattern, build in _ADDED.items()
            if (match := re.fullmatch(pattern, part))
        ]
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
    return 2 if name == TWICE else 1


def runs_of(
    arms: list[str], n_rotations: int, bases: Iterable[int], every_rotation: list[str]
) -> list[str]:
    """Return the runs' names, arm-rotation-base. Arms not in `every_rotation` have one per base.

    That rotation is (base - 1) mod n_rotations, so each run has a run of `raw` with the same base
    and rotation.
    """
    return [
        f"{name}-{rotation}-{base}"
        for name in arms
        for base in bases
        for rotation in (
            range(n_rotations) if name in every_rotation else [(base - 1) % n_rotations]
        )
    ]


def split_run(run: str) -> tuple[str, int, int]:
    """Return the arm, rotation and seed in a run's name. Raises ValueError for another form."""
    found = re.fullmatch(r"(?P<arm>.+)-(?P<rotation>\d+)-(?P<seed>\d+)", run)
    if not found:
        raise ValueError(f"run {run!r}: a run has a name such as raw-0-1 (arm, rotation, seed)")
    return found["arm"], int(found["rotation"]), int(found["seed"])
