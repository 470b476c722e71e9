#!/usr/bin/env python3
"""Count a checkout's code by package: lines, and tokens without comments, docstrings, layout.

Neither longer lines nor fewer comments change the number of tokens.
Usage, from the project's root: python tests/size.py
"""

import ast
import io
import json
import subprocess
import tokenize
from collections import Counter
from pathlib import Path

LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def docstrings(text):
    """Return the places where a docstring starts."""
    try:
        tree = ast.parse(text)
    except SyntaxError:  # Snakemake's rules, a notebook's magic
        return set()
    found = (
        node.body[0] for node in ast.walk(tree) if isinstance(node, WITH_DOCSTRING) and node.body
    )
    return {
        (first.lineno, first.col_offset)
        for first in found
        if isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    }


def tokens(text):
    """Return the number of tokens of code in `text`; an f-string is one, as before Python 3.12."""
    skipped, count, depth = docstrings(text), 0, 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind = tokenize.tok_name[token.type]
        depth -= kind in ("FSTRING_END", "TSTRING_END")
        if not depth and token.type not in LAYOUT and token.start not in skipped:
            count += kind not in ("FSTRING_START", "TSTRING_START")
        depth += kind in ("FSTRING_START", "TSTRING_START")
    return count


def code(name):
    """Return the Python code of a module, a notebook's cells, or a Snakemake file."""
    text = Path(name).read_text()
    if not name.endswith(".ipynb"):
        return text
    cells = (cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code")
    return "".join("".join(cell["source"]).rstrip(";\n") + "\n" for cell in cells)


def keys(name):
    """Return the rows that a file counts in."""
    parts = name.split("/")
    if name.endswith((".ipynb", ".smk")) or parts[-1] == "Snakefile":
        return {"notebooks" if name.endswith(".ipynb") else "Snakefile, *.smk"}
    return {parts[0], "/".join(parts[:2]) if parts[0] == "lib" else parts[0]}


def main():
    """Print one row per package of lib, and one for each other folder, notebooks and rule files."""
    n_lines, n_tokens, n_files = Counter(), Counter(), Counter()
    listed = subprocess.run(
        ["git", "ls-files", "*.py", "*.ipynb", "*.smk", "*Snakefile"],
        capture_output=True,
        text=True,
        check=True,
    )
    for name in listed.stdout.split():
        text = code(name)
        for key in keys(name):
            n_lines[key] += text.count("\n")
            n_tokens[key] += tokens(text)
            n_files[key] += 1
    print(f"{'':18}{'tokens':>9}{'lines':>8}{'files':>7}{'tokens a line':>15}")
    for key, n in n_tokens.most_common():
        print(f"{key:18}{n:9,}{n_lines[key]:8,}{n_files[key]:7}{n / max(1, n_lines[key]):15.1f}")


if __name__ == "__main__":
    main()
