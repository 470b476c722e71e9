"""Serializations: every label and value can be restored from each form, whatever it contains."""

import csv
import io
import json
import re

import pytest
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st

from lib.tablequest.ask.serialize import (
    FORMS,
    as_csv,
    as_html,
    as_json,
    as_prose,
    printed,
    serialized,
)
from lib.tablequest.grids.grid import as_markdown
from lib.tablequest.records import Cell
from tests.tablequest_pumps import GRIDS, PASSAGE, SALES, dollars, grid, percent

letters = st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="\\")
texts = st.text(letters, min_size=1, max_size=8).map(str.strip).filter(bool)
plain = st.text("abcXYZ 12", min_size=1, max_size=8).map(str.strip).filter(bool)
amounts = st.integers(-99_999, 99_999).map(
    lambda number: dollars(f"(${-number:,})" if number < 0 else f"${number:,}"))


def grids(labels):
    def rows_for(columns: list[str]):
        cells = st.tuples(*[amounts] * len(columns))
        rows = st.dictionaries(labels, cells, min_size=1, max_size=3)
        return rows.map(lambda rows: grid("g", tuple(columns), rows, corner="in millions"))
    return st.lists(labels, min_size=1, max_size=3).flatmap(rows_for)


def wanted(table) -> list[list[str]]:
    return [[table.corner, *table.columns],
            *([label, *(cell.text for cell in cells)]
              for label, cells in zip(table.rows, table.cells, strict=True))]


@given(grids(texts))
def test_labels_and_values_are_restored_from_csv_json_html_and_markdown(table):
    assert list(csv.reader(io.StringIO(as_csv(table)))) == wanted(table)
    rows = BeautifulSoup(as_html(table), "lxml").find_all("tr")
    assert [[cell.get_text() for cell in row.find_all(["th", "td"])]
            for row in rows] == wanted(table)
    read = json.loads(as_json(table))
    keys, *values = wanted(table)
    if isinstance(read, dict):
        assert [read["columns"], *read["rows"]] == wanted(table) and len(set(keys)) < len(keys)
    else:
        assert [list(row.items()) for row in read] == [list(zip(keys, row, strict=True))
                                                       for row in values]
    lines = as_markdown(table).split("\n")
    assert set(lines[1]) == set("| -")
    cells = [[cell.replace("\\|", "|")
              for cell in re.findall(r"\| ((?:\\\||[^|])*?) (?=\|)", line)]
             for line in (lines[0], *lines[2:])]
    assert cells == wanted(table)


@given(grids(plain))
def test_prose_names_each_value_with_its_labels_scale_and_unit(table):
    lines = as_prose(table).split("\n")
    for line, label, cells in zip(lines, table.rows, table.cells, strict=True):
        assert line.startswith(f"{label}: ") and line.endswith(".")
        parts = line[len(label) + 2:-1].split("; ")
        assert parts == [f"{column} is {printed(cell)}"
                         for column, cell in zip(table.columns, cells, strict=True)]
        values = [re.fullmatch(r".* is (-?)\$([\d,]+) million", part) for part in parts]
        assert [float(found[1] + found[2].replace(",", "")) for found in values] == [
            cell.value for cell in cells]


@pytest.mark.parametrize("cell, text", [
    (dollars("(1,117)"), "-$1,117 million"), (dollars("$391,035"), "$391,035 million"),
    (percent("(2.8)%"), "-2.8%"), (percent("37.2%"), "37.2%"),
    (Cell(text="—", value=0.0, unit="USD", scale=1e6), "—"),
    (Cell(text="6.11", value=6.11, unit="USD/share", scale=1.0), "$6.11 per share"),
    (Cell(text="15,408", value=15408.0, unit="shares", scale=1e3), "15,408 thousand shares")])
def test_a_value_is_printed_with_sign_scale_and_unit(cell, text):
    assert printed(cell) == text


def test_a_passage_keeps_its_order_and_gives_caption_and_units_once():
    text = serialized(PASSAGE, GRIDS, "markdown")
    assert text.startswith("# Results\n\nNet sales of pumps rose")
    assert ("Net sales were as follows:\n\n(in millions)\n\n|  | 2024 | 2023 |\n"
            "| --- | --- | --- |\n") in text
    assert "| Net sales: Pumps | $391,035 | $383,285 |" in text
    assert text.index("391,035 |") < text.index("73.9%")
    caption = PASSAGE.blocks[1].model_copy(update={"text": SALES.caption})
    captioned = PASSAGE.model_copy(update={"blocks": (caption, *PASSAGE.blocks[2:])})
    assert serialized(captioned, GRIDS, "csv").count(SALES.caption) == 1
    assert SALES.html in serialized(PASSAGE, GRIDS, "html")


def test_every_form_differs_and_an_unknown_one_is_refused():
    assert len({serialized(PASSAGE, GRIDS, form) for form in FORMS}) == len(FORMS)
    with pytest.raises(ValueError, match="'xml' is unknown: choose from html, markdown, csv"):
        serialized(PASSAGE, GRIDS, "xml")
