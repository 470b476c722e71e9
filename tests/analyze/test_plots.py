"""Figures draw what their tables have, no unknown interval, and files that repeat."""

import json
import os
import re
import subprocess
import sys
from base64 import b64decode

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from lib.analyze.plots import (
    draw_bars,
    draw_forest,
    draw_paired,
    draw_preferences,
    draw_stacks,
    draw_training,
    panels,
    save,
    show_figure,
    styled,
)
from lib.analyze.published import paper_rows, paper_table4
from lib.analyze.stats import paired
from lib.analyze.tables import table2
from lib.run.config import load_study
from tests.rows import judged

NAN = float("nan")


def interval_ends(axes, *, upright: bool = False) -> list[float]:
    """Return both ends of all intervals drawn, sorted."""
    lines = [line.get_data()[upright] for line in axes.lines if line.get_color() == "black"]
    known = [line[np.isfinite(line)] for line in map(np.array, lines)]
    return sorted(round(float(end(line)), 6) for line in known if len(line) for end in (min, max))


def hollow(axes) -> int:
    """Return the number of hollow points."""
    lines = [line for line in axes.lines if line.get_markerfacecolor() == "white"]
    return sum(int(np.isfinite(line.get_xdata()).sum()) for line in lines)


def texts(artists) -> list[str]:
    return [text.get_text() for text in artists]


def test_an_unknown_interval_or_estimate_is_not_drawn_and_rounding_never_moves_an_estimate():
    known = {"estimate": [5, 6, NAN, 2], "low": [4, NAN, NAN, 2 + 1e-15], "high": [7, NAN, NAN, 3]}
    table = pd.DataFrame(
        {"row": [*"abcd"], "arm": "dapt", "filled": [True, False, True, True], **known}
    )
    columns = ("estimate", "low", "high")
    figure = draw_forest(table, columns, "row", series="arm", label="x", filled=table.filled)
    (axes,) = figure.axes
    assert interval_ends(axes) == [2, 3, 4, 7] and hollow(axes) == 1
    assert axes.get_ylim() == (3.5, -0.5)  # from top to bottom
    assert texts(axes.get_yticklabels()) == [*"abcd"]
    assert texts(figure.legends[0].get_texts()) == ["raw text"]


def test_saved_files_embed_fonts_and_repeat_byte_for_byte(study_root):
    before, found = mpl.rcParams["pdf.fonttype"], []
    for _ in range(2):
        figure = styled(panels)(2, 2, names=("a", "b"))[0]
        path = save("s", "f", figure, pd.DataFrame({"x": [0.5, 1]}))
        found.append({one.suffix: one.read_bytes() for one in path.parent.glob("f.*")})
    assert path.suffix == ".png" and found[0] == found[1]
    assert {*found[0]} == {".pdf", ".svg", ".png", ".csv"}
    assert b"/FontFile2" in found[0][".pdf"] and b"/Type3" not in found[0][".pdf"]  # TrueType
    assert found[0][".csv"] == b"x\n0.5\n1.0\n"
    assert mpl.rcParams["pdf.fonttype"] == before  # the style stays with the figures
    assert np.isclose(figure.get_figwidth(), 6.3)


def test_a_shown_figure_is_an_image_with_its_alt_text(study_root):
    path = save("s", "f", styled(panels)(1, 2)[0], pd.DataFrame({"n": [8, 3]}))
    page = show_figure(path, 'a "b" <c>').data
    picture = b64decode(re.search('src="data:image/svg[+]xml;base64,([^"]+)"', page)[1]).decode()
    assert "prefers-color-scheme: dark" in picture and picture.rstrip().endswith("</svg>")
    assert path.with_suffix(".txt").read_text() == 'a "b" <c>. n = 3 to 8.\n'
    assert 'alt="a &quot;b&quot; &lt;c&gt;"' in page


