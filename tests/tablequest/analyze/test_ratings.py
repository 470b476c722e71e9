"""Ratings: ELO by hand, Bradley–Terry against a logistic regression, separation, intervals."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from lib.tablequest.analyze.matches import Match
from lib.tablequest.analyze.ratings import bradley_terry, chains, ratings, sequential_elo
from lib.tablequest.analyze.tables import ratings_formatted, with_published


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


@settings(max_examples=8)
@given(st.integers(1, 300))
def test_the_bound_of_two_arms_is_clopper_and_pearsons(n):
    low, _ = proportion_confint(n, n, method="beta")
    row = dapt(played("base", "dapt", 0, 0, n), resamples=2, orders=1)
    assert row.low == pytest.approx(1000 + 400 * np.log10(low / (1 - low)), abs=0.1)


def test_a_bound_over_several_arms_leaves_the_others_ratings_as_they_are():
    rows = [*played("base", "dapt", 10, 0, 10), *played("base", "weak", 20, 0, 0),
            *played("dapt", "weak", 20, 0, 0)]
    table = rated(rows)
    weak, other = table.loc[("all", "weak")], table.loc[("all", "dapt")]
    assert weak.note == "never wins or ties: an upper bound" and weak.without_maximum == 1
    assert np.isnan(weak.bradley_terry) and weak.high < 650
    assert weak.high < dapt([row.model_copy(update={"second_arm": "dapt"}) for row in rows
                             if row.first_arm == "base" and row.second_arm == "weak"]).high
    assert other.bradley_terry == pytest.approx(1000) and other.note == ""
    assert other.low < 1000 < other.high


def test_an_arm_with_a_mixed_record_may_have_only_a_bound():
    """base beats both; they tie, so they are alike and both infinitely below."""
    rows = [*played("base", "x", 9, 0, 0), *played("base", "y", 9, 0, 0),
            *played("x", "y", 0, 9, 0)]
    table = rated(rows).loc["all"]
    assert table.loc["x"].note == "no wins or ties lead from it to the baseline: an upper bound"
    assert table.loc["x"].high < 1000
    assert table.loc["x"].high == pytest.approx(table.loc["y"].high, abs=0.1)


def test_an_interval_whose_end_no_resample_limits_is_open():
    row = dapt(played("base", "dapt", 1, 0, 79), resamples=300)
    assert 0.2 < row.without_maximum < 0.5 and row.high == np.inf
    assert 1000 < row.low < row.bradley_terry == pytest.approx(1000 + 400 * np.log10(79))


@settings(max_examples=10)
@given(st.permutations(range(12)), st.lists(st.booleans(), min_size=12, max_size=12))
def test_pairs_named_in_both_orders_add_up(order, is_turned):
    rows = [*played("base", "dapt", 3, 1, 5), *played("dapt", "dapt-n", 2, 0, 1)]
    other = {"A": "B", "B": "A", "tie": "tie"}
    turned = [row.model_copy(update={
        "first_arm": row.second_arm, "second_arm": row.first_arm, "verdict": other[row.verdict]})
        if is_turned[place] else row for place, row in enumerate(rows)]
    columns = ["n", "wins", "ties", "losses", "bradley_terry", "low", "high"]
    one, two = (rated(given_, resamples=20, orders=1).loc["all"]
                for given_ in (rows, [turned[place] for place in order]))
    assert np.allclose(two.reindex(one.index)[columns[:5]].astype(float),
                       one[columns[:5]].astype(float), equal_nan=True)
    twice = rated([*rows, *turned], resamples=20, orders=1).loc["all"]
    assert (twice.n == 2 * one.n).all(), "a second verdict on a pair adds to the first"
    assert np.allclose(twice.bradley_terry, one.bradley_terry, equal_nan=True)


OUTCOMES = st.tuples(*[st.integers(0, 4)] * 3)


@given(st.fixed_dictionaries({pair: OUTCOMES for pair in (
    ("base", "a"), ("a", "b"), ("b", "base"))}))
def test_every_formatted_rating_is_true_of_its_matches(outcomes):
    rows = [row for pair, counts in outcomes.items() for row in played(*pair, *counts)]
    if not {"base"} & {arm for row in rows for arm in (row.first_arm, row.second_arm)}:
        return
    table = ratings(rows, "base", resamples=20, orders=2)
    text = ratings_formatted(with_published(table))
    assert not text.map(lambda cell: "nan" in str(cell) or "inf" in str(cell)).any(axis=None)
    for (_, row), cell, note in zip(table.iterrows(), text["Bradley–Terry [95%]"], text.note,
                                    strict=False):
        is_bound = cell.startswith(("at least", "at most"))
        assert is_bound == note.endswith("bound") and row.n == row.wins + row.ties + row.losses
        assert is_bound == (np.isnan(row.bradley_terry) and row.n > 0)
        if "never" in note:
            assert (row.losses if "loses" in note else row.wins) == row.ties == 0 < row.n
        if not row[["bradley_terry", "low", "high"]].isna().any():
            assert row.low <= row.bradley_terry <= row.high
        assert str(round(row.low if "at least" in cell else row.high)) in cell if is_bound else True


def test_the_note_survives_formatting():
    table = ratings_formatted(with_published(ratings(played("base", "dapt", 0, 0, 80), "base")))
    row = table[(table.level == "all") & (table.model == "dapt")].iloc[0]
    assert row["Bradley–Terry [95%]"] == "at least 1530"
    assert row.note == "never loses or ties: a lower bound"


@pytest.mark.parametrize("wins, is_connected", [
    ([[0, 1, 0], [0, 0, 1], [1, 0, 0]], True), ([[0, 1, 1], [0, 0, 1], [0, 1, 0]], False)])
def test_chains_of_wins_lead_everywhere_or_not(wins, is_connected):
    assert chains(np.array(wins)).all() == is_connected


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
