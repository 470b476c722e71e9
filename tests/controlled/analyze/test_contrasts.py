"""Contrasts within fact: pairs by hand, a known effect and missing rows."""

import numpy as np
import pandas as pd
import pytest

from lib.controlled.analyze.bases import OVER_BASES, estimated
from lib.controlled.analyze.contrasts import contrasts
from lib.controlled.analyze.rows import MEASURES, read_outcomes, within_fact
from lib.controlled.records import Outcome
from lib.core.errors import BadInput
from lib.core.files import write_records
from tests.controlled.analyze.made_up import cell, outcomes_of


def with_answers(*answers: str) -> pd.DataFrame:
    """Return a fact per product, two seeds; "10 11": natural right twice, tabular in the second."""
    rows = outcomes_of(len(answers), 2, (0, 0), structures=("natural", "tabular"))
    rows = rows[(rows.section == 0) & (rows.place == 0)]
    products = rows["product"].str.split().str[1].astype(int)
    keys = zip(products, rows.seed, rows.structure == "tabular", strict=True)
    return rows.assign(correct=[answers[product].split()[seed - 1][is_tabular] == "1"
                                for product, seed, is_tabular in keys])


HAND = with_answers("10 10", "11 10", "01 00", "10 11")


def row_of(rows: pd.DataFrame, structure: str = "tabular", measure: str = "correct"):
    return cell(contrasts(rows), structure=structure, measure=measure)


def test_a_contrast_by_hand():
    row = row_of(HAND)
    assert (row.n, row.clusters, row.bases, row.pairs, row.left_out) == (4, 4, 2, 8, 0)
    assert (row.only_reference, row.only_structure, row.interval) == (4, 1, OVER_BASES)
    assert (row.mean_reference, row.mean_structure, row.estimate) == (75, 37.5, -37.5)
    error = 12.5  # the bases' values are -25 and -50
    assert row.sd_bases == pytest.approx(error * 2**0.5)
    assert (row.low, row.high) == pytest.approx((-37.5 - 12.706 * error, -37.5 + 12.706 * error),
                                                abs=0.01)
    assert row.p == pytest.approx(2 * (0.5 - np.arctan(3) / np.pi))  # Cauchy: t with one degree


def test_with_one_base_there_is_an_estimate_and_nothing_is_found():
    row = row_of(HAND[HAND.seed == 1])
    assert row.estimate == pytest.approx(-25) and row.interval == "none: one base"
    assert np.isnan([row.low, row.p, row.p_holm, row.low_holm]).all() and not row.found


def test_a_row_without_partner_is_counted_and_not_used():
    is_lost = (HAND["product"] == "Arden 0") & (HAND.structure == "tabular") & (HAND.seed == 2)
    row = row_of(HAND[~is_lost])
    assert (row.pairs, row.left_out, row.only_reference) == (7, 1, 3)
    assert row.estimate == pytest.approx((-25 - 100 / 3) / 2)
    assert row.mean_structure - row.mean_reference == pytest.approx(row.estimate)


def test_a_known_risk_difference_is_found():
    rows = outcomes_of(20, 6, effects=(0, 0, -0.25), base=0.6, own_facts=True)
    row = row_of(rows)
    assert row.low < -25 < row.high < 0 and row.found and row.hypotheses == 2
    assert not row_of(rows, "entity-list").found


def test_nothing_varies_so_nothing_is_claimed():
    row = row_of(HAND.assign(correct=False))
    assert row.estimate == 0 and np.isnan([row.low, row.p]).all() and not row.found
    assert row.interval == "none: the bases do not differ"


def test_measures_count_where_they_apply():
    rows = outcomes_of(6)
    assert row_of(rows, measure="items").n == 6 * 3
    stored = row_of(rows, measure="stored")
    assert (stored.n, stored.left_out) == (6 * 6, 0)
    assert np.isnan(row_of(rows, measure="loglik").only_reference)
    unreached = MEASURES["unreached"].of(rows)
    assert unreached.isna().equals(rows.cloze_argmax.isna())
    assert unreached.sum() == (rows.cloze_argmax.eq(True) & ~rows.correct).sum()
    rows.loc[(rows.n_items > 1), "items_named"] = 1
    mean = row_of(rows, measure="items").mean_reference
    assert mean == pytest.approx(100 * np.mean([1 / 2, 1 / 3, 1 / 4]))


def test_no_pairs_give_no_number():
    pairs, _ = within_fact(HAND, MEASURES["correct"], "entity-list", "natural")
    found = estimated(pairs, 100)
    assert found["n"] == 0 and np.isnan(found["estimate"])


@pytest.mark.parametrize(("rows", "options", "message"), [
    (HAND, {"reference": "entity-list"}, "no outcome in 'entity-list'; it has natural, tabular"),
    (HAND.assign(arm="mixed"), {}, "none at all"),
    (HAND.assign(structure=["natural"] * 6 + ["tabular"] * 10), {}, "several rotations")])
def test_rows_that_cannot_be_compared_are_refused(rows, options, message):
    with pytest.raises(ValueError, match=message):
        contrasts(rows, **options)


def test_runs_are_read_by_name_or_all_together(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    with pytest.raises(BadInput, match="is missing: run .*02_run"):
        read_outcomes("s", [])
    rows = HAND[(HAND.rotation == 0) & (HAND.seed == 1)].to_dict("records")
    one = [Outcome(**row) for row in rows]
    write_records(tmp_path / "data/s/outcomes/raw-0-1.jsonl", one)
    assert len(read_outcomes("s", [])) == len(read_outcomes("s", ["raw-0-1"])) == 4
    with pytest.raises(BadInput, match="raw-0-2"):
        read_outcomes("s", ["raw-0-2"])
    write_records(tmp_path / "data/s/outcomes/raw-0-1.jsonl", [*one, one[0]])
    with pytest.raises(ValueError, match="twice"):
        read_outcomes("s", [])
