"""Concurrent calls by openai's client, which repeats what read_wire calls worth it."""

import asyncio
import json
import logging
import re
import time
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from contextvars import ContextVar
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Any

import httpx2
import openai

from lib.core.store import Stopped
from lib.llm.budget import Budget, cost_usd
from lib.llm.cache import Cache, Entry
from lib.llm.calls import Calls
from lib.llm.request import Endpoint, Reply, Request, Waiting, most_tokens, upper_bound
from lib.llm.wire import (
    MOST_THROTTLED,
    Fault,
    fault_of,
    is_shortened,
    printable,
    read_wire,
    settled,
)

TIMEOUT_SECONDS = 600.0  # of one try, from sending to the complete reply
WORTH_SAYING = 10.0  # seconds of a wait
_PATIENCE = 3600.0  # seconds of one call with all its tries
_ROOM_SECONDS = 60  # that replies wait in memory for room on the disk
# Of a call: its run, the dollars and bytes that a try may take, and when it has lasted too long.
_CALL: ContextVar[tuple[Any, float, int, float]] = ContextVar("call", default=(None, 0, 2**30, 0))


class _Http(openai.DefaultAioHttpClient):
    # openai's transport, with bounded responses that read_wire has read.
    async def send(self, request: httpx2.Request, **how: Any) -> httpx2.Response:
        run, worst, most, end = _CALL.get()
        while run and not run.stopped and (wait := run.next - time.monotonic()) > 0:
            await asyncio.sleep(min(wait, 1.0))
        is_last = run and run.stopped
        read: Any = Fault("not sent")
        got = httpx2.Response(500, request=request)
        try:
            if not is_last:
                got = await self._fetch(request, most)
                read = read_wire(got.status_code, got.headers, got.text)
        except Exception as error:
            if not run:
                raise
            read = fault_of(error)
        if run and isinstance(read, Fault):
            n_tries = 1 + int(request.headers["x-stainless-retry-count"])
            is_last = is_last or time.monotonic() > end or not run.judge(read, worst, n_tries)
            got.status_code = 500
            got.headers = httpx2.Headers({"x-should-retry": str(not is_last).lower()})
        got.extensions["read"] = read
        return got

    async def _fetch(self, request: httpx2.Request, most: int) -> httpx2.Response:
        body = bytearray()
        async with asyncio.timeout(TIMEOUT_SECONDS):
            async with aclosing(await super().send(request, stream=True)) as got:
                async for part in got.aiter_bytes():
                    body += part
                    if len(body) > most:
                        print("a reply that is too long is cut off", flush=True)
                        break
        got._content = bytes(body)
        return got


def client(at: Endpoint) -> openai.AsyncOpenAI:
    """Return openai's client of an endpoint. It follows no redirect, so a key stays there."""
    for name in ("openai", "httpx2", "httpcore2", "aiohttp"):
        logging.getLogger(name).setLevel(logging.WARNING)  # their debug lines show the address
    http = _Http(
        timeout=openai.Timeout(None, connect=30.0),
        follow_redirects=False,
    )
    return openai.AsyncOpenAI(
        api_key=at.key, base_url=at.url, max_retries=MOST_THROTTLED, http_client=http
    )


async def trouble(at: Endpoint, models: Iterable[str] = ()) -> str:
    """Return why no call of `models` can succeed, as the endpoint's list of models tells, or ""."""
    said = ""
    async with client(at) as one:
        try:
            got = await one.with_options(max_retries=0).get("/models", cast_to=httpx2.Response)
            read = got.extensions["read"]
            listed = re.findall(r'"id": ?"(?:[^"]*/)?([^"/]+)"', got.text)
            for name in {model.rpartition("/")[2] for model in models} - {*listed}:
                for close in get_close_matches(name, listed, 1, 0.8):  # others can be unlisted
                    said = f"the endpoint has no model {name!r}: did you mean {close!r}?"
        except Exception as error:
            read = read_error(error)
    reason = read.reason * bool(re.search("page|connection", read.reason))
    said = read.stops.format(model="") or reason or said
    return at.scrubbed(said) * (read.status != 404)  # no list


