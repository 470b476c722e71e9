"""Draw the funnel: how many answers are still complete after each stage before training."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lib.analyze.figures.style import bars, legend, offset, panels, styled
from lib.analyze.ledger.trace import STAGES
from lib.core.records import STRUCTURES

LABELS = {"source": "found in\nthe source", "segment": "kept by the\nsegments",
          "extraction": "segment\nextracted", "rewrite": "in the text\nto train on",
          "split": "in the\ntraining split", "block": "complete in\na block"}


@styled
def draw_funnel(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw lib.analyze.ledger.tables.funnel, with a panel per arm and a counted bar per structure.

    Returns the figure and what it plots; intervals are 95%.
    """
    arms = list(table["trained arm"].unique())
    height = 0.7 + 1.55 * max(1, len(arms))
    figure, drawn = panels(len(arms), height, names=arms, in_column=True, sharex=True)
    for axes, arm in zip(drawn, arms, strict=False):
        _draw(axes, table[table["trained arm"] == arm])
    drawn[-1].set_xticks(range(len(STAGES)), LABELS.values())
    legend(figure, drawn[0])
    return figure, table


def _draw(axes: Axes, table: pd.DataFrame) -> None:
    there = [name for name in STRUCTURES if table.n[table.structure == name].sum()]
    width = 0.84 / max(1, len(there))
    for index, structure in enumerate(there):
        cells = table[table.structure == structure].set_index("stage").loc[list(STAGES)]
        x = [place + offset(index, len(there), 0.84) for place in range(len(STAGES))]
        bars(axes, x, 100 * cells.share, 100 * cells.low, 100 * cells.high, width=0.94 * width,
             label=f"{structure} (n = {cells.n.max()})", index=STRUCTURES.index(structure))
        for place, count in zip(x, cells.alive, strict=True):
            axes.annotate(f"{count}", (place, 0), (0, 2), textcoords="offset points", ha="center",
                          va="bottom", fontsize=8,
                          bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8})
    axes.set_ylim(0, 105)
    axes.set_ylabel("Still complete (%)")
