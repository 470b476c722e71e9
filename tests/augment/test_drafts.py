"""Texts are numbered, kept apart from the test's questions, and dropped if they invent."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.annotate.queries import annotate
from lib.annotate.rules.engine import by_rules as ask_by_rules
from lib.augment.drafts import TESTED, Draft, augment
from lib.augment.facts import facts_of
from lib.augment.rules import BY_RULES, NO_FACT
from lib.core.records import Augmented, Query, Segment
from tests.augment.test_facts import RECORD, document

DOCUMENT = document(RECORD)


def segments_of(text: str, *cuts: int) -> list[Segment]:
    bounds = [0, *sorted(cuts), len(text)]
    return [Segment(segment_id=f"s{number}", document_id="d", start=start, end=end,
                    text=text[start:end], n_tokens=9)
            for number, (start, end) in enumerate(zip(bounds, bounds[1:], strict=False))]


SEGMENTS = segments_of(RECORD, RECORD.index("## Ports"))


def made(strategies: list[str], queries: list[Query] = (), k: int = 3,
         segments: list[Segment] = SEGMENTS) -> list[Augmented]:
    return augment(segments, [DOCUMENT], list(queries), BY_RULES, strategies, k)[0]


def saying(*texts: str) -> list[Augmented]:
    """What becomes of texts that an engine makes of the first segment."""
    engine = {"paraphrase": lambda segments, documents, k: [Draft("s0", text) for text in texts]}
    return augment(SEGMENTS, [DOCUMENT], [], engine, ["paraphrase"], 1)[0]


@given(st.lists(st.integers(1, len(RECORD) - 1), max_size=6, unique=True), st.integers(1, 5))
def test_every_fact_that_no_border_cuts_is_in_all_variants_of_its_one_segment(cuts, k):
    segments = segments_of(RECORD, *cuts)
    rows = made(["paraphrase"], k=k, segments=segments)
    kept = [row for row in rows if not row.dropped]
    assert all(row.text == "" and row.dropped == NO_FACT for row in rows if row.dropped)
    assert len({row.text for row in kept}) == len(kept), "no two variants are alike"
    for fact in facts_of(DOCUMENT):
        said = [row for row in kept if all(word.lower() in row.text.lower()
                                           for word in (fact.name, fact.label, *fact.value))]
        holding = [one.segment_id for one in segments
                   if one.start <= fact.start and fact.end <= one.end]
        assert [(row.segment_id, row.number) for row in said] == [
            (one, number) for one in holding for number in range(1, k + 1)], fact


def test_no_pair_asks_what_the_test_asks_and_every_other_is_kept():
    every = annotate([DOCUMENT], ask_by_rules, 100)[0]
    rng = random.Random(1)
    for count in range(len(every) + 1):
        tested = rng.sample(every, count)
        rows = [row for row in made(["pairs"], tested, segments=segments_of(RECORD)) if row.text]
        asked = {query.question for query in tested}
        assert len(rows) == len(every)
        for query, row in zip(every, rows, strict=True):
            assert row.text.startswith(f"Question: {query.question}\nAnswer:")
            overlaps = any(one.start < query.end and query.start < one.end for one in tested)
            assert (row.dropped == TESTED) == (query.question in asked or overlaps)
            assert overlaps or row.dropped == ""


@pytest.mark.parametrize(("text", "reason"), [
    ("Corvane P-417 has port 8443.", ""), ("Corvane P-417 weighs 2000 g.", ""),
    ("Corvane P-417 has port 8444.", "invents 8444"), ("Corvane P-418 hums.", "invents P-418"),
    ("Corvane P-417 weighs 3 kg.", "invents 3 kg"),
    ("See /etc/corvane.conf of 1.2.3.", "invents /etc/corvane.conf, 1.2.3"),
    ("Corvane P-417 never hums.", "invents Corvane P-417 never hums."),
    ("Its protocol is TCP.", "")])
def test_a_text_is_dropped_if_a_fact_in_it_is_nowhere_in_the_document(text, reason):
    row = saying(text)[0]
    assert row.dropped == reason
    assert row.text == text, "it is kept with its reason"
