"""The smoke study end to end in processes of its own, killed once on the way; on its base, the studies of reading."""

import csv
import json
import os
import subprocess
from pathlib import Path

import nbformat
import pytest

from lib.analyze.ledger.blocks import read_trained
from lib.analyze.ledger.trace import LedgerRow
from lib.core.files import load
from lib.core.paths import REPOSITORY
from tests.analyze.ledger.oracle import wrong_rows
from tests.conftest import run_killed_once, study_command

# What studies/smoke.yaml gives. Counts are exact; losses move in the third digit from one processor to another.
N_DOCUMENTS, N_FACTS = 6, 126
N_QUERIES = {"natural": 18, "entity-list": 18, "tabular": 18, "all": 54}
LAST_LOSS = {"dapt": (2.794, 3.200), "dapt-n": (2.725, 2.806)}  # training, validation
LOSS_TOLERANCE = 0.1
MOST_LUCKY_ANSWERS = 3  # of 54, by models that have hardly learned to spell


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """Where the study lies after a run that was killed while it trained, and a second one that ended."""
    root = tmp_path_factory.mktemp("smoke")
    _, second = run_killed_once("smoke", root, "03_train-dapt")
    assert "00_lab" not in second.split("Accuracy")[0], "what was done before the kill was done again"
    return root


def rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def rows_of(path: Path) -> list[dict]:
    with open(path, newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def said(root: Path, stage: str) -> str:
    """What the executed copy of a stage has printed."""
    cells = nbformat.read(root / "data" / "smoke" / "notebooks" / f"{stage}.ipynb", 4).cells
    return "".join(output.get("text", "") for cell in cells for output in cell.get("outputs", []))


def test_table_2_holds_the_stored_counts(root):
    table = rows_of(root / "figures" / "smoke" / "table2.csv")
    assert [(row["arm"], row["structure"], int(row["n"]), int(row["unscored"])) for row in table] == [
        (arm, structure, n, 0) for arm in ("base", "dapt", "dapt-n") for structure, n in N_QUERIES.items()]
    assert all(int(row["correct"]) <= MOST_LUCKY_ANSWERS for row in table)
    for row in table:
        low, accuracy, high = (float(row[name]) for name in ("low", "accuracy", "high"))
        assert 0 <= low <= accuracy <= high <= 1, row


def test_the_records_between_the_stages_are_all_there(root):
    data = root / "data" / "smoke"
    queries = [row["query_id"] for row in rows(data / "queries.jsonl")]
    assert (len(rows(data / "documents.jsonl")), len(rows(data / "facts.jsonl"))) == (N_DOCUMENTS, N_FACTS)
    assert len(rows(data / "segments.jsonl")) == len(rows(data / "normalized.jsonl")) > N_DOCUMENTS
    for arm in ("base", "dapt", "dapt-n"):
        assert [row["query_id"] for row in rows(data / "answers" / f"{arm}.jsonl")] == queries
        assert [row["query_id"] for row in rows(data / "verdicts" / "rules" / f"{arm}.jsonl")] == queries
    assert not [path for path in root.rglob("*.partial")]


@pytest.mark.parametrize("arm", ["dapt", "dapt-n"])
def test_training_ends_at_the_stored_losses(root, arm):
    epochs = json.loads((root / "data" / "smoke" / "models" / arm / "training.json").read_text())["history"]["epochs"]
    assert epochs[-1]["loss"] < epochs[0]["loss"]
    assert (epochs[-1]["loss"], epochs[-1]["validation_loss"]) == pytest.approx(LAST_LOSS[arm], abs=LOSS_TOLERANCE)


def test_each_stage_has_an_executed_copy_without_an_error_and_a_page(root):
    stages = json.loads((root / "data" / "smoke" / "run.json").read_text())["stages"]
    assert len(stages) == 22
    folder = root / "data" / "smoke" / "notebooks"
    assert not list(folder.glob("*.failed.ipynb"))
    for stage in stages:
        outputs = [output for cell in nbformat.read(folder / f"{stage}.ipynb", 4).cells
                   for output in cell.get("outputs", [])]
        assert outputs and not [output for output in outputs if output.output_type == "error"], stage
        assert (folder / f"{stage}.html").stat().st_size > 10_000, stage


def test_the_ledger_is_right_for_every_fact(root, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(root))
    segments, normalized = load("smoke", "segments"), load("smoke", "normalized")
    arms = {arm: read_trained("smoke", arm, segments, normalized) for arm in ("dapt", "dapt-n")}
    facts = [fact for fact in load("smoke", "facts") if not fact.public]
    assert wrong_rows(load("smoke", "ledger", LedgerRow), facts, load("smoke", "queries"),
                      load("smoke", "documents"), segments, normalized, arms) == []


def test_every_fact_is_followed_every_pair_compared_and_every_arm_asked_what_it_forgot(root):
    data = root / "data" / "smoke"
    ledger = rows(data / "ledger.jsonl")
    assert [(row["arm"], row["block"] == "whole") for row in ledger].count(("dapt", True)) == 48  # 6 are held out
    assert len(ledger) == 2 * N_QUERIES["all"]
    for arm in ("dapt", "dapt-n"):
        assert len(rows(data / "preferences" / "rules" / f"base-{arm}.jsonl")) == 2 * N_QUERIES["all"]
        asked, base = (rows(data / "retention" / f"{name}.jsonl") for name in (arm, "base"))
        assert [(row["task"], row["item"]) for row in asked] == [
            (row["task"], row["item"]) for row in base if row["repeat"] == 0]
    assert len(rows_of(data / "human" / "sheet.csv")) == 60


def test_the_tables_of_the_evidence_have_their_rows(root):
    figures = root / "figures" / "smoke"
    paired = rows_of(figures / "paired.csv")
    assert [(row["first"], row["second"], row["structure"], int(row["n"])) for row in paired] == [
        (*pair, structure, n) for pair in (("base", "dapt"), ("base", "dapt-n"), ("dapt", "dapt-n"))
        for structure, n in N_QUERIES.items()]
    points = {row["point"]: row for row in rows_of(figures / "departures.csv")}
    assert points["epochs of the schedule"]["this run"] == "6"
    assert points["epochs of the schedule"]["comparison"] == "differs"
    names = ("power_curve", "paired", "seeds", "funnel", "paper_accuracy", "retention", "list_items_intervals")
    for name in names:
        assert (figures / f"{name}.png").stat().st_size > 5_000 and (figures / f"{name}.pdf").exists(), name


def test_a_second_call_does_nothing_and_prints_table_2(root):
    ran = subprocess.run(study_command("smoke"), cwd=REPOSITORY, env={**os.environ, "STUDY_ROOT": str(root)},
                         capture_output=True, text=True, check=False)
    assert ran.returncode == 0
    assert " …" not in ran.stdout and "18" in ran.stdout and "table2.csv" in ran.stdout


READERS = {"structext-smoke": ("tuned", "solver"), "tablequest-smoke": ("dapt", "lexical")}


@pytest.fixture(scope="module")
def reading(root) -> Path:
    """The same place after the two studies of reading, each run to its end by one call on the smoke study's base."""
    for study in READERS:
        ran = subprocess.run(study_command(study), cwd=REPOSITORY, env={**os.environ, "STUDY_ROOT": str(root)},
                             text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, check=False)
        assert ran.returncode == 0, ran.stdout
        assert "is complete" in ran.stdout and "tables and figures: figures/" in ran.stdout
        assert "00_lab" not in ran.stdout, "the base model is there"
    return root


@pytest.mark.parametrize("study", READERS)
def test_every_query_has_an_answer_and_a_verdict_of_every_arm(reading, study):
    data = reading / "data" / study
    queries = [row["query_id"] for row in rows(data / "queries.jsonl")]
    assert queries
    for arm in READERS[study]:
        assert [row["query_id"] for row in rows(data / "verdicts" / "rules" / f"{arm}.jsonl")] == queries
        answered = [row["query_id"] for row in rows(data / "answers" / f"{arm}.jsonl")]
        asked = queries if arm != "lexical" else [one for one in queries if not one.endswith(":recall")]
        assert answered == asked, "the lexical reader reads and does not recall"


@pytest.mark.parametrize("study", READERS)
def test_each_stage_has_an_executed_copy_without_an_error(reading, study):
    stages = json.loads((reading / "data" / study / "run.json").read_text())["stages"]
    assert len(stages) == {"structext-smoke": 8, "tablequest-smoke": 11}[study], "with the base model's"
    for stage in stages:
        path = reading / "data" / stage if "/" in stage else reading / "data" / study / "notebooks" / stage
        path = path.parent / "notebooks" / path.name if "/" in stage else path
        outputs = [output for cell in nbformat.read(f"{path}.ipynb", 4).cells for output in cell.get("outputs", [])]
        assert outputs and not [output for output in outputs if output.output_type == "error"], stage


def test_the_solver_is_right_and_what_was_left_out_is_counted(reading):
    figures, data = reading / "figures" / "structext-smoke", reading / "data" / "structext-smoke"
    left_out, asked = rows(data / "left_out.jsonl"), rows(data / "asked.jsonl")
    assert len(left_out) + len(asked) == 2 * 2 * 29  # suites, depths, tasks
    table = [row for row in rows_of(figures / "prompts.csv") if row["arm"] == "solver"]
    assert sum(int(row["n"]) for row in table) == len(left_out) + len(asked)
    assert sum(int(row["left_out"]) for row in table) == len(left_out)
    verdicts = [row["verdict"] for row in rows(data / "verdicts" / "rules" / "solver.jsonl")]
    assert verdicts == ["correct"] * len(asked)
    assert "solver" in (figures / "structext.md").read_text(encoding="utf-8")
    assert (figures / "heat_map.png").stat().st_size > 5_000


def test_a_tuned_arm_learns_replies_to_prompts_that_are_not_asked(reading):
    data = reading / "data" / "structext-smoke"
    trained = json.loads((data / "models" / "tuned" / "training.json").read_text())
    assert trained["tokens_trained"] < trained["tokens_in"] / 5, "prompts are read, not learned"
    asked = {row["context"] for row in rows(data / "queries.jsonl")}
    assert not asked & {row["context"] for row in rows(data / "training" / "tuned.jsonl")}


def test_questions_follow_from_the_tables_and_are_read_beside_recalled(reading):
    figures, data = reading / "figures" / "tablequest-smoke", reading / "data" / "tablequest-smoke"
    questions = rows(data / "questions.jsonl")
    assert {level: sum(row["level"] == level for row in questions) for level in ("easy", "medium", "hard")} == {
        "easy": 6, "medium": 6, "hard": 6}
    queries = rows(data / "queries.jsonl")
    assert len(queries) == 2 * 18 + 6
    whole = {row["query_id"]: row["context"] for row in queries}
    cut = rows(data / "cut" / "dapt.jsonl")
    assert cut and all(len(row["context"]) < len(whole[row["query_id"]]) for row in cut), "a tiny window, counted"
    learned = rows_of(figures / "reading.csv")
    assert {row["form"] for row in learned if row["arm"] == "dapt"} <= {"html", "csv"} and learned
    ratings = rows_of(figures / "tablequest_ratings.csv")
    assert {"dapt", "lexical"} <= {row.get("arm") or row.get("model") for row in ratings}
    assert "lexical" in (figures / "tablequest.md").read_text(encoding="utf-8")


def test_a_second_call_does_nothing(reading):
    ran = subprocess.run(study_command("tablequest-smoke"), cwd=REPOSITORY,
                         env={**os.environ, "STUDY_ROOT": str(reading)}, capture_output=True, text=True, check=False)
    assert ran.returncode == 0 and " …" not in ran.stdout and "lexical" in ran.stdout
