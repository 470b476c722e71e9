"""Every fault of tests/llm_server.py: nothing is lost or misread, and no secret is written."""

import gzip
from collections import Counter
from collections.abc import Sequence
from contextlib import closing

import pytest

from lib.core.store import Stopped
from lib.llm.cache import Cache
from lib.llm.request import Request
from tests.llm.conftest import KEY, questions, right, said
from tests.llm_server import (
    FINAL,
    HARMLESS,
    PARAMETERS,
    PASSING,
    STOPPING,
    Answer,
    Server,
)

STOPS = {
    "401": "OPENAI_API_KEY",
    "404": "does not have the model:",
    "429-quota": "add credit",
    "429-wait": "run the same command later",
    "503": "too busy",
}


def mixed(faults: Sequence[str]) -> list[str]:
    """Return prompts that request a fault, each twice, alternating with harmless ones."""
    return [
        prompt
        for number in range(2)
        for fault in faults
        for prompt in (f"{number} fault:{fault}", f"{number} next to {fault.split()[0]}")
    ]


def test_faults_that_pass_are_retried_and_every_row_has_its_own_text(ask, monkeypatch):
    prompts = mixed([*HARMLESS, *(f"{fault} once" for fault in PASSING)])
    with Server() as server:
        monkeypatch.setattr("lib.llm.client.TIMEOUT_SECONDS", 4.0)
        replies, calls = ask(server, prompts)
        assert said(replies) == right(prompts)
        assert (calls.tally.new, calls.tally.failed) == (len(prompts), 0)
        asked = Counter(call.prompt for call in server.log)
        assert all(asked[prompt] >= 2 for prompt in prompts if "once" in prompt)
        read = ("", *HARMLESS)
        paid = [call.prompt for call in server.log if call.status == 200 and call.fault in read]
        assert Counter(paid) == Counter(prompts)  # no readable reply was asked for again


@pytest.mark.parametrize("fault", ["html", "broken"])
def test_what_is_no_completion_is_asked_for_thrice_and_counted_as_paid(ask, fault):
    with Server() as server:
        (reply,), calls = ask(server, [f"fault:{fault}"], "gpt-4o-mini", max_failed_share=1)
        assert "unreadable" in reply.reason and len(server.log) == calls.tally.lost == 3
        assert calls.tally.usd == pytest.approx(3 * 4096 * 0.6e-6, rel=0.01)
        with pytest.raises(Stopped, match="1 of 1 calls failed"):
            ask(server, [f"fault:{fault}"], "gpt-4o-mini")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1"])
def test_a_compressed_reply_is_read_by_what_it_says_before_what_its_header_says(ask, encoding):
    body = '{"choices": [{"text": "café", "finish_reason": "stop"}]}'.encode(encoding)
    headers = {"content-type": "application/json; charset=latin-1", "content-encoding": "gzip"}
    packed = Answer(gzip.compress(body), 200, headers)
    with Server(reply=lambda body: packed) as server:
        (reply,), _ = ask(server, ["one"])
        assert (reply.text, reply.reason) == ("café", "")


def test_a_reply_that_is_too_long_is_cut_off_and_is_none(ask, monkeypatch):
    monkeypatch.setattr("lib.llm.client._MOST_BYTES", 10**6)
    with Server(reply=lambda body: "word " * 10**6) as server:
        (reply,), _ = ask(server, ["one"], max_failed_share=1)
        assert "unreadable" in reply.reason


def test_a_key_of_eight_characters_is_in_no_message(ask, monkeypatch):
    monkeypatch.setattr("tests.llm.conftest.KEY", "key-four")
    with Server() as server:
        (reply,), _ = ask(server, ["fault:400-echo"], max_failed_share=1)
        assert "refused Authorization: Bearer [key] at [endpoint]" in reply.reason


@pytest.mark.parametrize("fault", PARAMETERS)
def test_a_parameter_that_the_endpoint_refuses_is_left_out_of_all_later_calls(ask, fault, capfd):
    with Server(faults=lambda number, body: fault) as server:
        requests = [Request.ask(one, shape="grade") for one in questions(30)]
        replies, calls = ask(server, requests, concurrency=3, json_schema=True)
        assert said(replies) == right(questions(30)) and calls.tally.failed == 0
        assert sum(call.status == 400 for call in server.log) <= 3
        assert capfd.readouterr().out.count(f"the endpoint refuses {fault[4:]}") == 1


@pytest.mark.parametrize(("fault", "says"), STOPS.items())
def test_what_would_fail_every_call_stops_the_run_at_the_first_replies(
    ask, monkeypatch, fault, says
):
    monkeypatch.setattr("lib.llm.client.MOST_TRIES", 0)
    with Server(latency=0.05, faults=lambda number, body: fault) as server:
        with pytest.raises(Stopped, match=says) as stopped:
            ask(server, questions(100), concurrency=4)
        assert len(server.log) <= 4 and KEY[-4:] not in str(stopped.value)


