"""Concurrent calls by openai's client, which repeats what read_wire calls worth it."""

import asyncio
import json
import logging
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from contextvars import ContextVar
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import partial
from typing import Any

import httpx2
import openai
from tqdm import tqdm

from lib.core.store import Stopped, tell
from lib.llm.cache import Cache
from lib.llm.calls import Calls, check_price, cost_usd, dollars
from lib.llm.request import Endpoint, Reply, Request, Waiting, most_tokens, upper_bound
from lib.llm.wire import (
    FILTERED,
    LIMITS,
    MOST_TRIES,
    Fault,
    decoded,
    fault_of,
    is_shortened,
    read_wire,
)

TIMEOUT_SECONDS = 600.0  # of one try, from sending to the complete reply
_MOST_BYTES = 32_000_000  # of a reply; of a file 1 GB
_ROOM_SECONDS = 60  # that replies wait in memory for room on the disk
# Whether a call is repeated after a fault and so many tries.
_AGAIN: ContextVar[Callable[[Fault, int], bool] | None] = ContextVar("again", default=None)


class _Http(openai.DefaultAioHttpClient):
    # openai's transport, with bounded responses that read_wire has read.
    async def send(self, request: httpx2.Request, **how: Any) -> httpx2.Response:
        is_again = _AGAIN.get()
        got, body = httpx2.Response(503, request=request), bytearray()
        try:
            async with (
                asyncio.timeout(TIMEOUT_SECONDS),
                aclosing(await super().send(request, stream=True)) as stream,
            ):
                async for part in stream.aiter_bytes():
                    body += part
                    if len(body) > (_MOST_BYTES if is_again else 2**30):
                        break
            stream._content = bytes(body)
            is_strict = is_again and stream.is_success  # what is damaged is asked for again
            text = decoded(stream.content, stream.charset_encoding) if is_strict else stream.text
            read, got = read_wire(stream.status_code, text), stream
        except Exception as error:
            read = fault_of(error)
        if is_again and isinstance(read, Fault):
            n_tries = 1 + int(request.headers["x-stainless-retry-count"])
            # openai repeats calls with the former, after a wait that the headers may name
            got.status_code = 500 if is_again(read, n_tries) else 200
        got.headers.pop("x-should-retry", None)
        got.extensions["read"] = read
        return got


def client(at: Endpoint) -> openai.AsyncOpenAI:
    """Return openai's client of an endpoint. It follows no redirect, so a key stays there."""
    for name in ("openai", "httpx2", "httpcore2", "aiohttp"):
        logging.getLogger(name).setLevel(logging.WARNING)  # their debug lines show the address
    http = _Http(timeout=openai.Timeout(None, connect=30.0), follow_redirects=False)
    return openai.AsyncOpenAI(
        api_key=at.key, base_url=at.url, max_retries=MOST_TRIES, http_client=http
    )


async def trouble(at: Endpoint, models: Iterable[str] = ()) -> str:
    """Return why no call of `models` can succeed, as the endpoint's list of models tells, or ""."""
    if reason := at.proxy_trouble():
        return reason
    async with client(at) as one:
        _AGAIN.set(lambda *_: False)
        got = await one.get("/models", cast_to=httpx2.Response)
    read = got.extensions["read"]
    listed = re.findall(r'"id": ?"(?:[^"]*/)?([^"/]+)"', got.text)
    for name in {model.rpartition("/")[2] for model in models} - {*listed}:
        for close in get_close_matches(name, listed, 1, 0.8):  # others can be unlisted
            reason = f"the endpoint has no model {name!r}: did you mean {close!r}?"
    if isinstance(read, Fault) and read.status != 404:  # 404: it has no list
        told = read.reason if re.search("a web page|connection", read.reason) else reason
        reason = read.stops.format(model="") or told
    return at.scrubbed(reason)


