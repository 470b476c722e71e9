"""Comparing serializations: places of cells, differences over readers, sentences."""

import numpy as np
import pandas as pd
import pytest

from lib.reader.cells import distance, tables_of
from lib.reader.figures import draw_forms
from lib.reader.forms import binned, by_form, conclusion, differences
from lib.reader.lessons import TABLE_FORMS
from lib.tablequest.ask.serialize import FORMS


@pytest.mark.parametrize("form", TABLE_FORMS)
def test_a_cells_distance_finds_its_value(form):
    for table in tables_of(20, "d", 5, 4, 4):
        text = FORMS[form](table.grid)
        for one in table.asked:
            assert one.answer == table.grid.cells[one.row][one.column].text
            end = len(text) - distance(table.grid, form, one.row, one.column)
            assert text[:end].rstrip('"').endswith(one.answer)  # CSV may quote it


def answers(shares: dict[tuple[str, str], float], readers: int = 3, n: int = 200) -> pd.DataFrame:
    """Answers of readers whose shares vary a little around `shares`, and CSV's the other way."""
    rows = [(seed, task, form, number // 4, number % 4, 1 + number % 48, number,
             number < round(n * share + (2 if form == "csv" else -1) * (seed - 2)))
            for (task, form), share in shares.items() for seed in range(1, readers + 1)
            for number in range(n)]
    return pd.DataFrame(rows, columns=["seed", "task", "form", "table", "question", "n_cells",
                                       "distance", "correct"])


SHARES = {("read", "csv"): 0.9, ("read", "json"): 0.5, ("learned", "csv"): 0.2,
          ("learned", "json"): 0.6}


def test_the_best_form_of_each_task_is_named_with_what_is_found():
    rows = answers(SHARES)
    forms = by_form(rows)
    pairs = pd.concat([differences(rows, task) for task in ("read", "learned")])
    row = forms[(forms.task == "read") & (forms.form == "csv")].iloc[0]
    assert (row.n, row.answers) == (3, 600) and row.estimate == pytest.approx(90)
    assert pairs.estimate.tolist() == pytest.approx([40, 40]) and pairs.p_holm.max() < 0.05
    text = conclusion(forms, pairs)
    assert "reads csv best, 90.0" in text and "has learned json best, 60.0" in text
    assert "is not the one that is learned best" in text and "is -1.00" in text


def test_nothing_is_said_to_be_best_where_all_are_equal():
    rows = answers({key: 0.5 for key in SHARES})
    text = conclusion(by_form(rows), pd.concat([differences(rows, task)
                                                for task in ("read", "learned")]))
    assert text.count("equally") == 2 and "correlation" not in text
    assert "in what is read and learned, no difference" in text


def test_tables_by_size_have_every_answer_once_and_are_drawn():
    shares = {(task, form): 0.5 + 0.05 * n for task in ("read", "learned")
              for n, form in enumerate(TABLE_FORMS)}
    rows = binned(answers(shares))
    sizes = by_form(rows, ("cells",))
    assert sizes.answers.sum() == len(rows) and set(sizes.cells) == {"1–6", "7–16", "17 or more"}
    figure, drawn = draw_forms(by_form(rows), sizes)
    assert len(figure.axes) == 2 and np.isfinite(drawn.estimate).all()
