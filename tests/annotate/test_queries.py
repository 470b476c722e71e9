"""lib.annotate.queries and its rules: hand-worked snippets, constraints, real documents."""

import re
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.annotate.constraints import Candidate, violation
from lib.annotate.queries import annotate
from lib.annotate.rules import engine
from lib.annotate.rules.engine import by_rules
from lib.annotate.rules.places import Place
from lib.annotate.rules.sentences import ask_sentence
from lib.core.records import Document, Query
from lib.core.structures import structure_of
from lib.documents.blocks import block_at, parse
from lib.documents.folder import read_folder
from lib.documents.subject import Subject
from lib.lab.documents import make_records
from lib.lab.products import make_products
from lib.tasks.spark.structures import STRUCTURES

THING = Place("Orsa R-9", "", "", True, False, False, False, Subject("Orsa R-9", "", True))
PAPER = Place('"Orsa Notes"', "", "", False, False, False, False, Subject("Orsa Notes", "", False))

MANUAL = """# Halden HX-20 Flow Meter: Operator Manual

Document 4711, revision 3.

## 1 Installation

The HX-20 is a clamp-on ultrasonic flow meter for liquids. It measures flow without contact.
The sensor cable is limited to 30 m. The HX-20 draws 4 W. The display is backlit.

You need the following tools:

- torque wrench
- 4 mm hex key

## 2 Specifications

| Parameter | Value | Unit |
|---|---|---|
| Operating temperature | -20 to 60 | °C |
| Protection class | IP67 | |
| Colour | n/a | |

| Model | Output | |
|---|---|---|
| HX-20S | 4-20 mA | a |
| HX-20M | ![badge](x.svg) | b |
| HX-20L | HART | c |
| HX-20L | Modbus RTU | d |

## 3 Modbus

- **Baud rate**: 9600
- **Parity**: even

Contact us at any time.
"""
CHANGES = """# Changelog

quillfs is a file system. All changes to quillfs stand here.

## [2.4.0] - 2025-02-03

### Added

- Snapshot compression with zstd (#812)
- `quillfs verify` command

### Dependencies

- Bump fuse3 from 3.10.1 to 3.16.2

## 2.3.0

Released on 2024-09-30. This release drops Windows 7.

* Default cache size raised from 64 MB to 256 MB.
* New options: `--direct-io`, `--uid-map` and `--lazy-unmount`.
"""
README = """# tidepool

tidepool requires a C11 compiler and CMake 3.20. Jobs are limited to 64 KB.
tidepool was started in 2019. It is fast. This document is short.

20250308: The `AUTO` option of the `dredge` command has been removed.

20250411: The `tide` option has been renamed to `moon`.

The following backends are supported:

* sqlite
* memory
  * only for tests

## Settings

| Option | Default | Description |
|---|---|---|
| `workers` | 4 | Number of worker threads |
"""


def made(text: str, name: str = "d", title: str = "") -> Document:
    return Document(document_id=name, title=title, path="", text=text)


def asked(text: str, name: str, max_queries: int = 100) -> dict[str, str]:
    """Return question -> answer of one document."""
    document = made(text, name, text.split("\n")[0].strip("# "))
    return {query.question: query.answer
            for query in annotate([document], by_rules, max_queries)[0]}


def test_a_manual_is_asked_about_its_product():
    under = 'Under "Installation" in Halden HX-20 Flow Meter, '
    assert asked(MANUAL, "hx-20") == {
        f"{under}what is the HX-20?": "a clamp-on ultrasonic flow meter for liquids",
        f"{under}what is the sensor cable limited to?": "30 m",
        f"{under}what does the HX-20 draw?": "4 W",
        f"{under}which tools are needed?": "torque wrench\n4 mm hex key",
        "What is the operating temperature of Halden HX-20 Flow Meter?": "-20 to 60 °C",
        "What is the protection class of Halden HX-20 Flow Meter?": "IP67",
        'Under "Modbus" in Halden HX-20 Flow Meter, what is the baud rate?': "9600",
        'Under "Modbus" in Halden HX-20 Flow Meter, what is the parity?': "even",
        'For Halden HX-20 Flow Meter, what is the "Output" entry for the model "HX-20S"?':
            "4-20 mA",
    }


def test_a_change_log_is_asked_by_release():
    assert asked(CHANGES, "quillfs-changelog") == {
        "What was added in quillfs 2.4.0?":
            "Snapshot compression with zstd\nquillfs verify command",
        "When was quillfs 2.3.0 released?": "2024-09-30",
        "What are the new options in quillfs 2.3.0?": "--direct-io\n--uid-map\n--lazy-unmount",
    }


def test_a_readme_is_asked_about_settings_and_dated_changes():
    assert asked(README, "readme") == {
        "When was tidepool started?": "2019",
        "For tidepool, when was the AUTO option of the dredge command removed?": "20250308",
        "For tidepool, what has the tide option been renamed to?": "moon",
        'For tidepool, what is the default value of the option "workers"?': "4",
    }


