"""Ratings: ELO by hand, Bradley–Terry against a logistic regression, separation, intervals."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st

from lib.tasks.tablequest.analyze.matches import Match
from lib.tasks.tablequest.analyze.ratings import bradley_terry, ratings, sequential_elo


def match(question: int, first: str, second: str, verdict: str, level: str = "easy") -> Match:
    return Match(question_id=f"q{question}", passage_id=f"p{question}", level=level,
                 first_arm=first, second_arm=second, judge="rules", verdict=verdict,
                 is_flipped=False, is_asked=True, as_first=verdict, as_second=verdict, reason="",
                 reason_as_second="")


def played(first: str, second: str, wins: int, ties: int, losses: int) -> list[Match]:
    outcomes = ["A"] * wins + ["tie"] * ties + ["B"] * losses
    return [match(number, first, second, outcome) for number, outcome in enumerate(outcomes)]


def rated(rows: list[Match], **options):
    return ratings(rows, "base", **{"resamples": 50} | options).set_index(["level", "arm"])


def dapt(rows: list[Match], **options):
    return rated(rows, **options).loc[("all", "dapt")]


def test_elo_after_three_matches_by_hand():
    rows = [match(0, "a", "b", "A"), match(1, "a", "b", "tie"), match(2, "b", "a", "A")]
    one, two, three, back = (sequential_elo(rows, ["a", "b"], 32, order)
                             for order in ([0], [0, 1], [0, 1, 2], [2, 1, 0]))
    assert one.tolist() == [1016, 984]  # 32 * (1 - 1/2)
    assert two[0] == pytest.approx(1016 + 32 * (0.5 - 1 / (1 + 10 ** (-32 / 400))))
    assert three.sum() == pytest.approx(2000) and three[0] < two[0]
    assert not np.allclose(three, back), "the order matters"


def test_two_arms_are_at_the_logit_of_the_score_on_elos_scale():
    table = rated(played("base", "dapt", 20, 10, 70), resamples=200)
    row, base = table.loc[("all", "dapt")], table.loc[("all", "base")]
    assert row.bradley_terry == pytest.approx(1000 + 400 * np.log10(75 / 25))
    assert row[["n", "wins", "ties", "losses"]].tolist() == [100, 70, 10, 20]
    assert row.low < row.bradley_terry < row.high and row.without_maximum == 0 and row.note == ""
    assert base.bradley_terry == 1000 == base.elo and np.isnan(base.low)
    # delta method; ties make it a little narrower
    half = 400 / np.log(10) / np.sqrt(100 * 0.75 * 0.25) * 1.96
    assert 0.7 * half < (row.high - row.low) / 2 < 1.15 * half


@pytest.mark.filterwarnings("ignore:Perfect separation")  # a fit without residuals warns
@given(st.lists(st.integers(1, 20), min_size=12, max_size=12))
def test_strengths_are_those_of_a_logistic_regression(counts):
    wins = np.zeros((4, 4))
    wins[~np.eye(4, dtype=bool)] = counts
    strengths = bradley_terry(wins)
    pairs = [(i, j) for i in range(4) for j in range(4) if i < j]
    design = np.array([[(k == i) - (k == j) for k in range(1, 4)] for i, j in pairs], float)
    outcomes = [[wins[i, j], wins[j, i]] for i, j in pairs]
    model = sm.GLM(outcomes, design, family=sm.families.Binomial()).fit()
    assert np.allclose(strengths[1:] - strengths[0], model.params, atol=1e-6)


def test_a_perfect_record_gives_clopper_and_pearsons_bound_and_not_a_rating():
    """80 wins of 80 on 80 passages; by hand: 0.025^(1/80) = 0.955, 400 log10(0.955/0.045) = 530."""
    row = dapt(played("base", "dapt", 0, 0, 80))
    assert np.isnan(row.bradley_terry) and row.high == np.inf and row.without_maximum == 1
    assert row.low == pytest.approx(1530, abs=1)
    assert row.note == "never loses or ties: a lower bound"
    loser = dapt(played("base", "dapt", 80, 0, 0))
    assert loser.high == pytest.approx(2000 - row.low) and loser.low == -np.inf
    one_passage = [one.model_copy(update={"passage_id": "p"})
                   for one in played("base", "dapt", 0, 0, 80)]
    assert dapt(one_passage).low == pytest.approx(1000 + 400 * np.log10(0.025 / 0.975), abs=1)


def test_questions_on_one_passage_are_drawn_together():
    rows = played("base", "dapt", 20, 0, 20)
    shared = [row.model_copy(update={"passage_id": f"p{number // 10}"})
              for number, row in enumerate(rows)]
    alone, together = (dapt(given_, resamples=400) for given_ in (rows, shared))
    assert (alone.passages, together.passages) == (40, 4)
    assert together.bradley_terry == alone.bradley_terry
    assert together.high - together.low > 2 * (alone.high - alone.low)


def test_a_baseline_without_matches_and_a_bad_k_are_refused():
    with pytest.raises(ValueError, match="'gpt' has no match; there are base, dapt"):
        ratings(played("base", "dapt", 1, 1, 1), "gpt")
    with pytest.raises(ValueError, match="k is 0"):
        ratings(played("base", "dapt", 1, 1, 1), "base", k=0)
