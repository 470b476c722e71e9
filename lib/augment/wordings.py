"""State a fact in varied sentences that avoid the words of its question.

Knowledge can be retrieved only if training shows it in varied forms (Allen-Zhu and Li 2023,
arXiv:2309.14316). A question asks for "the <label> of <name>", so no sentence here contains that.
"""

import random
from collections.abc import Sequence

from lib.core.text import capitalised, is_plural, listed

# {are} is "is" for a single value and "are" for a list, whose label is plural. The value is last:
# one that comes first would test reverse recall, which a model does not have in any structure.
WORDINGS = (
    "The {label} given for {name} {are} {value}.",
    "The {label} recorded for {name} {are} {value}.",
    "As its {label}, {name} has {value}.",
    "Where {name} is concerned, the {label} {are} {value}.",
    "For {name}, the {label} {are} {value}.",
    "{name}, whose {label} {are} {value}, is described here.",
    "{name} has the following as its {label}: {value}.",
    "In the case of {name}, the {label} {are} {value}.",
    "With regard to its {label}, {name} has {value}.",
    "What {name} has as its {label} {are} {value}.",
    "According to the record on {name}, its {label} {are} {value}.",
    "Listed for {name} as {label}: {value}.",
)


def worded(wording: str, name: str, label: str, value: Sequence[str]) -> str:
    """Return the sentence that states a fact; `value` has one string, or list items."""
    are = "are" if len(value) > 1 or is_plural(label) else "is"
    return capitalised(wording.format(name=name, label=label, value=listed(list(value)), are=are))


def paraphrases(
    name: str, label: str, value: Sequence[str], k: int, rng: random.Random
) -> list[str]:
    """Return `k` different sentences. Raises ValueError if there are fewer WORDINGS."""
    chosen = rng.sample(WORDINGS, k)
    return [worded(wording, name, label, value) for wording in chosen]
