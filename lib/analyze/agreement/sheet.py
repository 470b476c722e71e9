"""CSV sheets of answers or questions for a person to label, and the labels in them."""

import csv
import hashlib
import io
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from lib.analyze.format import as_csv
from lib.analyze.tables import by_group
from lib.core.arms import ALL
from lib.core.errors import BadInput, BadStudy
from lib.core.records import Answer, Query, Verdict
from lib.core.store import data_path, shown, write_text


class Form(NamedTuple):
    """A kind of sheet: the texts that it shows of an item, and the labels to choose from."""

    shows: tuple[str, ...]
    labels: tuple[str, ...]


ANSWERS = Form(("question", "reference answer", "answer"), ("correct", "incorrect", "unsure"))
QUESTIONS = Form(("structure", "question", "answer", "source"), ("good", "poor", "wrong"))
# is the answer where it is said to be, does it match, does the level fit
TABLE_QUESTIONS = QUESTIONS._replace(labels=("right", "not there", "no match", "wrong level"))
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_LONGEST_CELL = 32_000  # characters; Excel takes 32,767


@dataclass(frozen=True)
class Item:
    """An answer or a question as a person sees it, and what the sheet hides."""

    item: str  # a hash of all that a label depends on, so that a changed answer has no label
    query_id: str
    arm: str  # "" for a question
    structure: str
    verdict: str  # from the judge that stratifies the sample; "" for a question
    document_id: str
    texts: tuple[str, ...]  # those that its form shows

    @property
    def stratum(self) -> tuple[str, str, str]:
        """Return structure, arm and verdict."""
        return self.structure, self.arm, self.verdict


def sheet_path(study: str, sheet: str) -> Path:
    """Return data/<study>/<sheet>. Raises BadStudy unless it is a CSV file in human/."""
    path = Path(sheet)
    if path.parts[:1] != ("human",) or path.suffix != ".csv" or ".." in path.parts:
        raise BadStudy(
            f"sheet is {sheet!r}, but labels are safe only in data/{study}/human/, the "
            "folder that `make clean` keeps: write sheet as "
            f"'human/{path.stem or 'sheet'}.csv', and move a labelled sheet there"
        )
    return data_path(study, sheet)


def items_of(
    queries: Iterable[Query], answers: Iterable[Answer], verdicts: Iterable[Verdict]
) -> list[Item]:
    """Return every answer that has a text and a verdict in one judge's `verdicts`."""
    asked = {query.query_id: query for query in queries}
    judged = {(row.query_id, row.arm): row.verdict for row in verdicts}
    items = []
    for row in answers:
        query, key = asked.get(row.query_id), (row.query_id, row.arm)
        if query is not None and key in judged and row.answer.strip():
            texts = (query.question, query.answer, row.answer)
            items.append(_item(query, row.arm, judged[key], texts))
    return items


def questions_of(queries: Iterable[Query]) -> list[Item]:
    """Return every question, with its answer and its source as the annotator quoted it."""
    return [
        _item(
            one,
            "",
            "",
            (
                one.structure,
                one.question,
                one.answer,
                f"{one.source_header}\n{one.source_reference}".strip(),
            ),
        )
        for one in queries
    ]


def _item(query: Query, arm: str, verdict: str, texts: tuple[str, ...]) -> Item:
    digest = hashlib.sha256(json.dumps([query.query_id, arm, *texts]).encode()).hexdigest()[:12]
    return Item(
        f"item-{digest}", query.query_id, arm, query.structure, verdict, query.document_id, texts
    )


def draw(items: list[Item], size: int, seed: int) -> list[Item]:
    """Draw at most `size` items, one of each stratum in turn, shuffled by `seed`.

    Rare strata are drawn as often as frequent ones, if possible; `weights` correct for this.
    """
    chance = random.Random(seed)
    strata: dict[tuple[str, str, str], list[Item]] = defaultdict(list)
    for item in sorted(items, key=lambda item: item.item):
        strata[item.stratum].append(item)
    for stratum in strata.values():
        chance.shuffle(stratum)
    order = sorted(strata)
    chance.shuffle(order)  # so names do not decide which strata a small `size` omits
    turns = zip_longest(*(reversed(strata[key]) for key in order))
    drawn = [item for turn in turns for item in turn if item][:size]
    chance.shuffle(drawn)
    return drawn


