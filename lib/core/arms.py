"""Names of arms: sort them, and tell which arms are trained and with which seed (`dapt@2`)."""

import re
from collections.abc import Iterable

BASE = "base"  # the base model, untrained
ARMS = (BASE, "dapt", "dapt-n")  # of a study that names none
AUGMENTED = "dapt-a"  # raw text with what 02_augment made of it
RAW_ARMS = ("dapt", AUGMENTED)  # they train on the records' own words
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


def is_trained(name: str) -> bool:
    """Return whether 03_train trains this arm, which may be a variant such as tuned-hint.

    Raises ValueError as `split_arm` does.
    """
    arm = split_arm(name)[0]
    return arm in ("dapt", "dapt-n", AUGMENTED, "tuned") or arm.startswith("tuned-")


def repeated(arm: str, seeds: int) -> list[str]:
    """Return the names of `arm` trained with each of `seeds` seeds."""
    return [arm, *(f"{arm}@{number}" for number in range(2, seeds + 1))]


def sorted_arms(arms: Iterable[str]) -> list[str]:
    """Sort arms as every table does (dapt, dapt@2, dapt-n, dapt-a, others); drop duplicates."""
    unique = list(dict.fromkeys(arms))
    kinds = list(dict.fromkeys([*ARMS, AUGMENTED, *(split_arm(arm)[0] for arm in unique)]))
    return sorted(unique, key=lambda arm: (kinds.index(split_arm(arm)[0]), split_arm(arm)[1]))
