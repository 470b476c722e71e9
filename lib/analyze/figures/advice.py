"""The figure of the advice: what my documents are made of, and what each change gains on my mix of structures."""

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lib.analyze.advice.gains import DERIVED, HERE, LABORATORY, OPEN, UNKNOWN
from lib.analyze.advice.tables import what
from lib.analyze.figures.style import COLORS, HATCHES, INTERVAL, STYLE, WIDTH

_MARKERS = {HERE: "o", DERIVED: "s", LABORATORY: "^"}
_SHARES = (("text_share", "tokens"), ("statement_share", "statements"), ("query_share", "queries"))


def draw_advice(shares: pd.DataFrame, ranked: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Shares of tokens, statements and queries by kind of block (top); gain on my mix by change, with 95% intervals.

    A change is filled where its verdict is that it helps or harms; one without a gain has no marker. Shares are
    counted, not estimated, and have no interval. Returns the figure and both frames below each other, told apart by
    `panel`. Without a change there is no bottom.
    """
    known = ranked[ranked.gain_points.notna()]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 2.0 + (0.6 + 0.23 * len(known)) * (len(known) > 0)), layout="constrained")
        if len(known):
            top, bottom = figure.subplots(2, 1, height_ratios=(6, 2 + len(known)))
            _forest(bottom, known)
        else:
            top = figure.subplots()
        _bars(top, shares)
    return figure, pd.concat([shares.assign(panel="shares"), ranked.assign(panel="gains")], ignore_index=True)


def _bars(axes: Axes, shares: pd.DataFrame) -> None:
    for index, (column, label) in enumerate(_SHARES):
        x = np.arange(len(shares)) + (index - 1) * 0.28
        axes.bar(x, 100 * shares[column], 0.26, label=f"{label} (n = {shares[label].sum():,})", facecolor=COLORS[index],
                 hatch=HATCHES[index], edgecolor="black", linewidth=0.6)
    axes.set_xticks(range(len(shares)), [row.kind + (f"\n({row.structure})" if row.structure else "")
                                         for row in shares.itertuples()])
    axes.set_ylabel("Share (%)")
    axes.legend(loc="upper right")


def _forest(axes: Axes, known: pd.DataFrame) -> None:
    axes.axvline(0, color="0.5", linewidth=0.8)
    for y, row in enumerate(known.itertuples()):
        color = COLORS[list(_MARKERS).index(row.evidence)]
        if not np.isnan(row.low_points):
            reach = [[max(0.0, row.gain_points - row.low_points)], [max(0.0, row.high_points - row.gain_points)]]
            axes.errorbar(row.gain_points, y, xerr=reach, **INTERVAL)
        axes.plot(row.gain_points, y, _MARKERS[row.evidence], color=color, markeredgecolor="black", markersize=5,
                  markerfacecolor="white" if row.verdict in (OPEN, UNKNOWN) else color)
    for evidence, marker in _MARKERS.items():
        if (known.evidence == evidence).any():
            color = COLORS[list(_MARKERS).index(evidence)]
            axes.plot([], [], marker, color=color, markeredgecolor="black", markersize=5, label=evidence)
    axes.set_yticks(range(len(known)), [what(name) for name in known.intervention])
    axes.set_ylim(len(known) - 0.5, -0.5)
    axes.set_xlabel("Gain on my mix (points); filled: helps or harms, else open")
    axes.figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)
