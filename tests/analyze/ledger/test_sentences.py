"""Whatever the ledger, its sentences are true of its rows."""

import re

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.analyze.ledger.tables import conditional, funnel, sentences
from lib.analyze.ledger.trace import STAGES, LedgerRow
from lib.core.records import STRUCTURES

ROWS = st.lists(st.tuples(st.sampled_from(STRUCTURES), st.sampled_from(["", *STAGES]),
                          st.sampled_from(["correct", "incorrect", "unscored"])),
                min_size=1, max_size=30)


def row(arm: str, number: int, structure: str, lost_at: str) -> LedgerRow:
    return LedgerRow(
        query_id=f"q{number}", arm=arm, structure=structure, items=1, source="exact",
        source_items=1, start=0, end=1, segments=[], segment="whole", dropped="",
        rewritten="exact", rewritten_items=1, passage="", split="training", block="whole",
        blocks=[], subject="", subject_in_segment=None, subject_in_block=None, lost_at=lost_at)


@settings(max_examples=20)
@given(st.dictionaries(st.sampled_from(["dapt", "dapt-n", "dapt@2"]), ROWS, min_size=1))
def test_sentences_count_every_query_once(outcomes):
    ledger = [row(arm, number, structure, lost_at) for arm, rows in outcomes.items()
              for number, (structure, lost_at, _) in enumerate(rows)]
    verdicts = pd.DataFrame([(arm, f"q{number}", verdict, f"d{number % 4}")
                             for arm, rows in outcomes.items()
                             for number, (_, _, verdict) in enumerate(rows)],
                            columns=["arm", "query_id", "verdict", "cluster"])
    text = sentences(ledger, conditional(ledger, verdicts))
    assert not re.search(r"\b(nan|inf)|--", text), text
    said = {arm: (int(n), int(reached), lost) for n, reached, arm, lost in re.findall(
        r"Of (\d+) queries, (\d+) \([\d.]+%\) have .*? block that (\S+) was trained on([^.]*)\.",
        text)}
    assert set(said) == set(outcomes)
    for arm, rows in outcomes.items():
        n, reached, lost = said[arm]
        losses = {stage: int(count) for count, stage in re.findall(r"(\d+) at the (\w+)", lost)}
        assert n == len(rows) == reached + sum(losses.values())
        assert losses == {stage: count for stage in STAGES
                          if (count := sum(lost_at == stage for _, lost_at, _ in rows))}
        for kind, is_reached in (("in training", True), ("not in training", False)):
            scored = [verdict == "correct" for _, lost_at, verdict in rows
                      if (lost_at == "") == is_reached and verdict != "unscored"]
            claim = f"Of those {kind}, {arm} answers {sum(scored)}/{len(scored)} = "
            assert (claim in text) == bool(scored)
    documents = dict(zip(verdicts.query_id, verdicts.cluster, strict=True))
    alive = funnel(ledger, documents).groupby(["trained arm", "structure"]).alive
    assert (alive.apply(lambda values: values.is_monotonic_decreasing)).all()


def test_queries_of_one_document_that_are_lost_together_widen_the_funnel():
    ledger = [row("dapt", number, "tabular", "split" if number < 12 else "")
              for number in range(36)]

    def interval(per_document: int) -> pd.Series:
        table = funnel(ledger, {f"q{number}": f"d{number // per_document}" for number in range(36)})
        return table[(table.structure == "tabular") & (table.stage == "block")].iloc[0]

    alone, alike = interval(1), interval(6)
    assert alone.share == alike.share == 24 / 36 and alike.low < alone.low < alone.high < alike.high
    assert pd.isna([interval(36).low, interval(36).high]).all(), "one document has no interval"
