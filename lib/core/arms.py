"""Names of arms: their order, which are trained, on what texts and with which seed (`dapt@2`)."""

import re
from collections.abc import Iterable

BASE = "base"  # the base model, untrained
ARMS = (BASE, "dapt", "dapt-n")  # of a study that names none
RAW, REWRITTEN, AUGMENTED, MIXED, REPLAYED, REPLIES = TEXTS = (
    "raw",
    "rewritten",
    "augmented",
    "mixed",
    "replayed",
    "replies",
)
_TEXTS_OF = {"dapt": RAW, "dapt-n": REWRITTEN, "dapt-a": AUGMENTED}  # unless a study names others
_LABELS = {
    "dapt": "raw text",
    "dapt-n": "rewritten text",
    "dapt-a": "augmented text",
    "dapt-lists": "lists and tables rewritten",
    "dapt-other": "other texts",
    "open": "base, open book",
}
ALL = "all"  # the row of all structures together, last in every table
_NAME = re.compile(r"(?P<arm>[^@]+)(?:@(?P<number>[2-9]|[1-9]\d+))?")


def split_arm(name: str) -> tuple[str, int]:
    """Return the arm and the number of its training run: ("dapt", 3) for "dapt@3", 1 for "dapt".

    Raises ValueError if `name` has any other form.
    """
    found = _NAME.fullmatch(name)
    if not found:
        raise ValueError(f"{name!r} is not an arm's name: write dapt, or dapt@2 for a second seed")
    return found["arm"], int(found["number"] or 1)


def arm_label(name: str) -> str:
    """Return what a person reads for an arm: "raw text, seed 2" for dapt@2, "raw text, open book"
    for open-dapt; others as they are."""
    arm, _, number = name.partition("@")
    label = _LABELS.get(arm) or _LABELS.get(arm.removeprefix("open-"), arm)
    is_open = arm.startswith("open-") and label != arm
    return label + ", open book" * is_open + (f", seed {number}" if number else "")


def is_trained(name: str) -> bool:
    """Return whether 03_train trains this arm: its name is or begins with dapt or tuned.

    Raises ValueError as `split_arm` does.
    """
    return split_arm(name)[0].split("-")[0] in ("dapt", "tuned")


def texts_of(name: str, named: str = "") -> str:
    """Return what a trained arm learns: `named`, or one of TEXTS by its name; "" if unknown."""
    arm = split_arm(name)[0]
    return named or (REPLIES if arm.startswith("tuned") else _TEXTS_OF.get(arm, ""))


def sorted_arms(arms: Iterable[str]) -> list[str]:
    """Sort arms as every table does (dapt, dapt@2, dapt-n, dapt-a, others); drop duplicates."""
    unique = list(dict.fromkeys(arms))
    kinds = list(dict.fromkeys([*ARMS, *_TEXTS_OF, *(split_arm(arm)[0] for arm in unique)]))
    return sorted(unique, key=lambda arm: (kinds.index(split_arm(arm)[0]), split_arm(arm)[1]))
