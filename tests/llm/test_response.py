"""How replies are read, and what a failed call means."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.core.store import BadReply
from lib.llm.direct import fault_of_reply
from lib.llm.request import Endpoint, read_response

AT = Endpoint("sk-secret-key-1234", "http://models.example.internal:8000/v1")


def body(content: object = "yes", finish: object = "stop", **more: object) -> str:
    message = {"role": "assistant", "content": content} | more.pop("message", {})
    choice = {"index": 0, "finish_reason": finish, "message": message}
    return json.dumps({"choices": [choice], **more})


@pytest.mark.parametrize(
    ("raw", "text", "reason"),
    [
        (body(), "yes", ""),
        (body([{"type": "text", "text": "ye"}, {"type": "text", "text": "s"}]), "yes", ""),
        (body("half", "length"), "half", "cut at the length limit"),
        (body("", "content_filter"), "", "content filter"),
        (body(None, "content_filter"), "", "content filter"),
        (body(None), "", "empty"),
        (body(" \n"), " \n", "empty"),
        (body(None, message={"refusal": "I cannot."}), "I cannot.", "refused"),
        (body("<think>no? yes!</think>\n\nyes"), "yes", ""),
        (body("no? yes!</think>yes"), "yes", ""),
        (body("yes <think>or no</think>"), "yes <think>or no</think>", ""),
        (body("<think>no? yes"), "", "empty"),
        (body("<think>no?", "length"), "", "cut at the length"),
        (body("<THINK>no?</THINK> yes"), "yes", ""),
        (body("<thinking>no?</thinking>yes"), "yes", ""),
        (body("no?</Thinking>\nyes"), "yes", ""),
        (body("<|channel|>analysis<|message|>no?"), "", "empty"),
        (
            body(
                "<|channel|>analysis<|message|>no?<|end|><|start|>assistant<|channel|>final<|message|>yes"
                "<|return|>"
            ),
            "yes",
            "",
        ),
        (body("yes", None), "yes", "no finish reason"),
        (body(None, "tool_calls"), "", "tool_calls"),
        (body("\ud83d!"), "?!", ""),
    ],
)
def test_text_is_complete_or_has_its_reason(raw, text, reason):
    response = read_response(raw)
    assert response.text == text
    assert reason in response.reason and bool(reason) == bool(response.reason)


@pytest.mark.parametrize(
    "raw",
    [
        "",
        " ",
        "<html><body>Bad gateway</body></html>",
        "null",
        "[]",
        '"yes"',
        "7",
        "{}",
        "[" * 100_000,
        '{"choices": [',
        '{"choices": []}',
        '{"choices": null}',
        '{"choices": [null]}',
        '{"choices": [{"finish_reason": "stop"}]}',
        '{"error": {"message": "overloaded"}}',
    ],
)
def test_a_body_that_is_not_a_completion_is_never_taken_for_a_text(raw):
    with pytest.raises(BadReply):
        read_response(raw)


NAMES = st.sampled_from(
    ["choices", "message", "content", "finish_reason", "usage", "refusal", "text"]
)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
        max_leaves=12,
    )
)
def test_any_json_is_read_or_refused(value):
    try:
        response = read_response(json.dumps(value))
    except BadReply:
        return
    response.text.encode()
    assert response.reason or response.text.strip()


def fault(status: int, error: object = None, headers: dict | None = None, **sent: object):
    raw = json.dumps({"error": error or {}})
    return fault_of_reply(status, raw, headers or {}, "gpt-x", AT, sent)


@pytest.mark.parametrize(
    ("headers", "low", "high"),
    [
        ({}, 0, 0),
        ({"retry-after": "2"}, 2, 2),
        ({"retry-after": "soon"}, 0, 0),
        ({"retry-after-ms": "50", "retry-after": "9"}, 0.05, 0.05),
        ({"retry-after": "1.5"}, 1.5, 1.5),
    ],
)
def test_wait_that_the_endpoint_asks_for(headers, low, high):
    got = fault(429, headers=headers)
    assert low <= got.wait <= high and got.tries > 1
    assert got.pause(1) >= got.wait
    assert "1.5 hours" in fault(429, headers={"retry-after": "5400"}).stops


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            {
                "message": "Unsupported parameter: 'max_tokens' is not supported with this model.",
                "param": "max_tokens",
            },
            "max_tokens",
        ),
        (
            {"message": "Unrecognized request argument supplied: max_completion_tokens"},
            "max_completion_tokens",
        ),
        ({"message": "temperature does not support 0.0 with this model"}, "temperature"),
        ({"message": "maximum context length is 8192 tokens, reduce max_tokens"}, ""),
        ({"message": "bad request"}, ""),
    ],
)
def test_parameter_that_the_endpoint_refuses_is_named(error, expected):
    got = fault(400, error, max_tokens=1, max_completion_tokens=1, temperature=0.0)
    assert got.unsupported == expected
    assert fault(400, error).unsupported == ""
