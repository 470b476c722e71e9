"""Ratings: ELO by hand, Bradley–Terry against a logistic regression, separation, intervals."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st

from lib.tablequest.analyze.matches import Match
from lib.tablequest.analyze.ratings import bradley_terry, has_maximum, ratings, sequential_elo


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


def test_an_arm_that_never_wins_is_noted_and_held():
    rows = [*played("base", "dapt", 10, 0, 10), *played("base", "weak", 20, 0, 0),
            *played("dapt", "weak", 20, 0, 0)]
    table = rated(rows)
    weak, other = table.loc[("all", "weak")], table.loc[("all", "dapt")]
    assert "never wins or ties" in weak.note and "ridge of 0.01" in weak.note and other.note
    assert weak.without_maximum == 1 and np.isfinite(weak.bradley_terry) and weak.bradley_terry < 0
    assert other.bradley_terry == pytest.approx(1000, abs=1e-6)


def test_the_ridge_is_where_slope_and_penalty_meet():
    strong, weak = bradley_terry(np.array([[0.0, 20.0], [0.0, 0.0]]), ridge=0.01)
    assert strong == pytest.approx(-weak)
    assert 20 / (1 + np.exp(strong - weak)) == pytest.approx(0.01 * strong)


@pytest.mark.parametrize("wins, has_one", [
    ([[0, 1, 0], [0, 0, 1], [1, 0, 0]], True), ([[0, 1, 1], [0, 0, 1], [0, 1, 0]], False)])
def test_the_likelihood_has_a_maximum_where_wins_lead_everywhere(wins, has_one):
    assert has_maximum(np.array(wins)) == has_one


def test_levels_are_separate_and_unscored_matches_do_not_count():
    hard = [match(90 + n, "base", "dapt", "B", "hard") for n in range(2)]
    table = rated([*played("base", "dapt", 1, 0, 3), *hard, match(99, "base", "dapt", "unscored")])
    assert list(dict.fromkeys(table.index.get_level_values(0))) == ["easy", "hard", "all"]
    assert table.loc[("easy", "dapt")].n == 4 and table.loc[("all", "dapt")].n == 6
    assert "never loses" in table.loc[("hard", "dapt")].note


def test_where_nothing_varies_there_is_no_interval():
    row = dapt(played("base", "dapt", 0, 12, 0))
    assert row.bradley_terry == row.elo == 1000
    assert row[["low", "high", "elo_low", "elo_high"]].isna().all()


def test_the_seed_decides_and_the_order_of_rows_does_not_move_bradley_terry():
    rows = [*played("base", "dapt", 8, 4, 12), *played("base", "dapt-n", 3, 4, 17),
            *played("dapt", "dapt-n", 9, 6, 9)]
    one, again, other = rated(rows), rated(rows), rated(rows[::-1], seed=2)
    assert one.equals(again)
    one, other = one.loc["all"], other.loc["all"]
    assert np.allclose(one.bradley_terry, other.bradley_terry.reindex(one.index))
    assert not np.allclose(one.elo, other.elo.reindex(one.index))


def test_questions_are_drawn_with_all_their_matches():
    """Twice the arms' pairs on the same questions is no more evidence: the interval stays."""
    one = played("base", "dapt", 10, 0, 30)
    twins = [row.model_copy(update={"second_arm": "twin"}) for row in one]
    both = [*one, *twins, *played("dapt", "twin", 0, 40, 0)]
    alone, together = (dapt(rows, resamples=400) for rows in (one, both))
    assert together.high - together.low > 0.9 * (alone.high - alone.low)


def test_questions_on_one_passage_are_drawn_together():
    rows = played("base", "dapt", 20, 0, 20)
    shared = [row.model_copy(update={"passage_id": f"p{number // 10}"})
              for number, row in enumerate(rows)]
    alone, together = (dapt(given_, resamples=400) for given_ in (rows, shared))
    assert (alone.passages, together.passages) == (40, 4)
    assert together.bradley_terry == alone.bradley_terry
    assert together.high - together.low > 2 * (alone.high - alone.low)


def test_the_sequential_rating_is_the_middle_of_its_orders():
    rows = played("base", "dapt", 30, 0, 30)
    row = dapt(rows, resamples=5)
    assert abs(row.elo - 1000) < 20 < row.elo_high - row.elo
    others = [dapt(rows, seed=seed, resamples=5).elo for seed in range(5)]
    assert max(others) - min(others) < (row.elo_high - row.elo_low) / 4


def test_a_baseline_without_matches_and_a_bad_k_are_refused():
    with pytest.raises(ValueError, match="'gpt' has no match; there are base, dapt"):
        ratings(played("base", "dapt", 1, 1, 1), "gpt")
    with pytest.raises(ValueError, match="k is 0"):
        ratings(played("base", "dapt", 1, 1, 1), "base", k=0)
