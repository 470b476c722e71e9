"""Contrasts over units: t, exact sign flips and Holm."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from lib.analyze.statistics.units import holm, over_units


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


def test_a_hypothesis_without_a_p_counts_in_the_family():
    assert list(holm(pd.Series([0.01, 0.04, 0.03]))) == pytest.approx([0.03, 0.06, 0.06])
    adjusted = holm(pd.Series([0.01, np.nan]))
    assert adjusted[0] == pytest.approx(0.02) and np.isnan(adjusted[1])


def test_the_null_is_rejected_about_as_often_as_it_should_be():
    draws = np.random.default_rng(2).normal(size=(600, 8))
    found = pd.DataFrame([over_units(row) for row in draws])
    assert 0.03 < (found.p <= 0.05).mean() < 0.075
    assert 0.03 < (found.p_flips <= 0.05).mean() < 0.075
