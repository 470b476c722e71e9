"""Intervals and tests over clusters and units: by hand, as scipy's, and how often they cover."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, ttest_1samp

from lib.analyze.stats import (
    cluster_interval,
    cluster_mean,
    holm,
    over_units,
    satterthwaite,
    share_interval,
    sign_flip_p,
    wilson,
)


def covered(sizes, interval, truth: float, draws: int, rng) -> int:
    """Count the intervals that hold `truth`, over clusters of `sizes` whose shares are beta."""
    clusters, hits = pd.Series(np.repeat(np.arange(len(sizes)), sizes)), 0
    for _ in range(draws):
        shares = rng.beta(8 * truth, 8 * (1 - truth), len(sizes))  # intraclass correlation 1/9
        low, high = interval(pd.Series(rng.binomial(1, np.repeat(shares, sizes))), clusters)
        hits += low <= truth <= high
    return hits


@pytest.mark.parametrize("interval", [cluster_interval, share_interval])
@pytest.mark.parametrize("sizes", [[4] * 5, [4] * 30, [40, 20, 10, 5, 5, 3, 2, 2, 2, 1]])
def test_intervals_cover_as_often_as_they_say_over_few_and_unequal_clusters(interval, sizes):
    assert covered(sizes, interval, 0.4, 200, np.random.default_rng(5)) >= 184


def test_a_mean_over_clusters_by_hand():
    values, clusters = pd.Series([0, 0, 1, 1] * 5), pd.Series(np.arange(20) // 2)
    mean, error, freedom = cluster_mean(values, clusters)
    assert (mean, freedom) == pytest.approx((0.5, 9))
    assert error == pytest.approx((10 / 9 * 10) ** 0.5 / 20)  # each cluster's residuals sum to ±1
    side = np.arange(20) < 8
    mean, error, freedom = cluster_mean(values, pd.Series(range(20)), side)
    expected = sum(part.var(ddof=1) / len(part) for part in (values[side], values[~side]))
    assert mean == pytest.approx(values[side].mean() - values[~side].mean())
    assert error == pytest.approx(expected**0.5) and freedom < 18  # two samples: at most 18
    assert np.isnan(cluster_mean(values, pd.Series([1] * 20))[1:]).all()


@given(st.lists(st.integers(1, 30), min_size=2, max_size=15))
def test_unequal_clusters_have_fewer_degrees_of_freedom(sizes):
    clusters = pd.Series(np.repeat(np.arange(len(sizes)), sizes))
    freedom = cluster_mean(pd.Series(np.arange(len(clusters))), clusters)[2]
    assert 1 - 1e-9 <= freedom <= len(sizes) - 1 + 1e-9
    if len({*sizes}) == 1 or len(sizes) == 2:
        assert freedom == pytest.approx(len(sizes) - 1)
    else:
        assert freedom < len(sizes) - 1


def test_an_interval_of_a_difference_stays_in_its_bound_or_is_unknown():
    change, clusters = pd.Series([1, 1, 0, 0]), pd.Series(list("aabb"))
    assert cluster_interval(change, clusters, 1) == (-1, 1)
    assert np.isnan(cluster_interval(change, pd.Series(list("abab")))).all()  # equal means


@given(st.integers(2, 12), st.integers(1, 12), st.data())
def test_an_interval_of_a_share_is_monotone_at_its_ends_and_knows_clusters(n, size, data):
    clusters, none = pd.Series(np.repeat(np.arange(n), size)), pd.Series(np.zeros(n * size))
    one = none.copy()
    one[data.draw(st.integers(0, n * size - 1))] = 1
    (low, high), (low_one, high_one) = (share_interval(each, clusters) for each in (none, one))
    assert low == 0 < low_one and high <= high_one and high - low <= high_one - low_one
    assert high >= wilson(0, n * size)[1] - 1e-9  # clusters never make it narrower
    mirrored = share_interval(1 - one, clusters)
    assert mirrored == pytest.approx((1 - high_one, 1 - low_one))


def test_queries_of_three_documents_are_as_few_as_three_documents():
    low, high = share_interval(pd.Series([1] * 60), pd.Series(np.arange(60) // 20))
    assert low < 0.3 and high == 1  # Wilson's for 60 of 60 begins at 0.94
    alone = share_interval(pd.Series([1] * 60), pd.Series(range(60)))
    assert alone[0] == pytest.approx(wilson(60, 60)[0], abs=0.003)
    assert np.isnan(share_interval(pd.Series([0, 1]), pd.Series([1, 1]))).all()
    values, clusters = pd.Series([0.0, 0.8, 1.0, 0.0]), pd.Series(list("abcd"))
    twice = (pd.concat([each] * 2, ignore_index=True) for each in (values, clusters))
    assert share_interval(*twice) == pytest.approx(share_interval(values, clusters))


def test_other_sources_widen_the_interval_of_a_share():
    values, clusters = pd.Series([0, 1] * 30), pd.Series(range(60))
    low, high = share_interval(values, clusters)
    wider = share_interval(values, clusters, [(0.1**2 / 3, 2)])
    assert wider[0] < low - 0.05 and wider[1] > high + 0.05
    assert satterthwaite([(1.0, 4), (1.0, 4)]) == (2, 8)


def test_sign_flips_need_clusters_and_draw_where_there_are_many():
    assert sign_flip_p(np.array([2.0])) == sign_flip_p(np.zeros(3)) == 1
    assert np.isnan(sign_flip_p(np.array([])))
    values = np.random.default_rng(2).normal(0.5, 1, 40)
    assert 0 < sign_flip_p(values) < 0.02
    signs = np.random.default_rng(3).choice((1, -1), 300)
    right = int((signs > 0).sum())
    assert sign_flip_p(100 * signs) == pytest.approx(binomtest(right, 300).pvalue)


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=9))
def test_t_is_that_of_scipy_and_sign_flips_count_every_pattern(values):
    found = over_units(values)
    if len(set(values)) == 1:
        assert np.isnan(found["p"]) and np.isnan(found["p_flips"])
        return
    test = ttest_1samp(values, 0)
    assert (found["estimate"], found["p"]) == pytest.approx((np.mean(values), test.pvalue))
    assert (found["low"], found["high"]) == pytest.approx(tuple(test.confidence_interval()))
    sums = [abs(np.dot(signs, values)) for signs in product((1, -1), repeat=len(values))]
    assert found["p_flips"] == pytest.approx(np.mean([one >= abs(sum(values)) for one in sums]))


def test_one_unit_has_no_interval_and_no_test():
    found = over_units([3.0])
    assert found["estimate"] == 3.0 and np.isnan([found["p"], found["p_flips"], found["low"]]).all()
    assert np.isnan(over_units([np.nan])["estimate"])


def test_a_hypothesis_without_a_p_may_count_in_the_family():
    assert list(holm(pd.Series([0.01, 0.04, 0.03]))) == pytest.approx([0.03, 0.06, 0.06])
    known = pd.Series([0.01, np.nan])
    for adjusted, first in ((holm(known), 0.01), (holm(known, count_unknown=True), 0.02)):
        assert adjusted[0] == pytest.approx(first) and np.isnan(adjusted[1])


def test_the_null_is_rejected_about_as_often_as_it_should_be():
    draws = np.random.default_rng(2).normal(size=(600, 8))
    found = pd.DataFrame([over_units(row) for row in draws])
    assert 0.03 < (found.p <= 0.05).mean() < 0.075
    assert 0.03 < (found.p_flips <= 0.05).mean() < 0.075
