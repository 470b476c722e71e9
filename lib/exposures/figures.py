"""Figures of the exposure study, with intervals over bases."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lib.analyze import plots
from lib.analyze.stats import over_units
from lib.core.records import STRUCTURES, structure_label
from lib.exposures import analysis
from lib.exposures.analysis import NAMING
from lib.exposures.arms import RAW

SIDES = (("stored", "Stored (%)"), ("answered", "Answered (%)"))


@plots.styled
def draw_answers(rows: pd.DataFrame, arm: str = "paraphrase-8") -> tuple[Figure, pd.DataFrame]:
    """Draw named facts answered by exposures, scalar and list-valued, and the gain of `arm`.

    Bands are 95% over bases; dashes are the ceilings of a fit to all bases together.
    """
    named, found = rows[rows.is_named == 1], []
    figure, (*panels, last) = plots.panels(3, 2.6)
    for axes, (facts, part) in zip(panels, list(analysis.by_value(named).items())[1:], strict=True):
        cells = analysis.curve(part[part.arm == RAW]).query("measure == 'answered'")
        _draw_lines(axes, cells[cells.exposures > 0])
        tops = analysis.ceilings(part.assign(base=0)).set_index("structure").ceiling
        for index, name in enumerate(STRUCTURES):
            axes.axhline(100 * tops[name], ls="--", lw=0.8, color=plots.marker(index)["color"])
        axes.set(ylabel=f"{facts.capitalize()} facts answered (%)", ylim=(0, None))
        found.append(cells.assign(facts=facts, ceiling=100 * cells.structure.map(tops)))
    gains = analysis.gains_by_exposures(rows).query("contrast == @arm + ' - raw'")
    last.axhline(0, color="0.6", lw=0.8, zorder=0)
    plots.intervals(last, gains.exposures, gains.estimate, gains.low, gains.high, upright=True)
    last.plot(gains.exposures, gains.estimate, markersize=3.5, **plots.marker(3))
    last.set(ylabel="Gain of 8 wordings (points)")
    for axes in (*panels, last):
        _doublings(axes, gains.exposures)
    plots.finish(figure)
    return figure, pd.concat([*found, gains], ignore_index=True)


def _draw_lines(axes: Axes, cells: pd.DataFrame) -> None:
    for index, name in enumerate(STRUCTURES):
        line, look = cells[cells.structure == name], plots.marker(index)
        axes.fill_between(
            line.exposures,
            line.low.clip(0),
            line.high.clip(upper=100),
            color=look["color"],
            alpha=0.15,
            lw=0,
        )
        axes.plot(
            line.exposures, line.estimate, markersize=3.5, label=structure_label(name), **look
        )


def _doublings(axes: Axes, exposures: pd.Series) -> None:
    points = sorted(exposures.unique())
    axes.set_xscale("log", base=2)
    axes.set_xticks(points, [str(point) for point in points], fontsize=7)
    axes.set_xlabel("Exposures")


@plots.styled
def draw_curve(
    table: pd.DataFrame, ratio: pd.DataFrame, arm: str = RAW
) -> tuple[Figure, pd.DataFrame]:
    """Draw recall against exposures, a line per structure, and below the ratio of exposures.

    `table` is `analysis.curve`, `ratio` a summary of `analysis.ratios` in doublings.
    """
    figure = Figure(figsize=(plots.STYLE["figure.figsize"][0], 3.6), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=(1.6, 1))
    panels, ratio = above.subplots(1, 2), ratio[ratio.measure.isin(dict(SIDES))]
    for axes, (measure, label) in zip(panels, SIDES, strict=True):
        cells = table[
            (table.arm == arm) & table.is_named & (table.measure == measure) & (table.exposures > 0)
        ]
        _draw_lines(axes, cells)
        _doublings(axes, cells.exposures)
        axes.set(ylabel=label, ylim=(0, None))
    axes = below.subplots()
    names = [(measure, is_named) for measure, _ in SIDES for is_named in NAMING]
    for index, name in enumerate(list(STRUCTURES)[1:], 1):
        cells = (
            ratio[ratio.contrast.str.startswith(f"{name} - ")]
            .set_index(["measure", "is_named"])
            .reindex(names)
        )
        y = [
            place + plots.offset(index - 1, len(STRUCTURES) - 1, 0.5) for place in range(len(names))
        ]
        plots.forest(
            axes,
            y,
            *(2 ** cells[column] for column in ("mean", "low", "high")),
            **plots.marker(index),
        )
    plots.name_rows(axes, [f"{measure}, {NAMING[is_named]}" for measure, is_named in names])
    axes.axvline(1, color="0.6", lw=0.8, zorder=0)
    axes.set_xscale("log", base=2)
    low, high = axes.get_xlim()
    steps = (0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.4, 1.5) if high < 2 * low else (0.25, 0.5, 1, 2, 4)
    ticks = [tick for tick in steps if low <= tick <= high]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xlabel("Exposures needed, times those in prose")
    plots.finish(above)
    if table.n.max() == 1:
        figure.suptitle("One base: see the replicates", fontsize=8)
    return figure, table[table.arm == arm]


@plots.styled
def draw_frontier(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw what is forgotten and what is learned by the share of replayed text, over the bases.

    `table` has a row per regime and base: learning_rate, replay_share, fall, answered.
    """
    sides = (
        ("fall", "Fall in public questions\nanswered (points)"),
        ("answered", "Private questions\nanswered (%)"),
    )
    figure, drawn = plots.panels(len(sides), 2.4)
    for axes, (measure, label) in zip(drawn, sides, strict=True):
        for index, (rate, cells) in enumerate(table.groupby("learning_rate")):
            over = pd.DataFrame(
                [
                    {"share": 100 * share, **over_units(own[measure])}
                    for share, own in cells.groupby("replay_share")
                ]
            )
            x = over.share + 1.5 * index
            plots.intervals(axes, x, over.estimate, over.low, over.high, upright=True)
            axes.plot(
                x,
                over.estimate,
                markersize=4,
                label=f"learning rate {rate:g}",
                **plots.marker(index),
            )
        axes.set(xlabel="Replayed text (%)", ylabel=label, ylim=(0, None))
    drawn[0].axhline(5, color="0.6", lw=0.8, zorder=0)
    plots.finish(figure)
    return figure, table


@plots.styled
def draw_scale(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw the effect of each structure against the size of the model, with its interval."""
    figure, (axes,) = plots.panels(1, 2.4)
    for index, (name, cells) in enumerate(table.groupby("contrast", sort=False), 1):
        x = cells.parameters * (1 + 0.04 * (index - 1))
        plots.intervals(axes, x, cells["mean"], cells.low, cells.high, upright=True)
        axes.plot(
            x,
            cells["mean"],
            linestyle="",
            markersize=4,
            **plots.marker(index),
            label=" − ".join(map(structure_label, name.split(" - "))),
        )
    axes.axhline(0, color="0.6", lw=0.8, zorder=0)
    axes.set_xscale("log")
    axes.set(xlabel="Parameters", ylabel="Difference to prose\n(nats per token)")
    plots.finish(figure)
    return figure, table
