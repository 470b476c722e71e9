"""A tiny house for the tests of the runner: the real Snakefile and lib around notebooks that take no time."""

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
from hypothesis import HealthCheck, settings

from lib.core.paths import REPOSITORY

os.environ.setdefault("GOMP_SPINCOUNT", "20000")  # as the notebook runner does; before torch is imported

# `make test` draws few examples for each property, `make test-all` many.
settings.register_profile("fast", max_examples=25, deadline=None)
settings.register_profile("thorough", max_examples=200, deadline=None,
                          suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))

# Files that take longest, so that on several cores none of them is left for the end.
LONGEST = ("test_smoke", "test_controlled_smoke", "test_study", "test_llm_batch", "test_deepspeed", "test_study_file",
           "test_llm_stages", "test_inference_processes", "test_llm_faults", "test_retention")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, else as they were."""
    items.sort(key=lambda item: LONGEST.index(item.path.stem) if item.path.stem in LONGEST else len(LONGEST))


# What each notebook of the tiny graph declares and does. They read and write what the Snakefile says, through lib.
DECLARED = {
    "00_lab": "seed: int = 1",
    "00_documents": 'folder: str = "documents"',
    "01_annotate": 'annotator: str = "rules"\nmax_queries_per_document: int = 10',
    "02_normalize": 'normalizer: str = "rules"\nbase_model: str = "data/lab/models/base"',
    "03_train": 'arm: str = "dapt"\nbase_model: str = ""\nseed: int = 42\nlearning_rate: float = 1.0e-3\n'
                'epochs: int = 2\nnote: str | None = None',
    "04_infer": 'arm: str = "dapt"\nbase_model: str = ""',
    "05_judge": 'arm: str = "dapt"\njudge: str = "rules"',
    "06_analyze": 'judge: str = "rules"\narms: list[str] = ["base"]',
    "00_retention": 'arm: str = "dapt"\nbase_model: str = ""\ntasks: str = "lab"',
    "01_pairs": 'first_arm: str = "base"\nsecond_arm: str = "dapt"\njudge: str = "rules"',
    "02_statistics": 'judge: str = "rules"\narms: list = []',
    "03_ledger": 'judge: str = "rules"\narms: list = []',
    "04_agreement": 'judges: list = []\narms: list = []\nsheet: str = "human/sheet.csv"',
    "05_paper": 'judge: str = "rules"\narms: list = []\nseeds: int = 1\nretention: bool = True\npairs: bool = True',
    "06_advice": 'judge: str = "rules"\narms: list = []\nbase_model: str = ""\nnormalizer: str = "rules"',
}
DOES = {
    "00_lab": ['for name in ("documents", "documents_public", "facts"):\n'
               '    write_text(data_path(study, f"{name}.jsonl"), f"{name} {seed}\\n")',
               'write_text(data_path(study, "models", "base", "config.json"), str(seed))'],
    "00_documents": ["from lib.documents.folder import read_folder", "reading = read_folder(folder)",
                     'write_records(data_path(study, "documents.jsonl"), reading.documents)\n'
                     'write_records(data_path(study, "documents_rejected.jsonl"), reading.rejected)'],
    "01_annotate": ['text = required(data_path(study, "documents.jsonl"), "00_lab.ipynb").read_text()',
                    'write_text(data_path(study, "queries.jsonl"), f"{text}{max_queries_per_document}\\n")',
                    'write_text(data_path(study, "queries_rejected.jsonl"), "")'],
    "02_normalize": ['text = required(data_path(study, "documents.jsonl"), "00_lab.ipynb").read_text()',
                     'for name in ("segments", "normalized"):\n'
                     '    write_text(data_path(study, f"{name}.jsonl"), text)'],
    "03_train": ["import os, time", 'time.sleep(float(os.environ.get("PAUSE", 0)))',
                 'source = "normalized" if arm == "dapt-n" else "segments"',
                 'text = required(data_path(study, f"{source}.jsonl"), "02_normalize.ipynb").read_text()',
                 'write_text(data_path(study, "models", arm, "training.json"), f"{text}{epochs} {learning_rate}")'],
    "04_infer": ['text = required(data_path(study, "queries.jsonl"), "01_annotate.ipynb").read_text()',
                 'model = "" if arm == "base" else data_path(study, "models", arm, "training.json").read_text()',
                 'write_text(answers_path(study, arm), f"{text}{model}\\n")'],
    "05_judge": ['text = required(answers_path(study, arm), "04_infer.ipynb").read_text()',
                 'write_text(verdicts_path(study, judge, arm), f"{text}{judge}\\n")'],
    "06_analyze": ["import zlib\nfrom lib.core.text import joined",
                   'texts = [verdicts_path(study, judge, arm).read_text() for arm in arms]',
                   'write_text(figures_path(study, "table2.csv"), f"{[zlib.crc32(t.encode()) for t in texts]}")'],
}
TABLES = '''"""Prints the tiny table."""
import sys
from lib.core.paths import figures_path
print("table 2:", figures_path(sys.argv[1], "table2.csv").read_text())
'''
STUDY = """source: lab
variants: []
notebooks:
  03_train: {learning_rate: 2.0e-3}
