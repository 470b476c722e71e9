"""Hash the code of a notebook or module with the modules of lib, prompts and data that it uses."""

import ast
import hashlib
import json
from functools import cache
from pathlib import Path

from lib.core.errors import BadInput
from lib.core.store import REPOSITORY

_FOLDERS = {"prompt_template": ("prompts", ".md"), "package_file": ("lib", "")}  # folder, extension


def notebook_digest(notebook: Path, root: Path = REPOSITORY, more: tuple[str, ...] = ()) -> str:
    """Return the digest of `notebook`'s code and all that it imports; comments do not count.

    `more` names modules that it imports by a name which is a parameter.
    Raises BadInput if the name of a prompt or data file is not a literal.
    """
    names = sorted(reached(notebook, root, more))
    files = [notebook, *(_module_file(name, root) for name in names)]
    return hashlib.sha256("".join(_parts(file, root)[0] for file in files).encode()).hexdigest()


def module_digest(name: str, root: Path = REPOSITORY) -> str:
    """Return the digest of the module `name`, such as "lib.core.store", as `notebook_digest`."""
    return notebook_digest(_module_file(name, root), root)


def reached(notebook: Path, root: Path = REPOSITORY, more: tuple[str, ...] = ()) -> set[str]:
    """Return the names of all modules of lib that `notebook` imports, also inside functions."""
    names = set(more)
    waiting = [notebook, *(_module_file(name, root) for name in more)]
    while waiting:
        new = _parts(waiting.pop(), root)[1] - names
        names |= new
        waiting += [_module_file(name, root) for name in new]
    return names


@cache
def _parts(path: Path, root: Path) -> tuple[str, frozenset[str]]:
    tree, names = ast.parse(_code(path)), set()
    content = hashlib.sha256()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in _FOLDERS:
            content.update(_named_file(node, path, root).read_bytes())
        if isinstance(getattr(node, "body", None), list):
            node.body = [line for line in node.body if not _is_text(line)]
    content.update(ast.dump(tree).encode())
    ours = {name for name in names if name.startswith("lib.") and _module_file(name, root)}
    return content.hexdigest(), frozenset(ours)


def _code(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    sources = [
        "".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"
    ]
    lines = "\n".join(sources).split("\n")
    return "\n".join(line for line in lines if not line.startswith(("%", "!")))


@cache
def _module_file(name: str, root: Path) -> Path | None:
    path = root.joinpath(*name.split("."))
    return next(
        (file for file in (path.with_suffix(".py"), path / "__init__.py") if file.exists()), None
    )


def _named_file(call: ast.Call, path: Path, root: Path) -> Path:
    folder, ending = _FOLDERS[call.func.id]
    name = getattr(call.args[0], "value", None) if call.args else None
    if not isinstance(name, str):
        raise BadInput(
            f"{path}, line {call.lineno}: `{ast.unparse(call)}` names its file by an "
            "expression: write the name as a literal"
        )
    return root / folder / f"{name}{ending}"


def _is_text(line: ast.stmt) -> bool:
    return isinstance(line, ast.Expr) and isinstance(getattr(line.value, "value", None), str)
