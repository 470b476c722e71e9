"""Concurrent calls by openai's client, which repeats what read_wire calls worth it; batches."""

import asyncio
import json
import logging
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import partial
from itertools import islice
from typing import Any

import httpx2
import openai
from tqdm import tqdm

from lib.core.store import Stopped, tell
from lib.llm.cache import Cache, Sent
from lib.llm.calls import Calls, check_price, cost_usd, dollars
from lib.llm.request import Endpoint, Reply, Request, Waiting, most_tokens, upper_bound
from lib.llm.wire import (
    FILTERED,
    LIMITS,
    MOST_TRIES,
    Fault,
    decoded,
    dig,
    fault_of,
    is_shortened,
    read_wire,
    told,
)

TIMEOUT_SECONDS = 600.0  # of one try, from sending to the complete reply
_MOST_BYTES = 32_000_000  # of a reply; of a file 1 GB
_ROOM_SECONDS = 60  # that replies wait in memory for room on the disk
POLL_SECONDS = 30.0  # between two looks at a batch
_MOST_REQUESTS, _MOST_UPLOADED = 50_000, 200_000_000  # OpenAI's limits of a batch; bytes
_LOOKS = 10  # at a batch that has ended, until all of its lines are there
_PARTLY = ("failed", "expired", "cancelled", "never created")  # with some lines or none
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
    if isinstance(read, Reply) or read.status == 404:  # it has no list
        return ""
    if read.stops or re.search("a web page|connection", read.reason):
        return at.scrubbed(read.stops or read.reason)
    listed = re.findall(r'"id": ?"(?:[^"]*/)?([^"/]+)"', got.text)
    for name in {model.rpartition("/")[2] for model in models} - {*listed}:
        for close in get_close_matches(name, listed, 1, 0.8):  # others can be unlisted
            return at.scrubbed(f"the endpoint has no model {name!r}: did you mean {close!r}?")
    return ""


def reason_of(error: Exception) -> str:
    """Return the reason that an error has, in the endpoint's own words if there are any."""
    if isinstance(error, openai.APIStatusError):
        read, after = error.response.extensions["read"], error.response.headers.get("retry-after")
        wait = f"; the endpoint asks for a wait (retry-after: {after})" * bool(after)
        return f"{read.stops or read.reason}{wait}"
    return str(error) or type(error).__name__


