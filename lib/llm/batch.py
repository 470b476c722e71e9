"""The Batch API, at half the price; after kill -9, nothing is sent twice."""

import asyncio
import json
import math
import time
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import uuid4

from lib.core.errors import BadReply
from lib.llm.direct import Direct
from lib.llm.faults import MOST_TRIES, fault_of
from lib.llm.request import Request
from lib.llm.response import answers, read_response
from lib.llm.tokens import estimate

if TYPE_CHECKING:
    from openai.types import Batch

MOST_REQUESTS, MOST_BYTES = 50_000, 200_000_000  # OpenAI's limits per file
_URL = "/v1/chat/completions"
_ENDED = ("completed", "failed", "expired", "cancelled")
_CLAIM = 3600.0  # seconds; renewed at each poll


@dataclass
class Sent:
    """A batch. Without an `id` it is only intended: nobody knows whether it was created."""

    keys: list[str]  # of all its requests
    requests: Mapping[str, Request]  # those that are wanted now
    created: float  # seconds since 1970
    id: str = ""  # given by the provider
    digest: str = field(default_factory=lambda: uuid4().hex)  # our mark, in its metadata
    left_out: str = ""  # parameters that its requests lack, as the endpoint refuses them

    @property
    def row(self) -> tuple[float, str, str, str]:
        """What the cache keeps of it beside its keys."""
        return self.created, self.id, self.digest, self.left_out

    @property
    def tokens(self) -> int:
        """Estimate the tokens of its prompts."""
        return sum(map(estimate, self.requests.values()))


