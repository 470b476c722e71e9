"""Whatever the tables, the conclusion's sentences are true of their numbers."""

import re

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.core.arms import ALL
from lib.structext.analyze.conclusion import conclusion
from lib.structext.analyze.pairs import DIFFERENCE
from lib.structext.analyze.published import paper_scores
from lib.structext.analyze.tables import JUDGE

ARMS = ["base", "tuned"]
NUMBER = r"([+-][\d.]+) \[([+-][\d.]+|–)(?:, ([+-][\d.]+))?\]"


@st.composite
def differences(draw) -> dict[str, float]:
    """Return DIFFERENCE for some pairs, in tenths of a point; unknown without a pair."""
    whole = draw(st.integers(0, 5))
    n = draw(st.integers(0, whole))
    cell = dict.fromkeys(DIFFERENCE, np.nan) | {"n": n, "whole": whole, "texts": n, "unpaired": 0}
    for prefix, count in (("difference_", n), ("whole_", whole)):
        if count:
            low, value, high = sorted(draw(st.tuples(*[st.integers(-900, 900)] * 3)))
            has_ends = low < high and draw(st.booleans())
            ends = ("low_points", "high_points")
            names = ends if prefix == "difference_" else tuple(prefix + name for name in ends)
            cell |= {f"{prefix}points": value / 10}
            cell |= dict(zip(names, (low / 10, high / 10) if has_ends else (np.nan,) * 2,
                             strict=True))
    return cell | {"first": 0.25 if n else np.nan, "second": 0.5 if n else np.nan}


def categorical(table: pd.DataFrame, **orders: list[str]) -> pd.DataFrame:
    return table.astype({name: pd.CategoricalDtype(order, ordered=True)
                         for name, order in orders.items()})


COUNTS = st.tuples(*[st.integers(0, 3)] * 4)


@settings(max_examples=25)
@given(st.tuples(*[differences()] * 2), st.tuples(*[differences()] * 4),
       st.tuples(*[differences()] * 2), st.tuples(COUNTS, COUNTS), st.sampled_from([0.5, np.nan]))
def test_the_conclusion_is_true_of_its_tables(of_floor, of_shots, reals, counts, pearson):
    scores = categorical(pd.DataFrame([{
        "suite": "test", "arm": arm, "n": 9, "texts": 4, "left_out": counts[0][0],
        "failed": failed, "no_answer": none, "truncated": cut, "rouge_score": 0.5, "low": 0.25,
        "high": 0.75} for arm, (_, failed, none, cut) in zip(ARMS, counts, strict=True)]),
        arm=ARMS, suite=["test", "test-hard"])
    forms = scores.assign(form="table", **{JUDGE: 0.5, "judge_low": np.nan, "judge_high": np.nan})
    floors = pd.DataFrame([{"suite": suite, "prompt": "base", "arm": "tuned", **cell}
                           for suite, cell in zip(("test", "test-hard"), of_floor, strict=True)])
    curve = categorical(pd.DataFrame([
        {"suite": suite, "arm": "tuned", "setting": "few-shot", "n_shots": number,
         **{f"gain_{name}": value for name, value in cell.items()}}
        for (suite, number), cell in zip([("test", 1), ("test", 3), ("test-hard", 1),
                                          ("test-hard", 5)], of_shots, strict=True)]),
        suite=["test", "test-hard"])
    pairs, margins = (pd.DataFrame([{"arm": "tuned", "language": ALL, **real}]) for real in reals)
    agreed = pd.DataFrame([("base", "exact", JUDGE, 7, pearson)],
                          columns=["arm", "first", "second", "n", "pearson"])
    means = pd.DataFrame([("exact", JUDGE, 3, pearson)], columns=agreed.columns[1:])
    text = conclusion(scores=scores, forms=forms, floors=floors, curve=curve, real=pairs,
                      margins=margins, agreed=agreed, means=means, official=pd.DataFrame(),
                      both=paper_scores())
    assert not re.search(r"\b(nan|inf)|: \.", text), text
    for _, low, high, note in re.findall(rf"{NUMBER} \((n = [^)]*)\)", text):
        is_open = low != "–" and float(low) <= 0 <= float(high)
        assert ("not shown" in note.split(";")[0]) == is_open, text
    line = "".join(re.findall("Compared with the floor .*", text))
    for suite, cell in zip(("test", "test-hard"), of_floor, strict=True):
        said = re.search(rf"tuned on {suite} (\S+)", line)
        assert bool(said) == (cell["whole"] > 0)
        if said:
            assert said[1] == (f"{cell['difference_points']:+.1f}" if cell["n"] else "unknown")
        stands = "".join(re.findall(rf"tuned on {suite} .*?\): ([a-z ]+)", line))
        assert (stands == "above the floor") == (cell["n"] > 0 and cell["low_points"] > 0)
        if cell["n"] and cell["difference_points"] <= 0:
            assert stands in ("below the floor", "at or below the floor")
    number = re.search(r"(\d+) demonstrations? compared with the base prompt, on (\S+), ", text)
    asked = [(suite, n) for (suite, n), cell in zip(
        [("test", 1), ("test", 3), ("test-hard", 1), ("test-hard", 5)], of_shots, strict=True)
        if cell["whole"]]
    assert bool(number) == bool(asked)
    if asked:
        assert number[2] == min(asked)[0]
        assert int(number[1]) == max(n for suite, n in asked if suite == number[2])
    assert ("cannot be compared" in text) == (reals[0]["whole"] == 0)
    assert f"Of 9 questions: base {counts[0][0]} (" in text
    assert ("agree with the judge is unknown" in text) == np.isnan(pearson)