def read_error(error: BaseException) -> Fault:
    """Return what an error of the client means, in the endpoint's own words if there are any."""
    if isinstance(error, openai.APIStatusError):
        return error.response.extensions["read"]
    return fault_of(error)


class Direct(Budget):
    """One run over requests that are not cached, with openai's `client` and a `bar`.

    `stopped` is why it ended early, else ""; `failed` has failed calls by key, as replies.
    """

    client: openai.AsyncOpenAI
    bar: Any
    loop: Any
    task: Any

    def __init__(self, at: Endpoint, model: str, calls: Calls, cache: Cache) -> None:
        super().__init__(model, calls, cache)
        self.at = at
        self.dropped = set[str]()  # parameters that the endpoint refuses
        self.failed = dict[str, Reply]()
        self.unwritten = list[tuple]()  # replies for which the disk has no room
        self.next = 0.0  # when the endpoint is to be asked again, on the monotonic clock
        self.stopped = ""

    def stop(self, reason: str) -> None:
        """Send nothing more; the first reason counts, and "" is none."""
        self.stopped = self.stopped or reason

    def say(self, text: str) -> None:
        """Print a line about this model."""
        print(f"{self.model}: {text}", flush=True)

    def told(self, error: Exception) -> str:
        """Return what to tell of an error, without key and address."""
        if isinstance(error, Stopped):
            return str(error)
        fault = read_error(error)
        return self.at.scrubbed(fault.stops.format(model=self.model) or fault.reason)

    async def run(self, requests: Sequence[Request]) -> None:
        """Ask with a client and a bar of its own."""
        from tqdm import tqdm

        self.loop, self.task = asyncio.get_running_loop(), asyncio.current_task()
        with tqdm(desc=self.model, unit="call", mininterval=1.0, total=len(requests)) as self.bar:
            async with client(self.at) as self.client:
                await self.ask({one.key(self.model, self.at.url): one for one in requests})

    async def ask(self, waiting: Waiting) -> None:
        """Send every request; each ends in the cache or in `failed`, unless the run is stopped."""
        room = asyncio.Semaphore(self.calls.concurrency)

        async def ask_one(key: str, request: Request) -> None:
            async with room:
                try:
                    await self._ask(key, request)
                except Exception as error:  # reported; other calls' replies are kept
                    self.stop(self.told(error))
                self.bar.update()

        await asyncio.gather(*(ask_one(key, request) for key, request in waiting.items()))
        for _ in range(_ROOM_SECONDS):
            if self.unwritten:
                await asyncio.sleep(1)
                self.write()
        if n := sum(len(entries) for *_, entries in self.unwritten):
            self.stopped += f"; {n} replies of calls in flight could not be written and are lost"

    async def _ask(self, key: str, request: Request) -> None:
        worst, start = self.worst(request), time.time()
        most = min(32_000_000, 1_000_000 + 256 * request.max_tokens)  # a token may be long
        while not self.stopped:
            if not await self.reserve(worst):
                return self.stop(self.out_of_money())
            body, left_out = self.body(request), " ".join(sorted(self.dropped))
            _CALL.set((self, worst, most, time.monotonic() + _PATIENCE))
            try:
                got = await self.client.post(
                    "/chat/completions",
                    cast_to=httpx2.Response,
                    content=json.dumps(body).encode(),  # UTF-8 without lone surrogates
                )
            except openai.APIStatusError as error:
                got = error.response
            read = got.extensions["read"]
            if isinstance(read, Reply):
                row = (key, request, read, got.text, got.headers.get("x-request-id"), start)
                return self.keep([row], worst, left_out)
            self.settle(worst, 0.0)
            if name := read.unsupported(body):  # repeat the call, and send later ones, without it
                if name not in self.dropped:
                    self.say(f"the endpoint refuses {name}, which is not sent")
                self.dropped.add(name)
            elif not self.stopped:
                reason = self.at.scrubbed(read.reason)
                self.failed[key] = Reply("", reason, read.kind)
                if read.kind != "filtered":
                    self.calls.tally.failed += 1
                    self.calls.tally.unserved += read.tries > 1
                    self.stop(self.calls.failing(reason))
                return None
        return None

    def judge(self, fault: Fault, worst: float, n_tries: int) -> bool:
        """Return whether a call is worth another try; count a try that may be charged."""
        tally, until = self.calls.tally, time.monotonic() + fault.wait
        if fault.is_maybe_paid:
            self.settle(worst, self.lost(worst), self.calls.run)
            self.stop("" if self.hold(worst, self.calls.run) else self.out_of_money())
        if fault.status != 403 or not tally.new + tally.cached:  # some gateways filter a prompt so
            self.stop(self.at.scrubbed(fault.stops.format(model=self.model)))
        if fault.tries > 1 and until > self.next + WORTH_SAYING:
            reason = self.at.scrubbed(fault.reason).partition(":")[0]
            self.say(f"{reason}; such calls are repeated, after {fault.wait:.0f} s")
        self.next = max(self.next, until)
        return n_tries < fault.tries and not self.stopped

    def body(self, request: Request) -> dict[str, object]:
        """Return what is sent; the token limit has two names, except for OpenAI."""
        limit = request.max_tokens
        fields = {
            "model": self.model,
            "temperature": request.temperature,
            "messages": [{"role": role, "content": content} for role, content in request.messages],
            "max_completion_tokens": limit,
            "max_tokens": limit,
            "stop": request.stop,
        }
        left_out = {*self.dropped, "max_tokens" * self.at.is_openai, "" if request.stop else "stop"}
        return {name: value for name, value in fields.items() if name not in left_out}

    def keep(self, rows: Sequence[tuple], worst: float, left_out: str, batch: str = "") -> None:
        """Count replies, store them and settle the `worst` case that was reserved for them.

        Each row: key, request, reply, its raw text, id, time of the request.
        """
        usd, entries = 0.0, []
        for key, request, reply, raw, request_id, start in rows:
            usd += self._counted(request, settled(reply, request), bool(batch))
            entries.append(
                Entry(  # type: ignore[call-arg]  # usage is a pair
                    key,
                    request.key(self.model),
                    self.model,
                    request.body,
                    self.at.without_key(raw),
                    *reply.usage,
                    reply.finish_reason,
                    time.time() - start,
                    datetime.fromtimestamp(start, UTC).isoformat(timespec="milliseconds"),
                    self.at.scrubbed(printable(request_id)),
                    "batch" if batch else "direct",
                    left_out,
                )
            )
        self.unwritten.append((worst, usd, batch, entries))
        self.write()

    def write(self) -> None:
        """Store the replies that are not stored yet; they stay in memory if the disk is full."""
        try:
            while self.unwritten:
                self.settle(*self.unwritten[0])
                del self.unwritten[0]
        except Stopped as full:
            if not self.stopped:
                self.say(f"replies wait in memory for {_ROOM_SECONDS} s: {full}")
            self.stop(str(full))

    def _counted(self, request: Request, reply: Reply, is_batch: bool) -> float:
        tally, (n_in, n_out) = self.calls.tally, reply.usage
        if is_shortened(reply, request):
            if not tally.shortened:
                self.say(f"{n_in:,} tokens of a longer prompt were read: raise the context window")
            tally.shortened += 1
        is_estimate = n_in is None or n_out is None
        if n_in is None or n_out is None:
            n_in = most_tokens(request)
            n_out = max(request.max_tokens, upper_bound(reply.text), n_out or 0)
        usd = cost_usd(self.price, n_in, n_out, is_batch)
        tally.usd_estimated += usd * is_estimate
        tally.new += 1
        tally.cut += reply.kind == "cut"
        tally.prompt_tokens += n_in
        tally.completion_tokens += n_out
        self.stop(self.calls.useless(request.max_tokens))
        return usd
