"""The blinded sheet: what is drawn, what it hides, and what spreadsheets make of it."""

import csv
import io
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from importlib.machinery import ModuleSpec
from types import ModuleType

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.analyze.agreement.sheet import (
    COLUMNS,
    draw,
    items_of,
    labels_digest,
    labels_of,
    read_labels,
    sheet_path,
    write_sheet,
)
from lib.analyze.agreement.spreadsheet import header_of, lines_of
from lib.analyze.agreement.widget import as_html, has_front_end, label_widget
from lib.core.errors import BadInput
from lib.core.paths import REPOSITORY
from lib.core.process import VARIABLE
from lib.core.records import STRUCTURES, Answer, Query, Verdict
from lib.run.notebook import NO_WIDGETS


def study(n: int = 40, text: str = "answer {}"):
    """Return queries of three structures, two arms' answers, and verdicts (few are correct)."""
    queries = [Query(query_id=f"q{number}", document_id="d", question=f"Which {number}?",
                     answer=f"{number}", structure=STRUCTURES[number % 3], source_reference="",
                     start=0, end=0, block_type="prose", entity_count=None)
               for number in range(n)]
    answers = [Answer(query_id=query.query_id, arm=arm, answer=text.format(query.query_id),
                      n_tokens=1, truncated=False) for arm in ("base", "dapt") for query in queries]
    verdicts = [Verdict(query_id=row.query_id, arm=row.arm, judge="rules", reason="",
                        verdict="correct" if row.query_id.endswith(("1", "8"))
                        and row.arm == "dapt" else "incorrect") for row in answers]
    return queries, answers, verdicts


@pytest.fixture
def items():
    return items_of(*study())


def cells_of(path) -> list[list[str]]:
    text = path.read_bytes().decode("utf-8-sig")
    return list(csv.reader(io.StringIO(text, newline="")))


def test_every_stratum_is_drawn_in_turn_and_the_same_seed_draws_the_same(items):
    drawn = draw(items, 36, seed=3)
    counts, all_counts = (Counter((item.structure, item.arm, item.verdict) for item in part)
                          for part in (drawn, items))
    assert len(drawn) == 36 == len({item.item for item in drawn})
    assert set(counts) == set(all_counts)
    assert all(counts[key] in (n, max(counts.values()), max(counts.values()) - 1)
               for key, n in all_counts.items())
    assert draw(items[::-1], 36, seed=3) == drawn != draw(items, 36, seed=4)
    assert len(draw(items, 1000, seed=3)) == len(items) == 80 and draw(items, 0, seed=3) == []
    order = [item.arm for item in drawn]
    assert order not in (sorted(order), sorted(order, reverse=True))


def test_a_name_changes_with_whatever_a_label_depends_on(items):
    other = items_of(*study(text="another {}"))
    assert not {item.item for item in items} & {item.item for item in other}
    assert {item.item for item in items_of(*study(20))} < {item.item for item in items}
    queries, answers, verdicts = study(3)
    assert len(items_of(queries, answers, verdicts[:2])) == 2, "only what the judge has judged"


def test_the_sheet_shows_neither_arm_nor_judge_nor_verdict(items, tmp_path):
    path = write_sheet(tmp_path / "sheet.csv", draw(items, 10, 1))
    header, *lines = cells_of(path)
    assert header == list(COLUMNS) and len(lines) == 10 and not any(line[-1] for line in lines)
    text = path.read_text(encoding="utf-8-sig").replace("incorrect", "")
    for word in ("dapt", "base", "rules", "correct", "natural", "tabular"):
        assert word not in text


FORMULAS = ["=1+1", "+1", "-20 °C", "@SUM(A1)", " =cmd|'/c calc'!A0", "\t=1", "\n-1", "\uff1d1",
            '=HYPERLINK("x")']


