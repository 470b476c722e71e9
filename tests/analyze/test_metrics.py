"""lib.analyze.metrics: ROUGE-L compared with the package's own numbers and by hand."""

import gzip
import json
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.analyze.metrics import bleu, common_words, exact_match, rouge_l
from lib.core.store import REPOSITORY, BadInput

VECTORS = REPOSITORY.parent / "shared" / "structext" / "rouge-vectors.json.gz"


@pytest.mark.skipif(not VECTORS.exists(), reason=f"{VECTORS} is absent")
def test_every_vector_of_the_package_is_met_to_the_last_digit():
    vectors = json.loads(gzip.decompress(VECTORS.read_bytes()))
    scored = [row for row in vectors if row["status"] == "ok"]
    assert len(vectors) == 179 and len(scored) == 143
    assert [rouge_l(row["answer"], row["response"]) for row in scored] == [
        row["rouge_l_f"] for row in scored
    ]


@pytest.mark.parametrize(
    ("answer", "response", "which"),
    [("", "a", "answer"), ("a", "", "response"), ("a", "..", "response")],
)
def test_an_empty_text_has_no_rouge(answer, response, which):
    with pytest.raises(BadInput, match=which):
        rouge_l(answer, response)


def walked(x: list[str], y: list[str]) -> set[str]:
    """The package's table and its way back."""

    @cache
    def length(i: int, j: int) -> int:
        if i == 0 or j == 0:
            return 0
        return (
            length(i - 1, j - 1) + 1
            if x[i - 1] == y[j - 1]
            else max(length(i - 1, j), length(i, j - 1))
        )

    found, i, j = set(), len(x), len(y)
    while i and j:
        if x[i - 1] == y[j - 1]:
            i, j = i - 1, j - 1
            found.add(x[i])
        elif length(i - 1, j) > length(i, j - 1):
            i -= 1
        else:
            j -= 1
    return found


WORDS = st.lists(st.sampled_from("abcd"), max_size=40)


@given(WORDS, WORDS)
def test_the_bit_vectors_walk_the_way_of_the_table(x, y):
    assert common_words(x, y)[0] == walked(x, y)


def test_exact_match_and_bleu_ignore_whitespace_at_the_ends():
    assert exact_match("a b", " a b\n") and not exact_match("", " ")
    assert bleu("a b", " a b\n") == pytest.approx(1) and 0 < bleu("a b c d", "a b e f g") < 1
