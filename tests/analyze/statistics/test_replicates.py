"""Replicates: one estimate each, held-out facts apart, sentences true of the numbers."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from lib.analyze.figures.replicates import draw_replicates
from lib.analyze.statistics.replicates import (
    PRIMARY,
    conclusion,
    estimates,
    formatted,
    replicate_rows,
    summarized,
)
from lib.core.records import Query, Score, Segment, Verdict

STRUCTURES = ("natural", "entity-list", "tabular")


def answers(replicate: str, counts: dict[tuple[str, str], int], n: int = 10) -> pd.DataFrame:
    """Return rows of one replicate with `counts` correct of n by arm and structure."""
    return pd.DataFrame([
        (replicate, arm, f"{structure}{i}", structure, i < correct, True, True)
        for (arm, structure), correct in counts.items() for i in range(n)],
        columns=["replicate", "arm", "query_id", "structure", "correct", "stored", "in_training"])


def two(first=(5, 3, 2), second=(5, 4, 4)) -> dict[tuple[str, str], int]:
    return {**{("dapt", name): n for name, n in zip(STRUCTURES, first, strict=True)},
            **{("dapt-n", name): n for name, n in zip(STRUCTURES, second, strict=True)}}


def test_estimates_are_differences_of_accuracies_of_facts_in_training():
    rows = answers("1", two())
    out = answers("1", two((10, 10, 10), (0, 0, 0))).assign(in_training=False)
    table = estimates(pd.concat([rows, out])).set_index("contrast").points
    assert table["dapt tabular - natural"] == pytest.approx(-30)
    assert table["dapt-n - dapt tabular"] == pytest.approx(20)
    assert table["dapt-n - dapt tabular - natural"] == pytest.approx(20)
    assert table["dapt-n - dapt all"] == pytest.approx(100 * 3 / 30)
    assert table["dapt-n entity-list"] == pytest.approx(40)


def test_the_test_is_t_over_replicates_with_holm_over_the_primary_contrasts():
    drawn = np.random.default_rng(3).integers(0, 11, size=(6, 2, 3))
    each = estimates(pd.concat([answers(str(n), two(*one)) for n, one in enumerate(drawn)]))
    summary = summarized(each).set_index("contrast")
    p = {}
    for name in PRIMARY:
        values = each.points[each.contrast == name]
        p[name] = ttest_1samp(values, 0)
        assert summary["mean"][name] == pytest.approx(values.mean())
        interval = p[name].confidence_interval()
        assert (summary.low[name], summary.high[name]) == pytest.approx(tuple(interval))
    first = min(PRIMARY, key=lambda name: p[name].pvalue)
    assert summary.p_holm[first] == pytest.approx(min(1, 3 * p[first].pvalue))
    assert summary.p_holm.notna().sum() == 3 and summary.is_primary.sum() == 3
    assert np.isnan(summary.p["dapt natural"])  # an accuracy is not tested against 0
    assert len(formatted(summary.reset_index())) == len(summary)
    figure, plotted = draw_replicates(each, summary.reset_index(), list(PRIMARY))
    assert len(plotted) == 18 and figure.axes[0].get_xlabel().startswith("Points")


def test_an_unknown_primary_contrast_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="'dapt prose' is not a contrast; choose among dapt"):
        summarized(estimates(answers("1", two())), ["dapt prose"])


@given(st.lists(st.lists(st.integers(0, 10), min_size=6, max_size=6), min_size=1, max_size=5))
def test_the_conclusion_is_true_of_its_numbers(drawn):
    rows = pd.concat([answers(str(n), two(one[:3], one[3:])) for n, one in enumerate(drawn)])
    summary = summarized(estimates(rows))
    text = conclusion(summary, rows, 5.0, 5)
    assert "nan" not in text and "inf" not in text
    lines = text.splitlines()
    for line, row in zip(lines, summary.itertuples(), strict=False):
        if not row.is_primary:
            break
        assert f"{row.mean:+.1f}" in line
        is_found = row.p_holm <= 0.05
        assert ("found, " in line) == is_found
        assert not is_found or ("higher" if row.low > 0 else "lower") in line
    deviation = summary.sd[summary.is_primary].max()
    assert ("set `replicates: 5`" in text) == bool(deviation > 5 and len(drawn) < 5)
    shares = re.findall(r"answers ([\d.]+)% of (\d+) queries", lines[3])
    assert [int(n) for _, n in shares] == [30 * len(drawn)] * 2


def test_a_query_is_in_training_unless_its_place_is_in_a_held_out_segment():
    def query(name: str, start: int) -> Query:
        return Query(query_id=name, document_id="d", question="?", answer="a", structure="natural",
                     source_reference="abcd", start=start, end=start + 4, entity_count=None,
                     block_type="prose")

    queries = [query("a", 0), query("b", 8), query("c", 20)]
    segments = [Segment(segment_id=f"d/{n}", document_id="d", start=10 * n, end=10 * n + 10,
                        text="x" * 10, n_tokens=1) for n in range(3)]
    verdicts = [Verdict(query_id=one.query_id, arm="dapt", verdict=verdict, judge="rules",
                        reason="") for one, verdict in zip(
        queries, ["correct", "incorrect", "unscored"], strict=True)]
    scores = [Score(query_id=one.query_id, arm="dapt", question_loglik=-1.0, question_tokens=1,
                    question_argmax=False, cloze_loglik=None, cloze_tokens=None,
                    cloze_argmax=None, cloze_missing="none") for one in queries]
    rows = replicate_rows("7", "dapt", queries, segments, ["d/1"], verdicts, scores)
    assert rows.in_training.tolist() == [True, False, True]
    assert rows.correct.tolist() == [True, False, False]
    with pytest.raises(ValueError, match="replicate 7, arm dapt: queries, verdicts and scores"):
        replicate_rows("7", "dapt", queries, segments, [], verdicts[1:], scores)
