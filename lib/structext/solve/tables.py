"""Answer questions about tables of people (csv.0-3), using csv, markdown-it and html.parser."""

import csv
import re
from collections.abc import Callable
from html.parser import HTMLParser

from markdown_it import MarkdownIt

from lib.structext.solve.unsolvable import Unsolvable, only

Row = dict[str, str]
Cells = list[list[str]]
KEY = "primeKey"


def _csv_cells(text: str) -> list[Cells]:
    """Read tables separated by blank lines."""
    try:
        return [list(csv.reader(part.strip().splitlines(), strict=True))
                for part in re.split(r"\n[ \t\r]*\n", text.strip())]
    except csv.Error as error:
        raise Unsolvable(f"the reference is not CSV: {error}") from error


def _markdown_cells(text: str) -> list[Cells]:
    """Read pipe tables."""
    tables: list[Cells] = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append([])
        elif token.type == "inline" and tables and tables[-1]:
            tables[-1][-1].append(token.content)
    return tables


class _HtmlTables(HTMLParser):
    """Collect cells; a row or cell without an end tag ends where the next begins."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[Cells] = []
        self.in_cell = False

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.in_cell &= tag not in ("table", "tr")  # text before the next cell is in none
        if tag == "table":
            self.tables.append([])
        elif tag == "tr" and self.tables:
            self.tables[-1].append([])
        elif tag in ("td", "th") and self.tables and self.tables[-1]:
            self.tables[-1][-1].append("")
            self.in_cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th", "tr", "table"):
            self.in_cell = False

    def handle_data(self, data: str) -> None:
        if self.in_cell:
            self.tables[-1][-1][-1] += data


def _html_cells(text: str) -> list[Cells]:
    """Read tables that are not nested in one another."""
    parser = _HtmlTables()
    parser.feed(text)
    parser.close()
    return [[[" ".join(cell.split()) for cell in row] for row in table] for table in parser.tables]


_CELLS: dict[str, Callable[[str], list[Cells]]] = {
    "csv": _csv_cells, "markdown-table": _markdown_cells, "html-table": _html_cells}


def _rows(language: str, text: str, column: str) -> list[Row]:
    """Return the rows of the first table with `column` and the key. Raises Unsolvable."""
    for table in _CELLS[language](text):
        header = table[0] if table else []
        if {column, KEY} <= set(header):
            if any(len(line) != len(header) for line in table):
                raise Unsolvable(f"the table with {column!r} has a row whose number of fields "
                                 "differs from its header's")
            return [dict(zip(header, line, strict=True)) for line in table[1:]]
    raise Unsolvable(f"no table has the columns {KEY} and {column!r}")


def _number(row: Row, column: str) -> float:
    try:
        return float(row[column])
    except ValueError as error:
        raise Unsolvable(f"record {row[KEY]!r}: {column} is not a number: "
                         f"{row[column]!r}") from error


def _cell(language: str, text: str, asked: re.Match) -> str:
    key, field = asked["key"], asked["field"]
    rows = [row for row in _rows(language, text, field) if row[KEY] == key]
    return only(rows, f"record {key!r}")[field]


def _earning(language: str, text: str, asked: re.Match) -> str:
    limit, rows = float(asked["limit"]), _rows(language, text, "salary")
    return str(sum(_number(row, "salary") > limit for row in rows))


def _of_gender(language: str, text: str, asked: re.Match) -> str:
    return str(sum(row["gender"] == asked["gender"] for row in _rows(language, text, "gender")))


def _taller(language: str, text: str, asked: re.Match) -> str:
    limit = float(asked["limit"])
    heights = {row[KEY]: _number(row, "height") for row in _rows(language, text, "height")}
    keys = [row[KEY] for row in _rows(language, text, "location")
            if row["location"] == asked["place"]]
    return str(sum(key in heights and heights[key] > limit for key in keys))


_TABLE_QUESTIONS = [  # in the order of the tasks, each in the official wording and ours
    ((r"What is the (?P<field>.+?) (?:of|in) (?:the )?record (?:with primeKey|whose primeKey is) "
      r"(?P<key>.+?)\??$",), _cell),
    ((r"salary more than (?P<limit>\d+)\?", r"salary above (?P<limit>\d+)\?"), _earning),
    ((r"How many people are (?P<gender>\S+?)\?",), _of_gender),
    ((r"who work in (?P<place>.+) are taller than (?P<limit>\d+)\?",
      r"whose location is (?P<place>.+) are taller than (?P<limit>\d+)\?"), _taller),
]
QUESTIONS = {language: _TABLE_QUESTIONS for language in _CELLS}
