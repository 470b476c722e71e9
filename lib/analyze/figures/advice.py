"""The figure of the advice: what the documents consist of, and what each change would gain."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lib.analyze.advice.gains import DERIVED, HERE, LABORATORY, OPEN, UNKNOWN
from lib.analyze.advice.tables import what
from lib.analyze.figures.style import fill, forest, legend, marker, name_rows, panels, styled

_SHARES = {"tokens": "text_share", "statements": "statement_share", "queries": "query_share"}


@styled
def draw_advice(shares: pd.DataFrame, ranked: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw shares by kind of block (top) and gains on my mix of structures (bottom).

    Gains have 95% intervals and are filled where the verdict is that a change helps or harms; one
    without a known gain is left out. Shares are counted and have no interval. Returns the figure
    and both frames stacked, distinguished by `panel`.
    """
    known = ranked[ranked.gain_points.notna()]
    if len(known):
        figure, (top, bottom) = panels(2, 2.6 + 0.23 * len(known), in_column=True,
                                       height_ratios=(6, 2 + len(known)))
        _gains(bottom, known)
        legend(figure, bottom, loc="outside lower center")
    else:
        figure, (top,) = panels(1, 2.0)
    for index, (name, column) in enumerate(_SHARES.items()):
        x = [place + (index - 1) * 0.28 for place in range(len(shares))]
        top.bar(x, 100 * shares[column], 0.26, label=f"{name} (n = {shares[name].sum():,})",
                **fill(index))
    top.set_xticks(range(len(shares)), [
        row.kind + (f"\n({row.structure})" if row.structure else "") for row in shares.itertuples()])
    top.set_ylabel("Share (%)")
    top.legend(loc="upper right")
    return figure, pd.concat([shares.assign(panel="shares"), ranked.assign(panel="gains")],
                             ignore_index=True)


def _gains(axes: Axes, known: pd.DataFrame) -> None:
    known = known.reset_index(drop=True)
    for index, evidence in enumerate((HERE, DERIVED, LABORATORY)):
        cells = known[known.evidence == evidence]
        if len(cells):
            forest(axes, cells.index, cells.gain_points, cells.low_points, cells.high_points,
                   filled=~cells.verdict.isin((OPEN, UNKNOWN)), label=evidence, **marker(index))
    name_rows(axes, [what(name) for name in known.intervention], zero=True)
    axes.set_xlabel("Gain on my mix (points); filled: helps or harms, else open")
