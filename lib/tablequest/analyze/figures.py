"""Figures of TableQuest: accuracy by serialization, ratings, and how answers fail, all as points with intervals."""

from collections.abc import Sequence

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, MultipleLocator
from statsmodels.stats.proportion import proportion_confint

from lib.analyze.figures.style import COLORS, INTERVAL, STYLE, WIDTH
from lib.core.arms import ALL
from lib.tablequest.analyze.failures import ANSWERED, MODES, RIGHT
from lib.tablequest.analyze.ratings import START
from lib.tablequest.records import LEVELS

_FIRST = "right\n(hard: answered)"
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def draw_accuracy(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Accuracy in percent by form, a panel a level and a marker an arm, with Wilson 95% intervals."""
    plotted = table[table.n > table.unscored].assign(
        place=lambda rows: rows.form, value=100 * table.accuracy, left=100 * table.low, right=100 * table.high)
    return _percentages(plotted, "Accuracy (%)"), plotted


def draw_failures(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """The share of each mode in percent, a panel a level and a marker an arm, with Wilson 95% intervals."""
    low, high = proportion_confint(table["count"], table.n, method="wilson")
    plotted = table.assign(place=table["mode"], value=100 * table.share, left=100 * low, right=100 * high)
    plotted = plotted.assign(place=plotted.place.replace({RIGHT: _FIRST, ANSWERED: _FIRST}))
    order = {mode: place for place, mode in enumerate((_FIRST, *MODES))}
    plotted = plotted.sort_values("place", key=lambda places: places.map(order), kind="stable")
    return _percentages(plotted, "Answers (%)"), plotted


def draw_ratings(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Ratings by arm, a panel a level: Bradley–Terry with 95% intervals over passages, ELO with those over orders."""
    kinds = {"Bradley–Terry (95% over passages)": ("bradley_terry", "low", "high"),
             "sequential ELO (median and 95% of orders)": ("elo", "elo_low", "elo_high")}
    plotted = pd.concat([table[["level", "arm"]].assign(
        place=table.arm, estimate=kind, value=table[value], left=table[low].fillna(table[value]),
        right=table[high].fillna(table[value])) for kind, (value, low, high) in kinds.items()], ignore_index=True)
    levels = [level for level in (*LEVELS, ALL) if (plotted.level == level).any()]
    figure = _points(plotted, levels, "estimate", "Rating", is_shared=True)
    for axes in figure.axes:
        axes.axvline(START, color="0.6", linewidth=0.8, zorder=0)
    return figure, plotted


def _points(plotted: pd.DataFrame, levels: Sequence[str], within: str, label: str, *,
            is_shared: bool = False) -> Figure:
    """A panel a level, a line a `place` in the order of the rows, a marker a group; intervals from left to right."""
    places, groups = list(dict.fromkeys(plotted.place)), list(dict.fromkeys(plotted[within]))
    step = 0.8 / max(1, len(groups))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 1.1 + len(places) * max(0.26, 0.11 * len(groups))), layout="constrained")
        panels = figure.subplots(1, max(1, len(levels)), sharex=is_shared, sharey=True, squeeze=False)[0]
        for axes, level in zip(panels, levels, strict=False):
            for index, group in enumerate(groups):
                cells = plotted[(plotted.level == level) & (plotted[within] == group)]
                y = [places.index(place) + (index - (len(groups) - 1) / 2) * step for place in cells.place]
                reach = [(cells.value - cells.left).clip(lower=0), (cells.right - cells.value).clip(lower=0)]
                axes.errorbar(cells.value, y, xerr=reach, **INTERVAL)
                axes.plot(cells.value, y, MARKERS[index % len(MARKERS)], color=COLORS[index % len(COLORS)],
                          markeredgecolor="black", markeredgewidth=0.5, markersize=4.5, label=group, zorder=3)
            axes.set_xlabel(label)
            axes.xaxis.set_major_locator(MaxNLocator(4 if len(levels) < 4 else 3, steps=[1, 2, 2.5, 5, 10]))
            axes.annotate(level, (0, 1), (0, 3), xycoords="axes fraction", textcoords="offset points", fontsize=9)
            for line in range(1, len(places)):
                axes.axhline(line - 0.5, color="0.9", linewidth=0.6, zorder=0)
        panels[0].set_yticks(range(len(places)), places)
        panels[0].set_ylim(len(places) - 0.4, -0.6)
        handles = dict(zip(*reversed(panels[0].get_legend_handles_labels()), strict=True))
        figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=min(4, len(groups)))
    return figure


def _percentages(plotted: pd.DataFrame, label: str) -> Figure:
    figure = _points(plotted, [level for level in LEVELS if (plotted.level == level).any()], "arm", label)
    for axes in figure.axes:
        axes.set_xlim(-3, 103)
        axes.xaxis.set_major_locator(MultipleLocator(25))
    return figure
