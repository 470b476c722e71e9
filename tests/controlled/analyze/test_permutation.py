"""Permutations of the design, by enumeration; signs of products; the controls find what is there and nothing else."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from lib.controlled.analyze.controls import (
    known_effect,
    known_for_reading,
    planted_control,
    planted_for_reading,
    shuffled_control,
    shuffled_for_reading,
)
from lib.controlled.analyze.permutation import holm, permuted_p, sign_flip_p, square, studentized
from lib.controlled.analyze.rows import MEASURES, within_fact
from tests.controlled.analyze.test_contrasts import outcomes_of

CORRECT = MEASURES["correct"]


def relabelled(rows: pd.DataFrame, offsets: tuple[int, ...], cycle: tuple[str, ...]) -> pd.DataFrame:
    """`rows` as if product p had begun the cycle at offsets[p]."""
    numbers = rows["product"].str.split().str[1].astype(int)
    places = (numbers.map(dict(enumerate(offsets))) + rows.section + rows.rotation) % len(cycle)
    return rows.assign(structure=[cycle[place] for place in places])


def test_p_is_the_share_of_the_designs_own_permutations():
    rows = outcomes_of(5, 2, noise=3)
    cycle = ("natural", "entity-list", "tabular")
    own = (0, 1, 2, 0, 1)
    def statistic(of_it: pd.DataFrame) -> float:
        sums = of_it.groupby(["product", "structure"]).correct.sum().unstack()
        each = sums["tabular"] - sums["natural"]
        return abs(each.mean()) / each.std()

    drawn = [statistic(relabelled(rows, offsets, cycle)) for offsets in {*permutations(own)}]
    exact = np.mean(np.array(drawn) >= statistic(rows) - 1e-9)
    assert permuted_p(square(rows, CORRECT), "tabular", "natural", draws=20_000) == pytest.approx(exact, abs=0.015)


def test_the_effect_of_a_third_structure_does_not_hide_that_two_are_apart():
    rows = outcomes_of(30, effects=(0, 0.12, -0.5), base=0.6, noise=4)
    found = square(rows, CORRECT)
    totals = found.totals("entity-list", "natural")
    rng = np.random.default_rng(1)
    dealt = (rng.permuted(np.tile(found.offsets, (999, 1)), axis=1) - found.offsets) % 3
    sums = np.abs(totals[np.arange(30), dealt].sum(axis=1))
    by_sum_alone = (1 + (sums >= abs(totals[:, 0].sum())).sum()) / 1000
    assert permuted_p(found, "entity-list", "natural", draws=999) < 0.05 < by_sum_alone


def test_what_does_not_vary_between_products_has_a_size_of_its_own():
    assert list(studentized(np.array([[0, 0, 0], [1, 1, 1], [1, 0, -1]]))) == [0, np.inf, 0]
    assert studentized(np.array([3.0])) == np.inf


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.integers(3, 7), st.sampled_from([("natural", "tabular"), ("json", "natural", "csv")]))
def test_p_is_never_0_and_has_no_direction(noise, products, structures):
    rows = outcomes_of(products, 1, (0,) * len(structures), noise=noise, structures=structures)
    found = square(rows, CORRECT)
    p = permuted_p(found, structures[0], structures[1], draws=99)
    assert 0.01 <= p <= 1
    there, back = (found.differences(*names) for names in (structures[:2], structures[1::-1]))
    assert (there == -back).all() and p == permuted_p(found, structures[1], structures[0], draws=99)
    totals = found.totals(structures[0], structures[1])
    assert totals.sum(axis=1) == pytest.approx(0)  # over all shifts each value is added once and subtracted once
    assert totals[:, 0].sum() == pytest.approx(sum(
        sign * rows.correct[rows.structure == name].sum() for name, sign in zip(structures, (1, -1), strict=False)))


def test_the_other_direction_of_the_cycle_is_the_same_square():
    rows = outcomes_of(6, 1)
    turned = rows.assign(structure=[("natural", "entity-list", "tabular")[(int(row.product.split()[1]) - row.section
                                                                          + row.rotation) % 3]
                                    for row in rows.itertuples()])
    found = square(turned, CORRECT)
    pairs, _ = within_fact(turned, CORRECT, "tabular", "natural")
    own = found.pairs.assign(difference=found.differences("tabular", "natural"))
    both = own.merge(pairs, on=["fact_id", "seed"], suffixes=("", "_paired"))
    assert len(both) == len(own) == 54 and (both.difference == both.difference_paired).all()
    assert both.difference.abs().sum() > 0


@pytest.mark.parametrize("rows", [
    outcomes_of(4)[lambda rows: rows.rotation < 2], outcomes_of(4)[lambda rows: rows.rotation > 0],
    outcomes_of(4).assign(structure="tabular"), outcomes_of(4).iloc[:0]])
def test_what_is_no_square_is_refused(rows):
    with pytest.raises(ValueError, match="needs all of them"):
        square(rows, CORRECT)


def test_a_fact_that_misses_a_rotation_is_left_out():
    rows = outcomes_of(4)
    assert len(square(rows.drop(rows.index[0]), CORRECT).pairs) == 4 * 9 * 3 - 1
    with pytest.raises(ValueError, match="no fact and seed"):
        square(rows.assign(cloze_argmax=None), MEASURES["stored"])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
@settings(max_examples=5, deadline=None)  # the other side takes half a second
def test_holm_is_statsmodels_holm(values):
    assert holm(pd.Series([*values, np.nan])).to_list()[:-1] == pytest.approx(multipletests(values, method="holm")[1])
    assert holm(pd.Series([0.01, np.nan, 0.04, 0.03])).dropna().to_list() == pytest.approx([0.03, 0.06, 0.06])


def test_signs_of_products_by_hand():
    products = pd.Series(["a", "a", "b", "c"])
    assert sign_flip_p(pd.Series([0.5, 0.5, 1, 1]), products) == pytest.approx(2 / 8)
    assert sign_flip_p(pd.Series([1, -1, 0, 0]), products) == 1
    assert np.isnan(sign_flip_p(pd.Series([1.0]), pd.Series(["a"])))


def test_shuffled_labels_have_no_effect_although_the_true_ones_have():
    rows = outcomes_of(20, effects=(0, 0, -0.3))
    assert permuted_p(square(rows, CORRECT), "tabular", "natural", draws=199) == 1 / 200
    table = shuffled_control(rows, shuffles=200, draws=199)
    assert list(table.structure) == ["entity-list", "tabular"] and (table.low < 0).all() and (table.high > 0).all()
    assert (table.p_below <= 22).all() and (table.intervals_without_0 <= 22).all()
    assert (table.without_0_low <= table.intervals_without_0 / 200).all() and (table.without_0_high < 0.2).all()
    assert "of 200" in shuffled_for_reading(table).to_string()
    assert shuffled_control(rows[rows.rotation == 0]).empty


def test_an_effect_of_known_size_among_shuffled_labels_is_found_and_an_absent_one_is_not():
    rows = outcomes_of(24, effects=(0, -0.3), base=0.6, structures=("natural", "tabular"))
    for points, is_there in ((25.0, True), (0.0, False)):
        table = known_effect(rows, points=points, draws=199)
        assert list(table.structure) == ["tabular"]
        assert table.planted_points[0] == pytest.approx(points, abs=0.1)
        assert table.is_found[0] == is_there and table.is_held[0]
    assert known_effect(rows.assign(correct=True), draws=19).planted_points.eq(0).all()  # no wrong answer is left
    assert "+0.0 points" in known_for_reading(table).to_string() and known_effect(rows[rows.rotation == 0]).empty


def test_a_planted_effect_is_found_and_none_where_none_was_planted():
    raw = outcomes_of(20)
    diagonal = raw[raw.rotation == (raw.seed - 1) % 3].assign(arm="planted-tabular")
    better = diagonal.assign(correct=diagonal.correct | (diagonal.structure == "tabular"))
    row = planted_control(pd.concat([raw, better])).iloc[0]
    gain = 100 * (1 - diagonal.correct[diagonal.structure == "tabular"].mean())
    assert row.is_found and row.estimate == pytest.approx(gain) and row.gain_others == 0 and row.left_out == 0
    alone = planted_control(pd.concat([raw, better]).query("seed == 1"))  # no interval over seeds: not found
    assert alone.low[0] > 0 and not alone.is_found[0]
    same = planted_control(pd.concat([raw, diagonal]))
    assert not same.is_found[0] and same.estimate[0] == 0 and "NO" in planted_for_reading(same).to_string()
    assert planted_for_reading(planted_control(raw)).empty
