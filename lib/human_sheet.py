"""A blinded sample of answers for a person to judge: drawn, written as CSV or XLSX, and read back from a spreadsheet.

The sheet shows neither arm nor judge. An item's name is a hash of all that its label depends on, so that a label is
found again in any later study of the same answers, and never counted for an answer that has changed.
"""

import csv
import hashlib
import io
import json
import random
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lib.paths import MissingInput, shown
from lib.records import Answer, Query, Verdict, replacing, write_text

COLUMNS = ("item", "question", "reference answer", "answer", "label")
LABELS = ("correct", "incorrect", "unsure")  # what a person writes; a spreadsheet or a hurried person may write:
_ALIASES = {"correct": {"correct", "right", "true", "yes", "y", "1", "1.0", "wahr", "vrai"},
            "incorrect": {"incorrect", "wrong", "false", "no", "n", "0", "0.0", "falsch", "faux"},
            "unsure": {"unsure", "unclear", "unscored", "?"}}
_STARTS_A_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")  # in Excel, LibreOffice and Google Sheets
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")  # no XML file may hold them
_LONGEST_CELL = 32_000  # characters; Excel takes 32,767


@dataclass(frozen=True)
class Item:
    """One answer as a person sees it, and what is not shown: its arm and stratum."""

    item: str
    query_id: str
    arm: str
    structure: str
    verdict: str  # of the judge by whom the sample was stratified
    question: str
    reference: str
    answer: str


def items_of(queries: list[Query], answers: Iterable[Answer], verdicts: Iterable[Verdict]) -> list[Item]:
    """Every answer as an item, with its verdict by one judge; an answer without a verdict or a text is left out."""
    asked = {query.query_id: query for query in queries}
    judged = {(row.query_id, row.arm): row.verdict for row in verdicts}
    items = []
    for row in answers:
        query, key = asked.get(row.query_id), (row.query_id, row.arm)
        if query is not None and key in judged and row.answer.strip():
            texts = (query.question, query.answer, row.answer)
            digest = hashlib.sha256(json.dumps([*key, *texts]).encode()).hexdigest()[:12]
            items.append(Item(f"item-{digest}", *key, query.structure, judged[key], *texts))  # no spreadsheet's number
    return items


def draw(items: list[Item], size: int, seed: int) -> list[Item]:
    """A sample of at most `size` items, one of each structure × arm × verdict in turn, in an order shuffled by `seed`.

    Rare strata are thus as large as frequent ones where they can be; lib.human_labels weighs that out again.
    """
    chance = random.Random(seed)
    strata: dict[tuple[str, str, str], list[Item]] = {}
    for item in sorted(items, key=lambda item: item.item):
        strata.setdefault((item.structure, item.arm, item.verdict), []).append(item)
    for stratum in strata.values():
        chance.shuffle(stratum)
    order = sorted(strata)
    chance.shuffle(order)  # where the size is not enough for all, no stratum comes first by its name
    drawn: list[Item] = []
    while len(drawn) < min(size, len(items)):
        drawn += [strata[key].pop() for key in order if strata[key]][:size - len(drawn)]
    chance.shuffle(drawn)
    return drawn


def write_sheet(path: Path, items: list[Item], labels: dict[str, str] | None = None) -> Path:
    """Write the sheet, as XLSX where `path` ends so, else as CSV that Excel opens; with `labels` by item where given.

    Labels of other items are kept without their texts. What a spreadsheet would take for a formula gets an apostrophe
    before it. Raises ValueError for another ending.
    """
    labels = labels or {}
    others = sorted(set(labels) - {item.item for item in items})
    lines = [list(COLUMNS)] + [[item.item, *map(_cell, (item.question, item.reference, item.answer)),
                                labels.get(item.item, "")] for item in items]
    lines += [[_cell(item), "", "", "", labels[item]] for item in others]
    if path.suffix == ".xlsx":
        return _write_xlsx(path, lines)
    if path.suffix != ".csv":
        raise ValueError(f"{shown(path)}: a sheet is a .csv or .xlsx file: change its name")
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(lines)
    return write_text(path, "\ufeff" + text.getvalue())  # without the mark Excel reads UTF-8 as something else


def _cell(text: str) -> str:
    text = _UNPRINTABLE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))[:_LONGEST_CELL]
    return f"'{text}" if _STARTS_A_FORMULA.match(text) else text


