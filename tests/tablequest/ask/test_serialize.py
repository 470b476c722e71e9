"""Serializations: every label and value can be had back from each form, whatever letters it holds."""

import csv
import io
import json
import re

import pytest
from bs4 import BeautifulSoup
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.tablequest.ask.serialize import FORMS, as_csv, as_html, as_json, as_prose, printed, serialized
from lib.tablequest.grids.grid import as_markdown
from lib.tablequest.records import Cell
from tests.tablequest_pumps import GRIDS, PASSAGE, SALES, dollars, grid, percent

letters = st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="\\")
texts = st.text(letters, min_size=1, max_size=8).map(str.strip).filter(bool)
plain = st.text("abcXYZ 12", min_size=1, max_size=8).map(str.strip).filter(bool)
amounts = st.integers(-99_999, 99_999).map(lambda number: dollars(f"(${-number:,})" if number < 0 else f"${number:,}"))


def grids(labels):
    return st.lists(labels, min_size=1, max_size=3).flatmap(lambda columns: st.dictionaries(
        labels, st.tuples(*[amounts] * len(columns)), min_size=1, max_size=3).map(
            lambda rows: grid("g", tuple(columns), rows, corner="in millions")))


def wanted(table) -> list[list[str]]:
    return [[table.corner, *table.columns], *([label, *(cell.text for cell in cells)]
                                               for label, cells in zip(table.rows, table.cells, strict=True))]


@settings(max_examples=40, deadline=None)
@given(grids(texts))
def test_labels_and_values_come_back_from_csv_json_html_and_markdown(table):
    assert list(csv.reader(io.StringIO(as_csv(table)))) == wanted(table)
    rows = BeautifulSoup(as_html(table), "lxml").find_all("tr")
    assert [[cell.get_text() for cell in row.find_all(["th", "td"])] for row in rows] == wanted(table)
    read = json.loads(as_json(table))
    keys, *values = wanted(table)
    if isinstance(read, dict):
        assert [read["columns"], *read["rows"]] == wanted(table) and len(set(keys)) < len(keys)
    else:
        assert [list(row.items()) for row in read] == [list(zip(keys, row, strict=True)) for row in values]
    lines = as_markdown(table).split("\n")
    assert set(lines[1]) == set("| -")
    cells = [[cell.replace("\\|", "|") for cell in re.findall(r"\| ((?:\\\||[^|])*?) (?=\|)", line)]
             for line in (lines[0], *lines[2:])]
    assert cells == wanted(table)


@settings(max_examples=40, deadline=None)
@given(grids(plain))
def test_prose_names_each_value_with_its_labels_scale_and_unit(table):
    for line, label, cells in zip(as_prose(table).split("\n"), table.rows, table.cells, strict=True):
        assert line.startswith(f"{label}: ") and line.endswith(".")
        said = line[len(label) + 2:-1].split("; ")
        assert said == [f"{column} is {printed(cell)}" for column, cell in zip(table.columns, cells, strict=True)]
        values = [re.fullmatch(r".* is (-?)\$([\d,]+) million", part) for part in said]
        assert [float(found[1] + found[2].replace(",", "")) for found in values] == [cell.value for cell in cells]


def test_a_value_is_said_with_sign_scale_and_unit():
    assert [printed(cell) for cell in (dollars("(1,117)"), dollars("$391,035"), percent("(2.8)%"), percent("37.2%"))] \
        == ["-$1,117 million", "$391,035 million", "-2.8%", "37.2%"]
    assert printed(Cell(text="—", value=0.0, unit="USD", scale=1e6)) == "—"
    assert printed(Cell(text="6.11", value=6.11, unit="USD/share", scale=1.0)) == "$6.11 per share"
    assert printed(Cell(text="15,408", value=15408.0, unit="shares", scale=1e3)) == "15,408 thousand shares"


def test_a_passage_keeps_its_order_and_says_caption_and_units_once():
    text = serialized(PASSAGE, GRIDS, "markdown")
    assert text.startswith("# Results\n\nNet sales of pumps rose")
    assert "Net sales were as follows:\n\n(in millions)\n\n|  | 2024 | 2023 |\n| --- | --- | --- |\n" in text
    assert "| Net sales: Pumps | $391,035 | $383,285 |" in text and text.index("391,035 |") < text.index("73.9%")
    captioned = PASSAGE.model_copy(update={"blocks": (PASSAGE.blocks[1].model_copy(update={"text": SALES.caption}),
                                                      *PASSAGE.blocks[2:])})
    assert serialized(captioned, GRIDS, "csv").count(SALES.caption) == 1
    assert SALES.html in serialized(PASSAGE, GRIDS, "html")


def test_every_form_differs_and_an_unknown_one_is_refused():
    assert len({serialized(PASSAGE, GRIDS, form) for form in FORMS}) == len(FORMS)
    with pytest.raises(ValueError, match="'xml' is unknown: choose from html, markdown, csv"):
        serialized(PASSAGE, GRIDS, "xml")
