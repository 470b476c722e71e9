"""Concurrent calls by openai's client, which repeats what read_wire calls worth it; batches."""

import asyncio
import json
import logging
import re
from collections.abc import Iterable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import httpx2
import openai
from tqdm import tqdm

from lib.core.store import Stopped, shown, tell
from lib.llm.cache import Cache, Sent
from lib.llm.calls import Calls, check_price, cost_usd, dollars
from lib.llm.request import Endpoint, Reply, Request, Waiting, key_of, most_tokens
from lib.llm.wire import Fault, dig, fault_of, is_shortened, read_wire, told

TIMEOUT_SECONDS = 600.0  # of one try, from sending to the complete reply
MOST_TRIES = 16  # of a call that is not charged: a minute and a half of waits
_CHARGED_TRIES = 3  # of a call that each try may cost
_FILTERED = 451  # the status of a refused prompt, which says nothing about other prompts
_MOST_BYTES = 32_000_000  # of a reply; of a file 1 GB
_ROOM_SECONDS = 60  # that a reply waits in memory for room on the disk
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


async def trouble(at: Endpoint, models: set[str]) -> str:
    """Return why no call can succeed, as a request for the list of models tells, or "".

    Prints which of `models` are not in the list: some endpoints have more than they list.
    """
    async with client(at) as one:
        try:
            got = await one.with_options(max_retries=0).get("/models", cast_to=object)
        except openai.NotFoundError:  # it has no list
            return ""
        except openai.APIStatusError as error:
            return at.scrubbed(error.response.extensions["read"].stops)
    listed = {*told(got, ("id",))}
    for model in models - listed if listed else ():
        tell(
            f"{model} is not in the endpoint's list of models, of which the most alike are "
            f"{', '.join(get_close_matches(model, listed, 3, 0))}"
        )
    return ""


