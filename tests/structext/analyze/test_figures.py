"""lib.structext.analyze.figures: they show what the tables say, also where there is little."""

import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from lib.analyze.figures.style import marker
from lib.structext.analyze.figures import draw_groups, draw_shots
from lib.structext.analyze.pairs import shots
from lib.structext.analyze.tables import at_prompt, summary, with_all
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
