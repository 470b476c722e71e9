"""The reader of the wire: what each kind of response means, without a server."""

import json
import re
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.llm.request import Reply, Request
from lib.llm.wire import Fault, is_shortened, read_stored, read_wire


def body(content: object = "yes", finish: object = "stop", **more: object) -> str:
    message = {"role": "assistant", "content": content} | more.pop("message", {})
    return json.dumps(
        {"choices": [{"index": 0, "finish_reason": finish, "message": message}]} | more
    )


CUT, FILTER, BROKEN = "cut at the length", "content filter", "ended by an error of the endpoint"
CHANNEL = "<|channel|>analysis<|message|>no?<|end|><|start|>assistant<|channel|>final<|message|>"
LIMIT = "status_code: 1002, rate limit"
# A body with status 200: text, the beginning of the reason, and its kind.
REPLIES = [
    (body(), "yes", "", ""),
    (body([{"type": "text", "text": "ye"}, {"type": "text", "text": "s"}]), "yes", "", ""),
    (body(["ye", "s"]), "yes", "", ""),
    (body({"type": "text", "text": "yes"}), "yes", "", ""),
    (body({"questions": []}), '{"questions": []}', "", ""),
    (body([{"type": "thinking", "thinking": [{"text": "no"}]}, "yes"]), "yes", "", ""),
    (body([{"type": "reasoning", "text": "no"}, {"type": "text", "text": "yes"}]), "yes", "", ""),
    (json.dumps({"choices": [{"text": "yes", "finish_reason": "stop"}]}), "yes", "", ""),
    (body("yes", "completed"), "yes", "", ""),
    (body("yes", "END-TURN"), "yes", "", ""),
    (body("half", "length"), "half", CUT, "cut"),
    (body("half", "MAX_TOKENS"), "half", CUT, "cut"),
    (body("half", "model_length"), "half", CUT, "cut"),
    (body("half", None), "half", "no finish reason", "cut"),
    (body(None, "length", message={"reasoning": "hm"}), "", CUT, "cut"),
    (body(None, "content_filter"), "", f"stopped by the endpoint's {FILTER}", "filtered"),
    (body("", "sensitive"), "", f"stopped by the endpoint's {FILTER}", "filtered"),
    (body("half", "insufficient_system_resource"), "half", BROKEN, "unreadable"),
    (body("", "abort"), "", BROKEN, "unreadable"),
    (body("half", "timeout"), "half", BROKEN, "unreadable"),
    (body(None, "tool_calls"), "", "ended otherwise: tool_calls", "other"),
    (body("yes", "\x1b[2J"), "yes", r"ended otherwise: '\\x1b'\[2j", "other"),
    (body(None), "", "an empty reply$", "empty"),
    (body(" \n"), " \n", "an empty reply$", "empty"),
    (body("", message={"reasoning_content": "Hm."}), "", "an empty reply after", "empty"),
    (body("", message={"reasoning_details": [{}]}), "", "an empty reply after", "empty"),
    (body("", usage={"details": {"reasoning_tokens": 9}}), "", "an empty reply after", "empty"),
    (body(None, message={"refusal": "I cannot."}), "I cannot.", "refused by", "refused"),
    (body([{"type": "refusal", "refusal": "No."}]), "No.", "refused by", "refused"),
    (body("<think>no? yes!</think>\n\nyes"), "yes", "", ""),
    (body("no? yes!</think>yes"), "yes", "", ""),
    (body("yes <think>or no</think>"), "yes <think>or no</think>", "", ""),
    (body("<think>no? yes"), "", "an empty reply after", "empty"),
    (body("<think>no?", "length"), "", CUT, "cut"),
    (body("<THINKING>no?</Thinking> yes"), "yes", "", ""),
    (body(f"{CHANNEL}yes<|return|>"), "yes", "", ""),
    (body("\ud83d!"), "?!", "", ""),
    ("\ufeff" + body(), "yes", "", ""),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "text", "reason", "kind"), REPLIES)
def test_a_text_is_whole_or_has_its_reason_and_kind(raw, text, reason, kind):
    reply = read_wire(200, {}, raw)
    assert isinstance(reply, Reply) and (reply.text, reply.kind) == (text, kind)
    assert re.match(reason, reply.reason) and bool(reason) == bool(reply.reason)