def reason_of(error: Exception) -> str:
    """Return the reason that an error has, in the endpoint's own words if there are any."""
    if isinstance(error, openai.APIStatusError):
        read, after = error.response.extensions["read"], error.response.headers.get("retry-after")
        wait = f"; the endpoint asks for a wait (retry-after: {after})" * bool(after)
        return f"{read.stops or read.reason}{wait}"
    return str(error) or type(error).__name__


class Run:
    """One run over requests that are not cached, in the process whose turn it is.

    `stopped` is why it ended early, else ""; `failed` has failed calls by key, as replies.
    """

    client: openai.AsyncOpenAI
    bar: tqdm
    task: Any
    open: Waiting  # those without a reply or an error so far

    def __init__(self, at: Endpoint, model: str, calls: Calls, cache: Cache) -> None:
        self.at, self.model, self.calls, self.cache = at, model, calls, cache
        self.price = check_price(model, calls)
        if reason := at.proxy_trouble():
            raise Stopped(reason)
        self.held = dict[str, float]()  # dollars: the worst cases of calls in flight
        self.dropped, self.said = set[str](), set[str]()  # parameters; what was printed
        self.failed = dict[str, Reply]()
        self.unwritten = list[tuple]()  # replies and dollars for which the disk has no room
        self.stopped = ""
        if self.price is None:
            calls.tally.usd = None  # unknown from the first call on, not $0

    def plan(self, waiting: Waiting, n_requests: int) -> str:
        """Return a line on calls, the route they take, and dollars."""
        is_batch = self.calls.mode == "batch"
        most = self.worst(waiting, is_batch) if self.price else None
        return (
            f"{self.model}: {n_requests:,} calls, {n_requests - len(waiting):,} cached, "
            f"{len(waiting):,} to send ({'in batches' if is_batch else 'directly'}); at most "
            f"{dollars(most)} (lib/llm/prices.csv)"
        )

    def worst(self, requests: Waiting, batch: bool = False) -> float:
        """Return the most dollars that calls can cost; 0 without a price."""
        return sum(
            cost_usd(self.price, most_tokens(one), one.max_tokens, batch)
            for one in requests.values()
        )

    def out_of_money(self, more: float = 0.0) -> str:
        """Return why `more` dollars cannot be spent beside the calls in flight, or ""."""
        limit, spent = self.calls.max_cost_usd or math.inf, self.cache.spent(self.calls.stage)
        if spent + sum(self.held.values()) + more <= limit:
            return ""
        return (
            f"the next call could exceed max_cost_usd = {dollars(limit)} "
            f"({dollars(spent)} are spent over all runs): raise it"
        )

    def book(self, usd: float, rows: Sequence[Sequence] = ()) -> None:
        """Store `usd` and replies; they stay in memory as long as the disk is full."""
        self.unwritten.append((rows, self.calls.stage, usd))
        try:
            while self.unwritten:
                self.cache.put(*self.unwritten[0])
                if self.calls.tally.usd is not None:
                    self.calls.tally.usd += self.unwritten[0][-1]
                del self.unwritten[0]
        except Stopped as full:
            self.say(f"replies wait in memory for {_ROOM_SECONDS} s: {full}")
            self.stop(str(full))

    def stop(self, reason: str) -> None:
        """Send nothing more; the first reason counts, and "" is none."""
        self.stopped = self.stopped or self.at.scrubbed(reason)

    def say(self, text: str) -> None:
        """Print a line about this model, once."""
        if text not in self.said:
            tell(f"{self.model}: {self.at.scrubbed(text)}")
        self.said.add(text)

    async def run(self, waiting: Waiting) -> None:
        """Ask with a client and a bar of its own."""
        self.task, self.open = asyncio.current_task(), waiting
        with tqdm(desc=self.model, unit="call", mininterval=1.0, total=len(waiting)) as self.bar:
            async with client(self.at) as self.client:
                await self.ask(waiting)

    async def ask(self, waiting: Waiting) -> None:
        """Send every request; each ends in the cache or in `failed`, unless the run is stopped."""
        room = asyncio.Semaphore(self.calls.concurrency)

        async def ask_one(key: str, request: Request) -> None:
            async with room:
                try:
                    await self._ask_one(key, request)
                except Exception as error:  # reported; other calls' replies are kept
                    self.stop(reason_of(error))
                self.bar.update()

        await asyncio.gather(*(ask_one(key, request) for key, request in waiting.items()))
        for _ in range(_ROOM_SECONDS):
            if self.unwritten:
                await asyncio.sleep(1)
                self.book(0)
        if n := sum(len(rows) for rows, *_ in self.unwritten):
            self.stopped += f"; {n} replies of calls in flight could not be written and are lost"

    async def _ask_one(self, key: str, request: Request) -> None:
        worst, body = self.worst({key: request}), self.body(request)
        while (reason := self.out_of_money(worst)) and self.held:
            await asyncio.sleep(0.1)
        self.stop(reason)
        if self.stopped:
            return
        self.held[key] = worst
        _AGAIN.set(partial(self._is_again, worst))
        try:
            got = await self.client.post(
                "/chat/completions",
                cast_to=httpx2.Response,
                content=json.dumps(body).encode(),  # UTF-8 without lone surrogates
            )
        finally:
            del self.held[key]
        read = got.extensions["read"]
        if isinstance(read, Reply):
            self.keep({key: request}, {key: read})
            return
        name = read.unsupported(body)
        if name and not {name, *self.dropped} >= LIMITS:  # one of the limits is always sent
            self.say(f"the endpoint refuses {name}, which is not sent")
            self.dropped.add(name)
            await self._ask_one(key, request)
        elif not self.stopped:
            reason, is_filtered = self.at.scrubbed(read.reason), read.status == FILTERED
            del self.open[key]
            self.failed[key] = Reply("", reason, "filtered" * is_filtered)
            self.calls.tally.failed += not is_filtered
            self.calls.tally.unserved += read.tries > 1
            self.stop(self.calls.failing(reason))

    def _is_again(self, worst: float, fault: Fault, n_tries: int) -> bool:
        # Counts a try that may be charged.
        tally = self.calls.tally
        if fault.status < 300:
            tally.lost += 1
            self.book(worst)
            self.stop(self.out_of_money())
        if fault.status != 403 or not tally.new + tally.cached:  # some gateways filter a prompt so
            self.stop(fault.stops.format(model=self.model))
        if n_tries >= fault.tries or self.stopped:
            return False
        self.say(f"{fault.reason.partition(':')[0]}; such calls are repeated")
        return True

    def body(self, request: Request) -> dict[str, object]:
        """Return what is sent; the token limit has two names, one of which a server may refuse."""
        fields = json.loads(request.body) | {
            "model": self.model,
            "max_completion_tokens": request.max_tokens,
            "messages": [{"role": role, "content": content} for role, content in request.messages],
        }
        left_out = {"attempt", *self.dropped}
        return {name: value for name, value in fields.items() if name not in left_out}

    def keep(self, requests: Waiting, found: Mapping[str, Reply], batch: bool = False) -> None:
        """Count replies and store them, with their raw text and cost."""
        now, usd, rows = datetime.now(UTC).isoformat(timespec="milliseconds"), 0.0, []
        tally = self.calls.tally
        for key, request in requests.items():
            del self.open[key]
            reply = found[key]
            n_in = reply.usage[0] or most_tokens(request)
            n_out = reply.usage[1] or max(request.max_tokens, upper_bound(reply.text))
            usd += cost_usd(self.price, n_in, n_out, batch)
            if is_shortened(reply, request):
                tally.shortened += 1
                self.say("only a part of a longer prompt was read: raise the context window")
            tally.new += 1
            tally.unserved = 0
            tally.prompt_tokens += n_in
            tally.completion_tokens += n_out
            raw = self.at.without_key(reply.raw)
            rows.append((key, request.key(self.model), self.model, request.body, raw, now))
        self.book(usd, rows)
        self.stop(self.calls.failing())
