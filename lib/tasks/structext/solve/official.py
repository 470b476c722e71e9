"""Read the official files of StrucText-Eval (v2; MikeGu721/StrucText-Eval, MIT) as our samples."""

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path

from lib.core.errors import BadInput
from lib.core.store import shown
from lib.tasks.structext.records import TASKS, Sample
from lib.tasks.structext.solve.solver import task_of

ENDINGS = (".json", ".jsonl", ".json.gz", ".jsonl.gz")


def load(path: Path) -> list[tuple[Sample, list[Sample]]]:
    """Return the samples of an official file, or of all files below a folder, by path.

    Each comes with its demonstrations (field `examples`): same cell and hint, ids with #1, #2, ….
    Raises BadInput if a file or a sample cannot be read.
    """
    files = (
        [path]
        if path.is_file()
        else sorted(one for one in path.rglob("*") if one.name.endswith(ENDINGS))
    )
    if not files:
        raise BadInput(
            f"{shown(path)} is missing or has no file *{', *'.join(ENDINGS)}: give an "
            "official file of StrucText-Eval, or a folder of them"
        )
    found: dict[str, list[Sample]] = {}
    for file in files:
        name = file.name if path.is_file() else file.relative_to(path).as_posix()
        for default, row in _rows(file, name):
            try:
                first, *others = _samples(row, default)
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise BadInput(
                    f"{shown(file)}, {default}: not a sample ({error!r}); it needs "
                    "Question, Answer, Reference and Label"
                ) from error
            if first.id in found:
                raise BadInput(
                    f"{shown(path)}: two samples are named {first.id!r}; leave one of them out"
                )
            found[first.id] = [first, *others]
    return [(first, others) for first, *others in found.values()]


def _rows(file: Path, name: str) -> Iterator[tuple[str, dict]]:
    try:
        content = file.read_bytes()
        text = (gzip.decompress(content) if file.suffix == ".gz" else content).decode("utf-8-sig")
        if ".jsonl" in file.name:
            rows = [line and json.loads(line) for line in map(str.strip, text.split("\n"))]
        else:
            rows = json.loads(text)
        json.dumps(rows, ensure_ascii=False).encode()  # an unpaired surrogate could not be stored
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        raise BadInput(f"{shown(file)}: not JSON ({error}); download the file again") from error
    if isinstance(rows, dict):
        return iter([(name, rows)])
    return ((f"{name}:{number}", row) for number, row in enumerate(rows, 1) if row)


def _samples(row: dict, default: str) -> Iterator[Sample]:
    label, name = row["Label"], row.get("path") or default
    language = label["typename"]
    for number, part in enumerate([row, *(row.get("examples") or [])]):
        task = task_of(language, part["Question"])
        if task not in TASKS:
            raise BadInput(f"{task} is not a task of the benchmark")
        yield Sample(
            id=f"{name}#{number}" if number else name,
            language=language,
            task=task,
            depth=int(label["node_number"]),
            width=int(label["n_ary_ratio"]),
            question=part["Question"].strip(),
            answer=part["Answer"].strip(),
            reference=part["Reference"].strip("\r\n"),
            hint=row.get("RuleHint") or "",
        )
