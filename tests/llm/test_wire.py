"""The reader of the wire: what each kind of response means, without a server."""

import json
import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lib.core.store import REPOSITORY
from lib.llm.request import Reply, Request
from lib.llm.wire import Fault, is_shortened, read_wire

CASES = yaml.safe_load((REPOSITORY / "tests/data/wire.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("raw", "text", "reason", "kind"), CASES["replies"])
def test_a_text_is_whole_or_has_its_reason_and_kind(raw, text, reason, kind):
    reply = read_wire(200, raw)
    assert isinstance(reply, Reply) and (reply.text, reply.kind) == (text, kind)
    assert re.match(reason, reply.reason) and bool(reason) == bool(reply.reason)


@pytest.mark.parametrize(
    ("status", "raw", "reason", "stops"),
    [*CASES["faults"], (200, "[" * 100_000, "an unreadable", "")],
)
def test_what_is_no_reply_is_named_and_says_what_to_do(status, raw, reason, stops):
    fault = read_wire(status, raw)
    assert isinstance(fault, Fault) and re.match(reason, fault.reason), fault
    assert re.search(stops, fault.stops) and bool(stops) == bool(fault.stops), fault
    assert (fault.status < 300) == (status == 206 or "unreadable" in reason)


@pytest.mark.parametrize(("message", "refused"), CASES["refused"])
def test_a_refused_parameter_is_named(message, refused):
    fault = read_wire(400, json.dumps({"error": {"message": message}, "detail": message}))
    assert fault.refuses == refused


def four_words(usage: object) -> str:
    choice = {"finish_reason": "stop", "message": {"content": "a b c d"}}
    return json.dumps({"choices": [choice], "usage": usage})


@pytest.mark.parametrize(("usage", "counts"), CASES["usage"])
def test_tokens_are_the_most_of_what_is_said_and_of_what_the_text_has(usage, counts):
    reply = read_wire(200, four_words(usage))
    assert [reply.n_in, reply.n_out] == counts


def test_a_reply_that_stops_at_its_limit_is_cut_and_a_prompt_that_was_cut_is_noticed():
    raw = four_words({"prompt_tokens": 2050, "completion_tokens": 50})
    assert read_wire(200, raw, 50).kind == "cut"
    whole = read_wire(200, raw, 51)
    assert not whole.reason and not is_shortened(whole, Request.ask("x"))
    assert is_shortened(whole, Request.ask("some words of a long prompt " * 1300))


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
    read = read_wire(status, json.dumps(value))
    text = read.text if isinstance(read, Reply) else read.reason
    text.encode()
    assert read.reason or text.strip()
