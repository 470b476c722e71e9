"""Batches over real HTTP: direct calls' replies at half the price; nothing is paid for twice."""

import re
import signal
from contextlib import closing
from itertools import product
from pathlib import Path

import pytest

from lib.core.store import Stopped
from lib.llm.cache import Cache
from tests.llm.conftest import n_paid, questions, right, said, started
from tests.llm_server import Answer, Server, error

MODEL, TWELVE = "gpt-4o-mini", questions(12)
WORST = 4096 * 0.6e-6 / 2  # dollars of a reply of full length in a batch
BATCH = {"model": MODEL, "mode": "batch"}


def times_paid(server: Server) -> set[int]:
    """Return how often a prompt was answered, in a batch or directly."""
    return {*n_paid(server).values()}


def n_direct(server: Server) -> int:
    return sum((call.method, call.path) == ("POST", "/v1/chat/completions") for call in server.log)


def n_batches(path: Path) -> int:
    with closing(Cache(path / "llm.sqlite")) as cache:
        return len(cache.batches())


def test_a_batch_gives_the_replies_of_direct_calls_at_half_the_price(ask):
    with Server() as server:
        replies, calls = ask(server, questions(41) * 2, **BATCH)
        assert said(replies) == right(questions(41)) * 2
        assert len(server.batches.batches) == n_direct(server) == 1 and times_paid(server) == {1}
        halved = calls.tally.usd
        ask(server, questions(41), **BATCH)
        assert len(server.batches.batches) == 1
        _, calls = ask(server, [f"{one}?" for one in questions(41)], MODEL)
        assert calls.tally.new == 41
        assert halved == pytest.approx(calls.tally.usd * (1 + 40 / 2) / 41, rel=0.05)


PLACES = [
    ("POST", "/v1/files"),
    ("POST", "/v1/batches"),
    ("GET", "/v1/batches/N"),
    ("GET", "/v1/files/N/content"),
]


def test_every_kind_of_odd_line_reads_as_the_direct_call_does(ask, tmp_path):
    once = ("500", "error-200", "429")
    always = ("400", "null-content", "length", "content-filter", "refusal", "no-usage", "parts")
    prompts = [*questions(20), *(f"fault:{one}" for one in always)]
    prompts += [f"fault:{one} once" for one in once]
    with Server() as server:
        wanted, _ = ask(server, prompts, MODEL)
        (tmp_path / "llm.sqlite").unlink()
    with Server() as server:
        for place in (PLACES[0], *PLACES[2:]):
            server.odd[place] = error(500, "later")
        replies, calls = ask(server, prompts, **BATCH)
        assert said(replies) == said(wanted) and calls.tally.failed == 1 and not server.odd


