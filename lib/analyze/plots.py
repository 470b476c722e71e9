"""Figures: style, panels, bars by structure, forests of estimates with intervals, heat maps."""

import base64
import html
import sys
import textwrap
from collections.abc import Iterable, Sequence
from itertools import cycle
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from IPython.display import HTML
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lib.analyze.latex import inches
from lib.analyze.stats import ALPHA
from lib.analyze.tables import as_csv, in_words, labelled
from lib.core.arms import ALL, BASE, LOOK
from lib.core.records import OUTCOMES, STRUCTURES
from lib.core.store import replacing, result_path, write_text

sys.modules.setdefault("scipy.stats")  # only densities need it, and it takes most of the time
import seaborn  # noqa: E402

if not sys.modules["scipy.stats"]:
    del sys.modules["scipy.stats"]

Drawn = tuple[Figure, pd.DataFrame]  # a figure and what it plots

STYLE = mpl.rc_params_from_file(Path(__file__).with_name("study.mplstyle"), False, False)
STYLE.update({"figure.figsize": (inches[0], 3), "font.family": LOOK.get("font", "sans-serif")})
_COLORS = {in_words(name): color for name, color in LOOK.get("colors", {}).items()}
styled = mpl.rc_context(STYLE)  # decorates every function that draws
_PANEL = 1.5  # inches that a panel needs for its name and labels
_MARKERS = "os^DvPX<>"
_HATCHES = ["", "///", "...", "xx", "\\\\"]
# An estimate and its ends, as `with_ends` has them
_DRAWN = {
    "estimator": lambda three: three.iloc[0],
    "errorbar": lambda three: (three.iloc[1], three.iloc[2]),
    "err_kws": {"color": "black", "linewidth": 0.9, "zorder": 1},
    "capsize": 0.1,
}
_POINTS = ("difference_points", "low_points", "high_points")
_DARK = (
    "<style>@media (prefers-color-scheme: dark) {svg {filter: invert(.92) hue-rotate(180deg)}}"
    "</style><defs>"
)


@styled
def save(study: str, name: str, figure: Figure, plotted: pd.DataFrame) -> Path:
    """Write a figure as PDF, SVG and PNG and its numbers as CSV; return the PNG's path."""
    # without a date, equal numbers give equal files
    stamps = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}
    for ending, stamp in stamps.items():
        with replacing(result_path(study, f"{name}.{ending}")) as temporary:
            figure.savefig(temporary, format=ending, metadata=stamp)
        figure.set_layout_engine(None)  # the axes stay where the first drawing put them
    return write_text(result_path(study, f"{name}.csv"), as_csv(plotted)).with_suffix(".png")


def show_figure(path: Path, alt: str) -> HTML:
    """Display the figure saved at `path`, light or dark as the reader's system; `alt` describes it.

    A caption of `alt` and the numbers of cases goes beside it, as <name>.txt.
    """
    n = pd.read_csv(path.with_suffix(".csv")).get("n", pd.Series(dtype=float)).dropna()
    ends = dict.fromkeys(f"{end:.0f}" for end in (n.min(), n.max()))
    sizes = f" n = {' to '.join(ends)}." if len(n) else ""
    write_text(path.with_suffix(".txt"), f"{alt.rstrip('.')}.{sizes}\n")
    svg = path.with_suffix(".svg").read_text(encoding="utf-8").replace("<defs>", _DARK, 1)
    data = base64.b64encode(svg.encode()).decode()
    return HTML(
        f'<img src="data:image/svg+xml;base64,{data}" alt="{html.escape(alt)}" width="720">'
    )