def test_a_redirect_to_another_host_is_not_followed_and_the_key_stays_here(ask):
    with Server() as other:
        elsewhere = Answer(b"", 307, {"Location": f"{other.url}/chat/completions"})
        with Server(reply=lambda body: elsewhere) as server:
            with pytest.raises(Stopped, match="redirects to another address"):
                ask(server, ["one"])
            assert len(server.log) == 1 and not other.log


@pytest.mark.parametrize(("fault", "seconds"), [("429", 1.0), ("429-ms", 0.15)])
def test_no_call_comes_back_before_the_time_that_the_endpoint_names(ask, fault, seconds):
    with Server(faults=lambda number, body: fault if number == 1 else None) as server:
        ask(server, questions(2), concurrency=1)
        first, second, *_ = server.log
        assert first.status == 429 and second.time - first.time >= seconds


@pytest.mark.parametrize(
    ("fault", "failing"),  # a gateway filters one prompt with 403
    [("403", range(35)), ("400", range(20, 55)), ("400", range(0, 490, 14))],
)
def test_a_stage_with_a_few_permanent_failures_completes_however_often_it_is_run(
    ask, fault, failing
):
    prompts = [f"question {n}" + f" fault:{fault}" * (n in failing) for n in range(500)]
    prompts.insert(0, "the first is served")

    with Server() as server:
        ask(server, prompts[:1])
        for n_sent in (500, 35):
            n_before = len(server.log)
            _, calls = ask(server, prompts, max_failed_share=0.07)
            assert (calls.tally.failed, len(server.log) - n_before) == (35, n_sent)


def test_a_stage_in_which_every_call_fails_stops_early(ask):
    with Server(faults=lambda number, body: "400") as server:
        with pytest.raises(Stopped, match="21 of 200 calls failed.*cannot be used"):
            ask(server, questions(200), concurrency=10)
        assert len(server.log) <= 31


def test_calls_that_a_filter_refuses_stop_no_stage_however_small(ask):
    with Server(faults=lambda number, body: "400-filter" if number == 1 else None) as server:
        (first, second), calls = ask(server, ["one", "two"], concurrency=1)
        assert (first.kind, second.reason) == ("filtered", "") and "1 filtered" in str(calls)


def test_a_stage_whose_prompts_are_cut_silently_stops_and_the_next_run_sends_them_again(
    ask, tmp_path
):
    usage = {"prompt_tokens": 2050, "completion_tokens": 12}
    with Server(reply=lambda body: {"usage": usage}) as server:
        prompts = [f"{n} " + "some words " * 4000 for n in range(40)]
        with pytest.raises(Stopped, match="read only a part of 3 prompts"):
            ask(server, prompts, concurrency=1)
        with closing(Cache(tmp_path / "llm.sqlite")) as cache:
            assert len(cache.exported()) == 3, "they are paid for"
        usage["prompt_tokens"] = 8050
        for _ in range(2):  # those three are sent again, once
            _, calls = ask(server, prompts)
            assert len(server.log) == 43 and "; 0 prompts not read whole" in str(calls)


KINDS = {
    "empty": "null-content",
    "refused": "refusal",
    "filtered": "content-filter",
    "cut": "length",
}


@pytest.mark.parametrize(("kind", "fault"), KINDS.items())
def test_a_reply_of_a_kind_in_retry_is_asked_again_until_one_is_whole(ask, kind, fault):
    with Server() as server:
        for retry, n_sent in (([], 2), ([], 2), ([kind], 3), ([kind], 4)):
            _, calls = ask(server, [f"fault:{fault}", "whole"], retry=retry)
            assert len(server.log) == n_sent and f"1 {kind}" in str(calls)
        for retry, n_sent in (([], 5), ([kind], 6), ([kind], 6), ([], 6)):
            (reply,), calls = ask(server, [f"fault:{fault} once"], retry=retry)
            assert len(server.log) == n_sent and reply.kind == calls.tally.kinds.total() * kind


def test_neither_key_nor_address_is_in_anything_that_a_run_writes(
    ask, tmp_path, monkeypatch, capfd, caplog
):
    monkeypatch.setattr("lib.llm.client.TIMEOUT_SECONDS", 4.0)
    caplog.set_level("DEBUG")
    prompts = mixed([*FINAL, *(f"{fault} once" for fault in PASSING)])
    told: list[object] = []
    with Server(reply=lambda body: f"the key is {KEY}") as server:
        for mode in ("direct", "batch"):
            batch = [f"{mode} {fault}" for fault in ("one", "fault:500-echo", "fault:401")]
            for some in (prompts, batch, *([f"fault:{fault}"] for fault in STOPPING)):
                try:
                    told += ask(server, some, max_failed_share=1, mode=mode)
                except Stopped as stopped:
                    told.append(stopped)
        with closing(Cache(tmp_path / "llm.sqlite")) as cache:
            (tmp_path / "replies.jsonl").write_text("\n".join(cache.exported()))
        address = server.url.split("/")[2]
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    written |= {
        "told": repr(told).encode(),
        "printed": f"{capfd.readouterr()}{caplog.text}".encode(),
    }
    assert b"[key]" in written["told"] and b"[key]" in written["replies.jsonl"]
    for secret in (KEY, KEY[:12], KEY[-4:], address):
        assert not [name for name, text in written.items() if secret.encode() in text], secret
