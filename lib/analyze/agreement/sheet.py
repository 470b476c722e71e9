"""Draw a blinded sample of answers for a person to judge, write a sheet and read its labels.

The sheet shows neither arm nor judge. An item's name is a hash of all that its label depends on, so
that a label is found again in later studies of the same answers, but never counted for a changed
answer.
"""

import hashlib
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lib.analyze.agreement.spreadsheet import (
    header_of,
    lines_of,
    write_csv,
    write_longer,
    write_xlsx,
)
from lib.core.errors import BadInput
from lib.core.files import made_by, replacing
from lib.core.paths import data_path, shown
from lib.core.records import Answer, Query, Verdict

COLUMNS = ("item", "question", "reference answer", "answer", "label")
LABELS = ("correct", "incorrect", "unsure")  # a person writes these; the aliases are accepted too
_ALIASES = {"correct": {"correct", "right", "true", "yes", "y", "1", "1.0", "wahr", "vrai"},
            "incorrect": {"incorrect", "wrong", "false", "no", "n", "0", "0.0", "falsch", "faux"},
            "unsure": {"unsure", "unclear", "unscored", "?"}}
# the start of a formula in Excel, LibreOffice and Google Sheets
_STARTS_A_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")
# characters that XML does not allow
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_LONGEST_CELL = 32_000  # characters; Excel takes 32,767


@dataclass(frozen=True)
class Item:
    """One answer as a person sees it, and what is not shown: its arm and stratum."""

    item: str
    query_id: str
    arm: str
    structure: str
    verdict: str  # from the judge that stratifies the sample
    question: str
    reference: str
    answer: str


def sheet_path(study: str, sheet: str) -> Path:
    """Return data/<study>/<sheet>. Raises ValueError unless it is in human/, which stays."""
    parts, name = Path(sheet).parts, Path(sheet).name
    if len(parts) < 2 or parts[0] != "human" or ".." in parts:
        remedy = f"human/{name if name.endswith(('.csv', '.xlsx')) else 'sheet.csv'}"
        raise ValueError(
            f"sheet is {sheet!r}, but labels are safe only in data/{study}/human/, the one folder "
            f"that `make clean` keeps: write sheet as {remedy!r}, and move a labelled sheet there")
    return data_path(study, sheet)


def items_of(queries: list[Query], answers: Iterable[Answer],
             verdicts: Iterable[Verdict]) -> list[Item]:
    """Return every answer that has a text and a verdict in one judge's `verdicts`."""
    asked = {query.query_id: query for query in queries}
    judged = {(row.query_id, row.arm): row.verdict for row in verdicts}
    items = []
    for row in answers:
        query, key = asked.get(row.query_id), (row.query_id, row.arm)
        if query is not None and key in judged and row.answer.strip():
            texts = (query.question, query.answer, row.answer)
            digest = hashlib.sha256(json.dumps([*key, *texts]).encode()).hexdigest()[:12]
            name = f"item-{digest}"  # no spreadsheet takes this for a number
            items.append(Item(name, *key, query.structure, judged[key], *texts))
    return items


def draw(items: list[Item], size: int, seed: int) -> list[Item]:
    """Draw at most `size` items, one of each structure × arm × verdict in turn, shuffled by `seed`.

    Rare strata are therefore drawn as often as frequent ones, if possible;
    lib.analyze.agreement.labels corrects for this by weights.
    """
    chance = random.Random(seed)
    strata: dict[tuple[str, str, str], list[Item]] = defaultdict(list)
    for item in sorted(items, key=lambda item: item.item):
        strata[item.structure, item.arm, item.verdict].append(item)
    for stratum in strata.values():
        chance.shuffle(stratum)
    order = sorted(strata)
    chance.shuffle(order)  # so names do not decide which strata a small `size` omits
    drawn: list[Item] = []
    while len(drawn) < min(size, len(items)):
        drawn += [strata[key].pop() for key in order if strata[key]][:size - len(drawn)]
    chance.shuffle(drawn)
    return drawn


