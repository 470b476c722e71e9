"""The floor asks what plain patterns make safe, and abstains otherwise."""

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.annotate.queries import annotate
from lib.annotate.rules.engine import by_rules
from lib.annotate.rules.sentences import ask_sentence
from lib.core.records import Document, Query
from lib.core.structures import structure_of
from lib.documents.folder import read_folder
from lib.documents.markdown import block_at, parse
from lib.documents.phrases import folded


def made(text: str, name: str = "d", title: str = "") -> Document:
    return Document(
        document_id=name, title=title or text.split("\n")[0].strip("# "), path="", text=text
    )


def asked(body: str, title: str = "Orsa R-9") -> dict[str, str]:
    """Return question -> answer on a document, without the words that name it."""
    queries, _ = annotate([made(f"# {title}\n\n{body}")], by_rules, 100)
    return {
        re.sub(r'(?:in|In) the document "[^"]*", ', "", query.question): query.answer
        for query in queries
    }


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "## Ports\n\n| Port | Protocol | Notes |\n|--|--|--|\n| 80 | TCP | a |\n| 161 "
            "| UDP | n/a |",
            {
                'Under "Ports" what is the protocol for the port "80"?': "TCP",
                'Under "Ports" what is the protocol for the port "161"?': "UDP",
            },
        ),
        # a row is named by all columns that make it unique
        (
            "| Method | Path | Scope |\n|--|--|--|\n| GET | /a | read.a |\n| GET | /b | read.b |",
            {
                'what is the scope for the method "GET" and the path "/a"?': "read.a",
                'what is the scope for the method "GET" and the path "/b"?': "read.b",
            },
        ),
        # brackets in code are no footnote; a mark behind plain text may be one
        (
            "| Field | Type |\n|--|--|\n| name | `char[230]` |\n| size | int[1] |\n| kind "
            "| `bool` |",
            {
                'what is the type for the field "name"?': "char[230]",
                'what is the type for the field "kind"?': "bool",
            },
        ),
        # a key column that only says "name"
        (
            "| Name | Unit |\n|--|--|\n| Latency | ms |\n| Speed | m/s |",
            {'what is the unit of "Latency"?': "ms", 'what is the unit of "Speed"?': "m/s"},
        ),
        # another script, a column that repeats the key or says nothing
        ("| Port | プロトコル |\n|--|--|\n| 80 | TCP |\n| 81 | UDP |", {}),
        ("| Port | Port number |\n|--|--|\n| P80 | 80 |\n| P81 | 81 |", {}),
        ("| Port | Unit |\n|--|--|\n| 80 | A |\n| 81 | A |", {}),
        ("| Port | Unit |\n|--|--|\n| 80 | A |\n| 80 | B |", {}),
        # a column that is no attribute, a heading that only a writer chose
        ("| Port | Status |\n|--|--|\n| 80 | open |\n| 81 | shut |", {}),
        ("## Supported platforms\n\n- Linux\n- QNX 7.1", {}),
        (
            "The X7 gateway supports the following formats:\n\n- `gelf`: with tags\n- "
            "`raw`: without",
            {"which formats does the X7 gateway support?": "gelf\nraw"},
        ),
        (
            "The following backends are supported on Linux:\n\n- sqlite\n- memory",
            {"which backends are supported on Linux?": "sqlite\nmemory"},
        ),
        ("The X7 gateway has the following benefits:\n\n- `low`\n- `flat`", {}),
        ("It supports the following formats:\n\n- `gelf`\n- `raw`", {}),
    ],
)
def test_tables_and_lists_are_asked_about_where_header_or_lead_in_name_what_they_hold(
    body, expected
):
    assert asked(body) == expected


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("The default port of the X7 is 8443.", ("what is the default port of the X7?", "8443")),
        (
            "The HX-20 meter is a clamp-on device for liquids.",
            ("what is the HX-20 meter?", "a clamp-on device for liquids"),
        ),
        *(
            (sentence, None)
            for sentence in (
                "It is 5 mm.",
                "The X7 is fast.",
                "Is the X7 fast?",
                "",
                "If X7 is set, Y is 5.",
                "The X7 is a pump if it rains in the spring.",
                "The X7 panel is the most popular of all panels.",
                "The Orsa-2 meter is a meter of flow.",
                "NOTICE: The X7 is a clamp-on device for liquids.",
                "The HX-20 meter is a device, which is metered.",
                "The meter is a clamp-on device for liquids.",
                "The X7 is a new gateway for liquids.",
            )
        ),
    ],
)
def test_a_plain_sentence_about_a_named_thing_is_asked_for_its_fact(sentence, found):
    assert ask_sentence(sentence) == found


