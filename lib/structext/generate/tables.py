"""Write two tables about people, bio and work, joined by primeKey, as CSV, HTML or Markdown."""

from collections.abc import Callable
from functools import partial
from html import escape
from random import Random

from lib.core.layout import pipe_row
from lib.structext.generate.language import Item, Language, Setting
from lib.structext.generate.naming import COLORS

BIO = ("primeKey", "gender", "age", "name", "height", "weight", "color")
WORK = ("primeKey", "status", "salary", "company", "location")
GENDERS, STATUSES = ("female", "male"), ("employed", "retired", "unemployed")
HEIGHT_LIMITS = range(150, 181)  # cm, asked about in questions; heights are 120-220

Row = tuple[str | int, ...]


class Tables:
    """`bio` and `work`, each with one row per person, in the same order."""

    def __init__(self, setting: Setting, write: Callable[[list[Row]], str],
                 is_tall: bool) -> None:
        rng, names = setting.rng, setting.names
        n_rows = setting.tree.n_nodes if is_tall else setting.depth
        keys, people = names.primary_keys(n_rows), names.people(n_rows)
        self.setting, self.keys = setting, keys
        self.bio: list[Row] = []
        self.work: list[Row] = []
        for key, person in zip(keys, people, strict=True):
            self.bio.append((key, rng.choice(GENDERS), rng.randint(10, 70), person,
                             rng.randint(120, 220), rng.randint(70, 180), rng.choice(COLORS)))
            self.work.append((key, rng.choice(STATUSES), rng.randint(1000, 1_000_000),
                              names.companies[rng.randrange(7)], names.places[rng.randrange(7)]))
        self.text = "\n\n".join(map(write, ([BIO, *self.bio], [WORK, *self.work])))


def _csv(table: list[Row]) -> str:
    return "\n".join([",".join(map(str, row)) for row in table])


def _html(table: list[Row]) -> str:
    rows = [_html_row(row, "td" if place else "th") for place, row in enumerate(table)]
    return "\n".join(["<table>", *rows, "</table>"])


def _html_row(row: Row, tag: str) -> str:
    return f"  <tr>{''.join([f'<{tag}>{escape(str(cell))}</{tag}>' for cell in row])}</tr>"


def _markdown(table: list[Row]) -> str:
    head, *rows = ([str(cell) for cell in row] for row in table)
    return "\n".join(map(pipe_row, [head, ["---"] * len(head), *rows]))


def _cell(document: Tables, rng: Random) -> Item:
    place, field = rng.randrange(len(document.keys)), rng.choice(BIO[1:] + WORK[1:])
    columns, rows = (BIO, document.bio) if field in BIO else (WORK, document.work)
    return Item({"field": field, "key": document.keys[place]},
                str(rows[place][columns.index(field)]))


def _paid_more(document: Tables, rng: Random) -> Item:
    limit, column = rng.randint(1000, 1_000_000), WORK.index("salary")
    return Item({"salary": limit}, str(sum(row[column] > limit for row in document.work)))


def _of_gender(document: Tables, rng: Random) -> Item:
    gender, column = rng.choice(GENDERS), BIO.index("gender")
    return Item({"gender": gender}, str(sum(row[column] == gender for row in document.bio)))


def _join(document: Tables, rng: Random) -> Item:
    """Draw place and limit: any if faithful (most answers: 0), else all answers equally often."""
    heights: dict[str, list[int]] = {}
    for bio, work in zip(document.bio, document.work, strict=True):
        heights.setdefault(work[WORK.index("location")], []).append(bio[BIO.index("height")])
    places = document.setting.names.places
    if not document.setting.is_corrected:
        place, limit = rng.choice(places), rng.choice(HEIGHT_LIMITS)
        answer = sum(height > limit for height in heights.get(place, ()))
        return Item({"place": place, "height": limit}, str(answer))
    lowest, highest = HEIGHT_LIMITS[0], HEIGHT_LIMITS[-1]
    choices: dict[int, list[tuple[str, int, int]]] = {}  # answer -> place, least and greatest limit
    for place in places:  # in this order, so that draws do not depend on names
        if place not in heights:
            continue
        tallest = [highest + 1, *sorted(heights[place], reverse=True), lowest]
        for answer in range(len(heights[place]) + 1):
            # The limit is below the answer-th greatest height and not below the next height.
            low, high = max(tallest[answer + 1], lowest), min(tallest[answer] - 1, highest)
            if low <= high:
                choices.setdefault(answer, []).append((place, low, high))
    answer = rng.choice(sorted(choices))
    place, low, high = rng.choice(choices[answer])
    return Item({"place": place, "height": rng.randint(low, high)}, str(answer))


_FINDERS = (_cell, _paid_more, _of_gender, _join)
# CSV has as many rows as the tree has levels; HTML and Markdown have as many as it has nodes.
CSV = Language(partial(Tables, write=_csv, is_tall=False), _FINDERS)
HTML_TABLE = Language(partial(Tables, write=_html, is_tall=True), _FINDERS)
MARKDOWN_TABLE = Language(partial(Tables, write=_markdown, is_tall=True), _FINDERS)
