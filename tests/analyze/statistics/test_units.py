"""Contrasts over units: t, exact sign flips and Holm; the exhibits come out of their values."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from lib.analyze.figures.plots import draw_units
from lib.analyze.statistics.units import answer, holm, over_units, summarize
from lib.core.paths import REPOSITORY

EXHIBIT = REPOSITORY / "figures" / "exhibit"


def levels_of(table: pd.DataFrame) -> list[str]:
    return [name for name in table.contrast.unique() if " - " not in name]


def test_the_replicates_exhibit_is_recomputed_from_its_estimates():
    each = pd.read_csv(EXHIBIT / "replicates" / "estimates.csv")
    stored = pd.read_csv(EXHIBIT / "replicates" / "summary.csv")
    primary = list(stored.contrast[stored.is_primary])
    summary = summarize(each, "replicate", primary, levels_of(each))
    pd.testing.assert_frame_equal(summary[list(stored)], stored, rtol=1e-12)
    text = answer(summary, "replicate")
    assert text.startswith("Over 12 replicates, found: dapt-n - dapt all -3.9 [-6.1, -1.7]; not")
    figure, drawn = draw_units(each, summary, "replicate", primary)
    assert len(drawn) == 36 and figure.get_supxlabel().startswith("Points")


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
    summary = summarize(pd.DataFrame({"contrast": ["a", "b"], "base": 1, "points": [3.0, 4.0]}),
                        "base", ["a"])
    assert summary.p_holm.isna().all()
    assert "found: nothing; not shown: a +3.0" in answer(summary, "base")
    assert np.isnan(over_units([np.nan])["estimate"])


def test_a_hypothesis_without_a_p_counts_in_the_family():
    assert list(holm(pd.Series([0.01, 0.04, 0.03]))) == pytest.approx([0.03, 0.06, 0.06])
    adjusted = holm(pd.Series([0.01, np.nan]))
    assert adjusted[0] == pytest.approx(0.02) and np.isnan(adjusted[1])


def test_the_added_texts_exhibit_has_the_same_p_after_correction():
    stored = pd.read_csv(EXHIBIT / "augment" / "hypotheses.csv")
    np.testing.assert_allclose(holm(stored.p), stored.p_holm, rtol=1e-12)


def test_an_unknown_primary_contrast_is_refused_with_the_known_ones():
    table = pd.DataFrame({"contrast": ["dapt all"], "base": [1], "points": [1.0]})
    with pytest.raises(ValueError, match="'dapt prose' is not a contrast; choose among dapt all"):
        summarize(table, "base", ["dapt prose"])


def test_the_null_is_rejected_about_as_often_as_it_should_be():
    draws = np.random.default_rng(2).normal(size=(600, 8))
    found = pd.DataFrame([over_units(row) for row in draws])
    assert 0.03 < (found.p <= 0.05).mean() < 0.075
    assert 0.03 < (found.p_flips <= 0.05).mean() < 0.075
