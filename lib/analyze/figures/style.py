"""Figures of the analysis (paper, section 5): one style, drawn at final size, saved with the numbers they plot."""

from collections.abc import Iterable
from pathlib import Path

import matplotlib as mpl
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lib.analyze.tables import KINDS
from lib.core.arms import ALL, ARMS, sorted_arms
from lib.core.files import replacing, write_text
from lib.core.paths import figures_path
from lib.core.records import STRUCTURES, Answer, Query

WIDTH = 6.3  # inches: the text width of an A4 page
STYLE = {**sns.plotting_context("paper"), **sns.axes_style("ticks"),
         "font.size": 9, "axes.labelsize": 9, "xtick.labelsize": 8, "ytick.labelsize": 8, "legend.fontsize": 8,
         "axes.spines.top": False, "axes.spines.right": False, "hatch.linewidth": 0.6, "axes.linewidth": 0.8,
         "pdf.fonttype": 42, "savefig.dpi": 200, "legend.frameon": False, "font.family": "DejaVu Sans"}
COLORS = sns.color_palette("colorblind")
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "++++")
INTERVAL = {"fmt": "none", "ecolor": "black", "elinewidth": 0.9, "capsize": 2.5}


def save(study: str, name: str, figure: Figure, plotted: pd.DataFrame) -> Path:
    """Write figures/<study>/<name> as PDF, PNG and the plotted numbers as CSV; returns the PNG's path."""
    with mpl.rc_context(STYLE):
        for ending in ("pdf", "png"):
            stamp = {"CreationDate": None} if ending == "pdf" else {}  # the same numbers give the same file
            with replacing(figures_path(study, f"{name}.{ending}")) as temporary:
                figure.savefig(temporary, format=ending, metadata=stamp)
    write_text(figures_path(study, f"{name}.csv"), plotted.to_csv(index=False, lineterminator="\n"))
    return figures_path(study, f"{name}.png")


def draw_accuracy(table2: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Accuracy in percent by structure, a bar an arm, with Wilson 95% intervals; the figure and what it plots."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 2.7), layout="constrained")
        axes = figure.subplots()
        _bars(axes, table2, _present(table2), "arm", sorted_arms(list(table2.arm.unique())))
        n = table2.groupby("structure").n.max()
        axes.set_xticks(range(len(_present(table2))), [f"{name}\n(n = {n[name]})" for name in _present(table2)])
        axes.set_ylim(0, _top(table2))
        axes.set_ylabel("Accuracy (%)")
        _legend(figure, axes)
    return figure, table2


def draw_beside(tables: dict[str, pd.DataFrame]) -> tuple[Figure, pd.DataFrame]:
    """Two or more of Table 2, a panel each under its name, on one axis; the figure and what it plots."""
    plotted = pd.concat([table.assign(source=name) for name, table in tables.items()], ignore_index=True)
    arms = sorted_arms(list(plotted.arm.unique()))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 2.8), layout="constrained")
        panels = figure.subplots(1, len(tables), sharey=True, squeeze=False)[0]
        for axes, (name, table) in zip(panels, tables.items(), strict=True):
            places, n = _present(table), table.groupby("structure").n.max()
            _bars(axes, table, places, "arm", arms)
            axes.annotate(name, (0, 1), (0, 3), xycoords="axes fraction", textcoords="offset points", fontsize=9)
            axes.set_xticks(range(len(places)), [f"{place}\n(n = {n[place]})" for place in places])
        panels[0].set_ylim(0, _top(plotted))
        panels[0].set_ylabel("Accuracy (%)")
        _legend(figure, panels[-1])
    return figure, plotted


