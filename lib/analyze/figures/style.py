"""The style of all figures and what they share: panels, legends, bars, forests, heat maps."""

import base64
import html
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from IPython.display import HTML
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lib.analyze.format import as_csv
from lib.core.errors import choices
from lib.core.store import replacing, result_path, write_text

COLUMNS = {"single": 3.35, "double": 6.3}  # inches: 8.5 cm, and the text width of an A4 page
_PANEL = 1.5  # inches that a panel needs for its name and labels
STYLE = {
    "figure.figsize": (COLUMNS["double"], 3),
    "svg.hashsalt": "",  # equal figures have equal ids
    "lines.linewidth": 1.2,
    "font.size": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "hatch.linewidth": 0.6,
    "axes.linewidth": 0.8,
    "pdf.fonttype": 42,
    "savefig.dpi": 200,
    "legend.frameon": False,
    "font.family": "DejaVu Sans",
}
# seaborn's palette "colorblind": importing it takes a second
COLORS = (
    "#0173b2",
    "#de8f05",
    "#029e73",
    "#d55e00",
    "#cc78bc",
    "#ca9161",
    "#fbafe4",
    "#949494",
    "#ece133",
    "#56b4e9",
)
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "++++")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
INTERVAL = {"fmt": "none", "ecolor": "black", "elinewidth": 0.9, "capsize": 2.5}
THIN = {"elinewidth": 0.7, "capsize": 1.5}  # style for many closely spaced `intervals`
_DARK = (
    "<style>@media (prefers-color-scheme: dark) {svg {filter: invert(.92) hue-rotate(180deg)}}"
    "</style><defs>"
)
styled = mpl.rc_context(STYLE)  # decorates every function that draws


def use_column(name: str) -> None:
    """Draw the figures that follow as wide as one of COLUMNS. Raises ValueError for another."""
    if name not in COLUMNS:
        raise ValueError(f"column {name!r} is unknown; {choices(name, COLUMNS)}")
    STYLE["figure.figsize"] = (COLUMNS[name], 3)


def save(study: str, name: str, figure: Figure, plotted: pd.DataFrame) -> Path:
    """Write a figure as PDF, SVG and PNG and its numbers as CSV; return the PNG's path."""
    # without a date, equal numbers give equal files
    stamps = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}
    with mpl.rc_context(STYLE):
        for ending, stamp in stamps.items():
            with replacing(result_path(study, f"{name}.{ending}")) as temporary:
                figure.savefig(temporary, format=ending, metadata=stamp)
            figure.set_layout_engine(None)  # the axes stay where the first drawing put them
    return write_text(result_path(study, f"{name}.csv"), as_csv(plotted)).with_suffix(".png")


def show_figure(path: Path, alt: str) -> HTML:
    """Display the figure saved at `path`, light or dark as the reader's system; `alt` describes it.

    A caption of `alt` and the numbers of cases goes beside it, as <name>.txt.
    """
    table = pd.read_csv(path.with_suffix(".csv"))
    sizes = sorted({int(n) for n in table.get("n", pd.Series(dtype=float)).dropna()})
    n = f" n = {sizes[0]}" + f" to {sizes[-1]}" * (len(sizes) > 1) + "." if sizes else ""
    write_text(path.with_suffix(".txt"), f"{alt.rstrip('.')}.{n}\n")
    svg = path.with_suffix(".svg").read_text(encoding="utf-8").replace("<defs>", _DARK, 1)
    data = base64.b64encode(svg.encode()).decode()
    return HTML(
        f'<img src="data:image/svg+xml;base64,{data}" alt="{html.escape(alt)}" width="720">'
    )


