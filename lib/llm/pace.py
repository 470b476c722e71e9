"""Adapt the concurrency and rate of calls to replies, 429s and x-ratelimit headers."""

import asyncio
import math
import re
import time
from collections.abc import Callable, Mapping

START, MOST = 8, 256  # concurrent calls if the user gives no number: first guess and ceiling
MOST_IN_A_ROW = 25  # rounds of 429 without a reply between: 10 minutes where no wait is named
LONGEST_HOLD = 30.0  # seconds between two such rounds
_SHARE = 0.99  # used share of a stated limit, because two clocks never agree exactly
_LOWEST_SHARE = 0.8
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|us|µs|ns|h|m|s|d)")
_SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6,
            "ns": 1e-9}


class Bucket:
    """Let requests or tokens pass evenly, at `rate` per second (generic cell rate algorithm).

    A rate of 0 means that no limit is known.
    """

    def __init__(self, per_minute: float | None, slack: float = 0.1) -> None:
        self.cap = (per_minute or 0) / 60
        self.rate = self.cap
        self.slack = slack  # seconds that a late caller may catch up
        self.share = _SHARE
        self.next = 0.0  # when the next one may pass, on the monotonic clock
        self.left = 0.0  # how many the endpoint's last reply says are left; 0 if none

    def learn(self, per_minute: float) -> None:
        """Adopt the endpoint's limit, or the user's cap if that is lower."""
        rate = self.share * per_minute / 60
        self.rate = min(rate, self.cap) if self.cap else rate

    def back_off(self) -> None:
        """Stay further below the limit and stop catching up: the endpoint's window is shorter."""
        self.share, self.slack = max(_LOWEST_SHARE, 0.97 * self.share), 0.0

    def wait(self, now: float) -> float:
        """Return the seconds until the next one may pass."""
        return max(0.0, self.next - now)

    def take(self, amount: float, now: float) -> None:
        """Count `amount` as passed."""
        if self.rate:
            self.next = max(self.next, now - self.slack) + amount / self.rate

    def hold(self, until: float) -> None:
        """Let nothing pass before `until`."""
        self.next = max(self.next, until)


class Pace:
    """Admit calls to an endpoint: each waits for a slot, then for its turn.

    `concurrency` fixes the number of simultaneous calls. If it is None, the number begins at START
    and grows with the replies, to at most MOST, until the endpoint throttles or slows down. A 429
    halves the number, once for all calls that were then in flight. `clock` gives seconds.
    """

    def __init__(self, concurrency: int | None, requests_per_minute: int | None,
                 tokens_per_minute: int | None,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self.limit, self.most = float(concurrency or START), concurrency or MOST
        self.requests, self.tokens = Bucket(requests_per_minute), Bucket(tokens_per_minute, 1.0)
        self.clock, self.in_flight = clock, 0
        self.n_in_a_row = 0  # rounds of 429 since the last reply
        self._is_free = concurrency is None
        self._growth = 2.0  # per reply; 0 after a 429: one per round
        self._cut_at = 0.0
        self._round, self._n = float(START), 0  # replies in this round: in all, and so far
        self._seconds, self._at = 0.0, clock()  # of all calls in flight, until the last change
        self._best = math.inf  # least seconds in flight per reply
        self._gate, self._freed = asyncio.Lock(), asyncio.Event()

    async def admit(self, tokens: int) -> None:
        """Wait for a slot and a turn for a call of about `tokens`; first come, first served."""
        async with self._gate:
            while self.in_flight >= int(self.limit):
                self._freed.clear()
                await self._freed.wait()
            both = (self.requests, self.tokens)
            while (wait := max(bucket.wait(self.clock()) for bucket in both)) > 0:
                await asyncio.sleep(wait)
            self.requests.take(1, self.clock())
            self.tokens.take(tokens, self.clock())
            self._change(1)

    def free(self) -> None:
        """Give a slot back: the reply is stored, or there is none."""
        self._change(-1)
        self._freed.set()

    def _change(self, n: int) -> None:
        now = self.clock()
        self._seconds += self.in_flight * (now - self._at)
        self.in_flight, self._at = self.in_flight + n, now

    def replied(self) -> None:
        """Grow after a reply: at first by two, which triples the number per round.

        After each round, compare the mean seconds in flight per reply with those of the best round:
        twice as many mean that more calls only wait, so the number falls and then grows by a
        quarter per round (Little's law: in flight / rate). A mean over calls in flight holds for
        any spread of latencies; the mean latency of the replies does not, as the fast come first.
        """
        self.n_in_a_row, self._n = 0, self._n + 1
        if self.limit < self.most:
            self.limit = min(self.most, self.limit + (self._growth or 1 / self.limit))
        if self._n >= self._round:
            self._change(0)
            mean = self._seconds / self._n
            self._best = min(self._best, mean)
            if mean > 2 * self._best and self._is_free:
                self.limit = max(START, self.limit * 2 * self._best / mean)
                self._growth = min(self._growth, 0.25)
            self._n, self._seconds, self._round = 0, 0.0, self.limit

    def throttled(self, sent: float, wait: float) -> None:
        """Slow down after a 429 to a call sent at `sent`, and pause for `wait` seconds."""
        now = self.clock()
        self._growth = 0.0
        if sent >= self._cut_at:
            self.limit, self._cut_at = max(1.0, self.limit / 2), now
            self.requests.back_off()
            self.tokens.back_off()
            self.n_in_a_row += 1
            if self.n_in_a_row > 2:  # not one full window, but an endpoint that refuses all
                wait = max(wait, min(LONGEST_HOLD, 0.25 * 2 ** self.n_in_a_row))
        self.requests.hold(now + wait)

    def heed(self, headers: Mapping[str, str]) -> None:
        """Read the limits per minute, and what is left of each, from x-ratelimit headers."""
        for bucket, name in ((self.requests, "requests"), (self.tokens, "tokens")):
            limit, left = (_number(headers.get(f"x-ratelimit-{kind}-{name}"))
                           for kind in ("limit", "remaining"))
            if limit:
                bucket.learn(limit)
            bucket.left = left or 0.0
            if left == 0:  # reset says when all of it is back
                reset = seconds_of(headers.get(f"x-ratelimit-reset-{name}", ""))
                bucket.hold(self.clock() + min(reset / (limit or 1), 60.0))


def seconds_of(duration: str) -> float:
    """Return the seconds of a Go duration ("1m0.5s", "50ms") or plain number; 0 for neither."""
    parts = _DURATION.findall(duration)
    if not parts:
        return _number(duration) or 0.0
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def _number(text: str | None) -> float | None:
    try:
        return max(0.0, float(text)) if text else None
    except ValueError:
        return None
