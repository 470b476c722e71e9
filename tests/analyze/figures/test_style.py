"""The figures: what they plot is what they save, for any arms and structures, with intervals and fixed looks."""

import matplotlib as mpl
import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex

from lib.analyze.figures.style import draw_accuracy, draw_lengths, draw_numeric, save
from lib.analyze.tables import joined, table2, table5
from lib.core.records import Answer, Query, Verdict


def study(arms: list[str], structures: list[str], states=("correct", "incorrect", "incorrect")):
    queries = [Query(query_id=f"{structure}{n}", document_id="d", question="What is the port of it?",
                     answer="8443" if n % 2 else "Oslo", structure=structure, source_reference="", start=0, end=0,
                     block_type="", entity_count=1 if structure == "entity-list" else None)
               for structure in structures for n in range(len(states))]
    answers = [Answer(query_id=query.query_id, arm=arm, answer="a b " * (index + 1), n_tokens=1, truncated=False)
               for arm in arms for index, query in enumerate(queries)]
    rows = joined(queries, [Verdict(query_id=query.query_id, arm=arm, judge="rules", verdict=states[n % len(states)],
                                    reason="so") for arm in arms for n, query in enumerate(queries)])
    return queries, answers, rows


def test_bars_and_intervals_are_the_numbers_of_the_table():
    _, _, rows = study(["base", "dapt"], ["natural", "tabular"])
    figure, plotted = draw_accuracy(table2(rows))
    axes = figure.axes[0]
    cells = plotted[plotted.n > 0]
    heights = [bar.get_height() for bar in axes.patches]
    assert heights == pytest.approx(list(100 * cells.accuracy))
    lines = [segment for drawn in axes.collections if isinstance(drawn, LineCollection)
             for segment in drawn.get_segments()]
    ends = sorted(round(value, 6) for segment in lines for value in segment[:, 1])
    assert ends == sorted(round(100 * value, 6) for column in ("low", "high") for value in cells[column])
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels == ["natural\n(n = 3)", "tabular\n(n = 3)", "all\n(n = 6)"]
    assert axes.get_ylim()[0] == 0 and axes.get_ylim()[1] > 100 * cells.high.max()
    assert not axes.get_title()


def test_an_arm_of_the_whole_set_has_its_own_colour_and_hatch():
    _, _, rows = study(["base", "dapt", "dapt-n"], ["natural"])
    bars = draw_accuracy(table2(rows))[0].axes[0].patches
    looks = {(to_hex(bar.get_facecolor()), bar.get_hatch()) for bar in bars}
    assert len(looks) == 3


@pytest.mark.parametrize("states", [("unscored",), ("incorrect", "unscored")])
@pytest.mark.parametrize("arms", [["base"], ["dapt-n", "base"], ["a", "b", "c", "d"]])
def test_every_figure_is_drawn_for_any_arms_and_cells(arms, states, tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    queries, answers, rows = study(arms, ["entity-list"], states)
    save("s", "accuracy", *draw_accuracy(table2(rows)))
    save("s", "numeric", *draw_numeric(table5(rows)))
    save("s", "lengths", *draw_lengths(queries, answers))
    names = {path.name for path in (tmp_path / "figures/s").iterdir()}
    assert names == {f"{name}.{ending}" for name in ("accuracy", "numeric", "lengths")
                     for ending in ("pdf", "png", "csv")}


def test_lengths_count_words_of_questions_references_and_answers():
    queries, answers, _ = study(["base"], ["natural"])
    figure, lengths = draw_lengths(queries, answers)
    assert dict(zip(lengths.part, lengths["mean"], strict=True)) == {"question": 6, "reference": 1, "base": 4}
    base = lengths.set_index("part").loc["base"]
    assert (base.n, base.low25, base["median"], base.high75) == (3, 3, 4, 5)
    assert len(figure.axes) == 2


def test_saved_files_embed_fonts_and_repeat_byte_for_byte(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    _, _, rows = study(["base", "dapt"], ["natural", "tabular"])
    before = mpl.rcParams["pdf.fonttype"]
    path = save("s", "accuracy", *draw_accuracy(table2(rows)))
    first = {ending: path.with_suffix(ending).read_bytes() for ending in (".pdf", ".png", ".csv")}
    save("s", "accuracy", *draw_accuracy(table2(rows)))
    assert first == {ending: path.with_suffix(ending).read_bytes() for ending in first}
    assert b"/FontFile2" in first[".pdf"] and b"/Type3" not in first[".pdf"]  # TrueType: fonttype 42
    assert mpl.rcParams["pdf.fonttype"] == before  # the style stays with the figures
    pd.testing.assert_frame_equal(pd.read_csv(path.with_suffix(".csv")), table2(rows), check_dtype=False)
