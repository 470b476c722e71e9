"""Send requests over HTTP, concurrently; retry those worth repeating, and store the replies."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING

from lib.llm.cache import Cache, CacheFailed, Entry
from lib.llm.calls import Budget, Calls
from lib.llm.endpoint import Endpoint
from lib.llm.faults import (
    MOST_THROTTLED,
    MOST_TRIES,
    MOST_UNREADABLE,
    NO_SERVER,
    TRIES_TO_REACH,
    Fault,
    fault_of,
    pause,
)
from lib.llm.pace import MOST_IN_A_ROW, Pace
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
        self.told: set[str] = set()  # lines that were printed
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
        n_throttled = n_unreadable = 0
        if (n_tokens := estimate(request) + request.max_tokens) >= self.calls.too_long:
            return self._fail(key, f"not sent: about {n_tokens:,} tokens with its reply, and the "
                                   f"model's window did not hold {self.calls.too_long:,}")
        for n_tries in count(1):
            if self.stopped:
                break
            fault = await self._try(client, key, request)
            if fault is None:
                return
            n_throttled += fault.is_throttled
            n_unreadable += fault.is_unreadable
            if stops := fault.stops or self._stops(fault, n_tries):
                self.stopped = self.stopped or stops
            elif fault.unsupported:  # repeat the call, and send later ones, without it
                self._drop(fault.unsupported)
                continue
            elif (not fault.is_worth_repeating or n_tries - n_throttled >= MOST_TRIES
                  or n_throttled >= MOST_THROTTLED or n_unreadable >= MOST_UNREADABLE):
                if fault.is_too_long:
                    self.calls.too_long = min(self.calls.too_long, n_tokens)
                return self._fail(key, fault.reason)
            else:
                self.pace.free()
                await asyncio.sleep(pause(n_tries, fault))
                await self.pace.admit(self._expected_tokens(request))
        self.cache.release(key)

    def _stops(self, fault: Fault, n_tries: int) -> str:
        """Return why a fault that has been repeated stops the run, "" if it does not."""
        if fault.is_unreached and n_tries >= TRIES_TO_REACH and not self.n_replied:
            return NO_SERVER
        n_rounds = self.pace.n_in_a_row if fault.is_throttled else 0
        if n_rounds > 2:
            self._tell("429", f"{self.model}: the endpoint refuses every call ({fault.reason}): "
                              f"asking ever more slowly, {MOST_IN_A_ROW} times at most")
        return (f"the endpoint has refused every call {n_rounds} times in a row ({fault.reason})"
                if n_rounds >= MOST_IN_A_ROW else "")

    def _drop(self, parameter: str) -> None:
        """Leave a parameter out of all later calls, and say so."""
        self.dropped.add(parameter)
        chance = ": replies are drawn by chance, not greedily" * (parameter == "temperature")
        self._tell(parameter, f"{self.model}: the endpoint refuses {parameter}, which is "
                              f"not sent{chance}")

    def _tell(self, about: str, line: str) -> None:
        if about not in self.told:
            self.told.add(about)
            print(line, flush=True)

    async def _try(self, client: "openai.AsyncOpenAI", key: str, request: Request) -> Fault | None:
        """Make one call, paid for at most once; return None if a reply is stored, else a fault."""
        worst = self.budget.worst(most_tokens(request), request.max_tokens)
        if not await self.budget.reserve(worst):
            return Fault("the money is spent", stops=self.calls.out_of_money())
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
                    self.calls.tally.usd_estimated += worst
                    cost = worst if self.budget.price else None
                return got
            raw, response, request_id = got
            seconds = time.monotonic() - sent
            self.pace.replied(seconds)
            entry, cost = self.taken(key, request, raw, response, asked_at=asked_at,
                                     seconds=round(seconds, 3), request_id=request_id, via="direct")
            self.cache.put(entry)
            self.stopped = self.stopped or self.calls.all_cut(request.max_tokens)
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
            return Fault(str(error), is_worth_repeating=True, is_maybe_paid=True,
                         is_unreadable=True)

    def fault(self, error: Exception, sent: Mapping[str, object]) -> Fault:
        """Return what an error of the client means; `sent` are the call's optional parameters."""
        fault = fault_of(error, self.model, self.endpoint, sent, self.calls.timeout_seconds)
        # Once others were answered, a 403 is about one prompt: some gateways filter like that.
        is_about_prompt = fault.reason.startswith("status 403") and self.n_replied
        return replace(fault, stops="") if is_about_prompt else fault

    def parameters(self, request: Request) -> dict[str, object]:
        """Return a call's optional parameters; the token limit has two names, except for OpenAI."""
        wanted: dict[str, object] = {"temperature": request.temperature,
                                     "max_completion_tokens": request.max_tokens}
        if not self.endpoint.is_openai:
            wanted["max_tokens"] = request.max_tokens
        if request.stop:
            wanted["stop"] = list(request.stop)
        return {name: value for name, value in wanted.items() if name not in self.dropped}

    def taken(self, key: str, request: Request, raw: str, response: Response, *, asked_at: str,
              seconds: float, request_id: str, via: str) -> tuple[Entry, float | None]:
        """Count a reply in the tally; return its entry and its dollars (None: unknown).

        Without the endpoint's count, tokens are an estimate and the dollars are the worst case.
        """
        tally, is_batch = self.calls.tally, via == "batch"
        n_in, n_out = response.prompt_tokens, response.completion_tokens
        if n_in is None or n_out is None:
            cost = self.budget.worst(most_tokens(request), request.max_tokens, is_batch)
            tally.estimated, tally.usd_estimated = tally.estimated + 1, tally.usd_estimated + cost
            n_in, n_out = estimate(request), len(response.text) // 4 + 1
        else:
            cost = self.budget.worst(n_in, n_out, is_batch)
        tally.new, self.n_replied = tally.new + 1, self.n_replied + 1
        tally.cut += response.finish_reason == "length"
        tally.prompt_tokens += n_in
        tally.completion_tokens += n_out
        self.reply_tokens += n_out
        return Entry(key, request.key(self.model), self.model, request.body,
                     self.endpoint.without_key(raw), response.prompt_tokens,
                     response.completion_tokens, response.finish_reason, seconds, asked_at,
                     self.endpoint.scrubbed(request_id), via), cost if self.budget.price else None

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
