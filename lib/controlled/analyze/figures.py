"""Figures of the controlled experiment, all with intervals over bases."""

import pandas as pd
from matplotlib.figure import Figure

from lib.analyze.figures import style
from lib.analyze.figures.plots import draw_forest
from lib.analyze.format import DASH
from lib.controlled.analyze.rows import MEASURES
from lib.controlled.design.arms import RAW
from lib.core.structures import STRUCTURES, structure_label

ESTIMATE = ("estimate", "low", "high")


def draw_contrasts(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw a forest of structure - reference within fact, one panel per measure."""
    heads = [f"{MEASURES[name].label}, {MEASURES[name].unit}" for name in table.measure]
    reference = structure_label(table.reference.iloc[0])
    label = f"Difference to {reference} on the same facts (95% over bases)"
    return draw_forest(
        table.assign(head=heads), ESTIMATE, "structure", panel="head", label=label, sharex=False
    ), table


def draw_gains(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw each gain by structure, with the tokens that it adds to training."""
    added = [DASH if pd.isna(share) else f"{share:+.0f}%" for share in table.tokens_added_percent]
    names = table.arm + " − " + table["first"] + " (" + added + " tokens)"
    return draw_forest(
        table.assign(name=names),
        ESTIMATE,
        "name",
        series="structure",
        label="Gain (points, 95% over bases)",
    ), table


def draw_augmentations(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw each arm's accuracy by structure on the facts that have no pair in any arm."""
    columns = ("unpaired_percent", "unpaired_low", "unpaired_high")
    return draw_forest(
        table, columns, "arm", series="structure", label="Accuracy, no pair (%, 95% over bases)"
    ), table


@style.styled
def draw_acquisition(table: pd.DataFrame, arm: str = RAW) -> tuple[Figure, pd.DataFrame]:
    """Draw acquisition by epoch and structure, with 95% bands: percent (left) and nats (right)."""
    sides = (
        ("likeliest", "Reference answer is argmax (%)"),
        ("loglik", "Log-likelihood\n(nats per token)"),
    )
    figure, panels = style.panels(2, 2.7)
    for axes, (measure, label) in zip(panels, sides, strict=True):
        cells = table[(table.arm == arm) & (table.measure == measure)]
        for index, structure in enumerate(STRUCTURES):
            line = cells[cells.structure == structure]
            look = style.marker(index)
            axes.fill_between(
                line.epoch, line.low, line.high, color=look["color"], alpha=0.15, lw=0
            )
            name = structure_label(structure)
            axes.plot(line.epoch, line.estimate, markersize=4, label=name, **look)
        axes.set(xlabel="Epoch", ylabel=label)
        axes.locator_params(axis="x", integer=True)
    style.legend(figure, panels[0])
    return figure, table
