"""Figures of the controlled experiment draw what the tables contain."""

import pandas as pd
import pytest

from lib.analyze.figures.style import save
from lib.controlled.analyze.bases import each_base
from lib.controlled.analyze.contrasts import contrasts
from lib.controlled.analyze.factors import KIND, acquisition, factors
from lib.controlled.analyze.figures import (
    draw_acquisition,
    draw_bases,
    draw_contrasts,
    draw_factors,
    draw_interventions,
    look,
)
from lib.controlled.analyze.interventions import interventions
from lib.controlled.design.structures import STRUCTURES
from tests.controlled.analyze.made_up import RAW, cell, outcomes_of
from tests.controlled.analyze.test_factors import GAINS, LEVELS


def ends(axes) -> set[float]:
    return {round(float(value), 4) for drawn in axes.collections
            for segment in drawn.get_segments() for value in segment[:, 0]}


def test_the_forest_fills_found_contrasts_and_draws_every_interval():
    table = contrasts(RAW)
    figure, plotted = draw_contrasts(table)
    primary, axes = table[table.measure == "correct"], figure.axes[0]
    drawn = [*primary.low, *primary.high]
    assert {round(value, 4) for value in drawn} <= ends(axes)
    filled = [line.get_markerfacecolor() != "white" for line in axes.lines
              if line.get_marker() in ("o", "s", "^")]
    assert filled == list(primary.found)
    assert plotted is table and not any(axes.get_title() for axes in figure.axes)


def test_interventions_are_drawn_against_their_tokens():
    _, right = draw_interventions(GAINS)[0].axes
    at = {text.get_text(): text.xy for text in right.texts}
    row = cell(GAINS, arm="normalized", structure="all")
    assert at["1"] == (row.tokens_added_percent, row.gain_points)
    assert len(at) == 2  # factors are left out


def test_the_factors_panels_contain_every_interval():
    raised = LEVELS.assign(high=LEVELS.high.where(LEVELS.factor != KIND, 99.0))
    panels = [axes for axes in draw_factors(raised)[0].axes if axes.axison]
    assert len(panels) > 2 and all(axes.get_ylim()[1] >= 99.0 for axes in panels)


def test_every_base_is_a_cross_and_their_interval_is_drawn():
    table = each_base(RAW, ["entity-list - natural", "tabular - natural"])
    axes, = draw_bases(table)[0].axes
    crosses = [line for line in axes.lines if line.get_marker() == "x"]
    drawn = [float(value) for line in crosses for value in line.get_xdata()]
    assert drawn == list(table.points) and len(drawn) == 6
    known = contrasts(RAW).query("measure == 'correct'")
    assert {round(value, 4) for value in [*known.low, *known.high]} <= ends(axes)


def test_every_structure_has_its_own_look():
    looks = {tuple(map(str, look(name).values())) for name in [*STRUCTURES, "all"]}
    assert len(looks) == len(STRUCTURES) + 1


def learned_of(rows: pd.DataFrame) -> pd.DataFrame:
    columns = ["arm", "rotation", "seed", "fact_id", "product", "structure", "question_loglik",
               "question_tokens"]
    return pd.concat([rows[columns].assign(epoch=epoch, question_argmax=rows.correct & (epoch > 0))
                      for epoch in (0, 5)])


def test_acquisition_starts_without_a_band_and_ends_at_the_answers():
    table = acquisition(learned_of(RAW))
    start, last = (cell(table, epoch=epoch, structure="natural", measure="likeliest")
                   for epoch in (0, 5))
    assert (start.estimate, start.interval) == (0, "none: the bases do not differ")
    assert last.estimate == pytest.approx(100 * RAW.correct[RAW.structure == "natural"].mean())
    lines = draw_acquisition(table)[0].axes[0].lines
    line = next(line for line in lines if line.get_label() == "natural")
    assert list(line.get_ydata()) == [0, last.estimate]


@pytest.mark.parametrize("rows", [
    RAW[(RAW.rotation == 0) & (RAW.seed == 1)],  # one run alone
    outcomes_of(3, 1, (0,) * 6, structures=tuple(STRUCTURES)[:6]).assign(correct=False)])
def test_every_figure_is_made_for_any_runs(rows, tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    levels = factors(rows)
    drawn = {"contrasts": draw_contrasts(contrasts(rows)),
             "interventions": draw_interventions(interventions(rows)),
             "factors": draw_factors(levels), "bases": draw_bases(each_base(rows, [])),
             "acquisition": draw_acquisition(acquisition(learned_of(rows)))}
    for name, (figure, plotted) in drawn.items():
        figure.draw_without_rendering()
        assert isinstance(plotted, pd.DataFrame), name
    assert save("s", "bases", *drawn["bases"]).exists()
