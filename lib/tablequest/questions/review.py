"""Write a sheet of questions for people to review, and read the faults that they write down.

A reviewer says where the answer is, whether it matches, whether the level fits and what is wrong.
The filter model's prompt has the faults as examples. Files are as in lib.analyze.agreement.
"""

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from lib.analyze.agreement.sheet import LABELS, cell_text, read_labels
from lib.analyze.agreement.spreadsheet import (
    header_of,
    lines_of,
    write_csv,
    write_longer,
    write_xlsx,
)
from lib.core.files import replacing
from lib.core.paths import shown
from lib.tablequest.records import LEVELS, Grid, TableQuestion

FILLED = ("label", "level fits", "where", "fault")  # columns that a person fills in
COLUMNS = ("item", "question", "reference answer", "where it stands", "label", "level",
           *FILLED[1:])
_MOST_EXAMPLES = 12


def draw_for_review(questions: Sequence[TableQuestion], per_level: int = 50,
                    seed: int = 42) -> list[TableQuestion]:
    """Draw at most `per_level` questions of each level, taking kinds in turn, in seeded order."""
    chance, drawn = random.Random(seed), []
    for level in LEVELS:
        of_kind: dict[str, list[TableQuestion]] = {}
        for question in sorted(questions, key=lambda one: one.question_id):
            if question.level == level:
                of_kind.setdefault(question.kind, []).append(question)
        for pool in of_kind.values():
            chance.shuffle(pool)
        chosen: list[TableQuestion] = []
        while any(of_kind.values()) and len(chosen) < per_level:
            turn = [pool.pop() for pool in of_kind.values() if pool]
            chosen += turn[:per_level - len(chosen)]
        drawn += chosen
    chance.shuffle(drawn)
    return drawn


def write_review(path: Path, questions: Sequence[TableQuestion], grids: Mapping[str, Grid]) -> int:
    """Write the sheet (.csv or .xlsx), one row per question; return how many rows are filled in.

    `label` says whether the reference answer matches the report: correct, incorrect or unsure.
    `level fits` is yes or no; `where` and `fault` are text. An item's name depends on its texts, so
    that no entry counts for another question. A sheet with entries keeps all its rows, and missing
    `questions` are added below. Text that a spreadsheet would take for a formula gets an apostrophe
    in front. Raises ValueError for another suffix, or for a sheet whose first row was changed.
    """
    if path.suffix not in (".csv", ".xlsx"):
        raise ValueError(f"{shown(path)}: a sheet is a .csv or .xlsx file: change its name")
    rows = _rows(path) if path.exists() else []
    known = {row["item"] for row in rows}
    lines = {line[0]: line for line in (_line(question, grids) for question in questions)}
    n_filled = sum(any(row[name] for name in FILLED) for row in rows)
    if n_filled:
        _add(path, [line for item, line in lines.items() if item not in known])
    elif path.suffix == ".xlsx":
        write_xlsx(path, [list(COLUMNS), *lines.values()], LABELS)
    else:
        write_csv(path, [list(COLUMNS), *lines.values()])
    return n_filled


def _add(path: Path, lines: list[list[str]]) -> None:
    """Add `lines` below the sheet's own, in the sheet's columns; change nothing else."""
    header = header_of(lines_of(path, path.suffix))
    new = [name for name in COLUMNS if name not in header]  # people may remove columns
    named = [dict(zip(COLUMNS, line, strict=True)) for line in lines]
    if named:
        with replacing(path) as temporary:
            write_longer(path, temporary, new, [[line.get(name, "") for name in (*header, *new)]
                                                for line in named], LABELS)


def faults_as_examples(path: Path) -> tuple[str, ...]:
    """Return at most 12 faults from the sheet at `path`, each with its pair; repeated ones last.

    Returns () if there is no sheet. A pair labelled incorrect counts even without a written fault.
    Raises ValueError as `write_review` and `read_labels` do.
    """
    if not path.exists():
        return ()
    labels, seen, first, more = read_labels(path), set(), [], []
    for row in _rows(path):
        misfits = row["level fits"].casefold() in ("no", "n", "false")
        is_wrong = labels.get(row["item"]) == "incorrect"
        fault = "; ".join(filter(None, (
            row["fault"], "the level does not fit" if misfits else "",
            "the answer is wrong" if is_wrong else "")))
        if fault:
            example = (f"Question ({row['level']}): {row['question']}\n"
                       f"Answer: {row['reference answer']}\nFault: {fault}")
            (more if fault.casefold() in seen else first).append(example)
            seen.add(fault.casefold())
    return tuple([*first, *more][:_MOST_EXAMPLES])


def faults_digest(path: Path) -> str:
    """Return a digest of the faults in the sheet at `path`; "" if there are none.

    For an unreadable sheet, return the digest of its bytes or of the error; the notebook then
    reports what is wrong with the sheet.
    """
    try:
        examples = json.dumps(faults_as_examples(path)).encode()
    except (ValueError, ImportError):
        examples = path.read_bytes()
    except OSError as error:
        examples = str(error).encode()
    return "" if examples == b"[]" else hashlib.sha256(examples).hexdigest()


def _rows(path: Path) -> list[dict[str, str]]:
    """Return the sheet's rows as dicts by column; removed COLUMNS are empty."""
    lines = lines_of(path, path.suffix)
    header = header_of(lines)
    if not {"item", "question"} <= set(header):
        raise ValueError(f"{shown(path)}: its first row must have the columns `item` and "
                         f"`question`, but has {header}: restore that row, or remove the sheet")
    rows = [dict(zip(header, (cell.strip().removeprefix("'") for cell in line), strict=False))
            for line in lines[1:]]
    return [{name: row.get(name, "") for name in COLUMNS} for row in rows if row.get("item")]


def _line(question: TableQuestion, grids: Mapping[str, Grid]) -> list[str]:
    """Return the cells of a question's row, with the sections and rows of its answer."""
    digest = hashlib.sha256(json.dumps([question.question, question.answer]).encode()).hexdigest()
    answer = "\n".join([question.answer, "", *question.steps])
    rows: dict[str, list[str]] = {}
    for ref in question.cells.values():
        if grid := grids.get(ref.grid_id):
            rows.setdefault(f"{grid.section} [{ref.grid_id}]", []).append(grid.rows[ref.row])
    places = [f"{where}: {', '.join(dict.fromkeys(of))}" for where, of in rows.items()]
    texts = (question.question, answer, "\n".join([question.question_id, *places]))
    return [f"item-{digest[:12]}", *map(cell_text, texts), "", question.level, "", "", ""]