@pytest.mark.parametrize("ending", [".csv", ".xlsx"])
def test_no_text_becomes_a_formula_and_labels_come_back(ending, tmp_path):
    items = [replace(item, question=text, reference=text, answer=text + "\x00\ud800")
             for item, text in zip(items_of(*study(len(FORMULAS))), FORMULAS, strict=False)]
    labels = {items[0].item: "correct", items[1].item: "unsure", "item-gone": "incorrect"}
    path = write_sheet(tmp_path / f"sheet{ending}", items, labels)
    assert read_labels(path) == labels, "also those of items that no longer exist"
    if ending == ".csv":
        cells = [cell for line in cells_of(path)[1:] for cell in line[1:4] if cell]
    else:
        rows = list(openpyxl.load_workbook(path).active.iter_rows(min_row=2))
        assert {cell.data_type for row in rows for cell in row if cell.value} == {"s"}
        cells = [cell.value for row in rows for cell in row[1:4] if cell.value]
    assert len(cells) == 3 * len(FORMULAS) and all(cell.startswith("'") for cell in cells)


@given(st.lists(st.tuples(st.text(), st.text(min_size=1)), min_size=1, max_size=4))
def test_any_text_is_written_and_no_cell_starts_a_formula(tmp_path_factory, texts):
    items = [replace(item, question=question, answer=text)
             for item, (question, text) in zip(items_of(*study(len(texts))), texts, strict=False)]
    folder = tmp_path_factory.mktemp("sheet")
    csv_path, xlsx_path = (write_sheet(folder / name, items) for name in ("s.csv", "s.xlsx"))
    lines = cells_of(csv_path)
    assert [line[0] for line in lines[1:]] == [item.item for item in items]
    starts = {cell.strip()[:1] for line in lines for cell in line}
    assert not starts & set("=+-@")
    assert read_labels(xlsx_path) == {}


SHEET = "item,question,label\nitem-a,Which?,correct\nitem-b,Which?,\nitem-c,Which?,INCORRECT \n"


@pytest.mark.parametrize("raw", [
    SHEET.encode("utf-8-sig"), SHEET.replace(",", ";").encode("cp1252"),
    SHEET.replace(",", "\t").encode("utf-16"), SHEET.replace("\n", "\r\n").encode(),
    ("sep=;\r\n" + SHEET.replace(",", ";")).encode(),
    b"label;ITEM ;note\n;;\n\nwrong;item-c;x\nTRUE;item-a;\n;item-b;\n;;;;\n",
    "label;item;question\n1;item-a;Größe?\nFALSCH;item-c;\n".encode("cp1252"),
    b'item,label\n"item-a","yes"\n"item-c",0\n'], ids=range(8))
def test_any_form_that_a_spreadsheet_saves_is_read(raw, tmp_path):
    (tmp_path / "s.csv").write_bytes(raw)
    assert read_labels(tmp_path / "s.csv") == {"item-a": "correct", "item-c": "incorrect"}


@pytest.mark.parametrize(("text", "message"), [
    ("item,label\nitem-a,correct\n\nitem-b,corect\n", r"s\.csv, row 4: label 'corect' is unknown"),
    ("item,label\nitem-a,correct\nitem-a,wrong\n", "row 3: item-a is labelled incorrect here"),
    ("item,label\n,correct\n", "row 2: no item"),
    ("name,label\nx,correct\n", "no column `item` or `label`"),
    ("", "no column `item` or `label`")])
