"""Two tables about people (CSV, HTML, Markdown): bio and work, joined by their primeKey."""

from collections.abc import Callable
from functools import partial
from html import escape
from random import Random

from lib.core.layout import pipe_row
from lib.structext.generate.language import Asked, Language, Setting
from lib.structext.generate.naming import COLORS

BIO = ("primeKey", "gender", "age", "name", "height", "weight", "color")
WORK = ("primeKey", "status", "salary", "company", "location")
GENDERS, STATUSES = ("female", "male"), ("employed", "retired", "unemployed")
HEIGHT_LIMITS = range(150, 181)  # cm, of the questions; heights are 120-220

Row = tuple[str | int, ...]


class Tables:
    """`bio` and `work`, a row a person each, in the same order."""

    def __init__(self, setting: Setting, write: Callable[[list[list[Row]]], str], is_tall: bool) -> None:
        rng, names = setting.rng, setting.names
        n_rows = setting.tree.n_nodes if is_tall else setting.depth
        keys, people = names.primary_keys(n_rows), names.people(n_rows)
        self.setting, self.keys = setting, keys
        self.bio: list[Row] = []
        self.work: list[Row] = []
        for key, person in zip(keys, people, strict=True):
            self.bio.append((key, rng.choice(GENDERS), rng.randint(10, 70), person, rng.randint(120, 220),
                             rng.randint(70, 180), rng.choice(COLORS)))
            self.work.append((key, rng.choice(STATUSES), rng.randint(1000, 1_000_000),
                              names.companies[rng.randrange(7)], names.places[rng.randrange(7)]))
        self.text = write([[BIO, *self.bio], [WORK, *self.work]])


def _csv(tables: list[list[Row]]) -> str:
    return "\n\n".join("\n".join([",".join(map(str, row)) for row in table]) for table in tables)


def _html(tables: list[list[Row]]) -> str:
    return "\n\n".join("<table>\n" + "\n".join([_html_row(row, "td" if place else "th")
                                                for place, row in enumerate(table)]) + "\n</table>" for table in tables)


def _html_row(row: Row, tag: str) -> str:
    return f"  <tr>{''.join([f'<{tag}>{escape(str(cell))}</{tag}>' for cell in row])}</tr>"


def _markdown(tables: list[list[Row]]) -> str:
    return "\n\n".join("\n".join([pipe_row(table[0]), pipe_row(["---"] * len(table[0])),
                                  *[pipe_row([str(cell) for cell in row]) for row in table[1:]]]) for table in tables)


def _cell(document: Tables, rng: Random) -> Asked:
    place, field = rng.randrange(len(document.keys)), rng.choice(BIO[1:] + WORK[1:])
    columns, rows = (BIO, document.bio) if field in BIO else (WORK, document.work)
    return Asked({"field": field, "key": document.keys[place]}, str(rows[place][columns.index(field)]))


def _paid_more(document: Tables, rng: Random) -> Asked:
    limit, column = rng.randint(1000, 1_000_000), WORK.index("salary")
    return Asked({"salary": limit}, str(sum(row[column] > limit for row in document.work)))


def _of_gender(document: Tables, rng: Random) -> Asked:
    gender, column = rng.choice(GENDERS), BIO.index("gender")
    return Asked({"gender": gender}, str(sum(row[column] == gender for row in document.bio)))


def _join(document: Tables, rng: Random) -> Asked:
    """Faithful: any place and limit, and the answer is mostly 0. Corrected: every answer that can be, as often."""
    heights: dict[str, list[int]] = {}
    for bio, work in zip(document.bio, document.work, strict=True):
        heights.setdefault(work[WORK.index("location")], []).append(bio[BIO.index("height")])
    if not document.setting.is_corrected:
        place, limit = rng.choice(document.setting.names.places), rng.choice(HEIGHT_LIMITS)
        return Asked({"place": place, "height": limit}, str(sum(height > limit for height in heights.get(place, ()))))
    choices: dict[int, list[tuple[str, int, int]]] = {}  # answer -> places with the lowest and highest limit for it
    for place in document.setting.names.places:  # in this order, so that another scenario's places draw alike
        if place not in heights:
            continue
        tallest = [HEIGHT_LIMITS[-1] + 1, *sorted(heights[place], reverse=True), HEIGHT_LIMITS[0]]
        for answer in range(len(heights[place]) + 1):  # the limit is below the answer-th height, not below the next
            low, high = max(tallest[answer + 1], HEIGHT_LIMITS[0]), min(tallest[answer] - 1, HEIGHT_LIMITS[-1])
            if low <= high:
                choices.setdefault(answer, []).append((place, low, high))
    answer = rng.choice(sorted(choices))
    place, low, high = rng.choice(choices[answer])
    return Asked({"place": place, "height": rng.randint(low, high)}, str(answer))


_FINDERS = (_cell, _paid_more, _of_gender, _join)
CSV = Language(partial(Tables, write=_csv, is_tall=False), _FINDERS)  # as many rows as the tree has levels
HTML_TABLE = Language(partial(Tables, write=_html, is_tall=True), _FINDERS)  # as many rows as the tree has nodes
MARKDOWN_TABLE = Language(partial(Tables, write=_markdown, is_tall=True), _FINDERS)
