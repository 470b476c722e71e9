"""Draw the figure of the advice: what documents are made of, and what each change gains."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lib.analyze.advice.gains import DERIVED, HERE, LABORATORY, OPEN, UNKNOWN
from lib.analyze.advice.words import what
from lib.analyze.figures.style import (
    fill,
    forest,
    legend,
    marker,
    name_rows,
    offset,
    panels,
    styled,
)

_SHARES = {"text_share": "tokens", "statement_share": "statements", "query_share": "queries"}


@styled
def draw_advice(shares: pd.DataFrame, ranked: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw shares by kind of block (top), and the gain of each change on my mix (bottom).

    Gains have 95% intervals; a marker is filled if its change helps or harms. A change without a
    measured gain is not drawn; without any, there is no lower panel. Shares are counted, not
    estimated, and have no interval. Returns the figure and both frames, distinguished by `panel`.
    """
    known = ranked[ranked.gain_points.notna()]
    heights = {"height_ratios": (6, 2 + len(known))} if len(known) else {}
    height = 2.0 + (0.6 + 0.23 * len(known) if len(known) else 0)
    figure, drawn = panels(1 + bool(len(known)), height, in_column=True, **heights)
    _draw_shares(drawn[0], shares)
    if len(known):
        _draw_gains(drawn[1], known)
        legend(figure, drawn[1], columns=3, loc="outside lower center")
    return figure, pd.concat([shares.assign(panel="shares"), ranked.assign(panel="gains")],
                             ignore_index=True)


def _draw_shares(axes: Axes, shares: pd.DataFrame) -> None:
    for index, (column, label) in enumerate(_SHARES.items()):
        x = [place + offset(index, len(_SHARES), 0.84) for place in range(len(shares))]
        axes.bar(x, 100 * shares[column], 0.26, label=f"{label} (n = {shares[label].sum():,})",
                 **fill(index))
    names = [row.kind + (f"\n({row.structure})" if row.structure else "")
             for row in shares.itertuples()]
    axes.set_xticks(range(len(shares)), names)
    axes.set_ylabel("Share (%)")
    axes.legend(loc="upper right")


def _draw_gains(axes: Axes, known: pd.DataFrame) -> None:
    known = known.assign(y=range(len(known)))
    for index, evidence in enumerate((HERE, DERIVED, LABORATORY)):
        rows = known[known.evidence == evidence]
        if len(rows):
            forest(axes, rows.y, rows.gain_points, rows.low_points, rows.high_points,
                   filled=~rows.verdict.isin([OPEN, UNKNOWN]), label=evidence, **marker(index))
    name_rows(axes, [what(name) for name in known.intervention], zero=True)
    axes.set_xlabel("Gain on my mix (points); filled: helps or harms")
