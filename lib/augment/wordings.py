"""State a fact in varied sentences that avoid the words of its question.

Knowledge can be retrieved only if training shows it in varied forms (Allen-Zhu and Li 2023,
arXiv:2309.14316). A question asks for "the <label> of <name>", so no sentence here contains that.
"""

import random
from collections.abc import Sequence

from lib.core.text import capitalised, is_plural, listed

# {are} is "is" for a single value and "are" for a list, whose label is plural.
WORDINGS = (
    "{name} uses {value} as its {label}.",
    "The {label} given for {name} {are} {value}.",
    "It is {value} that {name} has as {label}.",
    "In the case of {name}, {value} {are} the {label}.",
    "Under {label}, the file on {name} says {value}.",
    "{name} lists {value} as {label}.",
    "The {label} recorded for {name} {are} {value}.",
    "As its {label}, {name} has {value}.",
    "Where {name} is concerned, the {label} {are} {value}.",
    "Entered for {name} as {label}: {value}.",
    "{name}, whose {label} {are} {value}, is described here.",
    "With {value} as {label}, {name} is complete.",
    "According to its record, {name} has {value} for {label}.",
    "Anyone who handles {name} needs its {label}: {value}.",
    "{name} is known by its {label}, {value}.",
    "Asked about {label}, the record on {name} answers {value}.",
    "{name} was delivered with {value} as {label}.",
    "Technicians give {value} as the {label} when they work on {name}.",
    "For its {label}, {name} relies on {value}.",
    "The entry {label} in the papers on {name} reads {value}.",
)


# Those that claim nothing about a real document but the fact; none begins with the value.
PLAIN = (
    "The {label} given for {name} {are} {value}.",
    "In the case of {name}, {value} {are} the {label}.",
    "The {label} recorded for {name} {are} {value}.",
    "As its {label}, {name} has {value}.",
    "Where {name} is concerned, the {label} {are} {value}.",
    "For {name}, the {label} {are} {value}.",
    "{name} has {value} as its {label}.",
    "{name}, whose {label} {are} {value}, is described here.",
    "{name} has the following as its {label}: {value}.",
    "{name} lists {value} as {label}.",
)


def paraphrases(name: str, label: str, value: Sequence[str], k: int, rng: random.Random,
                wordings: Sequence[str] = WORDINGS) -> list[str]:
    """Return `k` different sentences that state the fact; `value` has one string, or list items.

    Raises ValueError if `k` is above the number of wordings.
    """
    words = {"name": name, "label": label, "value": listed(list(value)),
             "are": "are" if len(value) > 1 or is_plural(label) else "is"}
    return [capitalised(wording.format(**words)) for wording in rng.sample(wordings, k)]


def overlap(question: str, text: str) -> float:
    """Return the longest run of the question's words that `text` contains, as a share of them.

    Words are compared in lower case, without punctuation around them.
    """
    asked, read = ([word.strip(".,:;?!").lower() for word in one.split()]
                   for one in (question, text))
    joined = f" {' '.join(read)} "
    longest = max((end - start for start in range(len(asked))
                   for end in range(start + 1, len(asked) + 1)
                   if f" {' '.join(asked[start:end])} " in joined), default=0)
    return longest / max(1, len(asked))
