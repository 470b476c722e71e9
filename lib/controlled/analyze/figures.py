"""Figures of the controlled experiment, all with intervals over bases."""

import pandas as pd
from matplotlib.figure import Figure

from lib.analyze.figures import style
from lib.analyze.format import DASH, p_value
from lib.controlled.analyze.rows import MEASURES, NATS
from lib.controlled.design.arms import RAW
from lib.core.arms import ALL
from lib.core.structures import STRUCTURES

_EDGE = {"markeredgecolor": "black", "markeredgewidth": 0.6}


def look(structure: str) -> dict:
    """Return the colour and marker of a structure, the same in every figure and study."""
    found = style.marker([*STRUCTURES, ALL].index(structure))
    return found | {"color": "0.35"} if structure == ALL else found


def _shown(structures: pd.Series) -> list[str]:
    return [name for name in STRUCTURES if name in set(structures)]


@style.styled
def draw_contrasts(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw a forest of structure - reference within fact, one panel per measure."""
    names = [name for name in MEASURES if table.estimate[table.measure == name].notna().any()]
    sizes = [max(1, (table.measure == name).sum()) for name in names] or [1]
    heads = [f"{MEASURES[name].label}, {MEASURES[name].unit}" for name in names]
    figure, panels = style.panels(
        len(names),
        0.5 + sum(0.24 * n + 0.42 for n in sizes),
        names=heads,
        in_column=True,
        height_ratios=[n + 0.6 for n in sizes],
    )
    for axes, name in zip(panels, names, strict=False):
        cells = table[table.measure == name].reset_index(drop=True)
        for row in cells.itertuples():
            style.forest(
                axes, [row.Index], [row.estimate], [row.low], [row.high], **look(row.structure)
            )
        style.right_of(
            axes,
            cells.index,
            [f"{p_value(row.p)}, {row.bases}" for row in cells.itertuples()],
            "p, bases" if axes is panels[0] else "",
        )
        style.name_rows(axes, cells.structure, zero=True)
        axes.margins(x=0.15 if MEASURES[name].unit == NATS else 0.05)
    panels[-1].set_xlabel(
        f"Difference to {table.reference.iloc[0]} on the same facts (95% over bases, no correction)"
    )
    return figure, table


@style.styled
def draw_gains(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw each gain by structure; to its right, the tokens that it adds."""
    table = table.assign(name=table.arm + " − " + table["first"])
    names, structures = list(table.name.unique()), list(table.structure.unique())
    figure, (axes,) = style.panels(
        1, 1.1 + len(names) * (0.16 + 0.085 * len(structures)), names=[""]
    )
    for index, structure in enumerate(structures):
        cells = table[table.structure == structure]
        y = [names.index(name) + style.offset(index, len(structures), 0.76) for name in cells.name]
        style.forest(
            axes,
            y,
            cells.estimate,
            cells.low,
            cells.high,
            label=structure,
            line=style.THIN,
            markersize=4,
            **look(structure),
        )
    added = table.groupby("name", sort=False).tokens_added_percent.first()
    style.right_of(
        axes,
        range(len(names)),
        [DASH if pd.isna(share) else f"{share:+.0f}%" for share in added],
        "tokens read",
    )
    style.name_rows(axes, names, zero=True)
    axes.set_xlabel("Gain (points, 95% over bases)")
    style.legend(figure, axes)
    return figure, table.drop(columns="name")


@style.styled
def draw_acquisition(table: pd.DataFrame, arm: str = RAW) -> tuple[Figure, pd.DataFrame]:
    """Draw acquisition by epoch and structure, with 95% bands: percent (left) and nats (right)."""
    sides = (
        ("likeliest", "Reference answer is argmax (%)"),
        ("loglik", "Log-likelihood\n(nats per token)"),
    )
    figure, panels = style.panels(2, 2.7)
    for axes, (measure, label) in zip(panels, sides, strict=True):
        cells = table[(table.arm == arm) & (table.measure == measure)]
        for structure in _shown(cells.structure):
            line = cells[cells.structure == structure]
            colors = look(structure)
            axes.fill_between(
                line.epoch, line.low, line.high, color=colors["color"], alpha=0.15, lw=0
            )
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
    figure, (left, right) = style.panels(
        2,
        0.9 + 0.34 * max(5, len(names)),
        names=["by paraphrases per record", "by arm"],
        width_ratios=[2, 3],
    )
    drawn = _shown(table.structure)
    for place, structure in enumerate(drawn):
        shift = style.offset(place, len(drawn))
        cells = table[(table.structure == structure) & copies.notna()].assign(k=copies)
        style.forest(
            left,
            cells.k * 1.04 ** (place - 1),
            cells.estimate,
            cells.low,
            cells.high,
            upright=True,
            label=structure,
            **look(structure),
        )
        cells = others[others.structure == structure]
        style.forest(
            right,
            [names.index(arm) + shift for arm in cells.arm],
            cells.unpaired_percent,
            cells.unpaired_low,
            cells.unpaired_high,
            **look(structure),
        )
    left.set_xscale("log", base=2)
    left.set_xticks(sorted(copies.dropna().unique()))
    left.xaxis.set_major_formatter("{x:.0f}")
    left.set_xlabel("Paraphrases per record")
    left.set_ylabel("Accuracy (%)")
    style.name_rows(right, names)
    right.set_xlabel("Accuracy, no pair (%)")
    style.legend(figure, left)
    return figure, table
