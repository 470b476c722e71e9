"""Draw a run's scores by group, depth and width, and shots, and Real-Test against Test.

Every interval is the table's 95% interval; a hollow marker is an estimate without one. An arm has
the same colour and marker in all figures; the floor (BLIND) is grey.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from lib.analyze.figures.style import (
    HATCHES,
    THIN,
    WIDTH,
    forest,
    heat,
    legend,
    marker,
    name_rows,
    offset,
    panels,
    styled,
)
from lib.analyze.format import estimate
from lib.core.arms import ALL
from lib.structext.analyze.floor import BLIND
from lib.structext.analyze.tables import JUDGE
from lib.structext.records import TASKS

SCORE = "ROUGE-L, 0 below 0.75 (%)"
MEASURES = {"rouge_score": (SCORE, "rouge_score", "low", "high"),  # label, value, interval
            JUDGE: ("Correct according to the judge (%)", JUDGE, "judge_low", "judge_high")}
# Column of markers -> column of crosses, then the number of questions of crosses and of markers.
_CROSSES = {"rouge_score": ("rouge_asked", "asked", "n"),
            "difference_points": ("whole_points", "whole", "n"),
            "common_score": ("rouge_score", "n", "common")}
_FITTING = "those that fit the arm's window"  # short: a legend has all arms too
_ALL_QUESTIONS = "all, with 0 for those left out"
_LINES = {"few-shot": "-", "simple-few-shot": "--", "shortest-few-shot": ":"}
_BLIND = {"color": "0.65", "marker": "d"}  # no model: its look in all figures


@styled
def draw_groups(table: pd.DataFrame, by: str,
                measure: str = "rouge_score") -> tuple[Figure, pd.DataFrame]:
    """Draw a key of MEASURES by group of `by` and arm, one panel per suite; also return `table`.

    `table` is from `summary`, by suite, `by` and arm. Crosses cover only the questions that fit the
    context window.
    """
    label, *columns = MEASURES[measure]
    groups, suites = _present(table[by]), _present(table.suite)
    figure, drawn = panels(len(suites), _height(table, groups), names=suites, sharex=True,
                           sharey=True)
    for axes, suite in zip(drawn, suites, strict=False):
        _dots(axes, table[table.suite == suite], by, groups, columns, 100)
        axes.set(xlim=(-4, 104))
        if ALL in groups:
            axes.axhline(groups.index(ALL) - 0.5, color="0.7", linewidth=0.6)
    figure.supxlabel(label, fontsize=9)
    name_rows(drawn[0], [f"{TASKS[name]} {name}" if by == "task" else name for name in groups])
    _legend(figure, drawn[0], _FITTING)
    return figure, table


@styled
def draw_heat(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw mean score and its standard deviations by depth and width, one row per arm.

    The figure shows the suite with the most cells (if two are equal, the later). The rows of `heat`
    that it shows are returned too. Below a mean are its interval and the number left out; a hatched
    cell has no questions.
    """
    cells = table.groupby("suite", observed=True).apply(
        lambda suite: len(suite[["depth", "width"]].drop_duplicates()))
    plotted = table[table.suite == cells[::-1].idxmax()]
    arms = _present(plotted.arm)
    top = max(10, np.nanmax([0, *plotted.sd_tasks, *plotted.sd_languages]) * 100)
    kinds = (("rouge_score", "mean", 100, "cividis"), ("sd_tasks", "SD across tasks", top, "magma"),
             ("sd_languages", "SD across languages", top, "magma"))
    figure = Figure(figsize=(WIDTH, 0.8 + len(arms) * (0.25 + 0.44 * plotted.depth.nunique())),
                    layout="constrained")
    drawn = figure.subplots(len(arms), len(kinds), squeeze=False, sharex=True, sharey=True)
    for line, arm in zip(drawn, arms, strict=True):
        for place, (column, name, most, colors) in enumerate(kinds):
            image = _map(line[place], plotted[plotted.arm == arm], column, most, colors)
            line[place].annotate(f"{arm}: {name}", (0, 1), (0, 3), xycoords="axes fraction",
                                 textcoords="offset points", fontsize=8)
            line[place].set(xlabel="Width" if arm == arms[-1] else "",
                            ylabel="" if place else "Depth")
            if arm == arms[-1]:
                figure.colorbar(image, ax=drawn[:, place], shrink=0.9, location="bottom", aspect=14,
                                label="points" if place else "%")
    return figure, plotted


def _map(axes: Axes, cells: pd.DataFrame, column: str, top: float, colors: str):
    is_asked = cells.left_out < cells.n
    texts = [estimate(value) for value in 100 * cells[column]]
    if column == "rouge_score":
        texts = [_cell_text(text, cell)
                 for text, cell in zip(texts, cells.itertuples(), strict=True)]
    shown = cells.assign(value=(100 * cells[column]).where(is_asked), text=texts)
    values, labels = (shown.pivot(index="depth", columns="width", values=name)
                      for name in ("value", "text"))
    image = heat(axes, values.astype(float), labels.fillna("–"), top=top, colors=colors)
    for cell in cells[~is_asked].itertuples():
        corner = (values.columns.get_loc(cell.width), values.index.get_loc(cell.depth))
        axes.add_patch(Rectangle(corner, 1, 1, hatch=HATCHES[1], facecolor="0.85", edgecolor="0.6",
                                 linewidth=0))
    return image


