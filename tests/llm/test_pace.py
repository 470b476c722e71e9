"""lib.llm.pace: how many calls at once, and how fast."""

import asyncio
import math
import random
import selectors
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.llm.pace import MOST, START, Bucket, Pace, seconds_of


@given(st.integers(1, 600_000), st.lists(st.floats(0, 3), min_size=30, max_size=200))
def test_bucket_never_lets_more_through_than_its_rate_and_its_slack(per_minute, arrivals):
    bucket, now, passed = Bucket(per_minute), 1000.0, []
    for gap in arrivals:
        now += gap / per_minute * 60
        now += bucket.wait(now)
        bucket.take(1, now)
        passed.append(now)
    for first in range(len(passed)):
        for last in range(first + 1, len(passed)):
            seconds = passed[last] - passed[first] + bucket.slack
            assert last - first <= seconds * per_minute / 60 + 1.001


def test_bucket_without_a_limit_never_waits_until_it_is_held():
    bucket = Bucket(None)
    bucket.take(1_000_000, 10.0)
    assert bucket.wait(10.0) == 0
    bucket.hold(15.0)
    assert bucket.wait(10.0) == 5 and bucket.wait(16.0) == 0


def test_lower_of_the_users_cap_and_the_endpoints_limit_holds():
    pace = Pace(4, 120, None)
    pace.heed({"x-ratelimit-limit-requests": "6000", "x-ratelimit-limit-tokens": "60000"})
    assert pace.requests.rate == 2 and pace.tokens.rate == pytest.approx(1000, rel=0.03)
    pace.heed({"x-ratelimit-limit-requests": "60"})
    assert pace.requests.rate == pytest.approx(1, rel=0.03) and pace.requests.rate < 1


def test_nothing_left_holds_until_one_request_is_back():
    pace = Pace(4, None, None)
    pace.heed({"x-ratelimit-limit-requests": "60", "x-ratelimit-remaining-requests": "0",
               "x-ratelimit-reset-requests": "1m0s"})
    assert 0.5 < pace.requests.wait(time.monotonic()) <= 1.0


@pytest.mark.parametrize(("text", "seconds"), [
    ("50ms", 0.05), ("1m0.5s", 60.5), ("6m12s", 372), ("1h", 3600), ("2", 2), ("soon", 0), ("", 0),
    ("-4", 0)])
def test_durations_of_the_headers(text, seconds):
    assert seconds_of(text) == pytest.approx(seconds)


@given(st.dictionaries(st.sampled_from([
    f"x-ratelimit-{kind}-{name}" for kind in ("limit", "remaining", "reset")
    for name in ("requests", "tokens")]), st.text(max_size=12)))
def test_odd_headers_break_nothing(headers):
    Pace(4, None, None).heed(headers)


class Jumping(selectors.DefaultSelector):
    """Instead of waiting, move a virtual clock: hours of waiting take no time."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list:
        ready = super().select(0)
        self.now += 0 if ready else timeout or 0
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.selector = Jumping()
        super().__init__(self.selector)

    def time(self) -> float:
        return self.selector.now


def played(concurrency: int | None, latencies: list[float], slots: int = 10**6,
           ) -> tuple[float, int]:
    """Play calls to an endpoint that answers `slots` at a time; return seconds and most at once."""
    most = 0

    async def run() -> None:
        pace, tasks = Pace(concurrency, None, None, asyncio.get_running_loop().time), []
        room = asyncio.Semaphore(slots)

        async def call(latency: float) -> None:
            async with room:
                await asyncio.sleep(latency)
            pace.replied()
            pace.free()

        for latency in latencies:
            await pace.admit(1)
            nonlocal most
            most = max(most, pace.in_flight)
            tasks.append(asyncio.create_task(call(latency)))
        await asyncio.gather(*tasks)

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(run())
        return runner.get_loop().time(), most


@pytest.mark.parametrize(("n", "seed"), [(500, 1), (500, 2), (500, 3), (6000, 1)])
def test_varying_latencies_take_at_most_1_3_times_the_best_fixed_concurrency(n, seed):
    chance = random.Random(seed)
    latencies = [2 * math.exp(chance.gauss(0, 0.8)) for _ in range(n)]
    best = min(played(fixed, latencies)[0] for fixed in (20, 100, MOST))
    assert played(None, latencies)[0] <= 1.3 * best


@pytest.mark.parametrize(("slots", "most"), [(1, 80), (4, 80), (16, 220), (64, MOST)])
def test_concurrency_stops_growing_where_more_calls_only_wait_and_loses_no_time(slots, most):
    chance = random.Random(slots)
    latencies = [2 * math.exp(chance.gauss(0, 0.5)) for _ in range(600)]
    seconds, at_once = played(None, latencies, slots)
    assert at_once <= most and seconds <= 1.15 * played(MOST, latencies, slots)[0]


def test_concurrency_never_passes_the_users_number():
    assert played(20, [0.2] * 1000)[1] == 20 and played(MOST, [0.2] * 1000)[1] == MOST
    assert START < played(None, [0.2] * 1000)[1] <= MOST


def test_a_429_halves_concurrency_once_for_all_calls_in_flight():
    pace = Pace(16, None, None)
    sent = time.monotonic()
    for _ in range(10):
        pace.throttled(sent, 0.0)
    assert pace.limit == 8
    pace.throttled(time.monotonic(), 0.0)
    assert pace.limit == 4
    for _ in range(100):
        pace.throttled(time.monotonic(), 0.0)
    assert pace.limit == 1


def test_admission_limits_concurrency_and_serves_calls_in_order():
    pace, order, most = Pace(3, None, None), [], 0

    async def call(number: int) -> None:
        nonlocal most
        await pace.admit(10)
        order.append(number)
        most = max(most, pace.in_flight)
        await asyncio.sleep(0.001)
        pace.free()

    async def run() -> None:
        await asyncio.gather(*[call(number) for number in range(50)])

    asyncio.run(run())
    assert order == list(range(50)) and most == 3 and pace.in_flight == 0