@pytest.mark.parametrize(("sentence", "question", "answer"), [
    *[(sentence, "what is the default port of Orsa R-9?", "8443") for sentence in (
        "The default port of Orsa R-9 is 8443.", "Orsa R-9 has a default port of 8443.",
        "On Orsa R-9, the default port is 8443.", "Orsa R-9 uses 8443 as its default port.",
        "8443 is the default port of Orsa R-9.")],
    ("Lid, rod and nut are the parts of Orsa R-9.", "what are the parts of Orsa R-9?",
     "Lid, rod and nut"),
    ("The log path of Orsa R-9 is /etc/orsa.conf.", "what is the log path of Orsa R-9?",
     "/etc/orsa.conf"),
    ("By default, the retry limit of the LAN port is 3.",
     "what is the retry limit of the LAN port by default?", "3"),
    ("The X7 boot loader can be entered by holding S1.",
     "how can the X7 boot loader be entered?", "by holding S1"),
    ("The X7 boot loader is used to flash the X7.", "what is the X7 boot loader used to do?",
     "flash the X7"),
    ("The X7 gateway supports the GELF and RFC5424 formats.",
     "which formats does the X7 gateway support?", "GELF and RFC5424"),
    ("Each X7 plugin MUST implement cb_init and cb_exit.",
     "what must each X7 plugin implement?", "cb_init and cb_exit"),
    ("The TLS plugin was removed in 2.1.0.", "in which version was the TLS plugin removed?",
     "2.1.0"),
    ("The TLS plugin was added on 2024-05-11.", "when was the TLS plugin added?", "2024-05-11"),
    ("The T1 limit was changed from 5 to 8.", "to what was the T1 limit changed from 5?", "8"),
    ("The TLS plugin is compatible with OpenSSL 3.", "what is the TLS plugin compatible with?",
     "OpenSSL 3"),
])
def test_a_plain_sentence_is_asked_for_its_fact(sentence, question, answer):
    found = ask_sentence(sentence, THING)
    assert (found.core, found.answer) == (question, answer)


@pytest.mark.parametrize("sentence", [
    "It is 5 mm.", "This option defaults to 3.", "The value is high.", "If X is set, Y is 5.",
    "See the TLS guide.", "The TLS plugin has been removed.", "The X7 does not support TLS.",
    "The X7 no longer supports TLS.", "The TLS plugin works well.", "Is the X7 fast?",
    "The TLS plugin supports this.", "Users need to rerun the X7 setup.",
    "The X7 is used when it rains.", "The X7 drivers carry no load and map to zero.",
    "The X7 is disabled by default unless a panel is connected.",
    "The X7 must resolve the conflict without an error.", "A higher X7 load also wears the seal.",
    "The specified X7 key must match a pattern.", "The X7 result is constructed as follows.",
    "Long-lived X7 objects can take advantage of labels by computing them once.",
    "NOTICE: Keep this record.", "Figure 2 illustrates the X7 flow.",
    "The X7 key is stored with AES-256 and written to a disk.", "The recommended value is 5 V.",
    "The X7 pump was bought by Orsa Corp in 2012.",
    "Support for X7 displays attached to a board.", "",
    "The X7 key is mapped in the card into a token.",  # the answer would hold two complements
    "The X7 panel is the most popular of all small control panels made in Europe today.",
    "Every X7 pumps must drive a shaft.",
])
def test_a_sentence_that_refers_to_another_is_not_asked(sentence):
    assert ask_sentence(sentence, PAPER) is None


def test_a_question_with_two_answers_is_asked_with_its_section_or_not_at_all():
    text = ("# Orsa R-9\n\n## Alfa\n\n- Port: 1\n- Colour: red\n\n## Beta\n\n- Port: 2\n"
            "- Size: big\n\nSpare:\n\n- Port: 3\n- Material: tin\n")
    found = asked(text, "orsa")
    assert found['Under "Alfa" in Orsa R-9, what is the port?'] == "1"
    assert not [question for question, answer in found.items() if answer in "23"]


TEXT = ("The port is 80. The gate is 7. Old is 1. New is 2. Big is 3.\n\n"
        "- a b\n- c\n\n| K | V |\n|---|---|\n| k | v w |\n")
GOOD = Candidate(("What is the port of Orsa R-9?",), "80", "prose", 0, 15)
ROW = {"kind": "table", "start": TEXT.index("| k"), "end": TEXT.index("w |") + 1}
LIST = {"kind": "list", "start": 62, "end": 71}


