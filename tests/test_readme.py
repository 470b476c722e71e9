"""The READMEs: their numbers have data, the links and named files exist."""

import re

import nbformat
import pandas as pd
import pytest
import yaml

from lib.core.stages import ARTIFACTS, writers_of
from lib.core.store import REPOSITORY
from lib.run.parameters import notebook_path
from tests.conftest import run_cells

PAGES = [
    path
    for path in REPOSITORY.rglob("README.md")
    if not {".venv", "data", "node_modules"} & set(path.relative_to(REPOSITORY).parts)
] + [REPOSITORY / "figures" / "exhibit" / "ADVICE.md"]


def test_every_number_is_computed_from_committed_data():
    names = run_cells("exhibit")
    text = names["texts"]["README.md"]
    names["texts"]["README.md"] = text.replace("by 44 points", "by 43 points") + " 77 of 78 cases."
    cells = {cell.id: cell.source for cell in nbformat.read(notebook_path("exhibit"), 4).cells}
    exec(cells["check"], names)
    with pytest.raises(AssertionError, match="says .*by 44 points.* without data: .*77 of 78"):
        exec(cells["checks"], names)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_links_and_commands_name_what_exists(page):
    text = page.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (page.parent / link).exists(), link
    for module in re.findall(r"python -m (lib\.[\w.]+)", text):
        path = REPOSITORY.joinpath(*module.split("."))
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), module
    for study in re.findall(r"STUDY=([a-z-]+)\b", text):
        assert (REPOSITORY / "studies" / f"{study}.yaml").exists(), study


def test_the_readme_of_data_lists_every_artifact_with_who_writes_it():
    text = (REPOSITORY / "data" / "README.md").read_text(encoding="utf-8")
    for name, one in ARTIFACTS.items():
        kind = one.kind.__name__ if one.kind else "[^|]+"
        row = rf"\| `{re.escape(one.path)}` \| {kind} \| {', '.join(writers_of(name))} \|"
        assert re.search(row, text), one.path


def test_the_tables_of_the_records_name_documents_that_are_there():
    place = REPOSITORY / "data" / "records"
    tables = {path.stem: pd.read_csv(path) for path in place.glob("*.csv")}
    files = tables["SOURCES"].folder + "/" + tables["SOURCES"].file
    assert {*files} == {str(path.relative_to(place)) for path in place.rglob("*/*.md")}
    stems = files.str.removesuffix(".md").str.rpartition("/")[2]
    assert {*tables["facts"].document.str.rpartition("/")[2]} <= {*stems}
    named = [tables[one].query_id.str.rpartition("-q")[0] for one in ("coverage", "coverage_read")]
    for document in {*pd.concat([*named, tables["withheld"].document])}:
        assert any((place / folder / document).exists() for folder in ("documents", "pilot"))


def test_the_citation_has_the_title_version_and_date_of_the_project():
    cited = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text(encoding="utf-8"))
    first = f"Version {cited['version']}, {cited['date-released']}."
    assert first in (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    assert (REPOSITORY / "README.md").read_text(encoding="utf-8").startswith(f"# {cited['title']}")
