"""The rules write true prose and lose nothing: by hand, at random cuts, and on real documents."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.core.paths import REPOSITORY
from lib.core.records import Document, Segment
from lib.documents.blocks import parse, sentences
from lib.documents.folder import read_folder
from lib.documents.inline import readable
from lib.normalize.rewrite import lost_tokens, normalize
from lib.normalize.segments import segment
from tests.normalize.test_segments import byte_level

TOKENIZER = byte_level(["The default port of Corvane P-417 is 8443.\n- Linux\n| a | b |\n"] * 20)


def cut(text: str, *places: int, title: str = "Corvane P-417") -> list[str]:
    """The prose of each segment of `text` where it is cut at `places`."""
    bounds = [0, *places, len(text)]
    segments = [Segment(segment_id=f"s{start}", document_id="d", start=start, end=end, text=text[start:end], n_tokens=1)
                for start, end in zip(bounds, bounds[1:], strict=False)]
    return [row.text for row in normalize(segments, [Document(document_id="d", title=title, path="", text=text)])]


def prose(markdown: str) -> str:
    """What the rules make of `markdown` under the product's title."""
    return cut(f"# Corvane P-417\n\n{markdown}")[0].removeprefix("# Corvane P-417\n\n")


@pytest.mark.parametrize(("markdown", "expected"), [
    ("- Default port: 8443", "The default port of Corvane P-417 is 8443."),
    ("- **Log path**: `/var/log/c`", "The log path of Corvane P-417 is /var/log/c."),
    ("Supported platforms:\n\n- Linux\n- QNX\n- VxWorks",
     "The supported platforms of Corvane P-417 are Linux, QNX and VxWorks."),
    ("Spare part:\n- seal kit", "The spare part of Corvane P-417 is seal kit."),
    ("| Property | Value |\n|--|--|\n| Default port | 8443 |", "The default port of Corvane P-417 is 8443."),
    ("| Item | Entry |\n|--|--|\n| Supported platforms | Linux, QNX, VxWorks |",
     "The supported platforms of Corvane P-417 are Linux, QNX and VxWorks."),
    ("| Property | Value |\n|--|--|\n| Waterproof | yes |", "For Corvane P-417, waterproof: yes."),
    ("| Property | Value |\n|--|--|\n| Supported by | Acme, Inc. |", "For Corvane P-417, supported by: Acme, Inc."),
    ("| Port | Protocol | Version |\n|--|--|--|\n| 80 | TCP | >= 2 |",
     "For port 80 in Corvane P-417, the protocol is TCP and the version is >= 2."),
    ("> | Property | Value |\n> |--|--|\n> | Default port | 8443 |", "The default port of Corvane P-417 is 8443."),
    ("> Spare parts:\n> - seal\n> - rotor", "The spare parts of Corvane P-417 are seal and rotor."),
    ("- 80: HTTP\n- 443: HTTPS", "80: HTTP. 443: HTTPS."),
    ("| Port | Protocol |\n|--|--|\n| 81 | |", "No value is given for port 81."),
])
def test_lists_and_tables_become_sentences_on_the_product(markdown, expected):
    written = prose(markdown)
    assert written.removeprefix("In Corvane P-417: ") == expected


@pytest.mark.parametrize(("markdown", "expected"), [
    ("On Corvane P-417, the\ndefault *port* is **8443**.", "On Corvane P-417, the default port is 8443."),
    ("> NOTICE: Corvane P-417 is\n> sealed.", "NOTICE: Corvane P-417 is sealed."),
    ("Corvane P-417 [guide](docs/g.md) and [part](#p).", "Corvane P-417 guide (docs/g.md) and part."),
    ("Corvane P-417 ([#12](https://x.org/12)).", "Corvane P-417 (#12, https://x.org/12)."),
    ("Corvane P-417: see [g].\n\n[g]: docs/g.md", "Corvane P-417: see g (docs/g.md)."),
    ("Corvane P-417 <https://x.org/1>.", "Corvane P-417 https://x.org/1."),
    ("Corvane P-417 has ![a red lamp](lamp.png).", "Corvane P-417 has a red lamp."),
])
def test_prose_stays_as_it_is_without_its_markup(markdown, expected):
    assert prose(markdown) == expected


def test_html_breaks_separate_the_words_around_them():
    assert readable("text/plain with:<br><ul><li>`a=1`</li><li>`b=2`</li></ul>") == "text/plain with: a=1; b=2"


def test_a_list_of_sentences_names_its_section_and_keeps_its_lead_in():
    text = "# Releases\n\n## Corvane 0.13.0\n\nMajor changes:\n\n- Fans can be tuned. They hum.\n- Ports moved to 8443."
    assert cut(text, title="Releases") == [
        "# Releases\n\nIn Corvane 0.13.0: Major changes: Fans can be tuned. They hum. Ports moved to 8443."]


