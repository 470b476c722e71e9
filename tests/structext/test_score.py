"""ask.replies: the official scorer's vectors, and what it loses."""

import gzip
import json
import math

import pytest

from lib.core.store import REPOSITORY
from lib.structext.prompts import score

VECTORS = REPOSITORY.parent / "shared" / "structext" / "rouge-vectors.json.gz"


@pytest.mark.skipif(not VECTORS.exists(), reason=f"{VECTORS} is absent")
def test_the_official_scores_are_met_and_no_row_is_lost():
    vectors = json.loads(gzip.decompress(VECTORS.read_bytes()))
    scored = [score(row["answer"], row["response"]) for row in vectors]
    assert [row.rouge_score for row in scored] == [
        vector.get("official_score", 0.0) for vector in vectors
    ]
    assert [bool(row.error) for row in scored] == [vector["status"] != "ok" for vector in vectors]


def test_a_long_text_has_its_score_and_no_words_have_a_reason_both_with_a_mark():
    words = [str(number) for number in range(5000)]
    row = score(" ".join(words), " ".join(words[:4000] + ["x", *words[4000:]]))
    recall = 5000 / 5001
    assert math.isclose(row.rouge_l, 2 * recall / (1 + recall), rel_tol=1e-7)
    assert row.official_fails and not row.error
    assert not score("a b", "a b").official_fails
    for response in (None, "", " \n", "..."):
        *metrics, error, official_fails = score("a", response)
        assert metrics == [0] * 4 and error and official_fails
    assert score("a b c d", "a b c d \ud800") == score("a b c d", "a b c d ?")
