"""Shares of cells that are read, by serialization and size, over readers."""

from itertools import combinations

import pandas as pd
from matplotlib.figure import Figure

from lib.analyze.figures import style
from lib.analyze.statistics.units import over_units
from lib.core.records import Record
from lib.reader.lessons import TABLE_FORMS


class CellAnswer(Record):
    """Whether a reader gave a cell's value word for word."""

    form: str
    table: int
    question: int
    n_cells: int  # of the table
    correct: bool


_CELLS = [0, 6, 16, 10**6]  # upper bounds of the bins of table sizes


def binned(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `rows` with the column `cells`, bins of n_cells."""
    return rows.assign(cells=pd.cut(rows.n_cells, _CELLS, labels=["1–6", "7–16", "17 or more"]))


def by_form(rows: pd.DataFrame, by: tuple[str, ...] = ()) -> pd.DataFrame:
    """Return the share of right answers in percent by form and `by`, with t over readers.

    `rows` are of `CellAnswer` with `reader`, which counts once: the mean over its answers.
    """
    keys = ["form", *by]
    each = rows.groupby([*keys, "reader"], observed=True).correct.agg(["mean", "size"])
    table = pd.DataFrame(
        [
            {
                **dict(zip(keys, key, strict=True)),
                "answers": int(group["size"].sum()),
                **over_units(100 * group["mean"]),
            }
            for key, group in each.groupby(keys, observed=True)
        ]
    )
    return table.drop(columns=["p", "p_flips"])  # a share is not tested against 0


def differences(rows: pd.DataFrame) -> pd.DataFrame:
    """Return each reader's difference between two forms on the same questions: the better first.

    Columns contrast, reader and points.
    """
    shares = 100 * rows.groupby(["reader", "form"]).correct.mean().unstack()
    order = shares.mean().sort_values(ascending=False, kind="stable").index
    return pd.concat(
        [
            (shares[first] - shares[second])
            .rename("points")
            .reset_index()
            .assign(contrast=f"{first} - {second}")
            for first, second in combinations(order, 2)
        ]
    )


@style.styled
def draw_forms(forms: pd.DataFrame, sizes: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw what is read, by form and by the number of cells, with t over readers."""
    cells = pd.concat([forms.assign(cells="all"), sizes.astype({"cells": str})])
    names = list(dict.fromkeys(cells.cells))
    figure, (axes,) = style.panels(1, 3.0)
    for index, form in enumerate(form for form in TABLE_FORMS if form in set(cells.form)):
        line = cells[cells.form == form]
        x = [names.index(name) + style.offset(index, len(TABLE_FORMS)) for name in line.cells]
        style.forest(
            axes,
            x,
            line.estimate,
            line.low,
            line.high,
            upright=True,
            label=form,
            **style.marker(index),
        )
    axes.set_xticks(range(len(names)), names)
    axes.set(
        xlabel="Cells of the table (readers' weights begin with circuits)",
        ylabel="Cells read (%, 95% over readers)",
        ylim=(0, 102),
    )
    style.legend(figure, axes, columns=6)
    return figure, cells
