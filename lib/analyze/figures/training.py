"""Draw a training run: loss and gradient norm, and accuracy between its epochs."""

import pandas as pd
from matplotlib.figure import Figure

from lib.analyze.figures.style import COLORS, MARKERS, legend, panels, styled
from lib.core.records import STRUCTURES
from lib.train.curve import Acquired


@styled
def draw_training(epochs: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw training and validation loss (left) and gradient norm (right) against epoch."""
    figure, (left, right) = panels(2, 2.3)
    lines = (("loss", "training", "-o"), ("validation_loss", "validation", "--s"))
    for index, (column, label, style) in enumerate(lines):
        if column in epochs:
            left.plot(epochs.epoch, epochs[column], style, color=COLORS[index], label=label,
                      markersize=2.5)
    right.plot(epochs.epoch, epochs.gradient_norm, "-o", color=COLORS[2], markersize=2.5)
    left.set_yscale("log")
    left.set(xlabel="Epoch", ylabel="Loss (nats per token)")
    right.set(xlabel="Epoch", ylabel="Gradient norm", ylim=(0, None))
    legend(figure, left)
    return figure, epochs


@styled
def draw_acquisition(rows: list[Acquired]) -> tuple[Figure, pd.DataFrame]:
    """Draw accuracy in percent against epoch by structure.

    There is no band: queries of one document are not independent, and the rows have only counts.
    """
    plotted = pd.DataFrame([row.model_dump() for row in rows])
    plotted["accuracy"] = plotted.correct / plotted.n
    figure, (axes,) = panels(1, 2.5)
    for color, symbol, structure in zip(COLORS, MARKERS, STRUCTURES, strict=False):
        line = plotted[plotted.structure == structure]
        if not line.empty:
            axes.plot(line.epoch, 100 * line.accuracy, marker=symbol, color=color, markersize=3.5,
                      label=f"{structure} (n = {line.n.max()})")
    axes.set(xlabel="Epoch", ylabel="Accuracy (%)", ylim=(0, None))
    axes.locator_params(axis="x", integer=True)
    legend(figure, axes)
    return figure, plotted
