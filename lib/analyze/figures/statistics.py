"""Draw the statistics: differences with intervals, what n queries show, seeds and queries."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lib.analyze.figures.style import (
    COLORS,
    forest,
    intervals,
    legend,
    marker,
    name_rows,
    offset,
    panels,
    right_of,
    styled,
)
from lib.analyze.statistics.power import (
    ARMS_COMPARED,
    BASELINES,
    DISCORDANT,
    STRUCTURES_COMPARED,
    assumption,
    smallest_difference,
    smallest_independent_difference,
)
from lib.core.arms import ALL
from lib.core.records import STRUCTURES

_LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))


@styled
def draw_paired(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw a forest of paired differences in points; filled if the arms differ (see `paired`).

    Each pair of arms has a panel, and each structure a row, with the discordant pairs (only first /
    only second) and n on the right.
    """
    pairs = list(dict.fromkeys(zip(table["first"], table.second, strict=True)))
    present = _present(table)
    figure, drawn = panels(len(pairs), 0.7 + max(1, len(pairs)) * (0.3 + 0.2 * len(present)),
                           names=[f"{second} – {first}" for first, second in pairs],
                           in_column=True, sharex=True)
    for axes, (first, second) in zip(drawn, pairs, strict=False):
        cells = table[(table["first"] == first) & (table.second == second) & (table.n > 0)]
        rows = [present.index(structure) for structure in cells.structure]
        for row, cell in zip(rows, cells.itertuples(), strict=True):
            forest(axes, [row], [cell.difference_points], [cell.low_points], [cell.high_points],
                   filled=cell.differs, **marker(row))
        right_of(axes, rows, [f"{cell.only_first} / {cell.only_second}, {cell.n}"
                              for cell in cells.itertuples()], f"only {first} / only {second}, n")
        name_rows(axes, present, zero=True)
    drawn[-1].set_xlabel("Difference in accuracy (points); filled: Holm p ≤ 5%, interval without 0")
    return figure, table


@styled
def draw_power(table: pd.DataFrame, power: float) -> tuple[Figure, pd.DataFrame]:
    """Draw the smallest difference that n queries show, by assumption.

    Left: between arms. Right: between structures of equal n. Curves start at the smallest n with
    enough power; thin vertical lines mark each n of `table` (statistics.power.power_table). The
    returned frame has the curves in columns compares, assumed, n and smallest_points.
    """
    lines = _power_lines(table, power)
    figure, drawn = panels(2, 3.7, sharey=True)
    for axes, compares, side in zip(drawn, (ARMS_COMPARED, STRUCTURES_COMPARED),
                                    ("left", "right"), strict=True):
        curves = lines[lines.compares == compares].groupby("assumed", sort=False, dropna=False)
        for index, (assumed, line) in enumerate(curves):
            axes.plot(line.n, line.smallest_points, color=COLORS[index],
                      linestyle=_LINES[index % len(_LINES)], label=assumption(compares, assumed))
        _sizes(axes, table[(table.compares == ARMS_COMPARED)
                           & ((table.structure != ALL) | (side == "left"))])
        axes.set(xscale="log", ylim=(0, 75), xlabel="Queries" if side == "left"
                 else "Queries in each structure")
        axes.set_xticks(ticks := [10, 20, 50, 100, 200, 500, 1000], map(str, ticks))
        axes.minorticks_off()
        legend(figure, axes, columns=2, loc=f"outside upper {side}")
    drawn[0].set_ylabel(f"Smallest difference shown\nwith {power:.0%} power (points)")
    return figure, lines


def _power_lines(table: pd.DataFrame, power: float) -> pd.DataFrame:
    sizes = sorted({*np.geomspace(6, 1000, 45).round().astype(int), *table.n[table.n > 0]})
    shares, lower = (list(table.assumed[table.compares == compares].dropna().unique())
                     for compares in (ARMS_COMPARED, STRUCTURES_COMPARED))
    rows = [(ARMS_COMPARED, share, n, 100 * smallest_difference(n, share, power))
            for share in (None, *(shares or DISCORDANT)) for n in sizes]
    rows += [(STRUCTURES_COMPARED, share, n,
              100 * smallest_independent_difference(n, n, share, power))
             for share in lower or BASELINES for n in sizes]
    return pd.DataFrame(rows, columns=["compares", "assumed", "n", "smallest_points"])


def _sizes(axes: Axes, table: pd.DataFrame) -> None:
    """Draw a thin, named line at every study's n, with the first study's names on its right."""
    studies = table.drop_duplicates(["study", "structure"]).groupby("study", sort=False)
    for index, (study, cells) in enumerate(studies):
        for n, structures in cells.groupby("n").structure:
            axes.axvline(n, color="0.6", linewidth=0.6, linestyle=("-", ":")[index % 2])
            is_each = set(STRUCTURES) <= set(structures)
            name = "each structure" if is_each else ", ".join(structures)
            axes.annotate(f"{study}: {name} ({n})", (n, 1), (1 - 2 * index, -1), rotation=90,
                          va="top", ha="right" if index else "left", fontsize=8, color="0.3",
                          xycoords=("data", "axes fraction"), textcoords="offset points")


@styled
def draw_seeds(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw accuracy by structure and arm: means with 95% intervals, and single seeds as crosses.

    The thin interval covers queries alone, the thick one (with several seeds) also seeds.
    """
    arms, present = list(table.arm.unique()), _present(table)
    figure, (axes,) = panels(1, 2.8)
    for index, arm in enumerate(arms):
        cells = table[(table.arm == arm) & (table.n > 0)]
        x = [present.index(name) + offset(index, len(arms)) for name in cells.structure]
        _seeds_of_arm(axes, cells, x, arm, index)
    n = table.groupby("structure").n.max()
    axes.set_xticks(range(len(present)), [f"{name}\n(n = {n[name]})" for name in present])
    axes.set_ylim(bottom=0)
    axes.set_ylabel("Accuracy (%)")
    legend(figure, axes)
    return figure, table


def _seeds_of_arm(axes: Axes, cells: pd.DataFrame, x: list[float], arm: str, index: int) -> None:
    look, seeds, mean = marker(index), cells.seeds.max(), 100 * cells["mean"]
    if seeds > 1:
        intervals(axes, x, mean, 100 * cells.low, 100 * cells.high, upright=True,
                  elinewidth=2.4, ecolor=look["color"], capsize=0)
        for place, each in zip(x, cells.each, strict=True):
            axes.plot([place + 0.07] * len(each), np.multiply(100, each), "x", color="black",
                      markersize=3.5)
    forest(axes, x, mean, 100 * cells.low_queries, 100 * cells.high_queries, upright=True,
           label=f"{arm}, {seeds} seeds" if seeds > 1 else arm, markersize=4.5,
           clip_on=False, **look)


def _present(table: pd.DataFrame) -> list[str]:
    return [name for name in (*STRUCTURES, ALL) if table.n[table.structure == name].sum()]