def panels(
    n: int, height: float, *, names: Iterable[str] = (), in_column: bool = False, **options
) -> tuple[Figure, list[Axes]]:
    """Return a figure of the column's width with n panels in a column, or in rows that they fit.

    A row has `height` inches, a column 0.7 more. `names` appear above the panels; `options`
    (sharex, …) go to `Figure.subplots`.
    """
    width, n = STYLE["figure.figsize"][0], max(1, n)
    across = 1 if in_column else min(n, int(width / _PANEL))
    rows = -(-n // across)
    figure = Figure((width, 0.7 * in_column + rows * height), layout="constrained")
    drawn = [*figure.subplots(rows, across, squeeze=False, **options).flat]
    for unused in drawn[n:]:
        unused.remove()
    for axes, name in zip(drawn, names, strict=False):
        axes.set_title(name)
    return figure, drawn[:n]


def panels_of(
    table: pd.DataFrame, by: str, height: float, **options
) -> tuple[Figure, list[tuple[Axes, pd.DataFrame]]]:
    """Return `panels`, one for each value of column `by`, each with its rows of `table`."""
    parts = dict([*table.groupby(by, sort=False)]) if by else {"": table}
    figure, drawn = panels(len(parts), height, names=map(in_words, parts), **options)
    return figure, [*zip(drawn, parts.values(), strict=False)]


def finish(figure: Figure, label: str = "") -> None:
    """Draw the first panel's legend above the panels, and `label` below them."""
    width = STYLE["figure.figsize"][0]
    if label:
        figure.supxlabel(textwrap.fill(label, int(16 * width)))
    for legend in filter(None, (axes.get_legend() for axes in figure.axes)):
        legend.remove()
    handles, labels = figure.axes[0].get_legend_handles_labels()
    known = dict(zip(labels, handles, strict=True))
    if known:
        inches = 0.45 + 0.06 * max(map(len, known))  # of a label with its handle
        across = min(max(1, int(width / inches)), len(known))
        place = {"loc": "outside upper center", "ncols": across}
        figure.legend(known.values(), known, **place)


def color(index: int, name: object) -> str:
    """Return the colour that the study gives `name`, else that of series `index`."""
    return _COLORS.get(in_words(name), f"C{index}")


def with_ends(table: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Return `table` once for its estimate, low and high end (`columns`), each as column `drawn`.

    Names are those that a person reads.
    """
    named = labelled(table)
    three = [named.assign(drawn=table[column]) for column in columns]
    return pd.concat(three, ignore_index=True)


def series_look(names: Iterable[object]) -> dict:
    """Return seaborn's options for series `names`, in their order: colours and markers."""
    hues = [*map(in_words, names)]
    palette = [*map(color, range(len(hues)), hues)]
    return {"hue_order": hues, "palette": palette, "markers": [*(_MARKERS * 9)[: len(hues)]]}


def _name_rows(axes: Axes, names: Iterable[str]) -> None:
    width = int(7 * STYLE["figure.figsize"][0])  # of a name, in characters
    texts = [textwrap.fill(name, width) for name in names]
    axes.set_yticks(range(len(texts)), texts)
    axes.set_ylim(max(1, len(texts)) - 0.5, -0.5)


@styled
def draw_bars(
    table: pd.DataFrame,
    by: str = "arm",
    panel: str = "",
    value: str = "accuracy",
    label: str = "Accuracy (%)",
) -> Drawn:
    """Draw a bar per structure and value of column `by`; a column `panel` separates panels."""
    columns = [value, "low", "high"]
    present = [name for name in (*STRUCTURES, ALL) if table.n[table.structure == name].sum()]
    look, names = series_look(table[by].unique()), [*map(in_words, present)]
    del look["markers"]
    look |= {"x": "structure", "y": "drawn", "hue": by, "order": names, "saturation": 1, **_DRAWN}
    figure, parts = panels_of(table.assign(**100 * table[columns]), panel, 2.8, sharey=True)
    for axes, part in parts:
        seaborn.barplot(with_ends(part, columns), ax=axes, gap=0.08, **look)
        keys = axes.get_legend_handles_labels()[0]
        for bars, key, hatch in zip(axes.containers, keys, cycle(_HATCHES), strict=False):
            mpl.artist.setp([*bars.patches, key], hatch=hatch)  # told apart without colour, too
        if len(parts) < 3:
            n = part.groupby("structure").n.unique()
            names = [f"{in_words(one)}\n(n = {', '.join(map(str, n[one]))})" for one in present]
        turned = {"rotation": 45, "ha": "right"} if len(parts) > 1 else {}
        axes.set_xticks(range(len(names)), names, **turned)
        axes.set(xlabel="", ylabel=label if axes is figure.axes[0] else "")
    top = 105 * table[[value, "high"]].max(axis=None)  # there may be no interval
    figure.axes[0].set(ylim=(0, top if top > 0 else 100))
    finish(figure)
    return figure, table


def draw_preferences(table4: pd.DataFrame) -> Drawn:
    """Draw Table 4 of one pair of arms: one bar per outcome, one panel per criterion, where the
    judge has scored most queries."""
    row = table4.iloc[0]
    names = [f"{in_words(arm)} is better" for arm in (row.first_arm, row.second_arm)]
    labels = dict(zip(OUTCOMES, [*names, "tie"], strict=True))
    scored = table4.n - table4.unscored
    shown = table4.assign(outcome=table4.outcome.map(labels), n=scored)[scored > table4.unscored]
    return draw_bars(shown, "outcome", "criterion", "share", "Queries (%)")[0], table4


@styled
def draw_stacks(table: pd.DataFrame, label: str) -> Drawn:
    """Draw counts: a horizontal bar per row of `table`, a part of it per column."""
    figure, (axes,) = panels(1, 0.9 + 0.24 * len(table))
    colors = [*map(color, range(len(table.columns)), table)]
    labelled(table).plot.barh(stacked=True, ax=axes, legend=False, width=0.8, color=colors)
    _name_rows(axes, map(in_words, table.index))
    axes.set(ylabel="")
    axes.xaxis.get_major_locator().set_params(integer=True)  # of counts
    finish(figure, label)
    return figure, table.reset_index()


@styled
def draw_forest(
    table: pd.DataFrame,
    columns: tuple[str, str, str],
    rows: str,
    *,
    label: str,
    series: str = "",
    panel: str = "",
    filled: pd.Series | bool = True,
) -> Figure:
    """Draw `columns` (estimate, low, high) by `rows`, with a marker per `series`, hollow if not
    `filled`.
    """
    table = table.assign(filled=filled, series=table[series] if series else "")
    names, look = [*labelled(table)[rows].unique()], series_look(table.series.unique())
    n = max(1, len(look["palette"]))
    look |= {"y": rows, "order": names, "hue": "series", "legend": bool(series), "x": "drawn"}
    look |= {"dodge": 0.8 * (n - 1) / n, "linestyle": "none", "orient": "h", **_DRAWN}
    height = 0.2 * max(1, len(names)) * (0.5 + 0.5 * n) + 0.3
    figure, parts = panels_of(table, panel, height, in_column=True, sharex=True)
    for axes, part in parts:
        for is_filled, own in with_ends(part, columns).groupby("filled"):  # hollow first
            face = {} if is_filled else {"markerfacecolor": "white"}
            seaborn.pointplot(own, ax=axes, mec="black", mew=0.6, markersize=5, **look, **face)
        axes.axvline(0, color="0.5", linewidth=0.8, zorder=0)
        axes.set(xlabel="", ylabel="")
        _name_rows(axes, names)
        axes.locator_params(axis="x", nbins=int(2 * STYLE["figure.figsize"][0]))
    finish(figure, label)
    return figure


def draw_paired(table: pd.DataFrame) -> Drawn:
    """Draw paired differences, one panel per pair of arms; filled if the arms differ."""
    shown = table[table.n > 0]
    figure = draw_forest(
        shown.assign(pair=shown["second"] + " – " + shown["first"]),
        _POINTS,
        "structure",
        label="Difference in accuracy (points); filled: Holm p ≤ 5%",
        panel="pair",
        filled=shown.differs,
    )
    return figure, table


def draw_retention(table3: pd.DataFrame) -> Drawn:
    """Draw paired differences from the base by task."""
    shown = table3[table3.p.notna()][["arm", "task", "n", *_POINTS, "p_holm"]]
    named = shown.assign(task=[f"{in_words(row.task)} (n = {row.n})" for row in shown.itertuples()])
    figure = draw_forest(
        named,
        _POINTS,
        "task",
        label=f"Accuracy minus that of {BASE} (points); filled: Holm p ≤ 5%",
        series="arm",
        filled=named.p_holm.le(ALPHA),
    )
    return figure, shown


@styled
def draw_lines(
    table: pd.DataFrame, x: str, y: str, by: str, *, panel: str, label: str = "", **shared: bool
) -> Drawn:
    """Draw column `y` against `x`, a line per value of column `by`, a panel per one of `panel`."""
    look = {"x": x, "y": y, "hue": by, "style": by, "markersize": 4, "errorbar": None}
    look |= series_look(table[by].unique())
    figure, parts = panels_of(table, panel, 2.4, **shared)
    for axes, part in parts:
        seaborn.lineplot(labelled(part), ax=axes, style_order=look["hue_order"], **look)
        axes.set(xlabel=x.capitalize(), ylabel="")
        axes.xaxis.get_major_locator().set_params(integer=True)
    figure.axes[0].set(ylabel=label)
    finish(figure)
    return figure, table


def draw_training(epochs: pd.DataFrame) -> Drawn:
    """Draw training and validation loss (left) and gradient norm (right) against epoch."""
    names = {"loss": "training", "validation_loss": "validation", "gradient_norm": "training"}
    lines = epochs.filter(["epoch", *names]).melt("epoch", var_name="panel").dropna()
    lines["text"] = lines.panel.map(names)
    lines["panel"] = np.where(
        lines.panel == "gradient_norm", "Gradient norm", "Loss (nats per token)"
    )
    return draw_lines(lines, "epoch", "value", "text", panel="panel")[0], epochs
