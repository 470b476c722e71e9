"""Draw replicates: one dot each, with the mean and its interval."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from lib.analyze.figures.style import forest, marker, name_rows, panels, right_of, styled
from lib.analyze.format import in_points
from lib.analyze.statistics.replicates import short


@styled
def draw_replicates(estimates: pd.DataFrame, summary: pd.DataFrame,
                    contrasts: Sequence[str]) -> tuple[Figure, pd.DataFrame]:
    """Draw the `contrasts` in points: a dot per replicate, and below the mean with its interval."""
    figure, (axes,) = panels(1, 0.8 + 0.45 * len(contrasts), names=[""])
    means = summary.set_index("contrast").loc[list(contrasts)]
    drawn = estimates[estimates.contrast.isin(contrasts)]
    for row, name in enumerate(contrasts):
        points = drawn.points[drawn.contrast == name].to_numpy(float)
        axes.plot(points, np.full(len(points), row - 0.15), linestyle="none", marker="o",
                  markersize=3.5, alpha=0.6, color="0.35", markeredgecolor="none")
    rows = np.arange(len(contrasts))
    forest(axes, rows + 0.2, means["mean"], means.low, means.high,
           filled=means.is_primary.to_numpy(bool), **marker(0))
    right_of(axes, rows, [in_points(row.mean, row.low, row.high) for row in means.itertuples()],
             "mean [95%]")
    name_rows(axes, [short(name) for name in contrasts], zero=True)
    axes.set_xlabel("Points. Dots: replicates; marker: mean with 95% interval, filled if primary")
    return figure, drawn
