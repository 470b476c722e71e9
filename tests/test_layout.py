"""The shape of the repository: layers, empty packages, sizes. See CONTRIBUTING.md, Packages."""

import subprocess
import sys
from pathlib import Path

import pytest

from lib.core.store import REPOSITORY
from tests.size import code, tokens

# Ceilings in tokens of code, a little above what there is. Lower them with every deletion.
MOST_TOKENS = {"lib": 144_200, "tests": 100_200, "notebooks": 19_100, "rules": 2_715}
MOST_PER_LINE, MOST_README, LEAST_LINES = 8.0, 120, 40


@pytest.fixture(scope="module")
def sizes() -> dict[str, tuple[int, int]]:
    """Tokens of code and lines of lib, tests, notebooks, and rule files."""
    found = dict.fromkeys(MOST_TOKENS, (0, 0))
    files = [
        *(REPOSITORY / "notebooks").rglob("*.ipynb"),
        *REPOSITORY.rglob("notebooks/**/*.smk"),
        REPOSITORY / "Snakefile",
        *(REPOSITORY / "lib").rglob("*.py"),
        *(REPOSITORY / "tests").rglob("*.py"),
    ]
    for path in (path for path in files if ".ipynb_checkpoints" not in path.parts):
        folder = path.relative_to(REPOSITORY).parts[0]
        part, text = folder, code(str(path))
        if path.suffix not in (".py", ".ipynb"):
            part = "rules"
        found[part] = found[part][0] + tokens(text), found[part][1] + text.count("\n")
    return found


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
    assert sizes[part][0] <= MOST_TOKENS[part]


def test_lines_stay_readable_and_the_readme_short(sizes):
    assert sizes["lib"][0] / sizes["lib"][1] <= MOST_PER_LINE
    assert (REPOSITORY / "README.md").read_text(encoding="utf-8").count("\n") <= MOST_README


@pytest.mark.parametrize("words", ["the house", "pypi.org", "/work/", "anthropic"])
def test_the_project_names_nothing_of_the_machine_that_it_was_written_on(words):
    folders = ("lib", "notebooks", "prompts", "studies", "benchmarks")
    for path in (path for folder in folders for path in (REPOSITORY / folder).rglob("*")):
        if path.suffix in (".py", ".md", ".ipynb", ".yaml", ".smk"):
            assert words not in path.read_text(encoding="utf-8").lower(), path