def test_three_questions_at_most_have_the_same_answer_and_no_two_answers():
    rows = "\n".join(f"| k{n} | {n % 2} |" for n in range(12))
    found = asked(f"| Key | Default |\n|--|--|\n{rows}")
    assert Counter(found.values()) == {"0": 3, "1": 3}
    text = "# {}\n\n## Limits\n\nThe default port of the X7 is {}.\n"
    queries, rejected = annotate(
        [made(text.format("Orsa", "8443"), "a"), made(text.format("Orsa", "8444"), "b")], by_rules
    )
    assert not queries and {row.reason for row in rejected} == {
        "the question has another answer elsewhere in the documents"
    }


def test_a_block_is_asked_about_if_its_title_or_a_heading_names_a_thing():
    body = "## {}\n\n| Port | Protocol |\n|--|--|\n| 90 | TCP |\n| 81 | UDP |"
    said = "# {}\n\nA port of Orsa or Zell is open.\nPumps run Orsa or Zell.\n\n" + body
    for title, section, is_asked in [
        ("Ports of Orsa", "Ports", True),
        ("Ports", "Ports of Zell", True),
        ("Ports", "Limits", False),
        ("Orsapump", "Limits", False),
        ("Linux", "Limits", False),
        ("orsapump", "Limits", True),
        ("orsa Ports", "Limits", True),
    ]:
        queries, rejected = annotate([made(said.format(title, section), "x")], by_rules)
        assert is_asked == bool(queries), title
        assert is_asked or "names the thing" in rejected[-1].reason
        assert all(
            f'Under "{section}" in the document "{title}"' in one.question for one in queries
        )
    same = said.format("Orsa", "Ports")
    queries, rejected = annotate([made(same, "x"), made(same, "y")], by_rules)
    assert {query.document_id for query in queries} == {"x"}
    assert "another document has the same text" in {row.reason for row in rejected}


def check(queries: list[Query], documents: list[Document]) -> None:
    """Assert what holds for every query, whatever the document."""
    texts = {document.document_id: document.text for document in documents}
    for query in queries:
        text = texts[query.document_id]
        source = text[query.start : query.end]
        assert query.source_reference == source
        assert query.block_type == block_at(parse(text), query.start, query.end).kind
        assert query.structure == structure_of(query.block_type).name
        lines = query.answer.split("\n")
        assert query.entity_count == (len(lines) if query.structure == "entity-list" else None)
        assert query.question.endswith("?") and all(line.strip() for line in lines)
        assert all(folded(line) in folded(source) for line in lines), query
    assert not [
        one
        for one, count in Counter((query.document_id, query.question) for query in queries).items()
        if count > 1
    ]


PIECES = [
    "# Orsa R-9\n\n",
    "## Limits\n\n",
    "The default port of the X7 is 8443. ",
    "It is big. ",
    "\n\n",
    "- Port: 1\n",
    "- key\n",
    "Tools:\n\n",
    "Orsa X7 supports the following tools:\n\n",
    "| Name | Value |\n|---|---|\n| Mass | 1 kg |\n",
    "\n```\ncode\n```\n",
    "* a: b, c\n  * d\n",
    "| Port | Class |\n|--|--|\n| 80 | A |\n| 81 | B |\n",
    "> quoted\n",
    "* `x`: y\n",
]


@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join), st.integers(1, 6))
def test_no_answer_is_outside_its_span_whatever_the_mixture_of_blocks(text, most):
    document = made(text, title="Orsa R-9")
    queries, rejected = annotate([document], by_rules, most)
    check(queries, [document])
    assert len(queries) <= most and (queries or rejected)


@given(st.text(max_size=300))
def test_any_text_is_annotated(text):
    check(annotate([made(text, title="t")], by_rules)[0], [made(text)])


def test_real_documents_are_asked_about_tables_and_sentences_only(documents_folder):
    documents = (
        read_folder(documents_folder).documents
        + read_folder(documents_folder.parent / "records" / "documents").documents
    )
    queries, _ = annotate(documents, by_rules)
    check(queries, documents)
    assert {query.rule for query in queries} == {"table: cells", "sentence: is"}
