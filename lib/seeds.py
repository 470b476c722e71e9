"""Names of an arm that is trained several times: `dapt` with the first seed, then `dapt@2`, `dapt@3`."""

import re

_NAME = re.compile(r"(?P<arm>[^@]+)(?:@(?P<number>[2-9]|[1-9]\d+))?")


def split_arm(name: str) -> tuple[str, int]:
    """The arm and which of its trainings a name means: ("dapt", 1) of "dapt", ("dapt", 3) of "dapt@3".

    Raises ValueError for a name of another form.
    """
    found = _NAME.fullmatch(name)
    if not found:
        raise ValueError(f"arm {name!r}: an arm has a name such as dapt, trained again with another seed dapt@2")
    return found["arm"], int(found["number"] or 1)


def repeated(arm: str, seeds: int) -> list[str]:
    """The names of `arm` trained with that many seeds."""
    return [arm, *(f"{arm}@{number}" for number in range(2, seeds + 1))]
