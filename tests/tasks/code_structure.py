"""A structure that is not in lib: fenced lines of `key: value`."""

import re

from lib.annotate.constraints import Candidate
from lib.core.structures import Structure
from lib.core.text import capitalised, is_plural, laid

PAIR = re.compile(r"^[ \t]*(?P<key>[A-Z][\w ]{1,40}):[ \t]+(?P<value>\S.*?)[ \t]*$", re.M)


def pairs_of(text, block):
    """Return the matches of all lines of a block, or none if it has other lines."""
    found = [*PAIR.finditer(text, block.start, block.end)]
    return found if len(found) == len(block.text.strip().splitlines()) else []


def ask(site):
    """Ask for the value of each key."""
    for pair in pairs_of(site.text, site.block):
        label = pair["key"].lower()
        verb = "are" if is_plural(label) else "is"
        yield Candidate(
            f"{site.place()}what {verb} the {label}?",
            pair["value"],
            "code",
            pair.start("key"),
            pair.end(),
            rule="code",
        )


def rewrite(site):
    """Write each line as a sentence; other code stays as it is."""
    for pair in pairs_of(site.text, site.block):
        yield pair.start("key"), f"The {pair['key'].lower()} is {pair['value']}."


def write(facts, rng):
    """Write facts as the lines of a fenced block."""
    return laid(
        [f"{capitalised(fact.subject)}: {', '.join(fact.value)}" for fact in facts],
        "```\n",
        "\n",
        "\n```",
    )


CODE = Structure("code", "code", "code", ask, rewrite, write)
