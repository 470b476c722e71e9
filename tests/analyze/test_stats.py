"""Intervals and tests over clusters, seeds and units: by hand, as scipy's, how often they cover."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, permutation_test, ttest_1samp, ttest_ind

from lib.analyze.stats import (
    cluster_interval,
    cluster_mean,
    clusters_of,
    holm,
    over_units,
    paired,
    share_interval,
    sign_flip_p,
    spread,
    wilson,
)
from lib.analyze.tables import joined, table2
from lib.core.arms import ARMS
from lib.core.records import Fact
from tests.rows import judged, query, verdicts

SEEDS = {"dapt": "1100000000", "daptAt2": "1110000000", "daptAt3": "1111000000"}


@pytest.mark.parametrize("interval", [cluster_interval, share_interval])
@pytest.mark.parametrize("sizes", [[4] * 5, [4] * 30, [40, 20, 10, 5, 5, 3, 2, 2, 2, 1]])
def test_intervals_cover_as_often_as_they_say_over_few_and_unequal_clusters(interval, sizes):
    rng, clusters, hits = np.random.default_rng(5), np.repeat(np.arange(len(sizes)), sizes), 0
    for _ in range(200):
        shares = rng.beta(3.2, 4.8, len(sizes))  # a mean of 0.4, intraclass correlation 1/9
        low, high = interval(pd.Series(rng.binomial(1, np.repeat(shares, sizes))), clusters)
        hits += low <= 0.4 <= high
    assert hits >= 184


@given(st.lists(st.integers(-9, 9), min_size=4, max_size=20).filter(lambda one: len({*one}) > 1))
def test_with_one_value_per_cluster_or_unit_intervals_and_p_are_those_of_scipy(values):
    values, half = pd.Series(values, dtype=float), np.arange(len(values)) < len(values) // 2
    test = ttest_1samp(values, 0)
    expected = pytest.approx((*test.confidence_interval(), test.pvalue))
    found = over_units([*values, np.nan])
    assert (found["low"], found["high"], found["p"]) == expected and found["n"] == len(values)
    assert (*cluster_interval(values, values.index), test.pvalue) == expected
    mean, error, freedom = cluster_mean(values, values.index, half)
    welch = ttest_ind(values[half], values[~half], equal_var=False)
    assert mean == pytest.approx(values[half].mean() - values[~half].mean())
    if error > 1e-9:
        assert mean / error == pytest.approx(welch.statistic) and freedom < len(values) - 1


def test_a_mean_over_clusters_by_hand():
    values, clusters = pd.Series([0, 0, 1, 1] * 5), np.arange(20) // 2
    # each cluster's residuals sum to ±1
    expected = (0.5, (10 / 9 * 10) ** 0.5 / 20, 9)
    assert cluster_mean(values, clusters) == pytest.approx(expected)
    assert np.isnan([*cluster_mean(values, [1] * 20)[1:], over_units([3, 3])["p_flips"]]).all()
    assert np.isnan(cluster_interval(values, np.arange(20) % 2)).all()  # equal means


@given(st.integers(2, 12), st.integers(1, 12))
def test_an_interval_of_a_share_is_monotone_at_its_ends_and_knows_clusters(n, size):
    clusters, one = np.repeat(np.arange(n), size), pd.Series(np.arange(n * size) == 0)
    low, high = share_interval(one & False, clusters)
    low_one, high_one = share_interval(one, clusters)
    assert low == 0 < low_one and high <= high_one and high - low <= high_one - low_one
    assert high >= wilson(0, n * size)[1] - 1e-9  # clusters never make it narrower
    mirrored = share_interval(~one, clusters)
    assert mirrored == pytest.approx((1 - high_one, 1 - low_one))


def test_queries_of_three_documents_are_as_few_as_three_documents():
    low, high = share_interval(pd.Series([1] * 60), np.arange(60) // 20)
    assert low < 0.3 and high == 1 and wilson(60, 60)[0] > 0.93
    assert np.isnan(share_interval(pd.Series([0, 1]), [1, 1])).all()


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=9), st.integers(14, 400))
def test_sign_flips_count_every_pattern_and_those_of_equal_sizes_are_binomial(values, n):
    flips = {"permutation_type": "samples", "n_resamples": np.inf, "vectorized": False}
    expected = permutation_test((values,), np.sum, **flips).pvalue
    assert sign_flip_p(np.array(values)) == pytest.approx(expected)
    signs = np.resize([100, 100, -100], n)
    p = binomtest(int((signs > 0).sum()), n).pvalue
    assert sign_flip_p(signs) == pytest.approx(p)


def test_a_hypothesis_without_a_p_may_count_in_the_family():
    known = pd.Series([0.01, 0.04, np.nan, 0.03])
    assert holm(known).tolist() == pytest.approx([0.03, 0.06, np.nan, 0.06], nan_ok=True)
    assert holm(known, 5).dropna().tolist() == pytest.approx([0.05, 0.12, 0.12])


def test_a_cluster_is_the_product_in_all_its_documents_else_the_document():
    def placed(case: str) -> dict:
        _, of, start, end = case.split()
        return {"document_id": of, "start": int(start), "end": int(end)}

    places = "Pump d1 0 5", "Pump d2 0 5", "Valve d2 6 9", "Fan d4 0 5"
    facts = [Fact.model_construct(entity=one.split()[0], **placed(one)) for one in places]
    cases = "Pump d1 0 5", "Pump d2 0 5", "Valve d2 6 9", "d2 d2 5 6", "d3 d3 0 5", "Fan d4 7 9"
    queries = [query(one, **placed(one)) for one in cases]
    rows = joined(queries, verdicts("dapt", dict.fromkeys(cases, "correct")), facts)
    assert [*rows.cluster] == [case.split()[0] for case in cases]
    assert set(clusters_of(queries).values()) == {"d1", "d2", "d3", "d4"}


def first_of(table: pd.DataFrame, **at: str) -> pd.Series:
    """Return the first row of prose, or of the values in `at`."""
    for name, value in ({"structure": "natural"} | at).items():
        table = table[table[name] == value]
    return table.iloc[0]


def test_means_and_differences_are_those_of_table_2_in_which_unscored_is_not_correct():
    rows = judged(per_cluster=3, base="110-00--1", dapt="1-1011-01", dapt_n="001-10010")
    cells, means = (table.set_index(["arm", "structure"]) for table in (table2(rows), spread(rows)))
    expected = cells[["accuracy", "low", "high"]].to_numpy()
    np.testing.assert_allclose(means[["mean", "low", "high"]].astype(float), expected)
    table = paired(rows)
    pairs = table[["first", "second"]].drop_duplicates()
    assert [*pairs.itertuples(index=False, name=None)] == [*combinations(ARMS, 2)]
    for row in table.dropna(subset="p").itertuples():
        first, second = (cells.accuracy[arm, row.structure] for arm in (row.first, row.second))
        assert (row.n, row.difference_points) == (9, pytest.approx(100 * (second - first)))
    assert paired(rows[rows.arm == "base"]).empty


def test_queries_of_few_documents_that_change_together_are_no_evidence():
    few = first_of(paired(judged(per_cluster=15, base="0" * 60, dapt="1" * 45 + "0" * 15)))
    assert few.p == 0.25 and few.high_points == 100  # three documents changed; clipped
    assert not few.differs
    many = first_of(paired(judged(per_cluster=3, base="0" * 60, dapt="1" * 60)))
    assert np.isnan(many.low_points)  # 20 products, each by 100
    assert many.differs and many.p < 0.001
    alone = paired(judged(per_cluster=10, base="110000000-", dapt="1011111111"))
    assert np.isnan(first_of(alone).low_points) and first_of(alone).difference_points == 70


def test_seeds_are_averaged_and_widen_intervals_unless_a_trained_arm_has_one():
    more = {"dapt_n": "1111110000", "dapt_nAt2": "1111111100", "open": "0001000000"}
    rows = judged(base="0001000000", **SEEDS, **more)
    means = {"dapt": [1, 1, 2 / 3, 1 / 3, *[0] * 6], "dapt-n": [*[1] * 6, 0.5, 0.5, 0, 0]}
    means = pd.DataFrame(means | dict.fromkeys(("base", "open"), [*[0] * 3, 1, *[0] * 6]))
    own, ends = first_of(spread(rows), arm="dapt"), share_interval(means.dapt, range(10))
    assert own.each == pytest.approx([0.2, 0.3, 0.4]) and own.sd_seeds == pytest.approx(0.1)
    assert own.low < ends[0] < own["mean"] < ends[1] < own.high
    table = paired(rows)
    for first, second in (("dapt", "dapt-n"), ("base", "dapt"), ("dapt", "open")):
        row, change = first_of(table, first=first, second=second), means[second] - means[first]
        low, high = cluster_interval(100 * change, range(10))
        assert row.difference_points == pytest.approx(100 * change.mean())
        assert row.low_points < low < high < row.high_points
    once = first_of(paired(rows[rows.arm != "dapt-n@2"]), first="dapt", second="dapt-n")
    change = 100 * (pd.Series([1] * 6 + [0] * 4) - means.dapt)
    assert once.low_points == pytest.approx(cluster_interval(change, range(10))[0])


def test_the_gain_beyond_prose_is_the_difference_of_two_gains():
    parts = (
        judged("natural", dapt="1000" * 9, dapt_n="1100" * 9),
        judged("tabular", dapt="0000" * 9, dapt_n="1100" * 9),
    )
    table = paired(pd.concat(parts)).set_index("structure")
    gains = table.difference_points[["tabular – natural", "tabular", "natural"]]
    assert gains.tolist() == pytest.approx([25, 50, 25]) and table.n["tabular – natural"] == 72
