"""Name the nodes of the tree by letters without meaning, or by words of 32 scenarios (Real-Test).

Both kinds of names have the same methods, and neither affects the structure. A sample of Real-Test
is therefore a sample of Test with other names and the same nesting, order, counts and relations. No
name contains a quotation mark, bracket, brace, asterisk, angle bracket, comma or line break, so
every format can hold it unquoted.
"""

import itertools
import re
from collections.abc import Collection
from datetime import date, timedelta
from functools import partialmethod
from random import Random
from typing import NamedTuple

import yaml

from lib.core.store import package_file
from lib.tasks.structext.generate import tree

_TEXTS = yaml.safe_load(
    package_file("tasks/structext/generate/vocabularies.yaml").read_text("utf-8")
)
WORDS, WOMEN, MEN, SURNAMES, TOWNS, VERBS = (
    _TEXTS[kind].split() for kind in ("words", "women", "men", "surnames", "towns", "verbs")
)
_STATES_OF = (
    "actual",
    "agreed",
    "expected",
    "final",
    "first",
    "last",
    "planned",
    "previous",
    "reported",
)
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
    Scenario(
        one["name"],
        one["business"],
        one["things"].split(),
        [Field(*field.split(":")) for field in one["fields"].split()],
        one["words"].split(),
    )
    for one in _TEXTS["scenarios"]
]


COLORS = ("amber", "black", "brown", "green", "grey", "white")
_COMPANIES = ("Arvo", "Belmar", "Cintra", "Dovetail", "Ekko", "Fenwick", "Gault")
_STATES = ("CA", "GA", "HI", "IL", "NY", "TX", "WA")
_EXTENSIONS = ("jpg", "jpeg", "png", "gif")


class Letters:
    """Abstract names: letters counted from a start that differs between samples.

    Each method returns `count` names.
    """

    companies, places = _COMPANIES, _STATES

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def _start(self, part: int, span: int = 26) -> int:
        return (self.seed >> 6 * part) % span

    def ids(self, count: int, n_starts: int = 26) -> list[str]:
        """Name nodes, from one of the first `n_starts` names on."""
        return tree.ids(self._start(0, n_starts), count)

    def primary_keys(self, count: int) -> list[str]:
        """Name records: a, b, …"""
        return tree.ids(0, count)

    def tags(self, count: int, start: int | None = None) -> list[str]:
        """Name XML elements: A, B, … from the `start`-th or from a seeded place."""
        return tree.tags(self._start(0) if start is None else start, count)

    def keys(self, count: int) -> list[str]:
        """Name attributes, all different."""
        return tree.keys(0, count)

    def values(self, count: int, avoided: Collection[str] = ()) -> list[str]:
        """Give attributes values, all different and not in `avoided`."""
        values = tree.values(self._start(1), count + len(avoided))
        return [value for value in values if value not in avoided][:count]

    def headings(self, count: int) -> list[str]:
        """Name sections of a document."""
        return self.ids(count)

    def women(self, count: int, n_others: int = 0) -> list[str]:
        """Name women, or men, after `n_others` people."""
        return tree.ids(self._start(0) + n_others, count)

    men = women

    def flaws(self, count: int) -> list[str]:
        """Name what follows a colon whose key is missing."""
        return tree.ids(self._start(2), count)

    def texts(self, count: int, start: int | None = None) -> list[str]:
        """Return words in alphabetical order, from the `start`-th or from a seeded place."""
        return _cycle(WORDS, self._start(3) if start is None else start, count)

    def bold(self, count: int) -> list[str]:
        """Return texts to be set in bold, all different: words, then two words, as official."""
        return tree.Counted(WORDS, " ")(self._start(4), count)

    def body(self, count: int) -> list[str]:
        """Draw words with replacement for the rest of a paragraph."""
        return Random(self.seed).choices(WORDS, k=count)

    def images(self, count: int) -> list[str]:
        """Name image files, all different."""
        kinds = Random(self.seed + 1).choices(_EXTENSIONS, k=count)
        stems = tree.ids(100 + self._start(5, 160), count)
        return [f"{stem}.{kind}" for stem, kind in zip(stems, kinds, strict=True)]


