"""lib.documents.blocks on hand-worked Markdown, and its spans on anything."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.core.paths import REPOSITORY
from lib.documents.blocks import STRUCTURE_OF, parse, plain, sentences, structure_at

DOCUMENTS = sorted((REPOSITORY / "tests" / "data" / "documents").glob("*.md"))
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
        "front-matter", "heading", "prose", "heading", "table", "prose", "list", "code", "html"]


def test_a_block_knows_the_headings_above_it():
    found = {block.kind: block.headings for block in parse(MANUAL)}
    assert found["table"] == ("Orsa R-9", "Limits")
    assert parse("# A\n\n## B\n\n# C\n\nx")[-1].headings == ("C",)


def test_a_cell_is_its_visible_text_and_its_place():
    table = next(block for block in parse(MANUAL) if block.kind == "table")
    rows = [[cell.text for cell in row] for row in (table.header, *table.rows)]
    assert rows == [["Name", "Value"], ["Flow", "5 l/min"], ["a|b", ""]]
    assert MANUAL[table.rows[0][1].start:table.rows[0][1].end] == "`5 l/min`"
    assert MANUAL[table.rows[1][0].start:table.rows[1][0].end] == "a\\|b"


def test_an_item_is_its_own_text_without_the_list_inside_it():
    items = next(block for block in parse(MANUAL) if block.kind == "list").items
    assert [(item.text, item.depth, item.ordered) for item in items][1:] == [
        ("long", 1, False), ("short", 1, False), ("rag", 0, False)]
    assert items[0].text.startswith("key")


def test_a_table_inside_a_list_is_a_table():
    source = "- item\n\n  | a | b |\n  |---|---|\n  | 1 | 2 |\n"
    place = source.index("1")
    assert structure_at(parse(source), place, place + 1) == "table"
    assert structure_at(parse(source), 2, 6) == "list"


@pytest.mark.parametrize(("text", "expected"), [
    ("One. Two.", ["One.", "Two."]),
    ("By J. Smith, e.g. Oslo. Next.", ["By J. Smith, e.g. Oslo.", "Next."]),
    ("It draws 4 W. The fan is off.", ["It draws 4 W.", "The fan is off."]),
    ("Version 2.1 is out. See `x.y`.", ["Version 2.1 is out.", "See x.y."]),
    ("Note:\nOpen it. Done", ["Note:", "Open it.", "Done"]),
    ("Ratio: High or low?", ["Ratio: High or low?"]),
])
def test_sentences_end_where_a_reader_ends_them(text, expected):
    assert [sentence.text for sentence in sentences(text, 0, len(text))] == expected


@pytest.mark.parametrize(("markdown", "expected"), [
    ("[a *b*](c) `d` **e**", "a b d e"), ("one<br>two", "one; two"),
    ("<ul><li>x</li><li>y</li></ul>", "x; y"), ("![badge](u)", "badge"), ("5 \\* 6", "5 * 6"),
    ("", ""),
])
def test_plain_is_what_a_reader_sees(markdown, expected):
    assert plain(markdown) == expected


@given(st.lists(st.sampled_from([
    "# T\n", "word ", "\n", "- a\n", "  - b\n", "1. c\n", "| a | b |\n", "|---|---|\n", "```\n",
    "> q\n", "**x** ", "\r\n", "    ", "\\|", "é", "\t"]), max_size=40).map("".join))
def test_every_span_holds_the_text_that_it_names(source):
    blocks = parse(source)
    starts = [block.start for block in blocks if block.kind in ("heading", "prose", "list")]
    assert starts == sorted(starts)
    for block in blocks:
        assert 0 <= block.start <= block.end <= len(source)
        for part in spans_in(block):
            assert block.start <= part.start <= part.end <= block.end, (block, part)
            assert plain(source[part.start:part.end]) or not part.text
        if block.kind in STRUCTURE_OF and block.end > block.start:
            assert structure_at(blocks, block.start, block.end) != ""


@given(st.text(st.sampled_from("Ab. ?:\n*`(e)9"), max_size=60))
def test_sentences_lose_no_character_but_whitespace(source):
    spans = sentences(source, 0, len(source))
    left = "".join(source[span.start:span.end] for span in spans)
    assert "".join(left.split()) == "".join(source.split())
    assert all(first.end <= second.start for first, second in zip(spans, spans[1:], strict=False))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_cells_and_items_of_real_documents_are_where_their_spans_say(path):
    source = path.read_bytes().decode()
    blocks = parse(source)
    code = [block.start for block in blocks if block.kind == "code"]
    checked = [part for block in blocks for part in spans_in(block)
               if not any(part.start <= start < part.end for start in code)]  # without code
    assert len(checked) > 10
    assert all(plain(source[part.start:part.end]) == part.text for part in checked)
