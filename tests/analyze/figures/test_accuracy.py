"""Figures of accuracy and lengths: what they plot is what they return, for any arms and cells."""

import pytest
from matplotlib.colors import to_hex

from lib.analyze.figures.accuracy import draw_accuracy, draw_lengths, draw_numeric, draw_panels
from lib.analyze.figures.style import save
from lib.analyze.tables import joined, table2, table5
from lib.core.records import Answer
from tests.analyze.figures.test_style import interval_ends
from tests.analyze.test_tables import query, verdicts


def study(arms: list[str], structures: list[str], states=("correct", "incorrect", "incorrect")):
    queries = [query(f"{structure}{n}", structure, "8443" if n % 2 else "Oslo",
                     "What is the port of it?")
               for structure in structures for n in range(len(states))]
    answers = [Answer(query_id=each.query_id, arm=arm, answer="a b " * (index + 1), n_tokens=1,
                      truncated=False) for arm in arms for index, each in enumerate(queries)]
    judged = {each.query_id: states[n % len(states)] for n, each in enumerate(queries)}
    rows = joined(queries, [row for arm in arms for row in verdicts(arm, judged)])
    return queries, answers, rows.assign(cluster=rows.query_id)


def test_bars_and_intervals_are_the_numbers_of_the_table():
    figure, plotted = draw_accuracy(table2(study(["base", "dapt"], ["natural", "tabular"])[2]))
    axes, cells = figure.axes[0], plotted[plotted.n > 0]
    assert [bar.get_height() for bar in axes.patches] == pytest.approx(list(100 * cells.accuracy))
    ends = sorted(round(100 * value, 6) for value in [*cells.low, *cells.high])
    assert interval_ends(axes, upright=True) == ends
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels == ["natural\n(n = 3)", "tabular\n(n = 3)", "all\n(n = 6)"]
    assert axes.get_ylim()[0] == 0 and axes.get_ylim()[1] > 100 * cells.high.max()


def test_every_arm_has_its_own_colour_and_hatch_in_all_panels():
    table = table2(study(["base", "dapt", "dapt-n"], ["natural"])[2])
    figure, plotted = draw_panels({"paper": table, "this run": table[table.arm != "base"]})
    looks = [{(to_hex(bar.get_facecolor()), bar.get_hatch()) for bar in axes.patches
              if bar.get_height() >= 0} for axes in figure.axes]
    assert len(looks[0]) == 3 and looks[1] < looks[0]
    assert list(plotted.source.unique()) == ["paper", "this run"]


@pytest.mark.parametrize("states", [("unscored",), ("incorrect", "unscored")])
@pytest.mark.parametrize("arms", [["base"], ["a", "b", "dapt-n", "base"]])
def test_every_figure_is_drawn_for_any_arms_and_cells(arms, states, tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    queries, answers, rows = study(arms, ["entity-list"], states)
    for drawn in (draw_accuracy(table2(rows)), draw_numeric(table5(rows)),
                  draw_lengths(queries, answers)):
        assert save("s", "drawn", *drawn).stat().st_size > 1000


def test_lengths_count_words_of_questions_references_and_answers():
    queries, answers, _ = study(["base"], ["natural"])
    figure, lengths = draw_lengths(queries, answers)
    assert dict(zip(lengths.part, lengths["mean"], strict=True)) == {
        "question": 6, "reference": 1, "base": 4}
    base = lengths.set_index("part").loc["base"]
    assert (base.n, base.low25, base["median"], base.high75) == (3, 3, 4, 5)
    assert len(figure.axes) == 2
