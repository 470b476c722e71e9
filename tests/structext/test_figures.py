"""figures: heat maps and shots show what the tables say; forests are in tests/analyze."""

import nbformat
import pandas as pd

from lib.core.store import result_path
from lib.run.parameters import notebook_path
from lib.structext.analyze import draw_heat, heat, summary
from tests.structext.replied import ask, by_number, of_arms, right, silent, wrong

HARD = [one for depth in (1, 2) for one in ask("test-hard", depth=depth, width=2)]
ASKED = [*ask(), *ask("real-test", is_real=True), *HARD]
ROWS = of_arms(ASKED, ask("test-hard", depth=3), base=by_number(right, wrong, silent), tuned=right)


def test_heat_has_a_panel_for_each_arm_asked_and_nothing_for_a_cell_left_out():
    figure, plotted = draw_heat(heat(ROWS), ["tuned"])
    assert set(plotted.arm) == {"tuned"} and set(plotted.suite) == {"test-hard"}
    drawn = [text.get_text() for text in figure.axes[0].texts]
    assert figure.axes[0].get_title("left") == "tuned"
    assert drawn == ["100.0\nSD 0.0\nand 0.0"] * 2
    sizes = summary(
        ROWS[ROWS.arm == "tuned"].assign(suite="all"), ["suite", "arm", "input", "nodes"]
    )
    figure, _ = draw_heat(sizes[~sizes.left_out.astype(bool)], ["tuned"], "input", "nodes")
    texts = [text.get_text() for text in figure.axes[0].texts]
    numbers = sum(int(text.split("n = ")[1]) for text in texts if "n = " in text)
    assert numbers == len(ASKED) and figure.axes[0].get_ylabel() == "Input"


def test_scores_by_number_of_shots_begin_without_any(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    few = [one for n in (1, 2) for one in ask(setting="few-shot", n_shots=n)]
    rows = of_arms([*ask(), *few], base=by_number(*[wrong] * 6, right), tuned=right)
    cells = {one.id: one.source for one in nbformat.read(notebook_path("06_structext"), 4).cells}
    names = {"rows": rows, "study": "s", "display": lambda _: None}
    for name in ("imports", "imports-structext", "shots-figure"):
        exec(cells[name], names)
    table = pd.read_csv(result_path("s", "shots_scores.csv"))
    table = table.pivot(index="arm", columns="shots", values="score").round()
    assert table.loc["base"].to_dict() == {0: 0, 1: 100, 2: 100}
    assert table.loc["tuned"].eq(100).all()
