"""Texts are numbered, kept apart from the test's questions, and dropped if they invent."""

import random

import pytest

from lib.annotate.queries import annotate
from lib.annotate.rules.engine import by_rules as ask_by_rules
from lib.augment.drafts import TESTED, Draft, augment
from lib.augment.rules import NO_FACT, by_questions
from lib.core.records import Augmented, Document, Segment

RECORD = """# Corvane P-417

The default port of Corvane P-417 is 8443. It hums.

| Part | Weight |
| --- | --- |
| lid | 2 kg |
| hub | 4 kg |

## Ports

| Port | Protocol | Required |
| --- | --- | --- |
| 80 | TCP | no |
| 161 | UDP | yes |
"""
ENGINE = by_questions(ask_by_rules)
DOCUMENT = Document(document_id="d", title="Corvane P-417", path="", text=RECORD)


def segments_of(text: str, *cuts: int) -> list[Segment]:
    bounds = [0, *sorted(cuts), len(text)]
    return [
        Segment(
            segment_id=f"s{number}",
            document_id="d",
            start=start,
            end=end,
            text=text[start:end],
            n_tokens=9,
        )
        for number, (start, end) in enumerate(zip(bounds, bounds[1:], strict=False))
    ]


SEGMENTS = segments_of(RECORD, RECORD.index("## Ports"))


def saying(*texts: str) -> list[Augmented]:
    """What becomes of texts that an engine makes of the first segment."""
    engine = {"paraphrase": lambda segments, documents, k: [Draft("s0", text) for text in texts]}
    return augment(SEGMENTS, [DOCUMENT], [], engine, ["paraphrase"], 1)[0]


def test_every_fact_that_no_border_cuts_is_in_all_variants_of_its_segment():
    rows = augment(SEGMENTS, [DOCUMENT], [], ENGINE, ["paraphrase"], 3)[0]
    assert len({row.text for row in rows}) == 6 and not any(row.dropped for row in rows)
    assert all('port "80"' in row.text and "TCP" in row.text for row in rows[3:])
    for row in rows[:3]:
        assert all(word in row.text for word in ("default port", "8443", "weight", "2 kg"))
    cut = segments_of(RECORD, RECORD.index("8443"))[:1]
    (row,) = augment(cut, [DOCUMENT], [], ENGINE, ["paraphrase"], 3)[0]
    assert (row.text, row.dropped) == ("", NO_FACT)


def test_no_pair_asks_what_the_test_asks_and_every_other_is_kept():
    every = annotate([DOCUMENT], ask_by_rules, 100)[0]
    rng = random.Random(1)
    for count in range(len(every) + 1):
        tested = rng.sample(every, count)
        rows = [
            row
            for row in augment(segments_of(RECORD), [DOCUMENT], tested, ENGINE, ["pairs"], 1)[0]
            if row.text
        ]
        asked = {query.question for query in tested}
        assert len(rows) == len(every)
        for query, row in zip(every, rows, strict=True):
            assert row.text.startswith(f"Question: {query.question}\nAnswer:")
            overlaps = any(one.start < query.end and query.start < one.end for one in tested)
            assert (row.dropped == TESTED) == (query.question in asked or overlaps)
            assert overlaps or row.dropped == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Corvane P-417 has port 8443.", ""),
        ("Corvane P-417 weighs 2000 g.", ""),
        ("Corvane P-417 has port 8444.", "invents 8444"),
        ("Corvane P-418 hums.", "invents P-418"),
        ("Corvane P-417 weighs 3 kg.", "invents 3 kg"),
        ("See /etc/corvane.conf of 1.2.3.", "invents /etc/corvane.conf, 1.2.3"),
        ("Corvane P-417 never hums.", "invents Corvane P-417 never hums."),
        ("Its protocol is TCP.", ""),
    ],
)
def test_a_text_is_dropped_if_a_fact_in_it_is_nowhere_in_the_document(text, reason):
    row = saying(text)[0]
    assert row.dropped == reason
    assert row.text == text, "it is kept with its reason"
