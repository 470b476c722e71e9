"""Names of arms: which are trained, and those of one that is so several times: `dapt`, then `dapt@2`, `dapt@3`."""

import re

TRAINED_ARMS = ("dapt", "dapt-n", "tuned")  # by 03_train; any other arm is a model that is taken as it is
_NAME = re.compile(r"(?P<arm>[^@]+)(?:@(?P<number>[2-9]|[1-9]\d+))?")


def split_arm(name: str) -> tuple[str, int]:
    """The arm and which of its trainings a name means: ("dapt", 1) of "dapt", ("dapt", 3) of "dapt@3".

    Raises ValueError for a name of another form.
    """
    found = _NAME.fullmatch(name)
    if not found:
        raise ValueError(f"arm {name!r}: an arm has a name such as dapt, trained again with another seed dapt@2")
    return found["arm"], int(found["number"] or 1)


def is_trained(name: str) -> bool:
    """Whether 03_train makes this arm's model; so it does of kinds of `tuned`, such as tuned-hint.

    Raises ValueError as `split_arm` does.
    """
    arm = split_arm(name)[0]
    return arm in TRAINED_ARMS or arm.startswith("tuned-")


def repeated(arm: str, seeds: int) -> list[str]:
    """The names of `arm` trained with that many seeds."""
    return [arm, *(f"{arm}@{number}" for number in range(2, seeds + 1))]
