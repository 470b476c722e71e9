"""Contrasts within fact: hand-worked pairs, a known risk difference, what is missing, and the model beside it."""

import numpy as np
import pandas as pd
import pytest

from lib.analyze.statistics.seeds import BOTH, QUERIES_ONLY, WILSON, both_sources
from lib.controlled.analyze.contrasts import contrasts, contrasts_for_reading, gee
from lib.controlled.analyze.rows import MEASURES, estimated, read_outcomes, share, within_fact
from lib.controlled.records import Outcome
from lib.core.files import write_records
from lib.core.paths import MissingInput
from lib.core.records import STRUCTURES


def outcomes_of(n_products: int = 12, seeds: int = 3, effects: tuple[float, ...] = (0, -0.1, -0.2), *, arm: str = "raw",
                base: float = 0.5, noise: int = 1, tokens: int = 1000,
                structures: tuple[str, ...] = STRUCTURES) -> pd.DataFrame:
    """Outcomes of an arm in all rotations: nine facts a product, with effects of product, fact, run and seed."""
    rng, k = np.random.default_rng(noise), len(structures)
    product, fact = rng.normal(0, 0.1, n_products), rng.normal(0, 0.1, (n_products, 9))
    run, seed = rng.normal(0, 0.03, (k, seeds)), rng.normal(0, 0.05, seeds)
    rows = []
    for p, number, r, s in np.ndindex(n_products, 9, k, seeds):
        section, place = divmod(number, 3)
        structure = (p + section + r) % k
        is_list = place == 2
        correct = bool(rng.random() < base + product[p] + fact[p, number] + run[r, s] + seed[s] + effects[structure])
        rows.append(Outcome(
            arm=arm, rotation=r, seed=s + 1, fact_id=f"Arden {p}/fact {number}", product=f"Arden {p}", section=section,
            attribute=f"fact {number}", kind=("number", "word")[(p + number) % 2], n_items=2 + p % 3 if is_list else 1,
            place=place, structure=structures[structure], answer="7", correct=correct,
            items_named=(2 + p % 3 if is_list else 1) if correct else 0, items_surplus=0, question_loglik=-2.0,
            question_tokens=4, question_argmax=correct, cloze_loglik=None if is_list else -1.0,
            cloze_tokens=None if is_list else 3, cloze_argmax=None if is_list else correct or rng.random() < 0.2,
            span_tokens=10 + structure, distance_tokens=20 + 30 * section, run_tokens=tokens).model_dump())
    return pd.DataFrame(rows)


def with_answers(answers: dict[tuple[str, int], str], section: int = 0) -> pd.DataFrame:
    """One fact a product in two structures and rotations; (product, seed) -> natural and tabular right."""
    rows = outcomes_of(len({product for product, _ in answers}), max(seed for _, seed in answers),
                       structures=("natural", "tabular"), effects=(0, 0))
    rows = rows[(rows.section == section) & (rows.place == 0)]
    rows["correct"] = [answers[row.product, row.seed][("natural", "tabular").index(row.structure)] == "1"
                       for row in rows.itertuples()]
    return rows


HAND = with_answers({("Arden 0", 1): "10", ("Arden 0", 2): "10", ("Arden 1", 1): "11", ("Arden 1", 2): "10",
                     ("Arden 2", 1): "01", ("Arden 2", 2): "00", ("Arden 3", 1): "10", ("Arden 3", 2): "11"})


def row_of(table: pd.DataFrame, structure: str = "tabular", measure: str = "correct") -> pd.Series:
    return table.set_index(["structure", "measure"]).loc[(structure, measure)]


def test_a_contrast_by_hand():
    row = row_of(contrasts(HAND, draws=99))
    assert (row.n, row.clusters, row.seeds, row.pairs, row.left_out, row.interval) == (4, 4, 2, 8, 0, BOTH)
    assert (row.only_reference, row.only_structure) == (4, 1)
    assert row.mean_reference == pytest.approx(75) and row.mean_structure == pytest.approx(37.5)
    assert row.estimate == pytest.approx(-37.5)
    facts = np.array([-1, -0.5, 0.5, -0.5])
    ends = both_sources(-37.5, 100 * facts.std(ddof=1) / 2, 4, [(100 * np.std([-0.25, -0.5], ddof=1), 2)])
    assert (row.low, row.high) == pytest.approx(ends)


def test_one_seed_says_that_the_interval_holds_queries_only():
    row = row_of(contrasts(HAND[HAND.seed == 1], draws=99))
    assert row.interval == QUERIES_ONLY and row.estimate == pytest.approx(-25)


