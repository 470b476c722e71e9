"""Replicates: one estimate each, over the facts in training only."""

import pandas as pd
import pytest

from lib.analyze.statistics.replicates import estimates, replicate_rows
from lib.core.errors import BadInput
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
    with pytest.raises(BadInput, match="replicate 7, arm dapt: queries, verdicts and scores"):
        replicate_rows("7", "dapt", queries, segments, [], verdicts[1:], scores)
