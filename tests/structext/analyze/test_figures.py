"""lib.structext.analyze.figures: they show what the tables say, also where there is little."""

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from lib.analyze.figures.style import marker, save
from lib.structext.analyze.figures import draw_differences, draw_groups, draw_heat, draw_shots
from lib.structext.analyze.floor import BLIND
from lib.structext.analyze.pairs import against, real_and_test, shots
from lib.structext.analyze.tables import at_prompt, heat, summary, with_all
from tests.structext.replied import ask, by_number, of_arms, right, silent, wrong

ASKED = [*ask(), *ask("real-test", is_real=True), *ask(setting="few-shot", n_shots=1),
         *ask(setting="few-shot", n_shots=3),
         *(one for depth in (1, 2) for width in (1, 2)
           for one in ask("test-hard", depth=depth, width=width))]
ROWS = of_arms(ASKED, ask("test-hard", depth=3), base=by_number(right, wrong, silent), tuned=right)
ROWS_BASE = at_prompt(ROWS, "base")
BASE, TUNED = marker(0)["marker"], marker(1)["marker"]


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def points(axes, drawn_as: str, is_filled: bool = True) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for line in axes.lines if line.get_marker() == drawn_as
            and (line.get_markerfacecolor() != "white") == is_filled for x, y in line.get_xydata()]


def labels(axes) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


def test_groups_have_a_marker_per_arm_at_its_score_and_an_interval():
    table = summary(with_all(ROWS_BASE), ["suite", "language", "arm"])
    figure, plotted = draw_groups(table, "language")
    assert plotted is table
    assert [axes.texts[0].get_text() for axes in figure.axes] == ["test", "real-test", "test-hard"]
    own = table[(table.suite == "test") & (table.arm == "base")]
    drawn = [x for x, _ in points(figure.axes[0], BASE)]
    assert drawn == pytest.approx((100 * own.rouge_score).tolist())
    intervals = [segment for part in figure.axes[0].collections if isinstance(part, LineCollection)
                 for segment in part.get_segments()]
    assert len(intervals) == len(table[table.suite == "test"])
    assert labels(figure.axes[0]) == ["csv", "tree", "json", "all"]
    judged, _ = draw_groups(summary(ROWS_BASE, ["suite", "form", "arm"]), "form", "judge")
    assert [x for x, _ in points(judged.axes[0], TUNED)] == [100] * 3
    tasks, _ = draw_groups(summary(ROWS_BASE, ["suite", "task", "arm"]), "task")
    assert "TextRetrieval csv.0" in labels(tasks.axes[0])


def test_the_heat_map_is_of_the_suite_with_the_most_cells_and_says_what_was_left_out():
    figure, plotted = draw_heat(heat(ROWS_BASE))
    assert set(plotted.suite) == {"test-hard"} and len(plotted) == 2 * 5
    shown = texts(figure)
    assert shown.count("base: mean") == shown.count("tuned: SD across languages") == 1
    assert sum("6/6 out" in text for text in shown) == 2 and "100.0\n[48, 100]" in shown
    hatched = [patch for axes in figure.axes for patch in axes.patches
               if patch.get_hatch() == "////"]
    assert len(hatched) == 6  # depth 3 of both arms, in each of the three maps
    alone, one_cell = draw_heat(heat(ROWS_BASE[ROWS_BASE.suite == "test"]))
    assert len(one_cell) == 2 and "100.0\n[48, 100]" in texts(alone)


def test_the_floor_is_grey_in_every_figure():
    rows = of_arms([*ask(), *ask("real-test", is_real=True), *ask(setting="few-shot", n_shots=1)],
                   (), True, base=by_number(right, wrong))
    drawn = [draw_groups(summary(rows, ["suite", "prompt", "arm"]), "prompt"),
             draw_shots(shots(rows)),
             draw_differences(real_and_test(at_prompt(rows, "base")), "language", "points")]
    for figure, _ in drawn:
        grey = [line for axes in figure.axes for line in axes.lines if line.get_marker() == "d"]
        assert grey and {line.get_color() for line in grey} == {"0.65"}
        assert any(BLIND in text.get_text() for text in figure.legends[0].texts)
    assert f"{BLIND}: mean" in texts(draw_heat(heat(rows))[0])


def test_the_curve_of_shots_starts_at_the_base_prompt():
    figure, _ = draw_shots(shots(ROWS))
    (axes,) = figure.axes  # only one suite was asked with demonstrations
    assert [y for _, y in points(axes, TUNED)] == pytest.approx([100, 100, 100])
    assert [round(x) for x, _ in points(axes, TUNED)] == [0, 1, 3]
    assert not points(axes, TUNED, is_filled=False)  # the shortest ones: not asked


def test_a_cross_says_what_other_questions_reach():
    asked, longer = ask(), ask(setting="few-shot", n_shots=2)
    rows = of_arms([*asked, *longer[:3]], longer[3:], base=right)
    scores, _ = draw_groups(summary(rows, ["suite", "prompt", "arm"]), "prompt")
    (cross,) = points(scores.axes[0], "x")
    assert cross == pytest.approx((100, 1), abs=0.3)
    first, second = (text.get_text() for text in scores.legends[0].texts)
    assert first == "base" and second.startswith("those that fit")
    curve, _ = draw_shots(shots(rows))
    assert [y for _, y in points(curve.axes[0], BASE)] == pytest.approx([100, 100])  # always fit
    assert points(curve.axes[0], "x")[1] == pytest.approx((2, 50), abs=0.3)
    assert "test (n = 3)" in texts(curve)
    first, second = (text.get_text() for text in curve.legends[0].texts)
    assert first == "base, few-shot" and second.startswith("all, with 0")


def test_a_difference_made_by_the_context_window_is_0_with_a_cross_where_all_are():
    test, real = ask(), ask("real-test", is_real=True)
    table = real_and_test(of_arms([*test, *real[:3]], real[3:], base=right))
    (axes,) = draw_differences(table, "language", "points")[0].axes
    assert [x for x, _ in points(axes, BASE, is_filled=False)] == pytest.approx([0] * 4)
    assert [x for x, _ in points(axes, "x")] == pytest.approx([-50] * 4)
    assert "all (n = 3)" in labels(axes)
    assert table.difference_points.iloc[-1] == 0
    assert table.whole_points.iloc[-1] == pytest.approx(-50)


def test_differences_without_an_interval_are_hollow(tmp_path, monkeypatch):
    table = real_and_test(ROWS_BASE)
    figure, _ = draw_differences(table, "language", "points")
    (axes,) = figure.axes
    hollow = [x for x, _ in points(axes, TUNED, is_filled=False)]
    assert hollow == pytest.approx([0] * 4, abs=1e-6) and "all (n = 6)" in labels(axes)
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    save("s", "real", figure, table)
    assert {path.name for path in (tmp_path / "figures" / "s").iterdir()} == {
        "real.pdf", "real.png", "real.csv"}


def test_an_arm_without_any_answer_is_at_0_with_its_interval():
    rows = of_arms(ask(), base=silent)
    table = summary(rows, ["suite", "prompt", "arm"])
    figure, _ = draw_groups(table, "prompt")
    assert points(figure.axes[0], BASE) == [(0, 0)] and table.high[0] > 0.3
    assert "0.0\n[0, 52]" in texts(draw_heat(heat(rows))[0]) and against(rows, "base").empty
    assert np.isclose(figure.get_size_inches()[0], 6.3)
