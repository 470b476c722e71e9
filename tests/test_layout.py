"""The shape of the repository: layers, empty packages, sizes. See README.md, Map."""

import subprocess
import sys
from pathlib import Path

import pytest

from lib.core.paths import REPOSITORY

STUDIES = ("controlled", "structext", "tablequest", "reader")
# Ceilings in lines, a little above what there is. Lower them with every deletion; raise them only
# with the sentence that says what for: PDF, DOCX and other formats, rules for unseen documents;
# TableQuest's tags, old filings, units, rivals of a question, readings of an answer, grades;
# replicates, texts added by rules or a model, intervals and tests over clusters and bases;
# the floor and published samples of StrucText-Eval; a reader's lessons, circuit and comparison;
# a report per study, what its figures show, the time that a run still takes, pages written aside;
# a model's replies that are no answers: told apart, asked for again, bounded; a cost limit that
# arms share; stages that start as forks; Slurm, several nodes, any number of processes; gradient
# checkpointing; work counted instead of timed in tests.
MOST_LIB, MOST_CHAIN, MOST_TESTS, MOST_README = 45_520, 26_375, 27_490, 200


def n_lines(paths) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def test_packages_import_only_from_the_layers_below_them():
    ran = subprocess.run([Path(sys.executable).with_name("lint-imports"), "--no-cache"],
                         cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout


def test_packages_have_empty_init_files_and_few_modules():
    for folder in {path.parent for path in (REPOSITORY / "lib").rglob("*.py")}:
        assert (folder / "__init__.py").read_text(encoding="utf-8") == "", folder
        assert len(list(folder.glob("[!_]*.py"))) <= 15, folder


def test_lib_and_tests_stay_small():
    modules = list((REPOSITORY / "lib").rglob("*.py"))
    chain = [path for path in modules if path.relative_to(REPOSITORY).parts[1] not in STUDIES]
    assert n_lines(modules) <= MOST_LIB
    assert n_lines(chain) <= MOST_CHAIN
    assert n_lines((REPOSITORY / "tests").rglob("*.py")) <= MOST_TESTS
    assert n_lines([REPOSITORY / "README.md"]) <= MOST_README


@pytest.mark.parametrize("words", ["the house", "pypi.org", "/work/", "anthropic"])
def test_the_project_names_nothing_of_the_machine_that_it_was_written_on(words):
    folders = ("lib", "notebooks", "prompts", "studies", "benchmarks")
    for path in (path for folder in folders for path in (REPOSITORY / folder).rglob("*")):
        if path.suffix in (".py", ".md", ".ipynb", ".yaml", ".smk"):
            assert words not in path.read_text(encoding="utf-8").lower(), path
