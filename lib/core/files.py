"""Read and write the files between stages: JSON lines of typed records, complete or absent."""

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from lib.core.artifacts import ARTIFACTS
from lib.core.paths import data_path, required, shown
from lib.core.records import Record

R = TypeVar("R", bound=Record)


def artifact_path(study: str, name: str, **keys: object) -> Path:
    """Return the path of an artifact, such as `artifact_path("lab", "answers", arm="dapt")`.

    Slashes in a model id become dashes: each judge has a single folder. Creates the parent folder.
    """
    filled = {key: str(value).replace("/", "--") for key, value in keys.items()}
    return data_path(study, *ARTIFACTS[name].path.format(**filled).split("/"))


def made_by(name: str, **keys: object) -> str:
    """Name the notebooks that write an artifact, for a message: "04_infer.ipynb with arm dapt"."""
    notebooks = " or ".join(f"{notebook}.ipynb" for notebook in ARTIFACTS[name].made_by)
    return notebooks + "".join(f" with {key} {value}" for key, value in keys.items())


def existing(study: str, name: str, **keys: object) -> Path:
    """Return an artifact's path. Raises BadInput naming its notebook if it does not exist."""
    return required(artifact_path(study, name, **keys), made_by(name, **keys))


def load(
    study: str, name: str, kind: type[R] | None = None, *, optional: bool = False, **keys: object
) -> list:
    """Return the rows of an artifact of `study`, such as `load("lab", "answers", arm="dapt")`.

    `kind` is the record type if the table of artifacts names none. With `optional`, a missing file
    counts as empty. Raises BadInput and ValueError as `read_records` does.
    """
    path = artifact_path(study, name, **keys)
    if optional and not path.exists():
        return []
    return read_records(path, kind or ARTIFACTS[name].kind, made_by(name, **keys))


def load_arms(study: str, name: str, arms: Iterable[str], **keys: object) -> list:
    """Return the rows of an artifact that has one file per arm, arm after arm."""
    return [row for arm in arms for row in load(study, name, **keys, arm=arm)]


def save(study: str, name: str, rows: Iterable[Record], **keys: object) -> Path:
    """Write the rows of an artifact of `study` and print its path and number of rows."""
    rows = list(rows)
    path = write_records(artifact_path(study, name, **keys), rows)
    print(f"{shown(path)}: {len(rows)} rows")
    return path


def save_if_any(study: str, name: str, rows: Sequence[Record], **keys: object) -> None:
    """Save rows; if there are none, remove the file, so that no earlier run's rows remain."""
    if rows:
        save(study, name, rows, **keys)
    else:
        artifact_path(study, name, **keys).unlink(missing_ok=True)


@contextmanager
def replacing(path: Path):
    """Yield a temporary path, which replaces `path` on success and is removed after a failure.

    The file is therefore complete or absent, whatever stops the process.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        raise OSError(
            error.errno,
            f"{error.strerror or error} while writing {path}; the file was "
            "not kept. Free some space (or check the folder's permissions) and run the "
            "same command again",
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> Path:
    """Write `text` completely or not at all."""
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    return path


def write_records(path: Path, records: Iterable[Record]) -> Path:
    """Write records as JSON lines, completely or not at all."""
    return write_text(path, "".join(record.model_dump_json() + "\n" for record in records))


def write_json(path: Path, value: object) -> Path:
    """Write one JSON value, indented, completely or not at all."""
    return write_text(path, json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n")


def read_records(path: Path, kind: type[R], made_by: str) -> list[R]:
    """Read the JSON lines of `path` as `kind`.

    Raises BadInput naming the notebook `made_by` if the file is absent, and ValueError naming
    file and line if a row does not fit `kind`.
    """
    rows = []
    with open(required(path, made_by), "rb") as file:  # as bytes: names a line that is not UTF-8
        for number, line in enumerate(file, 1):
            try:
                rows.append(kind.model_validate_json(line))
            except ValidationError as error:
                first = error.errors()[0]
                where = ".".join(map(str, first["loc"])) or "the line"
                raise ValueError(
                    f"{shown(path)}, line {number}: {where}: {first['msg']}; "
                    f"remove the file and run {made_by} again"
                ) from error
    return rows
