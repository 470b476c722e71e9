"""The rules write true prose and lose nothing: by hand, at random cuts, and on real documents."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.core.records import Document, Segment
from lib.core.store import REPOSITORY
from lib.documents.folder import read_folder
from lib.lab.base_model import train_tokenizer
from lib.normalize.rewrite import lost_tokens, normalize, words_by_structure
from lib.normalize.rules import by_rules
from lib.normalize.segments import WORDLESS, segment

TOKENIZER = train_tokenizer(
    ["The default port of Corvane P-417 is 8443.\n- Linux\n| a | b |\n"] * 20, 400
)
NAME = "Corvane P-417"


def rows(text: str, *places: int, title: str = NAME):
    """Return the rewrites of `text`, cut at `places`."""
    bounds = [0, *places, len(text)]
    segments = [
        Segment(
            segment_id=f"s{start}",
            document_id="d",
            start=start,
            end=end,
            text=text[start:end],
            n_tokens=1,
        )
        for start, end in zip(bounds, bounds[1:], strict=False)
    ]
    document = Document(document_id="d", title=title, path="", text=text)
    return normalize(segments, [document], by_rules)


def cut(text: str, *places: int, title: str = NAME) -> list[str]:
    return [row.text for row in rows(text, *places, title=title)]


def prose(markdown: str) -> str:
    """Return what the rules make of `markdown` under the product's title."""
    return cut(f"# {NAME}\n\n{markdown}")[0].removeprefix(f"# {NAME}\n\n")


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        # nothing says what they are
        ("It hums.\n\n- 80: HTTP\n- 443: TLS", "It hums.\n\n- 80: HTTP\n- 443: TLS"),
        ("Supported platforms:\n\n- Linux\n- QNX", "Supported platforms: Linux; QNX."),
        ("## Tools\n\n- seal\n- rotor", "## Tools\n\nTools: seal; rotor."),
        (
            "It hums. Its parts:\n\n- a lid. It is red.\n- a rod",
            "It hums. Its parts: a lid. It is red. a rod.",
        ),
        # a condition or a negation stays with each item
        (
            "Do not take X\n\n- if you are allergic to it,\n- if you drive.",
            "Do not take X: if you are allergic to it. Do not take X: if you drive.",
        ),
        ("Use one of:\n\n1. TCP\n2. UDP", "Use one of: (1) TCP. Use one of: (2) UDP."),
        (
            "## When not to use X\n\n- at sea\n- at night",
            "## When not to use X\n\nWhen not to use X: at sea. When not to use X: at night.",
        ),
        ("Its parts:\n\n- lid\n  - rod\n- nut", "Its parts:\n\n- lid\n  - rod\n- nut"),
        ("| Property | Value |\n|--|--|\n| Default port | 8443 |", "Default port: 8443."),
        (
            "| Port | Protocol | Required |\n|--|--|--|\n| 80 | TCP | no |",
            "For port 80, the protocol is TCP; Required: no.",
        ),
        # a row is named by all columns that make it unique
        (
            "| Method | Path | Scope |\n|--|--|--|\n| GET | /a | invoices.read |\n| GET | "
            "/b | payments |",
            "For method GET and path /a, the scope is invoices.read. "
            "For method GET and path /b, the scope is payments.",
        ),
        (
            "| Part | Note |\n|--|--|\n| lid | spare |\n| lid | worn |",
            "Part: lid; Note: spare. Part: lid; Note: worn.",
        ),
        (
            "| Key | Description |\n|--|--|\n| `a` | Sets A. Then B. |",
            "For key a, Description: Sets A. Then B.",
        ),
        ("| Port | Protocol |\n|--|--|\n| 81 | |", "Port: 81."),
        (
            "```\nup\n```\n\n> quoted **text** [a](b.md)",
            "```\nup\n```\n\n> quoted **text** [a](b.md)",
        ),
    ],
)
def test_lists_and_tables_become_sentences_and_the_rest_stays_as_it_is(markdown, expected):
    assert prose(markdown) == expected


def test_the_rest_of_a_cut_section_names_it_and_what_is_empty_is_dropped_with_its_reason():
    text = f"# {NAME}\n\n## Ports\n\n| Port | Use |\n|--|--|\n| 80 | web |\n| 81 | chat |\n\n---\n"
    found = rows(text, text.index("## Ports"), text.index("| 81"), text.index("---\n", 70))
    assert found[0].dropped.startswith("only headings") and found[3].dropped == WORDLESS
    assert [row.text for row in found[1:3]] == [
        "## Ports\n\nFor port 80, the use is web.",
        f"In {NAME}, Ports:\n\nFor port 81, the use is chat.",
    ]
    assert {row.rating for row in found} == {None}


