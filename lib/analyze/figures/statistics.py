"""Figures of the statistics: differences with intervals, what n queries can show, seeds beside queries."""

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lib.analyze.figures.style import COLORS, INTERVAL, STYLE, WIDTH
from lib.analyze.statistics.power import (
    ARMS_COMPARED,
    BASELINES,
    DISCORDANT,
    STRUCTURES_COMPARED,
    smallest_difference,
    smallest_independent_difference,
)
from lib.analyze.stats import ALPHA
from lib.core.arms import ALL
from lib.core.records import STRUCTURES

MARKERS = {"natural": "o", "entity-list": "s", "tabular": "^", ALL: "D"}
_LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))


def draw_paired(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Forest of paired differences in points with clustered 95% intervals; filled where Holm's p is at most 5%.

    A panel a pair of arms, a row a structure; at its right the discordant pairs (only first / only second) and n.
    A difference whose interval is not known is a marker alone.
    """
    pairs = list(table[["first", "second"]].drop_duplicates().itertuples(index=False, name=None))
    places = [place for place in (*STRUCTURES, ALL) if table.n[table.structure == place].sum()]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 0.7 + max(1, len(pairs)) * (0.3 + 0.2 * len(places))), layout="constrained")
        panels = figure.subplots(max(1, len(pairs)), 1, sharex=True, squeeze=False)[:, 0]
        for axes, pair in zip(panels, pairs, strict=False):
            cells = table[(table["first"] == pair[0]) & (table.second == pair[1]) & (table.n > 0)]
            _forest(axes, cells, places)
            axes.annotate(f"{pair[1]} – {pair[0]}", (0, 1), (0, 3), xycoords="axes fraction",
                          textcoords="offset points", fontsize=9)
            axes.annotate(f"only {pair[0]} / only {pair[1]}, n", (1, 1), (4, 3), xycoords="axes fraction",
                          textcoords="offset points", fontsize=8)
        panels[-1].set_xlabel("Difference in accuracy (points); filled: Holm p ≤ 5%")
    return figure, table


def _forest(axes: Axes, cells: pd.DataFrame, places: list[str]) -> None:
    axes.axvline(0, color="0.5", linewidth=0.8)
    for row in cells.itertuples():
        y, color = places.index(row.structure), COLORS[places.index(row.structure)]
        if not np.isnan(row.low_points):
            axes.errorbar(row.difference_points, y, xerr=_reach(row.difference_points, row.low_points, row.high_points),
                          **INTERVAL)
        axes.plot(row.difference_points, y, MARKERS[row.structure], color=color, markeredgecolor="black",
                  markersize=5, markerfacecolor=color if row.p_holm <= ALPHA else "white")
        axes.annotate(f"{row.only_first} / {row.only_second}, {row.n}", (1, y), (4, 0),
                      xycoords=("axes fraction", "data"), textcoords="offset points", va="center", fontsize=8)
    axes.set_yticks(range(len(places)), places)
    axes.set_ylim(max(1, len(places)) - 0.5, -0.5)


def _reach(middle: float, low: float, high: float) -> list[list[float]]:
    """Lengths below and above `middle`, shape (2, 1); rounding never makes one negative."""
    return [[max(0.0, middle - low)], [max(0.0, high - middle)]]


def draw_power(table: pd.DataFrame, power: float) -> tuple[Figure, pd.DataFrame]:
    """The smallest difference that n queries show: between arms (left) and between structures of equal n (right).

    A line an assumption, as far left as anything can be shown at all; the n of each study in `table` (lib.analyze.statistics.power's)
    is a thin upright line. The frame has the curves: compares, assumed, n, smallest_points.
    """
    lines = _power_lines(table, power)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 3.7), layout="constrained")
        panels = figure.subplots(1, 2, sharey=True)
        for axes, compares in zip(panels, (ARMS_COMPARED, STRUCTURES_COMPARED), strict=True):
            part = lines[lines.compares == compares]
            for index, (assumed, line) in enumerate(part.groupby("assumed", sort=False, dropna=False)):
                label = ("all changes one way" if pd.isna(assumed) else f"{assumed:.0%} discordant"
                         if compares == ARMS_COMPARED else f"lower accuracy {assumed:.0%}")
                axes.plot(line.n, line.smallest_points, color=COLORS[index], linestyle=_LINES[index % len(_LINES)],
                          label=label)
            _sizes(axes, table[(table.compares == ARMS_COMPARED)
                               & ((table.structure != ALL) | (compares == ARMS_COMPARED))])
            axes.set_xscale("log")
            axes.set_xlabel("Queries" if compares == ARMS_COMPARED else "Queries a structure, equally many")
            axes.set_ylim(0, 75)
            figure.legend(*axes.get_legend_handles_labels(), ncols=2, handlelength=2.6, columnspacing=1,
                          loc=f"outside upper {'left' if compares == ARMS_COMPARED else 'right'}")
        figure.axes[0].set_ylabel(f"Smallest difference shown\nwith {power:.0%} power (points)")
        for axes in figure.axes:
            axes.set_xticks([10, 20, 50, 100, 200, 500, 1000], ["10", "20", "50", "100", "200", "500", "1000"])
            axes.minorticks_off()
    return figure, lines


def _power_lines(table: pd.DataFrame, power: float) -> pd.DataFrame:
    sizes = sorted({*np.unique(np.geomspace(6, 1000, 45).round().astype(int)), *table.n[table.n > 0]})
    shares = [share for share in table.assumed[table.compares == ARMS_COMPARED].unique() if not pd.isna(share)]
    lower = list(table.assumed[table.compares == STRUCTURES_COMPARED].unique()) or list(BASELINES)
    rows = [(ARMS_COMPARED, share, n, 100 * smallest_difference(n, share, power))
            for share in (None, *(shares or DISCORDANT)) for n in sizes]
    rows += [(STRUCTURES_COMPARED, share, n, 100 * smallest_independent_difference(n, n, share, power))
             for share in lower for n in sizes]
    return pd.DataFrame(rows, columns=["compares", "assumed", "n", "smallest_points"])


def _sizes(axes: Axes, table: pd.DataFrame) -> None:
    """A thin line at every study's n, named along it (the first study's at its right); equal n share one."""
    for index, (study, cells) in enumerate(table.drop_duplicates(["study", "structure"]).groupby("study", sort=False)):
        for n, structures in cells.groupby("n").structure:
            axes.axvline(n, color="0.6", linewidth=0.6, linestyle=("-", ":")[index % 2])
            name = "each structure" if set(STRUCTURES) <= set(structures) else ", ".join(structures)
            axes.annotate(f"{study}: {name} ({n})", (n, 1), (1 - 2 * index, -1), rotation=90, va="top",
                          ha="right" if index else "left",
                          xycoords=("data", "axes fraction"), textcoords="offset points", fontsize=8, color="0.3")


def draw_seeds(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Accuracy by structure and arm: the mean with its intervals over queries (thin) and both sources (thick), seeds.

    Small points are single seeds, beside the mean. An arm with one seed has the interval over queries alone.
    """
    arms = list(table.arm.unique())
    places = [place for place in (*STRUCTURES, ALL) if table.n[table.structure == place].sum()]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 2.8), layout="constrained")
        axes = figure.subplots()
        for index, arm in enumerate(arms):
            cells = table[(table.arm == arm) & (table.n > 0)]
            offset = (index - (len(arms) - 1) / 2) * 0.8 / max(1, len(arms))
            _draw_arm(axes, cells, [places.index(place) + offset for place in cells.structure], index)
        n = table.groupby("structure").n.max()
        axes.set_xticks(range(len(places)), [f"{place}\n(n = {n[place]})" for place in places])
        axes.set_ylim(bottom=0)
        axes.set_ylabel("Accuracy (%)")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=max(1, len(arms)) + 2)
    return figure, table


def _draw_arm(axes: Axes, cells: pd.DataFrame, x: list[float], index: int) -> None:
    color, marker = COLORS[index % len(COLORS)], "osD^v"[index % 5]
    seeds = cells.seeds.max()
    label = f"{cells.arm.max()}, {seeds} seeds" if seeds > 1 else cells.arm.max()
    for place, row in zip(x, cells.itertuples(), strict=True):
        is_both = row.seeds > 1
        for low, high, style in ((row.low, row.high, {"elinewidth": 2.4, "ecolor": color, "capsize": 0}),
                                 (row.low_queries, row.high_queries, {})):
            if not np.isnan(low) and (is_both or not style):
                axes.errorbar(place, 100 * row.mean, yerr=np.multiply(100, _reach(row.mean, low, high)),
                              **INTERVAL | style)
        if is_both:
            axes.plot([place + 0.07] * row.seeds, np.multiply(100, row.each), "x", color="black", markersize=3.5)
    axes.plot(x, 100 * cells["mean"], marker, color=color, markeredgecolor="black", markersize=4.5, label=label,
              clip_on=False)
