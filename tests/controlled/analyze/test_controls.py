"""Controls: shuffled labels have no effect, planted effects are found by the rule for all."""

import numpy as np
import pandas as pd
import pytest

from lib.controlled.analyze import formatted
from lib.controlled.analyze.contrasts import contrasts
from lib.controlled.analyze.controls import (
    known_effect,
    planted_control,
    shuffled_control,
    swapped,
)
from lib.controlled.analyze.rows import pairs_of
from tests.controlled.analyze.made_up import cell, diagonal, outcomes_of

MANY = outcomes_of(6, 8, (0, 0, -0.3), base=0.6, own_facts=True)


def test_labels_are_exchanged_by_product_within_base():
    pairs = pairs_of(MANY, "tabular - natural")
    found = swapped(pairs, np.random.default_rng(1))
    assert (found.difference == found.second - found["first"]).all()
    is_same = (found["first"] == pairs["first"]) & (found.second == pairs.second)
    is_turned = (found["first"] == pairs.second) & (found.second == pairs["first"])
    whole = pd.DataFrame({"same": is_same, "turned": is_turned}).groupby(
        [pairs.seed, pairs["product"]]).all()
    assert (whole.same | whole.turned).all() and 0.2 < (~whole.same).mean() < 0.8


def test_shuffled_labels_have_no_effect_although_the_true_ones_have():
    assert cell(contrasts(MANY), contrast="tabular - natural").found
    table = shuffled_control(MANY, shuffles=2000)
    assert list(table.structure) == ["entity-list", "tabular"]
    assert (table.p_below_low < 0.05).all() and (table.p_below_high > 0.05).all()
    assert (table.p_below_low <= table.p_below / table.shuffles).all()
    assert "of 2000" in formatted.shuffled(table).to_string()
    assert shuffled_control(MANY[MANY.seed == 1]).empty
    assert shuffled_control(MANY[MANY.rotation == 0]).empty


def test_an_effect_of_known_size_is_found_and_an_absent_one_is_not():
    for points, is_there in ((25.0, True), (0.0, False)):
        table = known_effect(MANY, points=points)
        assert list(table.structure) == ["entity-list", "tabular"]
        assert list(table.planted_points) == pytest.approx([points] * 2, abs=0.2)
        assert (table.found == is_there).all() and table.is_held.all()
    assert "+0.0 points" in formatted.known(table).to_string()
    assert known_effect(MANY.assign(correct=True)).planted_points.eq(0).all()
    assert known_effect(MANY[MANY.seed == 1]).empty


def with_planted(size: float) -> pd.DataFrame:
    """Return outcomes with an arm in which a share `size` of wrong answers in tables is right."""
    same = diagonal(MANY, "planted-tabular")
    is_new = np.random.default_rng(3).random(len(same)) < size
    return pd.concat([MANY, same.assign(
        correct=same.correct | ((same.structure == "tabular") & is_new)),
        diagonal(MANY, "mixed", correct=True)])


def test_a_planted_effect_is_found_and_none_where_none_was_planted():
    rows = with_planted(0.5)
    row = planted_control(rows).iloc[0]
    assert row.found and row.gain_others == 0
    assert row.estimate == pytest.approx(row.gain_planted) and row.low > 0
    assert (row.bases, row.left_out, row.hypotheses) == (8, 0, 1)
    none = planted_control(with_planted(0))
    assert not none.found[0] and none.estimate[0] == 0
    assert "the bases do not differ" in formatted.planted(none).to_string()
    alone = planted_control(rows[rows.seed == 1])
    assert not alone.found[0] and alone.interval[0] == "none: one base"
    assert formatted.planted(planted_control(MANY)).empty


def test_controls_are_further_hypotheses_of_the_primary_family():
    primary = ["mixed", "tabular - natural"]
    rows = with_planted(0.5)
    planted, known = planted_control(rows, primary=primary), known_effect(rows, primary=primary)
    assert list(planted.hypotheses) == [3] and list(known.hypotheses) == [4, 4]
    assert planted.p_holm[0] >= planted.p[0]


def test_an_effect_in_the_wrong_direction_is_not_found():
    same = diagonal(MANY, "planted-tabular")
    worse = same.assign(correct=same.correct & (same.structure != "tabular"))
    row = planted_control(pd.concat([MANY, worse])).iloc[0]
    assert row.p_holm < 0.05 and row.high_holm < 0 and not row.found
