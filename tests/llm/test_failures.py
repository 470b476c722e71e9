"""When failures stop a stage: their share is of all its calls, cached ones included."""

import asyncio
import random
from collections import Counter
from contextlib import closing

import pytest

from lib.core.store import Stopped
from lib.llm.cache import Cache
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Request
from tests.llm_server import Server
from tests.llm_server_faults import Answer


@pytest.mark.parametrize("fault", ["400", "403"])  # a gateway filters one prompt with 403
def test_a_stage_with_a_few_permanent_failures_completes_however_often_it_is_run(
    tmp_path, at, fault
):
    prompts = [f"question {n}" + f" fault:{fault}" * (n % 14 == 0) for n in range(1, 309)]
    random.Random(1).shuffle(prompts)
    prompts.sort(key="question 1".__ne__)  # the first is served
    with Server() as server:
        at(server)
        for _ in range(2):
            calls = Calls(tmp_path / "llm.sqlite", max_failed_share=0.1, concurrency=1)
            replies = complete([Request.ask(prompt) for prompt in prompts], "m", calls)
            assert sum(bool(reply.reason) for reply in replies) == calls.tally.failed == 22
        asked = Counter(call.prompt for call in server.log)
        assert all(asked[prompt] == (2 if "fault" in prompt else 1) for prompt in prompts)


FEW = {
    "at its beginning": range(35),
    "in a cluster": range(20, 55),
    "faster than replies": range(0, 490, 14),
}


@pytest.mark.parametrize("place", FEW)
def test_prompts_that_fail_stop_no_stage_that_may_have_as_many(tmp_path, at, place):
    prompts = [f"question {n}" + " fault:400" * (n in FEW[place]) for n in range(500)]

    class Slow(Server):
        async def _chat(self, call, asked):
            await asyncio.sleep(0.1 * ("fault" not in asked.prompt))
            return await super()._chat(call, asked)

    with Slow() as server:
        at(server)
        for n_sent in (500, 35):
            calls, n_before = Calls(tmp_path / "llm.sqlite", max_failed_share=0.07), len(server.log)
            complete([Request.ask(prompt) for prompt in prompts], "m", calls)
            assert (calls.tally.failed, len(server.log) - n_before) == (35, n_sent)


@pytest.mark.parametrize(
    ("fault", "says"),
    [("400", "21 of 200 calls failed"), ("503", "of the first .* calls failed")],
)
def test_a_stage_in_which_every_call_fails_stops_when_it_cannot_pass_or_nothing_is_served(
    tmp_path, at, monkeypatch, fault, says
):
    monkeypatch.setattr("lib.llm.wire.MOST_TRIES", 2)
    with Server(faults=lambda number, body: fault) as server:
        at(server)
        with pytest.raises(Stopped, match=says):
            complete(
                [Request.ask(f"question {n}") for n in range(200)],
                "m",
                Calls(tmp_path / "llm.sqlite", concurrency=10),
            )
        assert len(server.log) <= 60


def test_a_run_in_which_the_limit_cuts_every_reply_stops_unless_all_may_fail(tmp_path, at):
    def cut(body: dict) -> dict:
        return {"choices": [{"finish_reason": "length", "message": {"content": "half"}}]}

    requests = [Request.ask(f"question {n}", max_tokens=7) for n in range(100)]
    with Server(reply=cut) as server:
        at(server)
        with pytest.raises(Stopped, match="cut at the length limit, the last at 7 tokens"):
            complete(requests, "m", Calls(tmp_path / "llm.sqlite", concurrency=1))
        for _ in range(2):
            with pytest.raises(Stopped, match="all of the first 20 replies are cut"):
                complete(requests, "m", Calls(tmp_path / "llm.sqlite", concurrency=1))
        assert len(server.log) == 20, "cached replies that are cut count"
        free = Calls(tmp_path / "llm.sqlite", max_failed_share=1)
        assert len(complete(requests, "m", free)) == 100


