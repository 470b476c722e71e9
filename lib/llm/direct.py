"""Send requests over HTTP, concurrently; retry those worth repeating, and store the replies."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING

from lib.llm.cache import Cache, CacheFailed, Entry
from lib.llm.calls import Budget, Calls, dollars
from lib.llm.endpoint import Endpoint
from lib.llm.faults import (
    MOST_THROTTLED,
    MOST_TRIES,
    NO_SERVER,
    TRIES_TO_REACH,
    Fault,
    fault_of_status,
    pause,
)
from lib.llm.pace import Pace
from lib.llm.prices import cost_usd
from lib.llm.progress import Progress
from lib.llm.request import Request
from lib.llm.response import Response, Unreadable, read_response
from lib.llm.tokens import estimate, most_tokens

if TYPE_CHECKING:
    import openai


class Direct:
    """One run over requests that are not cached. `stopped` is why it ended early, else ""."""

    def __init__(self, endpoint: Endpoint, model: str, calls: Calls, cache: Cache,
                 budget: Budget) -> None:
        self.endpoint, self.model, self.calls = endpoint, model, calls
        self.cache, self.budget = cache, budget
        self.pace = Pace(calls.concurrency, calls.requests_per_minute, calls.tokens_per_minute)
        self.dropped: set[str] = set()  # parameters that the endpoint refuses
        self.failed: dict[str, str] = {}  # the reason, by key
        self.n_replied, self.reply_tokens = 0, 0
        self.counts_most = False  # whether limits count max_tokens, not a reply's length
        self.stopped = ""

    async def ask(self, waiting: dict[str, Request], progress: Progress) -> None:
        """Send every request; each ends in the cache or in `failed`, unless the run is stopped."""
        tasks: set[asyncio.Task] = set()
        client = self.endpoint.client()
        try:
            for key, request in waiting.items():
                await self.pace.admit(self._expected_tokens(request))
                if self.stopped:
                    self.pace.free()
                    break
                task = asyncio.create_task(self._decide(client, key, request, progress))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            while tasks:  # also after a stop: calls in flight are paid for
                await asyncio.wait(tasks)
        finally:
            await client.close()

    async def _decide(self, client: "openai.AsyncOpenAI", key: str, request: Request,
                      progress: Progress) -> None:
        """Repeat one request until its result is final; then free the slot that it was given."""
        try:
            while not self.stopped and not self.cache.claim(key, 2 * self.calls.timeout_seconds):
                if self.cache.has(key):  # another process has sent it since
                    self.calls.tally.cached += 1
                    return
                await asyncio.sleep(0.25)
            await self._persist(client, key, request)
        except CacheFailed as error:
            self.stopped = self.stopped or str(error)
        except Exception as error:  # a fault in our code: reported; other calls' replies are kept
            self.stopped = self.stopped or (f"a call ended with {type(error).__name__}: "
                                            f"{self.endpoint.scrubbed(str(error))}")
        finally:
            self.pace.free()
            progress.step(int(self.pace.limit))

    async def _persist(self, client: "openai.AsyncOpenAI", key: str, request: Request) -> None:
        n_throttled = 0
        for n_tries in count(1):
            if self.stopped:
                break
            fault = await self._try(client, key, request)
            if fault is None:
                return
            n_throttled += fault.is_throttled
            if fault.is_unreached and n_tries >= TRIES_TO_REACH and not self.n_replied:
                fault = replace(fault, stops=NO_SERVER)
            if fault.stops:
                self.stopped = self.stopped or fault.stops
            elif fault.unsupported:  # repeat the call, and send later ones, without it
                self.dropped.add(fault.unsupported)
                continue
            elif (not fault.is_worth_repeating or n_tries - n_throttled >= MOST_TRIES
                  or n_throttled >= MOST_THROTTLED):
                return self._fail(key, fault.reason)
            else:
                self.pace.free()
                await asyncio.sleep(pause(n_tries, fault))
                await self.pace.admit(self._expected_tokens(request))
        self.cache.release(key)

    async def _try(self, client: "openai.AsyncOpenAI", key: str, request: Request) -> Fault | None:
        """Make one call, paid for at most once; return None if a reply is stored, else a fault."""
        worst = self.budget.worst(most_tokens(request), request.max_tokens)
        if not await self.budget.reserve(worst):
            return Fault("the money is spent", stops=out_of_money(self.calls))
        cost: float | None = 0.0
        try:
            sent = time.monotonic()
            asked_at = datetime.now(UTC).isoformat(timespec="milliseconds")
            got = await self._send(client, request)
            if isinstance(got, Fault):
                if got.is_throttled:
                    self.pace.throttled(sent, got.wait)
                    # Refused, although enough is left: OpenAI counts max_tokens before it replies.
                    left = self.pace.tokens.left
                    self.counts_most |= self._expected_tokens(request) <= left < request.max_tokens
                if got.is_maybe_paid:
                    self.calls.tally.lost += 1
                    cost = worst if self.budget.price else None
                return got
            raw, response, request_id = got
            seconds = time.monotonic() - sent
            self.pace.replied(seconds)
            prompt_tokens, completion_tokens = self.count(request, response)
            self.reply_tokens += completion_tokens
            price = self.budget.price
            cost = cost_usd(price, prompt_tokens, completion_tokens) if price else None
            self.cache.put(Entry(
                key, request.key(self.model), self.model, request.body,
                self.endpoint.without_key(raw), response.prompt_tokens, response.completion_tokens,
                response.finish_reason, round(seconds, 3), asked_at,
                self.endpoint.scrubbed(request_id), "direct"))
            return None
        finally:
            self.budget.settle(worst, cost)

    async def _send(self, client: "openai.AsyncOpenAI",
                    request: Request) -> tuple[str, Response, str] | Fault:
        """Make one HTTP call; return (body, response, request id), or a fault."""
        import aiohttp
        import httpx2
        import openai
        parameters = self.parameters(request)
        body = {"model": self.model, **parameters,
                "messages": [{"role": role, "content": content}
                             for role, content in request.messages]}
        try:
            async with asyncio.timeout(self.calls.timeout_seconds):  # the client limits each read
                # `post` avoids the type checks of chat.completions.create: 25% of a call's CPU time
                got = await client.post("/chat/completions", cast_to=httpx2.Response, body=body)
        except (openai.OpenAIError, aiohttp.ClientError, OSError, ValueError) as error:
            # ClientError: the server does not speak HTTP
            if isinstance(error, openai.APIStatusError):
                self.pace.heed(error.response.headers)
            return self.fault(error, parameters)
        self.pace.heed(got.headers)
        raw = got.content.decode("utf-8", "replace")
        try:
            return raw, read_response(raw), got.headers.get("x-request-id", "")
        except Unreadable as error:
            return Fault(str(error), is_worth_repeating=True, is_maybe_paid=True)

    def fault(self, error: Exception, sent: Mapping[str, object]) -> Fault:
        """Return what an error of the client means; `sent` are the call's optional parameters."""
        import openai
        if isinstance(error, openai.APIStatusError):
            fault = fault_of_status(error.status_code, error.body, error.response.headers,
                                    self.model, self.endpoint, sent)
            # Once others were answered, a 403 is about one prompt: some gateways filter like that.
            is_about_prompt = error.status_code == 403 and self.n_replied
            return replace(fault, stops="") if is_about_prompt else fault
        if isinstance(error, TimeoutError):
            return Fault(f"no complete reply within {self.calls.timeout_seconds:g} s",
                         is_worth_repeating=True, is_maybe_paid=True)
        return self._disconnected(error)

    def _disconnected(self, error: BaseException) -> Fault:
        """Return a failed connection's fault without the error's message, which has the address."""
        chain = [error]
        while (inner := chain[-1].__cause__ or chain[-1].__context__) and inner not in chain:
            chain.append(inner)
        names = [type(one).__name__ for one in chain]
        # Not ConnectTimeout: openai's transport raises it for connections dropped while sending.
        is_unreached = any(word in name for name in names
                           for word in ("Connector", "ConnectionTimeout", "gaierror"))
        reason = "no connection to the endpoint" if is_unreached else "the connection broke"
        return Fault(f"{reason} ({names[-1]})", is_worth_repeating=True,
                     is_maybe_paid=not is_unreached, is_unreached=is_unreached)

    def parameters(self, request: Request) -> dict[str, object]:
        """Return a call's optional parameters; the token limit has two names, except for OpenAI."""
        wanted: dict[str, object] = {"temperature": request.temperature,
                                     "max_completion_tokens": request.max_tokens}
        if not self.endpoint.is_openai:
            wanted["max_tokens"] = request.max_tokens
        if request.stop:
            wanted["stop"] = list(request.stop)
        return {name: value for name, value in wanted.items() if name not in self.dropped}

    def count(self, request: Request, response: Response) -> tuple[int, int]:
        """Count a reply's input and output tokens, reported or estimated, and return them."""
        tally = self.calls.tally
        prompt_tokens, completion_tokens = response.prompt_tokens, response.completion_tokens
        if prompt_tokens is None or completion_tokens is None:
            tally.estimated += 1
            prompt_tokens = estimate(request)
            completion_tokens = len(response.text) // 4 + 1
        tally.new += 1
        tally.prompt_tokens += prompt_tokens
        tally.completion_tokens += completion_tokens
        self.n_replied += 1
        return prompt_tokens, completion_tokens

    def _expected_tokens(self, request: Request) -> int:
        """Estimate from replies so far how many tokens a call counts toward a limit per minute."""
        if self.counts_most:
            return max(estimate(request), request.max_tokens)
        mean = self.reply_tokens / self.n_replied if self.n_replied else request.max_tokens / 4
        return estimate(request) + int(mean)

    def _fail(self, key: str, reason: str) -> None:
        self.cache.release(key)
        self.failed[key] = reason
        self.calls.tally.failed += 1
        if failing := self.calls.failing():
            self.stopped = self.stopped or f"{failing}, the last with: {reason}"


def out_of_money(calls: Calls) -> str:
    """Return the reason for stopping at the cost limit."""
    return (f"the next call could exceed max_cost_usd = {dollars(calls.max_cost_usd)} "
            f"({dollars(calls.tally.usd)} are spent): raise it to continue")