@pytest.mark.parametrize(("change", "reason"), [
    ({}, ""), ({"answer": "v w"} | ROW, ""), ({"answer": "a b\nc"} | LIST, ""),
    ({"question": "The port of Orsa R-9"}, "well-formed"),
    ({"question": "What is the (port?"}, "well-formed"),
    ({"question": "What is the port above?"}, "self-contained"),
    ({"question": "What is its port?"}, "self-contained"),
    ({"question": "What is given in the second table?"}, "table or list"),
    ({"question": "Why is the port of Orsa R-9 so?"}, "reasoning"),
    ({"answer": ""}, "empty"),
    ({"answer": "81"}, "verbatim"),
    ({"question": "What is port 80 of Orsa R-9?"}, "gives the answer away"),
    ({"end": 61, "answer": "80. The gate is 7. Old is 1. New is 2. Big"}, "three sentences"),
    ({"start": 0, "end": 70}, "three sentences"),
    ({"answer": "a b\na b"} | LIST, "repeats"),
])
def test_each_constraint_is_checked(change, reason):
    change = dict(change)
    question = change.pop("question", GOOD.forms[0])
    found = violation(question, replace(GOOD, **change), TEXT)
    assert reason in found and bool(reason) == bool(found), found


def check(queries: list[Query], documents: list[Document]) -> None:
    """Assert what holds for every query, whatever the document."""
    texts = {document.document_id: document.text for document in documents}
    assert len({query.query_id for query in queries}) == len(queries)
    for query in queries:
        text = texts[query.document_id]
        assert query.source_reference == text[query.start:query.end]
        assert query.block_type == block_at(parse(text), query.start, query.end).kind
        assert query.structure == structure_of(query.block_type).name
        lines = query.answer.split("\n")
        assert query.entity_count == (len(lines) if query.structure == "entity-list" else None)
        assert query.question.endswith("?") and all(line.strip() for line in lines)
    questions = Counter((query.document_id, query.question) for query in queries)
    assert set(questions.values()) <= {1}


def test_the_same_documents_give_the_same_queries_and_each_is_parsed_once(monkeypatch):
    documents = [made(MANUAL, "hx-20"), made(CHANGES, "quillfs-changelog"), made(README, "readme")]
    parsed: list[str] = []
    monkeypatch.setattr(engine, "parse", lambda text: parsed.append(text) or parse(text))
    first = annotate(documents, by_rules, 5)
    assert parsed == [document.text for document in documents]
    assert first == annotate(list(documents), by_rules, 5)
    check(first[0], documents)


def test_few_queries_are_spread_over_structures_and_document():
    queries, rejected = annotate([made(MANUAL, "hx-20")], by_rules, 6)
    assert Counter(query.structure for query in queries) == {
        "natural": 3, "entity-list": 1, "tabular": 2}
    assert queries[0].start < len(MANUAL) / 3 and queries[-1].start > len(MANUAL) / 2
    assert not any(query.entity_count == 1 for query in queries)  # only where little else is
    assert [row.reason for row in rejected].count(
        "fits, but the document already has its 6 queries") == 3


PIECES = [
    "# Orsa R-9\n\n", "## Limits\n\n", "The flow of Orsa R-9 is 5 l. ", "Orsa R-9 supports TLS. ",
    "It is big. ", "\n\n", "- Port: 1\n", "- key\n", "Tools:\n\n",
    "| Name | Value |\n|---|---|\n| Mass | 1 kg |\n", "\n```\ncode\n```\n", "## Orsa 1.2.0\n\n",
    "20240101: The X option has been removed.\n\n", "* a: b, c\n  * d\n", "> quoted\n"]


@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join), st.integers(1, 6))
def test_any_mixture_of_blocks_keeps_the_promises(text, most):
    document = made(text, title="Orsa R-9")
    queries, rejected = annotate([document], by_rules, most)
    check(queries, [document])
    assert len(queries) <= most and (queries or rejected)


@given(st.text(max_size=300))
def test_any_text_is_annotated(text):
    check(annotate([made(text, title="t")], by_rules)[0], [made(text)])


def test_every_laboratory_fact_is_asked_alike_in_its_structure():
    documents, facts = make_records(make_products(12, seed=5), seed=5, public=False)
    queries, _ = annotate(documents, by_rules, 50)
    check(queries, documents)
    found = {(query.document_id, query.question): query for query in queries}
    for fact in facts:
        keys = [(fact.document_id, f"What {verb} the {fact.attribute} of {fact.entity}?")
                for verb in ("is", "are")]
        query = next(found[key] for key in keys if key in found)
        assert query.structure == fact.structure
        assert query.start < fact.end and fact.start < query.end
        if fact.structure == "entity-list":
            assert query.answer == "\n".join(fact.value)
        assert all(value in query.answer for value in fact.value)
    assert len(queries) == len(facts)


def test_real_documents_give_queries_in_all_structures(documents_folder):
    documents = read_folder(documents_folder).documents
    queries, _ = annotate(documents, by_rules)
    check(queries, documents)
    counts = Counter(query.document_id for query in queries)
    assert counts["etcd-changelog-3.6.md"] == counts["prometheus-exposition-formats.md"] == 10
    assert len(counts) == 4 and len(queries) > 25
    assert set(Counter(query.structure for query in queries)) == set(STRUCTURES)
    assert not [query.question for query in queries
                if re.search(r"\b(?:above|below|this|it)\b", query.question)]
