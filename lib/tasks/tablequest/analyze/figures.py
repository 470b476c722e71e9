"""Draw TableQuest's figures: accuracy by form, ratings, failures, lengths of prompts."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, MultipleLocator

from lib.analyze.figures.style import (
    COLORS,
    forest,
    legend,
    marker,
    name_rows,
    offset,
    panels,
    styled,
)
from lib.core.arms import ALL
from lib.tasks.tablequest.analyze.failures import ANSWERED, MODES, RIGHT
from lib.tasks.tablequest.analyze.ratings import START
from lib.tasks.tablequest.records import LEVELS

_DASHES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))
_FIRST = "right\n(hard: answered)"


def draw_accuracy(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw accuracy in percent by form with 95% intervals, one panel per level."""
    plotted = table[table.n > table.unscored]
    plotted = plotted.assign(place=plotted.form, value=100 * plotted.accuracy,
                             left=100 * plotted.low, right=100 * plotted.high)
    return _percentages(plotted, "Accuracy (%)"), plotted


def draw_failures(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw the share of each mode in percent with 95% intervals, one panel per level."""
    place = table["mode"].replace({RIGHT: _FIRST, ANSWERED: _FIRST})
    plotted = table.assign(place=place, value=100 * table.share, left=100 * table.low,
                           right=100 * table.high)
    order = {mode: place for place, mode in enumerate((_FIRST, *MODES))}
    plotted = plotted.sort_values("place", key=lambda places: places.map(order), kind="stable")
    return _percentages(plotted, "Answers (%)"), plotted


@styled
def draw_ratings(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw ratings by arm, one panel per level.

    Bradley–Terry has 95% intervals over passages; ELO has 95% intervals over orders of the matches.
    A rating known only as a bound is a hollow marker there, with its side ("≥" or "≤").
    """
    kinds = {"Bradley–Terry (95% over passages)": ("bradley_terry", "low", "high"),
             "sequential ELO (median and 95% of orders)": ("elo", "elo_low", "elo_high")}
    table = table.replace([np.inf, -np.inf], np.nan)
    plotted = pd.concat([table[["level", "arm"]].assign(
        place=table.arm, estimate=kind, value=table[value].fillna(table[low]).fillna(table[high]),
        left=table[low], right=table[high], filled=table[value].notna(),
        text=np.select([table[value].notna(), table[low].notna()], ["", "≥"], "≤"))
        for kind, (value, low, high) in kinds.items()], ignore_index=True)
    plotted = plotted[plotted.value.notna()]
    plotted = plotted.assign(left=plotted.left.fillna(plotted.value),
                             right=plotted.right.fillna(plotted.value))
    figure = _points(plotted, (*LEVELS, ALL), "estimate", "Rating", sharex=True)
    for axes in figure.axes:
        axes.axvline(START, color="0.6", linewidth=0.8, zorder=0)
    return figure, plotted


@styled
def draw_lengths(rows: pd.DataFrame,
                 windows: Mapping[str, int | None]) -> tuple[Figure, pd.DataFrame]:
    """Draw the share of prompts up to each length, by form and level, and each arm's window.

    `rows` are those of `prompt_lengths`; lengths are in tokens, or in words without a window.
    """
    unit = "tokens" if "tokens" in rows else "words"
    groups = [cell.assign(length=cell[unit].sort_values().to_numpy(),
                          share=[100 * (rank + 1) / len(cell) for rank in range(len(cell))])
              for _, cell in rows.groupby(["level", "form"], sort=False)]
    plotted = pd.concat(groups)[["level", "form", "length", "share"]].reset_index(drop=True)
    limits: dict[int, list[str]] = {}
    for arm, window in windows.items():
        if window and unit == "tokens":
            limits.setdefault(int(window), []).append(arm)
    levels, forms = (list(dict.fromkeys(plotted[name])) for name in ("level", "form"))
    figure, drawn = panels(len(levels), 2.6, names=levels, sharex=True, sharey=True)
    for axes, level in zip(drawn, levels, strict=True):
        for index, form in enumerate(forms):
            cell = plotted[(plotted.level == level) & (plotted.form == form)]
            axes.step(cell.length, cell.share, where="post", label=form, color=COLORS[index],
                      linestyle=_DASHES[index % len(_DASHES)])
        for window, arms in limits.items():
            axes.axvline(window, color="0.3", linewidth=1)
            is_short = window < plotted.length.median()  # the curves are at the bottom there
            axes.annotate(f"window of {', '.join(arms)}", (window, 98 if is_short else 2), (-2, 0),
                          fontsize=7, ha="right", va="top" if is_short else "bottom", rotation=90,
                          textcoords="offset points")
        axes.set(xscale="log", ylim=(0, 103), xlabel=f"Prompt ({unit})")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    drawn[0].set_ylabel("Prompts up to this length (%)")
    legend(figure, drawn[0])
    return figure, plotted


@styled
def _percentages(plotted: pd.DataFrame, label: str, within: str = "arm") -> Figure:
    figure = _points(plotted, LEVELS, within, label)
    for axes in figure.axes:
        axes.set_xlim(-3, 103)
        axes.xaxis.set_major_locator(MultipleLocator(25))
    return figure


def _points(plotted: pd.DataFrame, levels: Sequence[str], within: str, label: str,
            **options) -> Figure:
    levels = [level for level in levels if (plotted.level == level).any()]
    places, groups = list(dict.fromkeys(plotted.place)), list(dict.fromkeys(plotted[within]))
    height = 1.1 + len(places) * max(0.26, 0.11 * len(groups))
    figure, drawn = panels(len(levels), height, names=levels, sharey=True, **options)
    for axes, level in zip(drawn, levels, strict=False):
        for index, group in enumerate(groups):
            cells = plotted[(plotted.level == level) & (plotted[within] == group)]
            y = [places.index(place) + offset(index, len(groups)) for place in cells.place]
            forest(axes, y, cells.value, cells.left, cells.right, label=group, markersize=4.5,
                   markeredgewidth=0.5, filled=cells.get("filled", True), **marker(index))
            for place, value, text in zip(y, cells.value, cells.get("text", ()), strict=False):
                axes.annotate(text, (value, place), (4, 0), textcoords="offset points",
                              fontsize=7, va="center")
        axes.set_xlabel(label)
        n_ticks = 4 if len(levels) < 4 else 3
        axes.xaxis.set_major_locator(MaxNLocator(n_ticks, steps=[1, 2, 2.5, 5, 10]))
        for line in range(1, len(places)):
            axes.axhline(line - 0.5, color="0.9", linewidth=0.6, zorder=0)
    name_rows(drawn[0], places)
    legend(figure, drawn[0], columns=4)
    return figure
