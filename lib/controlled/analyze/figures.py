"""Figures of the controlled experiment: contrasts, interventions, factors, heat maps, acquisition; all with intervals.

Of many structures the smaller figures show some, and the table beside each figure has all.
"""

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lib.analyze.figures.style import COLORS, INTERVAL, STYLE, WIDTH
from lib.analyze.format import p_value
from lib.controlled.analyze.contrasts import is_found
from lib.controlled.analyze.factors import DISTANCE, FILLERS, KIND, LENGTH, PHRASINGS, SECTION, TABLE
from lib.controlled.analyze.interventions import CONTROL, FACTOR, INTERVENTION
from lib.controlled.analyze.rows import MEASURES, NATS, POINTS, RAW
from lib.controlled.design.structures import STRUCTURES
from lib.core.arms import ALL
from lib.core.records import STRUCTURES as OF_THE_PAPER

_MARKERS = "os^Dv<>PXphd*8H"
_LINES = ("-", "--", ":")
_FEW = 5  # structures that fit side by side


def look(structure: str) -> dict:
    """Colour, marker and line of a structure, the same in every figure and study."""
    names = [*STRUCTURES, ALL]
    place = names.index(structure) if structure in names else len(names)
    color = "0.35" if structure == ALL else COLORS[place % len(COLORS)]
    return {"color": color, "marker": _MARKERS[place % len(_MARKERS)], "linestyle": _LINES[place // len(COLORS) % 3],
            "markeredgecolor": "black", "markeredgewidth": 0.6, "markersize": 5}


def _reach(middle: pd.Series, low: pd.Series, high: pd.Series) -> np.ndarray:
    """Lengths below and above, shape (2, n); 0 where an end is not known, and rounding never makes one negative."""
    return np.nan_to_num(np.clip([middle - low, high - middle], 0, None))


def _shown(structures: pd.Series) -> list[str]:
    """The structures that are there, in their fixed order; of many, the paper's three (the tables have all)."""
    found = set(structures)
    return [name for name in STRUCTURES if name in found and (len(found) <= _FEW or name in OF_THE_PAPER)]


def draw_contrasts(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Forest of structure - reference within fact, a panel a measure; filled where contrasts.is_found.

    Below strict accuracy the GEE stands as a cross with its thinner interval; at the right p by permutation, Holm's
    p, and how many facts. What is not known has no line, or no marker. Many structures have three of the measures.
    """
    names = ("correct", "stored", "loglik") if table.structure.nunique() > _FEW else tuple(MEASURES)
    measures = [name for name in names if table.estimate[table.measure == name].notna().any()]
    each = [max(1, (table.measure == name).sum()) for name in measures] or [1]
    with mpl.rc_context(STYLE):
        height = 0.5 + sum(0.24 * n + 0.42 for n in each)
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        panels = figure.subplots(len(each), 1, squeeze=False, height_ratios=[n + 0.6 for n in each])[:, 0]
        points = [axes for axes, name in zip(panels, measures, strict=False) if MEASURES[name].unit == POINTS]
        for axes in points[1:]:
            axes.sharex(points[0])
        for axes in points[:-1]:
            axes.tick_params(labelbottom=False)
        for axes, name in zip(panels, measures, strict=False):
            _forest(axes, table[table.measure == name].reset_index(drop=True))
            axes.annotate(f"{MEASURES[name].label}, {MEASURES[name].unit}", (0, 1), (0, 3), xycoords="axes fraction",
                          textcoords="offset points", fontsize=8.5)
        panels[0].annotate("p, Holm p, n", (1, 1), (4, 3), xycoords="axes fraction", textcoords="offset points",
                           fontsize=8)
        reference = table.reference.iloc[0] if len(table) else "the reference"
        panels[-1].set_xlabel(f"Difference to {reference} on the same facts (×: GEE)\n"
                              "filled: Holm p ≤ 5% and the interval over seeds without 0")
    return figure, table


def _forest(axes: Axes, cells: pd.DataFrame) -> None:
    axes.axvline(0, color="0.5", linewidth=0.8)
    for row in cells.itertuples():
        style = look(row.structure) | {"linestyle": "none"}
        if not np.isnan(row.low):
            axes.errorbar(row.estimate, row.Index, xerr=_reach(*(pd.Series([value]) for value in (
                row.estimate, row.low, row.high))), **INTERVAL)
        axes.plot(row.estimate, row.Index, **style, markerfacecolor=style["color"] if is_found(row) else "white")
        if not np.isnan(row.gee_low):
            axes.errorbar(row.gee_points, row.Index + 0.3, xerr=_reach(*(pd.Series([value]) for value in (
                row.gee_points, row.gee_low, row.gee_high))), **INTERVAL | {"elinewidth": 0.6, "capsize": 1.5})
            axes.plot(row.gee_points, row.Index + 0.3, "x", color="black", markersize=4)
        axes.annotate(f"{p_value(row.p)}, {p_value(row.p_holm)}, {row.n}", (1, row.Index), (4, 0), fontsize=8,
                      xycoords=("axes fraction", "data"), textcoords="offset points", va="center")
    axes.set_yticks(range(len(cells)), cells.structure)
    axes.set_ylim(max(1, len(cells)) - 0.4, -0.5)
    if len(cells) and cells.unit[0] == NATS:
        axes.margins(x=0.15)


def draw_interventions(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Gain of every arm over raw text by structure (left), and over all against the tokens that it adds (right).

    Numbers at the right name the arms of the left; factors, which add no treatment, are left out there. A gain whose
    interval is not known is a marker alone. Of many structures only "all" is drawn.
    """
    arms, structures = list(table.arm.unique()), list(table.structure.unique())
    structures = structures if len(structures) <= _FEW else [ALL]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 1.1 + max(3, len(arms)) * (0.16 + 0.085 * len(structures))),
                        layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
        for index, structure in enumerate(structures):
            cells = table[(table.structure == structure) & table.gain_points.notna()]
            y = [arms.index(arm) + (index - (len(structures) - 1) / 2) * 0.76 / len(structures) for arm in cells.arm]
            left.errorbar(cells.gain_points, y, xerr=_reach(cells.gain_points, cells.low_points, cells.high_points),
                          **INTERVAL | {"elinewidth": 0.7, "capsize": 1.5})
            left.plot(cells.gain_points, y, **look(structure) | {"linestyle": "none", "markersize": 4},
                      label=structure)
        left.axvline(0, color="0.5", linewidth=0.8)
        left.set_yticks(range(len(arms)), [f"{arm}  {number}" for number, arm in enumerate(arms, 1)])
        left.set_ylim(max(1, len(arms)) - 0.5, -0.5)
        left.set_xlabel("Gain over raw (points)")
        _against_tokens(right, table[(table.structure == ALL) & table.gain_points.notna()
                                     & (table.role != FACTOR)], arms)
        figure.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=min(5, len(structures) or 1))
    return figure, table


