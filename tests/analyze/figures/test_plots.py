"""Each figure draws what its table has: a bar or marker per cell, and no unknown interval."""

import pandas as pd

from lib.analyze.figures.plots import (
    draw_accuracy,
    draw_numeric,
    draw_paired,
    draw_preferences,
    draw_seeds,
)
from lib.analyze.published import paper_rows, paper_table4
from lib.analyze.stats import paired, spread
from lib.analyze.tables import table2, table5
from tests.analyze.figures.test_style import interval_ends
from tests.analyze.test_seeds import rows_of


def heights(axes) -> list[float]:
    return [
        round(bar.get_height(), 4)
        for group in axes.containers
        if hasattr(group, "patches")
        for bar in group.patches
    ]


def test_bars_are_the_tables_cells():
    table = table2(paper_rows())
    figure, plotted = draw_accuracy(table)
    assert heights(figure.axes[0]) == (100 * table.accuracy).round(4).tolist()
    assert plotted is table and len(figure.legends[0].get_texts()) == 3
    assert interval_ends(figure.axes[0], upright=True) == sorted(
        (100 * table[["low", "high"]]).round(6).to_numpy().ravel()
    )
    both = pd.concat([table.assign(source="paper"), table.assign(source="this run")])
    assert len(draw_accuracy(both, panel="source")[0].axes) == 2
    assert len(draw_numeric(table5(paper_rows()))[0].axes) == 3
    pair = paper_table4()[:24]
    figure, _ = draw_preferences(pair)
    assert [len(heights(axes)) for axes in figure.axes] == [12, 12]
    assert [text.get_text() for text in figure.legends[0].get_texts()][0] == "base is better"


def test_a_bar_of_unknown_height_is_a_dash_and_rounding_never_reverses_an_interval():
    table = table2(paper_rows()).iloc[:2]
    known = table.assign(accuracy=[0.25, None], low=[0.25 + 1e-17, None], high=[0.5, None])
    axes = draw_accuracy(known)[0].axes[0]
    assert interval_ends(axes, upright=True) == [25, 50]
    assert [text.get_text() for text in axes.texts if text.get_text()] == ["–"]


def test_an_arm_without_a_verdict_gives_an_empty_figure():
    figure, _ = draw_accuracy(table2(paper_rows().iloc[:0]))
    assert heights(figure.axes[0]) == []


def test_forests_draw_every_known_interval_and_fill_what_differs():
    rows = pd.concat(
        [
            rows_of("natural", base="0" * 12, dapt="1" * 11 + "0"),
            rows_of("tabular", base="0" * 12, dapt="0" * 12),
        ]
    )
    table = paired(rows)
    axes = draw_paired(table)[0].axes[0]
    known = table.dropna(subset="low_points")
    assert interval_ends(axes) == sorted(
        known[["low_points", "high_points"]].round(6).to_numpy().ravel()
    )
    hollow = [
        y for line in axes.lines if line.get_markerfacecolor() == "white" for y in line.get_ydata()
    ]
    assert len(hollow) == (table[table.n > 0].differs == 0).sum()
    seeds = spread(rows)
    figure, _ = draw_seeds(seeds)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["base", "raw text"]
