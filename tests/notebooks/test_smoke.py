"""The main chain end to end: Snakemake, papermill and kernels."""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import nbformat
import pandas as pd
import pytest
import yaml

from lib.core.store import REPOSITORY
from tests.conftest import check_results, rows, run_cells, table

# What studies/smoke.yaml gives. Counts are exact; losses differ in the third digit between
# processors.
ARMS = ("base", "dapt", "dapt-n")
N_DOCUMENTS, N_FACTS, N_STAGES = 6, 126, 13
N_QUERIES = {"natural": 18, "entity-list": 18, "tabular": 18, "all": 54}
LAST_LOSS = {  # training, validation
    "dapt": (2.668, 2.993),
    "dapt-n": (2.640, 3.011),
}
LOSS_TOLERANCE = 0.1
# Tables 1 to 5, win rates by both criteria, loss and gradient norm by epoch, the check of rewrites.
IN_THREE = """preferences_base_dapt preferences_base_dapt-n training-dapt training-dapt-n accuracy
paper_accuracy retention paired"""
RESULTS = [
    *(f"paper_table{number}.{end}" for number in range(1, 6) for end in ("csv", "md")),
    *(f"{name}.{end}" for end in ("csv", "png", "pdf") for name in IN_THREE.split()),
    *"table1.csv table2.csv table5.csv audit.csv audit-kinds.csv ledger.csv power.csv".split(),
]
MOST_LUCKY_ANSWERS = 3  # of 54, by models that have hardly learned to spell
COMMAND = [sys.executable, "-m", "lib.run.study", "smoke", "--jobs", os.environ.get("JOBS", "all")]


