"""The study's figures: bars by structure, and forests of estimates with their intervals."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from lib.analyze.figures.style import (
    COLORS,
    fill,
    forest,
    intervals,
    legend,
    marker,
    name_axis,
    name_rows,
    offset,
    panels,
    styled,
)
from lib.analyze.format import DASH, in_words, labelled
from lib.analyze.stats import ALPHA
from lib.core.arms import ALL, BASE
from lib.core.records import OUTCOMES
from lib.core.structures import STRUCTURES
from lib.retention.records import label_of

Drawn = tuple[Figure, pd.DataFrame]  # a figure and what it plots


def draw_accuracy(table2: pd.DataFrame, panel: str = "") -> Drawn:
    """Draw Table 2: one bar per arm and structure; a column `panel` separates panels."""
    return _bars(table2, "accuracy", "arm", panel, "Accuracy (%)"), table2


def draw_numeric(table5: pd.DataFrame) -> Drawn:
    """Draw Table 5: accuracy on numeric and on other queries, one panel per arm."""
    return _bars(table5, "accuracy", "kind", "arm", "Accuracy (%)"), table5


def draw_preferences(table4: pd.DataFrame) -> Drawn:
    """Draw Table 4 of one pair of arms: one bar per outcome, one panel per criterion."""
    row = table4.iloc[0]
    names = [f"{in_words(arm)} is better" for arm in (row.first_arm, row.second_arm)]
    labels = dict(zip(OUTCOMES, [*names, "tie"], strict=True))
    shown = table4.assign(outcome=table4.outcome.map(labels))
    return _bars(shown, "share", "outcome", "criterion", "Queries (%)"), table4


def draw_paired(table: pd.DataFrame) -> Drawn:
    """Draw paired differences, one panel per pair of arms; filled if the arms differ."""
    shown = table[table.n > 0]
    shown = shown.assign(pair=shown["second"] + " – " + shown["first"])
    return draw_forest(
        shown,
        ("difference_points", "low_points", "high_points"),
        "structure",
        panel="pair",
        filled=shown.differs,
        label="Difference in accuracy (points); filled: Holm p ≤ 5%",
    ), table


def draw_seeds(table: pd.DataFrame) -> Drawn:
    """Draw accuracy by structure, averaged over each arm's seeds."""
    shown = table[table.n > 0].copy()
    shown[["mean", "low", "high"]] *= 100
    return draw_forest(
        shown,
        ("mean", "low", "high"),
        "structure",
        series="arm",
        label="Accuracy (%), 95% interval",
    ), table


def draw_retention(table3: pd.DataFrame) -> Drawn:
    """Draw paired differences from the base by task."""
    shown = table3[table3.p.notna()][
        ["arm", "task", "n", "difference_points", "low_points", "high_points", "p_holm"]
    ]
    named = shown.assign(task=[f"{label_of(row.task)} (n = {row.n})" for row in shown.itertuples()])
    return draw_forest(
        named,
        ("difference_points", "low_points", "high_points"),
        "task",
        series="arm",
        filled=named.p_holm.le(ALPHA),
        label=f"Accuracy minus that of {BASE} (points); filled: Holm p ≤ 5%",
    ), shown


@styled
def _bars(table: pd.DataFrame, value: str, group: str, panel: str, label: str) -> Figure:
    parts = dict(list(table.groupby(panel, sort=False))) if panel else {"": table}
    present = [name for name in (*STRUCTURES, ALL) if table.n[table.structure == name].sum()]
    groups = list(table[group].unique())
    figure, drawn = panels(len(parts), 2.8, names=map(in_words, parts), sharey=True)
    for axes, part in zip(drawn, parts.values(), strict=False):
        n = part.groupby("structure").n.max()
        for index, name in enumerate(groups):
            cells = part[part[group] == name].set_index("structure").reindex(present)
            x = [place + offset(index, len(groups)) for place in range(len(present))]
            height = 100 * cells[value]
            axes.bar(x, height, 0.92 * 0.8 / len(groups), label=in_words(name), **fill(index))
            intervals(axes, x, height, 100 * cells.low, 100 * cells.high, upright=True)
            for place in np.array(x)[height.isna()]:  # unknown, not 0
                axes.text(place, 0, DASH, ha="center", va="bottom")
        ticks = [
            in_words(name) + (f"\n(n = {n[name]})" if len(parts) < 3 else "") for name in present
        ]
        axes.set_xticks(
            range(len(present)), ticks, **{} if len(parts) < 2 else {"rotation": 45, "ha": "right"}
        )
    top = 105 * table[[value, "high"]].max(axis=None)  # there may be no interval
    drawn[0].set(ylabel=label, ylim=(0, top if top > 0 else 100))
    legend(figure, drawn[0])
    return figure


