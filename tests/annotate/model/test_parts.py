"""lib.annotate.model.parts: what fits in one call, and where a document is split."""

from hypothesis import given
from hypothesis import strategies as st

from lib.annotate.model.parts import parts

PIECES = [
    "# A\n\n",
    "## B\n\n",
    "word " * 9 + "\n\n",
    "- item\n",
    "- a\n  - b\n\n",
    "x" * 70 + "\n\n",
    "  \n",
    "| K | V |\n|---|---|\n" + "| k | v |\n" * 9,
    "ä€" * 40,
]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.sampled_from([7, 40, 100]))
def test_parts_cover_the_document_and_fit(text, most):
    spans = parts(text, most, len)
    assert all(0 < end - start <= most for start, end in spans)
    assert all(end <= start for (_, end), (start, _) in zip(spans, spans[1:], strict=False))
    edges = [0, *(edge for span in spans for edge in span), len(text)]
    gaps = [text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)]
    assert not "".join(gaps).strip()


def test_a_long_section_is_split_between_blocks_and_a_long_table_between_rows():
    prose = ["# A\n\n" + "word " * 8 + "\n\n", "other " * 8 + "\n\n"]
    text = "".join(prose) + "| K | V |\n|---|---|\n" + "| k | v |\n" * 20
    cut = [text[start:end] for start, end in parts(text, 60, len)]
    assert cut[:2] == prose and all(piece.endswith("|\n") for piece in cut[2:])
