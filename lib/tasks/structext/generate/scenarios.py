"""Read the vocabularies of Real-Test: 32 scenarios, each with things, typed fields and words."""

import re
from datetime import date, timedelta
from random import Random
from typing import NamedTuple

import yaml

from lib.core.paths import package_file

_TEXTS = yaml.safe_load(
    package_file("tasks/structext/generate/vocabularies.yaml").read_text("utf-8"))
WORDS, WOMEN, MEN, SURNAMES, TOWNS, VERBS = (
    _TEXTS[kind].split() for kind in ("words", "women", "men", "surnames", "towns", "verbs"))
_STATES_OF = ("actual", "agreed", "expected", "final", "first", "last", "planned", "previous",
              "reported")
_AMOUNTS_OF = ("average", "highest", "lowest")  # qualify numbers only


class Field(NamedTuple):
    """A field and the type of its values."""

    name: str
    kind: str

    @property
    def qualifiers(self) -> tuple[str, ...]:
        """Return words that may precede the name, so that a file can have many field names."""
        return _STATES_OF + (_AMOUNTS_OF if self.kind[0].isdigit() else ())

    def draw(self, rng: Random) -> str:
        """Draw a value of this type."""
        if self.kind == "person":
            return f"{rng.choice(WOMEN + MEN)} {rng.choice(SURNAMES)}"
        if self.kind == "town":
            return rng.choice(TOWNS)
        if self.kind == "date":
            return str(date(2021, 1, 1) + timedelta(rng.randrange(1800)))
        if self.kind == "code":
            return f"{rng.choice(SURNAMES)[:2].upper()}{rng.randrange(1000, 10000)}"
        low, high, unit = re.fullmatch(r"([\d.]+)-([\d.]+)(|\D.*)", self.kind).groups()
        decimals = len(low.partition(".")[2])
        return f"{rng.uniform(float(low), float(high)):.{decimals}f} {unit}".strip()


class Scenario(NamedTuple):
    """The vocabulary of one domain."""

    name: str
    business: str
    things: list[str]
    fields: list[Field]
    words: list[str]


SCENARIOS = [
    Scenario(one["name"], one["business"], one["things"].split(),
             [Field(*field.split(":")) for field in one["fields"].split()], one["words"].split())
    for one in _TEXTS["scenarios"]]
