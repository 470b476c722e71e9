"""ROUGE-L beside the package's own numbers, and the other scores on hand-worked pairs."""

import gzip
import json
import math
from functools import cache

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.core.paths import REPOSITORY, MissingInput
from lib.reading.metrics import EmptyText, common_words, rouge_l
from lib.structext.analyze.scores import frame, means, metric_agreement, score, score_file
from lib.structext.analyze.structural import is_structural_match

VECTORS = REPOSITORY.parent / "shared" / "structext" / "rouge-vectors.json.gz"


@pytest.mark.skipif(not VECTORS.exists(), reason=f"{VECTORS} is absent")
def test_every_vector_of_the_package_is_met_to_the_last_digit():
    vectors = json.loads(gzip.decompress(VECTORS.read_bytes()))
    scored = [score(row["answer"], row["response"]) for row in vectors]
    assert [row.rouge_l for row in scored] == [vector.get("rouge_l_f", 0.0) for vector in vectors]
    assert [row.rouge_score for row in scored] == [vector.get("official_score", 0.0) for vector in vectors]
    assert [bool(row.error) for row in scored] == [vector["status"] != "ok" for vector in vectors]
    assert sum(bool(row.error) for row in scored) == 36 and len(frame(scored)) == 179


def f(recall: float, precision: float) -> float:
    return 2 * (precision * recall / (precision + recall + 1e-8))


@pytest.mark.parametrize(("answer", "response", "expected"), [
    ("a b c", "a b c", f(1, 1)),
    ("a a a", "a", f(1, 1)),  # each word counts once
    ("a b c d", "d c b a", f(1 / 4, 1 / 4)),
    ("a b", "a. b", f(1, 1)),  # the union over pairs of sentences
    ("a b", "a.\n", f(1 / 2, 1 / 2)),  # a blank after the full stop is a word there
    ("x", " ", 0.0),
])
def test_rouge_by_hand(answer, response, expected):
    assert rouge_l(answer, response) == expected


@pytest.mark.parametrize(("answer", "response", "who"), [
    ("", "a", "answer"), ("a", "", "response"), ("a", "..", "response")])
def test_an_empty_text_has_no_rouge(answer, response, who):
    with pytest.raises(EmptyText, match=who):
        rouge_l(answer, response)


def walked(x: list[str], y: list[str]) -> set[str]:
    """The package's table and way back, word for word but for the dictionary."""
    @cache
    def length(i: int, j: int) -> int:
        if i == 0 or j == 0:
            return 0
        return length(i - 1, j - 1) + 1 if x[i - 1] == y[j - 1] else max(length(i - 1, j), length(i, j - 1))

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


@settings(max_examples=150, deadline=None)
@given(WORDS, WORDS)
def test_the_bit_vectors_walk_the_way_of_the_table(x, y):
    assert common_words(x, y)[0] == walked(x, y)


def test_a_long_text_has_its_score_and_a_mark():
    words = [str(number) for number in range(5000)]
    row = score(" ".join(words), " ".join(words[:4000] + ["x", *words[4000:]]))
    assert math.isclose(row.rouge_l, f(5000 / 5001, 1)) and row.official_fails and not row.error
    assert not score("a b", "a b").official_fails


def test_a_score_below_three_quarters_is_nothing():
    row = score("a b c d", "a b e f g")
    assert row.rouge_l > 0.4 and row.rouge_score == 0.0 and 0 < row.bleu < 1 and not row.exact
    whole = score("a b", " a b\n")
    assert whole.exact and whole.structural and math.isclose(whole.bleu, 1) and whole.rouge_score > 0.99


@pytest.mark.parametrize("response", [None, "", " \n", "..."])
def test_no_response_scores_nothing_and_says_so(response):
    row = score("a", response)
    assert (row.rouge_l, row.bleu, row.exact, row.structural) == (0, 0, False, False)
    assert row.error and row.official_fails


OBJECT = '{\n"id":"a",\n"Z":"b",\n"subs":[]\n}'


def test_half_a_character_in_a_response_costs_no_more_than_itself():
    assert score("a b c d", "a b c d \ud800") == score("a b c d", "a b c d ?")


