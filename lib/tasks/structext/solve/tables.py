"""Solve tables in CSV and edges of trees."""

import csv
import re

from lib.core.errors import BadInput

Row = dict[str, str]
Cells = list[list[str]]
KEY = "primeKey"


def _csv_cells(text: str) -> list[Cells]:
    return [
        list(csv.reader(part.strip().splitlines(), strict=True))
        for part in re.split(r"\n[ \t\r]*\n", text.strip())
    ]


def _rows(language: str, text: str, column: str) -> list[Row]:
    for header, *lines in _csv_cells(text):
        if {column, KEY} <= set(header):
            return [dict(zip(header, line, strict=True)) for line in lines]
    raise BadInput(f"no table has the columns {KEY} and {column!r}")


def _cell(language: str, text: str, asked: re.Match) -> str:
    rows = _rows(language, text, asked["field"])
    return next(row[asked["field"]] for row in rows if row[KEY] == asked["key"])


def _earning(language: str, text: str, asked: re.Match) -> str:
    rows = _rows(language, text, "salary")
    return str(sum(float(row["salary"]) > float(asked["limit"]) for row in rows))


def _of_gender(language: str, text: str, asked: re.Match) -> str:
    return str(sum(row["gender"] == asked["gender"] for row in _rows(language, text, "gender")))


def _taller(language: str, text: str, asked: re.Match) -> str:
    tall = {
        row[KEY]
        for row in _rows(language, text, "height")
        if float(row["height"]) > float(asked["limit"])
    }
    return str(
        sum(
            row["location"] == asked["place"] and row[KEY] in tall
            for row in _rows(language, text, "location")
        )
    )


def _parents(text: str) -> dict[str, str]:
    pairs = (line.partition("->")[::2] for line in text.split("\n") if line.strip())
    return {child.strip(): parent.strip() for parent, child in pairs}


def _trail(text: str, node: str) -> list[str]:
    parents, trail = _parents(text), [node]
    if node not in {*parents, *parents.values()}:
        raise BadInput(f"the tree has no node {node!r}")
    while trail[-1] in parents:
        trail.append(parents[trail[-1]])
        if len(trail) > len(parents) + 1:
            raise BadInput("the edges form a cycle")
    return trail[::-1]


def _height(language: str, text: str, asked: re.Match) -> str:
    children: dict[str, list[str]] = {}
    for child, parent in (parents := _parents(text)).items():
        children.setdefault(parent, []).append(child)
    level, height = [node for node in children if node not in parents], -1
    while level:
        level, height = [child for node in level for child in children.get(node, ())], height + 1
    if height < 0:
        raise BadInput("the edges form a cycle")
    return str(height)


def _depth(language: str, text: str, asked: re.Match) -> str:
    return str(len(_trail(text, asked["node"])) - 1)


def _path(language: str, text: str, asked: re.Match) -> str:
    return "->".join(_trail(text, asked["node"]))


_TABLE_QUESTIONS = [  # in the order of the tasks, each in the official wording and ours
    (
        (
            r"What is the (?P<field>.+?) (?:of|in) (?:the )?record (?:with primeKey|whose "
            r"primeKey is) "
            r"(?P<key>.+?)\??$",
        ),
        _cell,
    ),
    ((r"salary more than (?P<limit>\d+)\?", r"salary above (?P<limit>\d+)\?"), _earning),
    ((r"How many people are (?P<gender>\S+?)\?",), _of_gender),
    (
        (
            r"who work in (?P<place>.+) are taller than (?P<limit>\d+)\?",
            r"whose location is (?P<place>.+) are taller than (?P<limit>\d+)\?",
        ),
        _taller,
    ),
]
QUESTIONS = {
    "csv": _TABLE_QUESTIONS,
    "tree": [
        (("What is the height of the root",), _height),
        ((r"depth of node (?P<node>.+?)\? ", r"depth of the node (?P<node>.+?), where"), _depth),
        (
            (
                r"from the root node to the node (?P<node>.+?)\. Answer",
                r"from the root to the node (?P<node>.+?)\? Write",
            ),
            _path,
        ),
    ],
}
