"""Slopes in the number of paraphrases, and arms on facts whose question was not trained on."""

import numpy as np
import pandas as pd
import pytest

from lib.analyze.statistics.units import summarize
from lib.controlled.analyze.augment import augmentations, hypotheses, slopes
from lib.controlled.analyze.figures import draw_augmentations
from tests.controlled.analyze.made_up import RAW, cell, diagonal

K = (1, 2, 4, 8, 16)


def arms_of(right: dict[tuple[int, int], int]) -> pd.DataFrame:
    """Return an arm per k in which `right` of 100 facts are correct, by k and base."""
    facts = [f"p{number % 10}/{number}" for number in range(100)]
    return pd.concat([pd.DataFrame({
        "arm": f"paraphrase-{k}", "seed": base, "structure": "tabular", "fact_id": facts,
        "correct": np.arange(100) < count}) for (k, base), count in right.items()])


def test_a_line_in_the_doublings_has_its_own_slope_whatever_other_arms_there_are():
    rows = arms_of({(k, base): start + slope * step
                    for base, (start, slope) in enumerate([(10, 3), (40, 7), (0, 20)])
                    for step, k in enumerate(K)})
    others = pd.concat([rows, rows.assign(arm="paraphrase-many"), rows.assign(arm="raw")])
    assert list(slopes(others).points) == pytest.approx([3, 7, 20])
    assert slopes(arms_of({(4, 1): 10})).points.isna().all() and slopes(RAW).empty


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
    assert len(table) == 6 * 4 and len(draw_augmentations(table)[0].axes) == 1


def test_the_hypotheses_are_the_slopes_and_each_transfer_on_facts_without_a_pair():
    rows = study()
    more = pd.concat([rows, diagonal(rows[rows.arm == "raw"], "paraphrase-4+pairs", correct=True)])
    each = hypotheses(more, ["pairs - raw-2x", "paraphrase-4+pairs - paraphrase-1"])
    table = summarize(each, "base", list(each.contrast.unique()))
    assert list(table.contrast) == [
        *(f"points per doubling of paraphrases, {name}"
          for name in ("natural", "entity-list", "tabular")),
        "pairs - raw-2x, facts without a pair",
        "paraphrase-4+pairs - paraphrase-1, facts without a pair"]
    assert table["mean"][3] == 0 and (table["mean"].drop(3) > 10).all()


def test_accuracy_without_a_pair_is_on_facts_that_no_arm_was_asked_about():
    rows = study()
    taught = rows.assign(correct=rows.correct.where(rows.arm != "pairs", rows.has_pair))
    table = augmentations(taught)
    row = cell(table, arm="pairs", structure="all")
    assert row.unpaired_percent == 0 and row.estimate > 40
