"""Pieces written as Markdown parse back into the same pieces, whatever their text."""

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from lib.documents.convert import Piece, escape, write_markdown

SIGNS = [*"ab 1.)#*_`[](){}<>!&;|\\-+=~:\"'é。", "&amp;", "<b>", "](x)"]
TEXT = (
    st.lists(st.sampled_from(SIGNS), min_size=1, max_size=15)
    .map(lambda parts: " ".join("".join(parts).split()))
    .filter(bool)
)
READER = MarkdownIt("commonmark").enable("table")


def seen(markdown: str) -> list[tuple[str, int, str]]:
    """Return what a reader sees: the element around each text, the lists around it, the text."""
    found, depth, kind = [], 0, ""
    for token in READER.parse(markdown):
        depth += token.nesting * token.type.startswith(("bullet_list", "ordered_list"))
        kind = token.tag if token.type.endswith("_open") else kind
        if token.type == "inline":
            assert {one.type for one in token.children} <= {"text", "text_special"}
            found.append((kind, depth, "".join(one.content for one in token.children)))
    return found


@given(st.lists(TEXT, min_size=1, max_size=5))
def test_paragraphs_and_headings_keep_their_text(texts):
    kinds = ["heading" if at % 2 else "prose" for at in range(len(texts))]
    pairs = list(zip(kinds, texts, strict=True))
    made = write_markdown(Piece(kind, escape(text)) for kind, text in pairs)
    tags = {"heading": "h1", "prose": "p"}
    assert seen(made.markdown) == [(tags[kind], 0, text) for kind, text in pairs]


@given(st.lists(st.tuples(TEXT, st.integers(0, 2), st.booleans()), min_size=1, max_size=6))
def test_items_keep_their_text_and_depth(items):
    depths: list[int] = []
    for _, depth, _ in items:
        depths.append(min(depth, depths[-1] + 1 if depths else 0))
    made = write_markdown(
        Piece("item", escape(text), depth=depth, number=7 if ordered else None)
        for (text, _, ordered), depth in zip(items, depths, strict=True)
    )
    assert seen(made.markdown) == [
        ("p", depth + 1, text) for (text, _, _), depth in zip(items, depths, strict=True)
    ]


@given(st.lists(st.lists(TEXT, min_size=2, max_size=2), min_size=2, max_size=4))
def test_cells_keep_their_text_row_and_column(rows):
    made = write_markdown([Piece("table", rows=[[escape(cell) for cell in row] for row in rows])])
    cells = [text for kind, _, text in seen(made.markdown) if kind in ("th", "td")]
    assert cells == [cell for row in rows for cell in row]
