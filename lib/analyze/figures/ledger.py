"""The funnel: how many answers are still whole at each stage on their way into an arm's training (the ledger)."""

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lib.analyze.figures.style import COLORS, HATCHES, INTERVAL, STYLE, WIDTH
from lib.analyze.ledger.trace import STAGES
from lib.core.records import STRUCTURES

LABELS = {"source": "found in\nthe source", "segment": "kept by the\nsegments", "extraction": "segment\nextracted",
          "rewrite": "in the text\nto train on", "split": "in the\ntraining split", "block": "whole in\na block"}


def draw_funnel(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Share of queries still whole at each stage, a panel an arm, a bar a structure, its count on it, Wilson 95%.

    `table` is what lib.analyze.ledger.tables.funnel gives; returns the figure and that table.
    """
    arms = list(dict.fromkeys(table["trained arm"]))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 0.7 + 1.55 * max(1, len(arms))), layout="constrained")
        panels = figure.subplots(max(1, len(arms)), 1, sharex=True, squeeze=False)[:, 0]
        for axes, arm in zip(panels, arms, strict=False):
            _draw(axes, table[table["trained arm"] == arm])
            axes.annotate(arm, (0, 1), (0, 4), xycoords="axes fraction", textcoords="offset points", fontsize=9)
        panels[-1].set_xticks(range(len(STAGES)), LABELS.values())
        handles, labels = panels[0].get_legend_handles_labels()
        if handles:
            figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
    return figure, table


def _draw(axes: Axes, table: pd.DataFrame) -> None:
    there = [name for name in STRUCTURES if table.n[table.structure == name].sum()]
    width = 0.84 / max(1, len(there))
    for index, structure in enumerate(there):
        cells = table[table.structure == structure].set_index("stage").loc[list(STAGES)]
        x = [place + (index - (len(there) - 1) / 2) * width for place in range(len(STAGES))]
        height = 100 * cells.share
        look = STRUCTURES.index(structure)
        axes.bar(x, height, 0.94 * width, label=f"{structure} (n = {cells.n.max()})", facecolor=COLORS[look],
                 hatch=HATCHES[look], edgecolor="black", linewidth=0.6)
        below, above = (height - 100 * cells.low).clip(lower=0), (100 * cells.high - height).clip(lower=0)
        axes.errorbar(x, height, yerr=[below, above], **INTERVAL)
        for place, count in zip(x, cells.alive, strict=True):
            axes.annotate(f"{count}", (place, 0), (0, 2), textcoords="offset points", ha="center", va="bottom",
                          fontsize=8, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8})
    axes.set_ylim(0, 105)
    axes.set_ylabel("Still whole (%)")