class Run:
    """One run over requests that are not cached, in the process whose turn it is.

    The Batch API has half the price; what it leaves unanswered is sent directly.

    `stopped` is why it ended early, else ""; `failed` has failed calls, as replies.
    """

    def __init__(self, at: Endpoint, model: str, calls: Calls, cache: Cache) -> None:
        self.at, self.model, self.calls, self.cache = at, model, calls, cache
        self.price = check_price(model, calls)
        if reason := at.proxy_trouble():
            raise Stopped(reason)
        self.held = dict[str, float]()  # dollars: the worst cases of calls in flight
        self.dropped, self.said = set[str](), set[str]()  # parameters; what was printed
        self.failed = dict[Request | None, Reply]()
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
        if self.calls.tally.usd is not None:
            self.calls.tally.usd += usd
        try:
            while self.unwritten:
                self.cache.put(*self.unwritten[0])
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
        """Send requests; each ends in the cache or in `failed`, unless the run is stopped.

        In mode "direct", batches of earlier runs are still collected: nothing is paid for twice.
        """
        self.task, self.open = asyncio.current_task(), waiting
        with tqdm(desc=self.model, unit="call", mininterval=1.0, total=len(waiting)) as self.bar:
            async with client(self.at) as self.client:
                try:
                    await self._ask_in_batches()
                except openai.NotFoundError:
                    self.stop('the endpoint has no Batch API: set mode to "direct"')
                except Exception as error:  # a batch that was sent is found by the next run
                    reason = reason_of(error)
                    self.stop(f"what the endpoint says of a batch cannot be used: {reason}")
                await self._ask_directly(waiting)

    async def _ask_directly(self, requests: Waiting) -> None:
        room = asyncio.Semaphore(self.calls.concurrency)

        async def ask_one(key: str, request: Request) -> None:
            async with room:
                try:
                    await self._ask_one(key, request)
                except Exception as error:  # reported; other calls' replies are kept
                    self.stop(reason_of(error))
                self.bar.update()

        await asyncio.gather(*(ask_one(key, request) for key, request in requests.items()))
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
            self.failed[request] = Reply("", reason, "filtered" * is_filtered)
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
            self.stop(fault.stops)
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

    async def _ask_in_batches(self) -> None:
        for batch in self.cache.batches():  # of earlier runs
            if self.open.keys() & batch.keys:
                self.say(f"batch {batch.id} of an earlier run: waiting for its replies")
                await self._finish(batch)
        if self.calls.mode == "direct":
            return
        # One is sent directly, to notice a wrong model now, not after a day.
        await self._ask_directly(dict(islice(self.open.items(), 1)))
        pool, most = [*self.open.items()], _MOST_REQUESTS
        while pool and not self.stopped:
            part = dict(pool[:most])
            if await self._has_room(part):
                del pool[: len(part)]
            else:  # money, file or queue are full
                most = max(1, len(part) // 2)

    def _line(self, key: str, request: Request) -> str:
        fields = {"custom_id": key, "method": "POST", "body": self.body(request)}
        return json.dumps(fields | {"url": "/v1/chat/completions"}) + "\n"  # ASCII

    async def _has_room(self, requests: Waiting) -> bool:
        # Sends a batch and waits for its end. False: send less.
        text = "".join(map(self._line, requests, requests.values()))
        batch, is_last = Sent([*requests]), len(requests) == 1
        reason = self.out_of_money(self.worst(requests, batch=True))
        if len(text) > _MOST_UPLOADED or reason:
            self.stop(reason * is_last)
            return False
        self.cache.keep_batch(batch)  # from here on, it is looked for
        file = await self.client.files.create(file=("r.jsonl", text.encode()), purpose="batch")
        # Not repeated: if only the answer is lost, a second batch would be paid for.
        created = await self.client.with_options(max_retries=0).batches.create(
            input_file_id=file.id,
            endpoint="/v1/chat/completions",
            completion_window="24h",
            metadata={"digest": batch.digest},
        )
        batch.id = created.id
        self.cache.keep_batch(batch)
        self.say(f"batch {batch.id}: {len(requests):,} requests sent")
        return is_last or "token_limit_exceeded" not in await self._finish(batch)

    async def _finish(self, batch: Sent) -> str:
        # Waits until each of its lines is a stored reply or a named error; returns its errors.
        wanted, n_looks = self.open.keys() & batch.keys, 0
        while not self.stopped:
            state = await self._state(batch)
            if (status := dig(state, "status")) in ("completed", "unknown", *_PARTLY):
                n_looks += 1
                found = await self._lines(state)
                replies = {key: one for key, one in found.items() if isinstance(one, Reply)}
                new = {key: self.open[key] for key in wanted & self.open.keys() & replies.keys()}
                self.keep(new, replies, batch=True)
                self.bar.update(len(new))
                n_told = dig(state, "request_counts", "completed")
                lost = wanted & self.open.keys() - found.keys()
                if status in _PARTLY and not (isinstance(n_told, int) and len(replies) < n_told):
                    lost = set()
                if not lost or n_looks == _LOOKS:
                    return self._ended(batch, wanted, lost, state, found)
            elif self.calls.mode == "direct":
                self.stop(
                    f"replies are still to come from batch {batch.id}: set mode to "
                    '"batch" to wait for it, or cancel it at the provider'
                )
                return ""
            await asyncio.sleep(POLL_SECONDS)
        return ""

    async def _state(self, batch: Sent) -> Any:
        # As the endpoint says; a batch whose creation was not answered is looked for.
        if not batch.id:
            listed: Any = await self.client.get("/batches?limit=100", cast_to=object)
            for one in listed["data"]:
                if batch.digest in str(dig(one, "metadata")):
                    batch.id = str(dig(one, "id"))
        if not batch.id:
            return {"status": "never created"}
        with suppress(openai.NotFoundError):
            return await self.client.get(f"/batches/{batch.id}", cast_to=object)
        return {"status": "unknown"}

    async def _lines(self, state: Any) -> dict[str, Reply | Fault]:
        # What a line says, by the key that it answers; an unreadable line, perhaps cut, is none.
        found: dict[str, Reply | Fault] = {}
        for file in (dig(state, "error_file_id"), dig(state, "output_file_id")):
            data = b""
            with suppress(openai.NotFoundError):  # for a minute
                if file:
                    data = (await self.client.files.content(str(file))).content
            for line in data.decode(errors="replace").split("\n"):  # one bad byte costs no line
                read, keys = read_wire(200, line), re.findall(r'"custom_id": ?"(\w+)"', line)
                is_named = isinstance(read, Reply) or read.status >= 300
                if is_named and len(keys) == 1 and not isinstance(found.get(keys[0]), Reply):
                    found[keys[0]] = read
        return found

    def _ended(self, batch: Sent, wanted: set, lost: set, state: Any, found: dict) -> str:
        # Forgets a batch, except what only other runs want; returns its errors.
        name, is_cancelled = f"batch {batch.id or batch.digest}", state["status"] == "cancelled"
        missing = wanted & self.open.keys() if is_cancelled else lost
        if missing and self.calls.mode == "batch":
            later = "" if is_cancelled else "run the same command later, or "
            self.stop(
                f"{len(missing):,} of {len(batch.keys):,} lines of {name} ({state['status']}) are "
                f"neither a reply nor an error: {later}set mode to "
                '"direct" to send them again at the full price'
            )
        if self.stopped:  # also by a full disk
            return ""
        self.calls.tally.lost += len(lost)
        self.book(self.worst({key: self.open[key] for key in lost}, batch=True))
        batch.keys = [key for key in batch.keys if key not in wanted]
        self.cache.keep_batch(batch)
        faults = {read.reason for read in found.values() if isinstance(read, Fault)}
        errors = " ".join([*told(state, ("code", "message")), *sorted(faults)])
        self.say(
            f"{name} ({state['status']}): {len(wanted & self.open.keys()):,} of {len(wanted):,} "
            f"without reply; {errors[:200]}"
        )
        return errors