def labels_of(path: Path, sample: list[Item], form: Form = ANSWERS) -> dict[str, str]:
    """Return the labels of the sheet at `path`, which has all of `sample` afterwards.

    Rows of a sheet with a label stay; items that it lacks are added below.
    """
    labels, columns = read_labels(path, form), ["item", *form.shows, "label"]
    sheet, separator = _read(path) if labels else (pd.DataFrame(columns=columns), ",")
    there = set(sheet["item"])
    added = pd.DataFrame(
        [(item.item, *map(_cell, item.texts), "") for item in sample if item.item not in there],
        columns=columns,
    )
    if len(added) or not path.exists():
        text = as_csv(pd.concat([sheet, added]), sep=separator, quoting=csv.QUOTE_ALL)
        write_text(path, "\ufeff" + text)  # Excel needs the byte order mark
    return labels


def read_labels(path: Path, form: Form = ANSWERS) -> dict[str, str]:
    """Return item -> label of a filled-in sheet, {} if there is none.

    Raises BadInput naming item and remedy for an unknown or second label or a missing column.
    """
    labels: dict[str, str] = {}
    sheet = _read(path)[0] if path.exists() else pd.DataFrame(columns=["item", "label"])
    if missing := {"item", "label"} - set(sheet):
        raise BadInput(
            f"{shown(path)}: its first row has no column {sorted(missing)[0]!r}: keep "
            "the first row as it was written"
        )
    for item, label in zip(sheet["item"], sheet.label.str.casefold(), strict=True):
        if label and (label not in form.labels or not item):
            raise BadInput(
                f"{shown(path)}, {item or 'a row without an item'}: label {label!r} "
                f"should be {', '.join(form.labels)} or empty, and keep each item's name"
            )
        if label and labels.setdefault(item, label) != label:
            raise BadInput(
                f"{shown(path)}, {item} is labelled {labels[item]} and {label}: keep one of the two"
            )
    return labels


def labels_digest(path: Path) -> str:
    """Return a digest of the labels at `path`, of its bytes if unreadable, "" without labels."""
    try:
        labels = json.dumps(sorted(read_labels(path).items())).encode()
    except ValueError:
        labels = path.read_bytes()
    return "" if labels == b"[]" else hashlib.sha256(labels).hexdigest()


def verdicts_of(items: Iterable[Item], labels: dict[str, str], person: str) -> list[Verdict]:
    """Return the labels as verdicts of `person`; an unsure one is unscored."""
    return [
        Verdict(
            query_id=item.query_id,
            arm=item.arm,
            judge=person,
            reason="",
            verdict=labels[item.item].replace("unsure", "unscored"),
        )
        for item in items
        if item.item in labels
    ]


def ratings(items: Iterable[Item], labels: dict[str, str], form: Form = QUESTIONS) -> pd.DataFrame:
    """Return the share of each label, with intervals over documents, by structure."""
    rows = pd.DataFrame(
        [
            (item.structure, item.document_id, labels[item.item])
            for item in items
            if item.item in labels
        ],
        columns=["structure", "document", "label"],
    )
    tables = []
    for label in form.labels:
        own = rows.assign(label=label, share=(rows.label == label).astype(float), all=ALL)
        tables += [
            by_group(
                own.assign(by=by, group=own[by]), ["by", "group", "label"], "share", "document"
            )
            for by in ("structure", ALL)
        ]
    return pd.concat(tables, ignore_index=True).rename(columns={"mean": "share"})


def weights(items: Iterable[Item], labels: dict[str, str]) -> dict[tuple[str, str], float]:
    """Map each labelled answer to the number that it represents: its stratum's size / labels."""
    drawn = [item for item in items if item.item in labels]
    n_all, n_drawn = (Counter(item.stratum for item in part) for part in (items, drawn))
    return {
        (item.query_id, item.arm): n_all[item.stratum] / n_drawn[item.stratum] for item in drawn
    }


def _cell(text: str) -> str:
    return _UNPRINTABLE.sub("\ufffd", text)[:_LONGEST_CELL]


def _read(path: Path) -> tuple[pd.DataFrame, str]:
    raw = path.read_bytes()
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("cp1252", errors="replace")  # Excel's plain CSV
    separator = max(",;\t", key=text.split("\n", 1)[0].count)
    lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    lines = [[cell.strip() for cell in line] for line in lines if any(map(str.strip, line))]
    header = [cell.lower() for cell in lines[0]] if lines else []
    rows = [[*line, *[""] * len(header)][: len(header)] for line in lines[1:]]
    return pd.DataFrame(rows, columns=header, dtype=str), separator
