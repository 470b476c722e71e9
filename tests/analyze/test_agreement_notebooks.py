"""agreement on a small laboratory, with rules, a scripted judge and a person."""

import csv
import re

import pandas as pd
import pytest

from lib.analyze.agreement import items_of, read_labels
from lib.annotate.questions import annotate
from lib.core.records import Answer, Query
from lib.core.store import BadInput, data_path, load, result_path, save
from lib.judge.llm_judge import judge_with_llm
from lib.judge.scorer import judge, score
from lib.lab.facts import ask_facts
from lib.lab.records import make_products, make_records
from lib.llm.calls import Calls
from tests.conftest import run_cells
from tests.played_model import played, within

ARMS = ["base", "dapt"]


def save_answers(queries: list[Query], arm: str, texts: list[str]) -> None:
    """Save an arm's answers and the rules' verdicts on them."""
    answers = [
        Answer(query_id=query.query_id, arm=arm, answer=text, n_tokens=1, truncated=False)
        for query, text in zip(queries, texts, strict=True)
    ]
    save("s", "answers", answers, arm=arm)
    save("s", "verdicts", judge(queries, answers, score), judge="scorer", arm=arm)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Return a study: base repeats another query's answer; dapt answers half, lists in part."""
    root = tmp_path_factory.mktemp("judges")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STUDY_ROOT", str(root))
        documents, facts = make_records(make_products(3, seed=2), seed=2)
        queries = annotate(documents, ask_facts(facts))[0]
        save("s", "documents", documents)
        save("s", "queries", queries)
        save_answers(queries, "base", [query.answer for query in queries[1:] + queries[:1]])
        save_answers(
            queries,
            "dapt",
            [
                query.answer if n % 2 else query.answer.split("\n")[0]
                for n, query in enumerate(queries)
            ],
        )
    return root


@pytest.fixture
def run(request, monkeypatch, capsys):
    """Run a notebook on the study and return what it printed."""
    if "study" in request.fixturenames:
        monkeypatch.setenv("STUDY_ROOT", str(request.getfixturevalue("study")))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def run(stage: str, **given: object) -> str:
        capsys.readouterr()
        run_cells(stage, study="s", **given)
        return capsys.readouterr().out

    return run


def lenient_judge(prompt: str) -> str:
    """Accept one entity of a list."""
    wanted, answer = (within(prompt, tag) for tag in ("reference", "answer"))
    return f"It is said.\n[[{wanted.split(chr(10))[0] in answer}]]"


def test_one_judge_and_no_label_write_the_sheet_and_say_what_is_missing(study, run):
    printed = run("agreement", arms=ARMS, sample_size=20)
    assert "scorer is the only judge, so nothing is compared: fill in data/s/labels/" in printed
    assert read_labels(data_path("s", "labels", "answers.csv")) == {}
    assert re.search(r"0 questions of \d+ are rated", printed)
    assert not result_path("s", "agreement.csv").exists()
    with pytest.raises(BadInput, match="05_judge.*arm base.*judge m"):
        run("agreement", arms=ARMS, judges=["scorer", "m"])


def test_a_second_judge_and_a_persons_labels_give_every_table(study, run, monkeypatch):
    queries = load("s", "queries")
    with played(lenient_judge, monkeypatch):
        for arm in ARMS:
            by_m = judge_with_llm("gpt-4o", Calls(data_path("s", "llm.sqlite")))
            verdicts = judge(queries, load("s", "answers", arm=arm), by_m, "gpt-4o")
            save("s", "verdicts", verdicts, judge="gpt-4o", arm=arm)

    answers = load("s", "answers", arm=ARMS)
    items = items_of(queries, answers, load("s", "verdicts", arm=ARMS, judge="scorer"))
    verdict = {"item": "label"} | {
        item.item: "unsure" if item.verdict == "unscored" else item.verdict for item in items
    }
    path = data_path("s", "labels", "answers.csv")
    lines = list(csv.reader(path.read_text(encoding="utf-8-sig").splitlines()))
    filled = [f"{line[0]};{verdict[line[0]]}" for line in lines if line[0] in verdict]
    path.write_text("\n".join(filled), encoding="cp1252")  # as a person's spreadsheet saves it
    before = path.read_bytes()
    printed = run("agreement", arms=ARMS, judges=["scorer", "gpt-4o"], sample_size=20)
    assert path.read_bytes() == before
    assert " answers are labelled, 0 labels are of other answers" in printed
    table = pd.read_csv(result_path("s", "agreement.csv"))
    table = table[(table.arm == "all") & (table.structure == "all")].set_index(
        ["first_judge", "second_judge"]
    )
    assert table.n["scorer", "gpt-4o"] == len(answers) > table.agreed["scorer", "gpt-4o"]
    assert table.agreement["scorer", "person"] == 1 and table.strict["scorer", "gpt-4o"] > 0
    assert result_path("s", "agreement.md").stat().st_size > 0

    # a new training changes every answer, and the second judge is gone
    for arm in ARMS:
        texts = [f"{answer.answer} so" for answer in load("s", "answers", arm=arm)]
        save_answers(queries, arm, [" ", *texts[1:]])
    labels = read_labels(path)
    printed = run("agreement", arms=ARMS, sample_size=20)
    assert read_labels(path) == labels
    assert len(path.read_text(encoding="utf-8-sig").splitlines()) > len(lines) + 20
    assert f": 0 answers are labelled, {len(labels)} labels are of other answers; 20 of" in printed
    assert "answers with a text are drawn; 2 have none" in printed
    left = {file.name for file in result_path("s", "x").parent.iterdir()}
    assert not [name for name in left if name.startswith("agreement")], "an earlier run's"
