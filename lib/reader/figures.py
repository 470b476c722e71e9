"""Draw how well a reader reads, against the tokens that it was trained on."""

import pandas as pd
from matplotlib.figure import Figure

from lib.analyze.figures.style import COLORS, MARKERS, legend, panels, styled

_TITLES = {"grid": "Made-up tables", "report": "Made-up reports"}


@styled
def draw_reading(curve: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw the share of right answers in percent against tokens, by serialization.

    `curve` has rows of `lib.reader.training.Read` with `tokens`, those read by then in all epochs;
    there is one panel per kind of lesson. There is no band, because the questions share texts.
    """
    counts = curve.groupby(["kind", "form", "tokens"], as_index=False)[["correct", "n"]].sum()
    counts["percent"] = 100 * counts.correct / counts.n
    figure, axes = panels(counts.kind.nunique(), 2.5)
    for panel, (kind, rows) in zip(axes, counts.groupby("kind"), strict=True):
        for color, symbol, (form, line) in zip(COLORS, MARKERS, rows.groupby("form"),
                                               strict=False):
            panel.plot(line.tokens / 1e6, line.percent, marker=symbol, color=color, markersize=3.5,
                       label=form)
        panel.set(title=f"{_TITLES[kind]} (n = {rows.n.max()} each)", xlabel="Million tokens",
                  ylabel="Right answers (%)", ylim=(0, 100))
    legend(figure, axes[0])
    return figure, counts
