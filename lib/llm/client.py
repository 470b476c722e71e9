"""Concurrent calls by openai's client, which repeats what read_wire calls worth it; batches."""

import asyncio
import json
import logging
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import aclosing, suppress
from itertools import islice
from typing import Any

import httpx2
import openai
from tqdm import tqdm

from lib.core.store import Stopped, tell
from lib.llm.cache import Cache, Sent
from lib.llm.calls import Calls, check_price, cost_usd, dollars
from lib.llm.request import Endpoint, Reply, Request, Waiting, most_tokens
from lib.llm.wire import FILTERED, Fault, dig, fault_of, is_shortened, read_wire, told

TIMEOUT_SECONDS = 600.0  # of one try, from sending to the complete reply
MOST_TRIES = 16  # of a call that is not charged: a minute and a half of waits
_CHARGED_TRIES = 3  # of a call that each try may cost
_MOST_BYTES = 32_000_000  # of a reply; of a file 1 GB
_ROOM_SECONDS = 60  # that replies wait in memory for room on the disk
POLL_SECONDS = 30.0  # between two looks at a batch
_MOST_REQUESTS, _MOST_UPLOADED = 50_000, 200_000_000  # OpenAI's limits of a batch; bytes
_LOOKS = 10  # at a batch that has ended, until all of its lines are there
_ENDED = ("completed", "failed", "expired", "cancelled", "never created", "unknown")


class _Http(openai.DefaultAioHttpClient):
    # openai's transport, bounded; its completions have the status that they mean: openai repeats
    # by it.
    async def send(self, request: httpx2.Request, **how: Any) -> httpx2.Response:
        got, body = httpx2.Response(503, request=request), bytearray()
        is_call = request.url.path.endswith("/chat/completions")
        try:
            async with (
                asyncio.timeout(TIMEOUT_SECONDS),
                aclosing(await super().send(request, stream=True)) as stream,
            ):
                async for part in stream.aiter_bytes():
                    body += part
                    if len(body) > (_MOST_BYTES if is_call else 2**30):
                        break
            stream._content = bytes(body)
            got = stream
            read = read_wire(got.status_code, _text(got))
        except Exception as error:
            read = fault_of(error)
        if isinstance(read, Fault) and is_call:
            got.status_code = read.status
        got.extensions["read"] = read
        return got


def _text(got: httpx2.Response) -> str:
    # JSON says what it is; only if it does not, the header does. A damaged reply is none.
    with suppress(UnicodeDecodeError):
        return got.content.decode(json.detect_encoding(got.content))
    return got.content.decode(got.encoding or "utf-8", "replace" if got.is_error else "strict")


def client(at: Endpoint) -> openai.AsyncOpenAI:
    """Return openai's client of an endpoint. It follows no redirect, so a key stays there."""
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # a line a call, with the address
    return openai.AsyncOpenAI(
        api_key=at.key,
        base_url=at.url,
        max_retries=MOST_TRIES,
        http_client=_Http(timeout=openai.Timeout(None, connect=30.0), follow_redirects=False),
    )


async def trouble(at: Endpoint) -> str:
    """Return why no call can succeed, as a request for the list of models tells, or ""."""
    async with client(at) as one:
        try:
            await one.with_options(max_retries=0).get("/models", cast_to=object)
        except openai.NotFoundError:  # it has no list
            return ""
        except openai.APIStatusError as error:
            return at.scrubbed(error.response.extensions["read"].stops)
    return ""


