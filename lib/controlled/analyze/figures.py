"""Draw the figures of the controlled experiment, all with intervals.

If there are many structures, the smaller figures show only some of them; the tables have all.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lib.analyze.figures import style
from lib.analyze.format import p_value
from lib.controlled.analyze.bases import over_bases
from lib.controlled.analyze.factors import DISTANCE, FILLERS, KIND, LENGTH, PHRASINGS, SECTION
from lib.controlled.analyze.interventions import CONTROL, FACTOR
from lib.controlled.analyze.rows import MEASURES, NATS, POINTS
from lib.controlled.design.arms import RAW
from lib.controlled.design.structures import STRUCTURES
from lib.core.arms import ALL, INTERVENTION
from lib.core.records import STRUCTURES as OF_THE_PAPER

_FEW = 5  # structures that fit in one panel
_EDGE = {"markeredgecolor": "black", "markeredgewidth": 0.6}


def look(structure: str) -> dict:
    """Return the colour and marker of a structure, the same in every figure and study."""
    names = [*STRUCTURES, ALL]
    found = style.marker(names.index(structure))
    return found | {"color": "0.35"} if structure == ALL else found


def _shown(structures: pd.Series) -> list[str]:
    """Return the structures that occur, in fixed order; if there are many, the paper's three."""
    found = set(structures)
    return [name for name in STRUCTURES
            if name in found and (len(found) <= _FEW or name in OF_THE_PAPER)]


