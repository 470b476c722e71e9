"""Every committed notebook is clean source with one header, literal parameters and small cells."""

import ast
import re

import nbformat
import papermill
import pytest

from lib.core.stages import ARTIFACTS, writers_of
from lib.core.store import REPOSITORY
from lib.run.parameters import parameters_of

NOTEBOOKS = sorted((REPOSITORY / "notebooks").rglob("*.ipynb"))
MAX_CODE_CELLS = 12
MAX_CELL_LINES, MAX_IMPORT_LINES = 12, 6
HEADER = re.compile(
    r"# (?:\d\d · )?[^\n]+\n\n\*\*Question\.\*\* [^\n]+\?[^\n]*\n\n"
    r"\*Reads\* (?P<reads>.+?) \*Writes\* (?P<writes>.+?)\s*\n"
    r"\*Paper:\* .+",
    re.S,
)

pytestmark = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def code_cells(path) -> list:
    return [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]


def tree_of(cell) -> ast.Module:
    return ast.parse(
        "\n".join(line for line in cell.source.splitlines() if not line.startswith("%"))
    )


def test_it_is_valid_and_committed_without_outputs(path):
    notebook = nbformat.read(path, 4)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    assert not {"papermill", "widgets"} & set(notebook.metadata)
    for cell in code_cells(path):
        assert not cell.outputs and cell.execution_count is None, cell.id
        assert not {"papermill", "execution"} & set(cell.metadata), cell.id


def test_its_header_has_a_question_and_names_its_files_as_the_table_of_artifacts_does(path):
    first = nbformat.read(path, 4).cells[0]
    header = HEADER.fullmatch(first.source.strip())
    assert first.cell_type == "markdown" and header, first.source
    step = f"{path.stem[:2]} · " if path.stem[:2].isdigit() else ""  # of the chain
    assert first.source.startswith(f"# {step}")
    shown = {re.sub(r"\{(\w+)\}", r"<\1>", one.path): name for name, one in ARTIFACTS.items()}
    for way in ("reads", "writes"):
        named = [name for name in re.findall(r"`([^`]+)`", header[way]) if name in shown]
        if way == "writes":
            own = {file for file, name in shown.items() if path.stem in writers_of(name)}
            assert {*named} == own, way
    called = {
        call.args[1].value
        for cell in code_cells(path)
        for call in ast.walk(tree_of(cell))
        if isinstance(call, ast.Call)
        and getattr(call.func, "id", "") == "load"
        and isinstance(call.args[1], ast.Constant)
    }
    reads = re.findall(r"`([^`]+)`", header["reads"])
    for name in called - {"human"}:
        file = re.sub(r"\{(\w+)\}", r"<\1>", ARTIFACTS[name].path)
        is_own = path.stem in writers_of(name)  # read again to check what was written
        assert file in reads or is_own, f"{file} is loaded and not named after *Reads*"


def test_it_ends_with_what_was_learned(path):
    assert nbformat.read(path, 4).cells[-1].cell_type == "markdown"


def test_its_parameters_are_literals_with_a_meaning_each(path):
    assert list(parameters_of(path))[0] == "study"
    tagged = nbformat.read(path, 4).cells[1]
    assert "parameters" in tagged.metadata.tags
    for line in tagged.source.splitlines():
        assert "  # " in line, line


def test_all_declared_parameters_are_in_papermills_help(path):
    assert {*papermill.inspect_notebook(path)} == {*parameters_of(path)}


def test_its_cells_are_few_and_short(path):
    cells = [cell for cell in code_cells(path) if cell.id != "study"]
    is_exhibit = path.stem.startswith("06_") or path.parent.name in ("extra", "laboratory")
    assert len(cells) <= MAX_CODE_CELLS + 1 or is_exhibit
    for cell in cells:
        lines = [line for line in cell.source.splitlines() if line.strip()]
        is_parameters = "parameters" in cell.metadata.get("tags", [])
        is_imports = all(
            isinstance(node, (ast.Import, ast.ImportFrom)) for node in tree_of(cell).body
        )
        most = MAX_IMPORT_LINES if is_imports else MAX_CELL_LINES
        assert len(lines) <= most or is_parameters, cell.id


def test_it_defines_nothing_and_runs_no_hidden_shell(path):
    for cell in code_cells(path):
        assert not cell.source.lstrip().startswith(("!", "%%bash")), cell.id
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        assert not any(isinstance(node, kinds) for node in ast.walk(tree_of(cell))), cell.id
