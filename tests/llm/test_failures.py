"""When failures stop a stage: their share is of all its calls, cached ones included."""

import random
from collections import Counter

import pytest

from lib.llm.calls import Calls, CallsStopped
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


def fails(path, share: float, chance: random.Random, n: int = 500) -> int:
    """Return at which of n calls a stage is stopped whose calls fail with this chance; 0: never."""
    calls = Calls(path, max_failed_share=0.1)
    for number in range(1, n + 1):
        is_failed = chance.random() < share
        calls.tally.failed += is_failed
        calls.tally.new += not is_failed
        if is_failed and calls.failing():
            return number
    return n if calls.failing(is_over=True) else 0


def test_a_true_share_of_5_percent_with_10_allowed_stops_under_1_percent_of_stages(tmp_path):
    stops = [fails(tmp_path / "c", 0.05, random.Random(seed)) for seed in range(500)]
    assert sum(map(bool, stops)) < 5
    stops = [fails(tmp_path / "c", 0.3, random.Random(seed)) for seed in range(100)]
    assert all(0 < at < 200 for at in stops), "and a share of 30% stops early"


def test_a_stage_with_a_few_permanent_failures_completes_however_often_it_is_run(tmp_path, at):
    prompts = [f"question {n}" + " fault:400" * (n % 14 == 0) for n in range(100)]
    random.Random(1).shuffle(prompts)
    with Server() as server:
        at(server)
        for _ in range(3):
            calls = Calls(tmp_path / "llm.sqlite", max_failed_share=0.1)
            replies = complete([Request.ask(prompt) for prompt in prompts], "m", calls)
            assert sum(bool(reply.reason) for reply in replies) == calls.tally.failed == 8
        asked = Counter(call.prompt for call in server.log)
        assert all(asked[prompt] == (3 if "fault" in prompt else 1) for prompt in prompts)


def test_a_stage_in_which_every_call_fails_stops_at_the_first_twenty(tmp_path, at):
    with Server(faults=lambda number, body: "400") as server:
        at(server)
        with pytest.raises(CallsStopped, match="20 of the first 20 calls failed"):
            complete([Request.ask(f"question {n}") for n in range(200)], "m",
                     Calls(tmp_path / "llm.sqlite", concurrency=1))
        assert len(server.log) <= 21
