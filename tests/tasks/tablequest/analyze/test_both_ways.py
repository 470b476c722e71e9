"""Reading compared with learning, on questions counted by hand."""

import pandas as pd
import pytest

from lib.tasks.tablequest.analyze.tables import BOTH_WAYS, reading_and_learning

# question -> correct as html, as csv and recalled; None: unscored. Both, only read, only recalled…
OUTCOMES = {"q1": (True, True, True), "q2": (True, False, False), "q3": (False, True, True),
            "q4": (False, False, False), "q5": (True, None, True), "q6": (True, False, False)}
ROWS = pd.DataFrame(
    [("base", question, form, f"d{question}", right) for question, row in OUTCOMES.items()
     for form, right in zip(("html", "csv", "recall"), row, strict=True) if right is not None],
    columns=["arm", "question_id", "form", "cluster", "right"])


def test_the_same_questions_are_counted_read_and_recalled():
    table = reading_and_learning(ROWS).set_index("form")
    assert table[BOTH_WAYS[2:7]].values.tolist() == [[6, 2, 2, 1, 1], [5, 2, 0, 0, 3]]
    row = table.loc["html"]
    assert row.difference_points == pytest.approx(-100 / 6) and row.p == 1.0
    assert row.low_points < -100 / 6 < row.high_points