@styled
def draw_stacks(table: pd.DataFrame, label: str) -> Drawn:
    """Draw counts: a horizontal bar per row of `table`, a part of it per column."""
    named, left = labelled(table), 0
    figure, (axes,) = panels(1, 0.9 + 0.24 * len(named))
    for index, column in enumerate(named):
        axes.barh(range(len(named)), named[column], left=left, label=column, **fill(index))
        left = left + named[column].to_numpy()
    name_rows(axes, map(in_words, named.index))
    name_axis(figure, label)
    legend(figure, axes)
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
    filled: pd.Series | None = None,
) -> Figure:
    """Draw `columns` (estimate, low, high) by `rows`, with a marker per `series`, hollow if not
    `filled`.
    """
    table = labelled(table.assign(filled=True if filled is None else filled))
    parts = dict(list(table.groupby(panel, sort=False))) if panel else {"": table}
    names = list(table[rows].unique())
    groups = list(table[series].unique()) if series else [""]
    height = 0.2 * max(1, len(names)) * (0.5 + 0.5 * len(groups)) + 0.3
    figure, drawn = panels(
        len(parts), 0.7 + max(1, len(parts)) * height, names=parts, in_column=True, sharex=True
    )
    for axes, part in zip(drawn, parts.values(), strict=False):
        for index, group in enumerate(groups):
            cells = part[part[series] == group] if series else part
            y = [names.index(name) + offset(index, len(groups)) for name in cells[rows]]
            forest(
                axes,
                y,
                *(cells[column] for column in columns),
                filled=cells.filled,
                label=group or None,
                **marker(index),
            )
        name_rows(axes, names, zero=True)
        axes.locator_params(axis="x", nbins=int(2 * figure.get_figwidth()))
    name_axis(figure, label)
    legend(figure, drawn[0])
    return figure


@styled
def draw_loglik_curve(table: pd.DataFrame) -> Drawn:
    """Draw log-likelihood against epoch, a panel per arm and a line per structure."""
    parts = dict(list(table.groupby("arm", sort=False)))
    figure, drawn = panels(len(parts), 2.5, names=map(in_words, parts), sharey=True)
    for axes, part in zip(drawn, parts.values(), strict=False):
        for index, name in enumerate(STRUCTURES):
            line = part[part.structure == name]
            axes.plot(
                line.epoch, line["mean"], markersize=3.5, label=in_words(name), **marker(index)
            )
        axes.set(xlabel="Epoch")
        axes.xaxis.get_major_locator().set_params(integer=True)
    drawn[0].set(ylabel="Log-likelihood of the answer\n(nats per token)")
    legend(figure, drawn[0])
    return figure, table


@styled
def draw_training(epochs: pd.DataFrame) -> Drawn:
    """Draw training and validation loss (left) and gradient norm (right) against epoch."""
    figure, (left, right) = panels(2, 2.3)
    lines = (("loss", "training", "-o"), ("validation_loss", "validation", "--s"))
    for index, (column, label, style) in enumerate(lines):
        if column in epochs:
            left.plot(
                epochs.epoch,
                epochs[column],
                style,
                color=COLORS[index],
                label=label,
                markersize=2.5,
            )
    right.plot(epochs.epoch, epochs.gradient_norm, "-o", color=COLORS[2], markersize=2.5)
    left.set_yscale("log")
    left.yaxis.set_minor_formatter("{x:g}")
    left.set(xlabel="Epoch", ylabel="Loss (nats per token)")
    right.set(xlabel="Epoch", ylabel="Gradient norm", ylim=(0, None))
    legend(figure, left)
    return figure, epochs