def write_sheet(path: Path, items: list[Item], labels: dict[str, str] | None = None) -> Path:
    """Write the sheet as XLSX or CSV, by the extension of `path`; `labels` are by item.

    Labels of other items are kept, without their texts. An apostrophe is put before what a
    spreadsheet would take for a formula. Raises ValueError for another extension.
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
    """Return all cells of an item's row except the label."""
    return item.item, *map(cell_text, (item.question, item.reference, item.answer))


def cell_text(text: str) -> str:
    """Return a text that every spreadsheet treats as text: printable, not too long, no formula."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _UNPRINTABLE.sub("\ufffd", text)[:_LONGEST_CELL]
    return f"'{text}" if _STARTS_A_FORMULA.match(text) else text


def labels_of(path: Path, sample: list[Item]) -> dict[str, str]:
    """Return the labels of the sheet at `path`, which contains all of `sample` afterwards.

    A sheet that is missing or has no label is written with `sample`. One with a label is never
    overwritten: items that it lacks, for example after retraining, are added below its rows. Raises
    ValueError as `read_labels` does, and if the labels could not be read from the longer sheet,
    which is then not written.
    """
    labels = read_labels(path) if path.exists() else {}
    if not labels:
        write_sheet(path, sample)
        return labels
    lines = lines_of(path, path.suffix)
    header = header_of(lines)
    place = header.index("item")
    there = {line[place].strip() for line in lines[1:] if place < len(line)}
    missing = [item for item in sample if item.item not in there]
    if not missing:
        return labels
    new = [name for name in COLUMNS if name not in header]  # a person may have removed a column
    rows = [dict(zip(COLUMNS, _cells(item), strict=False)) for item in missing]
    added = [[row.get(name, "") for name in (*header, *new)] for row in rows]
    with replacing(path) as temporary:
        write_longer(path, temporary, new, added, LABELS)
        if _labels(lines_of(temporary, path.suffix), path) != labels:
            raise ValueError(
                f"{shown(path)}: {len(missing)} answers are to be added, but its labels could not "
                "be read afterwards: write each label as a word, not as a formula, and run this "
                "notebook again")
    return labels


def labels_digest(path: Path) -> str:
    """Return a digest of the labels at `path`, "" for a sheet without labels or no sheet.

    A sheet that cannot be read has the digest of its bytes: the notebook says what is wrong.
    """
    try:
        labels = json.dumps(sorted(read_labels(path).items())).encode() if path.exists() else b"[]"
    except (ValueError, ImportError):
        labels = path.read_bytes()
    return "" if labels == b"[]" else hashlib.sha256(labels).hexdigest()


def read_labels(path: Path) -> dict[str, str]:
    """Return item -> label (correct, incorrect or unsure) from a filled-in sheet.

    Accepts what spreadsheets change: another separator or encoding, another order of rows and
    columns, empty rows. Raises BadInput for a missing file, ValueError naming row and remedy
    for an unknown label, two labels of one item, a row without its item, or a missing column.
    """
    if not path.exists():
        raise BadInput(f"{shown(path)} is missing: run {made_by('sheet')}, which writes it, "
                           "and fill in its labels")
    return _labels(lines_of(path, path.suffix), path)


def _labels(lines: list[list[str]], path: Path) -> dict[str, str]:
    header = header_of(lines)
    if not {"item", "label"} <= set(header):
        raise ValueError(f"{shown(path)}: its first row has no column `item` or `label` but "
                         f"{header}: keep the sheet's first row as it was written")
    columns = header.index("item"), header.index("label")
    labels: dict[str, str] = {}
    for number, line in enumerate(lines[1:], 2):
        item, written = (line[column].strip() if column < len(line) else "" for column in columns)
        if not written:
            continue
        label = next((label for label, aliases in _ALIASES.items()
                      if written.casefold() in aliases), "")
        if not label or not item:
            fault = (f"label {written!r} is unknown: write {', '.join(LABELS)}" if item
                     else "no item: restore its name")
            raise ValueError(f"{shown(path)}, row {number}: {fault}, or leave the label empty")
        if labels.setdefault(item, label) != label:
            raise ValueError(f"{shown(path)}, row {number}: {item} is labelled {label} here and "
                             f"{labels[item]} above: keep one of the two")
    return labels