def test_a_heading_that_only_announces_facts_is_not_repeated_before_them():
    markdown = "# Corvane P-417\n\n## {}\n\nThe default port of Corvane P-417 is 8443.\n"
    assert cut(markdown.format("Key points")) == ["# Corvane P-417\n\nThe default port of Corvane P-417 is 8443."]
    assert cut(markdown.format("Network"))[0].endswith("\n\nIn Network: The default port of Corvane P-417 is 8443.")


def test_lists_inside_lists_and_numbers_of_steps_are_kept():
    written = prose("Steps to follow:\n\n1. Open the lid. Wait.\n   - Lift the tab.\n   - Pull it.\n2. Close it.")
    assert written.endswith("Steps to follow: (1) Open the lid. Wait: Lift the tab. Pull it. (2) Close it.")


def test_code_stays_verbatim_after_a_sentence_that_introduces_it():
    assert prose("Corvane P-417 runs.\n\n```sh\nport 8443\n\n  go\n```").endswith(
        "Corvane P-417 runs.\n\nThe lines given here read:\nport 8443\n\n  go")
    assert prose("Corvane P-417 runs this:\n\n    port 8443\n").endswith("Corvane P-417 runs this:\n\nport 8443")


def test_a_cut_list_says_so_and_a_cut_table_knows_its_header():
    text = ("# Corvane P-417\n\nSupported platforms:\n\n- Linux\n- QNX\n- VxWorks\n\n"
            "| Property | Value |\n|--|--|\n| Port | 80 |\n| Mass | 2 kg |\n")
    first, second, third, fourth = cut(text, text.index("- Linux"), text.index("- QNX"), text.index("| Mass"))
    assert first == "# Corvane P-417\n\nThe supported platforms of Corvane P-417 are given next."
    assert second == "The supported platforms of Corvane P-417 include Linux."
    assert third == ("The supported platforms of Corvane P-417 also include QNX and VxWorks.\n\n"
                     "The port of Corvane P-417 is 80.")
    assert fourth == "The mass of Corvane P-417 is 2 kg."


def test_a_cut_inside_a_sentence_or_code_repeats_nothing():
    text = "# Corvane P-417\n\nCorvane P-417 is heavy. It is red.\n\n```\none\ntwo\n```\n"
    first, second, third = cut(text, text.index("heavy"), text.index("two"))
    assert first == "# Corvane P-417\n\nCorvane P-417 is heavy."
    assert second == "In Corvane P-417: It is red.\n\nThe lines given here read:\none"
    assert third == "In Corvane P-417: The lines go on:\ntwo"


def test_text_that_no_block_holds_is_written_too():
    text = prose("- Corvane P-417 first\n  - inner 1\n\n  after 2\n- > quoted 3\n\n[unused]: docs/u4.md\n")
    assert [number for number in re.findall(r"\b[1-4]\b|u4", text) if number] == ["1", "2", "3", "u4"]


def test_what_holds_no_text_is_dropped_with_its_reason():
    text = "# Corvane P-417\n\n---\n\n***\n\nCorvane P-417 is red."
    bounds = [0, text.index("---"), text.index("Corvane P-417 is"), len(text)]
    segments = [Segment(segment_id=str(start), document_id="d", start=start, end=end, text=text[start:end], n_tokens=1)
                for start, end in zip(bounds, bounds[1:], strict=False)]
    rows = normalize(segments, [Document(document_id="d", title="T", path="", text=text)])
    assert [row.dropped[:16] for row in rows] == ["only headings, o", "nothing but blan", ""]
    assert [row.rating for row in rows] == [None, None, 8]
    assert rows[2].remark == "1 sentences kept" and not rows[0].text


def test_a_segment_of_an_unknown_document_is_refused():
    stray = Segment(segment_id="s", document_id="gone", start=0, end=1, text="a", n_tokens=1)
    with pytest.raises(KeyError, match="gone"):
        normalize([stray], [])


def test_the_audit_finds_numbers_names_and_cells_but_no_markup():
    source = ("See [the port](net/port.md) 8443 of `max_rate`, ![x](img/9.png) [here](#part-7).\n\n"
              "| Name | Kind |\n|--|--|\n| bearing | round |\n\n- gasket\n- VxWorks 7\n")
    assert lost_tokens(source, "") == ["net/port.md", "8443", "max_rate", "bearing", "round", "gasket", "VxWorks", "7"]
    assert lost_tokens(source, "The Bearing is ROUND, 8443 max_rate: gasket; vxworks 7 (net/port.md)") == []


WORDS = st.lists(st.sampled_from(["pump", "rotor", "the", "of", "seal", "is"]), min_size=1, max_size=4).map(" ".join)
KINDS = ["prose", "list", "pairs", "nested", "table", "wide", "heading", "code", "lead-in"]


