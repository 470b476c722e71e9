"""Read JSON lines from a user of the command line; reject the file at the first faulty line."""

from pathlib import Path
from typing import TypeVar

from pydantic import ConfigDict, ValidationError

from lib.core.errors import BadInput
from lib.core.paths import shown
from lib.core.records import Record


class Given(Record):
    """A row from outside the project; fields that the class does not declare are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


G = TypeVar("G", bound=Given)


def read_given(path: Path, kind: type[G]) -> list[G]:
    """Return the rows of `path` in order, without empty lines.

    Raises BadInput if there is no such file, and ValueError with file, line and field if a row
    is not a `kind`.
    """
    required = [name for name, field in kind.model_fields.items() if field.is_required()]
    needed = " and ".join(required)
    if not Path(path).is_file():
        raise BadInput(f"{shown(path)} is missing or not a file: give JSON lines with {needed}")
    try:
        text = Path(path).read_text(encoding="utf-8-sig")  # Windows writes a byte order mark
    except UnicodeDecodeError as error:
        raise ValueError(f"{shown(path)} is not UTF-8 text ({error}): give JSON lines with "
                         f"{needed}") from error
    rows = []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            if line.strip():
                rows.append(kind.model_validate_json(line))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the line"
            raise ValueError(f"{shown(path)}, line {number}: {where}: {first['msg']}; each line is "
                             f"a JSON object with {needed}; nothing was written") from error
    return rows
