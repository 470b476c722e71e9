"""Solve tables (CSV, HTML, Markdown), edges of trees and log lines."""

import csv
import re
from collections.abc import Callable
from html.parser import HTMLParser

from markdown_it import MarkdownIt

from lib.core.errors import BadInput

Row = dict[str, str]
Cells = list[list[str]]
KEY = "primeKey"
_FIELD = re.compile(r'\b(\w+)=(?:"((?:[^"\\]|\\.)*)"|(\S*))')  # a=b, a="b c"; not: a = b


def _csv_cells(text: str) -> list[Cells]:
    return [list(csv.reader(part.strip().splitlines(), strict=True))
            for part in re.split(r"\n[ \t\r]*\n", text.strip())]


def _markdown_cells(text: str) -> list[Cells]:
    tables: list[Cells] = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append([])
        elif token.type == "inline" and tables:
            tables[-1][-1].append(token.content)
    return tables


class _HtmlTables(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tables: list[Cells] = []
        self.in_cell = False

    def handle_starttag(self, tag: str, attrs: list) -> None:
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self.in_cell = True

    def handle_endtag(self, tag: str) -> None:
        self.in_cell &= tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self.in_cell:
            self.tables[-1][-1][-1] += data


def _html_cells(text: str) -> list[Cells]:
    parser = _HtmlTables()
    parser.feed(text)
    parser.close()
    return parser.tables


_CELLS: dict[str, Callable[[str], list[Cells]]] = {
    "csv": _csv_cells, "markdown-table": _markdown_cells, "html-table": _html_cells}


def _rows(language: str, text: str, column: str) -> list[Row]:
    for header, *lines in _CELLS[language](text):
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
    tall = {row[KEY] for row in _rows(language, text, "height")
            if float(row["height"]) > float(asked["limit"])}
    return str(sum(row["location"] == asked["place"] and row[KEY] in tall
                   for row in _rows(language, text, "location")))


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


def _log(text: str) -> list[Row]:
    lines = [{name: quoted or bare for name, quoted, bare in _FIELD.findall(line)}
             for line in text.split("\n")]
    return [line for line in lines if line]


def _field(language: str, text: str, asked: re.Match) -> str:
    return next(line[asked["field"]] for line in _log(text) if line["event"] == asked["key"])


def _of_level(language: str, text: str, asked: re.Match) -> str:
    return str(sum(line["level"] == asked["level"] for line in _log(text)))


def _slow(language: str, text: str, asked: re.Match) -> str:
    return str(sum(float(line["duration_ms"]) > float(asked["limit"]) for line in _log(text)
                   if line["service"] == asked["service"]))


def _services(language: str, text: str, asked: re.Match) -> str:
    return "->".join(line["service"] for line in _log(text) if line["request"] == asked["request"])


_TABLE_QUESTIONS = [  # in the order of the tasks, each in the official wording and ours
    ((r"What is the (?P<field>.+?) (?:of|in) (?:the )?record (?:with primeKey|whose primeKey is) "
      r"(?P<key>.+?)\??$",), _cell),
    ((r"salary more than (?P<limit>\d+)\?", r"salary above (?P<limit>\d+)\?"), _earning),
    ((r"How many people are (?P<gender>\S+?)\?",), _of_gender),
    ((r"who work in (?P<place>.+) are taller than (?P<limit>\d+)\?",
      r"whose location is (?P<place>.+) are taller than (?P<limit>\d+)\?"), _taller),
]
QUESTIONS = {**{language: _TABLE_QUESTIONS for language in _CELLS},
    "tree": [
        (("What is the height of the root",), _height),
        ((r"depth of node (?P<node>.+?)\? ", r"depth of the node (?P<node>.+?), where"), _depth),
        ((r"from the root node to the node (?P<node>.+?)\. Answer",
          r"from the root to the node (?P<node>.+?)\? Write"), _path),
    ],
    "log": [
        ((r"What is the (?P<field>\S+) in the line whose event is (?P<key>.+?)\?$",), _field),
        ((r"lines have the level (?P<level>\S+?)\?",), _of_level),
        ((r"lines of the service (?P<service>.+?) have a duration_ms above (?P<limit>\d+)\?",),
         _slow),
        ((r"did the request (?P<request>.+?) go\?",), _services),
    ],
}