FORGETTING = """
import os
keep = Cache.keep_batch
Cache.keep_batch = lambda self, one: keep(self, one) if one.keys else os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize(("place", "when"), [(None, ""), *product(PLACES, ("before", "after"))])
def test_a_run_killed_at_any_stage_pays_nothing_twice(tmp_path, at, ask, place, when):
    with Server() as server:
        at(server)
        if place:
            server.odd[place] = when
        with started(tmp_path, TWELVE, before=FORGETTING * (not place), **BATCH) as child:
            if place:
                assert server.reached.wait(60), child.stderr.read()
                child.kill()
            assert child.wait(60) == -signal.SIGKILL
        server.odd.clear()
        if place in PLACES[2:]:
            ask(server, TWELVE[:6], **BATCH)  # the other replies are kept
        replies, _ = ask(server, TWELVE, **BATCH, max_cost_usd=0.02)
        assert said(replies) == right(TWELVE)
        assert times_paid(server) == {1} and len(server.batches.batches) == 1
        assert not place or not n_batches(tmp_path)


def test_two_processes_send_one_batch(tmp_path, at):
    with Server() as server:
        at(server)
        both = [started(tmp_path, TWELVE, **BATCH) for _ in range(2)]
        assert all(one.communicate(timeout=120)[0].endswith(" 0\n") for one in both)
        assert times_paid(server) == {1} and len(server.batches.batches) == 1


def test_a_direct_run_does_not_pay_for_what_a_batch_still_works_on(tmp_path, at, ask):
    with Server(polls=3) as server:
        at(server)
        server.odd["POST", "/v1/batches"] = "after"
        with started(tmp_path, TWELVE, **BATCH) as child:
            assert server.reached.wait(60)
            child.kill()
        server.odd.clear()
        for _ in range(2):
            with pytest.raises(Stopped, match='replies .* batch_1: set mode to "batch"'):
                ask(server, TWELVE, MODEL)
        ask(server, TWELVE, MODEL)  # the third look finds it done
        assert times_paid(server) == {1} and n_direct(server) == 1


@pytest.mark.parametrize("ends", ["failed", "expired"])
def test_what_a_batch_leaves_unanswered_is_sent_directly(ask, capfd, ends):
    with Server(ends=ends) as server:
        replies, calls = ask(server, TWELVE, **BATCH)
        assert said(replies) == right(TWELVE) and times_paid(server) == {1}
        assert (calls.tally.new, calls.tally.failed) == (12, 0)
        assert f"({ends}): " in capfd.readouterr().out


def spoiled(server: Server, change) -> None:
    """Change each line of what a batch brings: line -> line or None."""
    route = server.batches.route

    def other(call, body):
        answer = route(call, body)
        if call.path.endswith("/content"):
            lines = [change(line) for line in answer.body.splitlines()]
            answer.body = b"\n".join(line for line in lines if line is not None)
        return answer

    server.batches.route = other


def whole(line: bytes) -> bytes:
    return line.replace(b'"reply ', b'"reply \xff')  # one bad byte costs no line


@pytest.mark.parametrize("lost", [None, b'{"custom_id": "cut', b"<html>"])
def test_a_batch_whose_lines_are_missing_is_kept_until_they_are_there_or_given_up(ask, lost):
    is_whole = []
    with Server() as server:
        spoiled(server, lambda line: whole(line) if is_whole or hash(line) % 2 else lost)
        for _ in range(2):
            with pytest.raises(Stopped, match='neither a reply nor an error: .* mode to "direct"'):
                ask(server, questions(30), **BATCH)
        is_whole.append(1)
        ask(server, questions(30), **BATCH)
        assert times_paid(server) == {1} and len(server.batches.batches) == 1


DOUBLE = rb'{"error": {"message": "no"}, "custom_id": "\1", "again": {"custom_id": "\2"}}'
SPOILS = {
    "an error line is missing": lambda line: None if b"cannot be used" in line else line,
    "a line has two ids": lambda line: re.sub(rb'.*id": "(\w+)(\w)".* be used.*', DOUBLE, line),
}


@pytest.mark.parametrize("spoil", SPOILS)
def test_a_batch_is_kept_until_each_of_its_errors_is_named(ask, tmp_path, spoil):
    with Server() as server:
        spoiled(server, SPOILS[spoil])
        with pytest.raises(Stopped, match="1 of 9 lines .* neither a reply nor an error"):
            ask(server, [*questions(9), "fault:400"], **BATCH)
        assert n_batches(tmp_path) == n_direct(server) == 1


def test_an_error_after_the_reply_to_the_same_request_loses_nothing(ask):
    with Server() as server:
        again = rb'\g<0>\n{"error": {"message": "no"}, "custom_id": "\1"}'
        spoiled(server, lambda line: re.sub(rb'.*"custom_id": "(\w+)".*', again, line))
        _, calls = ask(server, TWELVE, **BATCH)
        assert times_paid(server) == {1} and n_direct(server) == 1 and not calls.tally.lost


def test_a_batch_whose_prompts_are_cut_silently_stops_the_stage_and_they_are_sent_again(ask):
    usage = {"prompt_tokens": 250, "completion_tokens": 12}
    with Server(reply=lambda body: {"usage": usage}) as server:
        prompts = [*questions(18), "some words " * 4000]
        with pytest.raises(Stopped, match="read only a part of 1 prompts"):
            ask(server, prompts, **BATCH)
        usage["prompt_tokens"] = 8050
        for _ in range(2):
            ask(server, prompts, **BATCH)
            assert n_direct(server) == 2 and times_paid(server) == {1, 2}


def test_a_batch_that_the_endpoint_forgot_is_given_up_only_in_mode_direct(ask):
    with Server(polls=10**6) as server:
        server.odd["GET", "/v1/batches/N"] = server.batches.batches.clear
        with pytest.raises(Stopped, match="unknown"):
            ask(server, TWELVE, **BATCH)
        _, calls = ask(server, TWELVE, MODEL)
        assert calls.tally.lost == 11 and times_paid(server) == {1}
        assert calls.tally.usd > 11 * WORST


def test_after_a_cancelled_batch_nothing_is_sent_at_the_full_price_unasked(ask):
    with Server(ends="cancelled") as server:
        with pytest.raises(Stopped, match='cancelled.* in another; set mode to "direct"'):
            ask(server, TWELVE, **BATCH)
        server.batches.ends = "completed"
        ask(server, TWELVE, **BATCH)
        assert n_direct(server) == 2 and times_paid(server) == {1}


@pytest.mark.parametrize(
    ("rules", "settings", "most"),
    [({"queue_tokens": 4 * 4096}, {}, 4), ({}, {"max_cost_usd": 5.5 * WORST}, 5)],
)
def test_batches_are_as_small_as_the_queue_and_the_money_demand(ask, rules, settings, most):
    with Server(**rules) as server:
        replies, calls = ask(server, questions(23), **BATCH, **settings)
        assert said(replies) == right(questions(23))
        done = [one for one in server.batches.batches.values() if one["status"] == "completed"]
        sizes = [len(batch["rows"]) for batch in done]
        assert sum(sizes) == 22 and max(sizes) <= most and times_paid(server) == {1}
        assert calls.tally.usd < 5.5 * WORST


UNSURE = [
    ("POST", "/v1/files", error(404, "Not Found")),
    ("POST", "/v1/batches", error(503, "overloaded")),
    ("POST", "/v1/batches", "dropped"),
    ("GET", "/v1/batches", Answer("<html>sign in</html>", 200, {"content-type": "text/html"})),
]


@pytest.mark.parametrize(("method", "path", "answer"), UNSURE)
def test_a_run_that_cannot_know_its_batch_stops_and_the_next_pays_nothing_twice(
    ask, tmp_path, method, path, answer
):
    with Server() as server:
        server.odd["POST", "/v1/batches"] = "dropped"
        server.odd[method, path] = answer
        while server.odd:
            with pytest.raises(Stopped, match='run the same .* set mode to "direct"'):
                ask(server, TWELVE, **BATCH)
        ask(server, TWELVE, **BATCH, max_cost_usd=0.02)
        assert times_paid(server) == {1} and len(server.batches.batches) == 1
        assert not n_batches(tmp_path)
