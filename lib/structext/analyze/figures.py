"""Figures of a run on StrucText-Eval: scores by group, heat maps over depth and width, shots, Real-Test beside Test.

Every interval is the table's 95% one; what has none is a hollow marker. Arms keep their colour and marker throughout.
"""

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from lib.analyze.figures.style import COLORS, HATCHES, INTERVAL, STYLE, WIDTH
from lib.core.arms import ALL
from lib.structext.analyze.tables import JUDGE
from lib.structext.records import EXTRA_TASKS, TASKS

SCORE = "ROUGE-L, 0 below 0.75 (%)"
MEASURES = {"rouge_score": (SCORE, "rouge_score", "low", "high"),  # its label, value and interval
            JUDGE: ("Right by the judge (%)", JUDGE, "judge_low", "judge_high")}
_ASKED, _ALL = "of those that fit base_model's window", "of all, with 0 for what is longer than base_model's window"
_BESIDE = {  # what is drawn -> its cross, the number of questions of the cross, and in words
    "rouge_score": ("rouge_asked", "asked", _ASKED), "difference_points": ("whole_points", "whole", _ALL),
    "common_score": ("rouge_score", "n", _ALL)}
_MARKERS = "osD^v<>P"
_LINES = {"few-shot": "-", "simple-few-shot": "--"}


def look(arms: list[str], arm: str) -> dict:
    """Colour and marker of an arm by its place in the study."""
    place = arms.index(arm)
    return {"color": COLORS[place % len(COLORS)], "marker": _MARKERS[place % len(_MARKERS)], "markersize": 4.5,
            "markeredgecolor": "black", "markeredgewidth": 0.6}


def draw_groups(table: pd.DataFrame, by: str, measure: str = "rouge_score") -> tuple[Figure, pd.DataFrame]:
    """A key of MEASURES for each group of `by` and arm, a panel a suite; what it plots is `analysis.summary`."""
    label, *columns = MEASURES[measure]
    groups = [name for name in table[by].cat.categories if (table[by] == name).any()]
    suites = _there(table.suite)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 0.8 + len(groups) * (0.1 + 0.07 * len(_there(table.arm)))),
                        layout="constrained")
        panels = figure.subplots(1, max(1, len(suites)), sharex=True, sharey=True, squeeze=False)[0]
        for axes, suite in zip(panels, suites, strict=False):
            _dots(axes, table[table.suite == suite], by, groups, columns, 100)
            axes.annotate(suite, (0, 1), (0, 3), xycoords="axes fraction", textcoords="offset points", fontsize=9)
            axes.set(xlim=(-4, 104))
            if ALL in groups:
                axes.axhline(groups.index(ALL) - 0.5, color="0.7", linewidth=0.6)
        figure.supxlabel(label, fontsize=9)
        kinds = TASKS | EXTRA_TASKS
        panels[0].set_yticks(range(len(groups)), [f"{kinds[name]} {name}" if by == "task" else name for name in groups])
        panels[0].set_ylim(len(groups) - 0.45, -0.55)
        _legend(figure, panels[0])
    return figure, table


def _dots(axes: Axes, cells: pd.DataFrame, by: str, groups: list[str], columns: Sequence[str],
          scale: float) -> None:
    """A marker an arm and group with its interval; `columns` are value, low and high, times `scale`."""
    arms = _there(cells.arm)
    for index, arm in enumerate(arms):
        own = cells[cells.arm == arm]
        y = [groups.index(name) + (index - (len(arms) - 1) / 2) * 0.72 / len(arms) for name in own[by]]
        value, low, high = (scale * own[column] for column in columns)
        style = look([*cells.arm.cat.categories], arm)
        known = low.notna().to_numpy()
        axes.errorbar(value[known], np.array(y)[known], xerr=_reach(value, low, high)[:, known],
                      **INTERVAL | {"elinewidth": 0.7, "capsize": 1.5})
        axes.plot(value, y, **style | {"linestyle": "none"}, label=arm)
        axes.plot(value[~known], np.array(y)[~known], **style | {"linestyle": "none", "markerfacecolor": "white"})
        if columns[0] in _BESIDE:
            _crosses(axes, own, columns[0], pd.Series(y, own.index), style["color"], scale)