@dataclass
class Run:
    """One run over requests that are not cached, in the process whose turn it is.

    The Batch API has half the price; what it leaves unanswered is sent directly.
    """

    at: Endpoint
    model: str
    calls: Calls
    cache: Cache
    open: Waiting  # requests without a reply
    failed: dict[Request | None, Reply]  # of failed calls; filled here
    stopped: str = ""  # why it ended early

    def __post_init__(self) -> None:
        self.price = check_price(self.model, self.calls)
        self.room = asyncio.Semaphore(self.calls.concurrency)
        self.held = dict[str, float]()  # dollars: the worst cases of calls in flight
        self.dropped = {"attempt"}  # fields of a request that are not sent
        self.n_lost = 0  # replies for which the disk had no room

    def worst(self, requests: Iterable[Request], batch: bool = False) -> float:
        """Return the most dollars that calls can cost."""
        return sum(
            cost_usd(self.price, most_tokens(one), one.max_tokens, batch) for one in requests
        )

    def out_of_money(self, more: float) -> str:
        """Return why `more` dollars cannot be spent beside the calls in flight, or ""."""
        limit, spent = self.calls.max_cost_usd, self.cache.spent(self.calls.stage)
        if limit and spent + sum(self.held.values()) + more > limit:
            return (
                f"the next call could exceed max_cost_usd = {dollars(limit)} "
                f"({dollars(spent)} are spent over all runs): raise it"
            )
        return ""

    async def book(self, usd: float, *rows: tuple) -> None:
        """Store `usd` and replies; while the disk is full, they wait in memory for room."""
        self.calls.tally.usd += usd
        for _ in range(_ROOM_SECONDS):
            try:
                return self.cache.put(rows, self.calls.stage, usd)
            except Stopped as full:
                if not self.stopped:
                    self.say(f"replies wait for room, {_ROOM_SECONDS} s at most: {full}")
                self.stop(str(full))
                await asyncio.sleep(1)
        self.n_lost += len(rows)

    def stop(self, reason: str) -> None:
        """Send nothing more; the first reason counts, and "" is none."""
        self.stopped = self.stopped or self.at.scrubbed(reason)

    def say(self, text: str) -> None:
        """Print a line about this model."""
        tell(f"{self.model}: {self.at.scrubbed(text)}")

    async def run(self) -> None:
        """Send requests; each ends in the cache or in `failed`. Raises Stopped.

        In mode "direct", batches of earlier runs are still collected: nothing is paid for twice.
        """
        calls = self.calls
        most = dollars(self.worst(self.open.values(), calls.mode == "batch"))
        self.say(
            f"{calls.tally.asked:,} calls, {calls.tally.cached:,} cached, "
            f"{len(self.open):,} to send ({calls.mode}); at most {most} (lib/llm/prices.csv)"
        )
        with tqdm(desc=self.model, mininterval=1.0, total=len(self.open)) as self.bar:
            async with client(self.at) as self.client:
                try:
                    await self._ask_in_batches()
                except Exception as error:  # a batch that was sent is found by the next run
                    self.stop(
                        "the Batch API cannot be used: run the same command later, or set mode to "
                        f'"direct" ({str(error)[:300]})'
                    )
                await asyncio.gather(*map(self._ask, self.open))
        if self.n_lost:
            self.stopped += f"; {self.n_lost} replies of calls in flight are lost"
        if self.stopped:
            raise Stopped(
                f"{self.model}: {self.stopped}. All replies are kept in {shown(self.cache.path)}; "
                "the same command requests only the rest"
            )

    async def _ask(self, key: str) -> None:
        async with self.room:
            try:
                await self._try(key, self.open[key])
            except Exception as error:  # reported; other calls' replies are kept
                self.stop(str(error) or repr(error))

    async def _try(self, key: str, request: Request) -> None:
        worst, tally, n_charged = self.worst([request]), self.calls.tally, 0
        while n_charged < _CHARGED_TRIES:
            while (reason := self.out_of_money(worst)) and self.held:
                await asyncio.sleep(0.1)
            if reason or self.stopped:
                return self.stop(reason)
            body, self.held[key] = self.body(request), worst
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
                return await self.keep({key: read})
            if read.status < 300:  # perhaps charged
                n_charged += 1
                tally.lost += 1
                await self.book(worst)
            elif (name := read.refuses) in body:
                if name not in self.dropped:
                    self.say(f"the endpoint refuses {name}, which is not sent")
                self.dropped.add(name)
            else:
                break
        self.stop(read.stops)
        reason, is_filtered = self.at.scrubbed(read.reason), read.status == _FILTERED
        self.failed[self.open.pop(key)] = Reply("", reason, "filtered" * is_filtered)
        tally.failed += not is_filtered
        self.bar.update()
        self.stop(self.calls.failing(reason))

    def body(self, request: Request) -> dict:
        """Return what is sent; the token limit has two names, one of which a server may refuse."""
        fields = json.loads(request.body) | {
            "model": self.model,
            "max_completion_tokens": request.max_tokens,
            "messages": [{"role": role, "content": content} for role, content in request.messages],
        }
        for name in self.dropped:
            fields.pop(name, None)
        return fields

    async def keep(self, replies: dict[str, Reply], batch: bool = False) -> None:
        """Count replies that are wanted and store them, with their raw text and cost."""
        usd, rows, tally = 0.0, [], self.calls.tally
        for key in self.open.keys() & replies.keys():
            request, reply = self.open.pop(key), replies[key]
            n_in = reply.n_in or most_tokens(request)
            n_out = reply.n_out or request.max_tokens
            usd += cost_usd(self.price, n_in, n_out, batch)
            tally.new += 1
            tally.shortened += is_shortened(reply, request)
            tally.prompt_tokens += n_in
            tally.completion_tokens += n_out
            rows.append(
                (
                    key,
                    key_of(request.body, self.model),
                    self.model,
                    request.body,
                    self.at.without_key(reply.raw),
                    None,
                )
            )
        await self.book(usd, *rows)
        self.bar.update(len(rows))
        self.stop(self.calls.failing())

    async def _ask_in_batches(self) -> None:
        for batch in self.cache.batches():  # of earlier runs
            if self.open.keys() & batch.keys:
                self.say(f"batch {batch.id} of an earlier run: waiting for its replies")
                await self._finish(batch)
        if self.calls.mode == "direct":
            return
        for key in [*self.open][:1]:  # to notice a wrong model now, not after a day
            await self._ask(key)
        pool, most = [*self.open.items()], _MOST_REQUESTS
        while pool and most and not self.stopped:
            part = dict(pool[:most])
            if await self._has_room(part):
                del pool[:most]
            else:  # money, file or queue are full
                most = len(part) // 2

    async def _has_room(self, requests: Waiting) -> bool:
        # Sends a batch and waits for its end. False: send less.
        text = "\n".join(  # ASCII
            json.dumps(
                {
                    "custom_id": key,
                    "method": "POST",
                    "url": "/v1/chat/completions",
                    "body": self.body(one),
                }
            )
            for key, one in requests.items()
        )
        if len(text) > _MOST_UPLOADED or self.out_of_money(self.worst(requests.values(), True)):
            return False
        file = await self.client.files.create(file=("r.jsonl", text.encode()), purpose="batch")
        batch = Sent({*requests}, file.id)
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
        # Waits until each line is a reply or an error, and forgets the batch then, except what only
        # other runs want; returns its errors.
        wanted, lost, n_looks = self.open.keys() & batch.keys, set[str](), 0
        while n_looks < _LOOKS and not self.stopped:
            state = await self._state(batch)
            if dig(state, "status") in _ENDED:
                n_looks += 1
                if not (lost := await self._lost(batch, state)):
                    break
            elif self.calls.mode == "direct":
                self.stop(
                    f"replies are still to come from batch {batch.id}: set mode to "
                    '"batch" to wait for it, or cancel it at the provider'
                )
            await asyncio.sleep(POLL_SECONDS)
        if lost and self.calls.mode == "batch":
            self.stop(
                f"{len(lost):,} of {len(batch.keys):,} lines of batch {batch.id} "
                f"({state['status']}) are neither a reply nor an error: run the same command "
                'later, or set mode to "direct" to send them again at the full price'
            )
        if self.stopped:  # also by a full disk
            return ""
        if state["status"] == "cancelled":  # nothing is sent at the full price unasked
            self.stop(
                f"batch {batch.id} (cancelled) has no more replies: the same command sends the "
                'rest in another; set mode to "direct" to send them at the full price'
            )
        self.calls.tally.lost += len(lost)
        await self.book(self.worst(map(self.open.__getitem__, lost), batch=True))
        batch.keys -= wanted
        self.cache.keep_batch(batch)
        errors = " ".join(told(state, ("code", "message")))
        self.say(
            f"batch {batch.id or batch.file} ({state['status']}): "
            f"{len(wanted & self.open.keys()):,} of {len(wanted):,} without reply; {errors[:200]}"
        )
        return errors

    async def _state(self, batch: Sent) -> Any:
        # As the endpoint says; a batch whose creation was not answered is looked for.
        if not batch.id:
            listed = await self.client.batches.list(limit=100)
            found = [one.id for one in listed.data if one.input_file_id == batch.file]
            if not found:
                return {"status": "never created", "request_counts": {"completed": 0}}
            batch.id = found[0]
        with suppress(openai.NotFoundError):
            return await self.client.get(f"/batches/{batch.id}", cast_to=object)
        return {"status": "unknown"}

    async def _lost(self, batch: Sent, state: Any) -> set[str]:
        # Stores the replies of a batch that has ended; returns whose lines are neither a reply nor
        # an error. If it was not completed, there may be as few lines as the endpoint counts.
        replies, named = dict[str, Reply](), set[str]()
        for file in filter(None, map(state.get, ("error_file_id", "output_file_id"))):
            with suppress(openai.NotFoundError):  # for a minute
                data = (await self.client.files.content(file)).content
                for line in data.decode(errors="replace").split("\n"):  # a bad byte costs no line
                    read, keys = read_wire(200, line), {*re.findall(r'"custom_id": ?"(\w+)"', line)}
                    if len(keys) == 1:
                        if isinstance(read, Reply):
                            replies[keys.pop()] = read
                        elif read.status >= 300:
                            named |= keys
        await self.keep(replies, batch=True)
        n_told = dig(state, "request_counts", "completed")
        if state["status"] != "completed" and n_told in range(len(replies) + 1):
            return set()
        return self.open.keys() & batch.keys - named
