"""Figures of the statistics: what is drawn is what the tables say, for any cells."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection

from lib.analyze.figures.statistics import draw_paired, draw_power, draw_seeds
from lib.analyze.figures.style import save
from lib.analyze.statistics.paired import paired
from lib.analyze.statistics.power import ARMS_COMPARED, power_table
from lib.analyze.statistics.seeds import spread
from tests.analyze.statistics.test_paired import rows_of

ROWS = pd.concat([rows_of("natural", base="0" * 20, dapt="1" * 12 + "0" * 8, daptAt2="1" * 9 + "0" * 11),
                  rows_of("tabular", base="0" * 8, dapt="0" * 8, daptAt2="00000001")])


def ends(axes) -> list[float]:
    return sorted(round(float(value), 6) for drawn in axes.collections if isinstance(drawn, LineCollection)
                  for segment in drawn.get_segments() for value in segment[:, 0])


def test_the_forest_draws_every_interval_there_is_and_fills_what_holm_finds():
    table = paired(ROWS)
    figure, plotted = draw_paired(table)
    (axes,) = figure.axes
    known = table[table.low_points.notna()]
    assert ends(axes) == sorted(round(value, 6) for value in [*known.low_points, *known.high_points])
    filled = {line.get_ydata()[0]: line.get_markerfacecolor() != "white" for line in axes.lines
              if line.get_marker() not in ("None", "|")}
    assert filled == {0: True, 1: False, 2: True}  # natural, tabular, all
    assert plotted is table and not axes.get_title()
    assert "0 / 12, 20" in [text.get_text() for text in axes.texts]


def test_power_lines_start_where_a_difference_can_be_shown_at_all():
    figure, lines = draw_power(power_table({"paper": {"natural": 65, "tabular": 41, "all": 106}}), 0.8)
    tenth = lines[(lines.compares == ARMS_COMPARED) & (lines.assumed == 0.1)].set_index("n").smallest_points
    assert np.isnan(tenth[41]) and not np.isnan(tenth[106])
    best = lines[(lines.compares == ARMS_COMPARED) & lines.assumed.isna()].smallest_points.dropna()
    assert (best.diff().dropna() < 0).all()
    assert len(figure.axes) == 2 and "paper: tabular (41)" in [text.get_text() for text in figure.axes[0].texts]


def test_seeds_are_single_points_beside_the_mean():
    table = spread(ROWS)
    figure, _ = draw_seeds(table)
    crosses = sorted(value for line in figure.axes[0].lines if line.get_marker() == "x" for value in line.get_ydata())
    assert crosses == pytest.approx(sorted(100 * value for each in table.each[table.seeds > 1] for value in each))


@pytest.mark.parametrize("rows", [rows_of(base="--", dapt="01"), rows_of(base="0", dapt="1"),
                                  rows_of("tabular", a="01", b="10", c="11", d="0-")])
def test_every_figure_is_made_for_any_cells(rows, tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    table = paired(rows)
    for name, drawn in (("paired", draw_paired(table)), ("seeds", draw_seeds(spread(rows)))):
        save("s", name, *drawn)
    assert {path.name for path in (tmp_path / "figures/s").iterdir()} >= {
        f"paired.{ending}" for ending in ("pdf", "png", "csv")}
    assert "difference_points" in (tmp_path / "figures/s/paired.csv").read_text()
