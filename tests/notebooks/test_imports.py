"""What notebooks import: only those that train or measure a model start with torch."""

import ast
import json
import subprocess
import sys

from lib.core.store import REPOSITORY
from lib.run.parameters import notebook_path

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


def imports_of(stage: str) -> list[str]:
    """Return the notebook's imports, with those at the top of its cells' statements."""
    cells = json.loads(notebook_path(stage).read_text(encoding="utf-8"))["cells"]
    return [
        ast.unparse(node)
        for cell in cells
        if cell["cell_type"] == "code" and cell["source"][0][0] != "%"
        for node in ast.parse("".join(cell["source"])).body
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]


def test_an_analysis_imports_neither_torch_nor_transformers():
    lines = ["import sys"]
    for stage in ANALYSES:
        heavy = f"assert not {{'torch', 'transformers'}} & {{*sys.modules}}, {stage!r}"
        lines += [*imports_of(stage), heavy]
    ran = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
