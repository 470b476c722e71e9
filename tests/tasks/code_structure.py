"""A structure that is not in lib: fenced lines of `key: value`."""

import re
from dataclasses import replace

from lib.annotate.constraints import Candidate
from lib.core.structures import Structure
from lib.core.text import capitalised, is_plural, laid
from lib.normalize.rules.parts import of_code

PAIR = re.compile(r"^[ \t]*(?P<key>[A-Z][\w ]{1,40}):[ \t]+(?P<value>\S.*?)[ \t]*$", re.M)


def pairs_of(text, block):
    """Return the matches of all lines of a block, or none if it has other lines."""
    found = [*PAIR.finditer(text, block.start, block.end)]
    return found if len(found) == len(block.text.strip().splitlines()) else []


def ask(site):
    """Ask for the value of each key."""
    found = pairs_of(site.text, site.block)
    if not found:
        yield "the code is more than keys and values"
    for pair in found:
        label = pair["key"].lower()
        forms = site.place.attribute(label, "are" if is_plural(label) else "is")
        yield Candidate(forms, pair["value"], "code", pair.start("key"), pair.end())


def rewrite(source):
    """Write each line as a sentence; other code stays as it is."""
    found = pairs_of(source.text, source.block)
    if not found:
        yield from of_code(source)
    for pair in found:
        yield replace(source.blank, kind="row", start=pair.start("key"), end=pair.end(),
                      header=("Property", "Value"), cells=pair.groups(), text=pair[0].strip())


def write(facts, rng):
    """Write facts as the lines of a fenced block."""
    return laid([f"{capitalised(fact.label)}: {', '.join(fact.value)}" for fact in facts],
                "```\n", "\n", "\n```")


CODE = Structure("code", "code", "code", ask, rewrite, write, ("Facts", "Parameters", "Info"))
