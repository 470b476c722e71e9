"""Forms compared: shares over readers, and differences on the same questions."""

import numpy as np
import pandas as pd
import pytest

from lib.analyze.statistics.units import summarize
from lib.reader.forms import binned, by_form, differences, draw_forms
from lib.reader.lessons import TABLE_FORMS


def answers(shares: dict[str, float], readers: int = 3, n: int = 200) -> pd.DataFrame:
    """Answers of readers whose shares vary a little around `shares`, and CSV's the other way."""
    rows = [(reader, form, 1 + number % 48,
             number < round(n * share + (2 if form == "csv" else -1) * (reader - 2)))
            for form, share in shares.items() for reader in range(1, readers + 1)
            for number in range(n)]
    return pd.DataFrame(rows, columns=["reader", "form", "n_cells", "correct"])


def test_forms_are_compared_on_the_same_questions_the_better_first():
    rows = answers({"json": 0.5, "csv": 0.9})
    forms = by_form(rows).set_index("form")
    assert (forms.n["csv"], forms.answers["csv"]) == (3, 600)
    assert forms.estimate["csv"] == pytest.approx(90)
    pairs = differences(rows)
    summary = summarize(pairs, "reader", list(pairs.contrast.unique()))
    assert list(summary.contrast) == ["csv - json"]
    assert summary["mean"][0] == pytest.approx(40) and summary.p_holm[0] < 0.05


def test_tables_by_size_have_every_answer_once_and_are_drawn():
    rows = binned(answers({form: 0.5 + 0.05 * n for n, form in enumerate(TABLE_FORMS)}))
    sizes = by_form(rows, ("cells",))
    assert sizes.answers.sum() == len(rows) and set(sizes.cells) == {"1–6", "7–16", "17 or more"}
    figure, drawn = draw_forms(by_form(rows), sizes)
    assert len(figure.axes) == 1 and np.isfinite(drawn.estimate).all()
