"""The two studies of reading end to end in processes of their own, on the base model of the smoke study."""

import csv
import json
import os
import subprocess
from pathlib import Path

import nbformat
import pytest

from lib.paths import REPOSITORY
from tests.conftest import study_command

ARMS = {"structext-smoke": ("tuned", "solver"), "tablequest-smoke": ("dapt", "lexical")}


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """Where both studies lie, each run to its end by one call."""
    root = tmp_path_factory.mktemp("reading")
    for study in ARMS:
        ran = subprocess.run(study_command(study), cwd=REPOSITORY, env={**os.environ, "STUDY_ROOT": str(root)},
                             text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, check=False)
        assert ran.returncode == 0, ran.stdout
        assert "is complete" in ran.stdout and "tables and figures: figures/" in ran.stdout
    return root


def rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def rows_of(path: Path) -> list[dict]:
    with open(path, newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("study", ARMS)
def test_every_query_has_an_answer_and_a_verdict_of_every_arm(root, study):
    data = root / "data" / study
    queries = [row["query_id"] for row in rows(data / "queries.jsonl")]
    assert queries
    for arm in ARMS[study]:
        assert [row["query_id"] for row in rows(data / "verdicts" / "rules" / f"{arm}.jsonl")] == queries
        answered = [row["query_id"] for row in rows(data / "answers" / f"{arm}.jsonl")]
        asked = queries if arm != "lexical" else [one for one in queries if not one.endswith(":recall")]
        assert answered == asked, "the lexical reader reads and does not recall"


@pytest.mark.parametrize("study", ARMS)
def test_each_stage_has_an_executed_copy_without_an_error(root, study):
    stages = json.loads((root / "data" / study / "run.json").read_text())["stages"]
    assert len(stages) == {"structext-smoke": 8, "tablequest-smoke": 11}[study], "with the base model's"
    for stage in stages:
        path = root / "data" / stage if "/" in stage else root / "data" / study / "notebooks" / stage
        path = path.parent / "notebooks" / path.name if "/" in stage else path
        outputs = [output for cell in nbformat.read(f"{path}.ipynb", 4).cells for output in cell.get("outputs", [])]
        assert outputs and not [output for output in outputs if output.output_type == "error"], stage


def test_the_solver_is_right_and_what_was_left_out_is_counted(root):
    figures, data = root / "figures" / "structext-smoke", root / "data" / "structext-smoke"
    left_out, asked = rows(data / "left_out.jsonl"), rows(data / "asked.jsonl")
    assert len(left_out) + len(asked) == 2 * 2 * 2 * 29  # suites, settings, depths, tasks
    table = [row for row in rows_of(figures / "prompts.csv") if row["arm"] == "solver"]
    assert sum(int(row["n"]) for row in table) == len(left_out) + len(asked)
    assert sum(int(row["left_out"]) for row in table) == len(left_out)
    verdicts = [row["verdict"] for row in rows(data / "verdicts" / "rules" / "solver.jsonl")]
    assert verdicts == ["correct"] * len(asked)
    assert "solver" in (figures / "structext.md").read_text(encoding="utf-8")
    assert (figures / "heat_map.png").stat().st_size > 5_000


def test_a_tuned_arm_learns_replies_to_prompts_that_are_not_asked(root):
    data = root / "data" / "structext-smoke"
    trained = json.loads((data / "models" / "tuned" / "training.json").read_text())
    assert trained["tokens_trained"] < trained["tokens_in"] / 5, "prompts are read, not learned"
    asked = {row["context"] for row in rows(data / "queries.jsonl")}
    assert not asked & {row["context"] for row in rows(data / "training" / "tuned.jsonl")}


def test_questions_follow_from_the_tables_and_are_read_beside_recalled(root):
    figures, data = root / "figures" / "tablequest-smoke", root / "data" / "tablequest-smoke"
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


def test_a_second_call_does_nothing(root):
    ran = subprocess.run(study_command("tablequest-smoke"), cwd=REPOSITORY,
                         env={**os.environ, "STUDY_ROOT": str(root)}, capture_output=True, text=True, check=False)
    assert ran.returncode == 0 and " …" not in ran.stdout and "lexical" in ran.stdout
