"""lib.annotate.model.parts: what fits in one call, and where a document is split."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.annotate.model.parts import CONTEXT_TOKENS, parts, room, shares

PIECES = ["# A\n\n", "## B\n\n", "word " * 9 + "\n\n", "- item\n", "- a\n  - b\n\n",
          "x" * 70 + "\n\n", "  \n", "| K | V |\n|---|---|\n" + "| k | v |\n" * 9, "ä€" * 40]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.sampled_from([7, 40, 100]))
def test_parts_cover_the_document_and_fit(text, most):
    spans = parts(text, most, len)
    assert all(0 < end - start <= most for start, end in spans)
    assert all(end <= start for (_, end), (start, _) in zip(spans, spans[1:], strict=False))
    edges = [0, *(edge for span in spans for edge in span), len(text)]
    gaps = [text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)]
    assert not "".join(gaps).strip()


def test_a_document_that_fits_is_one_part():
    text = "# A\n\none\n\n# B\n\ntwo\n"
    assert parts(text, len(text), len) == [(0, len(text))] and parts(" \n", 10, len) == []


def test_a_long_document_is_split_before_headings():
    text = "# A\n\n" + "word\n\n" * 5 + "## B\n\n" + "word\n\n" * 5 + "# C\n\n" + "word\n\n" * 5
    cut = [text[start:end] for start, end in parts(text, 60, len)]
    assert [piece.split("\n")[0] for piece in cut] == ["# A", "## B", "# C"]
    assert "".join(cut) == text


def test_a_long_section_is_split_between_blocks_and_a_long_table_between_rows():
    prose = ["# A\n\n" + "word " * 8 + "\n\n", "other " * 8 + "\n\n"]
    text = "".join(prose) + "| K | V |\n|---|---|\n" + "| k | v |\n" * 20
    cut = [text[start:end] for start, end in parts(text, 60, len)]
    assert cut[:2] == prose and all(piece.endswith("|\n") for piece in cut[2:])


def test_a_list_is_not_split_at_a_table_in_it():
    text = "word " * 10 + "\n\n- a\n\n  | K |\n  |---|\n  | k |\n\n- b\n"
    assert [text[start:start + 3] for start, _ in parts(text, 60, len)] == ["wor", "- a"]


@pytest.mark.parametrize(("lengths", "n_queries", "counts"), [
    ([100], 10, [10]), ([50, 50], 10, [5, 5]), ([90, 10], 10, [9, 1]), ([1000, 1], 10, [10, 1]),
    ([5] * 4, 2, [1] * 4), ([10, 20, 30], 6, [1, 2, 3]),
])
def test_queries_are_distributed_by_length_and_every_part_is_asked(lengths, n_queries, counts):
    assert shares(lengths, n_queries) == counts


@given(st.lists(st.integers(1, 10_000), min_size=1, max_size=12), st.integers(1, 60))
def test_the_shares_sum_to_about_the_queries(lengths, n_queries):
    counts = shares(lengths, n_queries)
    assert min(counts) >= 1 and n_queries <= sum(counts) <= n_queries + len(lengths)


def test_a_known_model_has_room_for_a_book_and_an_unknown_one_for_a_chapter():
    known, unknown = room("gpt-4.1", 10), room("no-such-model", 10)
    assert known.record > 700_000 and known.reply == 4000
    assert unknown.record > 2000 and unknown.reply == CONTEXT_TOKENS // 4
    # the estimate may be a quarter too low
    assert unknown.record * 4 // 3 < CONTEXT_TOKENS - unknown.reply - 1500
