"""The files that decide what a notebook does: the modules and prompts it reaches, found with ast (the house)."""

import ast
import json
from functools import cache
from pathlib import Path

from lib.paths import REPOSITORY


def code_inputs(notebook: Path) -> list[Path]:
    """`notebook`, the modules of lib that it imports (and those that these import), and the prompts that they name.

    A change in one of them, and in nothing else of the repository, changes what the notebook computes.
    """
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    lines = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code").split("\n")
    source = "\n".join(line for line in lines if not line.startswith(("%", "!")))  # IPython's own are not Python
    found, waiting = set(), [*_modules(ast.parse(source))]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += _modules(_tree(path))
    prompts = {prompt for path in found for prompt in _prompts(_tree(path))}
    return [notebook, *sorted(found), *sorted(prompts)]


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _modules(tree: ast.Module) -> list[Path]:
    """Files of the modules of lib that `tree` imports anywhere, with the packages that hold them."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update([node.module, *(f"{node.module}.{alias.name}" for alias in node.names)])
    paths = []
    for name in names:
        parts = name.split(".")
        if parts[0] == "lib":
            paths += [REPOSITORY.joinpath(*parts[:n], "__init__.py") for n in range(1, len(parts) + 1)]
            paths.append(REPOSITORY.joinpath(*parts).with_suffix(".py"))
    return [path for path in paths if path.exists()]


def _prompts(tree: ast.Module) -> set[Path]:
    """prompts/<name>.md for every string of a module that renders prompts; the name of a folder stands before it."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if "rendered" not in names:
        return set()
    strings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    folder = REPOSITORY / "prompts"
    return {path for path in folder.rglob("*.md") if path.relative_to(folder).with_suffix("").as_posix() in strings}