def draw_numeric(table5: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Accuracy of numeric and other queries by structure, a panel an arm; the figure and what it plots."""
    arms = sorted_arms(list(table5.arm.unique()))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 2.8), layout="constrained")
        panels = figure.subplots(1, max(1, len(arms)), sharey=True, squeeze=False)[0]
        for axes, arm in zip(panels, arms, strict=False):
            _bars(axes, table5[table5.arm == arm], _present(table5), "kind", list(KINDS), first_look=len(ARMS))
            axes.annotate(arm, (0, 1), (0, 3), xycoords="axes fraction", textcoords="offset points", fontsize=9)
            axes.set_xticks(range(len(_present(table5))), _present(table5), rotation=30, ha="right",
                            rotation_mode="anchor")
        panels[0].set_ylim(0, _top(table5))
        panels[0].set_ylabel("Accuracy (%)")
        _legend(figure, panels[0])
    return figure, table5


def draw_lengths(queries: list[Query], answers: list[Answer]) -> tuple[Figure, pd.DataFrame]:
    """Words of questions (left), of reference answers and of each arm's answers (right), by structure.

    A box holds the middle half, its line the median, its whiskers 5% to 95%, the diamond is the mean: what the
    returned frame holds (part, structure, n, mean, and the five quantiles).
    """
    lengths = _lengths(queries, answers)
    parts = ["reference", *sorted_arms([answer.arm for answer in answers])]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 2.7), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(1, 2.2))
        _boxes(left, lengths, ["question"])
        _boxes(right, lengths, parts)
        left.set_ylabel("Words a question")
        right.set_ylabel("Words an answer")
        _legend(figure, right)
    return figure, lengths


def draw_training(epochs: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Training and validation loss (left) and gradient norm (right) against epoch; the figure and what it plots."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 2.3), layout="constrained")
        left, right = figure.subplots(1, 2)
        lines = (("loss", "training", "-o"), ("validation_loss", "validation", "--s"))
        for index, (column, label, style) in enumerate(lines):
            if column in epochs:
                left.plot(epochs.epoch, epochs[column], style, color=COLORS[index], label=label, markersize=2.5)
        right.plot(epochs.epoch, epochs.gradient_norm, "-o", color=COLORS[2], markersize=2.5)
        left.set_yscale("log")
        left.set(xlabel="Epoch", ylabel="Loss (nats a token)")
        right.set(xlabel="Epoch", ylabel="Gradient norm", ylim=(0, None))
        _legend(figure, left)
    return figure, epochs


def _present(table: pd.DataFrame) -> list[str]:
    """Structures with queries, in the fixed order, "all" last."""
    return [structure for structure in (*STRUCTURES, ALL) if table.n[table.structure == structure].sum()]


def _top(table: pd.DataFrame) -> float:
    """The upper end of the axis in percent: a little above the highest interval, 100% where nothing was scored."""
    return 105 * table.high.max() if table.high.max() > 0 else 100


def _bars(axes: Axes, table: pd.DataFrame, places: list[str], within: str, groups: list[str], *,
          first_look: int = 0) -> None:
    """Grouped bars with intervals; a group's offset, colour and hatch depend on its place in `groups` alone.

    A cell where nothing was scored has a dash, to tell it from 0%.
    """
    width = 0.8 / max(1, len(groups))
    for index, group in enumerate(groups):
        cells = table[table[within] == group].set_index("structure").reindex(places)
        x = [place + (index - (len(groups) - 1) / 2) * width for place in range(len(places))]
        height = 100 * cells.accuracy
        axes.bar(x, height, 0.92 * width, label=group, **_look(index + first_look))
        # an interval's end may cross the bar's by rounding alone: a length is never negative
        below, above = (height - 100 * cells.low).clip(lower=0), (100 * cells.high - height).clip(lower=0)
        axes.errorbar(x, height, yerr=[below, above], **INTERVAL)
        for place in (place for place, value in zip(x, height, strict=True) if pd.isna(value)):
            axes.annotate("–", (place, 0), (0, 1), textcoords="offset points", ha="center", va="bottom")


def _look(index: int) -> dict:
    return {"facecolor": COLORS[index % len(COLORS)], "hatch": HATCHES[index % len(HATCHES)], "edgecolor": "black",
            "linewidth": 0.6}


def _legend(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))


def _lengths(queries: list[Query], answers: list[Answer]) -> pd.DataFrame:
    structures = {query.query_id: query.structure for query in queries}
    texts = [("question", query.structure, query.question) for query in queries]
    texts += [("reference", query.structure, query.answer) for query in queries]
    texts += [(answer.arm, structures[answer.query_id], answer.answer) for answer in answers]
    words = pd.DataFrame([(*keys, len(text.split())) for *keys, text in texts], columns=["part", "structure", "words"])
    groups = words.groupby(["part", "structure"], sort=False).words
    table = groups.quantile([0.05, 0.25, 0.5, 0.75, 0.95]).unstack()
    table.columns = ["low5", "low25", "median", "high75", "high95"]
    table.insert(0, "n", groups.size())
    table.insert(1, "mean", groups.mean())
    return table.reset_index()


def _boxes(axes: Axes, lengths: pd.DataFrame, parts: Iterable[str]) -> None:
    parts = list(parts)
    places = [structure for structure in STRUCTURES if (lengths.structure == structure).any()]
    width = 0.8 / max(1, len(parts))
    for index, part in enumerate(parts):
        cells = lengths[lengths.part == part].set_index("structure")
        there = [place for place in places if place in cells.index]
        boxes = [{"med": cell.median_, "q1": cell.low25, "q3": cell.high75, "whislo": cell.low5, "whishi": cell.high95,
                  "mean": cell.mean_} for cell in cells.loc[there].rename(
                      columns={"median": "median_", "mean": "mean_"}).itertuples()]
        x = [places.index(place) + (index - (len(parts) - 1) / 2) * width for place in there]
        look = _look(index - 1) if part != "question" and part != "reference" else _look(0) | {
            "facecolor": "0.85", "hatch": ""}
        axes.bxp(boxes, positions=x, widths=0.8 * width, showfliers=False, showmeans=True, patch_artist=True,
                 label=part, boxprops=look, medianprops={"color": "black", "linewidth": 1.2},
                 meanprops={"marker": "D", "markersize": 3, "markerfacecolor": "white", "markeredgecolor": "black"},
                 manage_ticks=False)
    axes.set_xticks(range(len(places)), places)
    axes.set_ylim(bottom=0)