WORDS = st.lists(
    st.sampled_from(["pump", "rotor", "the", "of", "seal", "is"]), min_size=1, max_size=4
).map(" ".join)
KINDS = ["prose", "list", "pairs", "nested", "table", "wide", "heading", "code", "lead-in"]
APART = "<!-- apart -->"


@st.composite
def markdown(draw) -> tuple[str, list[str]]:
    """Draw a document of random blocks, and its facts: distinct numbers in the order of the source.

    A mark that begins with z is of a lead-in, which may be said with each item.
    """
    marks: list[str] = []

    def fact(text: str, kind: str = "x") -> str:
        marks.append(f"{kind}{len(marks)}y")
        return f"{text} {marks[-1]}"

    blocks = [f"# {NAME}"]
    for _ in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from(KINDS))
        texts = draw(st.lists(WORDS, min_size=1, max_size=5))
        if kind == "prose":
            blocks.append(" ".join(fact(text).capitalize() + "." for text in texts))
        elif kind in ("list", "lead-in"):
            lead = fact("Valves", "z") + ":" if kind == "lead-in" else APART
            blocks += [lead, "\n".join(f"- {fact(text)}" for text in texts)]
        elif kind == "pairs":
            pairs = (f"* {fact('Rotor')}: {fact(text)}" for text in texts)
            blocks += [APART, "\n".join(pairs)]
        elif kind == "nested":
            items = (
                f"1. {fact(text, 'z')}\n   - {fact(text)}\n   - {fact(text)}" for text in texts
            )
            blocks += [APART, "\n".join(items)]
        elif kind in ("table", "wide"):
            head = ["Property", "Value"] if kind == "table" else ["Part", "Mass", "Use"]
            body = [[fact(text) for _ in head] for text in texts]
            lines = [head, ["--"] * len(head), *body]
            blocks.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
        elif kind == "heading":
            blocks.append(f"{'#' * draw(st.integers(2, 4))} {texts[0].capitalize()}")
        else:
            blocks.append("\n".join(["```", *map(fact, texts), "```"]))
    return "\n\n".join(blocks), marks


@given(markdown(), st.integers(8, 200))
def test_no_number_is_lost_or_repeated_wherever_the_cuts_fall(generated, limit):
    text, marks = generated
    document = Document(document_id="d", title=NAME, path="", text=text)
    segments = segment([document], TOKENIZER, limit)
    rewrites = normalize(segments, [document], by_rules)
    joined = "\n\n".join(row.text for row in rewrites)
    found = [mark.lower() for mark in re.findall(r"[xz]\d+y", joined, re.I)]
    cut = {mark for mark in marks if not any(mark in one.text.lower() for one in segments)}
    assert set(marks) - set(found) <= cut
    kept = [mark for mark in found if mark[0] == "x"]
    assert [mark for mark in kept if mark not in cut] == [
        mark for mark in marks if mark[0] == "x" and mark not in cut
    ]
    assert [row.segment_id for row in rewrites] == [one.segment_id for one in segments]
    assert all(bool(row.text) != bool(row.dropped) for row in rewrites)
    assert rewrites == normalize(segments, [document], by_rules)


def test_words_are_counted_by_what_became_of_their_structure():
    text = "A pump runs.\n\n- red\n- blue\n\n| a | b |\n| - | - |\n| 1 | 2 |\n"
    document = Document(document_id="d", title="Orsa", path="d.md", text=text)
    segments = segment([document], TOKENIZER, 700)
    rows = normalize(segments, [document], by_rules)
    fates = words_by_structure(segments, rows)
    assert fates.loc["natural"].tolist() == [3, 0, 0]
    assert fates.loc["tabular"].kept == 0 < fates.loc["tabular"].rewritten
    dropped = [row.model_copy(update={"text": "", "dropped": "no"}) for row in rows]
    assert words_by_structure(segments, dropped).loc["natural"].tolist() == [0, 0, 3]


@pytest.fixture(scope="module")
def rewritten() -> list[tuple[Document, str]]:
    """Return the real documents with their rewrites joined."""
    documents = read_folder(REPOSITORY / "data" / "technical").documents
    rewrites = normalize(segment(documents, TOKENIZER, 700), documents, by_rules)
    return [
        (
            document,
            "\n\n".join(row.text for row in rewrites if row.document_id == document.document_id),
        )
        for document in documents
    ]


def test_every_number_path_and_name_of_the_real_documents_is_kept(rewritten):
    assert [lost_tokens(document.text, text) for document, text in rewritten] == [[]] * 6
