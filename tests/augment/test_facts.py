"""Rules restate only facts whose name, label and value the document gives."""

import re

from hypothesis import given
from hypothesis import strategies as st

from lib.augment.facts import facts_of
from lib.core.records import Document

RECORD = """# Corvane P-417

The default port of Corvane P-417 is 8443. It hums.

| Property | Value |
| --- | --- |
| Mass | 2 kg |
| Note | It is heavy. |
| Colour | "" |

## Ports

| Port | Protocol | Required |
| --- | --- | --- |
| 80 | TCP | no |
| 161 | UDP | yes |

## Details

- Baud rate: 9600

Supported platforms:

- Linux
- QNX
"""
STATED = [
    ("Corvane P-417", "default port", ("8443",)), ("Corvane P-417", "mass", ("2 kg",)),
    ("port 80 in Corvane P-417", "protocol", ("TCP",)),
    ("port 161 in Corvane P-417", "protocol", ("UDP",)),
    ("Corvane P-417", "baud rate", ("9600",)),
    ("Corvane P-417", "supported platforms", ("Linux", "QNX"))]


def document(text: str, **more: str) -> Document:
    return Document(document_id="d", title="Corvane P-417", path="", text=text, **more)


def stated(text: str, **more: str) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(one.name, one.label, one.value) for one in facts_of(document(text, **more))]


def test_facts_are_found_in_sentences_tables_items_and_lists():
    assert stated(RECORD) == STATED


def test_another_language_or_a_doubtful_structure_is_passed_over():
    assert stated(RECORD, language="de") == []
    in_doubt = stated(RECORD, doubt="cells were guessed")
    assert in_doubt == [fact for fact in STATED if fact[1] not in ("mass", "protocol")]


def test_a_label_with_two_values_is_stated_for_neither():
    assert stated(RECORD + "\n## Entries\n\n- Mass: 3 kg\n") == [
        fact for fact in STATED if fact[1] != "mass"]


words = st.sampled_from([*"Mass Port Note TCP 80 2 kg Linux no | - : . #".split(), "\n"])


@given(st.lists(words, max_size=60))
def test_every_value_is_in_the_document_at_its_place(pieces):
    text = RECORD + "\n" + " ".join(pieces)
    for fact in facts_of(document(text)):
        for value in fact.value:
            for word in re.findall(r"\w+", value):
                assert word in text[fact.start:fact.end]