def _against_tokens(axes: Axes, cells: pd.DataFrame, arms: list[str]) -> None:
    looks = {INTERVENTION: ("o", COLORS[4]), CONTROL: ("D", "0.6")}
    axes.axhline(0, color="0.5", linewidth=0.8)
    axes.errorbar(cells.tokens_added_percent, cells.gain_points,
                  yerr=_reach(cells.gain_points, cells.low_points, cells.high_points),
                  **INTERVAL | {"elinewidth": 0.7, "capsize": 1.5})
    for name, (marker, color) in looks.items():
        of_it = cells[cells.role == name]
        if len(of_it):
            axes.plot(of_it.tokens_added_percent, of_it.gain_points, marker, color=color, markeredgecolor="black",
                      markersize=4.5, label=name)
    for index, row in enumerate(cells.sort_values("tokens_added_percent").itertuples()):
        axes.annotate(f"{arms.index(row.arm) + 1}", (row.tokens_added_percent, row.gain_points),
                      ((3, 2), (-3, 2))[index % 2], textcoords="offset points", fontsize=8,
                      ha=("left", "right")[index % 2])
    axes.set(xlabel="Tokens added in all epochs (%)", ylabel="Gain over raw, all facts (points)")
    if len(cells):
        axes.legend(fontsize=8, handletextpad=0.1, borderaxespad=0, loc="best")


