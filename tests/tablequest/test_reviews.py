"""Reviews by people: shares with denominators, agreement against hand-worked kappas."""

import numpy as np
import pandas as pd
import pytest

from lib.tablequest.analyze.figures import draw_reviews
from lib.tablequest.questions.review import write_review
from lib.tablequest.reviews import (
    MAJORITY,
    agreement_formatted,
    agreement_table,
    digest,
    disputed,
    read_reviews,
    review_formatted,
    review_table,
    sheets_of,
)
from tests.tablequest_pumps import GRIDS, PASSAGE, QUESTIONS

LEVELS = ["easy"] * 6 + ["hard"] * 4
SAID = {"ann": "yyyyyynnnn", "bob": "yyyyynnnny", "cid": "yyyyyynn?-"}
STATES = {"y": "correct", "n": "incorrect", "?": "unsure", "-": ""}


def rows(*people: str) -> pd.DataFrame:
    return pd.DataFrame([(person, f"item-{place}", level, f"Q{place}", STATES[said],
                          "correct" if place else "", f"p{place // 2}")
                         for person in people
                         for place, (level, said) in enumerate(zip(LEVELS, SAID[person],
                                                                   strict=True))],
                        columns=["person", "item", "level", "question", "label", "fits",
                                 "passage"])


def test_sheets_are_read_as_people_fill_them_in(tmp_path):
    path = tmp_path / "questions.csv"
    write_review(path, QUESTIONS, GRIDS)
    assert digest(sheets_of(path)) == "" and read_reviews(sheets_of(path)).empty
    assert sheets_of(tmp_path / "none.csv") == {}
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    for name, label, fits in (("questions", "correct", "yes"), ("questions-ann", "wrong", "No")):
        filled = table.assign(**{"label": [label, "", *table.label[2:]],
                                 "level fits": ["", fits, *table["level fits"][2:]]})
        filled.to_csv(tmp_path / f"{name}.csv", index=False)
    found = read_reviews(sheets_of(path), QUESTIONS[1:])
    assert list(found.passage) == [found["item"][0], PASSAGE.passage_id] * 2
    assert list(found.person) == ["questions"] * 2 + ["ann"] * 2
    assert list(found.label) == ["correct", "", "incorrect", ""]
    assert list(found.fits) == ["", "correct", "", "incorrect"] and digest(sheets_of(path))
    table.assign(**{"level fits": "maybe"}).to_csv(path, index=False)
    with pytest.raises(ValueError, match="row 2: level fits is 'maybe': write yes or no"):
        read_reviews(sheets_of(path))


def test_shares_are_of_what_a_person_decided_and_a_tie_decides_nothing():
    table = review_table(rows("ann", "cid")).set_index(["person", "asked", "level"]).sort_index()
    cid = table.loc["cid", "answer is right"]
    assert cid.loc["hard", ["n", "yes", "unsure"]].tolist() == [2, 0, 1]
    assert cid.loc["all", "share"] == pytest.approx(6 / 8)
    both = review_table(rows("ann", "bob")).set_index(["person", "asked", "level"]).sort_index()
    most = both.loc[MAJORITY, "answer is right"]
    assert most.loc["easy", ["n", "yes", "unsure"]].tolist() == [5, 5, 1]
    assert table.loc[("cid", "level fits", "easy"), "n"] == 5
    text = review_formatted(review_table(rows("cid")))
    assert text.hard[0].startswith("0/2 = 0.0%") and text.hard[0].endswith("(1 unsure)")
    figure, plotted = draw_reviews(review_table(rows("ann", "cid")))
    names = [axes.texts[0].get_text() for axes in figure.axes]
    assert names == ["easy", "hard"] and len(plotted) == 18


def test_questions_on_one_passage_that_are_alike_widen_the_intervals():
    said = pd.DataFrame([(person, f"{place}-{copy}", "easy", STATES[state], "", f"p{place}")
                         for person, states in (("ann", "yyyynnnn"), ("bob", "yyynynnn"))
                         for place, state in enumerate(states) for copy in range(4)],
                        columns=["person", "item", "level", "label", "fits", "passage"])
    for table_of, value in ((review_table, "share"), (agreement_table, "kappa")):
        alike, alone, one = (table_of(said.assign(passage=passages)).query("level == 'all'").iloc[0]
                             for passages in (said.passage, said["item"], "p"))
        assert alike[value] == alone[value] == 0.5
        assert alike.low < alone.low < alone.high < alike.high
        assert np.isnan([one.low, one.high]).all(), "one passage has no interval"


def test_kappas_are_those_worked_by_hand():
    # ann 6 yes of 10, bob 6 yes of 10, 8 agreed: kappa = (0.8 - 0.52) / 0.48
    table = agreement_table(rows("ann", "bob", "cid")).set_index(["asked", "people", "level"])
    pair = table.loc["answer is right", "ann, bob", "all"]
    assert (pair.n, pair.agreed) == (10, 8) and pair.kappa == pytest.approx(0.28 / 0.48)
    assert pair.low < pair.kappa < pair.high
    # three people, 8 questions: 7 unanimous, one 2 to 1; yes 17 of 24
    three = table.loc["answer is right", "ann, bob, cid", "all"]
    chance = (17 / 24) ** 2 + (7 / 24) ** 2
    assert (three.n, three.agreed) == (8, 7) and np.isnan(three.low)
    assert three.kappa == pytest.approx(((7 + 1 / 3) / 8 - chance) / (1 - chance))
    assert np.isnan(table.loc["level fits", "ann, bob", "all"].kappa), "one thing was said"
    assert agreement_formatted(table.reset_index()).agreed[0] == "5/6 = 83.3%"


def test_one_person_agrees_with_nobody_and_disputes_are_listed():
    assert agreement_table(rows("ann")).empty
    assert list(agreement_formatted(agreement_table(rows("ann")))) == [
        "asked", "people", "level", "agreed", "kappa"]
    assert list(disputed(rows("ann", "bob")).question) == ["Q5", "Q9"]
