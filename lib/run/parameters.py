"""Parameters of notebooks, read and checked before anything runs."""

import ast
import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pydantic import ConfigDict, TypeAdapter, ValidationError

from lib.core.store import REPOSITORY, BadStudy, choices

_STRICT = ConfigDict(strict=True, allow_inf_nan=False)


class Parameter(NamedTuple):
    """One line of a notebook's parameters cell: `name: annotation = default`."""

    annotation: str
    default: object


def notebook_path(stage: str) -> Path:
    """Return the notebook called `stage`, in notebooks/ or a folder below.

    Raises BadStudy if there is none.
    """
    paths = sorted((REPOSITORY / "notebooks").glob(f"**/{stage}.ipynb"))
    if not paths:
        raise BadStudy(f"notebook {stage}.ipynb is missing: restore it (git checkout -- notebooks)")
    return paths[0]


@cache
def parameters_of(notebook: Path) -> dict[str, Parameter]:
    """Return the parameters that `notebook` declares, in order, without running it.

    Its "int or None" is int | None, which papermill's reader misses. Raises BadStudy unless exactly
    one cell is tagged `parameters` and consists of lines `name: type = literal`.
    """
    try:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        (cell,) = (cell for cell in cells if "parameters" in cell["metadata"].get("tags", []))
        return {
            line.target.id: Parameter(
                ast.unparse(line.annotation).strip("'").replace(" or ", " | "),
                ast.literal_eval(line.value),
            )
            for line in ast.parse("".join(cell["source"])).body
        }
    except (ValueError, KeyError, TypeError, AttributeError, SyntaxError) as error:
        raise BadStudy(
            f"{notebook.name}: exactly one cell must be tagged `parameters`, with lines "
            f"`name: type = literal` ({error}); correct or restore it"
        ) from error


def check(notebook: Path, given: dict[str, object]) -> None:
    """Raise BadStudy for a parameter that `notebook` does not declare, or a value of another type.

    The message gives the legal names or the expected type.
    """
    declared = parameters_of(notebook)
    for name, value in given.items():
        where = f"notebook {notebook.stem}, parameter {name}"
        if name not in declared:
            raise BadStudy(f"{where}: unknown; {choices(name, declared)}")
        annotation = declared[name].annotation
        try:
            kind = TypeAdapter(eval(annotation, {}), config=_STRICT)
            kind.validate_python(value)
        except ValidationError as error:
            is_text = isinstance(value, str) and "float" in annotation
            hint = ", but text: in YAML write 5.0e-6, not 5e-6" * is_text
            raise BadStudy(f"{where}: {value!r} is not {annotation}{hint}") from error
        if isinstance(value, int | float) and value < 0 <= (declared[name].default or 0):
            raise BadStudy(f"{where}: {value!r} is below zero")