class Batches:
    """One run over requests that are not cached; batches leave the rest to direct calls."""

    def __init__(self, direct: Direct) -> None:
        self.direct, self.calls = direct, direct.calls
        self.cache, self.budget = direct.cache, direct.budget
        self.pool: dict[str, Request] = {}  # requests still to be sent
        self.running: list[Sent] = []
        self.ended: set[str] = set()  # digests
        self.queue_tokens = math.inf  # the provider's limit, as far as it is known

    async def ask(self, waiting: dict[str, Request]) -> None:
        """Send every request; each ends in the cache or in direct.failed unless the run is stopped.

        In mode "direct", batches of earlier runs are still collected: nothing is paid for twice.
        """
        tally = self.calls.tally
        self.direct.bar.total, n_before = len(waiting), tally.new + tally.failed
        is_new = self.calls.mode == "batch"
        while not self.direct.stopped and (is_new or any(self._of(self._open(waiting)))):
            await self._ask_in_batches(self._open(waiting), is_new)
            is_new = False  # what is left are batches of other processes
            if any(self._of(self._open(waiting))):
                await self._sleep()
        rest = self._open(waiting)
        self.direct.show(len(waiting) - len(rest))
        tally.cached += len(waiting) - len(rest) - (tally.new + tally.failed - n_before)
        await self.direct.ask(rest)

    def _open(self, waiting: dict[str, Request]) -> dict[str, Request]:
        return {key: request for key, request in waiting.items()
                if key not in self.direct.failed and not self.cache.has(key)}

    async def _ask_in_batches(self, waiting: dict[str, Request], is_new: bool) -> None:
        mine = {key: one for key, one in waiting.items() if self.cache.claim(key, _CLAIM)}
        try:
            self.running = list(self._of(mine))  # of earlier runs
            for batch in self.running:
                self.budget.resume(self._worst(batch), batch.digest)
                print(f"batch {batch.id} of an earlier run: waiting for its replies", flush=True)
            sent = {key for batch in self.running for key in batch.requests}
            self.pool = {key: one for key, one in mine.items() if is_new and key not in sent}
            if self.pool:  # one is sent directly, to notice a wrong model now, not after a day
                first = next(iter(self.pool))
                await self.direct.ask({first: self.pool.pop(first)})
            await self._run()
        finally:
            self.cache.release(list(mine))

    def _worst(self, batch: Sent) -> float:
        return sum(self.budget.worst(one, batch=True) for one in batch.requests.values())

    async def _run(self) -> None:
        import aiohttp
        import openai
        n_faults = 0
        while (self.pool or self.running) and not self.direct.stopped:
            wait = 0.0
            try:
                await self._send()
                for batch in list(self.running):
                    if await self._has_ended(batch):
                        self.running.remove(batch)
                n_faults = 0
            except (openai.OpenAIError, aiohttp.ClientError, OSError, ValueError, AttributeError,
                    TypeError) as error:  # the last two: a proxy's page. The next round repeats it
                fault = fault_of(error, self.direct.model, self.direct.at, {})
                n_faults, wait = n_faults + 1, fault.wait
                if fault.status == 404:
                    self.direct.stop('the endpoint has no Batch API: set mode to "direct"')
                elif not fault.is_worth_repeating or n_faults >= MOST_TRIES:
                    self.direct.stop(fault.stops or f"no batch can continue ({fault.reason}): run "
                                     'the same command again, or set mode to "direct"')
            if self.running and self.calls.mode == "direct" and not n_faults:
                self.direct.stop(f"replies are still to come from batch {self.running[0].id}: set "
                                 'mode to "batch" to wait for it, or cancel it at the provider')
            if self.running or self.pool:
                await self._sleep(wait)

    async def _sleep(self, wait: float = 0.0) -> None:
        until = time.monotonic() + max(wait, self.calls.poll_seconds)
        while not self.direct.stopped and (left := until - time.monotonic()) > 0:  # or interrupted
            await asyncio.sleep(min(left, 0.5))

    async def _send(self) -> None:
        while self.pool and not self.direct.stopped:
            if lines := self._fitting():
                await self._create(lines)
            elif self.running:  # there is room when one of them ends
                return
            elif self.budget.worst(next(iter(self.pool.values())), True) > self.budget.room():
                self.direct.stop(self.calls.out_of_money())
            else:  # too large for any queue
                self.pool.clear()

    def _fitting(self) -> dict[str, bytes]:
        lines: dict[str, bytes] = {}
        n_bytes, tokens = MOST_BYTES, self.queue_tokens - sum(one.tokens for one in self.running)
        usd = self.budget.room()
        for key, request in self.pool.items():
            line = {"custom_id": key, "method": "POST", "url": _URL,
                    "body": self.direct.body(request)}
            text = json.dumps(line).encode() + b"\n"
            n_bytes, tokens = n_bytes - len(text), tokens - estimate(request)
            usd -= self.budget.worst(request, batch=True)
            if len(lines) == MOST_REQUESTS or min(n_bytes, tokens, usd) < 0:
                break
            lines[key] = text
        return lines

    async def _create(self, lines: dict[str, bytes]) -> None:
        client = self.direct.client
        file = await self.direct.timely(client.files.create(
            file=("requests.jsonl", b"".join(lines.values())), purpose="batch"))
        batch = Sent(list(lines), {key: self.pool[key] for key in lines}, time.time(),
                     left_out=" ".join(sorted(self.direct.dropped)))
        if not self.budget.hold(self._worst(batch), batch.digest):  # another run was faster
            return
        self.cache.keep_batch(batch.keys, *batch.row)  # from here on, it is looked for
        self.running.append(batch)
        for key in lines:
            del self.pool[key]
        batch.id = (await self.direct.timely(client.batches.create(
            input_file_id=file.id, endpoint=_URL, completion_window="24h",
            metadata={"digest": batch.digest}))).id
        self.cache.keep_batch(batch.keys, *batch.row)
        print(f"batch {batch.id}: {len(lines):,} requests sent", flush=True)

    def _of(self, waiting: Mapping[str, Request]) -> Iterator[Sent]:
        for keys, *row in self.cache.batches():
            batch = Sent(keys, {}, *row)
            batch.requests = {key: waiting[key] for key in batch.keys if key in waiting}
            if batch.requests and batch.digest not in self.ended:
                yield batch

    async def _has_ended(self, batch: Sent) -> bool:
        self.cache.renew(_CLAIM)
        was_confirmed = bool(batch.id)
        if not was_confirmed:
            batch.id = await self.direct.timely(self._found(batch))
        state = batch.id and await self._known(self.direct.client.batches.retrieve(batch.id))
        if not state:
            worst, n_lost = self._worst(batch), len(batch.requests) * was_confirmed
            self._give_up(batch, self.budget.lost(worst, n_lost) if n_lost else 0.0,
                          is_returned=not was_confirmed)
        elif state.status == "failed" and "token_limit_exceeded" in _codes(state):
            others = sum(one.tokens for one in self.running if one is not batch)
            self.queue_tokens = others or batch.tokens / 2
            print(f"batch {batch.id}: the provider's queue is full", flush=True)
            self._give_up(batch, is_returned=True)
        elif state.status in _ENDED:
            await self._collect(batch, state)
        return not state or state.status in _ENDED

    async def _found(self, batch: Sent) -> str:
        async for one in self.direct.client.batches.list(limit=100):
            if (one.metadata or {}).get("digest") == batch.digest:
                return one.id
        return ""  # it was never created

    async def _known(self, call: Awaitable) -> object | None:
        import openai
        try:
            return await self.direct.timely(call)
        except openai.NotFoundError:  # deleted or expired
            return None

    def _give_up(self, batch: Sent, cost: float = 0.0, is_returned: bool = False) -> None:
        self.cache.forget(batch.digest)
        self.budget.settle(self._worst(batch), cost, batch.digest)
        if is_returned and self.calls.mode == "batch":
            self.pool |= batch.requests

    async def _collect(self, batch: Sent, state: "Batch") -> None:
        found = {}
        seconds = (state.completed_at or state.created_at) - state.created_at
        for file_id in filter(None, (state.output_file_id, state.error_file_id)):
            file = await self._known(self.direct.client.files.content(file_id))
            for key, raw, request_id in answers(file.content if file else b""):
                if key in batch.requests and key not in found:
                    answer = raw, request_id, state.created_at, seconds
                    with suppress(BadReply):  # an error, or no reply at all
                        found[key] = key, batch.requests[key], answer, read_response(raw)
        self.direct.keep(list(found.values()), "batch", self._worst(batch), batch.digest,
                         batch.left_out.split())
        self.direct.show(self.direct.bar.n + len(found))
        self.ended.add(batch.digest)
        if all(key in batch.requests or self.cache.has(key) for key in batch.keys):
            self.cache.forget(batch.digest)
        print(f"batch {batch.id}: {' '.join([state.status, *_codes(state)])}, {len(found):,} of "
              f"{len(batch.requests):,} replies; the others are sent directly", flush=True)

def _codes(state: "Batch") -> list[str]:
    errors = getattr(state.errors, "data", None) or []
    return sorted({str(code) for error in errors if (code := getattr(error, "code", ""))})
