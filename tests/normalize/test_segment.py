"""Segments cover their documents, keep the limit and count their tokens truly."""

from hypothesis import given
from hypothesis import strategies as st

from lib.core.records import Document
from lib.lab.bases import train_tokenizer
from lib.normalize.segment import segment

TEXT = (
    "# Corvane P-417\n\nThe default port is 8443. It listens on all interfaces.\n\n"
    "- Linux\n- QNX\n\n| a | b |\n|--|--|\n| 1 | 2 |\n"
)


TOKENIZER = train_tokenizer([TEXT] * 20, 400)


def document(text: str) -> Document:
    return Document(document_id="doc", title="Doc", path="", text=text)


@given(st.text(alphabet="ab .\n|#-1é\t\r。あ", max_size=300), st.integers(8, 40))
def test_segments_cover_every_text_in_order_within_the_limit(text, limit):
    segments = segment([document(text)], TOKENIZER, limit)
    assert "".join(one.text for one in segments) == text
    assert all(one.text == text[one.start : one.end] and one.text for one in segments)
    assert [one.end for one in segments[:-1]] == [one.start for one in segments[1:]]
    assert all(
        one.n_tokens == len(TOKENIZER.encode(one.text, add_special_tokens=False))
        for one in segments
    )


def test_segments_of_ordinary_text_keep_the_limit():
    segments = segment([document(TEXT * 20)], TOKENIZER, 30)
    assert len(segments) > 20 and max(one.n_tokens for one in segments) <= 34


def test_a_segment_with_a_part_in_doubt_says_so():
    one = document(TEXT * 20).model_copy(update={"doubt": "1 × formula", "doubted": [(3, 9)]})
    doubts = [row.doubt for row in segment([one], TOKENIZER, 30)]
    assert doubts == ["1 × formula", *[""] * (len(doubts) - 1)]
