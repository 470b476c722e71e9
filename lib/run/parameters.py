"""What a notebook's parameters cell declares, read without running it, and values checked against it (the house)."""

import ast
import json
import math
from dataclasses import dataclass
from pathlib import Path

_TYPES = {"str": str, "int": int, "float": float, "bool": bool, "list": list}


class WrongParameter(ValueError):
    """A name or a value that a notebook's parameters cell does not have."""


@dataclass(frozen=True)
class Parameter:
    """`name: annotation = default` of a parameters cell."""

    name: str
    annotation: ast.expr
    default: object


def parameters_of(notebook: Path) -> dict[str, Parameter]:
    """The parameters that `notebook` declares, in order.

    Raises WrongParameter where it is missing or has not exactly one cell tagged `parameters` of lines
    `name: type = literal`.
    """
    if not notebook.exists():
        raise WrongParameter(f"notebooks/{notebook.name} is missing: restore it (git checkout -- notebooks)")
    try:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    except (ValueError, KeyError, TypeError) as error:
        raise WrongParameter(f"notebooks/{notebook.name} is not a notebook ({error}); restore it") from error
    tagged = [cell for cell in cells if "parameters" in cell["metadata"].get("tags", [])]
    if len(tagged) != 1:
        raise WrongParameter(f"notebooks/{notebook.name} has {len(tagged)} cells tagged `parameters`; it needs one")
    found = {}
    try:
        lines = ast.parse("".join(tagged[0]["source"])).body
    except SyntaxError as error:
        raise WrongParameter(f"notebooks/{notebook.name}, parameters cell, line {error.lineno}: {error.msg}; each "
                             "line is `name: type = literal`") from error
    for line in lines:
        try:
            found[line.target.id] = Parameter(line.target.id, line.annotation, ast.literal_eval(line.value))
        except (AttributeError, TypeError, ValueError) as error:
            raise WrongParameter(f"notebooks/{notebook.name}, parameters cell: `{ast.unparse(line)}` is not "
                                 "`name: type = literal`") from error
    return found


def checked(notebook: Path, given: dict[str, object]) -> dict[str, object]:
    """`given` as `notebook` will receive it: every name known, every value of the declared type.

    Raises WrongParameter naming the legal names, or the type that is wanted.
    """
    declared = parameters_of(notebook)
    result = {}
    for name, value in given.items():
        where = f"notebook {notebook.stem}, parameter {name}"
        if name not in declared:
            raise WrongParameter(f"{where}: unknown; it has {', '.join(declared)}")
        annotation = declared[name].annotation
        if not _fits(value, annotation):
            raise WrongParameter(f"{where}: {value!r} is not {ast.unparse(annotation)}{_hint(value, annotation)}")
        is_whole_float = type(value) is int and ast.unparse(annotation) == "float"
        result[name] = float(value) if is_whole_float else value
    return result


def _fits(value: object, annotation: ast.expr) -> bool:
    """Whether `value` has the type that `annotation` (a built-in, list[…] or a union with |) spells."""
    match annotation:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _fits(value, left) or _fits(value, right)
        case ast.Constant(value=None):
            return value is None
        case ast.Subscript(value=ast.Name(id="list"), slice=inner):
            return isinstance(value, list) and all(_fits(item, inner) for item in value)
        case ast.Name(id="float"):
            return type(value) in (int, float) and math.isfinite(value)
        case ast.Name(id=name) if name in _TYPES:
            return type(value) is _TYPES[name]  # True is not 1
    raise WrongParameter(f"the annotation `{ast.unparse(annotation)}` is not understood: use str, int, float, bool, "
                         "list, list[…] or a union with None")


def _hint(value: object, annotation: ast.expr) -> str:
    if not isinstance(value, str) or not {"int", "float"} & set(ast.unparse(annotation).split(" | ")):
        return ""
    try:
        number = float(value)
    except ValueError:
        return ""
    return f" but text: in YAML write {number!r} without quotes, and 5.0e-6 rather than 5e-6"
