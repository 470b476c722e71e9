"""Permutations of the design, by enumeration; sign flips; controls find planted effects only."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.controlled.analyze import formatted
from lib.controlled.analyze.controls import known_effect, planted_control, shuffled_control
from lib.controlled.analyze.permutation import permuted_p, sign_flip_p, square, studentized
from lib.controlled.analyze.rows import MEASURES, within_fact
from tests.controlled.analyze.made_up import diagonal, outcomes_of

CORRECT = MEASURES["correct"]
CYCLE = ("natural", "entity-list", "tabular")


def relabelled(rows: pd.DataFrame, offsets: tuple[int, ...], direction: int = 1) -> pd.DataFrame:
    """Return `rows` as if product p had begun the cycle at offsets[p]."""
    numbers = rows["product"].str.split().str[1].astype(int)
    places = (numbers.map(dict(enumerate(offsets))) + direction * rows.section + rows.rotation) % 3
    return rows.assign(structure=[CYCLE[place] for place in places])


def test_p_is_the_share_of_the_designs_own_permutations():
    rows = outcomes_of(5, 2, noise=3)

    def statistic(relabelled_rows: pd.DataFrame) -> float:
        sums = relabelled_rows.groupby(["product", "structure"]).correct.sum().unstack()
        each = sums["tabular"] - sums["natural"]
        return abs(each.mean()) / each.std()

    drawn = [statistic(relabelled(rows, offsets)) for offsets in {*permutations((0, 1, 2, 0, 1))}]
    exact = np.mean(np.array(drawn) >= statistic(rows) - 1e-9)
    found = permuted_p(square(rows, CORRECT), "tabular", "natural", draws=20_000)
    assert found == pytest.approx(exact, abs=0.015)


def test_the_effect_of_a_third_structure_does_not_hide_a_difference_of_two():
    found = square(outcomes_of(30, effects=(0, 0.12, -0.5), base=0.6, noise=4), CORRECT)
    totals = found.totals("entity-list", "natural")
    rng = np.random.default_rng(1)
    shifts = (rng.permuted(np.tile(found.offsets, (999, 1)), axis=1) - found.offsets) % 3
    sums = np.abs(totals[np.arange(30), shifts].sum(axis=1))
    by_sum_alone = (1 + (sums >= abs(totals[:, 0].sum())).sum()) / 1000
    assert permuted_p(found, "entity-list", "natural", draws=999) < 0.05 < by_sum_alone


def test_a_sum_without_variation_between_products_is_0_or_infinite():
    assert list(studentized(np.array([[0, 0, 0], [1, 1, 1], [1, 0, -1]]))) == [0, np.inf, 0]
    assert studentized(np.array([3.0])) == np.inf


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.integers(3, 7),
       st.sampled_from([("natural", "tabular"), ("json", "natural", "csv")]))
def test_p_is_never_0_and_has_no_direction(noise, products, structures):
    rows = outcomes_of(products, 1, (0,) * len(structures), noise=noise, structures=structures)
    found, (first, second) = square(rows, CORRECT), structures[:2]
    p = permuted_p(found, first, second, draws=99)
    assert 0.01 <= p <= 1 and p == permuted_p(found, second, first, draws=99)
    assert (found.differences(first, second) == -found.differences(second, first)).all()
    totals = found.totals(first, second)
    assert totals.sum(axis=1) == pytest.approx(0)  # each value is added once and subtracted once
    correct = rows.groupby("structure").correct.sum()
    assert totals[:, 0].sum() == pytest.approx(correct[first] - correct[second])


def test_the_other_direction_of_the_cycle_is_the_same_square():
    turned = relabelled(outcomes_of(6, 1), tuple(range(6)), direction=-1)
    found = square(turned, CORRECT)
    pairs, _ = within_fact(turned, CORRECT, "tabular", "natural")
    own = found.pairs.assign(difference=found.differences("tabular", "natural"))
    both = own.merge(pairs, on=["fact_id", "seed"], suffixes=("", "_paired"))
    assert len(both) == len(own) == 54 and (both.difference == both.difference_paired).all()
    assert both.difference.abs().sum() > 0


@pytest.mark.parametrize("rows", [
    outcomes_of(4)[lambda rows: rows.rotation < 2], outcomes_of(4)[lambda rows: rows.rotation > 0],
    outcomes_of(4).assign(structure="tabular"), outcomes_of(4).iloc[:0]])
def test_an_incomplete_square_is_refused(rows):
    with pytest.raises(ValueError, match="needs all of them"):
        square(rows, CORRECT)


def test_a_fact_without_one_rotation_is_left_out():
    rows = outcomes_of(4)
    assert len(square(rows.drop(rows.index[0]), CORRECT).pairs) == 4 * 9 * 3 - 1
    with pytest.raises(ValueError, match="no fact and seed"):
        square(rows.assign(cloze_argmax=None), MEASURES["stored"])


def test_sign_flips_of_products_by_hand():
    products = pd.Series(["a", "a", "b", "c"])
    assert sign_flip_p(pd.Series([0.5, 0.5, 1, 1]), products) == pytest.approx(2 / 8)
    assert sign_flip_p(pd.Series([1, -1, 0, 0]), products) == 1
    assert np.isnan(sign_flip_p(pd.Series([1.0]), pd.Series(["a"])))


def test_shuffled_labels_have_no_effect_although_the_true_ones_have():
    rows = outcomes_of(20, effects=(0, 0, -0.3))
    assert permuted_p(square(rows, CORRECT), "tabular", "natural", draws=199) == 1 / 200
    table = shuffled_control(rows, shuffles=200, draws=199)
    assert list(table.structure) == ["entity-list", "tabular"]
    assert (table.low < 0).all() and (table.high > 0).all()
    assert (table.p_below <= 22).all() and (table.intervals_without_0 <= 22).all()
    assert (table.without_0_low <= table.intervals_without_0 / 200).all()
    assert (table.without_0_high < 0.2).all()
    assert "of 200" in formatted.shuffled(table).to_string()
    assert shuffled_control(rows[rows.rotation == 0]).empty


def test_an_effect_of_known_size_is_found_and_an_absent_one_is_not():
    rows = outcomes_of(24, effects=(0, -0.3), base=0.6, structures=("natural", "tabular"))
    for points, is_there in ((25.0, True), (0.0, False)):
        table = known_effect(rows, points=points, draws=199)
        assert list(table.structure) == ["tabular"]
        assert table.planted_points[0] == pytest.approx(points, abs=0.1)
        assert table.is_found[0] == is_there and table.is_held[0]
    no_wrong_answer = known_effect(rows.assign(correct=True), draws=19)
    assert no_wrong_answer.planted_points.eq(0).all()
    assert "+0.0 points" in formatted.known(table).to_string()
    assert known_effect(rows[rows.rotation == 0]).empty


def test_a_planted_effect_is_found_and_none_where_none_was_planted():
    raw = outcomes_of(20)
    same = diagonal(raw, "planted-tabular")
    better = same.assign(correct=same.correct | (same.structure == "tabular"))
    row = planted_control(pd.concat([raw, better])).iloc[0]
    gain = 100 * (1 - same.correct[same.structure == "tabular"].mean())
    assert row.is_found and row.estimate == pytest.approx(gain)
    assert (row.gain_others, row.left_out) == (0, 0)
    alone = planted_control(pd.concat([raw, better]).query("seed == 1"))  # no interval over seeds
    assert alone.low[0] > 0 and not alone.is_found[0]
    none = planted_control(pd.concat([raw, same]))
    assert not none.is_found[0] and none.estimate[0] == 0
    assert "NO" in formatted.planted(none).to_string()
    assert formatted.planted(planted_control(raw)).empty
