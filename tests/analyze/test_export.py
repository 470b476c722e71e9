"""Tables are written in three forms."""

import pandas as pd
import pytest

from lib.analyze.tables import show


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    return tmp_path


def test_numbers_are_the_csv_and_formatted_cells_the_rest(root):
    numbers = pd.DataFrame({"arm": ["base"], "a_b": [0.1234]})
    formatted = pd.DataFrame({"a_b": ["12% | – a"]})
    assert show("s", "human", numbers, formatted).to_dict("list") == {"a b": ["12% | – a"]}
    folder = root / "figures/s/extra"
    assert (folder / "human.csv").read_text() == "arm,a_b\nbase,0.1234\n"
    assert (folder / "human.md").read_text() == "| a b |\n| --- |\n| 12% \\| – a |\n"
    assert "12\\% | -- a" in (folder / "human.tex").read_text()
    assert "a b" in (folder / "human.tex").read_text()


def test_no_text_of_a_csv_starts_a_formula_and_numbers_stay_numbers(root):
    texts = ["=1+1", "+1", "-20 \u00b0C", "@SUM(A1)", " =1", "\tx", "\r=1", "plain", None]
    show("s", "t", pd.DataFrame({"text": texts, "n": [-1.5] * len(texts)}))
    read = pd.read_csv(root / "figures/s/extra/t.csv")
    assert read.text[:7].str.startswith("'").all() and read.text[7] == "plain"
    assert (read.n == -1.5).all() and read.text.isna().sum() == 1


def test_without_formatted_cells_numbers_have_two_decimals():
    assert show("s", "t", pd.DataFrame({"x": [0.1234, None], "n": ["a", 2]})).values.tolist() == [
        ["0.12", "a"],
        ["–", "2"],
    ]
