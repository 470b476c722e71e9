"""The shared parts of figures: intervals, bars, forests, heat maps, and files that repeat."""

import re
from base64 import b64decode

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection

from lib.analyze.figures.style import (
    forest,
    heat,
    legend,
    marker,
    name_rows,
    panels,
    save,
    show_figure,
    styled,
    use_column,
)

NAN = float("nan")


def interval_ends(axes, *, upright: bool = False) -> list[float]:
    """Return both ends of all intervals drawn, sorted."""
    return sorted(
        round(float(value), 6)
        for drawn in axes.collections
        if isinstance(drawn, LineCollection)
        for segment in drawn.get_segments()
        for value in np.reshape(segment, (-1, 2))[:, int(upright)]
    )


def texts(axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


@styled
def test_an_unknown_interval_or_estimate_is_not_drawn():
    figure, (axes,) = panels(1, 2)
    forest(
        axes,
        [0, 1, 2],
        [5, 6, NAN],
        [4, NAN, NAN],
        [7, NAN, NAN],
        filled=[True, False, True],
        label="dapt",
        **marker(1),
    )
    name_rows(axes, ["a", "b", "c"], zero=True)
    legend(figure, axes)
    assert interval_ends(axes) == [4, 7]
    hollow = [line for line in axes.lines if line.get_markerfacecolor() == "white"]
    assert [list(line.get_ydata()) for line in hollow] == [[1]]
    assert axes.get_ylim() == (2.5, -0.5)  # from top to bottom
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["dapt"]


@styled
def test_a_heat_map_has_a_text_in_every_cell():
    _, (axes,) = panels(1, 2)
    values = pd.DataFrame([[10, NAN], [90, 50]], columns=["u", "v"])
    image = heat(axes, values, pd.DataFrame([["10", "none"], ["90", "50"]]), top=100)
    assert set(texts(axes)) == {"10", "none", "90", "50"} and image.get_clim() == (0, 100)


def test_saved_files_embed_fonts_and_repeat_byte_for_byte(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    plotted, before = pd.DataFrame({"x": [0.5, 1]}), mpl.rcParams["pdf.fonttype"]
    figures = [styled(panels)(2, 2, names=("a", "b"))[0] for _ in range(2)]
    path = save("s", "f", figures[0], plotted)
    endings = (".pdf", ".svg", ".png", ".csv")
    first = {ending: path.with_suffix(ending).read_bytes() for ending in endings}
    assert save("s", "f", figures[1], plotted).suffix == ".png"
    assert first == {ending: path.with_suffix(ending).read_bytes() for ending in first}
    assert b"/FontFile2" in first[".pdf"] and b"/Type3" not in first[".pdf"]  # TrueType
    assert first[".csv"] == b"x\n0.5\n1.0\n"
    assert mpl.rcParams["pdf.fonttype"] == before  # the style stays with the figures
    assert np.isclose(figures[0].get_figwidth(), 6.3)


def test_a_shown_figure_is_an_image_with_its_alt_text(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    path = save("s", "f", styled(panels)(1, 2)[0], pd.DataFrame({"n": [8, 3]}))
    page = show_figure(path, 'a "b" <c>').data
    picture = b64decode(re.search('src="data:image/svg[+]xml;base64,([^"]+)"', page)[1]).decode()
    assert "prefers-color-scheme: dark" in picture and picture.rstrip().endswith("</svg>")
    assert path.with_suffix(".txt").read_text() == 'a "b" <c>. n = 3 to 8.\n'
    assert 'alt="a &quot;b&quot; &lt;c&gt;"' in page


def test_a_column_sets_the_width_of_the_figures_that_follow():
    use_column("single")
    try:
        assert np.isclose(styled(panels)(1, 2)[0].get_figwidth(), 8.5 / 2.54, rtol=0.01)
    finally:
        use_column("double")
    with pytest.raises(ValueError, match="choose among single, double"):
        use_column("triple")
