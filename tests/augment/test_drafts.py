"""Texts are numbered, kept apart from the test's questions, and dropped if they invent."""

import pytest

from lib.annotate.queries import annotate
from lib.augment.drafts import TESTED, Draft, augment
from lib.core.records import Augmented, Document, Segment
from lib.lab.documents import make_records
from lib.lab.engines import ask_facts, vary_facts
from lib.lab.products import make_products

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


def test_no_pair_that_asks_what_the_test_asks_is_kept_and_every_other_is():
    documents, facts = make_records(make_products(2, 1), 1, public=False)
    every, _ = annotate(documents, ask_facts(facts), 100)
    segments = [
        segment.model_copy(update={"document_id": one.document_id, "segment_id": one.title})
        for one in documents
        for segment in segments_of(one.text)
    ]
    tested = every[::3]
    rows, _ = augment(segments, documents, tested, vary_facts(facts), ["pairs"], 1)
    assert len(rows) == len(every)
    for query, row in zip(every, rows, strict=True):
        assert row.text.startswith(f"Question: {query.question}\nAnswer:")
        overlaps = any(
            one.document_id == query.document_id and one.start < query.end and query.start < one.end
            for one in tested
        )
        assert row.dropped == (TESTED if overlaps else "")


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
