"""Where an answer's words occur in a text, and in which form."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.analyze.ledger.matching import items_of, nearest, places, worst
from tests.analyze.ledger.test_trace import query


@pytest.mark.parametrize(("item", "text", "form"), [
    ("8443", "The port is 8443.", "exact"), ("8443", "18443, 8443.5, P-8443 and 8443-2", None),
    ("-20 °C", "at -20 °C", "exact"), ("20 °C", "at -20 °C", None), ("20 °C", "20-40 °C", None),
    ("Hex Key", "a hex  key", "folded"), ("hex key", "a **hex** key", "folded"),
    ("hex key", "a hexkey", None), ("C++", "written in C", None), ("C", "written in C++", None),
    ("C++", "written in c++.", "folded"), ("30 s", "after 0.5 min", "unit"),
    ("30 s", "after 30 ms", None), ("2 GB", "2048 MB of it", "unit"),
    ("2024-05-07", "on 7 May 2024", "unit"), ("1,024", "1024 places", "unit"),
    ("5 m", "at 5 m/s", None), ("Linux", "[docs](Linux/x.md)", "exact"),
    ("guide text", "[guide](a/b.md) text", "folded"), ("", "any", None),
    ("guide text", "guide (https://a.b/c) text", "folded"),
    ("speed in m", "speed (m/s) in m", None), ("50", "_Default Value: 50_", "exact"),
    ("raft_term", "the **raft_term**", "exact"), ("term", "raft_term", None),
    ("≥ 5 V", "5 V", None), ("v1.2", "v1.2.3", None),
    ("/etc/x.conf", "in /etc/x.conf.", "exact")])
def test_an_answer_occurs_in_a_text_or_not(item, text, form):
    found = places(item, text)
    assert [place.form for place in found[:1]] == ([form] if form else [])
    assert all(0 <= place.start < place.end <= len(text) for place in found)


@given(*[st.text(alphabet="abz 18.,-/\n*", max_size=size) for size in (40, 12, 40)])
def test_what_is_put_between_spaces_is_found(before, item, after):
    item = re.sub(r"^[^a-z]+|[^a-z]+$", "", item)
    if item:
        text = f"{before} {item} {after}"
        assert any(text[place.start:place.end] == item for place in places(item, text))


def test_the_items_of_an_answer():
    assert items_of(query(answer="drill\nhex key", entity_count=2)) == ["drill", "hex key"]
    listed = query(answer="drill, hex key and pliers")
    assert items_of(listed) == ["drill", "hex key", "pliers"]
    assert items_of(query(answer="8443 ")) == ["8443"]
    assert worst(["exact", "unit", "folded"]) == "unit" and worst([]) == "absent"


def test_of_several_places_the_sentence_most_like_the_question_counts():
    text = "The memory size of Corvane is 80 MB. The port of Corvane is 80."
    place = nearest(places("80", text), text, "What is the port of Corvane?")
    assert place.start == text.rindex("80")
