"""Read what a notebook's parameters cell declares without running it, and check values."""

import ast
import json
from dataclasses import dataclass
from pathlib import Path

from pydantic import ConfigDict, TypeAdapter, ValidationError

from lib.core.errors import BadStudy, choices
from lib.core.store import REPOSITORY

_TYPES = {"str": str, "int": int, "float": float, "bool": bool, "list": list, "dict": dict}
_STRICT = ConfigDict(strict=True, allow_inf_nan=False)


@dataclass(frozen=True)
class Parameter:
    """One line of a parameters cell: `name: annotation = default`."""

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


def parameters_of(notebook: Path) -> dict[str, Parameter]:
    """Return the parameters that `notebook` declares, in order.

    Raises BadStudy unless exactly one cell is tagged `parameters` and consists of lines
    `name: type = literal`.
    """
    found = {}
    try:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        (cell,) = (cell for cell in cells if "parameters" in cell["metadata"].get("tags", []))
        for line in ast.parse("".join(cell["source"])).body:
            found[line.target.id] = Parameter(
                ast.unparse(line.annotation), ast.literal_eval(line.value)
            )
    except (ValueError, KeyError, TypeError, AttributeError, SyntaxError) as error:
        raise BadStudy(
            f"{notebook.name}: exactly one cell must be tagged `parameters`, with lines "
            f"`name: type = literal` ({error}); correct or restore it"
        ) from error
    return found


def checked(notebook: Path, given: dict[str, object]) -> dict[str, object]:
    """Return `given` as `notebook` will receive it, after checking every name and type.

    Raises BadStudy, which gives the legal names or the expected type.
    """
    declared = parameters_of(notebook)
    result = {}
    for name, value in given.items():
        where = f"notebook {notebook.stem}, parameter {name}"
        if name not in declared:
            raise BadStudy(f"{where}: unknown; {choices(name, declared)}")
        annotation = declared[name].annotation
        try:
            kind = TypeAdapter(eval(annotation, {"__builtins__": {}}, _TYPES), config=_STRICT)
            result[name] = kind.validate_python(value)
        except ValidationError as error:
            is_text = isinstance(value, str) and "float" in annotation
            hint = ", but text: in YAML write 5.0e-6, not 5e-6" * is_text
            raise BadStudy(f"{where}: {value!r} is not {annotation}{hint}") from error
    return result