def _write_xlsx(path: Path, lines: list[list[str]]) -> Path:
    from openpyxl import Workbook  # CSV needs no such package
    from openpyxl.styles import Alignment
    from openpyxl.worksheet.datavalidation import DataValidation
    book = Workbook()
    sheet = book.active
    for line in lines:
        sheet.append(line)
    for row in sheet.iter_rows():
        for cell in row:
            cell.data_type = "s" if cell.value else "n"  # text, whatever it looks like
            cell.alignment = Alignment(wrap_text=True, vertical="top")
    for letter, width in zip("ABCDE", (20, 50, 40, 40, 12), strict=True):
        sheet.column_dimensions[letter].width = width
    choice = DataValidation(type="list", formula1=f'"{",".join(LABELS)}"', allow_blank=True)
    sheet.add_data_validation(choice)
    choice.add(f"E2:E{len(lines) + 1}")
    sheet.freeze_panes = "A2"
    with replacing(path) as temporary:
        book.save(temporary)
    return path


def labels_of(path: Path, sample: list[Item]) -> dict[str, str]:
    """The labels of the sheet at `path`; where it is missing or has none, it is written with `sample`, and {} returned.

    A sheet with a label is never written over.
    """
    labels = read_labels(path) if path.exists() else {}
    if not labels:
        write_sheet(path, sample)
    return labels


def labels_digest(path: Path) -> str:
    """What changes when a label of the sheet at `path` does: "" without any, so that writing the sheet changes nothing.

    A sheet that cannot be read has the digest of its bytes: the notebook says what is wrong with it.
    """
    try:
        labels = json.dumps(sorted(read_labels(path).items())).encode() if path.exists() else b"[]"
    except (ValueError, ImportError):
        labels = path.read_bytes()
    return "" if labels == b"[]" else hashlib.sha256(labels).hexdigest()


def read_labels(path: Path) -> dict[str, str]:
    """item -> correct, incorrect or unsure, of a sheet that a person filled in; rows without a label are left out.

    Takes what spreadsheets make of it: another separator or encoding, another order of rows and columns, blank rows.
    Raises MissingInput for a file that is not there, ValueError naming row and remedy for an unknown label, two
    different labels of one item, a row without its item, or a missing column.
    """
    if not path.exists():
        raise MissingInput(f"{shown(path)} is missing: run 06_agreement.ipynb, which writes it, and fill in its labels")
    lines = _read_xlsx(path) if path.suffix == ".xlsx" else _read_csv(path)
    header = [cell.strip().lower() for cell in lines[0]] if lines else []
    if not {"item", "label"} <= set(header):
        raise ValueError(f"{shown(path)}: its first row has no column `item` or `label` but {header}: keep the sheet's "
                         "first row as it was written")
    places = header.index("item"), header.index("label")
    labels: dict[str, str] = {}
    for number, line in enumerate(lines[1:], 2):
        item, said = (line[place].strip() if place < len(line) else "" for place in places)
        if not said:
            continue
        label = next((label for label, aliases in _ALIASES.items() if said.casefold() in aliases), "")
        if not label or not item:
            what = f"label {said!r} is unknown: write {', '.join(LABELS)}" if item else "no item: restore its name"
            raise ValueError(f"{shown(path)}, row {number}: {what}, or leave the label empty")
        if labels.setdefault(item, label) != label:
            raise ValueError(f"{shown(path)}, row {number}: {item} is labelled {label} here and {labels[item]} above: "
                             "keep one of the two")
    return labels


def _read_csv(path: Path) -> list[list[str]]:
    raw = path.read_bytes()
    encoding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        text = raw.decode("cp1252", errors="replace")  # what Excel saves as plain CSV; items and labels are ASCII
    if text.startswith("sep="):
        text = text.split("\n", 1)[1]
    counts = Counter(letter for letter in text.split("\n", 1)[0] if letter in ",;\t")
    separator = counts.most_common(1)[0][0] if counts else ","
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))


def _read_xlsx(path: Path) -> list[list[str]]:
    from openpyxl import load_workbook
    try:
        book = load_workbook(path, data_only=True)
        rows = list(book.worksheets[0].iter_rows(values_only=True))
    except Exception as error:  # openpyxl raises what its XML and zip readers raise
        raise ValueError(f"{shown(path)} cannot be read as XLSX ({error}): save it again as .xlsx or .csv") from error
    return [["" if cell is None else str(cell) for cell in row] for row in rows]
