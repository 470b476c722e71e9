"""Read the official files of StrucText-Eval (v2; MikeGu721/StrucText-Eval, MIT) as our samples."""

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path

from lib.core.errors import BadInput
from lib.core.paths import shown
from lib.structext.records import TASKS, Sample
from lib.structext.solve.solver import task_of

ENDINGS = (".json", ".jsonl", ".json.gz", ".jsonl.gz")
FIELDS = ("Question", "Answer", "Reference", "Label")


def load(path: Path, *, with_demonstrations: bool = False) -> list[Sample]:
    """Return the samples of an official file, or of all files below a folder in order of path.

    A file has one sample or a list of samples (.json), or one per line (.jsonl), and may be
    gzipped. A sample's demonstrations (field `examples`) share its language, task, depth, width and
    hint; their ids are the sample's id with #1, #2, ….
    Raises BadInput if there is no such file, or if a file or a sample cannot be read.
    """
    path = Path(path)
    if not path.exists():
        raise BadInput(f"{shown(path)} is missing: give an official file of StrucText-Eval, or "
                           "a folder of them")
    files = [path] if path.is_file() else sorted(
        one for one in path.rglob("*") if one.name.endswith(ENDINGS))
    if not files:
        raise BadInput(f"{shown(path)} has no file "
                           f"{', '.join('*' + ending for ending in ENDINGS)}")
    samples: dict[str, Sample] = {}
    for file in files:
        name = file.name if path.is_file() else file.relative_to(path).as_posix()
        for place, row in _rows(file):
            default = f"{name}:{place.split()[-1]}" if place else name
            found = list(_samples(row, f"{shown(file)}, {place or 'the file'}", default))
            for sample in found if with_demonstrations else found[:1]:
                if sample.id in samples:
                    raise BadInput(f"{shown(path)}: two samples are named {sample.id!r}; leave "
                                    "one of them out")
                samples[sample.id] = sample
    return list(samples.values())


def _rows(file: Path) -> Iterator[tuple[str, object]]:
    try:
        content = file.read_bytes()
        text = (gzip.decompress(content) if file.suffix == ".gz" else content).decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise BadInput(f"{shown(file)} cannot be read as text: {error}") from error
    if ".jsonl" in file.name:
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                yield f"line {number}", _parsed(line, f"{shown(file)}, line {number}")
        return
    value = _parsed(text, shown(file))
    if isinstance(value, list):
        yield from ((f"item {number}", one) for number, one in enumerate(value, 1))
    else:
        yield "", value


def _parsed(text: str, where: str) -> object:
    try:
        value = json.loads(text)
        if "\\u" in text:  # an unpaired surrogate (\ud800) could not be stored
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{where}: not JSON ({error}); download the file again") from error
    return value


def _samples(row: object, where: str, default: str) -> Iterator[Sample]:
    if not isinstance(row, dict) or not isinstance(row.get("Label"), dict):
        raise BadInput(f"{where}: not a sample; a sample is an object with the fields "
                        f"{', '.join(FIELDS)}")
    label = row["Label"]
    try:
        language = str(label["typename"])
        depth, width = int(label["node_number"]), int(label["n_ary_ratio"])
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"{where}: Label needs typename, node_number and n_ary_ratio "
                        f"({error!r})") from error
    demonstrations = row.get("examples") or []
    if not isinstance(demonstrations, list):
        raise BadInput(f"{where}: examples is not a list")
    own = str(row.get("path") or default)
    for number, part in enumerate([row, *demonstrations]):
        fields = part if isinstance(part, dict) else {}
        missing = [name for name in FIELDS[:3] if not isinstance(fields.get(name), str)]
        if missing:
            raise BadInput(f"{where}{f', example {number}' if number else ''}: no text in "
                            f"{', '.join(missing)}")
        yield Sample(id=f"{own}#{number}" if number else own, language=language, depth=depth,
                     width=width, task=_task(language, fields["Question"], where),
                     question=fields["Question"].strip(), answer=fields["Answer"].strip(),
                     reference=fields["Reference"].strip("\r\n"),
                     hint=str(row.get("RuleHint") or ""))


def _task(language: str, question: str, where: str) -> str:
    try:
        task = task_of(language, question)
    except BadInput as error:
        raise BadInput(f"{where}: {error}") from error
    if task not in TASKS:
        raise BadInput(f"{where}: {task} is not a task of the benchmark")
    return task
