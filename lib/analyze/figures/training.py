"""The acquisition curve: accuracy against epoch by structure, with Wilson 95% bands."""

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure
from statsmodels.stats.proportion import proportion_confint

from lib.analyze.figures.style import COLORS, STYLE, WIDTH
from lib.core.records import STRUCTURES
from lib.train.curve import Acquired

_MARKERS = {"natural": "o", "entity-list": "s", "tabular": "^"}


def draw_acquisition(rows: list[Acquired]) -> tuple[Figure, pd.DataFrame]:
    """Accuracy in percent against epoch, a line a structure in the fixed order; the figure and what it plots."""
    plotted = pd.DataFrame([row.model_dump() for row in rows])
    plotted["accuracy"] = plotted.correct / plotted.n
    plotted["low"], plotted["high"] = proportion_confint(plotted.correct, plotted.n, method="wilson")
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 2.5), layout="constrained")
        axes = figure.subplots()
        for index, structure in enumerate(STRUCTURES):
            line = plotted[plotted.structure == structure]
            if not line.empty:
                axes.fill_between(line.epoch, 100 * line.low, 100 * line.high, color=COLORS[index], alpha=0.15, lw=0)
                axes.plot(line.epoch, 100 * line.accuracy, marker=_MARKERS[structure], color=COLORS[index],
                          label=f"{structure} (n = {line.n.max()})", markersize=3.5)
        axes.set(xlabel="Epoch", ylabel="Accuracy (%)", ylim=(0, None))
        axes.locator_params(axis="x", integer=True)
        figure.legend(loc="outside upper center", ncols=len(STRUCTURES))
    return figure, plotted
