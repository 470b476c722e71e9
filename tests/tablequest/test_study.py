"""The main path end to end: a played model asks, answers, judges and grades."""

import json
from collections import Counter

from lib.analyze.metrics import WORD_METRICS
from lib.core.store import REPOSITORY, save
from lib.run.config import load_study
from lib.tablequest import ratings
from lib.tablequest.answers import TOLERANCE
from lib.tablequest.records import LEVELS
from tests.conftest import rows, run_cells, table
from tests.played_model import played, within
from tests.tablequest.alm import FILING, PASSAGE, TABLES
from tests.tablequest.test_questions import CHECKED, PAIRS

STUDY, MODEL = "main-path", "gpt-4o-mini"
FILES = ("accuracy", "flips", "ratings", "words", "failures", "lengths", "grades", "check")
REPLIES = {
    "You check questions": CHECKED,
    "You compare two": {"better": "first"},
    "You grade one": {"words": "Fine.", "fault": "none", "grade": 3},
}


def reply_to(prompt: str) -> str:
    """Reply to the last message by what it asks for."""
    for number, pair in enumerate(PAIRS, 1):
        if f"Round {number}:" in prompt:
            return json.dumps({"pairs": [pair]})
    found = (reply for start, reply in REPLIES.items() if prompt.startswith(start))
    reply = next(found, {})
    asked = {pair["question"].lower(): pair["answer"] for pair in PAIRS}
    answer = asked.get(within(prompt, "question"), "")
    return json.dumps(reply or {"steps": ["391,035 and 383,285"], "answer": answer})


def test_a_model_asks_three_levels_answers_and_every_result_is_a_file(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    for name, found in (("filings", [FILING]), ("grids", TABLES), ("passages", [PASSAGE])):
        save(STUDY, name, found)
    task, arms = {"study": STUDY, "task": "tablequest"}, ["model", "constant"]
    mode = {"model": "model", "constant": "constant"}
    data, figures = (tmp_path / name / STUDY for name in ("data", "figures"))
    tables = {"study": STUDY, "arms": arms}
    with played(reply_to, monkeypatch):
        run_cells("01_annotate", **task, annotator=MODEL, max_queries=1, forms=["html"])
        run_cells("04_infer", **task, arms=arms, endpoint_model=MODEL, mode=mode)
        run_cells("05_judge", **task, arms=arms)
        run_cells("06_tablequest", **tables, grader=MODEL)
        sheet = data / "labels" / "questions.csv"
        text = sheet.read_text(encoding="utf-8")
        assert "Net sales: Pumps | 2024 = $391,035" in text, "a person sees where the answer is"
        other = tmp_path / "other.csv"
        for path, reader, label in ((sheet, "person", "right"), (other, "other", "wrong level")):
            filled = text.replace("reader: ?", f"reader: {reader}")
            path.write_text(filled.replace(',"",""\n', f',"{label}",""\n'), encoding="utf-8")
        run_cells("05_judge", **task, arms=arms, judge=MODEL)
        how = {"judge": MODEL, "rated_per_level": 1, "rated": arms[::-1]}
        run_cells("06_tablequest", **tables, **how, readings=[str(other)])
    assert [row["level"] for row in rows(data / "questions.jsonl")] == [*LEVELS]
    results = {name: table(figures / "tables" / f"tablequest_{name}.csv") for name in FILES}
    assert all(results.values())
    labels = {"person (questions)": "1", "other": "0", "equal": "0", "refused": "0", "n": "1"}
    assert results["check"] == [{"level": level} | labels for level in LEVELS]
    assert {row["grade"] for row in results["grades"]} == {"3.0"}
    assert [row["flips"] for row in results["flips"]] == ["1"] * 3
    matches = rows(data / "matches" / f"{MODEL}.jsonl")
    assert [row["is_flipped"] for row in matches] == [True] * 3, "it prefers what it sees first"
    assert {(row["first_arm"], row["second_arm"]) for row in matches} == {(arms[1], arms[0])}
    assert rows(data / "matches" / "scorer.jsonl")[0]["verdict"] == "A"
    assert [row["level"] for row in results["accuracy"]] == [*LEVELS[:2]] * 2


def test_the_page_says_what_differs_from_the_paper():
    studies = [*map(load_study, ("tablequest", "tablequest-paper", "tablequest-base"))]
    asks, infers, results = (
        [one.given(stage, one.arms_of(stage)[0]) for one in studies]
        for stage in ("01_annotate", "04_infer", "06_tablequest")
    )
    names = [path.name for path in (REPOSITORY / "data" / "filings").glob("*.html.gz")]
    n_quarters = sum("10-q" in name for name in names)
    sheets = [table(REPOSITORY / name) for name in results[0]["readings"]]
    [read] = {n for sheet in sheets for n in Counter(row["item"][-4:] for row in sheet).values()}
    assert "rated_per_level" not in results[1]
    assert not infers[0].keys() & {"sampling", "context_length"}
    says = {
        "filings": f"{len(names)} filings: {len(names) - n_quarters} 10-K, {n_quarters} 10-Q",
        "questions": f"{3 * asks[0]['max_queries']}, {asks[1]['max_queries']} a level",
        "checked by reading": f"{read} a level, two sessions",
        "tables in the prompt": "{}` (`tablequest`), `{}`".format(
            *(one["forms"][0] for one in asks)
        ),
        "models": f"{len(studies[1].arms)} of the seven in `tablequest-paper`",
        "decoding": f"greedy; {infers[1]['sampling']['temperature']} in `tablequest-paper`",
        "window": f"{infers[2]['context_length']:,} in `tablequest-base`; "
        f"{infers[1]['context_length']:,} in `tablequest-paper`",
        "a right figure": f"medium within {TOLERANCE:.1%}",
        "hard questions": f"{results[0]['rated_per_level']} a level; all in `tablequest-paper`",
        "ratings": f"K = {ratings.K:.0f} from {ratings.START:,.0f}",
        "baseline": f"`{results[0]['rated'][0]}`, a small model; `{[*studies[1].arms][0]}` in",
        "word metrics": ", ".join(WORD_METRICS),
    }
    page = (REPOSITORY / "notebooks" / "tablequest" / "README.md").read_text(encoding="utf-8")
    for row, text in says.items():
        (line,) = (line for line in page.split("\n") if line.startswith(f"| {row} |"))
        assert text in line.split(" | ", 2)[2]
