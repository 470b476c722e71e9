"""Serializations: every label and value can be restored from each form, whatever it contains."""

import csv
import io
import json
import re
from html import escape

from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st

from lib.tasks.tablequest.ask.serialize import (
    as_csv,
    as_html,
    as_json,
    as_list,
    as_merged_html,
    as_prose,
)
from lib.tasks.tablequest.grids.grid import as_markdown
from lib.tasks.tablequest.records import Cell
from tests.tablequest_pumps import dollars, grid

# commas, quotes, pipes, backslashes, line breaks, tags, the separators of labels and of sentences
hard = st.sampled_from(["a,b", 'say "so"', "x | y", "\\\\|", "two\nlines", "<b>&amp;", "A: B",
                        "A: C", "A", "it is so", "one; two", "empty", "row", "2024", ".", " a ",
                        "ends:"])
letters = st.characters(blacklist_categories=("Cs", "Cc"))
texts = st.one_of(hard, st.text(letters, max_size=8))
labels = st.one_of(texts, st.lists(texts, min_size=1, max_size=4).map(": ".join))


@st.composite
def grids(draw):
    """Return a grid in which anything may be empty or equal; its filing may merge headers."""
    n_columns = draw(st.integers(1, 4))
    rows = draw(st.lists(labels, min_size=1, max_size=5))
    cells = tuple(tuple(Cell(text=draw(texts), value=None, unit="", scale=1.0)
                        for _ in range(n_columns)) for _ in rows)
    first, columns = grid("g", (), {}, corner=draw(texts)), [""] * n_columns
    lines = []
    for _ in range(draw(st.integers(1, 3))):
        at, line = 0, "<th></th>"
        while at < n_columns:
            span, text = draw(st.integers(1, n_columns - at)), draw(texts)
            line += f'<th colspan="{span}">{escape(text)}</th>' if span > 1 else (
                f"<th>{escape(text)}</th>")
            for column in range(at, at + span):
                columns[column] += (" " if columns[column] else "") + text
            at += span
        lines.append(f"<tr>{line}</tr>")
    return first.model_copy(update={"rows": tuple(rows), "columns": tuple(columns), "cells": cells,
                                    "html": "<table>" + "\n".join(lines) + "</table>"})


def wanted(table) -> list[list[str]]:
    """Return the lines that every form must hold; a line break counts as a space."""
    lines = [[table.corner, *table.columns],
             *([label, *(cell.text for cell in cells)]
               for label, cells in zip(table.rows, table.cells, strict=True))]
    return [[" ".join(text.split()) for text in line] for line in lines]


