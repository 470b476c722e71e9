"""The controlled experiment end to end in processes of its own."""

import json
import os
import subprocess
from pathlib import Path

import nbformat
import pytest

from lib.core.paths import REPOSITORY
from tests.conftest import study_command

RUNS = ["raw-0-1", "raw-1-1", "prefix-name-0-1"]
N_FACTS, EPOCHS = 6 * 9, (0, 3, 6)


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """Where the study lies."""
    root = tmp_path_factory.mktemp("controlled")
    ran = subprocess.run(study_command("controlled-smoke"), cwd=REPOSITORY, env={**os.environ, "STUDY_ROOT": str(root)},
                         text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, check=False)
    assert ran.returncode == 0 and "1 bases of about" in ran.stdout and "3 runs of about" in ran.stdout, ran.stdout
    return root


def rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_every_run_has_an_outcome_of_every_fact_and_a_curve(root):
    data = root / "data" / "controlled-smoke"
    facts = [row["fact_id"] for row in rows(data / "facts.jsonl")]
    assert len(facts) == N_FACTS
    places = {}
    for run in RUNS:
        found = rows(data / "outcomes" / f"{run}.jsonl")
        assert [row["fact_id"] for row in found] == facts
        assert {f"{row['arm']}-{row['rotation']}-{row['seed']}" for row in found} == {run}
        assert [row["epoch"] for row in rows(data / "acquisition" / f"{run}.jsonl")] == [
            epoch for epoch in EPOCHS for _ in facts]
        places[run] = {row["fact_id"]: row["structure"] for row in found}
    assert all({places["raw-0-1"][fact], places["raw-1-1"][fact]} == {"natural", "tabular"} for fact in facts)
    assert places["prefix-name-0-1"] == places["raw-0-1"]
    assert sorted(path.name for path in (data / "models").iterdir()) == ["base-1"]  # a run's weights are not kept


def test_each_stage_has_an_executed_copy_and_the_analysis_its_files(root):
    stages = json.loads((root / "data" / "controlled-smoke" / "run.json").read_text())["stages"]
    assert sorted(stages) == sorted(["00_facts", "01_pretrain-1", *(f"02_run-{run}" for run in RUNS),
                                     "03_analyze"])
    for stage in stages:
        cells = nbformat.read(root / "data" / "controlled-smoke" / "notebooks" / f"{stage}.ipynb", 4).cells
        outputs = [output for cell in cells for output in cell.get("outputs", [])]
        assert outputs and not [output for output in outputs if output.output_type == "error"], stage
    figures = root / "figures" / "controlled-smoke"
    told = (figures / "controlled.md").read_text(encoding="utf-8")
    assert "tabular" in told and "natural" in told
    assert "prefix-name" in (figures / "interventions.csv").read_text(encoding="utf-8")


def test_a_second_call_does_nothing_and_tells_the_conclusion(root):
    ran = subprocess.run(study_command("controlled-smoke"), cwd=REPOSITORY, env={**os.environ, "STUDY_ROOT": str(root)},
                         capture_output=True, text=True, check=False)
    assert ran.returncode == 0
    assert " …" not in ran.stdout and "bases of about" not in ran.stdout
    assert (root / "figures" / "controlled-smoke" / "controlled.md").read_text(encoding="utf-8") in ran.stdout
