#!/usr/bin/env python3
"""Count a checkout's code by package: lines, and tokens without comments, docstrings, layout.

Neither longer lines nor fewer comments change the number of tokens. Usage: python tests/size.py
"""

import ast
import io
import json
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILES = (
    "Snakefile",
    *(f"{one}/**/*.py" for one in ("lib", "tests", "benchmarks")),
    *(f"notebooks/**/*.{ending}" for ending in ("ipynb", "smk")),
)
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


def code(path):
    """Return the Python code of a module, a notebook's cells, or a Snakemake file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    cells = (cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code")
    return "".join("".join(cell["source"]).rstrip(";\n") + "\n" for cell in cells)


def counted():
    """Return lines, tokens and files, each by folder, by package of lib, and of files of rules."""
    n_lines, n_tokens, n_files = Counter(), Counter(), Counter()
    for path in (path for pattern in FILES for path in ROOT.glob(pattern)):
        folder, *below = path.relative_to(ROOT).parts
        if ".ipynb_checkpoints" in below:
            continue
        key = folder if path.suffix in (".py", ".ipynb") else "rules"
        text = code(path)
        n = tokens(text)
        for one in {key, f"lib/{below[0]}"} if key == "lib" else {key}:
            n_lines[one] += text.count("\n")
            n_tokens[one] += n
            n_files[one] += 1
    return n_lines, n_tokens, n_files


def main():
    """Print the counts."""
    n_lines, n_tokens, n_files = counted()
    print(f"{'':18}{'tokens':>9}{'lines':>8}{'files':>7}{'tokens a line':>15}")
    for key, n in n_tokens.most_common():
        print(f"{key:18}{n:9,}{n_lines[key]:8,}{n_files[key]:7}{n / max(1, n_lines[key]):15.1f}")


if __name__ == "__main__":
    main()
