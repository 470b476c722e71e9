"""Draw tables whose labels and values nobody can know without reading them."""

from collections.abc import Callable
from random import Random
from typing import Literal

from lib.tasks.tablequest.records import Cell, Grid

_ONSETS, _VOWELS = "b d f g k l m n p r s t v z br dr gr kr pl st tr".split(), "a e i o u".split()
_CODAS = ["", "", "", "l", "n", "r", "s", "t"]
SYLLABLES = sorted(
    {onset + vowel + coda for onset in _ONSETS for vowel in _VOWELS for coda in _CODAS}
)  # of all made-up words
Labels = Literal["short", "single", "mixed", "full"]
YEARS = range(1984, 2040)  # that label columns
_MOST_COLUMNS = 6  # a last year has as many before it in YEARS
_GROUPED = 0.3  # share of the tables whose rows are in groups, so that rows share words
_LENGTHS = (1, 2, 2, 3)  # of words, in syllables
_PERIODS = 0.5  # share of the tables whose columns are years


def random_grid(random: Random, n_rows: int, n_columns: int, labels: Labels = "full") -> Grid:
    """Return a grid of `n_rows` × `n_columns` values, each column of one kind.

    Labels are one syllable (short), one word (single), or words that several share (full); all are
    made up, as are the numbers. Raises ValueError for a table without a cell.
    """
    if n_rows < 1 or n_columns < 1:
        raise ValueError(f"a table of {n_rows} rows and {n_columns} columns has no cell")
    if labels == "mixed":
        labels = random.choice(("single", "full"))
    rows, columns = (
        _labels(random, n)
        if labels == "full"
        else _different(n, lambda: _word(random, (1,) if labels == "short" else _LENGTHS))
        for n in (n_rows, n_columns)
    )
    if labels == "short":
        return _grid(rows, columns, random.choices(list(_SHORT), k=n_columns), random)
    if labels == "full" and random.random() < _GROUPED:
        size = random.randint(2, 4)
        groups = _labels(random, -(-n_rows // size))
        own = _labels(random, size)  # rows of different groups have the same own labels
        rows = [f"{groups[n // size]}: {own[n % size]}" for n in range(n_rows)]
    if n_columns <= _MOST_COLUMNS and random.random() < _PERIODS:
        last = random.choice(YEARS[_MOST_COLUMNS:])
        columns = [str(last - n) for n in range(n_columns)]
    return _grid(rows, columns, random.choices(list(_KINDS), k=n_columns), random)


def _grid(rows: list[str], columns: list[str], kinds: list[str], random: Random) -> Grid:
    cells = [
        [Cell(text=_KINDS[kind](random), value=None, unit="", scale=1.0) for kind in kinds]
        for _ in rows
    ]
    return Grid(
        grid_id="made-up",
        filing_id="made-up",
        section="",
        caption="",
        unit_note="",
        corner="",
        columns=tuple(columns),
        rows=tuple(rows),
        cells=tuple(map(tuple, cells)),
        footnotes=(),
        html="",
    )


def _different(n: int, draw: Callable[[], str]) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < n:
        found[draw()] = None
    return list(found)


def _labels(random: Random, n: int) -> list[str]:
    words = [_word(random) for _ in range(max(3, n))]
    found: dict[str, None] = {}
    while len(found) < n:
        label = " ".join(random.choices(words, k=random.choice((1, 1, 2, 2, 3))))
        found[label] = None
        words.append(_word(random))
    return list(found)


def _word(random: Random, lengths: tuple[int, ...] = _LENGTHS) -> str:
    return "".join(
        random.choice(_ONSETS) + random.choice(_VOWELS) + random.choice(_CODAS)
        for _ in range(random.choice(lengths))
    )


def _whole(random: Random) -> str:
    return f"{random.randrange(10 ** random.randint(1, 6)):,}"


_KINDS = {
    "whole": _whole,
    "dollars": lambda random: f"${_whole(random)}",
    "percent": lambda random: f"{random.randrange(1000) / 10}%",
    "decimal": lambda random: f"{random.randrange(10_000) / 100:.2f}",
    "word": _word,
    "short number": lambda random: str(random.randrange(10 ** random.randint(1, 3))),
    "short word": lambda random: _word(random, (1,)),
}
_SHORT = ("short number", "short word")
