"""Estimates over bases: by hand, over any values, and Holm's family as the study names it."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_1samp
from statsmodels.stats.multitest import multipletests

from lib.controlled.analyze.bases import (
    EXPLORATORY,
    PRIMARY,
    decided,
    each_base,
    estimated,
    over_bases,
    share,
)
from lib.controlled.analyze.contrasts import contrasts
from lib.controlled.analyze.interventions import arm_pairs, interventions
from lib.controlled.analyze.rows import pairs_of
from tests.controlled.analyze.made_up import PROSE, RAW, ROWS, cell, diagonal, outcomes_of

POINTS = st.floats(-50, 50).map(lambda value: round(value, 3))


def table_of(values: list[list[float]]) -> pd.DataFrame:
    return pd.DataFrame([{"contrast": f"arm {number}", **over_bases(pd.Series(each))}
                         for number, each in enumerate(values)])


@settings(deadline=None)
@given(st.lists(POINTS, min_size=2, max_size=12))
def test_interval_and_p_are_students_and_agree(values):
    found = over_bases(pd.Series(values))
    if np.ptp(values) == 0:
        assert np.isnan([found["low"], found["p"]]).all()
        assert found["interval"] == "none: the bases do not differ"
        return
    assert found["p"] == pytest.approx(ttest_1samp(values, 0).pvalue)
    assert found["low"] <= found["estimate"] <= found["high"]
    assert (found["p"] <= 0.05) == (found["low"] >= 0 or found["high"] <= 0)


def test_without_a_second_base_there_is_neither_interval_nor_p():
    for values, why in (([3.0], "one base"), ([], "no rows")):
        found = over_bases(pd.Series(values, dtype=float))
        assert np.isnan([found["low"], found["high"], found["p"], found["sd_bases"]]).all()
        assert found["interval"] == f"none: {why}"


def test_a_base_counts_once_whatever_its_number_of_pairs():
    pairs = pd.DataFrame({"seed": [1, 1, 1, 2], "difference": [1.0, 1, 1, 0],
                          "fact_id": list("abcd"), "product": list("ppqq")})
    found = estimated(pairs)
    assert (found["estimate"], found["n"], found["clusters"], found["pairs"]) == (50, 4, 2, 4)
    assert found["sd_bases"] == pytest.approx(100 * 0.5**0.5)
    assert share(pairs, "difference")["high"] == 100  # clipped


@settings(max_examples=20, deadline=None)
@given(st.lists(st.lists(POINTS, min_size=4, max_size=4), min_size=1, max_size=7))
def test_found_is_holms_decision_and_that_of_the_interval_at_its_step(values):
    table = decided(table_of(values), ["one"] * len(values))
    filled = table.p.fillna(1)
    rejected, adjusted, *_ = multipletests(filled, 0.05, "holm")
    assert list(table.found) == list(rejected)
    assert table.p_holm.fillna(1).to_numpy() == pytest.approx(adjusted)
    apart = (table.low_holm > 0) | (table.high_holm < 0)
    assert apart[table.found].all() and (table.hypotheses == len(values)).all()
    for row in table[table.p.notna()].itertuples():
        assert row.low_holm <= row.low + 1e-9 and row.high_holm >= row.high - 1e-9
    assert not table.found[table.p.isna()].any() and table.p_holm[table.p.isna()].isna().all()


@settings(max_examples=20, deadline=None)
@given(st.lists(st.lists(POINTS, min_size=5, max_size=5), min_size=2, max_size=6),
       st.data())
def test_holm_runs_over_exactly_the_primary_hypotheses(values, data):
    table = table_of(values)
    names = data.draw(st.lists(st.sampled_from(list(table.contrast)), min_size=1, unique=True))
    primary = dict(zip(table.contrast, table.p, strict=True))
    primary = {name: primary[name] for name in names} | {"elsewhere": 0.5}
    found = decided(table, ["one"] * len(table), primary)
    is_primary = found.contrast.isin(names)
    alone = decided(table[is_primary], ["one"] * is_primary.sum(),
                    dict(primary))  # the same, whatever else is in the table
    pd.testing.assert_frame_equal(found[is_primary].reset_index(drop=True), alone)
    assert (found.family[is_primary] == PRIMARY).all()
    assert (found.hypotheses[is_primary] == len(names) + 1).all()
    others = found[~is_primary]
    assert (others.family == EXPLORATORY).all() and not others.found.any()
    assert others.p_holm.isna().all() and others.low_holm.isna().all()


def test_one_family_spans_the_tables():
    rows = pd.concat([ROWS, diagonal(RAW, "raw-2x"), diagonal(RAW, "mixed", correct=True), PROSE])
    primary = ["tabular - natural", "mixed", "mixed - raw-2x", "mixed - prose"]
    tables = [contrasts(rows, primary=primary), interventions(rows, primary=primary),
              arm_pairs(rows, primary=primary)]
    found = pd.concat(tables)
    own = found[found.family == PRIMARY].set_index("contrast")
    assert sorted(own.index) == sorted(primary) and (own.hypotheses == 4).all()
    _, adjusted, *_ = multipletests(own.p.fillna(1), 0.05, "holm")
    assert own.p_holm.dropna().to_numpy() == pytest.approx(adjusted[own.p.notna()])
    others = found[found.family != PRIMARY]
    assert (others.family == EXPLORATORY).all() and others.p.notna().any()
    assert not others.found.any()


def test_each_base_has_a_row_and_their_mean_is_the_estimate():
    names = ["tabular - natural", "normalized"]
    table = each_base(ROWS, names)
    assert list(table.groupby("contrast", sort=False).size()) == [3, 3]
    estimates = [cell(contrasts(ROWS), contrast=names[0]).estimate,
                 cell(interventions(ROWS), contrast=names[1]).gain_points]
    means = table.groupby("contrast", sort=False).points.mean()
    assert list(means) == pytest.approx(estimates)


@pytest.mark.parametrize("name", ["json - natural", "mixed", "raw", "normalized - mixed", ""])
def test_a_contrast_that_was_not_run_is_refused(name):
    with pytest.raises(ValueError, match="was not run: name an arm"):
        pairs_of(ROWS, name)
    with pytest.raises(ValueError, match="was not run"):
        contrasts(ROWS, primary=[name])


def test_facts_of_their_own_give_the_numbers_of_the_same_facts():
    shared = outcomes_of(12, noise=2)
    mine = outcomes_of(12, noise=2, own_facts=True)
    assert mine.fact_id.nunique() == 3 * shared.fact_id.nunique()
    for function in (contrasts, interventions):
        both = [function(pd.concat([rows, diagonal(rows, "mixed", correct=True)])).drop(
            columns=["n", "clusters"]) for rows in (shared, mine)]
        pd.testing.assert_frame_equal(*both)
