"""Hash what a notebook or module computes; paths, comments and docstrings do not change the digest.

A digest is a Merkle hash. It covers the code's syntax tree, every module of lib that the code
imports (also inside a function), and every prompt and data file that is named with a literal in
`prompt_template("…")` or `package_file("…")`. It also covers Python's minor version, because
`ast.dump` differs between versions. Moving a file keeps the digest, but splitting or merging files
changes it. Circular imports are an error. A module named only in a string is not seen: import it
and use its `__name__`.
"""

import ast
import hashlib
import json
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from lib.core.paths import REPOSITORY

_FOLDERS = {"prompt_template": ("prompts", ".md"), "package_file": ("lib", "")}  # folder, extension


class NoDigest(ValueError):
    """What the code computes cannot be determined from its source."""


def notebook_digest(notebook: Path, root: Path = REPOSITORY) -> str:
    """Return the digest of `notebook`'s code cells and everything that they import below `root`.

    Raises NoDigest for circular imports, and if a prompt or data file's name is not a literal.
    """
    return _digest(_code(notebook), root, (str(notebook),))


def module_digest(name: str, root: Path = REPOSITORY) -> str:
    """Return the digest of the module `name`, such as "lib.core.paths", and all that it imports.

    Raises NoDigest as `notebook_digest` does, and if there is no such module.
    """
    return _module(name, root, ())


def reached(notebook: Path, root: Path = REPOSITORY) -> set[str]:
    """Return the names of all modules of lib that `notebook` imports, directly or indirectly."""
    found: set[str] = set()
    waiting = [_code(notebook)]
    while waiting:
        for _, name, _ in _imports(waiting.pop(), root):
            if name not in found:
                found.add(name)
                waiting.append(ast.parse(_file(name, root).read_text(encoding="utf-8")))
    return found


def _code(notebook: Path) -> ast.Module:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    lines = "\n".join(sources).split("\n")
    return ast.parse("\n".join(line for line in lines if not line.startswith(("%", "!"))))


_known: dict[tuple[str, Path], str] = {}


def _module(name: str, root: Path, above: tuple[str, ...]) -> str:
    if name in above:
        raise NoDigest(f"circular imports have no digest: {' -> '.join([*above, name])}")
    if (name, root) not in _known:
        path = _file(name, root)
        if path is None:
            raise NoDigest(f"there is no module {name} below {root}")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        _known[name, root] = _digest(tree, root, (*above, name))
    return _known[name, root]


def _digest(tree: ast.Module, root: Path, above: tuple[str, ...]) -> str:
    parts = sorted((bound, _module(module, root, above), inner)
                   for bound, module, inner in _imports(tree, root))
    bare = ast.dump(_Bare(root, above[-1]).visit(tree))
    whole = json.dumps([sys.version_info[:2], bare, parts])
    return hashlib.sha256(whole.encode()).hexdigest()


@cache
def _file(name: str, root: Path) -> Path | None:
    """Return the file of the module `name`, None if it is not a module of lib."""
    path = root.joinpath(*name.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py")
                 if file.exists()), None)


def _imports(tree: ast.Module, root: Path) -> Iterator[tuple[str, str, str]]:
    """Yield (bound name, module, name inside it or "") for every import of lib in `tree`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if _is_ours(alias.name):
                    yield alias.asname or alias.name, alias.name, ""
        elif isinstance(node, ast.ImportFrom) and _is_ours(node.module or ""):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                is_module = _file(inner, root) is not None
                yield (alias.asname or alias.name, inner if is_module else node.module,
                       "" if is_module else alias.name)


def _is_ours(name: str) -> bool:
    return name.split(".")[0] == "lib"


class _Bare(ast.NodeTransformer):
    """Remove docstrings and imports of lib; replace prompts' names with hashes of content."""

    def __init__(self, root: Path, name: str) -> None:
        self.root, self.name = root, name

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(getattr(node, "body", None), list):
            node.body = [line for line in node.body if not _is_text(line)] or [ast.Pass()]
        return node

    def visit_Import(self, node: ast.Import) -> ast.AST | None:
        node.names = [alias for alias in node.names if not _is_ours(alias.name)]
        return node if node.names else None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        return None if _is_ours(node.module or "") else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in _FOLDERS:
            node.args = [ast.Constant(self._content(node))]
        return node

    def _content(self, node: ast.Call) -> str:
        """Return the hash of the file that `prompt_template("name")` reads."""
        folder, ending = _FOLDERS[node.func.id]
        if len(node.args) != 1 or not isinstance(getattr(node.args[0], "value", None), str):
            raise NoDigest(f"{self.name}, line {node.lineno}: `{ast.unparse(node)}` names its file "
                           "by an expression: write the name as a literal")
        path = self.root / folder / f"{node.args[0].value}{ending}"
        return hashlib.sha256(path.read_bytes()).hexdigest()


def _is_text(line: ast.stmt) -> bool:
    return (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)
            and isinstance(line.value.value, str))
