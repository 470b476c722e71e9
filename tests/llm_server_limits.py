"""Rate limits of tests/llm_server.py: token buckets, and OpenAI's headers for them."""

import json
import math
import time
from collections.abc import Sequence

from tests.llm_server_faults import Answer, error

SAYS = ("x-ratelimit", "retry-after", "retry-after-ms")  # what a server may tell of its limits


class Bucket:
    """`per_minute` of something, `burst_seconds` worth of it at once."""

    def __init__(self, per_minute: float, burst_seconds: float) -> None:
        self.per_minute, self.rate = per_minute, per_minute / 60
        self.capacity = max(1.0, self.rate * burst_seconds)
        self.level, self.at = self.capacity, time.monotonic()

    def wait(self, amount: float) -> float:
        """Seconds until `amount` can be taken; more than the capacity needs a full bucket."""
        now = time.monotonic()
        self.level, self.at = min(self.capacity, self.level + (now - self.at) * self.rate), now
        return max(0.0, (min(amount, self.capacity) - self.level) / self.rate)

    def headers(self, what: str) -> dict[str, str]:
        """x-ratelimit-*-`what`."""
        return {f"x-ratelimit-limit-{what}": f"{self.per_minute:g}",
                f"x-ratelimit-remaining-{what}": str(max(0, int(self.level))),
                f"x-ratelimit-reset-{what}": go_duration((self.capacity - self.level) / self.rate)}


class Limits:
    """Requests and tokens per minute; None: no limit. A refused request takes nothing."""

    def __init__(self, requests_per_minute: float | None, tokens_per_minute: float | None,
                 burst_seconds: float, says: Sequence[str]) -> None:
        self.buckets = {what: Bucket(per_minute, burst_seconds) for what, per_minute in (
            ("requests", requests_per_minute), ("tokens", tokens_per_minute)) if per_minute}
        self.says = says

    def refusal(self, body: dict) -> Answer | None:
        """A 429, or None where the request passes and is counted."""
        amounts = {"requests": 1, "tokens": tokens_asked(body)} if self.buckets else {}
        waits = {what: bucket.wait(amounts[what]) for what, bucket in self.buckets.items()}
        what = max(waits, key=waits.get, default="")
        if not what or not waits[what]:
            for name, bucket in self.buckets.items():
                bucket.level -= amounts[name]
            return None
        answer = error(429, f"Rate limit reached for {what} per min. Please try again in "
                            f"{go_duration(waits[what])}.", "rate_limit_exceeded", kind=what)
        if "retry-after" in self.says:
            answer.headers["retry-after"] = str(math.ceil(waits[what]))
        if "retry-after-ms" in self.says:
            answer.headers["retry-after-ms"] = str(math.ceil(1000 * waits[what]))
        return answer

    def headers(self) -> dict[str, str]:
        """Return the headers of every reply."""
        if "x-ratelimit" not in self.says:
            return {}
        return {name: value for what, bucket in self.buckets.items()
                for name, value in bucket.headers(what).items()}


def tokens_asked(body: dict) -> int:
    """Tokens that OpenAI counts before a reply: the prompt's, or the reply's limit if higher."""
    prompt = len(json.dumps(body["messages"])) // 4
    return max(prompt, body.get("max_completion_tokens") or body.get("max_tokens") or 0)


def go_duration(seconds: float) -> str:
    """As Go writes it: 50ms, 1.5s, 1m0.5s."""
    if seconds < 1:
        return f"{math.ceil(1000 * max(0.0, seconds))}ms"
    minutes, rest = divmod(round(seconds, 3), 60)
    return (f"{minutes:.0f}m" if minutes else "") + f"{rest:.3f}".rstrip("0").rstrip(".") + "s"
