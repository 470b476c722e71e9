"""Samples, languages and tasks of StrucText-Eval, and the words of its texts and questions.

A sample of Real-Test is a sample of Test with other names and the same nesting, order, counts and
relations. No name contains a quotation mark, bracket, brace, asterisk, angle bracket, comma or line
break, so every format can hold it unquoted. The sentences are in questions.yaml.
"""

import re
from collections.abc import Collection, Sequence
from datetime import date, timedelta
from random import Random
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import yaml

from lib.core.records import Record
from lib.core.store import package_file

MODES = ("corrected", "faithful")
BLIND = "blind"  # the arm that reads nothing, the floor of every study

_WORDING = yaml.safe_load(package_file("structext/questions.yaml").read_text("utf-8"))
LANGUAGES = tuple(_WORDING["kinds"])  # in the benchmark's order
TASKS = {  # 29 tasks, such as "json.3", -> kind
    f"{language}.{index}": kind
    for language, kinds in _WORDING["kinds"].items()
    for index, kind in enumerate(kinds)
}


class Sample(Record):
    """A question about a structured text, with the generator's answer."""

    id: str
    language: str
    task: str  # language and position, such as "json.3"
    depth: int
    width: int | float
    question: str
    reference: str  # the structured text
    answer: str
    hint: str  # how to find the answer, as text; the same for all samples of a task

    @property
    def text_id(self) -> str:
        """Return an id that all questions on a text share; every official sample has its own."""
        return self.id.replace(f"-{self.task}-", f"-{self.language}-", 1)

    @property
    def cell(self) -> tuple[str, int, float]:
        """Return task, depth and width."""
        return self.task, self.depth, self.width

    @property
    def nodes(self) -> int:
        """Return v1's "number of nodes", which follows from the depth."""
        per_level, others = _NODES[self.language]
        return per_level * self.depth + others


_TEXTS = yaml.safe_load(package_file("structext/vocabularies.yaml").read_text("utf-8"))
WORDS, COLORS, WOMEN, MEN, SURNAMES, TOWNS = (
    _TEXTS[kind] for kind in ("words", "colors", "women", "men", "surnames", "towns")
)
NO_BOLD = "The file holds no bold text."
NO_IMAGE = "The file includes no image."
_V1 = yaml.safe_load(package_file("structext/v1.yaml").read_text("utf-8"))
_WORDING["v1"], _NODES = _V1["questions"], _V1["nodes"]
V1: dict[str, dict[str, tuple[int, float, float]]] = _V1["dials"]  # suite -> language -> dials


def _filled(templates: dict[str, list[str]], task: str) -> str:
    language, index = task.split(".")
    text = templates[language][int(index)]
    for slot in ("file", "extent", "flaw"):
        text = text.replace(f"{{{slot}}}", _WORDING[f"{slot}s"].get(language, ""))
    return text


PATTERNS: dict[str, list[str]] = _WORDING["patterns"]  # of questions, by language
HINTS = {task: _filled(_WORDING["hints"], task) for task in TASKS}
PROCEDURES = {task: _filled(_WORDING["procedures"], task) for task in TASKS}
QUESTIONS = {
    mode: {task: _filled(_WORDING["corrected"] | _WORDING[mode], task) for task in TASKS}
    for mode in (*MODES, "v1")
}


SCENARIOS: list[dict[str, Any]] = _TEXTS["scenarios"]  # the vocabularies of domains


def _drawn(kind: str, rng: Random) -> str:
    if kind == "person":
        return f"{rng.choice(WOMEN + MEN)} {rng.choice(SURNAMES)}"
    if kind == "town":
        return rng.choice(TOWNS)
    if kind == "date":
        return str(date(2021, 1, 1) + timedelta(rng.randrange(1800)))
    if kind == "code":
        return f"{rng.choice(SURNAMES)[:2].upper()}{rng.randrange(1000, 10000)}"
    low, high, unit = re.fullmatch(r"([\d.]+)-([\d.]+)(|\D.*)", kind).groups()
    decimals = len(low.partition(".")[2])
    return f"{rng.uniform(float(low), float(high)):.{decimals}f} {unit}".strip()


def count_in(digits: Sequence[str], start: int, count: int, joint: str = "") -> list[str]:
    """Return names that count in `digits`, smallest first, as official files do: a, …, z, ab."""
    names = []
    for number in range(start, start + count):
        name = digits[number % len(digits)]
        while number := number // len(digits):
            name += joint + digits[number % len(digits)]
        names.append(name)
    return names


