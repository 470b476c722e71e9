"""Figures, factors and interventions of the controlled experiment: what is drawn is what the tables say."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection

from lib.analyze.figures.style import save
from lib.analyze.statistics.seeds import WILSON
from lib.controlled.analyze.contrasts import contrasts, is_found
from lib.controlled.analyze.factors import (
    DISTANCE,
    FILLERS,
    KIND,
    LENGTH,
    PHRASINGS,
    SECTION,
    TABLE,
    WORDS,
    acquisition,
    factors,
    factors_for_reading,
    tokens_by_structure,
    tokens_for_reading,
)
from lib.controlled.analyze.figures import (
    draw_acquisition,
    draw_contrasts,
    draw_factors,
    draw_heat,
    draw_interventions,
    look,
)
from lib.controlled.analyze.interventions import (
    beside,
    beside_for_reading,
    interventions,
    interventions_for_reading,
    matched,
    role,
)
from lib.controlled.design.structures import STRUCTURES
from tests.controlled.analyze.test_contrasts import outcomes_of


def diagonal(rows: pd.DataFrame, arm: str, **changed) -> pd.DataFrame:
    """The runs that a diagonal arm has, one rotation a seed, under another name."""
    return rows[rows.rotation == (rows.seed - 1) % rows.rotation.nunique()].assign(arm=arm, **changed)


RAW = outcomes_of(12)
NORMALIZED = diagonal(RAW, "normalized", run_tokens=1500).assign(correct=lambda rows: rows.correct | (
    rows.structure == "tabular"))
ROWS = pd.concat([RAW, NORMALIZED, diagonal(RAW, "far-20", run_tokens=1200), diagonal(RAW, "far-5"),
                  *(RAW[RAW.rotation == 0].assign(arm=arm, structure="tabular") for arm in ("table-3x20", "table-9x5")),
                  diagonal(RAW, "planted-tabular", run_tokens=1100)], ignore_index=True)
GAINS, LEVELS = interventions(ROWS, draws=1999), factors(ROWS)


def cell(table: pd.DataFrame, **keys) -> pd.Series:
    for key, value in keys.items():
        table = table[table[key] == value]
    (row,) = table.itertuples()
    return row


def ends(axes) -> list[float]:
    return sorted({round(float(value), 4) for drawn in axes.collections if isinstance(drawn, LineCollection)
                   for segment in drawn.get_segments() for value in segment[:, 0]})


def test_gains_are_matched_in_the_same_rotation_and_seed():
    row = cell(GAINS, arm="normalized", structure="tabular")
    right = NORMALIZED[NORMALIZED.structure == "tabular"]
    before = RAW.merge(right[["fact_id", "rotation", "seed"]])
    assert row.gain_points == pytest.approx(100 * (1 - before.correct.mean()))
    assert (row.pairs, row.left_out, row.seeds, row.accuracy_arm) == (len(right), 0, 3, 100)
    assert row.tokens_added_percent == pytest.approx(50)
    assert row.points_per_percent == pytest.approx(row.gain_points / 50)
    assert cell(GAINS, arm="normalized", structure="natural").gain_points == 0
    assert np.isnan(cell(GAINS, arm="far-5", structure="all").points_per_percent)  # no token added
    assert cell(GAINS, arm="normalized", structure="all").family == GAINS.arm.nunique()
    assert is_found(row) and "+50.0%" in interventions_for_reading(GAINS).to_string()


def test_an_outcome_without_its_raw_run_is_counted():
    alone = pd.concat([RAW[RAW.seed == 1], NORMALIZED])
    pairs, left_out = matched(alone, "normalized")
    assert len(pairs) == 108 and left_out == 216
    assert "216 without raw" in interventions_for_reading(interventions(alone, draws=9)).to_string()


def test_epochs_count_as_tokens_and_few_tokens_have_no_ratio():
    rows = pd.concat([RAW, diagonal(RAW, "raw-2x"), diagonal(RAW, "prefix-name", run_tokens=1009).assign(correct=True)])
    table = interventions(rows, draws=9)
    twice, few = (cell(table, arm=arm, structure="all") for arm in ("raw-2x", "prefix-name"))
    assert twice.tokens_added_percent == pytest.approx(100) and twice.points_per_percent == 0
    assert few.tokens_added_percent == pytest.approx(0.9) and np.isnan(few.points_per_percent)


def test_the_share_in_the_questions_words_is_that_of_the_matched_facts():
    said = RAW.assign(as_asked=RAW.structure == "natural")
    table = interventions(pd.concat([said, diagonal(said, "mixed").assign(as_asked=True)]), draws=9)
    row, tabular = (cell(table, arm="mixed", structure=structure) for structure in ("all", "tabular"))
    assert row.as_asked_raw_percent == pytest.approx(100 / 3) and row.as_asked_arm_percent == 100
    assert tabular.as_asked_raw_percent == 0 and "33% → 100%" in interventions_for_reading(table).to_string()


def test_prose_is_matched_in_any_rotation_and_other_arms_in_their_own():
    prose = RAW[RAW.rotation == 0].assign(arm="prose", structure="natural")
    rows = pd.concat([RAW, NORMALIZED, prose, diagonal(RAW, "raw-2x"), NORMALIZED.assign(arm="mixed")])
    pairs, left_out = matched(rows, "normalized", "prose")
    assert len(pairs) == len(NORMALIZED) and left_out == 0 and "rotation" not in pairs
    table = beside(rows, draws=9)
    assert list(table.second) == ["mixed", "normalized"]
    assert list(table.tokens_added_percent) == pytest.approx([-25, 50])
    assert table.estimate[0] == pytest.approx(100 * (NORMALIZED.correct.mean() - diagonal(RAW, "").correct.mean()))
    assert table.estimate[1] == pytest.approx(100 * (NORMALIZED.correct.mean() - prose.correct.mean()))
    assert "prose → normalized" in beside_for_reading(table).to_string()
    assert beside(RAW).empty and beside_for_reading(beside(RAW)).empty


def test_roles():
    arms = ("mixed", "raw-2x", "planted-json", "far-20", "table-3x5", "low-context", "prose", "prefix-name")
    assert [role(arm)[0] for arm in arms] == ["i", "c", "c", "f", "f", "f", "f", "i"]


def test_levels_hold_what_they_say():
    lists = RAW[(RAW.n_items == 3) & (RAW.structure == "tabular")]
    row = cell(LEVELS, factor=LENGTH, level="3", structure="tabular")
    assert row.accuracy == pytest.approx(100 * lists.correct.mean()) and row.n == lists.fact_id.nunique()
    prose = RAW[(RAW.n_items == 3) & (RAW.structure == "natural")]
    assert row.against == "natural" and row.difference == pytest.approx(row.accuracy - 100 * prose.correct.mean())
    assert list(LEVELS.level[LEVELS.factor == LENGTH].unique()) == ["2", "3", "4"]
    assert set(LEVELS.level[LEVELS.factor == SECTION]) == {"1", "2", "3"}
    assert LEVELS.difference[LEVELS.factor == DISTANCE].isna().all()
    assert set(LEVELS.n[LEVELS.factor == KIND]) == {36}  # lists have no kind of their own
    far = cell(LEVELS, factor=FILLERS, level="20", structure="natural")
    assert far.against == "raw" and far.difference == 0
    assert list(LEVELS.level[LEVELS.factor == FILLERS].unique()) == ["0", "5", "20"]
    table = cell(LEVELS, factor=TABLE, level="3x20", structure="tabular")
    assert (table.n, table.n_difference) == (108, 36)
    assert "raw (n = 36)" in factors_for_reading(LEVELS).to_string()


def test_wordings_of_prose_are_levels_of_one_line():
    rows = outcomes_of(6, 1, (0, 0, 0.3), structures=("natural", "tabular", "prose-4"))
    several = factors(rows).query("factor == @PHRASINGS")
    assert list(several.level) == ["1", "4"] and set(several.structure) == {"natural"}
    means = 100 * rows.groupby("structure").correct.mean()
    assert list(several.difference)[1] == pytest.approx(means["prose-4"] - means["natural"])
    assert not (LEVELS.factor == PHRASINGS).any()


def test_prose_in_the_questions_words_stands_beside_other_prose():
    as_asked = RAW.structure.eq("natural") & RAW.fact_id.str.endswith("1")
    rows = RAW.assign(as_asked=as_asked, correct=RAW.correct & ~as_asked)
    table = factors(rows)
    first, second = table[table.factor == WORDS].itertuples()
    assert (first.level, first.accuracy, first.n) == ("the question's words", 0.0, as_asked.sum() / RAW.seed.nunique())
    assert second.accuracy == pytest.approx(100 * RAW[RAW.structure.eq("natural") & ~as_asked].correct.mean())
    assert not (LEVELS.factor == WORDS).any()


def test_tokens_are_compared_within_fact_and_averaged_over_the_seeds_tokenizers():
    table = tokens_by_structure(RAW.assign(span_tokens=RAW.span_tokens + (RAW.seed - 2)))
    assert list(table.tokens) == [10, 11, 12] and list(table.difference) == [0, 1, 2]
    assert "120%" in tokens_for_reading(table).to_string()


def test_the_forest_fills_what_is_found_and_draws_every_interval():
    table = contrasts(RAW, draws=199)
    figure, plotted = draw_contrasts(table)
    primary = table[table.measure == "correct"]
    axes = figure.axes[0]
    drawn = [*primary.low, *primary.high, *primary.gee_low, *primary.gee_high]
    assert set(np.round(drawn, 4)) <= set(ends(axes))
    filled = [line.get_markerfacecolor() != "white" for line in axes.lines if line.get_marker() in "os^"]
    assert filled == [is_found(row) for row in primary.itertuples()]
    assert plotted is table and not any(axes.get_title() for axes in figure.axes)


def test_interventions_are_drawn_against_their_tokens():
    _, right = draw_interventions(GAINS)[0].axes
    at = {text.get_text(): text.xy for text in right.texts}
    row = cell(GAINS, arm="normalized", structure="all")
    assert at["1"] == (row.tokens_added_percent, row.gain_points) and len(at) == 2  # factors are left out


def test_the_factors_panels_hold_every_interval():
    raised = LEVELS.assign(high=LEVELS.high.where(LEVELS.factor != KIND, 99.0))  # not those of the panel drawn last
    panels = [axes for axes in draw_factors(raised)[0].axes if axes.axison]
    assert len(panels) > 2 and all(axes.get_ylim()[1] >= 99.0 for axes in panels)


def test_heat_maps_say_interval_and_number():
    lists, tables, *_ = draw_heat(LEVELS)[0].axes
    row = cell(LEVELS, factor=LENGTH, level="2", structure="natural")
    said = {text.get_text() for text in lists.texts}
    assert f"{row.accuracy:.1f}\n[{row.low:.0f}, {row.high:.0f}]\nn = {row.n}" in said
    assert [label.get_text() for label in tables.get_yticklabels()] == ["3", "9"]
    assert [label.get_text() for label in tables.get_xticklabels()] == ["5", "20"]


def test_every_structure_has_a_look_of_its_own():
    looks = {tuple(str(look(name)[key]) for key in ("color", "marker", "linestyle")) for name in [*STRUCTURES, "all"]}
    assert len(looks) == len(STRUCTURES) + 1


def learned_of(rows: pd.DataFrame) -> pd.DataFrame:
    columns = ["arm", "rotation", "seed", "fact_id", "product", "structure", "question_loglik", "question_tokens"]
    return pd.concat([rows[columns].assign(epoch=epoch, question_argmax=(rows.correct & (epoch > 0)))
                      for epoch in (0, 5)])


def test_acquisition_starts_with_wilsons_band_and_ends_where_the_answers_are():
    table = acquisition(learned_of(RAW))
    start = cell(table, epoch=0, structure="natural", measure="likeliest")
    assert (start.estimate, start.interval) == (0, WILSON) and start.high > 0
    last = cell(table, epoch=5, structure="natural", measure="likeliest")
    assert last.estimate == pytest.approx(100 * RAW.correct[RAW.structure == "natural"].mean())
    line = next(line for line in draw_acquisition(table)[0].axes[0].lines if line.get_label() == "natural")
    assert list(line.get_ydata()) == [0, last.estimate]


@pytest.mark.parametrize("rows", [
    RAW[(RAW.rotation == 0) & (RAW.seed == 1)],  # one run alone
    outcomes_of(3, 1, (0,) * 6, structures=tuple(STRUCTURES)[:6]).assign(correct=False)])
def test_every_figure_is_made_for_any_runs(rows, tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    levels = factors(rows)
    drawn = {"contrasts": draw_contrasts(contrasts(rows, draws=9)), "interventions": draw_interventions(
        interventions(rows)), "factors": draw_factors(levels), "heat": draw_heat(levels),
        "acquisition": draw_acquisition(acquisition(learned_of(rows)))}
    for name, (figure, plotted) in drawn.items():
        figure.draw_without_rendering()
        assert isinstance(plotted, pd.DataFrame), name
    assert save("s", "heat", *drawn["heat"]).exists()
