"""Replies as models write them, one in a line of tests/data/replies.jsonl, sent by an endpoint."""

import json
import re

import pytest

from lib.annotate.llm_annotator import llm_annotator as annotator
from lib.annotate.questions import Candidate, annotate, violation
from lib.core.records import Document
from lib.core.store import REPOSITORY
from lib.documents.markdown import block_at, parse
from lib.judge.llm_judge import judge_with_llm as decider
from lib.judge.scorer import judge
from lib.llm.calls import Calls
from lib.normalize.rewrite import normalize
from lib.normalize.segment import KEPT
from tests.llm_server import Server, completion
from tests.rows import answer, query, segments_of

PLAYED = [
    json.loads(line)
    for line in (REPOSITORY / "tests" / "data" / "replies.jsonl").open(encoding="utf-8")
]
RECORD = """# Orsa R-9

The pump holds 36 litres of *clear* oil. It
runs for 900 hours at -20 °C.

Supported oils:

- mineral
- synthetic

| Part | Mass | Material |
|---|---|---|
| Weight | 12 kg | steel |
| Flange | 3 kg | brass |
| Gasket | TRUE | sealed |
| Fitting | False | sealed |
"""
PART = "The port is 8443. Do not lift the lid, which weighs 2 kg."


def of(stage: str) -> list:
    return [
        pytest.param(number, one, id=one["case"])
        for number, one in enumerate(PLAYED)
        if one["stage"] == stage
    ]


@pytest.fixture(scope="module")
def endpoint():
    """Serve the reply whose number the first message of a chat contains, also when asked again."""

    def reply(body: dict) -> str | dict:
        number = int(re.search(r"case-(\d+)", body["messages"][0]["content"])[1])
        played = completion(body, PLAYED[number]["reply"])
        played["choices"][0]["finish_reason"] = "length" if PLAYED[number].get("cut") else "stop"
        return played

    with Server(reply=reply) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", server.url)
        patch.setenv("OPENAI_API_KEY", "a-key-for-tests")
        yield server


@pytest.fixture
def calls(endpoint, tmp_path) -> Calls:
    return Calls(tmp_path / "llm.sqlite")


def document(number: int, text: str) -> Document:
    return Document(document_id="d", title=f"Corvane P-417 case-{number}", path="", text=text)


@pytest.mark.parametrize(("number", "case"), of("annotate"))
def test_an_annotators_reply_gives_its_usable_pairs_and_the_reasons_of_the_others(
    number, case, calls
):
    queries, rejected = annotate([document(number, RECORD)], annotator("some-model", calls))
    assert sorted(query.answer for query in queries) == sorted(case["answers"])
    assert sorted(row.reason.split(":")[0] for row in rejected) == sorted(case["refused"])
    for one in queries:
        assert one.source_reference == RECORD[one.start : one.end]
        assert one.block_type == block_at(parse(RECORD), one.start, one.end).kind
        is_list = one.structure == "entity-list"
        assert one.entity_count == (len(one.answer.split("\n")) if is_list else None)
        asked = Candidate(one.question, one.answer, one.block_type, one.start, one.end)
        assert not violation(asked, RECORD)


@pytest.mark.parametrize(("number", "case"), of("normalize"))
def test_a_rewrite_is_taken_out_dropped_with_its_reason_or_refused_by_the_audit(
    number, case, calls
):
    parts = segments_of("d", PART)
    (row,) = normalize(parts, [document(number, PART)], "some-model", "records", calls)
    assert (row.text, row.rating) == (case["text"], case["rating"])
    assert row.dropped.startswith(case["dropped"]) and bool(row.dropped) != bool(row.text)
    assert row.remark.startswith(KEPT) == case["kept"]


@pytest.mark.parametrize(("number", "case"), of("judge"))
def test_a_judges_reply_is_a_verdict_or_unscored(number, case, calls):
    asked = query(question=f"Which port has case-{number}?", answer="8443")
    decide = decider("some-model", calls)
    (verdict,) = judge([asked], [answer("Port 8443")], decide, "some-model")
    assert verdict.verdict == case["verdict"] and verdict.reason
