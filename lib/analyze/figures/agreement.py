"""Draw judges' preferences, their agreement with each other and a person, and list items (4.4)."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from lib.analyze.figures.style import (
    bars,
    forest,
    legend,
    marker,
    name_rows,
    offset,
    panels,
    styled,
)
from lib.core.arms import ALL, sorted_arms
from lib.core.records import STRUCTURES
from lib.judge.pairs import CRITERIA, OUTCOMES


@styled
def draw_preferences(table4: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw shares of A, B and tie by structure for one pair of Table 4, with a panel per criterion.

    Returns the figure and what it plots; intervals are 95%.
    """
    first, second = table4.first_arm.iloc[0], table4.second_arm.iloc[0]
    labels = (f"{first} (A) is better", f"{second} (B) is better", "tie")
    places = _places(table4)
    figure, drawn = panels(len(CRITERIA), 2.7, sharey=True)
    for axes, criterion in zip(drawn, CRITERIA, strict=True):
        for index, (outcome, label) in enumerate(zip(OUTCOMES, labels, strict=True)):
            cells = table4[(table4.criterion == criterion) & (table4.outcome == outcome)]
            cells = 100 * cells.set_index("structure")[["share", "low", "high"]].reindex(places)
            x = [place + offset(index, len(OUTCOMES)) for place in range(len(places))]
            bars(axes, x, cells.share, cells.low, cells.high, width=0.25, label=label, index=index)
        axes.set_xticks(range(len(places)), places, rotation=30, ha="right", rotation_mode="anchor")
        axes.set_xlabel(criterion)
    drawn[0].set(ylabel="Queries (%)", ylim=(0, 105))
    legend(figure, drawn[0])
    return figure, table4


def draw_agreement(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw agreement, kappa and AC1 over all arms by structure, with a marker per pair of judges.

    `table` is `agreement` of each pair, as lib.analyze.agreement.coefficients.stacked returns it.
    Returns the figure and the rows that it plots; intervals are 95%.
    """
    table = table[table.arm == ALL]
    table = table.assign(pair=table.first_judge + " and " + table.second_judge)
    measures = {"agreement": "Agreement (share)", "kappa": "Cohen's kappa", "ac1": "Gwet's AC1"}
    return _dots(table, "pair", list(table.pair.unique()), measures), table


def draw_items(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw complete lists, recall and precision by structure and arm, with 95% intervals."""
    measures = {"strict": "Complete lists (share)", "recall": "Recall (mean)",
                "precision": "Precision (mean)"}
    return _dots(table, "arm", sorted_arms(table.arm), measures), table


def draw_human(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw agreement with the person, AC1 and leniency by judge, with 95% intervals."""
    measures = {"agreement": "Agreement (share)", "ac1": "Gwet's AC1",
                "leniency": "Leniency (share)"}
    return _dots(table, "judge", list(table.judge.unique()), measures), table


def _places(table: pd.DataFrame) -> list[str]:
    n = table.n if "n" in table else pd.Series(1, table.index)
    return [name for name in (*STRUCTURES, ALL) if n[table.structure == name].sum()]


@styled
def _dots(table: pd.DataFrame, within: str, groups: list[str], measures: dict[str, str]) -> Figure:
    """Draw a panel per measure, with structures from top to bottom and a marker per group."""
    places = _places(table)
    height = 0.75 + 0.22 * len(places) * (1 + 0.5 * len(groups))
    figure, drawn = panels(len(measures), height, sharey=True)
    for axes, (measure, label) in zip(drawn, measures.items(), strict=True):
        columns = [measure, f"{measure}_low", f"{measure}_high"]
        _limit(axes, table[columns], is_signed=measure == "leniency")
        axes.axvline(0, color="0.6", linewidth=0.8, zorder=0)
        for index, group in enumerate(groups):
            cells = table[table[within] == group].set_index("structure")[columns].reindex(places)
            y = [place + offset(index, len(groups)) for place in range(len(places))]
            forest(axes, y, *(cells[column] for column in columns), label=group, markersize=4.5,
                   **marker(index))
        axes.set_xlabel(label)
    name_rows(drawn[0], places)
    legend(figure, drawn[0], columns=3)
    return figure


def _limit(axes: Axes, values: pd.DataFrame, *, is_signed: bool) -> None:
    """Set the range from 0 (or a lower value) to 1, or a symmetric one if the measure is signed."""
    if is_signed:
        reach = max(0.05, 1.1 * values.abs().max().max())
        axes.set_xlim(-reach, reach)
    else:
        axes.set_xlim(min(0.0, values.min().min()) - 0.03, 1.05)
        axes.xaxis.set_major_locator(MultipleLocator(0.5))
