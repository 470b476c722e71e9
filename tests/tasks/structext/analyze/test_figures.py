"""analyze.figures: they show what the tables say, also where there is little."""

import pytest
from matplotlib.collections import LineCollection

from lib.analyze.figures.style import marker
from lib.tasks.structext.analyze.figures import draw_groups, draw_heat
from lib.tasks.structext.analyze.pairs import real_and_test
from lib.tasks.structext.analyze.tables import heat, summary, with_all
from tests.tasks.structext.replied import ask, by_number, of_arms, right, silent, wrong

ASKED = [
    *ask(),
    *ask("real-test", is_real=True),
    *(
        one
        for depth in (1, 2)
        for width in (1, 2)
        for one in ask("test-hard", depth=depth, width=width)
    ),
]
ROWS = of_arms(ASKED, ask("test-hard", depth=3), base=by_number(right, wrong, silent), tuned=right)
BASE, TUNED = marker(0)["marker"], marker(1)["marker"]


def points(axes, drawn_as: str, is_filled: bool = True) -> list[tuple[float, float]]:
    return [
        (float(x), float(y))
        for line in axes.lines
        if line.get_marker() == drawn_as and (line.get_markerfacecolor() != "white") == is_filled
        for x, y in line.get_xydata()
    ]


def labels(axes) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


def test_groups_have_a_marker_per_arm_at_its_score_and_an_interval():
    table = summary(with_all(ROWS), ["suite", "language", "arm"])
    figure, plotted = draw_groups(table, "language")
    assert plotted is table
    assert [axes.get_title("left") for axes in figure.axes] == ["test", "real-test", "test-hard"]
    own = table[(table.suite == "test") & (table.arm == "base")]
    drawn = [x for x, _ in points(figure.axes[0], BASE)]
    assert drawn == pytest.approx((100 * own.rouge_score).tolist())
    intervals = [
        segment
        for part in figure.axes[0].collections
        if isinstance(part, LineCollection)
        for segment in part.get_segments()
    ]
    assert len(intervals) == len(table[table.suite == "test"])
    assert labels(figure.axes[0]) == ["csv", "tree", "json", "all"]
    judged, _ = draw_groups(table, "language", "judge")
    assert [x for x, _ in points(judged.axes[0], TUNED)] == [100] * 4
    tasks, _ = draw_groups(summary(ROWS, ["suite", "task", "arm"]), "task")
    assert "TextRetrieval csv.0" in labels(tasks.axes[0])


def test_heat_has_a_panel_for_each_arm_asked():
    table = heat(ROWS)
    figure, plotted = draw_heat(table, ["tuned"])
    assert set(plotted.arm) == {"tuned"} and set(plotted.suite) == {"test-hard"}
    drawn = [text.get_text() for text in figure.axes[0].texts]
    assert figure.axes[0].get_title("left") == "tuned"
    assert drawn.count("100.0\nSD 0.0") == 4  # a cell is left out


def test_a_difference_without_an_interval_is_hollow():
    figure, _ = draw_groups(real_and_test(ROWS), "language", "difference_points")
    assert points(figure.axes[0], TUNED) == []
    assert len(points(figure.axes[0], TUNED, is_filled=False)) == 4
