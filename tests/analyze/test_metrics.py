"""lib.analyze.metrics: ROUGE-L has the numbers of PyPI's rouge 1.0.1."""

import pytest

from lib.analyze.metrics import bleu, exact_match, rouge_l
from lib.core.store import BadInput


@pytest.mark.parametrize(
    ("answer", "response", "f"),
    [
        ("a b b", "b a a b", 0.999999995),  # of the longest subsequences, one counts
        ("a c a c", "c a a", 0.4999999950000001),
        ("b a a", "a b a c", 0.7999999952000001),
        ("c d b c", "b c c", 0.39999999520000007),
        (". d c b", "c . b c", 0.39999999520000007),  # by sentences
        (". . c a", "d c . a c", 0.3333333283333334),
        ("vf.jpg", "vf.jpg", 0.999999995),
        ("True", "true", 0),
        ("0", "```\n0\n```", 0.6666666622222223),
    ],
)
def test_rouge_is_that_of_the_package_to_the_last_digit(answer, response, f):
    assert rouge_l(answer, response) == f


@pytest.mark.parametrize(
    ("answer", "response", "which"),
    [("", "a", "answer"), ("a", "", "response"), ("a", "..", "response")],
)
def test_an_empty_text_has_no_rouge(answer, response, which):
    with pytest.raises(BadInput, match=which):
        rouge_l(answer, response)


def test_exact_match_and_bleu_ignore_whitespace_at_the_ends():
    assert exact_match("a b", " a b\n") and not exact_match("", " ")
    assert bleu("a b", " a b\n") == pytest.approx(1) and 0 < bleu("a b c d", "a b e f g") < 1
