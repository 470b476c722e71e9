"""Draw accuracy by structure and arm, accuracy on numeric queries, and lengths of texts."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lib.analyze.figures.style import bars, fill, legend, offset, panels, styled
from lib.analyze.tables import KINDS
from lib.core.arms import ALL, ARMS, sorted_arms
from lib.core.records import STRUCTURES, Answer, Query


def draw_accuracy(table2: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw accuracy in percent by structure, with one bar per arm and the table's 95% intervals.

    Returns the figure and what it plots, as all functions of this module do.
    """
    return draw_panels({"": table2})[0], table2


@styled
def draw_panels(tables: dict[str, pd.DataFrame]) -> tuple[Figure, pd.DataFrame]:
    """Draw versions of Table 2 (at least one) in named panels with a common axis."""
    plotted = pd.concat([table.assign(source=name) for name, table in tables.items()],
                        ignore_index=True)
    figure, drawn = panels(len(tables), 2.8, names=tables, sharey=True)
    for axes, table in zip(drawn, tables.values(), strict=True):
        n, present = table.groupby("structure").n.max(), _present(table)
        _bars(axes, table, "arm", sorted_arms(plotted.arm), present)
        axes.set_xticks(range(len(present)), [f"{name}\n(n = {n[name]})" for name in present])
    _finish(figure, drawn, plotted)
    return figure, plotted


@styled
def draw_numeric(table5: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw accuracy on numeric and on other queries by structure, with one panel per arm."""
    arms = sorted_arms(table5.arm)
    figure, drawn = panels(len(arms), 2.8, names=arms, sharey=True)
    present = _present(table5)
    for axes, arm in zip(drawn, arms, strict=False):
        # kinds must not look like the arms of the other figures
        _bars(axes, table5[table5.arm == arm], "kind", list(KINDS), present, first=len(ARMS))
        axes.set_xticks(range(len(present)), present, rotation=30, ha="right",
                        rotation_mode="anchor")
    _finish(figure, drawn, table5)
    return figure, table5


def _present(table: pd.DataFrame) -> list[str]:
    return [name for name in (*STRUCTURES, ALL) if table.n[table.structure == name].sum()]


def _bars(axes: Axes, table: pd.DataFrame, within: str, groups: list[str],
          present: list[str], first: int = 0) -> None:
    """Draw one bar per group at each structure; a group's style depends on its place alone."""
    for index, group in enumerate(groups):
        cells = table[table[within] == group].set_index("structure").reindex(present)
        x = [place + offset(index, len(groups)) for place in range(len(present))]
        bars(axes, x, 100 * cells.accuracy, 100 * cells.low, 100 * cells.high,
             width=0.92 * 0.8 / len(groups), label=group, index=index + first)


def _finish(figure: Figure, drawn: list[Axes], plotted: pd.DataFrame) -> None:
    top = 105 * plotted[["accuracy", "high"]].max(axis=None)  # there may be no interval
    drawn[0].set_ylim(0, top if top > 0 else 100)  # 100 if nothing was scored
    drawn[0].set_ylabel("Accuracy (%)")
    legend(figure, drawn[0])


@styled
def draw_lengths(queries: list[Query], answers: list[Answer]) -> tuple[Figure, pd.DataFrame]:
    """Draw words of questions (left) and of reference and arms' answers (right) by structure.

    A box spans the middle half, its line is the median, its whiskers span 5% to 95%, and the
    diamond is the mean. The returned frame has part, structure, n, mean and the five quantiles.
    """
    lengths = _lengths(queries, answers)
    figure, (left, right) = panels(2, 2.7, width_ratios=(1, 2.2))
    _boxes(left, lengths, ["question"])
    _boxes(right, lengths, ["reference", *sorted_arms(answer.arm for answer in answers)])
    left.set_ylabel("Words per question")
    right.set_ylabel("Words per answer")
    legend(figure, right)
    return figure, lengths


def _lengths(queries: list[Query], answers: list[Answer]) -> pd.DataFrame:
    structures = {query.query_id: query.structure for query in queries}
    texts = [("question", query.structure, query.question) for query in queries]
    texts += [("reference", query.structure, query.answer) for query in queries]
    texts += [(answer.arm, structures[answer.query_id], answer.answer) for answer in answers]
    words = pd.DataFrame([(*keys, len(text.split())) for *keys, text in texts],
                         columns=["part", "structure", "words"])
    groups = words.groupby(["part", "structure"], sort=False).words
    table = groups.quantile([0.05, 0.25, 0.5, 0.75, 0.95]).unstack()
    table.columns = ["low5", "low25", "median", "high75", "high95"]
    table.insert(0, "n", groups.size())
    table.insert(1, "mean", groups.mean())
    return table.reset_index()


def _boxes(axes: Axes, lengths: pd.DataFrame, parts: list[str]) -> None:
    present = [name for name in STRUCTURES if (lengths.structure == name).any()]
    names = {"low5": "whislo", "low25": "q1", "median": "med", "high75": "q3", "high95": "whishi"}
    for index, part in enumerate(parts):
        cells = lengths[lengths.part == part].set_index("structure").rename(columns=names)
        cells = cells.reindex(present).dropna()
        x = [present.index(name) + offset(index, len(parts)) for name in cells.index]
        is_arm = part not in ("question", "reference")
        look = fill(index - 1) if is_arm else fill(0) | {"facecolor": "0.85"}
        axes.bxp(cells.to_dict("records"), positions=x, widths=0.64 / len(parts), label=part,
                 showfliers=False, showmeans=True, patch_artist=True, manage_ticks=False,
                 boxprops=look, medianprops={"color": "black", "linewidth": 1.2},
                 meanprops={"marker": "D", "markersize": 3, "markerfacecolor": "white",
                            "markeredgecolor": "black"})
    axes.set_xticks(range(len(present)), present)
    axes.set_ylim(bottom=0)
