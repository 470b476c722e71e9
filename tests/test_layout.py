"""The shape of the repository: layers, empty packages, sizes. See CONTRIBUTING.md, Packages."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from lib.core.store import REPOSITORY
from tests.size import counted

# Ceilings in tokens of code, a little above what there is. Lower them with every deletion.
MOST_TOKENS = {"lib": 139_000, "tests": 94_530, "notebooks": 19_265, "rules": 2_715}
MOST_PER_LINE, MOST_README, LEAST_LINES = 8.0, 120, 40


@pytest.fixture(scope="module")
def sizes() -> tuple[Counter[str], ...]:
    """Lines, tokens and files by part."""
    return counted()


def test_packages_import_only_from_the_layers_below_them():
    ran = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout


def test_packages_have_empty_init_files_and_modules_worth_a_file():
    for path in (REPOSITORY / "lib").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path.name == "__init__.py":
            assert text == "", path
        else:
            assert text.count("\n") >= LEAST_LINES, path
    for folder in {path.parent for path in (REPOSITORY / "lib").rglob("*.py")}:
        assert len(list(folder.glob("[!_]*.py"))) <= 15, folder


@pytest.mark.parametrize("part", MOST_TOKENS)
def test_code_stays_small(part, sizes):
    assert 0 < sizes[1][part] <= MOST_TOKENS[part]


def test_lines_stay_readable_and_the_readme_short(sizes):
    n_lines, n_tokens, _ = sizes
    assert n_tokens["lib"] / n_lines["lib"] <= MOST_PER_LINE
    assert (REPOSITORY / "README.md").read_text(encoding="utf-8").count("\n") <= MOST_README


@pytest.mark.parametrize("words", ["the house", "pypi.org", "/work/", "anthropic"])
def test_the_project_names_nothing_of_the_machine_that_it_was_written_on(words):
    folders = ("lib", "notebooks", "prompts", "studies", "benchmarks")
    for path in (path for folder in folders for path in (REPOSITORY / folder).rglob("*")):
        if path.suffix in (".py", ".md", ".ipynb", ".yaml", ".smk"):
            assert words not in path.read_text(encoding="utf-8").lower(), path
