"""Draw Table 3: changes in each arm's accuracy, and those from another batch size alone."""

import pandas as pd
from matplotlib.figure import Figure

from lib.analyze.figures.style import forest, legend, marker, name_rows, offset, panels, styled
from lib.analyze.stats import ALPHA
from lib.core.arms import BASE, sorted_arms
from lib.retention.records import label_of

_COLUMNS = ["arm", "task", "n", "difference_points", "low_points", "high_points", "p_holm"]
_REPEATED = f"{BASE}, other batch size"


@styled
def draw_retention(table3: pd.DataFrame, noise: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw paired differences in points by task, with 95% intervals; return the plotted numbers.

    Markers are filled if Holm's p is at most 5%. The grey bar reaches, on both sides, as far as
    the base's accuracy changes with another batch size.
    """
    cells, tasks = table3[table3.p.notna()], list(table3.task.unique())
    arms = sorted_arms(cells.arm)
    figure, (axes,) = panels(1, 0.9 + 0.22 * max(1, len(tasks) * max(1, len(arms))))
    n = table3.groupby("task").n.max()
    name_rows(axes, [f"{label_of(task)}\n(n = {n[task]})" for task in tasks], zero=True)
    for index, arm in enumerate(arms):
        rows = cells[cells.arm == arm]
        y = [tasks.index(task) + offset(index, len(arms)) for task in rows.task]
        forest(axes, y, rows.difference_points, rows.low_points, rows.high_points, label=arm,
               filled=rows.p_holm <= ALPHA, **marker(index + 1))  # 0 is the base's
    for row in noise.itertuples():  # a line if the floor is 0, to show that it was measured
        width = abs(row.difference_points)
        axes.barh(tasks.index(row.task), 2 * width, 0.8, left=-width, color="0.8", edgecolor="0.6",
                  linewidth=2, zorder=0, label=_REPEATED if row.Index == 0 else None)
    axes.use_sticky_edges = False  # otherwise 0 would be on the frame if every arm lost
    axes.set_xlabel(f"Accuracy minus that of {BASE} (points, 95% interval; filled: Holm p ≤ 5%)")
    legend(figure, axes)
    floor = noise.assign(arm=_REPEATED)[["arm", "task", "n", "difference_points"]]
    return figure, pd.concat([cells[_COLUMNS], floor])
