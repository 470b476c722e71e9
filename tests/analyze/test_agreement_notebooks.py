"""The notebook agreement, with the scorer, a second judge and a person."""

import csv

import pandas as pd
import pytest
from statsmodels.stats.power import TTestPower

from lib.analyze.agreement import items_of, read_sheet
from lib.core.records import STRUCTURES
from lib.core.store import BadInput, data_path, load, result_path, save
from lib.judge.llm_judge import Preference
from tests.conftest import run_cells
from tests.rows import answer, query, verdicts

ARMS = ["base", "dapt"]
QUERIES = [
    query(f"q{n}", structure=[*STRUCTURES][n % 3], answer=f"{n}", document_id=f"d{n // 4}")
    for n in range(12)
]


def save_answers(text: str) -> None:
    """Save every arm's answers, and the verdicts of two judges: the second finds more right."""
    for arm in ARMS:
        save("s", "answers", [answer(text * n, f"q{n}", arm) for n in range(12)], arm=arm)
        for judge, step in (("scorer", 4), ("m", 2)):
            states = {f"q{n}": "incorrect" if n % step else "correct" for n in range(12)}
            save("s", "verdicts", verdicts(arm, states, judge), judge=judge, arm=arm)


@pytest.fixture
def run(study_root, capsys):
    """Run the notebook on a study without an answer to its first question; return its prints."""
    save("s", "queries", QUERIES)
    save_answers("so ")

    def run(**given: object) -> str:
        capsys.readouterr()
        run_cells("agreement", study="s", arms=ARMS, **given)
        return capsys.readouterr().out

    return run


def items_by(judge: str) -> list:
    judged = load("s", "answers", arm=ARMS), load("s", "verdicts", arm=ARMS, judge=judge)
    return items_of(QUERIES, *judged)


def test_sheets_are_written_compared_when_they_are_filled_in_and_never_overwritten(run, tmp_path):
    printed, path = run(), data_path("s", "labels", "answers.csv")
    assert "scorer is the only judge, so nothing is compared: fill in data/s/labels/" in printed
    assert read_sheet(path).labels == {}
    assert not result_path("s", "agreement.csv").exists()
    with pytest.raises(BadInput, match="05_judge.*arm base.*judge other"):
        run(judges=["scorer", "other"])

    labels = {"item": "label"} | {one.item: one.verdict for one in items_by("scorer")}
    lines = list(csv.reader(path.read_text(encoding="utf-8-sig").splitlines()))
    text = "\n".join(f"{line[0]};{labels[line[0]]};" for line in lines)
    path.write_text(text.replace("label;", "label;reader: person"))
    reading = tmp_path / "a_reading.csv"
    lines = "".join(f"{one.item},{one.verdict}\n" for one in items_by("m")[:9])
    reading.write_text("item,label\n" + lines)
    before = [one.read_bytes() for one in (path, reading)]
    printed = run(judges=["scorer", "m"], readings=[str(reading)])
    assert "person (answers): 22 answers are labelled, 0 labels are of other" in printed
    assert "a_reading: 9 answers are labelled, 0 labels are of other answers" in printed
    assert [one.read_bytes() for one in (path, reading)] == before
    table = pd.read_csv(result_path("s", "agreement.csv"))
    table = table[(table.arm == "all") & (table.structure == "all")]
    table = table.set_index(["first_judge", "second_judge"])
    assert table.loc[("scorer", "m"), ["n", "agreed", "strict"]].tolist() == [24, 18, 6]
    assert table.agreement["scorer", "person (answers)"] == 1
    assert table.loc[("m", "a_reading"), ["n", "kappa"]].tolist() == [9, 1]
    metrics = pd.read_csv(result_path("s", "metrics.csv")).set_index(["judge", "over", "measure"])
    assert metrics.pearson["a_reading", "answers", "m"] == 1
    assert result_path("s", "metrics_judged.png").stat().st_size > 5000

    save_answers("other ")  # a new training changes every answer
    labels, printed = read_sheet(path), run()
    assert read_sheet(path) == labels
    assert len(path.read_text(encoding="utf-8-sig").splitlines()) == 1 + 2 * 22
    assert "0 answers are labelled, 22 labels are of other answers" in printed
    assert "22 of 22 answers with a text are drawn; 2 have none" in printed
    assert not result_path("s", "agreement.md").exists(), "an earlier run's"


def test_table_2_by_judge_and_pairs_of_questions_drawn_by_lot(run, capsys):
    run_cells("06_analyze", study="s", arms=ARMS, judges=["scorer", "m"])
    table = pd.read_csv(result_path("s", "table2_judges.csv")).set_index(["judge", "structure"])
    assert table.correct.loc[[("scorer", "all"), ("m", "all")]].tolist() == [3, 3, 6, 6]
    assert result_path("s", "table2_judges.md").read_text().count("| m | ") == 4
    run_cells("pairs", study="s", n_questions=5)
    printed = "0 of 0 scored preferences change with the order; 0 are unscored, 10 were not asked"
    assert printed in capsys.readouterr().out, "the arms' answers are the same"
    compared = load("s", "preferences", Preference, judge="scorer", first="base", second="dapt")
    asked = {row.query_id for row in compared}
    assert len(asked) == 5 and len(compared) == 10 and asked != {f"q{n}" for n in range(5)}
    names = run_cells("statistics", study="s", arms=ARMS)
    wins = names["wins"].query("source == 'this run' and structure == 'all'")
    assert {*wins.n} == {5}
    least = names["shows"].dropna().iloc[-1]
    points = least.smallest_points / 100
    effect = points / (least.discordant - points**2) ** 0.5
    assert TTestPower().power(effect, least.n, 0.05) == pytest.approx(0.8)
