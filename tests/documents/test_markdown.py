"""lib.documents.markdown on hand-worked Markdown, and its spans on anything."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.core.store import REPOSITORY
from lib.documents.markdown import CONTENT, block_at, parse, plain, sentences
from tests.conftest import table

DOCUMENTS = sorted((REPOSITORY / "data" / "technical").glob("*.md"))
MANUAL = """---
title: Pump
---
# Orsa R-9

Intro with a [link](x.md) and `code`.

## Limits

| Name | Value |
|:-----|------:|
| Flow | `5 l/min` |
| a\\|b | |

Tools:

* key
  * long
  * short

  more
* rag

```
| not | a table |
```
<p>raw</p>
"""


def spans_in(block) -> list:
    return [*block.items, *block.header, *(cell for row in block.rows for cell in row)]


def test_a_document_is_cut_into_its_blocks_in_order():
    assert [block.kind for block in parse(MANUAL)] == [
        "front-matter",
        "heading",
        "prose",
        "heading",
        "table",
        "prose",
        "list",
        "code",
        "html",
    ]


def only(source: str, kind: str):
    (found,) = [block for block in parse(source) if block.kind == kind]
    return found


def texts(table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in (table.header, *table.rows)]


def test_an_item_is_its_own_text_before_its_nested_list():
    items = only("- ```\n  x\n  ```\n  - a\n    - b\n\n    after\n- c\n\n  d\n", "list").items
    assert [item.text for item in items] == ["a", "b", "c d"]


def test_footnotes_are_paragraphs_and_their_marks_no_text():
    source = (
        "The flow[^1] is low[^b].\n\n[^1]: Measured at 20 °C.\n[^b]: https://example.org\n"
        "\n    Second paragraph.\n\nEnd.\n"
    )
    blocks = parse(source)
    assert [block.text for block in blocks] == [
        "The flow is low.",
        "Measured at 20 °C. https://example.org",
        "Second paragraph.",
        "End.",
    ]
    assert plain("[^1]: Measured at 20 °C.") == "Measured at 20 °C."
    assert parse("Use `[^1]`.\n\n```\n[^1]: code\n```\n")[0].text == "Use [^1]."
    assert parse("```\n[^1]: code\n```\n")[0].text == "[^1]: code\n"


@pytest.mark.parametrize(
    "source",
    [
        '!!! note "Mind"\n\n    The lid is hot.\n\n    - one\n\nEnd.\n',
        '=== "Tab"\n    The lid is hot.\n\n    - one\n\nEnd.\n',
        ":::tip Mind\nThe lid is hot.\n\n- one\n:::\nEnd.\n",
        '{% hint style="info" %}\nThe lid is hot.\n\n- one\n{% endhint %}\nEnd.\n',
    ],
)
def test_the_marks_of_a_box_are_no_text_and_what_is_in_it_is_no_code(source):
    blocks = parse(source)
    assert [(block.kind, block.text) for block in blocks] == [
        ("prose", "The lid is hot."),
        ("list", "- one"),
        ("prose", "End."),
    ]
    assert [source[block.start : block.end] for block in blocks] == [
        "The lid is hot.",
        "- one",
        "End.",
    ]


@pytest.mark.parametrize("case", table(Path(__file__).with_name("sentences.csv")))
def test_sentences_end_where_a_reader_ends_them(case):
    assert " | ".join(sentences(case["text"])) == case["sentences"]


@given(
    st.lists(
        st.sampled_from(
            [
                "# T\n",
                "word ",
                "\n",
                "- a\n",
                "  - b\n",
                "1. c\n",
                "| a | b |\n",
                "|---|---|\n",
                "```\n",
                "> q\n",
                "**x** ",
                "\r\n",
                "    ",
                "\\|",
                "é",
                "\t",
                "[^1]: n\n",
                "!!! note\n",
                "{% x %}\n",
                ":::\n",
                "<table><tr><td>a</td><td>b\n",
                "</td></tr></table>",
                "<br>",
            ]
        ),
        max_size=40,
    ).map("".join)
)
def test_every_span_holds_the_text_that_it_names(source):
    blocks = parse(source)
    starts = [block.start for block in blocks if block.kind in ("heading", "prose", "list")]
    assert starts == sorted(starts)
    for block in blocks:
        assert 0 <= block.start <= block.end <= len(source)
        for part in spans_in(block):
            assert block.start <= part.start <= part.end <= block.end, (block, part)
            assert plain(source[part.start : part.end]) or not part.text
        if block.kind in CONTENT and block.end > block.start:
            holding = [one for one in blocks if one.start <= block.start and block.end <= one.end]
            smallest = min(one.end - one.start for one in holding)
            found = block_at(blocks, block.start, block.end)
            assert found and found.end - found.start == smallest
            assert block_at(blocks, block.start, block.end).kind == found.kind


@given(st.text(st.sampled_from("Ab. ?:\n(e)9。「」と"), max_size=60))
def test_sentences_lose_no_character_but_whitespace(source):
    assert "".join("".join(sentences(source)).split()) == "".join(source.split())


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_cells_and_items_of_real_documents_are_where_their_spans_say(path):
    source = path.read_bytes().decode()
    blocks = parse(source)
    code = [block.start for block in blocks if block.kind == "code"]
    checked = [
        part
        for block in blocks
        for part in spans_in(block)
        if not any(part.start <= start < part.end for start in code)
    ]  # without code
    assert len(checked) > 5
    assert all(plain(source[part.start : part.end]) == part.text for part in checked)
