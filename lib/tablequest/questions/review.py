"""A sheet of questions for people to review: where is the answer, does it match, does the level fit, what is at fault.

Their faults come back as examples in the prompt of the model that filters. Beside it the ways of lib.analyze.agreement.sheet.
"""

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from lib.analyze.agreement.sheet import LABELS, cell_text, read_labels
from lib.analyze.agreement.spreadsheet import header_of, lines_of, write_csv, write_longer, write_xlsx
from lib.core.files import replacing
from lib.core.paths import shown
from lib.tablequest.records import LEVELS, Grid, TableQuestion

COLUMNS = ("item", "question", "reference answer", "where it stands", "label", "level", "level fits", "where", "fault")
FILLED = ("label", "level fits", "where", "fault")  # by a person
_MOST_EXAMPLES = 12


def draw_for_review(questions: Sequence[TableQuestion], per_level: int = 50, seed: int = 42) -> list[TableQuestion]:
    """At most `per_level` questions of each level, of all kinds in turn, in an order shuffled by `seed`."""
    chance, drawn = random.Random(seed), []
    for level in LEVELS:
        of_kind: dict[str, list[TableQuestion]] = {}
        for question in sorted((one for one in questions if one.level == level), key=lambda one: one.question_id):
            of_kind.setdefault(question.kind, []).append(question)
        for pool in of_kind.values():
            chance.shuffle(pool)
        chosen: list[TableQuestion] = []
        while any(of_kind.values()) and len(chosen) < per_level:
            chosen += [pool.pop() for pool in of_kind.values() if pool][:per_level - len(chosen)]
        drawn += chosen
    chance.shuffle(drawn)
    return drawn


def write_review(path: Path, questions: Sequence[TableQuestion], grids: Mapping[str, Grid]) -> int:
    """Write the sheet at `path` (.csv or .xlsx) with a row for each question; the number of rows that a person filled.

    An item's name depends on its words, so that nothing filled in counts for another question.
    `label` is correct, incorrect or unsure: does the reference answer match the report? `level fits` is yes or no;
    `where` and `fault` are words. A sheet in which something is filled in keeps every row that it has, and what it
    lacks of `questions` comes below. What a spreadsheet would take for a formula gets an apostrophe before it.
    Raises ValueError for another ending, or a sheet whose first row was changed.
    """
    if path.suffix not in (".csv", ".xlsx"):
        raise ValueError(f"{shown(path)}: a sheet is a .csv or .xlsx file: change its name")
    there = _rows(path) if path.exists() else []
    lines = {line[0]: line for line in (_line(question, grids) for question in questions)}
    n_filled = sum(any(row[name] for name in FILLED) for row in there)
    if n_filled:
        _add(path, [line for item, line in lines.items() if item not in {row["item"] for row in there}])
    elif path.suffix == ".xlsx":
        write_xlsx(path, [list(COLUMNS), *lines.values()], LABELS)
    else:
        write_csv(path, [list(COLUMNS), *lines.values()])
    return n_filled


def _add(path: Path, lines: list[list[str]]) -> None:
    """Add `lines` below those of the sheet at `path`, in its own columns; nothing that it has is changed."""
    header = header_of(lines_of(path, path.suffix))
    new = [name for name in COLUMNS if name not in header]  # a person may have removed a column
    added = [[dict(zip(COLUMNS, line, strict=True)).get(name, "") for name in (*header, *new)] for line in lines]
    if added:
        with replacing(path) as temporary:
            write_longer(path, temporary, new, added, LABELS)


def faults_as_examples(path: Path) -> tuple[str, ...]:
    """The faults that people wrote into the sheet at `path`, each with its pair, as words for the filter's prompt.

    At most 12, of different faults first; () where there is no sheet. A pair labelled incorrect without a fault in
    words is one too. Raises ValueError as `write_review` and `lib.analyze.agreement.sheet.read_labels` do.
    """
    if not path.exists():
        return ()
    labels, seen, first, more = read_labels(path), set(), [], []
    for row in _rows(path):
        level = "" if row["level fits"].casefold() not in ("no", "n", "false") else "the level does not fit"
        wrong = "the answer is wrong" if labels.get(row["item"]) == "incorrect" else ""
        fault = "; ".join(filter(None, (row["fault"], level, wrong)))
        if fault:
            said = f"Question ({row['level']}): {row['question']}\nAnswer: {row['reference answer']}\nFault: {fault}"
            (more if fault.casefold() in seen else first).append(said)
            seen.add(fault.casefold())
    return tuple([*first, *more][:_MOST_EXAMPLES])


def faults_digest(path: Path) -> str:
    """What changes where the faults in the sheet at `path` do; "" without any: writing the sheet changes nothing.

    A sheet that cannot be read has the digest of its bytes, or of the error: the notebook says what is wrong with it.
    """
    try:
        examples = json.dumps(faults_as_examples(path)).encode()
    except (ValueError, ImportError):
        examples = path.read_bytes()
    except OSError as error:
        examples = str(error).encode()
    return "" if examples == b"[]" else hashlib.sha256(examples).hexdigest()


def _rows(path: Path) -> list[dict[str, str]]:
    """The sheet's rows by the names of COLUMNS; a column that was removed is empty."""
    lines = lines_of(path, path.suffix)
    header = header_of(lines)
    if not {"item", "question"} <= set(header):
        raise ValueError(f"{shown(path)}: its first row has no column `item` or `question` but {header}: keep the "
                         "sheet's first row as it was written, or remove the sheet")
    rows = [dict(zip(header, (cell.strip().removeprefix("'") for cell in line), strict=False)) for line in lines[1:]]
    return [{name: row.get(name, "") for name in COLUMNS} for row in rows if row.get("item")]


def _line(question: TableQuestion, grids: Mapping[str, Grid]) -> list[str]:
    answer = "\n".join([question.answer, "", *question.steps])
    digest = hashlib.sha256(json.dumps([question.question, question.answer]).encode()).hexdigest()[:12]
    return [f"item-{digest}", *map(cell_text, (question.question, answer, _place(question, grids))), "", question.level,
            "", "", ""]


def _place(question: TableQuestion, grids: Mapping[str, Grid]) -> str:
    """The question's name, and the section of each table with the rows that the answer rests on."""
    rows: dict[str, list[str]] = {}
    for ref in question.cells.values():
        if grid := grids.get(ref.grid_id):
            rows.setdefault(f"{grid.section} [{ref.grid_id}]", []).append(grid.rows[ref.row])
    places = (f"{where}: {', '.join(dict.fromkeys(of))}" for where, of in rows.items())
    return "\n".join([question.question_id, *places])
