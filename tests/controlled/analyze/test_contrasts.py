"""Contrasts on the same fact: pairs by hand, a known effect, gains, and the exhibit."""

import numpy as np
import pandas as pd
import pytest

from lib.analyze.statistics.units import summarize
from lib.controlled.analyze.contrasts import contrasts, each_base, estimated, gains
from lib.controlled.analyze.figures import draw_contrasts, draw_gains
from lib.controlled.analyze.rows import MEASURES, pairs_of, read_outcomes
from lib.controlled.records import Outcome
from lib.core.errors import BadInput
from lib.core.files import write_records
from lib.core.paths import REPOSITORY
from tests.controlled.analyze.made_up import RAW, cell, diagonal, outcomes_of

EXHIBIT = REPOSITORY / "figures" / "exhibit" / "controlled"


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
    assert (row.only_reference, row.only_structure) == (4, 1)
    assert (row.mean_reference, row.mean_structure, row.estimate) == (75, 37.5, -37.5)
    error = 12.5  # the bases' values are -25 and -50
    assert row.sd_bases == pytest.approx(error * 2**0.5)
    assert (row.low, row.high) == pytest.approx((-37.5 - 12.706 * error, -37.5 + 12.706 * error),
                                                abs=0.01)
    assert row.p_flips == 0.5
    assert row.p == pytest.approx(2 * (0.5 - np.arctan(3) / np.pi))  # Cauchy: t with one degree


def test_a_row_without_partner_is_counted_and_not_used():
    is_lost = (HAND["product"] == "Arden 0") & (HAND.structure == "tabular") & (HAND.seed == 2)
    row = row_of(HAND[~is_lost])
    assert (row.pairs, row.left_out, row.only_reference) == (7, 1, 3)
    assert row.estimate == pytest.approx((-25 - 100 / 3) / 2)
    assert row.mean_structure - row.mean_reference == pytest.approx(row.estimate)


def test_a_known_risk_difference_is_found():
    rows = outcomes_of(20, 6, effects=(0, 0, -0.25), base=0.6, own_facts=True)
    row = row_of(rows)
    assert row.low < -25 < row.high < 0
    names = ["entity-list - natural", "tabular - natural"]
    summary = summarize(each_base(rows, names), "base", names)
    assert list(summary.p_holm <= 0.05) == [False, True]
    assert summary["mean"][1] == pytest.approx(row.estimate)


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


@pytest.mark.parametrize(("rows", "message"), [
    (HAND.assign(arm="mixed"), "no outcome"),
    (HAND.assign(structure=["natural"] * 6 + ["tabular"] * 10), "several rotations")])
def test_rows_that_cannot_be_compared_are_refused(rows, message):
    with pytest.raises(ValueError, match=message):
        contrasts(rows)


def test_runs_are_read_by_name_or_all_together(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    with pytest.raises(BadInput, match="is missing: run .*controlled_run"):
        read_outcomes("s", [])
    rows = HAND[(HAND.rotation == 0) & (HAND.seed == 1)].to_dict("records")
    one = [Outcome(**row) for row in rows]
    write_records(tmp_path / "data/s/outcomes/raw-0-1.jsonl", one)
    assert len(read_outcomes("s", [])) == len(read_outcomes("s", ["raw-0-1"])) == 4
    with pytest.raises((BadInput, FileNotFoundError), match="raw-0-2"):
        read_outcomes("s", ["raw-0-2"])
    write_records(tmp_path / "data/s/outcomes/raw-0-1.jsonl", [*one, one[0]])
    with pytest.raises(ValueError, match="twice"):
        read_outcomes("s", [])


def test_gains_are_matched_in_the_same_rotation_and_priced():
    better = diagonal(RAW, "normalized", trained_tokens=1500).assign(
        correct=lambda rows: rows.correct | (rows.structure == "tabular"))
    rows = pd.concat([RAW, better, diagonal(RAW, "mixed"), diagonal(RAW, "raw-2x")])
    table = gains(rows, primary=["normalized - raw-2x", "mixed"])
    assert list(dict.fromkeys(table.contrast[table.structure == "all"])) == [
        "normalized", "mixed", "raw-2x", "mixed - raw-2x", "normalized - raw-2x"]
    row = cell(table, contrast="normalized, tabular")
    assert row.estimate == pytest.approx(100 - row.accuracy_first) and row.accuracy_second == 100
    assert (row.tokens_added_percent, row.n, row.bases) == (50, 12 * 9, 3)
    assert cell(table, contrast="mixed - raw-2x").estimate == 0
    pairs = pairs_of(rows, "normalized")
    gain = cell(table, contrast="normalized").estimate
    assert estimated(pairs)["estimate"] == pytest.approx(gain)
    with pytest.raises(ValueError, match="'nothing' was not run: name an arm, two arms or two"):
        pairs_of(rows, "nothing")
    assert len(draw_gains(table)[0].axes) == 1
    assert len(draw_contrasts(contrasts(rows))[0].axes) == len(MEASURES)


def test_an_arm_with_pairs_is_compared_without_the_facts_it_was_asked_about():
    raw = RAW.assign(has_pair=RAW["product"].isin([f"Arden {n}" for n in range(6)]))
    table = gains(pd.concat([raw, diagonal(raw, "pairs", correct=True)]))
    row = cell(table, contrast="pairs")
    assert row.left_out == row.pairs == 6 * 9 * 3 and row.accuracy_second == 100


def test_the_exhibit_is_recomputed_from_the_values_of_its_bases():
    values = pd.read_csv(EXHIBIT / "bases.csv")
    names = {"gain_points": "estimate", "low_points": "low", "high_points": "high"}
    stored = pd.concat([pd.read_csv(EXHIBIT / f"{table}.csv").rename(columns=names)
                        for table in ("contrasts", "interventions", "beside")])
    stored = stored.set_index("contrast").loc[list(dict.fromkeys(values.contrast))]
    primary = list(stored.index[stored.family == "primary"])
    summary = summarize(values, "base", primary).set_index("contrast").loc[stored.index]
    assert len(primary) == 7
    for new, old in (("mean", "estimate"), ("low", "low"), ("high", "high"), ("sd", "sd_bases"),
                     ("p", "p"), ("p_holm", "p_holm"), ("bases", "bases")):
        np.testing.assert_allclose(summary[new], stored[old], rtol=1e-9, err_msg=old)
    assert list(summary.p_holm <= 0.05) == list(stored.found)
    written = pd.read_csv(EXHIBIT / "summary.csv").set_index("contrast").loc[stored.index]
    pd.testing.assert_frame_equal(summary, written, rtol=1e-9)
