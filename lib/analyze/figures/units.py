"""Draw contrasts over independent units: a dot per unit, and the mean with its interval."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from lib.analyze.figures.style import forest, marker, name_rows, panels, right_of, styled
from lib.analyze.format import in_points


@styled
def draw_units(table: pd.DataFrame, summary: pd.DataFrame, unit: str,
               contrasts: Sequence[str] = ()) -> tuple[Figure, pd.DataFrame]:
    """Draw `contrasts` (default: all) of units.summarize, with the values in `table` as dots."""
    names = list(contrasts or summary.contrast)
    figure, (axes,) = panels(1, 0.8 + 0.4 * len(names), names=[""])
    means = summary.set_index("contrast").loc[names]
    drawn = table[table.contrast.isin(names)]
    for row, name in enumerate(names):
        points = drawn.points[drawn.contrast == name].to_numpy(float)
        axes.plot(points, np.full(len(points), row - 0.15), linestyle="none", marker="o",
                  markersize=3.5, alpha=0.6, color="0.35", markeredgecolor="none")
    rows = np.arange(len(names))
    forest(axes, rows + 0.2, means["mean"], means.low, means.high,
           filled=means.is_primary.to_numpy(bool), **marker(0))
    right_of(axes, rows, [in_points(row.mean, row.low, row.high) for row in means.itertuples()],
             "mean [95%]")
    name_rows(axes, names, zero=True)
    axes.set_xlabel(f"Points. Dots: {unit}s; marker: mean with 95% interval, filled if primary")
    return figure, drawn
