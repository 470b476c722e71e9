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


def test_a_sheet_is_written_compared_when_it_is_filled_in_and_never_overwritten(run):
    printed, path = run(), data_path("s", "labels", "answers.csv")
    assert "scorer is the only judge, so nothing is compared: fill in data/s/labels/" in printed
    assert read_sheet(path).labels == {}
    assert not result_path("s", "agreement.csv").exists()
    with pytest.raises(BadInput, match="05_judge.*arm base.*judge other"):
        run(judges=["scorer", "other"])

    judged = load("s", "answers", arm=ARMS), load("s", "verdicts", arm=ARMS, judge="scorer")
    labels = {"item": "label"} | {one.item: one.verdict for one in items_of(QUERIES, *judged)}
    lines = list(csv.reader(path.read_text(encoding="utf-8-sig").splitlines()))
    text = "\n".join(f"{line[0]};{labels[line[0]]};" for line in lines)
    path.write_text(text.replace("label;", "label;reader: person"))
    before = path.read_bytes()
    assert "22 answers are labelled, 0 labels are of other" in run(judges=["scorer", "m"])
    assert path.read_bytes() == before
    table = pd.read_csv(result_path("s", "agreement.csv"))
    table = table[(table.arm == "all") & (table.structure == "all")]
    table = table.set_index(["first_judge", "second_judge"])
    assert table.loc[("scorer", "m"), ["n", "agreed", "strict"]].tolist() == [24, 18, 6]
    assert table.agreement["scorer", "person (answers)"] == 1
    assert result_path("s", "agreement.md").stat().st_size > 0

    save_answers("other ")  # a new training changes every answer
    labels, printed = read_sheet(path), run()
    assert read_sheet(path) == labels
    assert len(path.read_text(encoding="utf-8-sig").splitlines()) == 1 + 2 * 22
    assert "0 answers are labelled, 22 labels are of other answers" in printed
    assert "22 of 22 answers with a text are drawn; 2 have none" in printed
    assert not result_path("s", "agreement.md").exists(), "an earlier run's"


def test_win_rates_are_of_the_questions_drawn_by_lot_and_power_is_that_of_statsmodels(run):
    run_cells("pairs", study="s", n_questions=5)
    compared = load("s", "preferences", Preference, judge="scorer", first="base", second="dapt")
    assert {row.query_id for row in compared} != {f"q{n}" for n in range(5)}
    names = run_cells("statistics", study="s", arms=ARMS)
    wins = names["wins"].query("source == 'this run' and structure == 'all'")
    assert {*wins.n} == {5}
    least = names["shows"].dropna().iloc[-1]
    points = least.smallest_points / 100
    effect = points / (least.discordant - points**2) ** 0.5
    assert TTestPower().power(effect, least.n, 0.05) == pytest.approx(0.8)
