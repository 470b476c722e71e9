"""Figures: style, panels, bars by structure, forests of estimates with intervals, heat maps."""

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

from lib.analyze.latex import inches
from lib.analyze.stats import ALPHA
from lib.analyze.tables import DASH, as_csv, in_words, labelled
from lib.core.arms import ALL, BASE, LOOK
from lib.core.records import OUTCOMES, STRUCTURES
from lib.core.store import replacing, result_path, write_text

Drawn = tuple[Figure, pd.DataFrame]  # a figure and what it plots
Values = Sequence[float] | pd.Series

STYLE = mpl.rc_params_from_file(Path(__file__).with_name("study.mplstyle"), False, False)
STYLE.update({"figure.figsize": (inches[0], 3), "font.family": LOOK.get("font", "sans-serif")})
_COLORS = {in_words(name): color for name, color in LOOK.get("colors", {}).items()}
styled = mpl.rc_context(STYLE)  # decorates every function that draws
NORM = "Gradient norm"
_PANEL = 1.5  # inches that a panel needs for its name and labels
_HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "++++")
_MARKERS = "os^DvPX<>"
_POINTS = ("difference_points", "low_points", "high_points")
_DARK = (
    "<style>@media (prefers-color-scheme: dark) {svg {filter: invert(.92) hue-rotate(180deg)}}"
    "</style><defs>"
)


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
    handles, labels = figure.axes[0].get_legend_handles_labels()
    if labels:
        inches = 0.45 + 0.06 * max(map(len, labels))  # of a label with its handle
        across = min(max(1, int(width / inches)), len(labels))
        figure.legend(handles, labels, loc="outside upper center", ncols=across)


def color(index: int, name: object) -> str:
    """Return the colour that the study gives `name`, else that of series `index`."""
    return _COLORS.get(in_words(name), f"C{index}")


def marker(index: int, name: object = "") -> dict:
    """Return the colour and marker of the points of series `index`, which shows `name`."""
    return {"color": color(index, name), "marker": _MARKERS[index % len(_MARKERS)]}


def offset(index: int, n: int, width: float = 0.8) -> float:
    """Return the offset of series `index` from the centre of the slot shared by n series."""
    return (index - (n - 1) / 2) * width / max(1, n)


def intervals(
    axes: Axes, x: Values, y: Values, low: Values, high: Values, *, upright: bool = False, **line
) -> None:
    """Draw horizontal or `upright` intervals around points; none where the ends are unknown.

    `line` styles them. An end that rounding moves past its point is drawn at the point.
    """
    middle = np.array(y if upright else x, float)
    reach = {"yerr" if upright else "xerr": np.clip([middle - low, high - middle], 0, None)}
    look = {"fmt": "none", "ecolor": "black", "elinewidth": 0.9} | line
    axes.errorbar(x, y, **reach, **look)


def forest(
    axes: Axes,
    y: Values,
    estimate: Values,
    low: Values,
    high: Values,
    *,
    filled: bool | pd.Series = True,
    label: str | None = None,
    **look,
) -> None:
    """Draw a series of estimates with their intervals, one per row; hollow if not `filled`."""
    intervals(axes, estimate, y, low, high)
    look = {"linestyle": "", "markersize": 5, "zorder": 3, "mec": "black", "mew": 0.6} | look
    y, estimate, filled = np.array(y), np.array(estimate), np.full(len(y), filled, bool)
    axes.plot(estimate[filled], y[filled], label=label, **look)
    axes.plot(estimate[~filled], y[~filled], mfc="white", **look)


def name_rows(axes: Axes, names: Iterable[str], *, zero: bool = False) -> None:
    """Label a panel's rows (at y = 0, 1, …) from top to bottom; with `zero`, draw a line at 0."""
    if zero:
        axes.axvline(0, color="0.5", linewidth=0.8, zorder=0)
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
    present = [name for name in (*STRUCTURES, ALL) if table.n[table.structure == name].sum()]
    groups, places = table[by].unique(), np.arange(len(present))
    figure, parts = panels_of(table, panel, 2.8, sharey=True)
    for axes, part in parts:
        for index, name in enumerate(groups):
            cells = part[part[by] == name].set_index("structure").reindex(present)
            height, low, high = (100 * cells[column] for column in (value, "low", "high"))
            x = places + offset(index, len(groups))
            look = {"facecolor": color(index, name), "hatch": _HATCHES[index % len(_HATCHES)]}
            axes.bar(x, height, 0.92 * 0.8 / len(groups), label=in_words(name), **look)
            intervals(axes, x, height, low, high, upright=True)
            for place in x[height.isna()]:  # unknown, not 0
                axes.text(place, 0, DASH, ha="center", va="bottom")
        ticks, n = [*map(in_words, present)], part.groupby("structure").n.max()
        if len(parts) < 3:
            ticks = [f"{in_words(name)}\n(n = {n[name]})" for name in present]
        turned = {"rotation": 45, "ha": "right"} if len(parts) > 1 else {}
        axes.set_xticks(places, ticks, **turned)
    top = 105 * table[[value, "high"]].max(axis=None)  # there may be no interval
    figure.axes[0].set(ylabel=label, ylim=(0, top if top > 0 else 100))
    finish(figure)
    return figure, table


