"""A blinded sample of answers for a person to judge: drawn, written as CSV or XLSX, and read back from a spreadsheet.

The sheet shows neither arm nor judge. An item's name is a hash of all that its label depends on, so that a label is
found again in any later study of the same answers, and never counted for an answer that has changed.
"""

import hashlib
import json
import random
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lib.analyze.agreement.spreadsheet import header_of, lines_of, write_csv, write_longer, write_xlsx
from lib.core.files import replacing
from lib.core.paths import MissingInput, data_path, shown
from lib.core.records import Answer, Query, Verdict

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


def sheet_path(study: str, sheet: str) -> Path:
    """data/<study>/<sheet>, which must lie below human/: all else there is removed and made again.

    Raises ValueError for a `sheet` elsewhere, with what to write instead.
    """
    parts, name = Path(sheet).parts, Path(sheet).name
    if len(parts) < 2 or parts[0] != "human" or ".." in parts:
        remedy = f"human/{name if name.endswith(('.csv', '.xlsx')) else 'sheet.csv'}"
        raise ValueError(f"sheet is {sheet!r}, but labels are safe only in data/{study}/human/, the one folder that "
                         f"`make clean` keeps: write sheet as {remedy!r}, and move a labelled sheet there")
    return data_path(study, sheet)


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

    Rare strata are thus as large as frequent ones where they can be; lib.analyze.agreement.labels weighs that out again.
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
    lines = [list(COLUMNS)] + [[*_cells(item), labels.get(item.item, "")] for item in items]
    lines += [[cell_text(item), "", "", "", labels[item]] for item in others]
    if path.suffix == ".xlsx":
        return write_xlsx(path, lines, LABELS)
    if path.suffix != ".csv":
        raise ValueError(f"{shown(path)}: a sheet is a .csv or .xlsx file: change its name")
    return write_csv(path, lines)


def _cells(item: Item) -> tuple[str, ...]:
    """All cells of an item's row but the label."""
    return item.item, *map(cell_text, (item.question, item.reference, item.answer))


def cell_text(text: str) -> str:
    text = _UNPRINTABLE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))[:_LONGEST_CELL]
    return f"'{text}" if _STARTS_A_FORMULA.match(text) else text


def labels_of(path: Path, sample: list[Item]) -> dict[str, str]:
    """The labels of the sheet at `path`, which has every item of `sample` afterwards.

    A sheet that is missing or without a label is written with `sample`. One with a label is never written over: what
    it lacks of `sample`, as after a new training, is added below its rows. Raises as `read_labels` and `_add` do.
    """
    labels = read_labels(path) if path.exists() else {}
    if not labels:
        write_sheet(path, sample)
        return labels
    lines = lines_of(path, path.suffix)
    place = header_of(lines).index("item")
    there = {line[place].strip() for line in lines[1:] if place < len(line)}
    if missing := [item for item in sample if item.item not in there]:
        _add(path, lines, missing, labels)
    return labels


def _add(path: Path, lines: list[list[str]], items: list[Item], labels: dict[str, str]) -> None:
    """Add `items` below the `lines` of the sheet at `path`, in its own columns; the sheet grows whole or not at all.

    Raises ValueError, and leaves the sheet as it is, where its `labels` would not come back from the longer one.
    """
    header = header_of(lines)
    new = [name for name in COLUMNS if name not in header]  # a person may have removed a column
    rows = [dict(zip(COLUMNS, _cells(item), strict=False)) for item in items]
    added = [[row.get(name, "") for name in (*header, *new)] for row in rows]
    with replacing(path) as temporary:
        write_longer(path, temporary, new, added, LABELS)
        if _labels(lines_of(temporary, path.suffix), path) != labels:
            raise ValueError(f"{shown(path)}: {len(items)} answers are to be added, but its labels could not be read "
                             "afterwards: write each label as a word, not as a formula, and run this notebook again")


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
        raise MissingInput(f"{shown(path)} is missing: run 04_agreement.ipynb, which writes it, and fill in its labels")
    return _labels(lines_of(path, path.suffix), path)


def _labels(lines: list[list[str]], path: Path) -> dict[str, str]:
    header = header_of(lines)
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
