"""Draw tables whose labels and values nobody can know without reading them."""

from random import Random

from lib.tablequest.records import Cell, Grid

_ONSETS, _VOWELS = "b d f g k l m n p r s t v z br dr gr kr pl st tr".split(), "a e i o u".split()
_CODAS = ["", "", "", "l", "n", "r", "s", "t"]
_GROUPED = 0.3  # share of the tables whose rows are in groups, so that rows share words
_PERIODS = 0.5  # share of the tables whose columns are years


def random_grid(random: Random, n_rows: int, n_columns: int, *, is_plain: bool = False) -> Grid:
    """Return a grid of `n_rows` × `n_columns` values, each column of one kind.

    Labels are different from each other but may share words, as in reports. Words are made of
    syllables, and numbers have one to six digits, so that neither can be learned by heart. With
    `is_plain`, labels are short words and values are short words or numbers of up to three digits.
    Raises ValueError for a table without a cell.
    """
    if n_rows < 1 or n_columns < 1:
        raise ValueError(f"a table of {n_rows} rows and {n_columns} columns has no cell")
    if is_plain:
        return _grid(_plain_labels(random, n_rows), _plain_labels(random, n_columns),
                     random.choices(list(_PLAIN), k=n_columns), random)
    rows = _labels(random, n_rows)
    if random.random() < _GROUPED:
        size = random.randint(2, 4)
        groups = _labels(random, -(-n_rows // size))
        own = _labels(random, size)  # rows of different groups have the same own labels
        rows = [f"{groups[n // size]}: {own[n % size]}" for n in range(n_rows)]
    year = random.randint(1990, 2039)
    columns = ([str(year - n) for n in range(n_columns)] if random.random() < _PERIODS
               else _labels(random, n_columns))
    return _grid(rows, columns, random.choices(list(_KINDS), k=n_columns), random)


def reordered(random: Random, grid: Grid) -> Grid:
    """Return `grid` with its rows and its columns in another order, drawn at random."""
    rows, columns = range(len(grid.rows)), range(len(grid.columns))
    rows, columns = random.sample(rows, len(rows)), random.sample(columns, len(columns))
    return grid.model_copy(update={
        "rows": tuple(grid.rows[row] for row in rows),
        "columns": tuple(grid.columns[column] for column in columns),
        "cells": tuple(tuple(grid.cells[row][column] for column in columns) for row in rows)})


def _grid(rows: list[str], columns: list[str], kinds: list[str], random: Random) -> Grid:
    cells = [[Cell(text=_KINDS[kind](random), value=None, unit="", scale=1.0) for kind in kinds]
             for _ in rows]
    return Grid(grid_id="made-up", filing_id="made-up", section="", caption="", unit_note="",
                corner="", columns=tuple(columns), rows=tuple(rows),
                cells=tuple(map(tuple, cells)), footnotes=(), html="")


def _plain_labels(random: Random, n: int) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < n:
        found[_short_word(random).capitalize()] = None
    return list(found)


def _labels(random: Random, n: int) -> list[str]:
    """Return `n` different labels of one to three words; some words occur in several."""
    words = [_word(random) for _ in range(max(3, n))]
    found: dict[str, None] = {}
    while len(found) < n:
        label = " ".join(random.choices(words, k=random.choice((1, 1, 2, 2, 3))))
        found[label.capitalize()] = None
        words.append(_word(random))
    return list(found)


def _word(random: Random, lengths: tuple[int, ...] = (1, 2, 2, 3)) -> str:
    return "".join(random.choice(_ONSETS) + random.choice(_VOWELS) + random.choice(_CODAS)
                   for _ in range(random.choice(lengths)))


def _short_word(random: Random) -> str:
    return _word(random, (1, 2))


def _whole(random: Random) -> str:
    return f"{random.randrange(10 ** random.randint(1, 6)):,}"


_KINDS = {
    "whole": _whole,
    "dollars": lambda random: f"${_whole(random)}",
    "percent": lambda random: f"{random.randrange(1000) / 10}%",
    "decimal": lambda random: f"{random.randrange(10_000) / 100:.2f}",
    "word": _word,
    "short number": lambda random: str(random.randrange(10 ** random.randint(1, 3))),
    "short word": _short_word,
}
_PLAIN = ("short number", "short word")
