"""Figure of Table 3: what each arm kept and lost against the base, beside what another batch size alone changes."""

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from lib.analyze.figures.style import COLORS, INTERVAL, STYLE, WIDTH
from lib.analyze.retention import BASE, label_of
from lib.analyze.stats import ALPHA
from lib.core.arms import sorted_arms

_MARKERS = "osD^v"


def draw_retention(table3: pd.DataFrame, noise: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Paired differences in points by task, a marker an arm, with 95% intervals; the noise floor as a grey bar.

    Filled where Holm's p is at most 5%. The grey bar reaches as far as the base moves when it is asked again. The frame
    has what is plotted: arm, task, n, difference_points, low_points, high_points, p_holm.
    """
    cells = table3[table3.p.notna()]
    tasks, arms = list(table3.task.unique()), sorted_arms(list(cells.arm.unique()))
    floor = noise.set_index("task").difference_points.abs() if len(noise) else pd.Series(dtype=float)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 0.9 + 0.22 * max(1, len(tasks) * max(1, len(arms)))), layout="constrained")
        axes = figure.subplots()
        axes.axvline(0, color="0.5", linewidth=0.8)
        for index, arm in enumerate(arms):
            _draw_arm(axes, cells[cells.arm == arm], tasks, arm, index, len(arms))
        for place, task in enumerate(tasks):
            if task in floor.index:  # a line where the floor is 0, so that it is seen to have been measured
                axes.barh(place, 2 * floor[task], 0.8, left=-floor[task], color="0.8", edgecolor="0.6", linewidth=2,
                          zorder=0, label=f"{BASE}, other batch size" if place == 0 else None)
        axes.use_sticky_edges = False  # else 0 lies on the frame where every arm lost
        axes.set_yticks(range(len(tasks)), [f"{label_of(task)}\n(n = {table3.n[table3.task == task].max()})"
                                            for task in tasks])
        axes.set_ylim(len(tasks) - 0.5, -0.5)
        axes.set_xlabel(f"Accuracy less that of {BASE} (points, 95% interval; filled: Holm p ≤ 5%)")
        handles, labels = axes.get_legend_handles_labels()
        if handles:
            figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
    plotted = pd.concat([cells[["arm", "task", "n", "difference_points", "low_points", "high_points", "p_holm"]],
                         noise.assign(arm=f"{BASE}, other batch size")[["arm", "task", "n", "difference_points"]]])
    return figure, plotted


def _draw_arm(axes, cells: pd.DataFrame, tasks: list[str], arm: str, index: int, n_arms: int) -> None:
    color, marker = COLORS[(index + 1) % len(COLORS)], _MARKERS[(index + 1) % len(_MARKERS)]  # the base's come first
    offset = (index - (n_arms - 1) / 2) * 0.8 / max(1, n_arms)
    for row in cells.itertuples():
        y = tasks.index(row.task) + offset
        if not np.isnan(row.low_points):
            axes.errorbar(row.difference_points, y, xerr=[[row.difference_points - row.low_points],
                                                          [row.high_points - row.difference_points]], **INTERVAL)
        axes.plot(row.difference_points, y, marker, color=color, markeredgecolor="black", markersize=5,
                  markerfacecolor=color if row.p_holm <= ALPHA else "white")
    axes.plot([], [], marker, color=color, markeredgecolor="black", markersize=5, label=arm)