@style.styled
def draw_contrasts(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw a forest of structure - reference within fact, one panel per measure.

    A filled point is an effect that is found (see bases.decided). To the right are p, Holm's p and
    the number of bases. If there are many structures, only three measures are drawn.
    """
    many = table.structure.nunique() > _FEW
    names = [name for name in (("correct", "stored", "loglik") if many else MEASURES)
             if table.estimate[table.measure == name].notna().any()]
    sizes = [max(1, (table.measure == name).sum()) for name in names] or [1]
    heads = [f"{MEASURES[name].label}, {MEASURES[name].unit}" for name in names]
    figure, panels = style.panels(
        len(names), 0.5 + sum(0.24 * n + 0.42 for n in sizes), names=heads, in_column=True,
        height_ratios=[n + 0.6 for n in sizes])
    in_points = [axes for axes, name in zip(panels, names, strict=False)
                 if MEASURES[name].unit == POINTS]
    for axes in in_points[1:]:
        axes.sharex(in_points[0])
    for axes in in_points[:-1]:
        axes.tick_params(labelbottom=False)
    for axes, name in zip(panels, names, strict=False):
        cells = table[table.measure == name].reset_index(drop=True)
        _forest(axes, cells, head="p, Holm p, bases" if axes is panels[0] else "")
        axes.margins(x=0.15 if MEASURES[name].unit == NATS else 0.05)
    reference = table.reference.iloc[0] if len(table) else "the reference"
    panels[-1].set_xlabel(f"Difference to {reference} on the same facts (95% over bases)\n"
                          "filled: found, by Holm's p and the interval at its level")
    return figure, table


def _forest(axes: Axes, cells: pd.DataFrame, head: str) -> None:
    for row in cells.itertuples():
        style.forest(axes, [row.Index], [row.estimate], [row.low], [row.high],
                     filled=row.found, **look(row.structure))
    texts = [f"{p_value(row.p)}, {p_value(row.p_holm)}, {row.bases}" for row in cells.itertuples()]
    style.right_of(axes, cells.index, texts, head)
    style.name_rows(axes, cells.structure, zero=True)


@style.styled
def draw_interventions(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw each arm's gain over raw by structure, and its gain on all facts against added tokens.

    The numbers next to the arms on the left identify them on the right. The right panel leaves out
    factors, which are not treatments. If there are many structures, only "all" is drawn.
    """
    arms, structures = list(table.arm.unique()), list(table.structure.unique())
    structures = structures if len(structures) <= _FEW else [ALL]
    height = 1.1 + max(3, len(arms)) * (0.16 + 0.085 * len(structures))
    figure, (left, right) = style.panels(2, height, width_ratios=(1.25, 1))
    known = table[table.gain_points.notna()]
    for index, structure in enumerate(structures):
        cells = known[known.structure == structure]
        y = [arms.index(arm) + style.offset(index, len(structures), 0.76) for arm in cells.arm]
        style.forest(left, y, cells.gain_points, cells.low_points, cells.high_points,
                     label=structure, line=style.THIN, markersize=4, **look(structure))
    style.name_rows(left, [f"{arm}  {number}" for number, arm in enumerate(arms, 1)], zero=True)
    left.set_xlabel("Gain over raw (points)")
    _against_tokens(right, known[(known.structure == ALL) & (known.role != FACTOR)], arms)
    style.legend(figure, left)
    return figure, table


def _against_tokens(axes: Axes, cells: pd.DataFrame, arms: list[str]) -> None:
    axes.axhline(0, color="0.5", linewidth=0.8)
    looks = {INTERVENTION: ("o", style.COLORS[4]), CONTROL: ("D", "0.6")}
    for name, (marker, color) in looks.items():
        each = cells[cells.role == name]
        if len(each):
            style.forest(axes, each.tokens_added_percent, each.gain_points, each.low_points,
                         each.high_points, upright=True, label=name, line=style.THIN,
                         marker=marker, color=color, markersize=4.5)
    for index, row in enumerate(cells.sort_values("tokens_added_percent").itertuples()):
        at = (row.tokens_added_percent, row.gain_points)
        axes.annotate(f"{arms.index(row.arm) + 1}", at, ((3, 2), (-3, 2))[index % 2], fontsize=8,
                      textcoords="offset points", ha=("left", "right")[index % 2])
    axes.set(xlabel="Tokens added in all epochs (%)", ylabel="Gain over raw, all facts (points)")
    if len(cells):
        axes.legend(fontsize=8, handletextpad=0.1, borderaxespad=0, loc="best")


@style.styled
def draw_factors(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw accuracy in percent by level and structure, one panel per factor of two levels or more.

    If there are many structures, only the paper's three are drawn.
    """
    wanted = [name for name in (LENGTH, KIND, SECTION, DISTANCE, PHRASINGS, FILLERS)
              if table.level[table.factor == name].nunique() > 1]
    structures = _shown(table.structure)
    rows = max(1, -(-len(wanted) // 2))
    figure = Figure(figsize=(style.WIDTH, 0.5 + 2.1 * rows), layout="constrained")
    panels = figure.subplots(rows, 2, sharey=True, squeeze=False).ravel()
    for axes, factor in zip(panels, wanted, strict=False):
        _levels(axes, table[table.factor == factor], structures)
        axes.set_xlabel(factor[:1].upper() + factor[1:])
    for axes in panels[len(wanted):]:
        axes.set_axis_off()
    for axes in panels[:len(wanted):2]:
        axes.set_ylabel("Accuracy (%)")
    if wanted:
        drawn = table[table.factor.isin(wanted) & table.structure.isin(structures)]
        top = drawn[["accuracy", "high"]].max(axis=None)  # over all panels, which share the axis
        panels[0].set_ylim(0, 1.05 * max(1.0, top))
        style.legend(figure, panels[0])
    return figure, table


def _levels(axes: Axes, cells: pd.DataFrame, structures: list[str]) -> None:
    levels = list(cells.level.unique())
    for index, structure in enumerate(structures):
        line = cells[cells.structure == structure]
        x = [levels.index(level) + style.offset(index, len(structures), 0.5)
             for level in line.level]
        style.forest(axes, x, line.accuracy, line.low, line.high, upright=True, label=structure,
                     linestyle="-", **look(structure))
    n = cells.groupby("level").n.max()
    axes.set_xticks(range(len(levels)), [f"{level}\nn = {n[level]}" for level in levels])
    axes.set_xlim(-0.6, len(levels) - 0.4)


@style.styled
def draw_bases(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw each base's value as a cross and the mean with its 95% interval, by contrast."""
    names = list(table.contrast.unique())
    figure, (axes,) = style.panels(1, 0.8 + 0.26 * max(1, len(names)))
    for y, name in enumerate(names):
        each = table.points[table.contrast == name]
        found = over_bases(each)
        axes.plot(each, [y + 0.22] * len(each), "x", color="0.4", markersize=4, mew=0.8)
        style.forest(axes, [y - 0.1], [found["estimate"]], [found["low"]], [found["high"]],
                     marker="o", color=style.COLORS[0], markersize=4)
    style.name_rows(axes, names, zero=True)
    axes.set_xlabel("Points (×: one base; interval: 95% over bases)")
    return figure, table


@style.styled
def draw_acquisition(table: pd.DataFrame, arm: str = RAW) -> tuple[Figure, pd.DataFrame]:
    """Draw acquisition by epoch and structure, with 95% bands: percent (left) and nats (right).

    If there are many structures, only the paper's three are drawn.
    """
    sides = (("likeliest", "Reference answer is argmax (%)"),
             ("loglik", "Log-likelihood\n(nats per token)"))
    figure, panels = style.panels(2, 2.7)
    for axes, (measure, label) in zip(panels, sides, strict=True):
        cells = table[(table.arm == arm) & (table.measure == measure)]
        for structure in _shown(cells.structure):
            line = cells[cells.structure == structure]
            colors = look(structure)
            axes.fill_between(line.epoch, line.low, line.high, color=colors["color"], alpha=0.15,
                              lw=0)
            axes.plot(line.epoch, line.estimate, markersize=4, label=structure, **_EDGE, **colors)
        axes.set(xlabel="Epoch", ylabel=label)
        axes.locator_params(axis="x", integer=True)
    style.legend(figure, panels[0])
    return figure, table


@style.styled
def draw_augmentations(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw accuracy by structure over numbers of paraphrases, and in the other arms.

    The other arms' accuracy is on the facts that have no pair in any arm.
    """
    copies = pd.to_numeric(table.arm.str.removeprefix("paraphrase-"), errors="coerce")
    others = table[copies.isna()]
    names = list(dict.fromkeys(others.arm))
    figure, (left, right) = style.panels(2, 0.9 + 0.34 * max(5, len(names)), names=[
        "by paraphrases per record", "by arm"], width_ratios=[2, 3])
    drawn = _shown(table.structure)
    for place, structure in enumerate(drawn):
        shift = style.offset(place, len(drawn))
        cells = table[(table.structure == structure) & copies.notna()].assign(k=copies)
        style.forest(left, cells.k * 1.04 ** (place - 1), cells.estimate, cells.low, cells.high,
                     upright=True, label=structure, **look(structure))
        cells = others[others.structure == structure]
        style.forest(right, [names.index(arm) + shift for arm in cells.arm],
                     cells.unpaired_percent, cells.unpaired_low, cells.unpaired_high,
                     **look(structure))
    left.set_xscale("log", base=2)
    left.set_xticks(sorted(copies.dropna().unique()))
    left.xaxis.set_major_formatter("{x:.0f}")
    left.set_xlabel("Paraphrases per record")
    left.set_ylabel("Accuracy (%)")
    style.name_rows(right, names)
    right.set_xlabel("Accuracy, no pair (%)")
    style.legend(figure, left)
    return figure, table
