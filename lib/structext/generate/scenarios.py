"""The vocabularies of Real-Test: 32 scenarios, each with things, typed fields, words and a business.

scenarios.txt has one scenario per unindented line and its continuation: name; business; things
(names of nodes); fields as name:type; words of its paragraphs. A type is `person`, `town`, `date`,
`code`, or a range with its unit: 38-75s, 0.2-3.5mm (with as many decimals as its lower end).
"""

import re
from datetime import date, timedelta
from random import Random
from typing import NamedTuple

from lib.core.paths import package_file

PEOPLE = """
Ada Ben Carla Dmitri Elif Femi Greta Hugo Ines Jonas Karin Leo Mira Nils Oona Pavel Rosa Sven Tara
Uma Vera Wim Yara Zoltan
""".split()
SURNAMES = """
Abara Berg Costa Dahl Eriksen Fontana Gruber Haas Ito Jansen Keller Lindt Moreau Novak Okafor
Petrov Quist Rossi Sato Toth Ueda Varga Weber Ziegler
""".split()
TOWNS = """
Aarhus Bergen Cardiff Dresden Esbjerg Faro Ghent Haifa Izmir Jena Kyoto Leeds Malmo Nantes Osaka
Porto Quito Riga Sofia Turin Utrecht Vilnius Wellington Xalapa York Zagreb
""".split()
VERBS = """
carries covers crosses fills follows holds keeps leaves meets needs opens reaches shows turns uses
""".split()
_STATES_OF = ("actual", "agreed", "expected", "final", "first", "last", "planned", "previous",
              "reported")
_AMOUNTS_OF = ("average", "highest", "lowest")  # of numbers only


class Field(NamedTuple):
    """A field and the type of its values."""

    name: str
    kind: str

    @property
    def qualifiers(self) -> tuple[str, ...]:
        """Words that may precede the name, so that a file has many fields, all named differently."""
        return _STATES_OF + (_AMOUNTS_OF if self.kind[0].isdigit() else ())

    def draw(self, rng: Random) -> str:
        """Draw a value of this type."""
        if self.kind == "person":
            return f"{rng.choice(PEOPLE)} {rng.choice(SURNAMES)}"
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


def _scenario(block: str) -> Scenario:
    name, business, things, fields, words = (part.strip() for part in block.split(";"))
    return Scenario(name, business, things.split(),
                    [Field(*field.split(":")) for field in fields.split()], words.split())


SCENARIOS = [_scenario(block) for block in re.split(
    r"\n(?=\S)", package_file("structext/generate/scenarios.txt").read_text("utf-8").strip())]
