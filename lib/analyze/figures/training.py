"""Draw a training run: loss and gradient norm."""

import pandas as pd
from matplotlib.figure import Figure

from lib.analyze.figures.style import COLORS, legend, panels, styled


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
