"""Answers over real HTTP from a loopback server: ordered, cached, truncated and failed calls."""

import pytest

from lib.infer.prompts import GenerationConfig, chat_prompt_for
from lib.llm.calls import Calls
from lib.tasks.answering import answer_over_endpoint
from tests.llm_server import Server
from tests.rows import query as make_query

COUNTS = {"Orbit": None, "Comet": 1, "fault:length": None}
QUERIES = [
    make_query(query_id=name, question=f"What is the port of {name}?", entity_count=count)
    for name, count in COUNTS.items()
]
LONG = "8443\n\nQuestion: another?"


FLAWED = {  # by question, which names a fault of the server: answer, reason and truncated
    "fault:null-content": ("", "empty", False),
    "fault:refusal": ("I cannot help with that.", "refused", False),
    "fault:length": ("a port of", "cut", True),
    "fault:length in time": ("8443", "", False),
}


def reply(body: dict) -> str:
    """Reply as a model that knows two ports, and continues after one; another is truncated."""
    prompt = body["messages"][-1]["content"]
    if "Orbit" in prompt or "in time" in prompt:
        return LONG
    return "a port of" if "fault" in prompt else f"{body.get('max_tokens')}"


@pytest.fixture
def server(monkeypatch):
    with Server(reply=reply) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "any-key")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


def test_an_endpoint_answers_in_order_with_the_budget_of_each_structure_and_once(server, tmp_path):
    how = GenerationConfig(max_new_tokens_list=77)
    rows, failed = answer_over_endpoint("m", QUERIES, "dapt", how, Calls(tmp_path / "c"))
    assert [(row.query_id, row.arm, row.truncated) for row in rows] == [
        ("Orbit", "dapt", False),
        ("Comet", "dapt", False),
        ("fault:length", "dapt", True),
    ]
    assert [row.answer for row in rows] == ["8443", "77", "a port of"] and not failed
    prompts = [call.prompt for call in server.log]
    assert sorted(prompts) == sorted(chat_prompt_for(query.question) for query in QUERIES)
    again = answer_over_endpoint("m", QUERIES, "dapt", how, Calls(tmp_path / "c"))
    assert again == (rows, failed) and len(server.log) == len(prompts), "the cache answers"


def test_a_ready_made_prompt_is_sent_unchanged_and_its_reply_is_complete(server, tmp_path):
    text = "The text of Orbit.\n<answer>\n"
    ready = QUERIES[0].model_copy(update={"query_id": "ready", "context": text})
    other = ready.model_copy(update={"query_id": "other", "context": "A text."})
    how = GenerationConfig(max_new_tokens_in_context=99, temperature=0.05)
    rows, _ = answer_over_endpoint(
        "m", [ready, QUERIES[0], other], "base", how, Calls(tmp_path / "c")
    )
    asked = chat_prompt_for(QUERIES[0].question)
    assert {call.prompt for call in server.log} == {text, "A text.", asked}
    assert [row.answer for row in rows] == [LONG, "8443", "99"]
    assert {call.stop and (*call.stop, call.prompt) for call in server.log} == {
        None,
        ("\nQuestion:", asked),
    }
    assert {call.temperature for call in server.log} == {0.05}


def test_replies_that_are_no_whole_answers_are_told_apart(server, tmp_path):
    queries = [
        QUERIES[0].model_copy(update={"query_id": name, "question": name}) for name in FLAWED
    ]
    calls = Calls(tmp_path / "c")
    rows, failed = answer_over_endpoint(
        "m", queries, "base", GenerationConfig(max_new_tokens=10), calls
    )
    assert {
        row.query_id: (row.answer, row.incomplete_reason, row.truncated) for row in rows
    } == FLAWED and not failed
    assert all(part in str(calls) for part in ("1 empty", "2 cut", "1 refused"))