@pytest.mark.parametrize(("answer", "response", "is_match"), [
    ("True", "**True**. Line 3 has no closing brace.", True),
    ("True", "False, it is not True", False),
    ("True", "True or False", False),
    ("False", "**False**/True", False),
    ("12", "`12`.", True),
    ("12", "12.5", False),
    ("938142", "Answer: 938,142", True),
    ("f->g->h", "f -> g → h", True),
    ("f->g->h", "f->h->g", False),
    ('obj["subs"][0]["K"]', "obj['subs'][0]['K']", True),
    ('obj["subs"][0]["K"]', "`data.subs[0].K`", True),
    ('obj["subs"][0]["K"]', 'obj["subs"][1]["K"]', False),
    ('obj["subs"][0]["K"]', 'obj["subs"]["0"]["K"]', False),
    (OBJECT, '```json\n{"id": "a", "subs": [], "Z": "b"}\n```', True),
    (OBJECT, '{"id": "a", "subs": [], "Z": "c"}', False),
    (OBJECT, '{"id": "a", "subs": [], "Z": "b"', False),
    (f"{OBJECT}\n\n{OBJECT.replace('a', 'c')}", '[{"id":"c","Z":"b","subs":[]},{"id":"a","Z":"b","subs":[]}]', True),
    (f"{OBJECT}\n\n{OBJECT.replace('a', 'c')}", OBJECT, False),
    ('id: "a"\nNO: b,\nsubs: []', '- id: a\n      "NO": b\n      subs: []', True),
    ('- id: "a"\n      NO: b\n      subs: []\n\n- id: "c"\n      X: d\n      subs: []',
     "```yaml\n- id: a\n  NO: b\n  subs: []\n- id: c\n  X: d\n  subs: []\n```", True),
    ('id: "a"\nNO: b,\nsubs: []', "id: a\nNO: c\nsubs: []", False),
    ('<C X="a">\n  cafe\n </C>\n <D/>\n nob', "<C X='a'>cafe</C><D></D> nob", True),
    ('<C X="a">\n  cafe\n </C>\n nob', '<C X="b">cafe</C> nob', False),
    ("<C>cafe</C> nob", "<C>cafe nob", False),
    ("yogurt\nzen lamb", "- zen lamb\n- yogurt", True),
    ("yogurt\nzen lamb", "yogurt", False),
    ("# k\nidiot  a\n## l\nb", "# k\n\nidiot a\n\n## l\nb", True),
    ("# k\na\nb", "# k\nb\na", False),
    ("# a\nzebra\nquilt", "zebra\nquilt\n# a", False),
    ("# a\nzebra", "zebra\n# a", False),
    ("NY", '"NY".', True),
    ("a.jpg", "b.jpg", False),
    ("** n\nlamb", "Answer: ** n\nlamb", True),
    ("** n\nlamb", "**Answer:** ** n\nlamb", True),
    ("** n\nlamb", "**Answer**: *** n\nlamb", False),
    ("cafe", "[" * 100_000, False),
    (OBJECT, "[" * 100_000, False),
    (OBJECT, '{"a":' * 100_000, False),
    ("<C>a</C>", "<C>" * 100_000, False),
])
def test_the_right_answer_in_another_layout_counts(answer, response, is_match):
    assert is_structural_match(answer, response) is is_match
    assert is_structural_match(answer, answer)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(["True", "1", "a->b", 'obj["a"]', OBJECT, "id: a\nsubs: []", "<a>b</a>", "# a\nb", "a"]),
       st.text() | st.text('{}[]":,<>/ab->=#*\\|&\n -`'))
def test_any_response_is_compared(answer, response):
    assert isinstance(is_structural_match(answer, response), bool)


def test_a_file_is_scored_row_by_row(tmp_path):
    rows = [{"answer": "a b", "response": "a b", "more": 1}, {"id": "x", "answer": "a"}, {"answer": "a", "response": 3}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    scored = score_file(tmp_path / "in.jsonl", tmp_path / "out.jsonl")
    assert [(row.id, row.exact, bool(row.error)) for row in scored] == [
        ("1", True, False), ("x", False, True), ("3", False, True)]
    table = means(frame(scored))
    assert table.n.item() == 3 and table.errors.item() == 2 and table.exact.item() == pytest.approx(1 / 3)
    (tmp_path / "in.jsonl").write_text('{"response": "a"}\n')
    with pytest.raises(ValueError, match="line 1: answer"):
        score_file(tmp_path / "in.jsonl", tmp_path / "out.jsonl")
    (tmp_path / "in.jsonl").write_text("[]\n")
    with pytest.raises(ValueError, match="line 1: the line"):
        score_file(tmp_path / "in.jsonl", tmp_path / "out.jsonl")
    with pytest.raises(MissingInput, match="nowhere"):
        score_file(tmp_path / "nowhere", tmp_path / "out.jsonl")


def test_means_have_every_row_in_their_denominator():
    rows = frame([score("a", "a"), score("a", ""), score("a b", "a b"), score("a b", "b a")]).assign(task=list("xxyy"))
    table = means(rows, ["task"], ["exact"])
    assert table.to_dict("list") == {"task": ["x", "y"], "n": [2, 2], "errors": [1, 0], "official_fails": [1, 0],
                                     "exact": [0.5, 0.5]}


def test_agreement_of_metrics_by_hand():
    rows = pd.DataFrame({"exact": [1, 1, 0, 0], "judge": [1, 0, 0, None], "flat": [1, 1, 1, 1.0]})
    table = metric_agreement(rows, ["exact", "judge", "flat"]).set_index(["first", "second"])
    assert table.loc[("exact", "judge")].tolist() == pytest.approx([3, 0.5, 2 / 3, 0.4])
    assert table.loc[("exact", "flat")].isna().tolist() == [False, True, False, True]