class Names:
    """Names of a text's parts: letters from a seeded start, or the words of a scenario.

    Each method returns `count` names. None affects the structure.
    """

    def __init__(self, seed: int, scenario: dict[str, Any] | None = None) -> None:
        self.seed, self.scenario = seed, scenario
        self.companies, self.places = _TEXTS["companies"], _TEXTS["states"]
        if scenario:
            rng = self._rng("places")
            self.places = rng.sample(TOWNS, 7)
            self.companies = [f"{name} {scenario['business']}" for name in rng.sample(SURNAMES, 7)]

    def _start(self, part: int, span: int = 26) -> int:
        return (self.seed >> 6 * part) % span

    def _rng(self, part: str) -> Random:
        return Random(f"{self.seed} {self.scenario['name']} {part}")

    def _shuffled(self, part: str, words: Collection) -> list:
        return self._rng(part).sample(list(words), len(words))

    def ids(self, count: int, n_starts: int = 26) -> list[str]:
        """Name nodes; letters start at one of the first `n_starts` names."""
        if self.scenario:
            return _distinct(self._shuffled("ids", self.scenario["things"]), count)
        return count_in(ascii_lowercase, self._start(0, n_starts), count)

    def primary_keys(self, count: int) -> list[str]:
        """Name records: a, b, …, or a code of three letters and a number."""
        if not self.scenario:
            return count_in(ascii_lowercase, 0, count)
        first = self._rng("codes").randrange(100, 800)
        return [f"{self.scenario['name'][:3].upper()}-{first + number}" for number in range(count)]

    def tags(self, count: int, start: int | None = None) -> list[str]:
        """Name XML elements; letters count from the `start`-th or from a seeded place."""
        if self.scenario:
            return [name.title().replace("-", "") for name in self.ids(count)]
        return count_in(ascii_uppercase, self._start(0) if start is None else start, count)

    def _fields(self, count: int) -> list[tuple[str, str]]:
        pairs = self._shuffled(
            "fields",
            [
                (f"{qualifier}_{name}", kind)
                for name, kind in self.scenario["fields"].items()
                for qualifier in _TEXTS["states_of"] + _TEXTS["amounts_of"] * kind[0].isdigit()
            ],
        )
        names = _distinct([name for name, _ in pairs], count, "_")
        return [(name, pairs[place % len(pairs)][1]) for place, name in enumerate(names)]

    def attributes(self, count: int, avoided: Collection[str] = ()) -> list[tuple[str, str]]:
        """Name attributes, with values that are all different and not in `avoided`."""
        if not self.scenario:
            values = count_in(ascii_lowercase[::-1], self._start(1), count + len(avoided))
            values = [value for value in values if value not in avoided][:count]
            return [*zip(count_in(ascii_uppercase[::-1], 0, count), values, strict=True)]
        rng, taken, pairs = self._rng("values"), set(avoided), []
        for name, kind in self._fields(count):
            draws = (_drawn(kind, rng) for _ in range(30))
            numbered = f"{kind} {len(pairs)}"  # if the kind has too few values
            value = next((drawn for drawn in draws if drawn not in taken), numbered)
            taken.add(value)
            pairs.append((name, value))
        return pairs

    def headings(self, count: int) -> list[str]:
        """Name sections of a document."""
        names = self.ids(count)
        return [name.replace("-", " ").capitalize() for name in names] if self.scenario else names

    def people(self, first_names: list[str], count: int, n_others: int = 0) -> list[str]:
        """Name people; letters go on after those of `n_others`."""
        if not self.scenario:
            return count_in(ascii_lowercase, self._start(0) + n_others, count)
        rng = self._rng(first_names[0])
        return [f"{rng.choice(first_names)} {rng.choice(SURNAMES)}" for _ in range(count)]

    def flaws(self, count: int) -> list[str]:
        """Name what follows a colon whose key is missing."""
        if self.scenario:
            return self.texts(count)
        return count_in(ascii_lowercase, self._start(2), count)

    def texts(self, count: int, start: int | None = None) -> list[str]:
        """Return words; abstract ones in order, from the `start`-th or from a seeded place."""
        if self.scenario:
            start, words = 0, self._shuffled("texts", self.scenario["words"])
        else:
            start, words = self._start(3) if start is None else start, WORDS
        return [words[(start + place) % len(words)] for place in range(count)]

    def bold(self, count: int) -> list[str]:
        """Return texts to be set in bold, all different: words, then two words, as official."""
        if self.scenario:
            return count_in(self._shuffled("bold", self.scenario["words"]), 0, count, " ")
        return count_in(WORDS, self._start(4), count, " ")

    def body(self, count: int) -> list[str]:
        """Draw words for a paragraph after its first one; a scenario's make clauses."""
        if not self.scenario:
            return Random(self.seed).choices(WORDS, k=count)
        rng, nouns, words = self._rng("body"), self.scenario["words"], []
        while len(words) < count:
            for first in (_TEXTS["verbs"], ("while", "and")):
                words += [rng.choice(first), "the", rng.choice(nouns)]
        return words[:count]

    def images(self, count: int) -> list[str]:
        """Name image files, all different."""
        if self.scenario:
            rng, stems = self._rng("images"), self._shuffled("image stems", self.scenario["words"])
            return [
                f"{stem}.{rng.choice(_TEXTS['extensions'])}" for stem in _distinct(stems, count)
            ]
        kinds = Random(self.seed + 1).choices(_TEXTS["extensions"], k=count)
        stems = count_in(ascii_lowercase, 100 + self._start(5, 160), count)
        return [f"{stem}.{kind}" for stem, kind in zip(stems, kinds, strict=True)]


def _distinct(words: list[str], count: int, joint: str = "-") -> list[str]:
    rounds = (divmod(place, len(words)) for place in range(count))
    return [words[place] + (f"{joint}{number + 1}" if number else "") for number, place in rounds]