def draw_preferences(table4: pd.DataFrame) -> Drawn:
    """Draw Table 4 of one pair of arms: one bar per outcome, one panel per criterion, where the
    judge has scored most queries."""
    row = table4.iloc[0]
    names = [f"{in_words(arm)} is better" for arm in (row.first_arm, row.second_arm)]
    labels = dict(zip(OUTCOMES, [*names, "tie"], strict=True))
    shown = table4.assign(outcome=table4.outcome.map(labels))
    shown = shown[2 * shown.unscored < shown.n]
    return draw_bars(shown, "outcome", "criterion", "share", "Queries (%)")[0], table4


@styled
def draw_stacks(table: pd.DataFrame, label: str) -> Drawn:
    """Draw counts: a horizontal bar per row of `table`, a part of it per column."""
    figure, (axes,) = panels(1, 0.9 + 0.24 * len(table))
    colors = [*map(color, range(len(table.columns)), table)]
    labelled(table).plot.barh(stacked=True, ax=axes, legend=False, width=0.8, color=colors)
    name_rows(axes, map(in_words, table.index))
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
    table = labelled(table.assign(filled=filled, series=table[series] if series else ""))
    names, groups = list(table[rows].unique()), table.series.unique()
    height = 0.2 * max(1, len(names)) * (0.5 + 0.5 * max(1, len(groups))) + 0.3
    figure, parts = panels_of(table, panel, height, in_column=True, sharex=True)
    for axes, part in parts:
        for index, group in enumerate(groups):
            cells = part[part.series == group]
            y = [names.index(name) + offset(index, len(groups)) for name in cells[rows]]
            ends = (cells[column] for column in columns)
            forest(axes, y, *ends, filled=cells.filled, label=group or None, **marker(index, group))
        name_rows(axes, names, zero=True)
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
    label = f"Accuracy minus that of {BASE} (points); filled: Holm p ≤ 5%"
    look = {"series": "arm", "filled": named.p_holm.le(ALPHA), "label": label}
    return draw_forest(named, _POINTS, "task", **look), shown


@styled
def draw_lines(
    table: pd.DataFrame, x: str, y: str, by: str, *, panel: str, label: str = "", **shared: bool
) -> Drawn:
    """Draw column `y` against `x`, a line per value of column `by`, a panel per one of `panel`."""
    import seaborn  # takes a second

    names = [*map(in_words, table[by].unique())]
    look = {"x": x, "y": y, "hue": by, "style": by, "markers": True, "markersize": 4}
    look |= {"hue_order": names, "style_order": names, "errorbar": None}
    figure, parts = panels_of(table, panel, 2.4, **shared)
    for axes, part in parts:
        colors = [*map(color, range(len(names)), names)]
        seaborn.lineplot(labelled(part), ax=axes, palette=colors, **look)
        axes.set(xlabel=x.capitalize(), ylabel="")
        axes.get_legend().remove()
        axes.xaxis.get_major_locator().set_params(integer=True)
    figure.axes[0].set(ylabel=label)
    finish(figure)
    return figure, table


def draw_training(epochs: pd.DataFrame) -> Drawn:
    """Draw training and validation loss (left) and gradient norm (right) against epoch."""
    names = {"loss": "training", "validation_loss": "validation", "gradient_norm": NORM}
    lines = epochs.rename(columns=names).filter(["epoch", *names.values()])
    lines = lines.melt("epoch", var_name="text").dropna()
    lines["panel"] = np.where(lines.text == NORM, NORM, "Loss (nats per token)")
    return draw_lines(lines, "epoch", "value", "text", panel="panel")[0], epochs