arms:
  base:
  dapt:
  dapt-n: {03_train: {epochs: 3}}
"""


def tiny_notebook(declared: str, does: list[str]) -> nbformat.NotebookNode:
    """A notebook with a parameters cell, the imports that all share, and `does`."""
    cells = [nbformat.v4.new_code_cell(f'study: str = "tiny"\n{declared}', metadata={"tags": ["parameters"]}),
             nbformat.v4.new_code_cell("from lib.core.paths import *\nfrom lib.core.records import write_records, write_text"),
             *map(nbformat.v4.new_code_cell, does)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return nbformat.v4.new_notebook(cells=cells, metadata=kernel)


@dataclass(frozen=True)
class House:
    """A copy of the runner in a folder of its own; what it runs lies below that folder too."""

    root: Path

    def write_notebook(self, name: str, does: list[str] | None = None) -> None:
        """notebooks/<name>.ipynb, doing `does` or what the tiny graph needs."""
        notebook = tiny_notebook(DECLARED[name], does or DOES.get(name, []))
        nbformat.write(notebook, self.root / "notebooks" / f"{name}.ipynb")

    def environment(self, **more: str) -> dict[str, str]:
        """This process's environment with the house's own lib before any installed one."""
        own = {key: value for key, value in os.environ.items() if key not in ("STUDY_ROOT", "STUDY_PARENT")}
        return {**own, "PYTHONPATH": str(self.root), "OMP_NUM_THREADS": "1", **more}

    def command(self, *arguments: str) -> list[str]:
        """`python -m lib.run.study …`"""
        return [sys.executable, "-m", "lib.run.study", *arguments]

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
        """Run a study to its end; stdout and stderr together."""
        return subprocess.run(self.command(*arguments), cwd=self.root, env=self.environment(**environment), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False)

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen:
        """Start a study in the background."""
        return subprocess.Popen(self.command(*arguments), cwd=self.root, env=self.environment(**environment),
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def times(self) -> dict[str, int]:
        """When each stage record of the study `tiny` was written."""
        folder = self.root / "data" / "tiny" / "stages"
        return {path.stem: path.stat().st_mtime_ns for path in sorted(folder.glob("*.json"))}


def new_house(root: Path) -> House:
    """Copy the runner to `root` and put the tiny graph and the study `tiny` there."""
    shutil.copytree(REPOSITORY / "lib", root / "lib", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Snakefile", "pyproject.toml"):
        shutil.copy(REPOSITORY / name, root / name)
    for name in ("notebooks", "prompts", "studies"):
        (root / name).mkdir()
    (root / "studies" / "tiny.yaml").write_text(STUDY)
    (root / "lib" / "tables.py").write_text(TABLES)
    house = House(root)
    for name in DECLARED:
        house.write_notebook(name)
    return house


@pytest.fixture
def house(tmp_path: Path) -> House:
    """A fresh tiny house."""
    return new_house(tmp_path / "house")


@pytest.fixture
def shared() -> Path:
    """The folder of real documents beside the repository; skips where it is absent."""
    folder = REPOSITORY.parent / "shared"
    if not folder.is_dir():
        pytest.skip(f"no folder {folder.name} beside the repository")
    return folder


def study_command(name: str) -> list[str]:
    """`make study` without make."""
    return [sys.executable, "-m", "lib.run.study", name, "--jobs", os.environ.get("JOBS", "all")]


def run_killed_once(name: str, root: Path, stage: str) -> tuple[str, str]:
    """Run the study `name` in `root`, kill it once `stage` has begun, run it to its end; what both calls printed."""
    environment = {**os.environ, "STUDY_ROOT": str(root)}
    first = subprocess.Popen(study_command(name), cwd=REPOSITORY, env=environment, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
    begun = root / "data" / name / "notebooks" / f"{stage}.failed.ipynb"  # its name until it has ended
    deadline = time.monotonic() + 300
    while not begun.exists() and first.poll() is None and time.monotonic() < deadline:
        time.sleep(0.1)
    first.send_signal(signal.SIGKILL)
    said, _ = first.communicate()
    assert begun.exists(), said
    second = subprocess.run(study_command(name), cwd=REPOSITORY, env=environment, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, timeout=600, check=False)
    assert second.returncode == 0, second.stdout
    return said, second.stdout


@pytest.fixture
def documents_folder() -> Path:
    """Return the folder of real documents that the repository carries (Apache-2.0)."""
    return REPOSITORY / "tests" / "data" / "documents"
