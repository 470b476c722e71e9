"""Answers over real HTTP from a server on loopback: in order, cached, cut answers and failed calls told apart."""

import pytest

from lib.core.records import Query
from lib.infer.answers import Decoding
from lib.infer.endpoint import answer_over_endpoint
from lib.infer.prompts import chat_prompt_for, prompt_for
from lib.llm.calls import Calls
from tests.llm_server import Server

QUERIES = [Query(query_id=name, document_id="d", question=f"What is the port of {name}?", answer="1",
                 structure=structure, source_reference="", start=0, end=0, entity_count=None, block_type="prose")
           for name, structure in (("Orbit", "natural"), ("Comet", "entity-list"), ("Atlas", "tabular"))]


def reply(body: dict) -> str | dict:
    """A model that knows two ports, writes on, and is cut off in the third."""
    prompt = body["messages"][-1]["content"]
    if "Atlas" in prompt:
        return {"choices": [{"index": 0, "finish_reason": "length",
                             "message": {"role": "assistant", "content": "a port of"}}]}
    return "8443\n\nQuestion: another?" if "Orbit" in prompt else f"{body.get('max_tokens')}"


@pytest.fixture
def server(monkeypatch):
    with Server(reply=reply) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "any-key")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


def test_an_endpoint_answers_in_order_with_the_budget_of_each_structure(server, tmp_path):
    rows, failed = answer_over_endpoint("m", QUERIES, "dapt", Decoding(max_list_tokens=77), Calls(tmp_path / "c"))
    assert [(row.query_id, row.arm, row.truncated) for row in rows] == [
        ("Orbit", "dapt", False), ("Comet", "dapt", False), ("Atlas", "dapt", True)]
    assert [row.answer for row in rows] == ["8443\n\nQuestion: another?", "77", "a port of"] and not failed
    assert all(row.n_tokens > 0 for row in rows)
    assert {call.prompt for call in server.log} == {chat_prompt_for(query.question) for query in QUERIES}


def test_a_base_model_behind_an_endpoint_continues_the_plain_prompt_up_to_a_stop(server, tmp_path):
    rows, _ = answer_over_endpoint("m", QUERIES, "base", Decoding(prompt_style="plain"), Calls(tmp_path / "c"))
    assert rows[0].answer == "8443"
    assert {call.prompt for call in server.log} == {prompt_for(query.question) for query in QUERIES}


@pytest.mark.parametrize("style", ["plain", "auto"])
def test_a_ready_made_prompt_is_sent_as_it_stands_and_its_reply_is_whole(server, tmp_path, style):
    ready = QUERIES[0].model_copy(update={"query_id": "ready", "context": "The text of Orbit.\n<answer>\n"})
    long = ready.model_copy(update={"query_id": "long", "context": "A text."})
    how = Decoding(prompt_style=style, is_ready=True, max_read_tokens=99)
    rows, _ = answer_over_endpoint("m", [ready, QUERIES[0], long], "base", how, Calls(tmp_path / "c"))
    closed = prompt_for if style == "plain" else chat_prompt_for
    assert {call.prompt for call in server.log} == {ready.context, long.context, closed(QUERIES[0].question)}
    asked_on = "8443\n\nQuestion: another?"
    assert [row.answer for row in rows] == [asked_on, "8443" if style == "plain" else asked_on, "99"]


def test_what_was_answered_is_not_asked_again(server, tmp_path):
    first = answer_over_endpoint("m", QUERIES, "base", Decoding(), Calls(tmp_path / "c"))
    n_calls = len(server.log)
    assert answer_over_endpoint("m", QUERIES, "base", Decoding(), Calls(tmp_path / "c")) == first
    assert len(server.log) == n_calls


def test_a_call_that_fails_for_good_has_no_answer_but_a_reason(server, tmp_path):
    broken = QUERIES[0].model_copy(update={"query_id": "x", "question": "fault:403?"})
    rows, failed = answer_over_endpoint("m", [*QUERIES, broken], "base", Decoding(),
                                        Calls(tmp_path / "c", max_failed_share=0.5))
    assert [row.query_id for row in rows] == ["Orbit", "Comet", "Atlas"]
    assert [row.item for row in failed] == ["x"] and failed[0].reason