def _crosses(axes: Axes, cells: pd.DataFrame, column: str, places: pd.Series, color: tuple, scale: float,
             is_upright: bool = False) -> None:
    """Crosses at what `column` is of those that fit the window, or of all, where some did not: it may fall by that."""
    of_others, n, words = _BESIDE[column]
    shown = cells[cells[n] != cells["common" if column == "common_score" else "n"]]
    at = places[shown.index], scale * shown[of_others]
    axes.plot(*(at if is_upright else at[::-1]), "x", color=color, markersize=4.5, label=f"_{words}")


def draw_heat(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Mean score and its standard deviations across tasks and languages over depth and width, a row an arm.

    Of several suites, the one with the most cells (of two, the later): the plotted rows of `analysis.heat`. Below a
    mean stand its interval and what was left out; a cell of which nothing was asked is hatched.
    """
    cells = table.groupby("suite", observed=True).apply(lambda suite: len(suite[["depth", "width"]].drop_duplicates()))
    plotted = table[table.suite == cells[::-1].idxmax()]
    arms, top = _there(plotted.arm), max(10, np.nanmax([0, *plotted.sd_tasks, *plotted.sd_languages]) * 100)
    kinds = (("rouge_score", "mean", 100, "cividis"), ("sd_tasks", "SD across tasks", top, "magma"),
             ("sd_languages", "SD across languages", top, "magma"))
    with mpl.rc_context(STYLE):
        height = 0.8 + len(arms) * (0.25 + 0.44 * plotted.depth.nunique())
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        panels = figure.subplots(len(arms), len(kinds), squeeze=False, sharex=True, sharey=True)
        for arm, line in zip(arms, panels, strict=True):
            for axes, (column, name, most, colors) in zip(line, kinds, strict=True):
                image = _map(axes, plotted[plotted.arm == arm], column, most, colors)
                axes.annotate(f"{arm}: {name}", (0, 1), (0, 3), xycoords="axes fraction", textcoords="offset points",
                              fontsize=8)
                if arm == arms[-1]:
                    axes.set_xlabel("Width")
                    figure.colorbar(image, ax=panels[:, kinds.index((column, name, most, colors))], shrink=0.9,
                                    location="bottom", label="%" if column == "rouge_score" else "points", aspect=14)
            line[0].set_ylabel("Depth")
    return figure, plotted


def _map(axes: Axes, cells: pd.DataFrame, column: str, most: float, colors: str):
    depths, widths = sorted(cells.depth.unique()), sorted(cells.width.unique())
    grid = np.full((len(depths), len(widths)), np.nan)
    for cell in cells.itertuples():
        value, at = 100 * getattr(cell, column), (depths.index(cell.depth), widths.index(cell.width))
        grid[at] = value
        lines = ["–" if np.isnan(value) else f"{value:.1f}"]
        if column == "rouge_score":
            lines += [f"[{100 * cell.low:.0f}, {100 * cell.high:.0f}]"] * (not np.isnan(cell.low))
            lines += [f"{cell.left_out}/{cell.n} out"] * (cell.left_out > 0)
        if cell.left_out == cell.n:
            axes.add_patch(Rectangle((at[1] - 0.5, at[0] - 0.5), 1, 1, hatch=HATCHES[1], facecolor="0.85",
                                     edgecolor="0.6", linewidth=0))
        is_dark = value < 0.6 * most and cell.left_out < cell.n
        axes.annotate("\n".join(lines), at[::-1], ha="center", va="center", fontsize=8, linespacing=0.95,
                      color="white" if is_dark else "black")
    image = axes.imshow(grid, aspect="auto", cmap=colors, vmin=0, vmax=most)
    axes.set_yticks(range(len(depths)), depths)
    axes.set_xticks(range(len(widths)), widths)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    return image


def draw_shots(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Score against the number of demonstrations, drawn and shortest ones, a panel a suite (`analysis_pairs.shots`).

    Of the samples that were asked with every number, so that no curve falls by the window alone.
    """
    suites, arms = _there(table.suite), _there(table.arm)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 2.9), layout="constrained")
        panels = figure.subplots(1, max(1, len(suites)), sharey=True, squeeze=False)[0]
        curves = [(arm, setting) for arm in arms for setting in _LINES if (table.setting == setting).any()]
        for axes, suite in zip(panels, suites, strict=False):
            for index, (arm, setting) in enumerate(curves):
                line = table[(table.suite == suite) & (table.arm == arm) & (table.setting == setting)]
                x = line.n_shots + (index - (len(curves) - 1) / 2) * 0.5 / len(curves)
                value, low, high = (100 * line[column] for column in ("common_score", "common_low", "common_high"))
                style = look([*table.arm.cat.categories], arm) | {"linestyle": _LINES[setting]}
                if setting != "few-shot":
                    style["markerfacecolor"] = "white"
                axes.errorbar(x, value, yerr=_reach(value, low, high), **INTERVAL | {"elinewidth": 0.7, "capsize": 1.5})
                axes.plot(x, value, **style, label=f"{arm}, {setting}")
                _crosses(axes, line, "common_score", x, style["color"], 100, is_upright=True)
            common = table.common[table.suite == suite].max()
            axes.annotate(f"{suite} (n = {common})", (0, 1), (0, 3), xycoords="axes fraction",
                          textcoords="offset points", fontsize=9)
            axes.set(xlabel="Demonstrations", ylim=(-4, 104), xticks=sorted(table.n_shots.unique()))
        panels[0].set_ylabel(SCORE)
        _legend(figure, panels[0], columns=2)
    return figure, table