def error(message: str, **more: object) -> str:
    return json.dumps({"error": {"message": message, **more}})


KEY, MODEL, MONEY = "refuses the key", "does not have the model", "no money left"
WINDOW = "This model's maximum context length is 2048 tokens"
# Status, headers and body: the beginning of the reason, tries, what stops, seconds of a wait.
FAULTS = [
    (200, {}, "", "an unreadable reply with status 200: no JSON", 3, "", 0),
    (200, {}, "<html>Sign in</html>", "an unreadable .* a web page", 3, "", 0),
    (200, {}, 'data: {"choices": []}\n', "an unreadable .* an event stream", 3, "", 0),
    (200, {}, body()[:-9], "an unreadable .* JSON that is cut off", 3, "", 0),
    (200, {}, "[" * 100_000, "an unreadable", 3, "", 0),
    (200, {}, "null", "an unreadable", 3, "", 0),
    (200, {}, '{"choices": null}', "an unreadable", 3, "", 0),
    (200, {}, '{"choices": [null]}', "an unreadable", 3, "", 0),
    (200, {}, '{"choices": [{"finish_reason": "stop"}]}', "an unreadable", 3, "", 0),
    (206, {}, body("half"), "status 206", 3, "", 0),
    (200, {}, error("upstream", code=429), "status 429: upstream", 8, "", 0),
    (200, {}, error("upstream", code="503"), "status 503: upstream", 8, "", 0),
    (200, {}, error("upstream", code=400), "status 400: upstream", 1, "", 0),
    (200, {}, error("upstream", code=402), "status 402", 1, MONEY, 0),
    (200, {}, error("upstream", code=401), "status 401$", 1, KEY, 0),
    (200, {}, error("upstream", type="invalid_request_error"), "status 400", 1, "", 0),
    (200, {}, '{"error": "model overloaded"}', "status 503: model overloaded", 8, "", 0),
    (200, {}, '{"error": "?"}', "status 500", 8, "", 0),
    (200, {}, '{"detail": "Not authenticated"}', "status 401$", 1, KEY, 0),
    (200, {}, '{"choices": null, "base_resp": {"status_msg": "rate limit"}}', "status", 8, "", 0),
    (200, {}, '{"code": "Throttling.Rate", "message": "later"}', "status 429: later", 8, "", 0),
    (200, {}, '[{"error": {"code": 503, "message": "busy"}}]', "status 503: busy", 8, "", 0),
    (400, {}, '[{"error": {"message": "API key not valid."}}]', "status 401$", 1, KEY, 0),
    (400, {}, error("m", code="content_filter"), f"stopped by .*{FILTER}: m", 1, "", 0),
    (400, {}, error(WINDOW), "status 400: This model", 1, "", 0),
    (400, {}, '{"detail": "Server is pinned to \'a\'"}', "status 404", 1, MODEL, 0),
    (422, {}, '{"detail": [{"msg": "Unexpected: foo"}]}', "status 422: Unexpected: foo", 1, "", 0),
    (500, {}, error("exceeds the available context size"), "status 400", 1, "", 0),
    (413, {}, "<html>", "status 413: a web page", 1, "", 0),
    (424, {}, '{"detail": "loading"}', "status 424: loading", 8, "", 0),
    (499, {}, "closed \x1b[2J", r"status 499: closed '\\x1b'\[2J", 8, "", 0),
    (504, {}, "upstream timeout", "status 504: upstream timeout", 8, "", 0),
    (307, {}, "", "status 307", 1, "redirects to another address", 0),
    (403, {}, error("no"), "status 403", 1, "forbids this key", 0),
    (429, {}, error("quota", code="insufficient_quota"), "status 402", 1, MONEY, 0),
    (429, {}, error("later"), "status 429", 60, "", 0),
    (429, {"retry-after": "2"}, "", "status 429", 60, "", 2),
    (429, {"retry-after": "soon"}, "", "status 429", 60, "", 0),
    (429, {"retry-after": "nan"}, "", "status 429", 60, "", 0),
    (429, {"retry-after": "-5"}, "", "status 429", 60, "", 0),
    (429, {"retry-after-ms": "50", "retry-after": "9"}, "", "status 429", 60, "", 0.05),
    (429, {}, '[{"error": {"details": [{"retryDelay": "2s"}]}}]', "status 429", 60, "", 2),
    (503, {"retry-after": "5400"}, "", "status 503", 1, "a wait of 1.5 hours", 5400),
    (429, {"retry-after": "Fri, 01 Jan 2999 00:00:00 GMT"}, "", "", 1, "a wait of .* hours", 0),
    (400, {"retry-after": "1e9"}, "", "status 400", 1, "", 0),
    (429, {"date": formatdate(8e8, usegmt=True), "retry-after": formatdate(8e8 + 2, usegmt=True)},
     "", "status 429", 60, "", 2),
]  # fmt: skip


