"""The rate limit of tests/llm_server.py: a bucket of requests, and OpenAI's headers for it."""

import json
import math
import time
from collections.abc import Sequence

from tests.llm_server_faults import Answer, error

SAYS = ("x-ratelimit", "retry-after", "retry-after-ms")  # what a server may tell of its limit


class Limit:
    """Requests per minute, `burst_seconds` worth of them at once; None: no limit.

    A refused request takes nothing.
    """

    def __init__(self, per_minute: float | None, burst_seconds: float, says: Sequence[str]) -> None:
        self.per_minute, self.rate, self.says = per_minute, (per_minute or 0) / 60, says
        self.capacity = max(1.0, self.rate * burst_seconds)
        self.level, self.at = self.capacity, time.monotonic()

    def refusal(self) -> Answer | None:
        """A 429, or None where the request passes and is counted."""
        if not self.rate:
            return None
        now = time.monotonic()
        self.level, self.at = min(self.capacity, self.level + (now - self.at) * self.rate), now
        wait = max(0.0, (1 - self.level) / self.rate)
        if not wait:
            self.level -= 1
            return None
        answer = error(
            429,
            f"Rate limit reached for requests per min. Please try again in {go_duration(wait)}.",
            "rate_limit_exceeded",
            kind="requests",
        )
        for name, value in (("retry-after", wait), ("retry-after-ms", 1000 * wait)):
            if name in self.says:
                answer.headers[name] = str(math.ceil(value))
        return answer

    def headers(self) -> dict[str, str]:
        """Return the headers of every reply."""
        if "x-ratelimit" not in self.says or not self.rate:
            return {}
        return {
            "x-ratelimit-limit-requests": f"{self.per_minute:g}",
            "x-ratelimit-remaining-requests": str(max(0, int(self.level))),
            "x-ratelimit-reset-requests": go_duration((self.capacity - self.level) / self.rate),
        }


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
