"""Wilson, cluster bootstrap, exact McNemar and Holm: by hand, and by how often they cover."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from lib.analyze.stats import cluster_interval, exact_p, holm, smallest_p, wilson


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_contains_the_share_and_solves_its_equation(pair):
    count, n = pair
    low, high = wilson(count, n)
    assert 0 <= low <= count / n <= high <= 1
    for end in (low, high):  # |p - share| = z sqrt(p (1 - p) / n), Wilson 1927
        assert abs(end - count / n) == pytest.approx(1.959964 * (end * (1 - end) / n) ** 0.5,
                                                     abs=1e-6)


def test_wilson_takes_arrays_and_knows_nothing_of_no_queries():
    low, high = wilson(pd.Series([0, 5, 0]), pd.Series([5, 5, 0]))
    assert (low[0], high[1]) == (0, 1) and np.isnan([low[2], high[2], *wilson(0, 0)]).all()
    assert (low[1], high[1]) == wilson(5, 5)


def test_an_interval_over_clusters_is_wider_where_a_cluster_answers_alike():
    values = pd.Series([0, 0, 0, 0, 1, 1, 1, 1] * 10)
    low, high = cluster_interval(values, pd.Series(np.arange(80) // 4))
    low_alone, high_alone = cluster_interval(values, pd.Series(np.arange(80)))
    assert (high - low) / (high_alone - low_alone) == pytest.approx(2, rel=0.15)  # of effect 4
    assert cluster_interval(values, pd.Series(np.arange(80) // 4)) == (low, high)  # seeded
    assert np.isnan(cluster_interval(values, pd.Series([1] * 80))).all()


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(5)
    clusters, covered = pd.Series(np.repeat(np.arange(30), 4)), 0
    for _ in range(100):
        values = pd.Series(rng.binomial(1, np.repeat(rng.beta(2, 3, 30), 4)))
        low, high = cluster_interval(values, clusters, resamples=500)
        covered += low <= 0.4 <= high
    assert 88 <= covered <= 99


def test_exact_mcnemar_and_its_smallest_p_by_hand():
    assert exact_p(1, 8) == exact_p(8, 1) == pytest.approx(2 * (1 + 9) / 2**9)
    assert smallest_p(6) == exact_p(0, 6) == pytest.approx(2 / 2**6) and smallest_p(0) == 1


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_is_a_running_maximum_and_leaves_unknown_ones(values):
    ordered = np.sort(values)
    factors = np.arange(len(values), 0, -1)
    expected = np.minimum(np.maximum.accumulate(ordered * factors), 1)
    adjusted = holm([*ordered, float("nan")])
    assert adjusted[:-1] == pytest.approx(expected) and np.isnan(adjusted[-1])


def test_holm_is_that_of_statsmodels():
    values = np.random.default_rng(3).random(40) ** 3
    assert holm(values) == pytest.approx(multipletests(values, method="holm")[1], abs=0)