LOOKED_AT = """
import pandas as pd
from lib.analyze import latex, plots
from lib.analyze.tables import table2
rows = pd.DataFrame({"arm": ["base", "dapt", "dapt-n"], "verdict": "correct"})
table = table2(rows.assign(structure="tabular"))
figure, _ = plots.draw_bars(table)
(axes,) = figure.axes
(inches,) = latex.inches
print(figure.get_figwidth(), inches, plots.STYLE["font.family"], [*table.arm.unique()])
print([text.get_text() for text in figure.legends[0].get_texts()])
print(axes.patches[-1].get_facecolor(), axes.get_xticklabels()[0].get_text()[:6])
"""


def test_a_study_sets_width_font_names_colours_and_the_order_of_arms(study_file):
    keys = "column: single\nfont: serif\narms: [base, dapt-n, dapt]\n"
    names = "labels: {dapt: DAPT $a_$, tabular: Tables}\ncolors: {dapt: '#ff0000'}"
    study_file(f"kind: lab\n{keys}{names}")
    look = {"STUDY_LOOK": json.dumps(load_study("own").look)}
    ran = [sys.executable, "-c", LOOKED_AT]
    told = subprocess.run(ran, env={**os.environ, **look}, text=True, capture_output=True)
    assert told.stdout.splitlines() == [
        "3.35 3.35 ['serif'] ['base', 'dapt-n', 'dapt']",
        "['base', 'rewritten text', 'DAPT $a_$']",
        "(1.0, 0.0, 0.0, 1.0) Tables",
    ], told.stderr


def test_losses_are_lines_and_counts_stacks():
    epochs = pd.DataFrame({"epoch": [1, 2], "loss": [2.5, 0.5], "gradient_norm": [1, 2]})
    figure, plotted = draw_training(epochs.assign(validation_loss=[2.6, 2.9]))
    left, right = figure.axes
    assert left.get_yscale() == "linear" and [*left.lines[1].get_ydata()] == [2.6, 2.9]
    assert texts(figure.legends[0].get_texts())[:2] == ["training", "validation"]
    assert [*right.lines[0].get_ydata()] == [1, 2] and len(plotted) == 2
    assert "validation" not in texts(draw_training(epochs)[0].legends[0].get_texts())
    counts = pd.DataFrame({"kept": [1, 2], "refused": [3, 0]}, index=["natural", "tabular"])
    (axes,) = draw_stacks(counts, "words")[0].axes
    assert texts(axes.get_yticklabels()) == ["prose", "table"]
    assert [bar.get_x() for bar in axes.patches] == [0, 0, 1, 2]
    assert all(tick == int(tick) for tick in axes.get_xticks())


def test_bars_are_the_tables_cells():
    table = table2(paper_rows())
    figure, plotted = draw_bars(table)
    axes = figure.axes[0]
    heights = [bar.get_height() for bar in axes.patches if bar.get_width()]  # not of the legend
    assert heights == pytest.approx(100 * table.accuracy) and plotted is table
    assert texts(figure.legends[0].get_texts()) == ["base", "raw text", "rewritten text"]
    ends = (100 * table[["low", "high"]]).round(6)
    assert interval_ends(axes, upright=True) == sorted(ends.to_numpy().ravel())
    some = table[:2].assign(accuracy=[0.25, None], low=[0.25 + 1e-17, None], high=[0.5, None])
    assert interval_ends(draw_bars(some)[0].axes[0], upright=True) == [25, 50]  # one is unknown
    some = paper_table4()[:24]
    nobody = some.criterion == some.criterion.iloc[-1]
    figure, _ = draw_preferences(some.assign(unscored=some.n.where(nobody, 1)))
    (axes,) = figure.axes
    assert texts(axes.get_xticklabels())[0] == "prose\n(n = 64)", "of 65 one is unscored"
    assert texts(figure.legends[0].get_texts())[0] == "base is better"


def test_forests_draw_every_known_interval_and_fill_what_differs():
    arms = {"base": "0" * 12, "dapt": "1" * 11 + "0"}
    rows = pd.concat([judged(**arms), judged("tabular", **arms | {"dapt": "0" * 12})])
    table = paired(rows)
    axes = draw_paired(table)[0].axes[0]
    ends = table[["low_points", "high_points"]].dropna().round(6)
    assert interval_ends(axes) == sorted(ends.to_numpy().ravel())
    assert hollow(axes) == (~table.differs[table.difference_points.notna()]).sum()
