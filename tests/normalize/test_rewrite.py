"""The rules write true prose and lose nothing: by hand, at random cuts, and on real documents."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.core.paths import REPOSITORY
from lib.core.records import Document, Segment
from lib.documents.blocks import parse, sentences
from lib.documents.folder import read_folder
from lib.normalize.rewrite import lost_tokens, normalize
from lib.normalize.rules.engine import by_rules
from lib.normalize.segments import WORDLESS, segment
from tests.normalize.test_segments import byte_level

TOKENIZER = byte_level(
    ["The default port of Corvane P-417 is 8443.\n- Linux\n| a | b |\n"] * 20)
NAME = "Corvane P-417"


def rows(text: str, *places: int, title: str = NAME):
    """Return the rewrites of `text`, cut at `places`."""
    bounds = [0, *places, len(text)]
    segments = [Segment(segment_id=f"s{start}", document_id="d", start=start, end=end,
                        text=text[start:end], n_tokens=1)
                for start, end in zip(bounds, bounds[1:], strict=False)]
    document = Document(document_id="d", title=title, path="", text=text)
    return normalize(segments, [document], by_rules)


def cut(text: str, *places: int, title: str = NAME) -> list[str]:
    return [row.text for row in rows(text, *places, title=title)]


def prose(markdown: str) -> str:
    """Return what the rules make of `markdown` under the product's title."""
    return cut(f"# {NAME}\n\n{markdown}")[0].removeprefix(f"# {NAME}\n\n")


PORT = f"The default port of {NAME} is 8443."
PLATFORMS = f"The supported platforms of {NAME} are Linux, QNX and VxWorks."


@pytest.mark.parametrize(("markdown", "expected"), [
    ("- Default port: 8443", PORT),
    ("- **Log path**: `/var/log/c`", f"The log path of {NAME} is /var/log/c."),
    ("Supported platforms:\n\n- Linux\n- QNX\n- VxWorks", PLATFORMS),
    ("Spare part:\n- seal kit", f"The spare part of {NAME} is seal kit."),
    ("| Property | Value |\n|--|--|\n| Default port | 8443 |", PORT),
    ("| Item | Entry |\n|--|--|\n| Supported platforms | Linux, QNX, VxWorks |", PLATFORMS),
    ("| Property | Value |\n|--|--|\n| Waterproof | yes |",
     f"For {NAME}, the value under Waterproof is yes."),
    ("| Property | Value |\n|--|--|\n| Supported by | Acme, Inc. |",
     f"For {NAME}, the text under \"Supported by\" reads: Acme, Inc."),
    ("| Port | Protocol | Version |\n|--|--|--|\n| 80 | TCP | >= 2 |",
     f"For port 80 in {NAME}, the protocol is TCP and the version is >= 2."),
    ("> | Property | Value |\n> |--|--|\n> | Default port | 8443 |", PORT),
    ("> Spare parts:\n> - seal\n> - rotor", f"The spare parts of {NAME} are seal and rotor."),
    ("- 80: HTTP\n- 443: HTTPS", "80: HTTP; 443: HTTPS."),
    ("| Port | Protocol |\n|--|--|\n| 81 | |", "No value is given for port 81."),
])
def test_lists_and_tables_become_sentences_on_the_product(markdown, expected):
    assert prose(markdown).removeprefix(f"In {NAME}: ") == expected