def panels(
    n: int, height: float, *, names: Iterable[str] = (), in_column: bool = False, **options
) -> tuple[Figure, list[Axes]]:
    """Return a figure of the column's width with n panels in a column, or in rows that they fit.

    A row, or the whole column, has `height` inches. `names` appear above the panels; `options`
    (sharex, width_ratios, …) go to `Figure.subplots`.
    """
    width, _ = STYLE["figure.figsize"]
    n = max(1, n)
    across = n if "width_ratios" in options else min(n, int(width / _PANEL))
    rows, columns = (n, 1) if in_column else (-(-n // across), across)
    figure = Figure(figsize=(width, height * (1 if in_column else rows)), layout="constrained")
    drawn = list(figure.subplots(rows, columns, squeeze=False, **options).ravel())
    for unused in drawn[n:]:
        unused.remove()
    del drawn[n:]
    for axes, name in zip(drawn, names, strict=False):
        axes.set_title(name, loc="left", fontsize=8, pad=3)
    return figure, drawn


def legend(figure: Figure, axes: Axes) -> None:
    """Draw the legend of `axes` above the panels, if anything is labelled."""
    handles, labels = axes.get_legend_handles_labels()
    if labels:
        inches = 0.45 + 0.06 * max(map(len, labels))  # of a label with its handle
        most = max(1, int(axes.get_figure(root=True).get_figwidth() / inches))
        figure.legend(handles, labels, loc="outside upper center", ncols=min(most, len(labels)))


def name_axis(figure: Figure, label: str) -> None:
    """Write `label` below the panels, in as many lines as the column needs."""
    figure.supxlabel(textwrap.fill(label, int(16 * figure.get_figwidth())), fontsize=8)


def fill(index: int) -> dict:
    """Return the colour and hatch of the bars of series `index`."""
    return {
        "facecolor": COLORS[index % len(COLORS)],
        "hatch": HATCHES[index % len(HATCHES)],
        "edgecolor": "black",
        "linewidth": 0.6,
    }


def marker(index: int) -> dict:
    """Return the colour and marker of the points of series `index`."""
    return {"color": COLORS[index % len(COLORS)], "marker": MARKERS[index % len(MARKERS)]}


def offset(index: int, n: int, width: float = 0.8) -> float:
    """Return the offset of series `index` from the centre of the slot shared by n series."""
    return (index - (n - 1) / 2) * width / max(1, n)


def intervals(
    axes: Axes,
    x: Sequence[float],
    y: Sequence[float],
    low: Sequence[float],
    high: Sequence[float],
    *,
    upright: bool = False,
    **line,
) -> None:
    """Draw horizontal or `upright` intervals around points; one with an unknown end is not drawn.

    `line` overrides INTERVAL. An end that rounding moves past its point is drawn at the point.
    """
    middle = np.asarray(y if upright else x, dtype=float)
    reach = np.clip([middle - np.asarray(low, float), np.asarray(high, float) - middle], 0, None)
    reach = np.where(np.isnan(reach).any(axis=0), np.nan, reach)
    axes.errorbar(x, y, **{"yerr" if upright else "xerr": reach}, **INTERVAL | line)


def forest(
    axes: Axes,
    y: Sequence[float],
    estimate: Sequence[float],
    low: Sequence[float],
    high: Sequence[float],
    *,
    filled: bool | Sequence[bool] = True,
    label: str | None = None,
    line: dict | None = None,
    **look,
) -> None:
    """Draw a series of estimates with their intervals, one per row; hollow if not `filled`.

    `look` styles the markers, `line` the intervals.
    """
    y, estimate = np.asarray(y, dtype=float), np.asarray(estimate, dtype=float)
    filled = np.broadcast_to(np.asarray(filled, dtype=bool), y.shape)
    intervals(axes, estimate, y, low, high, **(line or {}))
    look = {
        "linestyle": "none",
        "markeredgecolor": "black",
        "markeredgewidth": 0.6,
        "markersize": 5,
        "zorder": 3,
    } | look
    for is_filled, color in ((True, look["color"]), (False, "white")):
        here = filled == is_filled
        if here.any():
            axes.plot(estimate[here], y[here], markerfacecolor=color, **look)
    if label is not None:
        axes.plot([], [], label=label, **look)


def name_rows(axes: Axes, names: Iterable[str], *, zero: bool = False) -> None:
    """Label a panel's rows (at y = 0, 1, …) from top to bottom; with `zero`, draw a line at 0."""
    if zero:
        axes.axvline(0, color="0.5", linewidth=0.8, zorder=0)
    width = int(7 * axes.get_figure(root=True).get_figwidth())  # of a name, in characters
    texts = [textwrap.fill(name, width) for name in names]
    axes.set_yticks(range(len(texts)), texts)
    axes.set_ylim(max(1, len(texts)) - 0.5, -0.5)


def heat(axes: Axes, values: pd.DataFrame, texts: pd.DataFrame, *, top: float):
    """Draw a heat map from 0 to `top` with text in every cell; return what a colour bar needs.

    Cell (row, column) reaches from column to column + 1; a missing value keeps its text.
    """
    import seaborn

    seaborn.heatmap(
        values,
        annot=texts,
        fmt="",
        ax=axes,
        cmap="cividis",
        vmin=0,
        vmax=top,
        cbar=False,
        annot_kws={"fontsize": 8, "linespacing": 0.95},
    )
    for row, column in zip(*np.nonzero(values.isna().to_numpy()), strict=True):
        axes.annotate(
            texts.iloc[row, column],
            (column + 0.5, row + 0.5),
            ha="center",
            va="center",
            fontsize=8,
            linespacing=0.95,
        )
    axes.tick_params(length=0, rotation=0)
    return axes.collections[0]
