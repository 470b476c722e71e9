"""What stands in the nodes of the tree: letters without meaning, or the words of one scenario (Real-Test).

The two kinds of names answer to the same calls, and neither takes part in drawing the structure: a sample of Real-Test
is a sample of Test with other names, its nesting, order, counts and relations kept. No name holds a quotation mark,
bracket, brace, asterisk, angle bracket, comma or line break, so every format can hold it bare.
"""

import itertools
from collections.abc import Collection
from random import Random

from lib.structext.generate import tree as shape
from lib.structext.generate.scenarios import PEOPLE, SCENARIOS, SURNAMES, TOWNS, VERBS, Field, Scenario, words_of

WORDS = words_of("""
anchor basket candle drum ember fiddle glove harbor island jacket kettle ladder marble needle olive
pepper quilt ribbon saddle timber umbrella violet window X-frame yarrow zipper
""")
COLORS = ("amber", "black", "brown", "green", "grey", "white")
_COMPANIES = ("Arvo", "Belmar", "Cintra", "Dovetail", "Ekko", "Fenwick", "Gault")
_STATES = ("CA", "GA", "HI", "IL", "NY", "TX", "WA")
_SERVICES = ("auth", "billing", "cart", "mail", "search", "stock", "web")
_EXTENSIONS = ("jpg", "jpeg", "png", "gif")


class Letters:
    """Abstract names: letters counted on from a start of their own in each sample."""

    companies, places, services = _COMPANIES, _STATES, _SERVICES

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def _start(self, part: int, span: int) -> int:
        return (self.seed >> 6 * part) % span

    def ids(self, count: int) -> list[str]:
        """Names of nodes."""
        return shape.ids(self._start(0, 26), count)

    def primary_keys(self, count: int) -> list[str]:
        """Names of records: a, b, …"""
        return shape.ids(0, count)

    def tags(self, count: int) -> list[str]:
        """Names of XML elements: A, B, …"""
        return shape.tags(0, count)

    def keys(self, count: int) -> list[str]:
        """Names of attributes, no two alike."""
        return shape.keys(0, count)

    def values(self, count: int, avoided: Collection[str] = ()) -> list[str]:
        """Values of attributes, no two alike, and none of `avoided`."""
        start = self._start(1, 26)
        if not avoided:
            return shape.values(start, count)
        return [value for value in shape.values(start, count + len(avoided)) if value not in avoided][:count]

    def headings(self, count: int) -> list[str]:
        """Headings of parts of a document."""
        return self.ids(count)

    def people(self, count: int) -> list[str]:
        """Names of people."""
        return shape.ids(self._start(0, 26), count)

    def flaws(self, count: int) -> list[str]:
        """What follows a colon whose key is missing."""
        return shape.ids(self._start(2, 26), count)

    def texts(self, count: int, start: int | None = None) -> list[str]:
        """One word after another through the alphabet; from the `start`-th, or a place of the sample's own."""
        return _cycle(WORDS, self._start(3, 26) if start is None else start, count)

    def bold(self, count: int) -> list[str]:
        """What is bold."""
        return _cycle(WORDS, self._start(4, 26), count)

    def body(self, count: int) -> list[str]:
        """The rest of a paragraph: words drawn with replacement."""
        return Random(self.seed).choices(WORDS, k=count)

    def images(self, count: int) -> list[str]:
        """Names of image files, no two alike."""
        kinds = Random(self.seed + 1).choices(_EXTENSIONS, k=count)
        stems = shape.ids(100 + self._start(5, 160), count)
        return [f"{stem}.{kind}" for stem, kind in zip(stems, kinds, strict=True)]