def test_a_row_without_partner_is_counted_and_not_used():
    lost = HAND.drop(HAND.index[(HAND["product"] == "Arden 0") & (HAND.structure == "tabular") & (HAND.seed == 2)])
    row = row_of(contrasts(lost, draws=99))
    assert (row.pairs, row.left_out, row.only_reference) == (7, 1, 3) and row.estimate == pytest.approx(-200 / 7)
    assert row.p_note == ""  # what the permutation needs is whole in the same seven pairs


def test_the_model_agrees_with_pairs_where_nothing_is_missing():
    rows = outcomes_of(20)
    table = contrasts(rows, draws=99)
    for structure in ("entity-list", "tabular"):
        row = row_of(table, structure)
        assert row.gee_points == pytest.approx(row.estimate) and row.gee_low < row.gee_points < row.gee_high
        assert row.gee_or_low < row.gee_odds_ratio < row.gee_or_high < 1.2 and row.gee_note == ""
    assert row_of(table).family == 2 and (table.p_holm >= table.p).all()


def test_an_empty_cell_has_points_but_no_odds_ratio():
    rows = outcomes_of(8)
    rows.loc[rows.structure == "tabular", "correct"] = False
    found = gee(rows, list(STRUCTURES))
    assert "structure tabular: 0 of 216 correct" in found["tabular"]["gee_note"]
    assert found["tabular"]["gee_points"] < 0 and "gee_odds_ratio" not in found["tabular"]
    assert found["entity-list"]["gee_odds_ratio"] > 0
    assert "no bound" in contrasts_for_reading(contrasts(rows, draws=99)).to_string()


def test_a_known_risk_difference_is_found():
    row = row_of(contrasts(outcomes_of(60, effects=(0, 0, -0.15), base=0.6), draws=999))
    assert row.low < -15 < row.high < 0 and row.p_holm < 0.01


def test_nothing_varies_so_nothing_is_claimed():
    row = row_of(contrasts(HAND.assign(correct=False), draws=99))
    assert row.estimate == 0 and np.isnan(row.low) and row.p == 1 and "nothing varies" in row.gee_note
    assert share(HAND.assign(correct=False))["interval"] == WILSON


def test_measures_count_where_they_apply():
    rows = outcomes_of(6)
    table = contrasts(rows, draws=99)
    assert row_of(table, measure="items").n == 6 * 3 and row_of(table, measure="stored").n == 6 * 6
    assert row_of(table, measure="stored").left_out == 0 and np.isnan(row_of(table, measure="loglik").only_reference)
    unreached = MEASURES["unreached"].of(rows)
    assert unreached.isna().equals(rows.cloze_argmax.isna())
    assert unreached.sum() == (rows.cloze_argmax.eq(True) & ~rows.correct).sum()
    rows.loc[(rows.n_items > 1), "items_named"] = 1
    assert row_of(contrasts(rows, draws=9), measure="items").mean_reference == pytest.approx(100 * np.mean(
        [1 / 2, 1 / 3, 1 / 4]))


def test_no_pairs_give_no_number():
    found = estimated(within_fact(HAND, MEASURES["correct"], "entity-list", "natural")[0], 100)
    assert found["n"] == 0 and np.isnan(found["estimate"])


@pytest.mark.parametrize(("rows", "options", "said"), [
    (HAND, {"reference": "entity-list"}, "no outcome in 'entity-list'; it has natural, tabular"),
    (HAND, {"arm": "mixed"}, "none at all"),
    (HAND.assign(structure=["natural"] * 6 + ["tabular"] * 10), {}, "several rotations")])
def test_what_cannot_be_compared_is_refused(rows, options, said):
    with pytest.raises(ValueError, match=said):
        contrasts(rows, draws=9, **options)


def test_runs_are_read_by_name_or_all_together(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    with pytest.raises(MissingInput, match="is missing: run 02_run"):
        read_outcomes("s", [])
    one = [Outcome(**row) for row in HAND[(HAND.rotation == 0) & (HAND.seed == 1)].to_dict("records")]
    write_records(tmp_path / "data/s/outcomes/raw-0-1.jsonl", one)
    assert len(read_outcomes("s", [])) == len(read_outcomes("s", ["raw-0-1"])) == 4
    with pytest.raises(MissingInput, match="raw-0-2"):
        read_outcomes("s", ["raw-0-2"])
    write_records(tmp_path / "data/s/outcomes/raw-0-1.jsonl", [*one, one[0]])
    with pytest.raises(ValueError, match="stands twice"):
        read_outcomes("s", [])