def _cell_text(mean: str, cell: tuple) -> str:
    known = [] if np.isnan(cell.low) else [f"[{100 * cell.low:.0f}, {100 * cell.high:.0f}]"]
    left_out = [f"{cell.left_out}/{cell.n} out"] if cell.left_out else []
    return "\n".join([mean, *known, *left_out])


@styled
def draw_shots(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw score by number of demonstrations, one panel per suite; also return `table`.

    `table` is from `pairs.shots`; hollow markers are for the shortest demonstrations. The curves
    cover the samples asked with every number of them, so the context window alone lowers no curve.
    """
    suites = _present(table.suite)
    names = [f"{suite} (n = {table.common[table.suite == suite].max()})" for suite in suites]
    figure, drawn = panels(len(suites), 2.9, names=names, sharey=True)
    curves = [(arm, setting) for arm in _present(table.arm) for setting in _LINES
              if (table.setting == setting).any()]
    for axes, suite in zip(drawn, suites, strict=False):
        for index, (arm, setting) in enumerate(curves):
            is_own = (table.suite == suite) & (table.arm == arm) & (table.setting == setting)
            line, look = table[is_own], _look(table, arm)
            x = line.n_shots + offset(index, len(curves), 0.5)
            value, low, high = (100 * line[f"common_{name}"] for name in ("score", "low", "high"))
            forest(axes, x, value, low, high, filled=setting == "few-shot", upright=True,
                   label=f"{arm}, {setting}", line=THIN, linestyle=_LINES[setting], **look)
            _crosses(axes, line, "common_score", x, look["color"], 100, upright=True)
        axes.set(xlabel="Demonstrations", ylim=(-4, 104), xticks=sorted(table.n_shots.unique()))
    drawn[0].set_ylabel(SCORE)
    _legend(figure, drawn[0], _ALL_QUESTIONS, columns=2)
    return figure, table


@styled
def draw_differences(table: pd.DataFrame, by: str, label: str) -> tuple[Figure, pd.DataFrame]:
    """Draw `table` (`pairs.differences`, in points) by group of `by` and arm; also return `table`.

    n counts the pairs asked both ways; crosses are over all pairs.
    """
    groups = _present(table[by])
    figure, (axes,) = panels(1, _height(table, groups))
    pairs = table.groupby(by, observed=True).n.max()
    name_rows(axes, [f"{name} (n = {pairs[name]})" for name in groups], zero=True)
    _dots(axes, table, by, groups, ("difference_points", "low_points", "high_points"), 1)
    axes.set_xlabel(label)
    _legend(figure, axes, _ALL_QUESTIONS)
    return figure, table


def _dots(axes: Axes, cells: pd.DataFrame, by: str, groups: list[str], columns: Sequence[str],
          scale: float) -> None:
    """Draw a marker per arm and group; `columns` are value, low and high, times `scale`."""
    arms = _present(cells.arm)
    for index, arm in enumerate(arms):
        own, look = cells[cells.arm == arm], _look(cells, arm)
        y = pd.Series([groups.index(name) + offset(index, len(arms), 0.72) for name in own[by]],
                      own.index)
        value, low, high = (scale * own[column] for column in columns)
        forest(axes, y, value, low, high, filled=low.notna(), label=arm, line=THIN, **look)
        if columns[0] in _CROSSES:
            _crosses(axes, own, columns[0], y, look["color"], scale)


def _crosses(axes: Axes, cells: pd.DataFrame, column: str, places: pd.Series, color: tuple,
             scale: float, *, upright: bool = False) -> None:
    """Draw a cross in each row in which it covers more or fewer questions than the marker."""
    other, n, own_n = _CROSSES[column]
    shown = cells[cells[n] != cells[own_n]]
    at = (places[shown.index], scale * shown[other])
    axes.plot(*(at if upright else at[::-1]), "x", color=color, markersize=4.5)


def _legend(figure: Figure, axes: Axes, crosses: str, columns: int = 5) -> None:
    if any(line.get_marker() == "x" and len(line.get_xdata())
           for part in figure.axes for line in part.lines):
        axes.plot([], [], "x", color="0.3", markersize=4.5, label=crosses)
    legend(figure, axes, columns)


def _look(table: pd.DataFrame, arm: str) -> dict:
    if arm == BLIND:
        return _BLIND | {"markersize": 4.5}
    return marker(list(table.arm.cat.categories).index(arm)) | {"markersize": 4.5}


def _present(column: pd.Series) -> list[str]:
    """Return the categories that occur in a column, in their order."""
    return [name for name in column.cat.categories if (column == name).any()]


def _height(table: pd.DataFrame, groups: list[str]) -> float:
    return 0.8 + len(groups) * (0.1 + 0.07 * len(_present(table.arm)))