@pytest.mark.parametrize("fault", ["html", "broken", "empty", "no-choices"])
def test_what_is_no_completion_is_asked_for_thrice_and_counted_as_paid(tmp_path, at, fault):
    with Server() as server:
        at(server)
        calls = Calls(tmp_path / "llm.sqlite", max_failed_share=1)
        (reply,) = complete([Request.ask(f"fault:{fault}")], "m", calls)
        assert reply.kind == "unreadable" and len(server.log) == calls.tally.lost == 3
        with pytest.raises(Stopped, match="1 of 1 calls failed"):
            complete([Request.ask(f"fault:{fault}")], "m", Calls(tmp_path / "llm.sqlite"))


def test_calls_that_a_filter_refuses_stop_no_stage_however_small(tmp_path, at):
    with Server(faults=lambda number, body: "400-filter" if number == 1 else None) as server:
        at(server)
        calls = Calls(tmp_path / "llm.sqlite", concurrency=1)
        first, second = complete([Request.ask("one"), Request.ask("two")], "m", calls)
        assert (first.kind, second.reason) == ("filtered", "") and "1 filtered" in str(calls)


def test_a_stage_whose_prompts_are_cut_silently_says_so_once_and_stops(tmp_path, at, capsys):
    def short(body: dict) -> dict:
        return {"usage": {"prompt_tokens": 2050, "completion_tokens": 12}}

    with Server(reply=short) as server:
        at(server)
        requests = [Request.ask(f"{n} " + "some words " * 4000) for n in range(40)]
        for n_sent in (3, 3):
            with pytest.raises(Stopped, match="read only a part of 3 prompts"):
                complete(requests, "m", Calls(tmp_path / "llm.sqlite", concurrency=1))
            assert len(server.log) == n_sent
        assert capsys.readouterr().out.count("2,050 tokens of a longer prompt") == 1


KINDS = {
    "empty": "null-content",
    "refused": "refusal",
    "filtered": "content-filter",
    "cut": "length",
}


@pytest.mark.parametrize(("kind", "fault"), KINDS.items())
def test_a_reply_of_a_kind_in_retry_is_asked_again_and_both_are_kept(tmp_path, at, kind, fault):
    requests = [Request.ask(f"fault:{fault}"), Request.ask("whole")]
    n_first = 3 if kind == "empty" else 2  # an empty reply is asked for again at once
    with Server() as server:
        at(server)
        first = Calls(tmp_path / "llm.sqlite")
        complete(requests, "m", first)
        assert len(server.log) == n_first and f"(1 {kind})" in str(first)
        kept = Calls(tmp_path / "llm.sqlite")
        complete(requests, "m", kept)
        assert len(server.log) == n_first and f"(1 {kind})" in str(kept)
        complete(requests, "m", Calls(tmp_path / "llm.sqlite", retry=["empty", kind]))
        assert len(server.log) == n_first + 1
        with closing(Cache(tmp_path / "llm.sqlite")) as cache:
            assert len(list(cache.entries())) == n_first + 1


def test_the_first_complete_reply_counts_once_a_retry_has_brought_it(tmp_path, at):
    with Server() as server:
        at(server)
        request = Request.ask("fault:refusal once")
        (reply,) = complete([request], "m", Calls(tmp_path / "llm.sqlite"))
        assert reply.kind == "refused"
        for retry in (["refused"], []):
            calls = Calls(tmp_path / "llm.sqlite", retry=retry)
            (reply,) = complete([request], "m", calls)
            assert reply.reason == "" and reply.text.startswith("reply ")
            assert len(server.log) == 2 and not calls.tally.kinds
        assert "refused" not in str(calls)


def test_a_redirect_to_another_host_is_not_followed_and_the_key_stays_here(tmp_path, at):
    with Server() as other:

        class Redirecting(Server):
            async def _chat(self, call, asked):
                return Answer(b"", 307, {"Location": f"{other.url}/chat/completions"})

        with Redirecting() as server:
            at(server)
            with pytest.raises(Stopped, match="redirects to another address"):
                complete([Request.ask("one")], "m", Calls(tmp_path / "llm.sqlite"))
            assert len(server.log) == 1 and not other.log