@pytest.mark.parametrize(("status", "headers", "raw", "reason", "tries", "stops", "wait"), FAULTS)
def test_what_is_no_reply_is_named_and_says_what_to_do(
    status, headers, raw, reason, tries, stops, wait
):
    fault = read_wire(status, headers, raw)
    assert isinstance(fault, Fault) and re.match(reason, fault.reason), fault
    assert fault.tries == tries and re.search(stops, fault.stops), fault
    assert bool(stops) == bool(fault.stops) and (not wait or fault.wait == wait), fault
    assert fault.is_maybe_paid == (status == 206 or "unreadable" in reason)


@pytest.mark.parametrize(
    ("message", "refused"),
    [
        ("Unsupported parameter: 'max_tokens' is not supported with this model.", "max_tokens"),
        ("Unrecognized argument: max_completion_tokens", "max_completion_tokens"),
        ("temperature does not support 0.0 with this model", "temperature"),
        ("`temperature` must be strictly positive", "temperature"),
        ("'max_tokens' is too large: 4096. This model's maximum context length is 2048", ""),
        ("bad request", ""),
    ],
)
def test_a_refused_parameter_is_named_and_one_limit_is_always_sent(message, refused):
    fault = read_wire(400, {}, error(message))
    sent = dict.fromkeys(("temperature", "max_completion_tokens", "max_tokens"))
    assert fault.unsupported(sent) == refused
    assert fault.unsupported({refused: 1} if refused != "temperature" else {}) == ""


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 2}, (10, 4)),  # four words are four tokens
        ({"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 5012}, (10, 5002)),
        ({"total_tokens": 5012}, (None, 5012)),
        ({"prompt_tokens": "10", "completion_tokens": "9"}, (10, 9)),
        ({"prompt_tokens": 0, "completion_tokens": 0}, (None, 4)),
        ({"prompt_tokens": -5, "completion_tokens": 2**63}, (None, None)),
        ({"prompt_tokens": 10**11, "completion_tokens": [1]}, (None, None)),
        ([1], (None, None)),
        (None, (None, None)),
    ],
)
def test_tokens_are_the_most_of_what_is_said_and_of_what_the_text_has(usage, counts):
    assert read_wire(200, {}, body("a b c d", usage=usage)).usage == counts
    raw = body("a b c d", usage={"prompt_tokens": 7}).replace("7", "7" * 5000)
    assert read_wire(200, {}, raw).usage == (None, None)


def test_a_reply_that_stops_at_its_limit_is_cut_and_a_prompt_that_was_cut_is_noticed():
    raw = body("a b", usage={"prompt_tokens": 2050, "completion_tokens": 50})
    assert read_stored(raw, Request.ask("x", max_tokens=50)).kind == "cut"
    whole = read_stored(raw, Request.ask("x", max_tokens=51))
    assert not whole.reason and not is_shortened(whole, Request.ask("x"))
    assert is_shortened(whole, Request.ask("some words of a long prompt " * 1300))
    assert read_stored("<html>", Request.ask("x")).kind == "unreadable"


NAMES = st.sampled_from(
    "choices message content finish_reason usage refusal text error code detail type data".split()
)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
        max_leaves=12,
    ),
    st.sampled_from([200, 206, 307, 400, 429, 500]),
)
def test_any_json_is_read_and_nothing_raises(value, status):
    read = read_wire(status, {}, json.dumps(value))
    text = read.text if isinstance(read, Reply) else read.reason
    text.encode()
    assert read.reason or text.strip()