def test_an_invalid_sheet_names_row_and_remedy(text, message, tmp_path):
    (tmp_path / "s.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_labels(tmp_path / "s.csv")


def test_xlsx_that_excel_has_changed_is_read_and_a_broken_one_is_refused(tmp_path):
    book = openpyxl.Workbook()
    for line in (["Label", "note", "item"], [None, None, None], [True, None, "item-a"],
                 [0, 3.5, "item-c"], [None, "x", "item-b"]):
        book.active.append(line)
    book.save(tmp_path / "s.xlsx")
    assert read_labels(tmp_path / "s.xlsx") == {"item-a": "correct", "item-c": "incorrect"}
    (tmp_path / "s.xlsx").write_text("not a workbook")
    with pytest.raises(ValueError, match="cannot be read as XLSX"):
        read_labels(tmp_path / "s.xlsx")


def test_a_sheet_with_a_label_is_never_overwritten(items, tmp_path):
    path = tmp_path / "human" / "sheet.csv"
    with pytest.raises(BadInput, match="04_agreement"):
        read_labels(path)
    assert labels_of(path, items[:5]) == {} and labels_of(path, items[:6]) == {}
    assert len(cells_of(path)) == 7
    write_sheet(path, items[:6], {items[0].item: "correct"})
    before = path.read_bytes()
    assert labels_of(path, items[3:6]) == {items[0].item: "correct"}
    assert path.read_bytes() == before
    with pytest.raises(ValueError, match="a sheet is a .csv or .xlsx file"):
        write_sheet(tmp_path / "sheet.ods", items)


NEW = items_of(*study(text="another {}"))[:3]  # a sample after a new training


@pytest.mark.parametrize(("text", "encoding"), [
    ("item,question,note,label\nitem-a,Größe?,\"=1, my own\",correct\n\nitem-b,Which?,,\n",
     "utf-8"),
    ("sep=;\r\nLABEL;note;item\r\nwrong;é;item-a\r\n;;item-b", "cp1252"),
    ("label\titem\nyes\titem-a\n", "utf-16")], ids=["csv", "excel", "unicode"])
def test_new_answers_are_added_below_a_labelled_sheet_whose_rows_stay(text, encoding, tmp_path):
    path = tmp_path / "s.csv"
    path.write_bytes(text.encode(encoding))
    before, labels, digest = lines_of(path, ".csv"), read_labels(path), labels_digest(path)
    assert labels_of(path, NEW) == labels == read_labels(path) and len(labels) == 1
    after = lines_of(path, ".csv")
    header = header_of(after)
    assert [line[:len(before[0])] for line in after[:len(before)]] == before
    assert set(COLUMNS) <= set(header)
    added = [dict(zip(header, line, strict=True)) for line in after[len(before):]]
    assert [row["item"] for row in added] == [item.item for item in NEW]
    assert {row["label"] for row in added} == {""}
    assert added[0]["answer"] == "another q0" and added[0]["question"] == "Which 0?"
    once = path.read_bytes()
    assert labels_of(path, NEW) == labels and path.read_bytes() == once, "nothing is added twice"
    assert labels_digest(path) == digest, "a graph sees no new label in it"


def test_new_answers_are_added_to_xlsx_and_what_a_person_changed_stays(items, tmp_path):
    path = write_sheet(tmp_path / "s.xlsx", items[:4], {items[0].item: "correct"})
    book = openpyxl.load_workbook(path)
    book.active["F1"], book.active["F2"], book.active["E3"] = "note", "=1+1", False
    book.active.column_dimensions["B"].width = 77
    book.save(path)
    before = [[cell.value for cell in row] for row in book.active.iter_rows()]
    labels = {items[0].item: "correct", items[1].item: "incorrect"}
    assert labels_of(path, NEW) == labels == read_labels(path)
    sheet = openpyxl.load_workbook(path).active
    after = [[cell.value for cell in row] for row in sheet.iter_rows()]
    assert after[:5] == before and [row[0] for row in after[5:]] == [item.item for item in NEW]
    assert after[5][3] == "another q0" and {row[4] for row in after[5:]} == {None}
    assert sheet.column_dimensions["B"].width == 77
    choices = [sum(f"E{row}" in choice.sqref for choice in sheet.data_validations.dataValidation)
               for row in range(2, len(after) + 1)]
    assert choices == [1] * 7, "every row has one choice of labels"


def test_a_sheet_whose_labels_would_be_lost_stays_as_it_is(items, tmp_path, monkeypatch):
    path = write_sheet(tmp_path / "s.csv", items[:4], {items[0].item: "correct"})
    before = path.read_bytes()
    monkeypatch.setattr("lib.analyze.agreement.spreadsheet.write_text",
                        lambda path, text: path.write_text("item,label\n"))
    with pytest.raises(ValueError, match="3 answers are to be added"):
        labels_of(path, NEW)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("sheet", "remedy"), [
    ("labels.xlsx", "human/labels.xlsx"), ("labels/mine.csv", "human/mine.csv"),
    ("human", "human/sheet.csv"), ("human/../mine.csv", "human/mine.csv"),
    ("/tmp/mine.csv", "human/mine.csv"), ("", "human/sheet.csv")])