def draw_differences(table: pd.DataFrame, by: str, label: str) -> tuple[Figure, pd.DataFrame]:
    """Differences in points by group of `by` and arm, with their intervals (`analysis_pairs.differences`).

    Of the pairs asked both ways, n; crosses are of all pairs.
    """
    groups = [name for name in table[by].cat.categories if (table[by] == name).any()]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 0.8 + len(groups) * (0.1 + 0.07 * len(_there(table.arm)))),
                        layout="constrained")
        axes = figure.subplots()
        axes.axvline(0, color="0.5", linewidth=0.8)
        _dots(axes, table, by, groups, ("difference_points", "low_points", "high_points"), 1)
        pairs = table.groupby(by, observed=True).n.max()
        axes.set_yticks(range(len(groups)), [f"{name} (n = {pairs[name]})" for name in groups])
        axes.set(ylim=(len(groups) - 0.45, -0.55), xlabel=label)
        _legend(figure, axes)
    return figure, table


def _there(column: pd.Series) -> list[str]:
    """The categories that a column has, in their order."""
    return [name for name in column.cat.categories if (column == name).any()]


def _reach(middle: pd.Series, low: pd.Series, high: pd.Series) -> np.ndarray:
    """Lengths below and above, shape (2, n); 0 where an end is not known, and rounding never makes one negative."""
    return np.nan_to_num(np.clip([middle - low, high - middle], 0, None))


def _legend(figure: Figure, axes: Axes, columns: int = 5) -> None:
    handles, labels = axes.get_legend_handles_labels()
    drawn = {line.get_label() for part in figure.axes for line in part.lines if len(line.get_xdata())}
    for words in (_ASKED, _ALL):
        if f"_{words}" in drawn:
            handles.append(Line2D([], [], marker="x", color="0.3", linestyle="none", markersize=4.5))
            labels.append(words)
    if handles:
        figure.legend(handles, labels, loc="outside upper center", ncols=min(columns, len(handles)))
