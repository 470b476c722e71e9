"""Hash the code of a notebook or module with the modules of lib, prompts and data that it uses."""

import ast
import hashlib
import json
from functools import cache
from pathlib import Path

from lib.core.store import REPOSITORY, BadInput, package_file, prompt_file

_FILES = {"prompt_template": prompt_file, "package_file": package_file}  # by the function called


def notebook_digest(notebook: Path, more: tuple[str, ...] = ()) -> str:
    """Return the digest of `notebook`'s code and all that it imports; comments do not count.

    `more` names modules that it imports by a name which is a parameter.
    Raises BadInput if the name of a prompt or data file is not a literal.
    """
    files = [notebook, *map(_module_file, sorted(reached(notebook, more)))]
    return hashlib.sha256("".join(_parts(file)[0] for file in files).encode()).hexdigest()


def module_digest(name: str) -> str:
    """Return the digest of the module `name`, such as "lib.core.store", as `notebook_digest`."""
    return notebook_digest(_module_file(name))


def reached(notebook: Path, more: tuple[str, ...] = ()) -> set[str]:
    """Return the names of all modules of lib that `notebook` imports, also inside functions."""
    names, waiting = set(more), [notebook, *map(_module_file, more)]
    while waiting:
        new = _parts(waiting.pop())[1] - names
        names |= new
        waiting += map(_module_file, new)
    return names


@cache
def _parts(path: Path) -> tuple[str, frozenset[str]]:
    names: set[str] = set()
    tree, content = ast.parse(_code(path)), hashlib.sha256()
    for node in ast.walk(tree):
        match node:
            case ast.Import(aliases):
                names |= {alias.name for alias in aliases}
            case ast.ImportFrom(module, aliases):
                names |= {str(module), *(f"{module}.{alias.name}" for alias in aliases)}
            case ast.Call(ast.Name(called), [ast.Constant(str(name))]) if called in _FILES:
                content.update(_FILES[called](name).read_bytes())
            case ast.Call(ast.Name(called)) if called in _FILES:
                raise BadInput(
                    f"{path}, line {node.lineno}: `{ast.unparse(node)}` names its file by an "
                    "expression: write the name as a literal"
                )
        if isinstance(body := getattr(node, "body", None), list):
            body[:] = [
                line
                for line in body
                if not (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))
            ]
    content.update(ast.dump(tree).encode())
    ours = {name for name in names if name.startswith("lib.") and _module_file(name).exists()}
    return content.hexdigest(), frozenset(ours)


def _code(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    cells = [cell["source"] for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    lines = "\n".join(map("".join, cells)).split("\n")
    return "\n".join(line for line in lines if not line.startswith(("%", "!")))


def _module_file(name: str) -> Path:
    return REPOSITORY.joinpath(*name.split(".")).with_suffix(".py")
