"""Figures of judges judged: preferences, agreement of judges, items of lists, judges against a person (paper, 4.4)."""

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from lib.analyze.figures.style import COLORS, HATCHES, INTERVAL, STYLE, WIDTH
from lib.core.arms import ALL, sorted_arms
from lib.core.records import STRUCTURES
from lib.judge.pairs import CRITERIA, OUTCOMES

MARKERS = ("o", "s", "^", "D", "v", "P")


def draw_preferences(table4: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Shares of A, B and tie of one pair of arms by structure, a panel a criterion, with Wilson 95% intervals.

    The frame is the pair's rows of lib.judge.pairs.table4; a cell where nothing was scored has a dash.
    """
    first, second = table4.first_arm.iloc[0], table4.second_arm.iloc[0]
    labels = dict(zip(OUTCOMES, (f"{first} (A) is better", f"{second} (B) is better", "tie"), strict=True))
    places = _places(table4)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 2.7), layout="constrained")
        panels = figure.subplots(1, len(CRITERIA), sharey=True)
        for axes, criterion in zip(panels, CRITERIA, strict=True):
            for index, outcome in enumerate(OUTCOMES):
                cells = table4[(table4.criterion == criterion) & (table4.outcome == outcome)]
                cells = cells.set_index("structure").reindex(places)
                x = [place + (index - 1) * 0.27 for place in range(len(places))]
                axes.bar(x, 100 * cells.share, 0.25, label=labels[outcome], facecolor=COLORS[index],
                         hatch=HATCHES[index], edgecolor="black", linewidth=0.6)
                _errors(axes, x, 100 * cells.share, 100 * cells.low, 100 * cells.high, is_upright=True)
            axes.set_xticks(range(len(places)), places, rotation=30, ha="right", rotation_mode="anchor")
            axes.set_xlabel(criterion)
        panels[0].set(ylabel="Queries (%)", ylim=(0, 105))
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(OUTCOMES))
    return figure, table4


def draw_agreement(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Agreement, kappa and AC1 by structure, a marker a pair of judges, with 95% intervals where there are any.

    The frame is what lib.analyze.agreement.coefficients.agreement gives for each pair, as lib.analyze.agreement.coefficients.stacked stacks them; only the
    rows over all arms are drawn.
    """
    table = table[table.arm == ALL].assign(pair=lambda rows: rows.first_judge + " and " + rows.second_judge)
    measures = (("agreement", "Agreement (share)"), ("kappa", "Cohen's kappa"), ("ac1", "Gwet's AC1"))
    return _dots(table, "pair", list(table.pair.unique()), measures), table


def draw_items(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Whole lists, recall and precision of entities by structure, a marker an arm, with 95% intervals."""
    measures = (("strict", "Whole lists (share)"), ("recall", "Recall (mean)"), ("precision", "Precision (mean)"))
    return _dots(table, "arm", sorted_arms(list(table.arm.unique())), measures), table


def draw_human(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Agreement with the person, AC1 and leniency by structure, a marker a judge, with 95% intervals."""
    measures = (("agreement", "Agreement (share)"), ("ac1", "Gwet's AC1"), ("leniency", "Leniency (share)"))
    return _dots(table, "judge", list(table.judge.unique()), measures), table


def _places(table: pd.DataFrame) -> list[str]:
    return [structure for structure in (*STRUCTURES, ALL)
            if ("n" not in table or table.n[table.structure == structure].sum()) and structure in set(table.structure)]


def _dots(table: pd.DataFrame, within: str, groups: list[str], measures: tuple[tuple[str, str], ...]) -> Figure:
    """A panel a measure, structures from top to bottom, a marker a group."""
    places = _places(table)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 0.75 + 0.22 * len(places) * (1 + 0.5 * len(groups))), layout="constrained")
        panels = figure.subplots(1, len(measures), sharey=True)
        for axes, (measure, label) in zip(panels, measures, strict=True):
            _limit(axes, table[[measure, f"{measure}_low", f"{measure}_high"]], is_signed=measure == "leniency")
            axes.axvline(0, color="0.6", linewidth=0.8, zorder=0)
            for index, group in enumerate(groups):
                cells = table[table[within] == group].set_index("structure").reindex(places)
                y = [place + (index - (len(groups) - 1) / 2) * 0.8 / len(groups) for place in range(len(places))]
                axes.plot(cells[measure], y, MARKERS[index % len(MARKERS)], color=COLORS[index % len(COLORS)],
                          markersize=4.5, markeredgecolor="black", markeredgewidth=0.5, label=group, zorder=3)
                _errors(axes, cells[measure], y, cells[f"{measure}_low"], cells[f"{measure}_high"])
            axes.set_xlabel(label)
        panels[0].set_yticks(range(len(places)), places)
        panels[0].set_ylim(len(places) - 0.5, -0.5)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=min(3, len(groups)))
    return figure


def _limit(axes: Axes, values: pd.DataFrame, *, is_signed: bool) -> None:
    """From 0, or below where a value is, to 1; as far to the left as to the right of 0 for a signed measure."""
    if is_signed:
        reach = max(0.05, 1.1 * values.abs().max().max())
        axes.set_xlim(-reach, reach)
    else:
        axes.set_xlim(min(0.0, values.min().min()) - 0.03, 1.05)
        axes.xaxis.set_major_locator(MultipleLocator(0.5))


def _errors(axes: Axes, x, y, low, high, *, is_upright: bool = False) -> None:
    """Intervals of the points that have one; a dash where a point upright has no value."""
    value = y if is_upright else x
    reach = [(value - low).clip(lower=0).fillna(0), (high - value).clip(lower=0).fillna(0)]
    axes.errorbar(x, y, **({"yerr": reach} if is_upright else {"xerr": reach}), **INTERVAL)
    for place in (place for place, height in zip(x, value, strict=True) if is_upright and pd.isna(height)):
        axes.annotate("–", (place, 0), (0, 1), textcoords="offset points", ha="center", va="bottom")
