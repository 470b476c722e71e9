"""Figures of judges show the numbers of their tables, also where values are missing."""

import numpy as np
import pandas as pd
import pytest

from lib.analyze.agreement.coefficients import coefficients
from lib.analyze.agreement.labels import leniency
from lib.analyze.agreement.list_items import MEASURES
from lib.analyze.figures.agreement import draw_agreement, draw_human, draw_items, draw_preferences
from lib.analyze.figures.style import save

NAN = float("nan")


def legend_of(figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_preferences_are_bars_of_their_shares_and_nothing_scored_is_a_dash():
    table = pd.DataFrame([
        {"first_arm": "base", "second_arm": "dapt", "structure": structure, "criterion": criterion,
         "outcome": outcome, "n": n, "share": share, "low": share - 0.01, "high": share + 0.1}
        for structure, n in (("natural", 4), ("entity-list", 0), ("tabular", 3), ("all", 7))
        for criterion in ("correctness", "domain relevance")
        for outcome, share in (("A", 0.2), ("B", NAN if structure == "tabular" else 0.5),
                               ("tie", 0.3))])
    figure, plotted = draw_preferences(table)
    assert plotted is table
    assert [axes.get_xlabel() for axes in figure.axes] == ["correctness", "domain relevance"]
    axes = figure.axes[0]
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels == ["natural", "tabular", "all"] and len(axes.patches) == 9
    assert np.nanmax([bar.get_height() for bar in axes.patches]) == 50
    assert [text.get_text() for text in axes.texts] == ["–"]


@pytest.fixture
def by_pair() -> pd.DataFrame:
    tables = {("natural", "m"): [[5, 1], [2, 9]], ("all", "m"): [[5, 5], [5, 5]],
              ("natural", "x"): [[0, 0], [0, 5]], ("all", "x"): [[0, 4], [3, 0]]}
    return pd.DataFrame([{"first_judge": "rules", "second_judge": judge, "arm": "all",
                          "structure": structure, "n": 9, **coefficients(np.array(table))}
                         for (structure, judge), table in tables.items()])


def test_agreement_is_markers_at_its_values_below_zero_too(by_pair):
    of_arm = by_pair.assign(arm="dapt", agreement=0.123)
    figure, plotted = draw_agreement(pd.concat([by_pair, of_arm]))
    names = [axes.get_xlabel() for axes in figure.axes]
    assert len(plotted) == 4 and names == ["Agreement (share)", "Cohen's kappa", "Gwet's AC1"]
    kappa = figure.axes[1]
    drawn = sorted(x for line in kappa.lines if line.get_marker() in ("o", "s")
                   for x in line.get_xdata() if x == x)
    assert drawn == sorted(by_pair.kappa.dropna()) and kappa.get_xlim()[0] < min(drawn) < 0
    assert legend_of(figure) == ["rules and m", "rules and x"]


def test_items_and_human_are_drawn_and_saved_with_their_numbers(by_pair, tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    lenient = pd.DataFrame([leniency(np.array([[5, 3], [1, 4]]))] * 4)
    figure, _ = draw_human(by_pair.assign(judge=by_pair.second_judge, **lenient))
    low, high = figure.axes[2].get_xlim()
    assert low == -high and high < 0.5
    values = {f"{measure}{end}": value for measure in ("strict", *MEASURES)
              for end, value in (("", 0.4), ("_low", 0.2), ("_high", NAN))}
    items = pd.DataFrame([{"arm": arm, "structure": structure, **values}
                          for arm in ("dapt@2", "dapt", "base")
                          for structure in ("tabular", "all")])
    figure, plotted = draw_items(items)
    assert legend_of(figure) == ["base", "dapt", "dapt@2"]
    path = save("s", "list_items_intervals", figure, plotted)
    assert path.exists() and path.with_suffix(".pdf").stat().st_size > 1000
    assert len(pd.read_csv(path.with_suffix(".csv"))) == 6
