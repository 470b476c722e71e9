"""What notebooks import: only those that train or measure a model start with torch."""

import ast
import json
import subprocess
import sys

import pytest

from lib.core.store import REPOSITORY
from lib.run.config import notebook_path

ANALYSES = (
    "00_documents",
    "01_annotate",
    "02_normalize",
    "04_infer",
    "05_judge",
    "06_analyze",
    "pairs",
    "statistics",
    "ledger",
    "agreement",
    "00_filings",
    "06_tablequest",
    "06_structext",
)
HEAVY = ("torch", "transformers")


def imports_of(stage: str) -> list[str]:
    """Return the notebook's imports, with those at the top of its cells' statements."""
    cells = json.loads(notebook_path(stage).read_text(encoding="utf-8"))["cells"]
    return [
        ast.unparse(node)
        for cell in cells
        if cell["cell_type"] == "code"
        for node in ast.parse("".join(cell["source"])).body
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]


@pytest.fixture(scope="module")
def loaded() -> dict[str, list[str]]:
    """Return which of HEAVY each notebook was the first to load, in one fresh process for all."""
    program = "import json, sys\nfound, known = {}, set()\n" + "\n".join(
        "\n".join(
            [
                *imports_of(stage),
                f"found[{stage!r}] = [one for one in {HEAVY} if one in "
                "sys.modules and one not in known]",
                f"known.update(found[{stage!r}])",
            ]
        )
        for stage in ANALYSES
    )
    ran = subprocess.run(
        [sys.executable, "-c", f"{program}\nprint(json.dumps(found))"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(ran.stdout.splitlines()[-1])


@pytest.mark.parametrize("stage", ANALYSES)
def test_an_analysis_imports_neither_torch_nor_transformers(stage, loaded):
    assert loaded[stage] == []
