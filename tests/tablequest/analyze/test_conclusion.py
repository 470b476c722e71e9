"""Whatever the tables, the conclusion's sentences are true of their numbers."""

import re

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.core.arms import ALL
from lib.tablequest.analyze.conclusion import conclusion
from lib.tablequest.analyze.matches import flips
from lib.tablequest.analyze.ratings import COLUMNS, ratings
from lib.tablequest.analyze.tables import with_published
from tests.tablequest.analyze.test_ratings import played

MODES = ["right", "wrong cell", "format"]
COUNTS = st.tuples(*[st.integers(0, 4)] * 3)
LEARNED = pd.DataFrame(columns=["arm"])


@settings(max_examples=15)
@given(st.tuples(COUNTS, COUNTS), COUNTS, st.tuples(*[st.integers(0, 9)] * 2),
       st.sampled_from(["rules", "gpt"]))
def test_the_conclusion_is_true_of_its_tables(correct, outcomes, cut, judge):
    accuracy = pd.DataFrame([{
        "arm": arm, "level": "easy", "form": "html", "n": right + wrong + unscored,
        "correct": right, "unscored": unscored, "low": np.nan, "high": np.nan,
        "cut": 0, "whole": right + wrong,
        "whole_correct": right, "by_judge": 0, "judged": 0}
        for arm, (right, wrong, unscored) in zip(("base", "dapt"), correct, strict=True)])
    failing = pd.DataFrame([
        {"arm": arm, "level": level, "mode": mode, "count": count, "n": sum(counts)}
        for arm, counts in zip(("base", "dapt"), correct, strict=True) for level in ("easy", "hard")
        for mode, count in zip(MODES, counts, strict=True)])
    matches = played("base", "dapt", *outcomes)
    rated = ratings(matches, "base", resamples=10, orders=2) if matches else pd.DataFrame(
        columns=COLUMNS)
    truncated = pd.DataFrame([
        {"arm": arm, "prompts": 9, "cut": n, "unanswered": 0}
        for arm, n in zip(("base", "dapt"), cut, strict=True)])
    text = conclusion(accuracy, failing, flips(matches), with_published(rated), LEARNED, "html",
                      judge, truncated)
    assert not re.search(r"\b(nan|inf)", text), text
    assert ("No ratings" in text) == (not matches)
    assert ("exceeded the context window: none" in text) == (not any(cut))
    for arm, n in zip(("base", "dapt"), cut, strict=True):
        assert (f"{n}/9 of {arm}" in text) == (n > 0)
    for arm, counts in zip(("base", "dapt"), correct, strict=True):
        said = re.search(rf"answers of {arm} fail, tables as html: (.*)\.\n", text)[1]
        if total := sum(counts):
            failed = dict(zip(MODES[1:], counts[1:], strict=True))
            parts = ", ".join(f"{n} {mode}" for mode, n in failed.items() if n) or "none"
            assert said == f"{parts} of {total} easy and medium; {parts} of {total} hard"
    if matches and judge == "gpt":
        assert f"0 of {len(matches)} verdicts flipped with the order" in text
    if matches and {outcomes[0], outcomes[1]} == {0}:
        row = rated[(rated.level == ALL) & (rated.arm == "dapt")].iloc[0]
        assert f"at least {row.low:.0f}" in text and "never loses or ties: a lower bound" in text
