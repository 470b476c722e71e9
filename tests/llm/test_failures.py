"""When failures stop a stage: their share is of all its calls, cached ones included."""

import random
from collections import Counter
from contextlib import closing

import pytest

from lib.core.errors import Stopped
from lib.llm.cache import Cache
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Request
from tests.llm_server import Server


@pytest.fixture
def at(monkeypatch):
    """Point the environment to a server: at(server)."""
    def point(server: Server) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "a-key-for-tests")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    return point


def test_a_stage_with_a_few_permanent_failures_completes_however_often_it_is_run(tmp_path, at):
    prompts = [f"question {n}" + " fault:400" * (n % 14 == 0) for n in range(300)]
    random.Random(1).shuffle(prompts)
    with Server() as server:
        at(server)
        for _ in range(2):
            calls = Calls(tmp_path / "llm.sqlite", max_failed_share=0.1)
            replies = complete([Request.ask(prompt) for prompt in prompts], "m", calls)
            assert sum(bool(reply.reason) for reply in replies) == calls.tally.failed == 22
        asked = Counter(call.prompt for call in server.log)
        assert all(asked[prompt] == (2 if "fault" in prompt else 1) for prompt in prompts)


def test_a_stage_in_which_every_call_fails_stops_at_the_first_twenty(tmp_path, at):
    with Server(faults=lambda number, body: "400") as server:
        at(server)
        with pytest.raises(Stopped, match="20 of the first 20 calls failed"):
            complete([Request.ask(f"question {n}") for n in range(200)], "m",
                     Calls(tmp_path / "llm.sqlite", concurrency=1))
        assert len(server.log) <= 21


def test_a_run_in_which_the_limit_cuts_every_reply_stops_unless_all_may_fail(tmp_path, at):
    def cut(body: dict) -> dict:
        return {"choices": [{"finish_reason": "length", "message": {"content": "half"}}]}

    requests = [Request.ask(f"question {n}", max_tokens=7) for n in range(100)]
    with Server(reply=cut) as server:
        at(server)
        with pytest.raises(Stopped, match="cut at the length limit, the last at 7 tokens"):
            complete(requests, "m", Calls(tmp_path / "llm.sqlite", concurrency=1))
        assert len(server.log) <= 21
        free = Calls(tmp_path / "llm.sqlite", max_failed_share=1)
        assert len(complete(requests, "m", free)) == 100


@pytest.mark.parametrize("fault", ["html", "broken", "empty", "no-choices"])
def test_an_unreadable_reply_with_status_200_is_paid_twice_and_again_only_by_retry(
        tmp_path, at, fault):
    with Server() as server:
        at(server)
        calls = Calls(tmp_path / "llm.sqlite", max_failed_share=1)
        (reply,) = complete([Request.ask(f"fault:{fault}")], "m", calls)
        assert reply.reason and len(server.log) == calls.tally.lost == 2
        again = Calls(tmp_path / "llm.sqlite", max_failed_share=1)
        (reply,) = complete([Request.ask(f"fault:{fault}")], "m", again)
        assert reply.kind == "unreadable" and again.tally.failed == 1 and len(server.log) == 2
        with pytest.raises(Stopped, match="1 of 1 calls failed"):
            complete([Request.ask(f"fault:{fault}")], "m", Calls(tmp_path / "llm.sqlite"))
        again = Calls(tmp_path / "llm.sqlite", max_failed_share=1, retry=["unreadable"])
        complete([Request.ask(f"fault:{fault}")], "m", again)
        assert len(server.log) == 3


KINDS = {"empty": "null-content", "refused": "refusal", "filtered": "content-filter",
         "cut": "length"}


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
