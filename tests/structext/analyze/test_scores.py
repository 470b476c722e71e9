"""lib.structext.analyze.scores and structural: scores of hand-worked pairs."""

import gzip
import json
import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.core.errors import BadInput
from lib.core.paths import REPOSITORY
from lib.structext.analyze.scores import frame, metric_agreement, score, score_file
from lib.structext.analyze.structural import is_structural_match

VECTORS = REPOSITORY.parent / "shared" / "structext" / "rouge-vectors.json.gz"
OBJECT = '{\n"id":"a",\n"Z":"b",\n"subs":[]\n}'
TWO = f"{OBJECT}\n\n{OBJECT.replace('a', 'c')}"
YAML = 'id: "a"\nNO: b,\nsubs: []'


@pytest.mark.skipif(not VECTORS.exists(), reason=f"{VECTORS} is absent")
def test_the_official_scores_are_met_and_no_row_is_lost():
    vectors = json.loads(gzip.decompress(VECTORS.read_bytes()))
    scored = [score(row["answer"], row["response"]) for row in vectors]
    assert [row.rouge_score for row in scored] == [
        vector.get("official_score", 0.0) for vector in vectors]
    assert [bool(row.error) for row in scored] == [vector["status"] != "ok" for vector in vectors]
    assert sum(bool(row.error) for row in scored) == 36 and len(frame(scored)) == 179


def test_a_long_text_has_its_score_and_a_mark():
    words = [str(number) for number in range(5000)]
    row = score(" ".join(words), " ".join(words[:4000] + ["x", *words[4000:]]))
    recall = 5000 / 5001
    assert math.isclose(row.rouge_l, 2 * recall / (1 + recall), rel_tol=1e-7)
    assert row.official_fails and not row.error
    assert not score("a b", "a b").official_fails


def test_a_score_below_three_quarters_is_0():
    row = score("a b c d", "a b e f g")
    assert row.rouge_l > 0.4 and row.rouge_score == 0.0 and 0 < row.bleu < 1 and not row.exact
    equal = score("a b", " a b\n")
    assert equal.exact and equal.structural and math.isclose(equal.bleu, 1)
    assert equal.rouge_score > 0.99


@pytest.mark.parametrize("response", [None, "", " \n", "..."])
def test_no_response_scores_0_with_its_reason(response):
    row = score("a", response)
    assert (row.rouge_l, row.bleu, row.exact, row.structural) == (0, 0, False, False)
    assert row.error and row.official_fails


def test_an_unpaired_surrogate_in_a_response_costs_no_more_than_itself():
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
    (TWO, '[{"id":"c","Z":"b","subs":[]},{"id":"a","Z":"b","subs":[]}]', True),
    (TWO, OBJECT, False),
    (YAML, '- id: a\n      "NO": b\n      subs: []', True),
    ('- id: "a"\n      NO: b\n      subs: []\n\n- id: "c"\n      X: d\n      subs: []',
     "```yaml\n- id: a\n  NO: b\n  subs: []\n- id: c\n  X: d\n  subs: []\n```", True),
    (YAML, "id: a\nNO: c\nsubs: []", False),
    ('<C X="a">\n  cafe\n </C>\n <D/>\n nob', "<C X='a'>cafe</C><D></D> nob", True),
    ('<C X="a">\n  cafe\n </C>\n nob', '<C X="b">cafe</C> nob', False),
    ("<C>cafe</C> nob", "<C>cafe nob", False),
    ("yogurt\nzen lamb", "- zen lamb\n- yogurt", True),
    ("yogurt\nzen lamb", "yogurt", False),
    ("# k\nidiot  a\n## l\nb", "# k\n\nidiot a\n\n## l\nb", True),
    ("# k\na\nb", "# k\nb\na", False),
    ("# a\nzebra\nquilt", "zebra\nquilt\n# a", False),
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
def test_the_correct_answer_in_another_layout_counts(answer, response, is_match):
    assert is_structural_match(answer, response) is is_match
    assert is_structural_match(answer, answer)


@given(st.sampled_from(["True", "1", "a->b", 'obj["a"]', OBJECT, "id: a\nsubs: []", "<a>b</a>",
                        "# a\nb", "a"]),
       st.text() | st.text('{}[]":,<>/ab->=#*\\|&\n -`'))
def test_any_response_is_compared(answer, response):
    assert isinstance(is_structural_match(answer, response), bool)


def test_a_file_is_scored_row_by_row(tmp_path):
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    rows = [{"answer": "a b", "response": "a b", "more": 1}, {"id": "x", "answer": "a"},
            {"answer": "a", "response": 3}]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    scored = score_file(source, target)
    assert [(row.id, row.exact, bool(row.error)) for row in scored] == [
        ("1", True, False), ("x", False, True), ("3", False, True)]
    assert len(target.read_text().splitlines()) == 3
    for line, where in (('{"response": "a"}\n', "answer"), ("[]\n", "the line")):
        source.write_text(line)
        with pytest.raises(ValueError, match=f"line 1: {where}"):
            score_file(source, target)
    with pytest.raises(BadInput, match="nowhere"):
        score_file(tmp_path / "nowhere", target)


def test_agreement_of_metrics_by_hand():
    rows = pd.DataFrame({"exact": [1, 1, 0, 0], "judge": [1, 0, 0, None], "flat": [1, 1, 1, 1.0]})
    table = metric_agreement(rows, ["exact", "judge", "flat"]).set_index(["first", "second"])
    assert table.loc[("exact", "judge")].tolist() == pytest.approx([3, 0.5, 2 / 3, 0.4])
    assert table.loc[("exact", "flat")].isna().tolist() == [False, True, False, True]
