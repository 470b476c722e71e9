"""Slopes in the number of paraphrases, and arms on facts whose question was not trained on."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.controlled.analyze.augment import (
    augmentations,
    findings,
    hypotheses,
    slopes,
)
from lib.controlled.analyze.bases import over_bases
from lib.controlled.analyze.figures import draw_augmentations
from lib.controlled.analyze.rows import matched
from tests.controlled.analyze.made_up import RAW, cell, diagonal

K = (1, 2, 4, 8, 16)


def arms_of(right: dict[tuple[int, int], int]) -> pd.DataFrame:
    """Return an arm per k in which `right` of 100 facts are correct, by k and base."""
    facts = [f"p{number % 10}/{number}" for number in range(100)]
    return pd.concat([pd.DataFrame({
        "arm": f"paraphrase-{k}", "seed": base, "structure": "tabular", "fact_id": facts,
        "correct": np.arange(100) < count}) for (k, base), count in right.items()])


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=2, max_size=4))
def test_a_line_in_the_doublings_has_its_own_slope(lines):
    rows = arms_of({(k, base): start + slope * step for base, (start, slope) in enumerate(lines)
                    for step, k in enumerate(K)})
    table = slopes(rows)
    assert list(table.structure) == ["tabular", "all"]
    expected = over_bases(pd.Series([slope for _, slope in lines], dtype=float))
    for row in table.itertuples():
        assert row.each == pytest.approx([slope for _, slope in lines], abs=1e-9)
        assert row.estimate == pytest.approx(expected["estimate"], abs=1e-9)
        assert (row.arms, row.bases, row.n) == (5, len(lines), 100)
        if expected["interval"] == "bases":
            assert (row.low, row.p) == pytest.approx((expected["low"], expected["p"]), abs=1e-6)


def test_one_arm_or_one_base_has_no_interval():
    table = slopes(arms_of({(4, 1): 10, (4, 2): 20}))
    assert table.estimate.isna().all() and (table.interval == "none: no rows").all()
    alone = slopes(arms_of({(1, 1): 10, (2, 1): 13}))
    assert list(alone.estimate) == pytest.approx([3, 3]) and alone.p.isna().all()
    assert list(slopes(RAW).structure) == ["all"] and slopes(RAW).estimate.isna().all()


def test_other_arms_and_names_are_left_out():
    rows = arms_of({(1, 1): 10, (2, 1): 13})
    others = pd.concat([rows, rows.assign(arm="paraphrase-many"), rows.assign(arm="raw")])
    pd.testing.assert_frame_equal(slopes(rows), slopes(others))


def test_only_facts_without_a_pair_are_compared():
    is_pair = RAW.fact_id.str.endswith(("1", "2"))
    raw = RAW.assign(has_pair=is_pair)
    twice, more = diagonal(raw, "raw-2x"), diagonal(raw, "permuted-2+pairs", correct=True)
    pairs, left_out = matched(pd.concat([raw, twice, more]), "permuted-2+pairs", "raw-2x")
    same = twice[~twice.fact_id.str.endswith(("1", "2"))]
    assert pairs.fact_id.nunique() == same.fact_id.nunique() < twice.fact_id.nunique()
    assert left_out == len(more) - len(pairs) > 0 and pairs.second.eq(1).all()
    assert pairs.difference.mean() == pytest.approx(1 - same.correct.mean())
    assert matched(pd.concat([raw, twice]), "raw-2x")[1] == 0


def study() -> pd.DataFrame:
    """Return raw, raw-2x, pairs and three numbers of paraphrases, the last one always right."""
    raw = RAW.assign(has_pair=RAW["product"].isin([f"Arden {n}" for n in range(6)]))
    return pd.concat([raw, diagonal(raw, "raw-2x"), diagonal(raw, "pairs", retained=0.5),
                      diagonal(raw, "paraphrase-1"), diagonal(raw, "paraphrase-2"),
                      diagonal(raw, "paraphrase-4", correct=True, trained_tokens=5000)])


def test_an_arms_gain_and_price_are_those_of_its_runs():
    table = augmentations(study())
    row = cell(table, arm="paraphrase-4", structure="all")
    raw = cell(table, arm="raw-2x", structure="all")
    assert (row.estimate, row.trained_tokens) == (100, 5000)
    assert row.gain_points == pytest.approx(100 - raw.estimate) and raw.gain_points == 0
    assert cell(table, arm="pairs", structure="tabular").retained_percent == 50
    assert len(table) == 6 * 4


def test_the_hypotheses_are_one_family():
    table = hypotheses(study())
    assert list(table.contrast) == [
        *(f"points per doubling of paraphrases, {name}"
          for name in ("natural", "entity-list", "tabular")),
        "pairs - raw-2x, facts without a pair"]
    assert (table.hypotheses == 4).all() and table.estimate.iloc[3] == 0
    assert table.found.dtype == bool and not table.found.iloc[3]
    assert (table.estimate.iloc[:3] > 10).all()


def test_each_transfer_named_by_the_study_is_a_hypothesis():
    rows = study()
    more = pd.concat([rows, diagonal(rows[rows.arm == "raw"], "paraphrase-4+pairs", correct=True)])
    table = hypotheses(more, ["pairs - raw-2x", "paraphrase-4+pairs - paraphrase-1"])
    assert (table.hypotheses == 5).all() and table.estimate.iloc[4] > 10
    assert table.contrast.iloc[4] == "paraphrase-4+pairs - paraphrase-1, facts without a pair"
    assert table.n.iloc[4] < table.n.iloc[0]  # only the facts that have no pair


def test_the_best_arm_is_chosen_on_facts_that_no_arm_was_asked_about():
    rows = study()
    taught = rows.assign(correct=rows.correct.where(rows.arm != "pairs", rows.has_pair))
    table = augmentations(taught)
    row = cell(table, arm="pairs", structure="all")
    assert row.unpaired_percent == 0 and row.estimate > 40
    assert "structure is paraphrase-4" in findings(hypotheses(taught), table, 80.0)


def test_the_findings_name_the_best_arm_and_its_price():
    rows = study()
    text = findings(hypotheses(rows), augmentations(rows), 80.0)
    assert "the best arm in its worst structure is paraphrase-4: natural 100.0" in text
    assert "every structure is reached" in text and "the best of 6 arms" in text
    assert "reads 5,000 in training and still answers 100% of" in text and "nan" not in text
    assert text.count("found") == 2 and text.count("not shown") == 1
    assert "nothing is concluded (the bases do not differ)" in text
    few = rows[rows.arm != "paraphrase-4"]
    assert "every structure is not reached" in findings(hypotheses(few), augmentations(few), 80.0)
    figure, _ = draw_augmentations(augmentations(rows))
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == ["1", "2", "4"]