class Run:
    """One run over requests that are not cached, in the process whose turn it is.

    The Batch API has half the price; what it leaves unanswered is sent directly.

    `stopped` is why it ended early, else ""; `failed` has failed calls, as replies.
    """

    def __init__(self, at: Endpoint, model: str, calls: Calls, cache: Cache) -> None:
        self.at, self.model, self.calls, self.cache = at, model, calls, cache
        self.price = check_price(model, calls)
        self.room = asyncio.Semaphore(calls.concurrency)
        self.held = dict[str, float]()  # dollars: the worst cases of calls in flight
        self.charged = Counter[str]()  # tries that may be charged, by request
        self.dropped = {"attempt"}  # fields of a request that are not sent
        self.failed = dict[Request | None, Reply]()
        self.rows, self.usd = list[tuple](), 0.0  # for which the disk has no room
        self.stopped = ""

    def worst(self, requests: Waiting, batch: bool = False) -> float:
        """Return the most dollars that calls can cost."""
        return sum(
            cost_usd(self.price, most_tokens(one), one.max_tokens, batch)
            for one in requests.values()
        )

    def out_of_money(self, more: float) -> str:
        """Return why `more` dollars cannot be spent beside the calls in flight, or ""."""
        limit, spent = self.calls.max_cost_usd or math.inf, self.cache.spent(self.calls.stage)
        if spent + sum(self.held.values()) + more > limit:
            return (
                f"the next call could exceed max_cost_usd = {dollars(limit)} "
                f"({dollars(spent)} are spent over all runs): raise it"
            )
        return ""

    def book(self, usd: float, rows: Sequence[tuple] = ()) -> None:
        """Store `usd` and replies; while the disk is full, they wait in memory for later calls."""
        self.calls.tally.usd += usd
        self.rows += rows
        self.usd += usd
        try:
            self.cache.put(self.rows, self.calls.stage, self.usd)
            self.rows, self.usd = [], 0.0
        except Stopped as full:
            self.stop(str(full))

    def stop(self, reason: str) -> None:
        """Send nothing more; the first reason counts, and "" is none."""
        self.stopped = self.stopped or self.at.scrubbed(reason)

    def say(self, text: str) -> None:
        """Print a line about this model."""
        tell(f"{self.model}: {self.at.scrubbed(text)}")

    async def run(self, waiting: Waiting) -> None:
        """Send requests; each ends in the cache or in `failed`, unless the run is stopped.

        In mode "direct", batches of earlier runs are still collected: nothing is paid for twice.
        """
        self.task, self.open = asyncio.current_task(), waiting
        tally, mode = self.calls.tally, self.calls.mode
        self.say(
            f"{tally.asked:,} calls, {tally.cached:,} cached, {len(waiting):,} to send ({mode}); "
            f"at most {dollars(self.worst(waiting, mode == 'batch'))} (lib/llm/prices.csv)"
        )
        with tqdm(desc=self.model, unit="call", mininterval=1.0, total=len(waiting)) as self.bar:
            async with client(self.at) as self.client:
                try:
                    await self._ask_in_batches()
                except Exception as error:  # a batch that was sent is found by the next run
                    self.stop(
                        "the Batch API cannot be used: run the same command later, or set mode to "
                        f'"direct" ({str(error)[:300]})'
                    )
                await self._ask_directly(waiting)
        if self.rows:
            self.say(f"{len(self.rows)} replies wait for room, {_ROOM_SECONDS} s at most")
        for _ in range(_ROOM_SECONDS):
            if self.rows:
                await asyncio.sleep(1)
                self.book(0)
        if self.rows:
            self.stopped += f"; {len(self.rows)} replies of calls in flight are lost"

    async def _ask_directly(self, requests: Waiting) -> None:
        await asyncio.gather(*map(self._ask, requests, requests.values()))

    async def _ask(self, key: str, request: Request) -> None:
        async with self.room:
            try:
                while key in self.open and not self.stopped:
                    await self._try(key, request)
            except Exception as error:  # reported; other calls' replies are kept
                self.stop(str(error) or repr(error))
        self.bar.update()

    async def _try(self, key: str, request: Request) -> None:
        # Leaves the request in `open` if it is to be sent once more.
        worst, body, tally = self.worst({key: request}), self.body(request), self.calls.tally
        while (reason := self.out_of_money(worst)) and self.held:
            await asyncio.sleep(0.1)
        if reason:
            return self.stop(reason)
        self.held[key] = worst
        try:
            got = await self.client.post(
                "/chat/completions",
                cast_to=httpx2.Response,
                content=json.dumps(body).encode(),  # UTF-8 without lone surrogates
            )
        except openai.APIStatusError as error:
            got = error.response
        finally:
            del self.held[key]
        read = got.extensions["read"]
        if isinstance(read, Reply):
            return self.keep({key: read})
        if read.status < 300:  # perhaps charged
            tally.lost += 1
            self.book(worst)
            self.charged[key] += 1
            if read.status == 200 and self.charged[key] < _CHARGED_TRIES:
                return
        if (name := read.refuses) in body:
            if name not in self.dropped:
                self.say(f"the endpoint refuses {name}, which is not sent")
            return self.dropped.add(name)
        self.stop(read.stops)
        reason, is_filtered = self.at.scrubbed(read.reason), read.status == FILTERED
        self.failed[self.open.pop(key)] = Reply("", reason, "filtered" * is_filtered)
        tally.failed += not is_filtered
        self.stop(self.calls.failing(reason))

    def body(self, request: Request) -> dict[str, object]:
        """Return what is sent; the token limit has two names, one of which a server may refuse."""
        fields = json.loads(request.body) | {
            "model": self.model,
            "max_completion_tokens": request.max_tokens,
            "messages": [{"role": role, "content": content} for role, content in request.messages],
        }
        return {name: value for name, value in fields.items() if name not in self.dropped}

    def keep(self, replies: Mapping[str, Reply], batch: bool = False) -> None:
        """Count replies and store them, with their raw text and cost."""
        usd, rows, tally = 0.0, [], self.calls.tally
        for key, reply in replies.items():
            request = self.open.pop(key)
            n_in = reply.usage[0] or most_tokens(request)
            n_out = reply.usage[1] or request.max_tokens
            usd += cost_usd(self.price, n_in, n_out, batch)
            tally.new += 1
            tally.shortened += is_shortened(reply, request)
            tally.prompt_tokens += n_in
            tally.completion_tokens += n_out
            raw = self.at.without_key(reply.raw)
            rows.append((key, request.key(self.model), self.model, request.body, raw, None))
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
        while pool and most and not self.stopped:
            part = dict(pool[:most])
            if await self._has_room(part):
                del pool[:most]
            else:  # money, file or queue are full
                most = len(part) // 2

    async def _has_room(self, requests: Waiting) -> bool:
        # Sends a batch and waits for its end. False: send less.
        line = {"method": "POST", "url": "/v1/chat/completions"}
        text = "".join(
            json.dumps({**line, "custom_id": key, "body": self.body(one)}) + "\n"  # ASCII
            for key, one in requests.items()
        )
        if len(text) > _MOST_UPLOADED or self.out_of_money(self.worst(requests, batch=True)):
            return False
        file = await self.client.files.create(file=("r.jsonl", text.encode()), purpose="batch")
        batch = Sent([*requests], file.id)
        self.cache.keep_batch(batch)  # from here on, it is looked for
        # Not repeated: if only the answer is lost, a second batch would be paid for.
        created = await self.client.with_options(max_retries=0).batches.create(
            input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
        )
        batch.id = created.id
        self.cache.keep_batch(batch)
        self.say(f"batch {batch.id}: {len(requests):,} requests sent")
        return "token_limit_exceeded" not in await self._finish(batch)

    async def _finish(self, batch: Sent) -> str:
        # Waits until each line is a reply or an error, and the endpoint counts no more replies (a
        # batch that was not completed may have fewer lines); returns its errors.
        wanted, n_looks = self.open.keys() & batch.keys, 0
        while not self.stopped:
            state = await self._state(batch)
            if dig(state, "status") in _ENDED:
                n_looks += 1
                found = await self._lines(state)
                replies = {key: one for key, one in found.items() if isinstance(one, Reply)}
                new = {key: replies[key] for key in self.open.keys() & replies.keys()}
                self.keep(new, batch=True)
                self.bar.update(len(new))
                n_told = dig(state, "request_counts", "completed")
                n_missing = (len(batch.keys) if n_told is None else n_told) - len(replies)
                is_part = state["status"] != "completed" and n_missing <= 0
                lost = set() if is_part else wanted & self.open.keys() - found.keys()
                if not lost or n_looks == _LOOKS:
                    return self._ended(batch, wanted, lost, state)
            elif self.calls.mode == "direct":
                self.stop(
                    f"replies are still to come from batch {batch.id}: set mode to "
                    '"batch" to wait for it, or cancel it at the provider'
                )
            await asyncio.sleep(POLL_SECONDS)
        return ""

    async def _state(self, batch: Sent) -> Any:
        # As the endpoint says; a batch whose creation was not answered is looked for.
        if not batch.id:
            listed: Any = await self.client.get("/batches?limit=100", cast_to=object)
            ids = {one["input_file_id"]: one["id"] for one in listed["data"]}
            batch.id = ids.get(batch.file, "")
        if not batch.id:
            return {"status": "never created", "request_counts": {"completed": 0}}
        with suppress(openai.NotFoundError):
            return await self.client.get(f"/batches/{batch.id}", cast_to=object)
        return {"status": "unknown"}

    async def _lines(self, state: Any) -> dict[str, Reply | Fault]:
        # What a line says, by the key that it answers; an unreadable line, perhaps cut, is none.
        found: dict[str, Reply | Fault] = {}
        for file in filter(None, (dig(state, "error_file_id"), dig(state, "output_file_id"))):
            with suppress(openai.NotFoundError):  # for a minute
                data = (await self.client.files.content(file)).content
                for line in data.decode(errors="replace").split("\n"):  # a bad byte costs no line
                    read, keys = read_wire(200, line), {*re.findall(r'"custom_id": ?"(\w+)"', line)}
                    if len(keys) == 1 and (isinstance(read, Reply) or read.status >= 300):
                        key = keys.pop()
                        found[key] = read if isinstance(read, Reply) else found.get(key, read)
        return found

    def _ended(self, batch: Sent, wanted: set, lost: set, state: Any) -> str:
        # Forgets a batch, except what only other runs want; returns its errors.
        name = f"batch {batch.id or batch.file} ({state['status']})"
        if lost and self.calls.mode == "batch":
            self.stop(
                f"{len(lost):,} of {len(batch.keys):,} lines of {name} are neither a reply nor an "
                'error: run the same command later, or set mode to "direct" to send them again '
                "at the full price"
            )
        if self.stopped:  # also by a full disk
            return ""
        if state["status"] == "cancelled":  # nothing is sent at the full price unasked
            self.stop(f"{name} has no more replies: the same command sends the rest in another")
        self.calls.tally.lost += len(lost)
        self.book(self.worst({key: self.open[key] for key in lost}, batch=True))
        batch.keys = [key for key in batch.keys if key not in wanted]
        self.cache.keep_batch(batch)
        errors = " ".join(told(state, ("code", "message")))
        self.say(
            f"{name}: {len(wanted & self.open.keys()):,} of {len(wanted):,} without reply; "
            f"{errors[:200]}"
        )
        return errors
