"""Every committed notebook is clean source: no outputs, literal parameters, small cells, no definitions."""

import ast
import subprocess

import nbformat
import pytest

from lib.core.paths import REPOSITORY
from lib.run.parameters import parameters_of

NOTEBOOKS = sorted((REPOSITORY / "notebooks").glob("[0-9]*.ipynb"))
MAX_CODE_CELLS = 12
MAX_CELL_LINES = 12

pytestmark = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def code_cells(path) -> list:
    return [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]


def test_it_is_valid_and_runs_on_python3(path):
    notebook = nbformat.read(path, 4)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) >= (4, 5)
    assert notebook.metadata.kernelspec.name == "python3"


def test_it_is_committed_without_outputs(path):
    notebook = nbformat.read(path, 4)
    assert not {"papermill", "widgets"} & set(notebook.metadata)
    for cell in code_cells(path):
        assert not cell.outputs and cell.execution_count is None, cell.id
        assert not {"papermill", "execution"} & set(cell.metadata), cell.id


def test_its_cells_have_ids_that_a_person_chose(path):
    for cell in nbformat.read(path, 4).cells:
        assert not all(letter in "0123456789abcdef" for letter in cell.id.replace("-", "")), cell.id


def test_it_opens_with_its_question_and_ends_with_what_was_learned(path):
    cells = nbformat.read(path, 4).cells
    number = path.stem[:2]
    assert cells[0].cell_type == "markdown" and cells[0].source.startswith(f"# {number} · ")
    assert "?" in cells[0].source and "eads" in cells[0].source and "rites" in cells[0].source
    assert cells[-1].cell_type == "markdown"


def test_its_parameters_are_literals_with_a_meaning_each(path):
    assert list(parameters_of(path))[0] == "study"
    tagged = nbformat.read(path, 4).cells[1]
    assert "parameters" in tagged.metadata.tags
    for line in tagged.source.splitlines():
        assert "  # " in line, line


def test_its_cells_are_few_and_short(path):
    cells = code_cells(path)
    is_exhibit = path.stem.startswith("06_")  # one cell a table or figure
    assert len(cells) <= MAX_CODE_CELLS or is_exhibit
    for cell in cells:
        lines = [line for line in cell.source.splitlines() if line.strip()]
        assert len(lines) <= MAX_CELL_LINES or "parameters" in cell.metadata.get("tags", []), cell.id


def test_it_defines_nothing_and_runs_no_hidden_shell(path):
    for cell in code_cells(path):
        assert not cell.source.lstrip().startswith(("!", "%%bash")), cell.id
        tree = ast.parse("\n".join(line for line in cell.source.splitlines() if not line.startswith("%")))
        assert not any(isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
                       for node in ast.walk(tree)), cell.id


def test_only_source_is_tracked_beside_it(path):
    tracked = subprocess.run(["git", "ls-files", "notebooks"], cwd=REPOSITORY, capture_output=True, text=True,
                             check=False).stdout.split()
    assert not [name for name in tracked if name.endswith((".html", ".failed.ipynb", "-checkpoint.ipynb"))]