@pytest.mark.parametrize(("markdown", "expected"), [
    # a label that is no attribute, a section that is no subject: the source's colon stays
    ("- Proposal: Tracer components", "Proposal: Tracer components."),
    ("## Retry policy\n\n- Port: 8443", "In Retry policy: Port: 8443."),
    ("## Retry policy\n\nSupported platforms:\n\n- Linux\n- QNX",
     "In Retry policy: Supported platforms: Linux and QNX."),
    ("## Codes\n\n- Linux\n- QNX", "In Codes: Linux and QNX."),
    ("Use one of:\n\n- TCP\n- UDP", "Use one of: TCP; UDP."),
    ("The file has either:\n\n- a name,\n- a size, or\n- both.",
     "The file has either: a name; a size; both."),
    # a cell of running text ends its sentence; a column that may be no attribute is only named
    ("| Key | Description | Required |\n|--|--|--|\n| `a` | Sets A. Then B. | no |",
     f'For key "a" in {NAME}, the description reads: Sets A. Then B. For key "a" in {NAME}, '
     "the value under Required is no."),
    ("| Part | Note |\n|--|--|\n| | spare |",
     f"Where nothing is given under Part in {NAME}, the value under Note is spare."),
    ("## Locks\n\n| | Corv | Zell |\n|--|--|--|\n| Reads | yes | no, rarely |",
     "In Locks: For Reads, the value under Corv is yes; and under Zell it is no, rarely."),
    ("## Tools\n\n| Name | Notes |\n|--|--|\n| title | Cuts. Fast. |",
     'In Tools: For name "title", the notes read: Cuts. Fast.'),
    ("## Speed\n\n| Number of keys | Size |\n|--|--|\n| 10 | 8 |",
     "In Speed: Where the number of keys is 10, the size is 8."),
    ("| Part |\n|--|\n| seal |", "Part: seal."),
    ("| Board | Version |\n|--|--|\n| a1 | ![latest](x.svg) |",
     f'For board a1 in {NAME}, the value under Version is image "latest" (x.svg).'),
    # nested lists
    ("- pump\n  - rotor\n  - seal\n- valve", "pump (rotor; seal); valve."),
    ("- Open it. Wait.\n  - Lift it. Hold it.\n  - Turn it. Stop.\n- Close it. Go.",
     "Open it. Wait: Lift it. Hold it. Turn it. Stop.\n\nClose it. Go."),
    ("- A lid. Big.\n  - Open it. Wait.\n    - Lift it. Hold it.\n  - Close it. Go.",
     "A lid. Big: Open it. Wait: Lift it. Hold it.\n\nA lid. Big (continued): Close it. Go."),
    ("- Pumps run.\n  - One hums.\n- Fans do not.",
     "Pumps run: One hums.\n\nFans do not."),
    ("## Keys\n\n| Set | Result |\n|--|--|\n| `a: 1` | `b: 2` |\n| - | none |",
     'In Keys: For set "a: 1", the result is "b: 2". For set "-", the result is none.'),
    ("1. Load. Then:\n   1. Close it.\n   2. Lock it.\n2. Start.",
     "(1) Load. Then: (1) Close it. (2) Lock it.\n\n(2) Start."),
    ("## No. 3: Fans.\n\nIt hums.", "In No. 3: Fans: It hums."),
    ('<img src="a.gif" alt="Oil"/>\n\n```\nup\n```',
     "There is an image: Oil (a.gif).\n\nThe lines given here read:\nup"),
    ("Either [a](b.md)/c (see [d](e.md)/f).", "Either a (b.md)/c (see d, e.md /f)."),
    ("## Words\n\n1. `and`, `not`\n2. `or`\n3. use `or`",
     "In Words: (1) and, not; (2) or; and (3) use or."),
    ("_It hums. It glows._ *Wait* (see `a. B` here). Go.",
     "It hums. It glows. Wait (see a. B here). Go."),
    ("It shows:\n\n## Output\n\n```\nup\n```",
     "It shows:\n\nIn Output: The lines given here read:\nup"),
    ("## Load\n\n| rotor | Mass |\n|--|--|\n| 2 fans | 3 g |",
     "In Load: For 2 fans (rotor), the mass is 3 g."),
    # what an item says after its code is written after it
    ("1. Run it:\n\n   ```\n   go\n   ```\n\n   It shows:\n\n   ```\n   up\n   ```\n2. Stop.",
     "(1) Run it:\n\ngo\n\nIt shows:\n\nup\n\n(2) Stop."),
    # a list does not go on in another box
    ('Its parts:\n\n- rotor\n\n!!! note "Also"\n\n    - [x](x.md) is red.',
     "Its parts: rotor.\n\nNote: Also:\n\nx (x.md) is red."),
    ("See [the guide.](g.md)", "See the guide (g.md)."),
    ("3. Open it.\n4. Close it.", "(3) Open it. (4) Close it."),
    # an item that is cut goes on; a term above its definition ends
    ("- It closes when the pressure\n\n  falls below 2 bar.\n- It hums.",
     "It closes when the pressure falls below 2 bar. It hums."),
    ("- It closes when the pressure  \n  falls below 2 bar.\n- It hums.",
     "It closes when the pressure falls below 2 bar. It hums."),
    ("- Bleeding\n\n  letting air out.\n- It hums.", "Bleeding. letting air out. It hums."),
    # a row that lacks a cell states nothing of a column
    ("## Valves\n\n| Valve | Material | Mass |\n|--|--|--|\n| V1 | brass |\n| V2 | steel | 2 g |",
     "In Valves: V1; brass. For valve V2, the material is steel and the mass is 2 g."),
    # a comment of a configuration file names no section
    ("# Pressure to keep\nbar = 4\n# Speed\n# of the fan\nfan.rpm = 900",
     "Pressure to keep.\n\nbar = 4.\n\nSpeed.\n\nof the fan.\n\nfan.rpm = 900."),
    ("- [x] oil\n- [ ] air", "(done) oil and (not done) air."),
    # marks of other Markdown dialects
    ('!!! tip "Read on"\n\n    It is easy.', "Tip: Read on:\n\nIt is easy."),
    ('{% tab title="a.yaml" %}\n\n```\nb\n```', "a.yaml:\n\nb"),
    ("It hums.[^1]\n\n[^1]: Not at night.", "It hums. (footnote 1).\n\nFootnote 1: Not at night."),
    # page headers and footers
    ("The lid must be\n\nPage 3 of 9\n\nclosed first.", "The lid must be closed first.\n\n"
     "Page 3 of 9."),
    ("The lid must be\nPage 3 of 9\nclosed first.", "The lid must be closed first. Page 3 of 9."),
])
def test_nothing_is_stated_that_the_source_does_not_state(markdown, expected):
    written = prose(markdown)
    assert written.removeprefix(f"In {NAME}: ").replace(f"In {NAME}, ", "In ") == expected