@st.composite
def markdown(draw) -> tuple[str, list[str]]:
    """A document of random blocks, and its facts: unlike marks in the order of the source.

    A mark that starts with z is of a lead-in or an item with items below it: a cut repeats it for what follows.
    """
    marks: list[str] = []

    def fact(text: str, kind: str = "x") -> str:
        marks.append(f"{kind}{len(marks)}y")
        return f"{text} {marks[-1]}"

    blocks = ["# Corvane P-417"]
    for _ in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from(KINDS))
        texts = draw(st.lists(WORDS, min_size=1, max_size=5))
        if kind == "prose":
            blocks.append(" ".join(fact(text).capitalize() + "." for text in texts))
        elif kind in ("list", "lead-in"):
            lead = [fact("Valves", "z") + ":"] if kind == "lead-in" else ["<!-- apart -->"]
            blocks += [*lead, "\n".join(f"- {fact(text)}" for text in texts)]
        elif kind == "pairs":
            blocks += ["<!-- apart -->", "\n".join(f"* {fact('Rotor')}: {fact(text)}" for text in texts)]
        elif kind == "nested":
            items = (f"1. {fact(text, 'z')}\n   - {fact(text)}\n   - {fact(text)}" for text in texts)
            blocks += ["<!-- apart -->", "\n".join(items)]
        elif kind in ("table", "wide"):
            head = ["Property", "Value"] if kind == "table" else ["Part", "Mass", "Use"]
            rows = [" | ".join(fact(text) for _ in head) for text in texts]
            blocks.append("\n".join(f"| {row} |" for row in [" | ".join(head), " | ".join("--" for _ in head), *rows]))
        elif kind == "heading":
            blocks.append(f"{'#' * draw(st.integers(2, 4))} {texts[0].capitalize()}")
        else:
            blocks.append("\n".join(["```", *map(fact, texts), "```"]))
    return "\n\n".join(blocks), marks


@settings(max_examples=150, deadline=None)
@given(markdown(), st.integers(8, 200))
def test_nothing_is_lost_repeated_or_moved_wherever_the_cuts_fall(generated, limit):
    text, marks = generated
    document = Document(document_id="d", title="Corvane P-417", path="", text=text)
    segments = segment([document], TOKENIZER, limit)
    rows = normalize(segments, [document])
    joined = "\n\n".join(row.text for row in rows)
    found = [mark.lower() for mark in re.findall(r"[xz]\d+y", joined, re.I)]
    assert list(dict.fromkeys(found)) == marks
    assert [mark for mark in found if mark[0] == "x"] == [mark for mark in marks if mark[0] == "x"]
    assert lost_tokens(text, joined) == []
    assert [row.segment_id for row in rows] == [one.segment_id for one in segments]
    assert all(bool(row.text) != bool(row.dropped) for row in rows)
    assert rows == normalize(segments, [document])


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def holds(written: list[str], wanted: list[str]) -> bool:
    """Whether `wanted` stand in `written` in order and close together; link targets may come in between."""
    room = 3 * len(wanted) + 60
    for start in (place for place, word in enumerate(written) if word == wanted[0]):
        rest = iter(written[start:start + room])
        if all(word in rest for word in wanted):
            return True
    return False


@pytest.fixture(scope="module")
def rewritten() -> list[tuple[Document, str]]:
    """The real documents with their rewrites joined."""
    folder = REPOSITORY.parent / "shared" / "documents"
    if not folder.is_dir():
        pytest.skip("no folder of real documents beside the repository")
    documents = read_folder(folder).documents
    rows = normalize(segment(documents, TOKENIZER, 700), documents)
    return [(document, "\n\n".join(row.text for row in rows if row.document_id == document.document_id))
            for document in documents]


def test_every_cell_and_item_of_the_real_documents_is_kept(rewritten):
    checked = 0
    for document, text in rewritten:
        written = words(text)
        for block in parse(document.text):
            for span in [*block.items, *(cell for row in block.rows for cell in row)]:
                wanted = words(span.text)
                if wanted:
                    checked += 1
                    assert holds(written, wanted), f"{document.document_id}: {span.text}"
    assert checked > 500


def test_every_number_path_and_name_of_the_real_documents_is_kept(rewritten):
    assert {document.document_id: lost_tokens(document.text, text) for document, text in rewritten} == \
        {document.document_id: [] for document, _ in rewritten}


def test_every_plain_sentence_of_the_real_documents_is_written_once(rewritten):
    checked = 0
    for document, text in rewritten:
        source, written = " ".join(words(document.text)), " ".join(words(text))
        for block in parse(document.text):
            for sentence in sentences(document.text, block.start, block.end) if block.kind == "prose" else ():
                said = " ".join(words(document.text[sentence.start:sentence.end]))
                if len(said) > 60 and not re.search(r"[<>\[\]*_]|:$", document.text[sentence.start:sentence.end]):
                    checked += 1
                    assert written.count(said) == source.count(said), said
    assert checked > 300