class Words:
    """Names out of one scenario's vocabulary: typed values, real units, every one unique where the letters are."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self.scenario, self.seed = scenario, seed
        rng = self._rng("places")
        self.places = tuple(rng.sample(TOWNS, 7))
        self.companies = tuple(f"{name} {scenario.business}" for name in rng.sample(SURNAMES, 7))
        self.services = _SERVICES

    def _rng(self, part: str) -> Random:
        return Random(f"{self.seed} {self.scenario.name} {part}")

    def ids(self, count: int) -> list[str]:
        """Names of nodes: things of the scenario."""
        return _distinct(self._shuffled("ids", self.scenario.things), count)

    def primary_keys(self, count: int) -> list[str]:
        """Names of records: a code of three letters and a number."""
        first = self._rng("codes").randrange(100, 800)
        return [f"{self.scenario.name[:3].upper()}-{first + number}" for number in range(count)]

    def tags(self, count: int) -> list[str]:
        """Names of XML elements."""
        return [name.title().replace("-", "") for name in self.ids(count)]

    def _fields(self, count: int) -> list[tuple[str, Field]]:
        """Names of fields and what they hold: planned_lap_time, actual_coach, …"""
        pairs = [(f"{qualifier}_{field.name}", field)
                 for field in self.scenario.fields for qualifier in field.qualifiers]
        pairs = self._shuffled("fields", pairs)
        names = _distinct([name for name, _ in pairs], count, "_")
        return [(name, pairs[place % len(pairs)][1]) for place, name in enumerate(names)]

    def keys(self, count: int) -> list[str]:
        """Names of attributes, no two alike."""
        return [name for name, _ in self._fields(count)]

    def values(self, count: int, avoided: Collection[str] = ()) -> list[str]:
        """Values that fit the type of their keys (see `keys`), no two alike, and none of `avoided`."""
        rng, taken, values, numbers = self._rng("values"), set(avoided), [], {}
        for _, field in self._fields(count):
            value = next((drawn for drawn in (field.draw(rng) for _ in range(30)) if drawn not in taken), None)
            if value is None:  # the type has too few values: number them on
                drawn = field.draw(rng)
                numbers[drawn] = next(number for number in itertools.count(numbers.get(drawn, 1) + 1)
                                      if f"{drawn} {number}" not in taken)
                value = f"{drawn} {numbers[drawn]}"
            taken.add(value)
            values.append(value)
        return values

    def headings(self, count: int) -> list[str]:
        """Headings of parts of a document."""
        return [name.replace("-", " ").capitalize() for name in self.ids(count)]

    def people(self, count: int) -> list[str]:
        """Names of people."""
        rng = self._rng("people")
        return [f"{rng.choice(PEOPLE)} {rng.choice(SURNAMES)}" for _ in range(count)]

    def flaws(self, count: int) -> list[str]:
        """What follows a colon whose key is missing."""
        return self.texts(count)

    def texts(self, count: int, start: int | None = None) -> list[str]:
        """Words of the scenario."""
        return _cycle(self._shuffled("texts", self.scenario.words), 0, count)

    def bold(self, count: int) -> list[str]:
        """What is bold."""
        return _cycle(self._shuffled("bold", self.scenario.words), 0, count)

    def body(self, count: int) -> list[str]:
        """The rest of a paragraph whose first word is a thing: clauses, cut off after `count` words."""
        rng, words = self._rng("body"), []
        while len(words) < count:
            words += [rng.choice(VERBS), "the", rng.choice(self.scenario.words), rng.choice(("while", "and")), "the",
                      rng.choice(self.scenario.words)]
        return words[:count]

    def images(self, count: int) -> list[str]:
        """Names of image files, no two alike."""
        rng = self._rng("images")
        return [f"{stem}.{rng.choice(_EXTENSIONS)}" for stem in
                _distinct(self._shuffled("image stems", self.scenario.words), count)]

    def _shuffled(self, part: str, words: Collection) -> list:
        return self._rng(part).sample(list(words), len(words))


def names_for(is_real: bool, seed: int, number: int) -> Letters | Words:
    """Letters, or the words of the scenario that comes `number`-th (from any integer; they take turns)."""
    return Words(SCENARIOS[number % len(SCENARIOS)], seed) if is_real else Letters(seed)


def _cycle(words: list[str] | tuple[str, ...], start: int, count: int) -> list[str]:
    return [words[(start + place) % len(words)] for place in range(count)]


def _distinct(words: list[str], count: int, joint: str = "-") -> list[str]:
    """`count` different words: the given ones, then the given ones numbered 2, 3, …"""
    return [words[place % len(words)] + (f"{joint}{place // len(words) + 1}" if place >= len(words) else "")
            for place in range(count)]