def run(root: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        COMMAND,
        cwd=REPOSITORY,
        env={**os.environ, "STUDY_ROOT": str(root)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """The finished study; tests/run/test_study.py kills one."""
    root = tmp_path_factory.mktemp("smoke")
    ran = run(root)
    assert ran.returncode == 0, ran.stdout
    return root


@pytest.fixture(scope="module")
def by_hand(root, tmp_path_factory) -> Path:
    """The main chain's cells with the study's parameters in this process.

    The laboratory, its documents and its base model, is that of `root`: it precedes the chain.
    """
    other = tmp_path_factory.mktemp("by_hand")
    stages = json.loads((root / "data/smoke/run.json").read_text())["stages"]
    del stages["00_lab"]
    made = other / "data/smoke"
    shutil.copytree(root / "data/smoke/models/base", made / "models/base")
    for name in ("documents", "documents_public", "facts"):
        shutil.copy(root / "data/smoke" / f"{name}.jsonl", made)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("STUDY_ROOT", str(other))
        for name, stage in stages.items():
            if Path(stage["notebook"]).parent == Path("notebooks"):
                run_cells(name.partition("-")[0], **stage["given"])
    return other


@pytest.mark.slow  # tests/run/test_study.py compares the tables of two runs
def test_cells_by_hand_give_the_same_tables_as_make_study(root, by_hand):
    made = sorted((by_hand / "figures/smoke").glob("*/*.csv"))
    assert {"table1.csv", "table2.csv", "table5.csv"} <= {path.name for path in made}
    for path in made:
        assert path.read_text() == (root / path.relative_to(by_hand)).read_text(), path.name


def test_table_2_counts_the_stored_verdicts(root):
    data = root / "data/smoke"
    structures = {row["query_id"]: row["structure"] for row in rows(data / "queries.jsonl")}
    verdicts = [rows(data / "verdicts/scorer" / f"{arm}.jsonl") for arm in ARMS]
    path = root / "figures/smoke/tables/table2.csv"
    cells = pd.read_csv(path).set_index(["arm", "structure"])
    assert [*cells.n.items()] == [
        ((arm, structure), n) for arm in ARMS for structure, n in N_QUERIES.items()
    ]
    unscored = Counter(
        (row["arm"], structure)
        for row in sum(verdicts, [])
        if row["verdict"] == "unscored"
        for structure in (structures[row["query_id"]], "all")
    )
    assert [*cells.unscored] == [unscored[place] for place in cells.index]
    assert (cells.correct <= MOST_LUCKY_ANSWERS).all()


def test_the_records_between_the_stages_are_all_there(root):
    data = root / "data/smoke"
    assert len(rows(data / "documents.jsonl")) == N_DOCUMENTS
    assert len(rows(data / "facts.jsonl")) == N_FACTS
    segments = rows(data / "segments.jsonl")
    assert len(segments) == len(rows(data / "normalized.jsonl")) > N_DOCUMENTS
    assert not [path for path in root.rglob("*.partial")]
    assert not [copy for copy in data.glob("notebooks/*.ipynb") if "PosixPath(" in copy.read_text()]


@pytest.mark.parametrize("arm", LAST_LOSS)
def test_training_ends_at_the_stored_losses(root, arm):
    folder = root / "data/smoke/models" / arm
    epochs = json.loads((folder / "training.json").read_text())["history"]["epochs"]
    assert epochs[-1]["loss"] < epochs[0]["loss"]
    last = (epochs[-1]["loss"], epochs[-1]["validation_loss"])
    assert last == pytest.approx(LAST_LOSS[arm], abs=LOSS_TOLERANCE)


def test_each_stage_has_an_executed_copy_without_an_error_and_a_page(root):
    stages = json.loads((root / "data/smoke/run.json").read_text())["stages"]
    assert len(stages) == N_STAGES
    folder = root / "data/smoke/notebooks"
    assert not [path for end in ("failed", "running") for path in folder.glob(f"*.{end}.ipynb")]
    for stage in stages:
        outputs = [
            output
            for cell in nbformat.read(folder / f"{stage}.ipynb", 4).cells
            for output in cell.get("outputs", [])
        ]
        assert outputs, stage
        assert not [output for output in outputs if output.output_type == "error"], stage
        page = (folder / f"{stage}.html").read_text()
        assert len(page) > 10_000 and "These models are too small" in page, stage


def test_records_hold_the_files_that_their_stages_wrote(root):
    folder = root / "data/smoke/stages"
    files = {}
    for path in folder.glob("*.json"):
        files |= json.loads(path.read_text())["files"]
    there = {path for place in ("data", "figures") for path in (root / place).rglob("*.*")}
    named = {str(path.relative_to(root)) for path in there if path.is_file()}
    # removing a log runs nothing again
    others = (
        "/notebooks/ /stages/ /logs/ /.cache/ /run.json /.lock /report.html /index.html".split()
    )
    assert {name for name in named if not any(part in name for part in others)} == set(files)
    assert files["data/smoke/answers/dapt.jsonl"]["rows"] == N_QUERIES["all"]


def test_every_fact_is_traced_every_pair_compared_and_every_arm_measured_for_retention(root):
    data = root / "data/smoke"
    ledger = rows(data / "ledger.jsonl")
    in_blocks = [(row["arm"], row["lost_at"] == "") for row in ledger]
    assert in_blocks.count(("dapt", True)) == 50  # 4 are held out
    assert len(ledger) == 2 * N_QUERIES["all"]
    base = rows(data / "retention/base.jsonl")
    for arm in ARMS[1:]:
        pairs = rows(data / "preferences/scorer" / f"base-{arm}.jsonl")
        assert len(pairs) == 2 * N_QUERIES["all"]
        items = [(row["task"], row["item"]) for row in rows(data / "retention" / f"{arm}.jsonl")]
        assert items == [(row["task"], row["item"]) for row in base]


def test_each_result_of_the_paper_is_a_file(root):
    for number in range(1, 6):
        assert len(table(root / "figures/smoke/tables" / f"paper_table{number}.csv")) > 4
    check_results(root / "figures/smoke", *RESULTS)


@pytest.mark.slow  # tests/test_export.py has the rows
def test_exports_open_in_other_tools(root, tmp_path, monkeypatch):
    import datasets
    import lm_eval
    from huggingface_hub import ModelCard
    from lm_eval.api.model import LM
    from lm_eval.tasks import TaskManager

    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("uses the network"))
    folder = shutil.copytree(root / "data/smoke/export", tmp_path / "moved")
    answers = {row["question"]: row["answer"] for row in sum(map(rows, folder.glob("test/*")), [])}

    class Reversed(LM):  # knows all, and lists the last entity first
        def generate_until(self, requests):
            asked = [one.args[0][len("Question: ") : -len("\nAnswer:")] for one in requests]
            return [" " + "\n".join(answers[one].split("\n")[::-1]).upper() for one in asked]

        def loglikelihood(self, requests):
            assert all(one.args[1][1:] in answers.values() for one in requests)
            return [(-2.0, True) for _ in requests]

        loglikelihood_rolling = None

    tasks = TaskManager(include_path=folder / "lm_eval", include_defaults=False)
    names = ["spark_smoke", "spark_smoke_loglik"]
    found = lm_eval.simple_evaluate(Reversed(), tasks=names, task_manager=tasks)["results"]
    assert found["spark_smoke"]["correct,none"] == 1 and found["spark_smoke"]["sample_len"] == 54
    assert found["spark_smoke::entity-list"]["sample_len"] == 18
    assert found["spark_smoke_loglik"]["loglik,none"] == -2
    for name, split, n in (
        ("tabular", "test", 18),
        ("all", "test", 54),
        ("dapt-texts", "train", 8),
    ):
        read = datasets.load_dataset(str(folder), name, cache_dir=tmp_path)
        assert read[split].num_rows == n
    card = ModelCard.load(root / "data/smoke/models/dapt/README.md")
    assert card.data.language == ["en"] and "| all | 54 |" in card.text
    assert yaml.safe_load((folder / "eval.yaml").read_text())["tasks"][2]["config"] == "tabular"


def test_a_second_call_does_nothing_and_prints_table_2(root):
    again = run(root)
    assert again.returncode == 0
    assert "  …" not in again.stdout and "18" in again.stdout and "report.html" in again.stdout