class Words:
    """Names from one scenario's vocabulary, typed and with units, as distinct as the letters.

    The methods are those of `Letters`.
    """

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self.scenario, self.seed = scenario, seed
        rng = self._rng("places")
        self.places = tuple(rng.sample(TOWNS, 7))
        self.companies = tuple(f"{name} {scenario.business}" for name in rng.sample(SURNAMES, 7))

    def _rng(self, part: str) -> Random:
        return Random(f"{self.seed} {self.scenario.name} {part}")

    def _shuffled(self, part: str, words: Collection) -> list:
        return self._rng(part).sample(list(words), len(words))

    def ids(self, count: int, n_starts: int = 0) -> list[str]:
        """Name nodes: things of the scenario."""
        return _distinct(self._shuffled("ids", self.scenario.things), count)

    def primary_keys(self, count: int) -> list[str]:
        """Name records: a code of three letters and a number."""
        first = self._rng("codes").randrange(100, 800)
        return [f"{self.scenario.name[:3].upper()}-{first + number}" for number in range(count)]

    def tags(self, count: int, start: int | None = None) -> list[str]:
        """Name XML elements."""
        return [name.title().replace("-", "") for name in self.ids(count)]

    def _fields(self, count: int) -> list[tuple[str, Field]]:
        pairs = self._shuffled(
            "fields",
            [
                (f"{qualifier}_{field.name}", field)
                for field in self.scenario.fields
                for qualifier in field.qualifiers
            ],
        )
        names = _distinct([name for name, _ in pairs], count, "_")
        return [(name, pairs[place % len(pairs)][1]) for place, name in enumerate(names)]

    def keys(self, count: int) -> list[str]:
        """Name attributes, all different."""
        return [name for name, _ in self._fields(count)]

    def values(self, count: int, avoided: Collection[str] = ()) -> list[str]:
        """Give the attributes of `keys` typed values, all different and not in `avoided`."""
        rng, taken, values, numbers = self._rng("values"), set(avoided), [], {}
        for _, field in self._fields(count):
            draws = (field.draw(rng) for _ in range(30))
            value = next((drawn for drawn in draws if drawn not in taken), None)
            if value is None:  # the type has too few values: number them
                drawn = field.draw(rng)
                numbers[drawn] = next(
                    number
                    for number in itertools.count(numbers.get(drawn, 1) + 1)
                    if f"{drawn} {number}" not in taken
                )
                value = f"{drawn} {numbers[drawn]}"
            taken.add(value)
            values.append(value)
        return values

    def headings(self, count: int) -> list[str]:
        """Name sections of a document."""
        return [name.replace("-", " ").capitalize() for name in self.ids(count)]

    def _people(self, first_names: list[str], count: int, n_others: int = 0) -> list[str]:
        rng = self._rng(first_names[0])
        return [f"{rng.choice(first_names)} {rng.choice(SURNAMES)}" for _ in range(count)]

    women, men = partialmethod(_people, WOMEN), partialmethod(_people, MEN)

    def flaws(self, count: int) -> list[str]:
        """Name what follows a colon whose key is missing."""
        return self.texts(count)

    def texts(self, count: int, start: int | None = None) -> list[str]:
        """Return words of the scenario."""
        return _cycle(self._shuffled("texts", self.scenario.words), 0, count)

    def bold(self, count: int) -> list[str]:
        """Return texts to be set in bold, all different."""
        return tree.Counted(self._shuffled("bold", self.scenario.words), " ")(0, count)

    def body(self, count: int) -> list[str]:
        """Draw clauses for a paragraph after its first word; cut them after `count` words."""
        rng, nouns, words = self._rng("body"), self.scenario.words, []
        while len(words) < count:
            words += [
                rng.choice(VERBS),
                "the",
                rng.choice(nouns),
                rng.choice(("while", "and")),
                "the",
                rng.choice(nouns),
            ]
        return words[:count]

    def images(self, count: int) -> list[str]:
        """Name image files, all different."""
        rng, stems = self._rng("images"), self._shuffled("image stems", self.scenario.words)
        return [f"{stem}.{rng.choice(_EXTENSIONS)}" for stem in _distinct(stems, count)]


def names_for(is_real: bool, seed: int, number: int) -> Letters | Words:
    """Return letters, or the words of scenario `number` (modulo the number of scenarios)."""
    return Words(SCENARIOS[number % len(SCENARIOS)], seed) if is_real else Letters(seed)


def _cycle(words: list[str], start: int, count: int) -> list[str]:
    return [words[(start + place) % len(words)] for place in range(count)]


def _distinct(words: list[str], count: int, joint: str = "-") -> list[str]:
    rounds = (divmod(place, len(words)) for place in range(count))
    return [words[place] + (f"{joint}{number + 1}" if number else "") for number, place in rounds]
