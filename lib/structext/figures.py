"""Draw a run's scores by group, depth and width, and Real-Test against Test.

Every interval is the table's 95% interval; a hollow marker is an estimate without one. The floor
(BLIND) is grey.
"""

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from lib.analyze.format import estimate
from lib.analyze.plots import (
    finish,
    forest,
    heat_map,
    marker,
    name_rows,
    offset,
    panels,
    panels_of,
    styled,
)
from lib.structext.analyze import BLIND, INTERVALS, JUDGE
from lib.structext.records import TASKS

THIN = {"elinewidth": 0.7, "capsize": 1.5}  # for many closely spaced intervals
SCORE = "ROUGE-L, 0 below 0.75 (%)"
LABELS = {
    "rouge_score": SCORE,
    JUDGE: "Correct according to the judge (%)",
    "difference_points": "Real-Test compared with Test, ROUGE-L, 0 below 0.75 (points)",
}


@styled
def draw_groups(
    table: pd.DataFrame, by: str, measure: str = "rouge_score"
) -> tuple[Figure, pd.DataFrame]:
    """Draw a key of LABELS by group of `by` and arm, one panel per suite; also return `table`."""
    scale = 1 if measure.endswith("_points") else 100
    groups, arms = list(table[by].unique()), list(table.arm.unique())
    height = 0.8 + len(groups) * (0.1 + 0.07 * len(arms))
    panel = "suite" if "suite" in table else ""
    figure, parts = panels_of(table, panel, height, sharex=True, sharey=True)
    for axes, cells in parts:
        for index, arm in enumerate(arms):
            own = cells[cells.arm == arm]
            y = [groups.index(name) + offset(index, len(arms), 0.72) for name in own[by]]
            value, *ends = (scale * own[name] for name in (measure, *INTERVALS[measure]))
            look = {"color": "0.65", "marker": "d"} if arm == BLIND else marker(index)
            look |= {"filled": ends[0].notna(), "label": arm, "line": THIN, "markersize": 4.5}
            forest(axes, y, value, *ends, **look)
    names = [f"{TASKS[name]} {name}" if by == "task" else name for name in groups]
    name_rows(figure.axes[0], names, zero=scale == 1)
    finish(figure, LABELS[measure])
    return figure, table


@styled
def draw_heat(table: pd.DataFrame, arms: Sequence[str]) -> tuple[Figure, pd.DataFrame]:
    """Draw mean score and SD over tasks by depth and width, a panel per arm; return what is drawn.

    The figure shows the suite with the most cells; a cell without questions asked has dashes.
    """
    cells = table.groupby("suite").size()
    plotted = table[(table.suite == cells[::-1].idxmax()) & table.arm.isin(arms)]
    figure, drawn = panels(len(arms), 0.9 + 0.5 * plotted.depth.nunique(), sharey=True, names=arms)
    for axes, arm in zip(drawn, arms, strict=False):
        own = plotted[(plotted.arm == arm)].set_index(["depth", "width"])
        own = 100 * own[["rouge_score", "sd_tasks"]].where(own.left_out < own.n)
        texts = own.rouge_score.map(estimate) + "\nSD " + own.sd_tasks.map(estimate)
        image = heat_map(axes, own.rouge_score.unstack(), texts.unstack().fillna("–"), top=100)
        axes.set(xlabel="Width", ylabel="Depth" if axes is drawn[0] else "")
    if arms:
        figure.colorbar(image, ax=drawn, shrink=0.9, label=SCORE)
    return figure, plotted