def draw_factors(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Accuracy in percent by level of a factor and structure, a panel a factor that has two levels or more.

    Of many structures the paper's three are drawn.
    """
    wanted = [name for name in (LENGTH, KIND, SECTION, DISTANCE, PHRASINGS, FILLERS) if table.level[
        table.factor == name].nunique() > 1]
    structures = _shown(table.structure)
    with mpl.rc_context(STYLE):
        rows = max(1, -(-len(wanted) // 2))
        figure = Figure(figsize=(WIDTH, 0.5 + 2.1 * rows), layout="constrained")
        panels = figure.subplots(rows, 2, sharey=True, squeeze=False).ravel()
        for axes, factor in zip(panels, wanted, strict=False):
            cells = table[table.factor == factor]
            levels = list(cells.level.unique())
            for index, structure in enumerate(structures):
                line = cells[cells.structure == structure]
                x = [levels.index(level) + (index - (len(structures) - 1) / 2) * 0.5 / len(structures)
                     for level in line.level]
                axes.errorbar(x, line.accuracy, yerr=_reach(line.accuracy, line.low, line.high), **INTERVAL)
                axes.plot(x, line.accuracy, **look(structure), label=structure)
            n = cells.groupby("level").n.max()
            axes.set_xticks(range(len(levels)), [f"{level}\nn = {n[level]}" for level in levels])
            axes.set(xlabel=factor[:1].upper() + factor[1:], xlim=(-0.6, len(levels) - 0.4))
        for axes in panels[len(wanted):]:
            axes.set_axis_off()
        for axes in panels[:len(wanted):2]:
            axes.set_ylabel("Accuracy (%)")
        if wanted:
            drawn = table[table.factor.isin(wanted) & table.structure.isin(structures)]
            panels[0].set_ylim(0, 1.05 * max(1.0, drawn[["accuracy", "high"]].max(axis=None)))  # of all: they share it
            figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center",
                          ncols=min(5, len(structures)))
    return figure, table


def draw_heat(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Heat maps of accuracy in percent: structure x items of a list, and width x height of catalogue tables.

    A cell says accuracy, its 95% interval and the number of facts. The second map is there where table arms are.
    """
    lists = table[table.factor == LENGTH]
    tables = table[(table.factor == TABLE) & (table.level != RAW)]
    size = tables.level.str.split("x", expand=True).reindex(columns=[0, 1]).astype(float)
    tables = tables.assign(width=size[0], height=size[1]).sort_values(["width", "height"])
    maps = [("Items of a list", "", lists, "structure", "level"),
            ("Height of the table (products)", "Width (attributes)", tables, "width", "height")]
    maps = [one for one in maps if len(one[2])]
    with mpl.rc_context(STYLE):
        shapes = [(one[2][one[3]].nunique(), one[2][one[4]].nunique()) for one in maps] or [(1, 1)]
        figure = Figure(figsize=(WIDTH, 0.9 + 0.5 * max(rows for rows, _ in shapes)), layout="constrained")
        panels = figure.subplots(1, len(shapes), squeeze=False, width_ratios=[max(2, columns) for _, columns in shapes])
        top = np.nanmax([0, *lists.accuracy, *tables.accuracy]) or 100
        for axes, (xlabel, ylabel, cells, rows, columns) in zip(panels[0], maps, strict=False):
            image = _map(axes, cells, rows, columns, top)
            axes.set(xlabel=xlabel, ylabel=ylabel)
        if maps:
            figure.colorbar(image, ax=panels[0], label="Accuracy (%)", fraction=0.05)
    return figure, pd.concat([lists, tables], ignore_index=True)


def _map(axes: Axes, cells: pd.DataFrame, rows: str, columns: str, top: float):
    names = [[*cells[column].unique()] for column in (rows, columns)]
    names = [sorted(each) if all(isinstance(name, float) for name in each) else each for each in names]
    grid = np.full([len(each) for each in names], np.nan)
    for cell in cells.itertuples():
        at = names[0].index(getattr(cell, rows)), names[1].index(getattr(cell, columns))
        grid[at] = cell.accuracy
        color = "white" if cell.accuracy < 0.6 * top else "black"
        axes.annotate(f"{cell.accuracy:.1f}\n[{cell.low:.0f}, {cell.high:.0f}]\nn = {cell.n}", at[::-1], ha="center",
                      va="center", fontsize=8, color=color, linespacing=0.95)
    image = axes.imshow(grid, aspect="auto", cmap="cividis", vmin=0, vmax=top)
    labels = [[f"{name:g}" if isinstance(name, float) else name for name in each] for each in names]
    axes.set_yticks(range(len(labels[0])), labels[0])
    axes.set_xticks(range(len(labels[1])), labels[1])
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    return image


def draw_acquisition(table: pd.DataFrame, arms: tuple[str, ...] = (RAW,)) -> tuple[Figure, pd.DataFrame]:
    """What is learned against epoch by structure, with 95% bands: answers likeliest (left), nats a token (right).

    A row an arm of `arms` that is in the table. Of many structures the paper's three are drawn.
    """
    shown = [arm for arm in arms if (table.arm == arm).any()]
    sides = (("likeliest", "Reference answer likeliest (%)"), ("loglik", "Log-likelihood\n(nats a token)"))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 0.5 + 2.2 * max(1, len(shown))), layout="constrained")
        panels = figure.subplots(max(1, len(shown)), 2, squeeze=False, sharex=True)
        for arm, pair in zip(shown, panels, strict=False):
            for axes, (measure, label) in zip(pair, sides, strict=True):
                cells = table[(table.arm == arm) & (table.measure == measure)]
                for structure in _shown(cells.structure):
                    line = cells[cells.structure == structure]
                    style = look(structure)
                    axes.fill_between(line.epoch, line.low, line.high, color=style["color"], alpha=0.15, lw=0)
                    axes.plot(line.epoch, line.estimate, **style | {"markersize": 4}, label=structure)
                axes.set_ylabel(f"{arm}: {label[:1].lower() + label[1:]}" if len(shown) > 1 else label)
                axes.locator_params(axis="x", integer=True)
        for axes in panels[-1]:
            axes.set_xlabel("Epoch")
        handles = panels[0, 0].get_legend_handles_labels()
        if handles[0]:
            figure.legend(*handles, loc="outside upper center", ncols=min(5, len(handles[0])))
    return figure, table