def test_what_holds_no_text_is_dropped_with_its_reason():
    text = f"# {NAME}\n\n---\n\n***\n\n{NAME} is red."
    found = rows(text, text.index("---"), text.index(f"{NAME} is"), title="T")
    assert found[0].dropped.startswith("only headings") and not found[0].text
    assert [row.dropped for row in found[1:]] == [WORDLESS, ""]
    assert [row.rating for row in found] == [None, None, 8]
    assert found[2].remark == "1 sentences kept"


WORDS = st.lists(st.sampled_from(["pump", "rotor", "the", "of", "seal", "is"]), min_size=1,
                 max_size=4).map(" ".join)
KINDS = ["prose", "list", "pairs", "nested", "table", "wide", "heading", "code", "lead-in"]
APART = "<!-- apart -->"


@st.composite
def markdown(draw) -> tuple[str, list[str]]:
    """Draw a document of random blocks, and its facts: distinct marks in the order of the source.

    A mark that begins with z is of a lead-in or of an item with items below it: a cut repeats it
    for what follows.
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
            items = (f"1. {fact(text, 'z')}\n   - {fact(text)}\n   - {fact(text)}"
                     for text in texts)
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
def test_nothing_is_lost_repeated_or_moved_wherever_the_cuts_fall(generated, limit):
    text, marks = generated
    document = Document(document_id="d", title=NAME, path="", text=text)
    segments = segment([document], TOKENIZER, limit)
    rewrites = normalize(segments, [document], by_rules)
    joined = "\n\n".join(row.text for row in rewrites)
    found = [mark.lower() for mark in re.findall(r"[xz]\d+y", joined, re.I)]
    assert list(dict.fromkeys(found)) == marks
    assert [mark for mark in found if mark[0] == "x"] == [mark for mark in marks if mark[0] == "x"]
    assert lost_tokens(text, joined) == []
    assert [row.segment_id for row in rewrites] == [one.segment_id for one in segments]
    assert all(bool(row.text) != bool(row.dropped) for row in rewrites)
    assert rewrites == normalize(segments, [document], by_rules)


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def holds(written: list[str], wanted: list[str]) -> bool:
    """Tell whether `wanted` is in `written`, in order; link targets may come in between."""
    room = 3 * len(wanted) + 60
    for start in (place for place, word in enumerate(written) if word == wanted[0]):
        rest = iter(written[start:start + room])
        if all(word in rest for word in wanted):
            return True
    return False


@pytest.fixture(scope="module")
def rewritten() -> list[tuple[Document, str]]:
    """Return the real documents with their rewrites joined."""
    documents = read_folder(REPOSITORY / "tests" / "data" / "documents").documents
    rewrites = normalize(segment(documents, TOKENIZER, 700), documents, by_rules)
    return [(document, "\n\n".join(row.text for row in rewrites
                                   if row.document_id == document.document_id))
            for document in documents]


def test_every_cell_and_item_of_the_real_documents_is_kept(rewritten):
    checked = 0
    for document, text in rewritten:
        written = words(text)
        for block in parse(document.text):
            for span in [*block.items, *(cell for row in block.rows for cell in row)]:
                if wanted := words(span.text):
                    checked += 1
                    assert holds(written, wanted), f"{document.document_id}: {span.text}"
    assert checked == 526


def test_every_number_path_and_name_of_the_real_documents_is_kept(rewritten):
    assert [lost_tokens(document.text, text) for document, text in rewritten] == [[]] * 4


def test_every_plain_sentence_of_the_real_documents_is_written_once(rewritten):
    checked = 0
    for document, text in rewritten:
        source, written = " ".join(words(document.text)), " ".join(words(text))
        paragraphs = [block for block in parse(document.text) if block.kind == "prose"]
        for block in paragraphs:
            for sentence in sentences(document.text, block.start, block.end):
                raw = document.text[sentence.start:sentence.end]
                plain = " ".join(words(raw))
                if len(plain) > 60 and not re.search(r"[<>\[\]*_]|:$", raw):
                    checked += 1
                    assert written.count(plain) == source.count(plain), plain
    assert checked == 85
