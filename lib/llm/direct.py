"""Concurrent calls over HTTP: those worth repeating are repeated, replies are stored."""

import asyncio
import json
import time
from collections.abc import Awaitable, Sequence
from datetime import UTC, datetime
from itertools import count
from typing import Any

from lib.core.errors import BadReply
from lib.llm.budget import Budget
from lib.llm.cache import Entry
from lib.llm.calls import Calls
from lib.llm.endpoint import Endpoint
from lib.llm.faults import MOST_THROTTLED, MOST_TRIES, NO_SERVER, TRIES_TO_REACH, Fault, fault_of
from lib.llm.prices import cost_usd
from lib.llm.request import Request
from lib.llm.response import UNREADABLE, Response, read_response
from lib.llm.tokens import most_tokens, upper_bound

MOST_UNREADABLE = 20  # replies that cannot be read, if fewer can


class Direct:
    """One run over requests that are not cached, with an openai `client` and a progress `bar`.

    `stopped` is why it ended early, else ""; `failed` has the reasons of failed calls by key.
    """

    def __init__(self, at: Endpoint, model: str, calls: Calls, budget: Budget) -> None:
        self.at, self.model, self.calls = at, model, calls
        self.budget, self.cache = budget, budget.cache
        self.dropped: set[str] = set()  # parameters that the endpoint refuses
        self.failed: dict[str, str] = {}
        self.n_unreadable = 0
        self.next = 0.0  # when the endpoint is to be asked again, on the monotonic clock
        self.stopped = ""

    def stop(self, reason: str) -> None:
        """Send nothing more; the first reason counts, and "" is none."""
        self.stopped = self.stopped or reason

    async def ask(self, waiting: dict[str, Request]) -> None:
        """Send every request; each ends in the cache or in `failed`, unless the run is stopped."""
        left = iter(waiting.items())

        async def one_after_another() -> None:
            for key, request in left:
                if self.stopped:
                    return
                try:
                    await self._decide(key, request)
                except Exception as error:  # reported; other calls' replies are kept
                    self.stop(self.at.scrubbed(f"{type(error).__name__}: {error}"))
                self.bar.update()

        # Not a task per call: its send would wait until all replies that are there were handled.
        await asyncio.gather(*(one_after_another()
                               for _ in range(min(len(waiting), self.calls.concurrency))))

    async def _decide(self, key: str, request: Request) -> None:
        while not self.stopped and not self.cache.claim(key, 2 * self.calls.timeout_seconds):
            if self.cache.has(key):  # another process has sent it since
                self.calls.tally.cached += 1
                return
            await asyncio.sleep(0.25)
        for n_tries in count(1):
            await asyncio.sleep(self.next - time.monotonic())
            fault = None if self.stopped else await self._try(key, request)
            if fault is None:
                break
            if n_tries >= TRIES_TO_REACH and not (
                    fault.status or fault.is_maybe_paid or self.calls.tally.new):
                self.stop(NO_SERVER)
            self.stop(fault.stops)
            if fault.unsupported:  # repeat the call, and send later ones, without it
                if fault.unsupported not in self.dropped:
                    print(f"{self.model}: the endpoint refuses {fault.unsupported}, which is not "
                          "sent", flush=True)
                self.dropped.add(fault.unsupported)
                continue
            if self.stopped:
                break
            most = MOST_THROTTLED if fault.status == 429 else MOST_TRIES
            if not fault.is_worth_repeating or n_tries >= most:
                self.failed[key] = fault.reason
                self.calls.tally.failed += 1
                self.calls.tally.unserved += fault.is_worth_repeating
                if failing := self.calls.failing():
                    self.stop(f"{failing}, the last with: {fault.reason}")
                break
            await asyncio.sleep(fault.pause(n_tries))
        self.cache.release([key])

    async def _try(self, key: str, request: Request) -> Fault | None:
        import aiohttp
        import httpx2
        import openai
        worst = self.budget.worst(request)
        if not await self.budget.reserve(worst):
            return Fault("the money is spent", stops=self.calls.out_of_money())
        start, asked_at = time.monotonic(), time.time()
        body, left_out = self.body(request), " ".join(sorted(self.dropped))
        try:
            # `post` avoids the type checks of chat.completions.create: 25% of a call's CPU time.
            # As `body`, the client would write UTF-8, which has no lone surrogates.
            got = await self.timely(self.client.post(
                "/chat/completions", cast_to=httpx2.Response, content=json.dumps(body).encode()))
        except (openai.OpenAIError, aiohttp.ClientError, OSError, ValueError) as error:
            # ClientError: the server does not speak HTTP
            fault = fault_of(error, self.model, self.at, body)
            self.budget.settle(worst, self.budget.lost(worst) if fault.is_maybe_paid else 0.0)
            self.next = max(self.next, time.monotonic() + fault.wait)
            if fault.status == 403 and self.calls.tally.new:  # some gateways filter one prompt so
                return Fault(fault.reason)
            return fault
        raw = got.content.decode("utf-8", "replace")
        try:
            response = read_response(raw)
        except BadReply:  # stored, so that no later run pays for it again
            # scrubbed: a proxy's page may quote all
            raw, response = self.at.scrubbed(raw), UNREADABLE
        answer = raw, got.headers.get("x-request-id", ""), asked_at, time.monotonic() - start
        self.keep([(key, request, answer, response)], worst, left_out)
        self.stop(self.calls.all_cut(request.max_tokens))
        if MOST_UNREADABLE <= self.n_unreadable > self.calls.tally.new:
            self.stop("most replies are unreadable: check OPENAI_BASE_URL, and set retry to "
                      "unreadable")
        return None

    async def timely(self, call: Awaitable[Any]) -> Any:
        """Return the result of a call of the client, whose own limit is for each read."""
        async with asyncio.timeout(self.calls.timeout_seconds):
            return await call

    def body(self, request: Request) -> dict[str, object]:
        """Return what is sent; the token limit has two names, except for OpenAI."""
        wanted: dict[str, object] = {
            "model": self.model, "temperature": request.temperature, "stop": request.stop or None,
            "messages": [{"role": role, "content": content} for role, content in request.messages],
            "max_completion_tokens": request.max_tokens,
            "max_tokens": None if self.at.is_openai else request.max_tokens}
        return {name: value for name, value in wanted.items()
                if value is not None and name not in self.dropped}

    def keep(self, replies: Sequence[tuple[str, Request, tuple, Response]], worst: float,
             left_out: str, batch: str = "") -> None:
        """Count replies, store them and settle the `worst` case that was reserved for them."""
        usd, entries = 0.0, []
        for key, request, (raw, request_id, asked_at, seconds), response in replies:
            usd += self._counted(request, response, bool(batch))
            entries.append(Entry(
                key, request.key(self.model), self.model, request.body, self.at.without_key(raw),
                response.prompt_tokens, response.completion_tokens, response.finish_reason,
                round(seconds, 3),
                datetime.fromtimestamp(asked_at, UTC).isoformat(timespec="milliseconds"),
                self.at.scrubbed(request_id), "batch" if batch else "direct", left_out))
        with self.cache.transaction():
            self.cache.put(entries)
            self.budget.settle(worst, usd, batch)

    def _counted(self, request: Request, response: Response, is_batch: bool) -> float:
        tally, n_in, n_out = self.calls.tally, response.prompt_tokens, response.completion_tokens
        worst = self.budget.worst(request, is_batch)
        if response is UNREADABLE:
            self.n_unreadable += 1
            return self.budget.lost(worst)
        if n_in is None or n_out is None:
            tally.usd_estimated += worst
            usd, n_in, n_out = worst, most_tokens(request), upper_bound(response.text)
        else:
            usd = cost_usd(self.budget.price, n_in, n_out, is_batch)
        tally.new += 1
        tally.cut += response.finish_reason == "length"
        tally.prompt_tokens += n_in
        tally.completion_tokens += n_out
        return usd
