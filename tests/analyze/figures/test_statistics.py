"""Figures of the statistics: what is drawn is what the tables say, for any cells."""

import numpy as np
import pandas as pd
import pytest

from lib.analyze.figures.statistics import draw_paired, draw_power, draw_seeds
from lib.analyze.figures.style import save
from lib.analyze.statistics.paired import paired
from lib.analyze.statistics.power import ARMS_COMPARED, power_table
from lib.analyze.statistics.seeds import spread
from tests.analyze.figures.test_style import interval_ends, texts
from tests.analyze.statistics.test_paired import rows_of

ROWS = pd.concat([rows_of("natural", base="0" * 20, dapt="1" * 12 + "0" * 8,
                          daptAt2="1" * 9 + "0" * 11),
                  rows_of("tabular", base="0" * 8, dapt="0" * 8, daptAt2="00000001")])


def test_the_forest_draws_every_known_interval_and_fills_what_holm_finds():
    table = paired(ROWS)
    figure, plotted = draw_paired(table)
    (axes,) = figure.axes
    known = table[table.low_points.notna()]
    assert interval_ends(axes) == sorted(round(end, 6) for end in [*known.low_points,
                                                                   *known.high_points])
    filled = {line.get_ydata()[0]: line.get_markerfacecolor() != "white" for line in axes.lines
              if line.get_marker() not in ("None", "|")}
    assert filled == {0: True, 1: False, 2: True}  # natural, tabular, all
    assert plotted is table and "0 / 12, 20" in texts(axes)


def test_power_lines_start_where_a_difference_can_be_shown_at_all():
    sizes = {"paper": {"natural": 65, "tabular": 41, "all": 106}}
    figure, lines = draw_power(power_table(sizes), 0.8)
    between = lines[lines.compares == ARMS_COMPARED]
    tenth = between[between.assumed == 0.1].set_index("n").smallest_points
    assert np.isnan(tenth[41]) and not np.isnan(tenth[106])
    best = between[between.assumed.isna()].smallest_points.dropna()
    assert (best.diff().dropna() < 0).all()
    named = [texts(axes) for axes in figure.axes]
    assert "paper: tabular (41)" in named[0] and "paper: all (106)" in named[0]
    assert "paper: tabular (41)" in named[1] and "paper: all (106)" not in named[1]


def test_seeds_are_single_points_next_to_the_mean():
    table = spread(ROWS)
    figure, _ = draw_seeds(table)
    crosses = sorted(value for line in figure.axes[0].lines if line.get_marker() == "x"
                     for value in line.get_ydata())
    several = [100 * value for each in table.each[table.seeds > 1] for value in each]
    assert crosses == pytest.approx(sorted(several))
    sources = table[(table.n > 0) & (table.seeds > 1)]
    drawn = interval_ends(figure.axes[0], upright=True)
    assert {round(100 * high, 6) for high in [*sources.high, *sources.high_queries]} <= set(drawn)


@pytest.mark.parametrize("rows", [rows_of(base="--", dapt="01"), rows_of(base="0", dapt="1"),
                                  rows_of("tabular", a="01", b="10", c="11", d="0-")])
def test_every_figure_is_made_for_any_cells(rows, tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    for name, drawn in (("paired", draw_paired(paired(rows))), ("seeds", draw_seeds(spread(rows)))):
        assert save("s", name, *drawn).stat().st_size > 1000
