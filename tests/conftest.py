"""A tiny copy of the runner for its tests, where notebooks take no time; profiles and fixtures."""

import csv
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest
from hypothesis import HealthCheck, settings

from lib.core.process import collect_seldom
from lib.core.records import STRUCTURES
from lib.core.store import REPOSITORY
from lib.lab.records import WRITERS
from lib.llm import calls
from lib.run import config
from lib.run.config import load_study
from lib.run.parameters import notebook_path
from lib.run.study import announce
from tests.tasks.code_structure import CODE, write

collect_seldom()
os.environ.setdefault("GOMP_SPINCOUNT", "20000")  # as the notebook runner does; before torch

# `make test` draws few examples for each property, `make test-all` many.
settings.register_profile("fast", max_examples=25, deadline=None)
settings.register_profile(
    "thorough", max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))

# Folders and files that take longest, so that none of them is left for the end.
LONGEST = (
    "test_smoke test_studies test_study test_deepspeed test_stages test_config test_faults".split()
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest files first, the others in their order."""
    items.sort(
        key=lambda item: (
            LONGEST.index(item.path.stem) if item.path.stem in LONGEST else len(LONGEST)
        )
    )


# What each notebook of the tiny graph declares and does. They read and write what the graph says.
DECLARED = {
    "00_lab": "seed: int = 1",
    "00_documents": 'folder: str = "documents"',
    "01_annotate": 'annotator: str = "facts"\nmax_queries: int = 10',
    "02_normalize": 'normalizer: str = "facts"\nbase_model: str = "data/lab/models/base"',
    "03_train": 'arm: str = "dapt"\nbase_model: str = ""\nseed: int = 42\n'
    "learning_rate: float = 1.0e-3\nepochs: int = 2\nreport_to: list = []\nnote: str | None = None",
    "04_infer": 'arms: list[str] = ["dapt"]\nbase_model: str = ""',
    "05_judge": 'arms: list[str] = ["dapt"]\njudge: str = "scorer"',
    "06_analyze": 'judge: str = "scorer"\narms: list[str] = ["dapt"]',
    "retention": 'arms: list[str] = ["dapt"]\nbase_model: str = ""\ntasks: str = "lab"',
    "pairs": 'first_arm: str = "base"\narms: list[str] = ["dapt"]\njudge: str = "scorer"',
    "statistics": 'judge: str = "scorer"\narms: list = []',
    "ledger": 'judge: str = "scorer"\narms: list = []',
    "agreement": "judges: list = []\narms: list = []",
    "export": "arms: list = []",
}
DOES = {
    "00_lab": [
        'for name in ("documents", "documents_public", "facts"):\n'
        '    write_text(data_path(study, f"{name}.jsonl"), f\'"{name} {seed}"\\n\')',
        'write_text(data_path(study, "models", "base", "config.json"), str(seed))',
    ],
    "00_documents": [
        "from lib.core.store import REPOSITORY\nfrom lib.documents.folder import read_folder",
        "reading = read_folder(REPOSITORY / folder)",
        'save(study, "documents", reading.documents)\n'
        'save(study, "documents_rejected", reading.rejected)',
    ],
    "01_annotate": [
        "from lib.core.prompts import prompt_template",
        'text = require_artifact(study, "documents").read_text()',
        'line = f"{text}{max_queries} " + prompt_template("annotate").render() + "\\n"',
        'write_text(artifact_path(study, "queries"), line)',
        'write_text(artifact_path(study, "queries_rejected"), "")',
    ],
    "02_normalize": [
        'text = require_artifact(study, "documents").read_text()',
        'for name in ("segments", "normalized"):\n    write_text(artifact_path(study, name), text)',
    ],
    "03_train": [
        "import os, time",
        'time.sleep(float(os.environ.get("PAUSE", 0)))',
        'source = "normalized" if arm == "dapt-n" else "segments"',
        "text = require_artifact(study, source).read_text()",
        'write_text(data_path(study, "models", arm, "training.json"),\n'
        '           f"{text}[{epochs}, {learning_rate}]")',
    ],
    "04_infer": [
        'text = require_artifact(study, "queries").read_text()',
        "for arm in arms:\n"
        '    path = data_path(study, "models", arm, "training.json")\n'
        '    model = "" if arm == "base" else path.read_text()\n'
        '    write_text(artifact_path(study, "answers", arm=arm), f"{text}{model}\\n")',
    ],
    "05_judge": [
        "from lib.core.prompts import prompt_template",
        "for arm in arms:\n"
        '    text = require_artifact(study, "answers", arm=arm).read_text()\n'
        '    text += prompt_template("judge").render()\n'
        '    write_text(artifact_path(study, "verdicts", judge=judge, arm=arm), text)',
    ],
    "06_analyze": [
        "import zlib\nfrom lib.core.values import tokens",
        'paths = [require_artifact(study, "verdicts", judge=judge, arm=arm) for arm in arms]',
        "sums = [zlib.crc32(path.read_bytes()) for path in paths]\n"
        'lines = [f"{arm},all,1,{one},0,1.0\\n" for arm, one in zip(arms, sums)]\n'
        'head = "arm,structure,n,correct,unscored,accuracy\\n"\n'
        'write_text(figures_path(study, "tables", "table2.csv"), head + "".join(lines))',
        'write_text(figures_path(study, "tables", "table2.md"),\n'
        '           f"| table 2 |\\n| --- |\\n| {sums} |\\n")',
    ],
}
STUDY = """kind: lab
extras: []
notebooks:
  03_train: {learning_rate: 2.0e-3}
arms:
  dapt:
  dapt-n: {03_train: {epochs: 3}}
"""
IMPORTS = "from lib.core.store import *"
# A background job ignores interrupts. Between fork and exec Python may hang, if it has threads.
_BEGIN = """import os, resource, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
if limit := int(sys.argv[1]):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])"""
OUTER = ("STUDY_ROOT", "STUDY_PARENT")  # of a run that has started the tests


def tiny_notebook(declared: str, does: list[str]) -> nbformat.NotebookNode:
    """Return a notebook with a parameters cell, the imports that all share, and `does`."""
    cells = [
        nbformat.v4.new_code_cell(
            f'study: str = "tiny"\n{declared}', metadata={"tags": ["parameters"]}
        ),
        nbformat.v4.new_code_cell(IMPORTS),
        *map(nbformat.v4.new_code_cell, does),
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


@dataclass(frozen=True)
class House:
    """A copy of the runner in a folder of its own; what it runs is below that folder too."""

    root: Path

    def write_notebook(self, name: str, does: list[str] | None = None) -> None:
        """Write notebooks/<name>.ipynb, which does `does` or what the tiny graph needs."""
        notebook = tiny_notebook(DECLARED[name], does or DOES.get(name, []))
        nbformat.write(notebook, self.root / "notebooks" / f"{name}.ipynb")

    def start(
        self, *arguments: str, module: str = "study", limit: int = 0, **environment: str
    ) -> subprocess.Popen:
        """Start `python -m lib.run.<module> …`; stdout and stderr are one pipe.

        No file can grow beyond `limit` bytes, if one is given, as on a full disk.
        """
        own = {key: value for key, value in os.environ.items() if key not in OUTER}

        return subprocess.Popen(
            [sys.executable, "-Sc", _BEGIN, f"{limit}", "-m", f"lib.run.{module}", *arguments],
            cwd=self.root,
            env={**own, "PYTHONPATH": str(self.root), "OMP_NUM_THREADS": "1", **environment},
            text=True,
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def run(self, *arguments: str, **how: Any) -> subprocess.CompletedProcess:
        """Run to the end what `start` starts."""
        with self.start(*arguments, **how) as running:
            printed, _ = running.communicate(timeout=900)
        return subprocess.CompletedProcess(arguments, running.returncode, printed)

    def times(self) -> dict[str, int]:
        """Return when each stage record of the study `tiny` was written."""
        folder = self.root / "data/tiny/stages"
        return {path.stem: path.stat().st_mtime_ns for path in sorted(folder.glob("*.json"))}


def new_house(root: Path) -> House:
    """Copy the runner to `root` and put the tiny graph and the study `tiny` there."""
    shutil.copytree(REPOSITORY / "lib", root / "lib")
    for name in "notebooks prompts studies".split():
        (root / name).mkdir()
    for name in "Snakefile pyproject.toml notebooks/graph.smk notebooks/arms.smk".split():
        shutil.copy(REPOSITORY / name, root / name)
    (root / "studies/tiny.yaml").write_text(STUDY)
    for name in ("annotate", "judge"):
        (root / f"prompts/{name}.md").write_text(name)
    house = House(root)
    for name in DECLARED:
        house.write_notebook(name)
    return house


@pytest.fixture
def house(tmp_path: Path) -> House:
    """A fresh tiny copy of the runner."""
    return new_house(tmp_path / "house")


@pytest.fixture
def study_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """A function that writes studies/<name>.yaml of a repository with the real notebooks."""
    for module in (config, calls):
        monkeypatch.setattr(module, "REPOSITORY", tmp_path)
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path / "root"))
    monkeypatch.delenv(config.FOLDER_VARIABLE, raising=False)
    (tmp_path / "notebooks").symlink_to(REPOSITORY / "notebooks")
    (tmp_path / "studies").mkdir()

    def write(text: str, name: str = "own") -> Path:
        path = tmp_path / "studies" / f"{name}.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def documents_folder() -> Path:
    """The folder of real documents that the repository carries (Apache-2.0)."""
    return REPOSITORY / "data/technical"


@pytest.fixture
def code(monkeypatch) -> str:
    """The name of a fourth structure, which is in the table while the test runs."""
    monkeypatch.setitem(STRUCTURES, CODE.name, CODE)
    monkeypatch.setitem(WRITERS, CODE.kind, write)
    return CODE.name


def run_cells(stage: str, **given: object) -> dict[str, object]:
    """Run the cells of a notebook in this process with parameters, and return its names.

    A kernel for each notebook takes ten times as long; those of the main chain run in kernels in
    tests/notebooks/test_smoke.py.
    """
    names: dict[str, object] = {"display": lambda *_: None, "get_ipython": lambda: None}
    for cell in nbformat.read(notebook_path(stage), 4).cells:
        if cell.cell_type == "code" and cell.source[0] != "%":
            exec(compile(cell.source, f"{stage}, {cell.id}", "exec"), names)
            if "parameters" in cell.metadata.get("tags", []):
                names |= given
    return names


def run_study_here(name: str) -> None:
    """Run every stage of studies/<name>.yaml in this process, its laboratory first."""
    study = load_study(name)
    announce(study)
    for lab in study.others:
        run_cells("00_lab", **load_study(lab).given("00_lab"))
    for stage in study.stages:
        if stage == "02_normalize" and not study.trained:
            continue  # as in the graph: nothing learns a rewrite
        for arm in study.arms_of(stage):
            run_cells(stage, **study.given(stage, arm))
        for judge in study.other_judges if stage == "05_judge" else ():
            run_cells(stage, **study.given(stage) | {"judge": judge, "arms": study.runs})


def until(condition, seconds: float = 60.0):
    """Return `condition()` as soon as it is true; fail after `seconds`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError(f"not true within {seconds} s")


def check_results(folder: Path, *names: str) -> None:
    """Fail unless each name is one file with content in a folder of `folder`."""
    for name in names:
        [path] = folder.glob(f"*/{name}")
        assert path.stat().st_size > (5_000 if name.endswith(".png") else 50), name


def rows(path: Path) -> list[dict]:
    """Return the JSON lines of `path`."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def table(path: Path) -> list[dict]:
    """Return the rows of a CSV file as text."""
    with open(path, newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))
