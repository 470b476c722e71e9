"""The main path end to end: a played model asks, answers, judges, grades and cites."""

import json

from lib.core.store import save
from tests.conftest import rows, run_cells, table
from tests.played_model import played, within
from tests.tablequest.pumps import FILING, PASSAGE, TABLES
from tests.tablequest.test_questions import EASY, HARD, MEDIUM, YES
from tests.tablequest.test_ratings import CITED, PAPER

STUDY, MODEL = "main-path", "gpt-4o-mini"
ROUNDS = {"Round 1": EASY, "Round 2": MEDIUM, "Round 3": HARD}
FILES = ("accuracy", "ratings", "words", "failures", "lengths", "grades", "check", "recall")


def reply_to(prompt: str) -> str:
    """Reply to the last message by what it asks for."""
    question = next(
        (one for one in ROUNDS.values() if one["question"].lower() == within(prompt, "question")),
        EASY,
    )
    if pair := next((pair for name, pair in ROUNDS.items() if f"{name}:" in prompt), None):
        return json.dumps(pair)
    kinds = {
        "You check a question": YES,
        "You compare two": {"better": "first"},
        "You grade one": {"words": "Fine.", "fault": "none", "grade": 3},
        "Below are a table": {"question": "Which F1?", "sentence": CITED},
        "Below is a table": {"answer": "Ours reaches an F1 of 71.2%."},
    }
    return json.dumps(
        next(
            (reply for start, reply in kinds.items() if prompt.startswith(start)),
            {"steps": ["391,035 and 383,285"], "answer": question["answer"]},
        )
    )


def test_a_model_asks_three_levels_answers_and_every_result_is_a_file(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    for name, found in (("filings", [FILING]), ("grids", TABLES), ("passages", [PASSAGE])):
        save(STUDY, name, found)
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "aloud.md").write_text(PAPER, encoding="utf-8")
    task, arms = {"study": STUDY, "task": "tablequest"}, ["model", "constant"]
    with played(reply_to, monkeypatch) as prompts:
        run_cells("01_annotate", **task, annotator=MODEL, max_queries=1, forms=["html"])
        run_cells(
            "04_infer",
            **task,
            arms=arms,
            endpoint_model=MODEL,
            reader={"model": "model", "constant": "constant"},
        )
        run_cells("04_infer", **task, arms=["few-shot"], endpoint_model=MODEL, shots=1)
        run_cells("05_judge", **task, arms=arms)
        run_cells(
            "06_tablequest",
            study=STUDY,
            arms=arms,
            grader=MODEL,
            citer=MODEL,
            papers=str(tmp_path / "papers"),
        )
        sheet = tmp_path / "data" / STUDY / "human" / "questions.csv"
        text = sheet.read_text(encoding="utf-8")
        sheet.write_text(text.replace(',""\n', ',"right"\n'), encoding="utf-8")
        run_cells("05_judge", **task, arms=arms, judge=MODEL)
        run_cells("06_tablequest", study=STUDY, arms=arms, judge=MODEL)
    assert sum("Birch Mills Inc." in prompt for prompt in prompts) == 3
    assert not any("Elder Ferries" in prompt for prompt in prompts)
    data, figures = (tmp_path / name / STUDY for name in ("data", "figures"))
    assert [row["level"] for row in rows(data / "questions.jsonl")] == ["easy", "medium", "hard"]
    results = {name: table(figures / "paper" / f"tablequest_{name}.csv") for name in FILES}
    accuracy = {(row["arm"], row["level"]): row["accuracy"] for row in results["accuracy"]}
    assert all(results.values())
    assert [(row["level"], row["label"], row["n"]) for row in results["check"]] == [
        (level, "right", "1") for level in ("easy", "medium", "hard")
    ]
    assert results["recall"][0]["recall"] == "1.0"
    assert {row["grade"] for row in results["grades"]} == {"3.0"}
    matches = rows(data / "matches" / f"{MODEL}.jsonl")
    assert [row["is_flipped"] for row in matches] == [True] * 3, "it prefers what it sees first"
    assert rows(data / "matches" / "rules.jsonl")[0]["verdict"] == "A"
    assert accuracy.keys() == {(arm, level) for arm in arms for level in ("easy", "medium")}
