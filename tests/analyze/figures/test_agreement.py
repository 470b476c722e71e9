"""Figures of judges judged show the numbers of their tables, also where a value or an interval is missing."""

import numpy as np
import pandas as pd
import pytest

from lib.analyze.agreement.coefficients import coefficients
from lib.analyze.agreement.labels import leniency
from lib.analyze.agreement.list_items import MEASURES
from lib.analyze.export import export_table
from lib.analyze.figures.agreement import draw_agreement, draw_human, draw_items, draw_preferences
from lib.analyze.figures.style import save

NAN = float("nan")


def panels(figure):
    return [(axes.get_xlabel(), axes) for axes in figure.axes]


def test_preferences_are_bars_of_their_shares_and_nothing_scored_is_a_dash():
    cells = [{"first_arm": "base", "second_arm": "dapt", "structure": structure, "criterion": criterion,
              "outcome": outcome, "n": n, "unscored": 0, "count": 1, "share": share, "low": share - .01,
              "high": share + .1} for structure, n in (("natural", 4), ("entity-list", 0), ("tabular", 3), ("all", 7))
             for criterion in ("correctness", "domain relevance")
             for outcome, share in (("A", .2), ("B", .5 if structure != "tabular" else NAN), ("tie", .3))]
    figure, plotted = draw_preferences(table := pd.DataFrame(cells))
    assert plotted is table and [name for name, _ in panels(figure)] == ["correctness", "domain relevance"]
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["natural", "tabular", "all"]
    assert np.nanmax([bar.get_height() for bar in axes.patches]) == 50 and len(axes.patches) == 9
    assert [text.get_text() for text in axes.texts] == ["–"]


@pytest.fixture
def by_pair() -> pd.DataFrame:
    tables = {("natural", "m"): [[5, 1], [2, 9]], ("all", "m"): [[5, 5], [5, 5]], ("natural", "x"): [[0, 0], [0, 5]],
              ("all", "x"): [[0, 4], [3, 0]]}
    return pd.DataFrame([{"first_judge": "rules", "second_judge": judge, "arm": "all", "structure": structure, "n": 9,
                          **coefficients(np.array(table))} for (structure, judge), table in tables.items()])


def test_agreement_is_markers_at_its_values_below_zero_too(by_pair):
    figure, plotted = draw_agreement(pd.concat([by_pair, by_pair.assign(arm="dapt", agreement=0.123)]))
    assert len(plotted) == 4 and [name for name, _ in panels(figure)] == ["Agreement (share)", "Cohen's kappa",
                                                                          "Gwet's AC1"]
    kappa = figure.axes[1]
    drawn = sorted(x for line in kappa.lines[1:] if line.get_marker() in "os" for x in line.get_xdata() if x == x)
    assert drawn == sorted(by_pair.kappa.dropna()) and kappa.get_xlim()[0] < min(drawn) < 0
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["rules and m", "rules and x"]


def test_items_and_human_are_drawn_and_saved_with_their_numbers(by_pair, tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    human = by_pair.assign(judge=by_pair.second_judge)
    human = human.assign(**pd.DataFrame([leniency(np.array([[5, 3], [1, 4]]))] * 4))
    figure, _ = draw_human(human)
    low, high = figure.axes[2].get_xlim()
    assert low == -high and high < 0.5
    values = {f"{measure}{end}": value for measure in ("strict", *MEASURES)
              for end, value in (("", 0.4), ("_low", 0.2), ("_high", NAN))}
    items = pd.DataFrame([{"arm": arm, "structure": structure, **values}
                          for arm in ("dapt@2", "dapt", "base") for structure in ("tabular", "all")])
    figure, plotted = draw_items(items)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["base", "dapt", "dapt@2"]
    path = save("s", "list_items_intervals", figure, plotted)
    assert path.exists() and path.with_suffix(".pdf").stat().st_size > 1000
    assert len(pd.read_csv(path.with_suffix(".csv"))) == 6


def test_table_is_exported_with_its_numbers_and_its_reading(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    path = export_table("s", "human", pd.DataFrame({"arm": ["base"], "x": [0.1234]}), pd.DataFrame({"x": ["12% | a"]}))
    assert path.read_text() == "arm,x\nbase,0.1234\n"
    assert path.with_suffix(".md").read_text() == "| x |\n| --- |\n| 12% \\| a |\n"
    assert "12\\% | a" in path.with_suffix(".tex").read_text()