def from_csv(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def from_json(text: str) -> list[list[str]]:
    read = json.loads(text, object_pairs_hook=list)
    if isinstance(read[0], tuple):
        return [dict(read)["columns"], *dict(read)["rows"]]
    return [[key for key, _ in read[0]], *([value for _, value in row] for row in read)]


def from_html(text: str) -> list[list[str]]:
    """Repeat each merged cell wherever it reaches; join a row's labels, and a column's headers."""
    rows = BeautifulSoup(text, "html.parser").find_all("tr")
    placed: dict[tuple[int, int], object] = {}
    for number, row in enumerate(rows):
        at = 0
        for cell in row.find_all(["th", "td"]):
            while (number, at) in placed:
                at += 1
            for down in range(int(cell.get("rowspan", 1))):
                for right in range(int(cell.get("colspan", 1))):
                    assert (number + down, at + right) not in placed, "cells overlap"
                    placed[number + down, at + right] = cell
            at += int(cell.get("colspan", 1))
    corner = placed[0, 0]
    n_header, depth = int(corner.get("rowspan", 1)), int(corner.get("colspan", 1))
    width = 1 + max(column for _, column in placed)
    assert len(placed) == width * len(rows), "no gap"
    heads = [dict.fromkeys(placed[row, column].get_text() for row in range(n_header))
             for column in range(depth, width)]
    lines = [[corner.get_text(), *(" ".join(filter(None, head)) for head in heads)]]
    for number in range(n_header, len(rows)):
        path = {id(placed[number, at]): placed[number, at].get_text() for at in range(depth)}
        lines.append([": ".join(path.values()), *(placed[number, at].get_text()
                                                  for at in range(depth, width))])
    return lines


def from_markdown(text: str) -> list[list[str]]:
    lines = text.split("\n")
    assert set(lines[1]) == set("| -")
    return [[re.sub(r"\\([\\|])", r"\1", cell) for cell in re.findall(
        r"\| ((?:\\.|[^|\\])*?) (?=\|)", line)] for line in (lines[0], *lines[2:])]


_QUOTED = r'"(?:\\.|[^"\\])*"'


def from_prose(text: str, has_corner: bool) -> list[list[str]]:
    lines = text.split("\n")
    corner = lines.pop(0)[:-1] if has_corner else ""
    found, columns = [], []
    for line in lines:
        label, rest = re.fullmatch(
            rf'({_QUOTED}|[^";]*?): ((?:{_QUOTED}|(?:(?!: | is )[^";])*) is .*)\.', line).groups()
        parts = re.findall(rf'({_QUOTED}|(?:(?! is )[^";])*) is ({_QUOTED}|[^";]*)(?:; |$)', rest)
        columns = [_unquoted(column) for column, _ in parts]
        found.append([_unquoted(label), *("" if value == "empty" else _unquoted(value)
                                          for _, value in parts)])
    return [[corner, *columns], *found]


def from_list(text: str, has_corner: bool) -> list[list[str]]:
    lines = text.split("\n")
    found = [[lines.pop(0)[:-1] if has_corner else ""]]
    for line in lines:
        if line.startswith("- "):
            found.append([line.removeprefix("- ")])
            continue
        column, value = re.fullmatch(rf"  - ({_QUOTED}|.*?): (.*)", line).groups()
        found[0] += [_unquoted(column)] if len(found) == 2 else []
        found[-1].append("" if value == "empty" else _unquoted(value))
    return found


def _unquoted(text: str) -> str:
    return json.loads(text) if text.startswith('"') else text


@given(grids())
def test_every_form_holds_the_same_labels_columns_and_cells(table):
    lines = wanted(table)
    read = {form: read_back(write(table)) for form, write, read_back in (
        ("csv", as_csv, from_csv), ("html", as_merged_html, from_html),
        ("html-grid", as_html, from_html), ("markdown", as_markdown, from_markdown))}
    assert read == dict.fromkeys(read, lines)
    assert from_prose(as_prose(table), bool(lines[0][0])) == lines
    assert from_list(as_list(table), bool(lines[0][0])) == lines
    keyed = [[lines[0][0] or "row", *lines[0][1:]], *lines[1:]]
    assert from_json(as_json(table)) == keyed


def test_html_merges_groups_and_nested_headers_as_a_filing_does():
    table = grid("g", ("2024 Cost", "2024 Value", "2023 Cost"), {
        "Debt: Notes: Senior": (dollars("1"),) * 3, "Debt: Notes: Junior": (dollars("2"),) * 3,
        "Debt: Loans": (dollars("3"),) * 3, "Total debt": (dollars("6"),) * 3})
    header = '<tr><th></th><th colspan="2">2024</th><th>2023</th></tr>'
    html = f"<table>{header}<tr><th></th><th>Cost</th><th>Value</th><th>Cost</th></tr></table>"
    text = as_merged_html(table.model_copy(update={"html": html}))
    assert '<th colspan="3" rowspan="2"></th><th colspan="2">2024</th><th>2023</th>' in text
    assert '<th rowspan="3">Debt</th><th rowspan="2">Notes</th><th>Senior</th><td>1</td>' in text
    assert "<tr><th>Junior</th><td>2</td>" in text and '<th colspan="3">Total debt</th>' in text
    assert "2024 Value" in as_merged_html(table)  # its own HTML does not give the columns