def test_a_sheet_outside_the_folder_that_is_kept_is_refused(sheet, remedy, tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    with pytest.raises(ValueError, match=f"make clean` keeps: write sheet as '{remedy}'"):
        sheet_path("s", sheet)
    assert not list(tmp_path.iterdir())
    assert sheet_path("s", remedy) == tmp_path / "data" / "s" / remedy


def test_the_digest_changes_with_labels_alone(items, tmp_path):
    path, correct = tmp_path / "sheet.csv", {items[0].item: "correct"}
    assert labels_digest(path) == "" == labels_digest(write_sheet(path, items[:5]))
    once = labels_digest(write_sheet(path, items[:5], correct))
    assert once == labels_digest(write_sheet(path, items[:9][::-1], correct)) != ""
    other = labels_digest(write_sheet(path, items[:5], {items[0].item: "incorrect"}))
    path.write_text("item,label\nitem-a,corect\n")
    assert len({"", once, other, labels_digest(path)}) == 4


def test_the_widget_saves_each_click_and_shows_texts_escaped(items, tmp_path):
    path, labels = tmp_path / "sheet.csv", {items[0].item: "unsure", "item-gone": "correct"}
    box = label_widget(path, items[:3], labels)
    place, choice, text = box.children[0].children[0], *box.children[1:]
    assert place.value == 2 and items[1].question in text.value and not path.exists()
    choice.value = "incorrect"
    assert read_labels(path) == labels == {
        items[0].item: "unsure", items[1].item: "incorrect", "item-gone": "correct"}
    assert place.value == 3 and choice.value == "" and items[2].question in text.value
    place.value = 1
    assert choice.value == "unsure"
    choice.value = ""
    assert items[0].item not in read_labels(path) and len(cells_of(path)) == 1 + 3 + 1
    page = as_html(replace(items[0], answer="<script>alert('x')</script>"))
    assert "<script>" not in page and "&lt;script&gt;" in page and items[0].arm not in page


def test_only_jupyterlab_has_a_front_end(monkeypatch):
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    monkeypatch.delenv(VARIABLE, raising=False)
    widgets = ModuleType("ipywidgets")
    widgets.__spec__ = ModuleSpec("ipywidgets", None)
    monkeypatch.setitem(sys.modules, "ipywidgets", widgets)
    assert not has_front_end()
    monkeypatch.setenv("JPY_SESSION_NAME", "04_agreement.ipynb")
    assert has_front_end()
    monkeypatch.setenv(VARIABLE, "1")
    assert not has_front_end()
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)  # as the runner of notebooks sets it
    assert not has_front_end()


def test_a_notebook_that_is_run_without_a_server_has_no_widgets():
    code = ("from lib.analyze.agreement.widget import has_front_end\n"
            "print(has_front_end())")
    own = {key: value for key, value in os.environ.items() if key != VARIABLE}
    printed = [subprocess.run([sys.executable, "-c", f"{before}\n{code}"], cwd=REPOSITORY,
                              env=own | {"JPY_SESSION_NAME": "x"}, capture_output=True, text=True,
                              check=True).stdout.strip() for before in ("", NO_WIDGETS)]
    assert printed == ["True", "False"]
