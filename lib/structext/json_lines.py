"""JSON lines that a user gives to the command line: read whole, or refused with the line that is at fault."""

from pathlib import Path
from typing import TypeVar

from pydantic import ConfigDict, ValidationError

from lib.core.paths import MissingInput, shown
from lib.core.records import Record


class Given(Record):
    """A row from outside: fields that are not asked for are not read."""

    model_config = ConfigDict(extra="ignore", frozen=True)


G = TypeVar("G", bound=Given)


def read_given(path: Path, kind: type[G]) -> list[G]:
    """The rows of `path` in order, without its empty lines.

    Raises MissingInput where there is no such file, ValueError naming file, line and field where a row does not fit.
    """
    needed = " and ".join(name for name, field in kind.model_fields.items() if field.is_required())
    if not Path(path).is_file():
        raise MissingInput(f"{shown(path)} is missing or no file: give JSON lines with {needed}")
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").split("\n")  # Windows puts a mark before the first
    except UnicodeDecodeError as error:
        raise ValueError(f"{shown(path)} is no text in UTF-8 ({error}): give JSON lines with {needed}") from error
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            if line.strip():
                rows.append(kind.model_validate_json(line))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the line"
            raise ValueError(f"{shown(path)}, line {number}: {where}: {first['msg']}; each line is a JSON object "
                             f"with {needed}; nothing was written") from error
    return rows
