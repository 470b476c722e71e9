"""The funnel shows every stage of every arm with its counts."""

import pandas as pd

from lib.analyze.figures.ledger import LABELS, draw_funnel
from lib.analyze.ledger.tables import funnel
from lib.analyze.ledger.trace import STAGES
from lib.core.arms import ALL


def table(arms: list[str]) -> pd.DataFrame:
    rows = [{"trained arm": arm, "structure": structure, "stage": stage, "n": n, "alive": n - place,
             "share": (n - place) / n, "low": (n - place) / n - 0.1, "high": (n - place) / n + 0.01}
            for arm in arms for structure, n in (("natural", 40), ("tabular", 20), (ALL, 60))
            for place, stage in enumerate(STAGES)]
    return pd.DataFrame(rows)


def test_it_has_one_panel_per_arm_and_a_counted_bar_per_structure_and_stage():
    figure, plotted = draw_funnel(table(["dapt", "dapt-n", "dapt@2"]))
    assert len(figure.axes) == 3
    for axes in figure.axes:
        bars = [bar for bar in axes.patches if bar.get_height()]
        assert len(bars) == 2 * len(STAGES)  # no structure without queries, and not "all"
        assert {"40", "35", "20", "15"} <= {text.get_text() for text in axes.texts}
    labels = [label.get_text() for label in figure.axes[-1].get_xticklabels()]
    assert labels == list(LABELS.values()) and len(plotted) == 3 * 3 * len(STAGES)


def test_it_can_be_drawn_without_rows():
    assert len(draw_funnel(funnel([], {}))[0].axes) == 1
