"""The Batch API: half the price, done within a day. What was sent is found again after kill -9, never sent twice."""

import asyncio
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from lib.llm.batch.api import BatchApi, BatchStopped, NotThere
from lib.llm.batch.lines import Answer, Line, Room, answers, request_line, that_fit
from lib.llm.batch.rows import Rows, Sent
from lib.llm.cache import Entry
from lib.llm.calls import dollars
from lib.llm.direct import Direct, out_of_money
from lib.llm.prices import cost_usd
from lib.llm.progress import Progress
from lib.llm.request import Request
from lib.llm.response import Unreadable, read_response
from lib.llm.tokens import estimate, most_tokens

if TYPE_CHECKING:
    from openai.types import Batch

_ENDED = ("completed", "failed", "expired", "cancelled")
_MOST_REFUSED = 8  # times in a row that a provider's queue is full though nothing of ours is in it
_LONGEST_PAUSE = 900.0  # seconds between two tries then


class Batches:
    """One run over requests that are not in the cache. What batches leave unanswered is asked directly."""

    def __init__(self, direct: Direct) -> None:
        self.direct, self.calls, self.cache, self.budget = direct, direct.calls, direct.cache, direct.budget
        self.rows = Rows(direct.cache)
        self.pool: dict[str, Request] = {}  # to be sent
        self.running: list[Sent] = []
        self.queue_tokens = float("inf")  # that the provider lets wait, as far as it has said
        self.n_refused = 0
        self.decided: set[str] = set()  # keys that are stored, or left to be asked directly
        self.claim_seconds = max(600.0, 10 * self.calls.poll_seconds)

    async def ask(self, waiting: dict[str, Request]) -> None:
        """Ask every request, by key; each ends in the cache or in direct.failed, unless direct is stopped.

        Where `mode` is "direct", batches of earlier runs are collected, and nothing that is in one is paid again.
        """
        with closing(Progress(self.calls, self.direct.model, len(waiting))) as progress:
            left, said = waiting, False
            while left and not self.direct.stopped and (self.calls.mode == "batch" or self.rows.of(left)):
                await self._ask_in_batches(left, progress)
                left = {key: request for key, request in self._open(waiting).items() if key not in self.decided}
                if left:
                    if not said:
                        print(f"{len(left):,} replies are waited for by another process, and so here", flush=True)
                    said = True
                    await self._sleep()
            rest = self._open(waiting)
            self.calls.tally.cached += len(waiting.keys() - self.decided - rest.keys())  # stored by another process
            if rest and not self.direct.stopped:
                if self.decided:
                    progress.show(len(waiting) - len(rest), "the rest is asked directly")
                await self.direct.ask(rest, progress)

    def _open(self, waiting: dict[str, Request]) -> dict[str, Request]:
        """Those of `waiting` that have neither a reply nor failed."""
        return {key: request for key, request in waiting.items()
                if key not in self.direct.failed and not self.cache.has(key)}

    async def _ask_in_batches(self, waiting: dict[str, Request], progress: Progress) -> None:
        client = self.direct.endpoint.client()
        api = BatchApi(client, self.direct)
        mine = {key: request for key, request in waiting.items() if self.cache.claim(key, self.claim_seconds)}
        try:
            await self._resume(api, mine)
            if self.calls.mode == "batch":
                sent = {key for batch in self.running for key in batch.requests}
                self.pool = {key: request for key, request in mine.items() if key not in sent}
            if self.pool:  # one is asked directly: a wrong model or parameter shows now, not after a day
                first = next(iter(self.pool))
                await self.direct.ask({first: self.pool.pop(first)}, progress)
            await self._run(api, progress)
        except BatchStopped as error:
            self.direct.stopped = self.direct.stopped or str(error)
        except NotThere:
            self.direct.stopped = self.direct.stopped or 'the endpoint has no Batch API: set mode to "direct"'
        finally:
            self.decided.update(mine)
            for key in mine:
                self.cache.release(key)
            await client.close()

    async def _resume(self, api: BatchApi, mine: dict[str, Request]) -> None:
        """Take up the batches of earlier runs. The provider is asked whether it created what was only intended."""
        for batch in self.rows.of(mine):
            batch.id = batch.id or await api.find(batch)
            if not batch.id:
                self.rows.forget(batch)
                continue
            self.rows.keep(batch)
            self._take_up(batch, list(self._lines(batch.requests)))
            print(f"batch {batch.id} of an earlier run: {len(batch.requests):,} replies are waited for", flush=True)

    async def _run(self, api: BatchApi, progress: Progress) -> None:
        """Send what fits, look at what runs, until all is collected or left to be asked directly."""
        while (self.pool or self.running) and not self.direct.stopped:
            await self._send(api)
            for batch in list(self.running):
                if await self._has_ended(api, batch):
                    self.running.remove(batch)
            n_open = sum(len(batch.requests) - batch.n_done for batch in self.running)
            progress.show(progress.bar.total - len(self.pool) - n_open, f"{len(self.running)} batches run")
            if self.running and self.calls.mode == "direct":
                raise BatchStopped(f"{n_open:,} replies are still to come from batch {self.running[0].id}: set mode to "
                                   '"batch" to wait for it, or cancel it at the provider')
            if self.running or self.pool:
                await self._sleep()

    async def _sleep(self) -> None:
        """Wait until the next look; longer and longer where the provider's queue is full of others' requests."""
        seconds = self.calls.poll_seconds if self.running else min(
            self.calls.poll_seconds * 2 ** self.n_refused, _LONGEST_PAUSE)
        until = time.monotonic() + seconds
        while not self.direct.stopped and (left := until - time.monotonic()) > 0:  # an interrupt ends it
            await asyncio.sleep(min(left, 0.5))

    async def _send(self, api: BatchApi) -> None:
        """Move requests from the pool into batches until the provider's limits or the money leave no room."""
        while self.pool and not self.direct.stopped:
            room = Room(tokens=self.queue_tokens - sum(batch.tokens for batch in self.running), usd=self.budget.room())
            lines = that_fit(self._lines(self.pool), room)
            if lines:
                await self._create(api, lines)
            elif self.running:  # room comes when one of them ends
                return
            elif next(self._lines(self.pool)).usd > room.usd:
                raise BatchStopped(out_of_money(self.calls))
            else:  # too long for any queue
                self.pool.clear()

    def _lines(self, requests: Mapping[str, Request]) -> Iterator[Line]:
        for key, request in requests.items():
            yield Line(key, request_line(key, self.direct.model, request, self.direct.parameters(request)),
                       estimate(request), self.budget.worst(most_tokens(request), request.max_tokens, batch=True))

    async def _create(self, api: BatchApi, lines: list[Line]) -> None:
        file_id = await api.upload(b"".join(line.body for line in lines))
        requests = {line.key: self.pool.pop(line.key) for line in lines}
        batch = Sent(list(requests), requests, time.time())
        self.rows.keep(batch)  # from here on a run after kill -9 looks for it at the provider
        batch.id = await api.create(file_id, batch)
        self.rows.keep(batch)
        self._take_up(batch, lines)
        aside = f", {dollars(batch.usd)} set aside for the worst case" if self.budget.price else ""
        print(f"batch {batch.id}: {len(lines):,} requests sent{aside}", flush=True)

    def _take_up(self, batch: Sent, lines: list[Line]) -> None:
        """Wait for a batch, its money set aside."""
        batch.tokens, batch.usd = sum(line.tokens for line in lines), sum(line.usd for line in lines)
        self.budget.reserved += batch.usd
        self.running.append(batch)

    async def _has_ended(self, api: BatchApi, batch: Sent) -> bool:
        """Look at a batch; where it has ended, collect it or put its requests back into the pool."""
        self.rows.renew(self.claim_seconds)
        try:
            state = await api.look(batch)
        except NotThere:
            print(f"batch {batch.id} is no longer there: its requests are asked directly", flush=True)
            self.calls.tally.lost += len(batch.requests)
            self._give_up(batch, batch.usd)
            return True
        if counts := state.request_counts:
            n_unwanted = len(batch.keys) - len(batch.requests)
            batch.n_replied = (counts.completed or 0) - n_unwanted
            batch.n_done = min((counts.completed or 0) + (counts.failed or 0), len(batch.requests))
        if state.status not in ("validating", "failed"):
            self.n_refused = 0
        if state.status == "failed" and (limit := _queue_limit(state)):
            self._refused(batch, limit)
        elif state.status in _ENDED:
            await self._collect(api, batch, state)
        return state.status in _ENDED

    def _give_up(self, batch: Sent, usd: float) -> None:
        self.rows.forget(batch)
        self.budget.settle(batch.usd, usd if self.budget.price else None)

    def _refused(self, batch: Sent, limit: float) -> None:
        """The provider's queue is full: wait for batches of ours that are in it, else send smaller ones."""
        self._give_up(batch, 0.0)
        others = sum(one.tokens for one in self.running if one is not batch)
        self.n_refused += not others
        self.queue_tokens = others or min(batch.tokens / 2, 0.9 * limit)
        print(f"batch {batch.id}: no room for {len(batch.requests):,} requests in the provider's queue", flush=True)
        if self.n_refused > _MOST_REFUSED:
            self.pool.clear()
        elif self.calls.mode == "batch":
            self.pool.update(batch.requests)

    async def _collect(self, api: BatchApi, batch: Sent, state: "Batch") -> None:
        """Store every reply of a batch that has ended, and count what it cost."""
        entries, cost = {}, 0.0
        for file_id in filter(None, (state.output_file_id, state.error_file_id)):
            for answer in answers(await api.read(file_id)):
                if answer.key in batch.requests and answer.key not in entries:
                    try:
                        entries[answer.key], usd = self._entry(batch.requests[answer.key], answer, state)
                        cost += usd
                    except Unreadable:  # an error, or no reply
                        continue
        if lost := max(0, batch.n_replied - len(entries)):  # paid, and asked again
            self.calls.tally.lost += lost
            cost += batch.usd * lost / len(batch.requests)
        self.cache.put_all(list(entries.values()))
        self.budget.settle(batch.usd, cost if self.budget.price else None)
        if all(key in batch.requests or self.cache.has(key) for key in batch.keys):
            self.rows.forget(batch)
        n_left = len(batch.requests) - len(entries)
        codes = sorted({error.code for error in state.errors.data or [] if error.code}) if state.errors else []
        print(f"batch {batch.id}: {' '.join([state.status, *codes])}, {len(entries):,} replies"
              + (f"; {n_left:,} requests are asked directly" if n_left else ""), flush=True)

    def _entry(self, request: Request, answer: Answer, state: "Batch") -> tuple[Entry, float]:
        """A reply as it is stored, counted in the tally, and its dollars. Raises Unreadable."""
        response = read_response(answer.raw)
        n_in, n_out = self.direct.count(request, response)
        usd = cost_usd(self.budget.price, n_in, n_out, batch=True) if self.budget.price else 0.0
        at = self.direct.endpoint
        return Entry(answer.key, request.key(self.direct.model), self.direct.model, request.body,
                     at.without_key(answer.raw),
                     response.prompt_tokens, response.completion_tokens, response.finish_reason,
                     float((state.completed_at or state.created_at) - state.created_at),
                     datetime.fromtimestamp(state.created_at, UTC).isoformat(timespec="milliseconds"),
                     at.scrubbed(answer.request_id), "batch"), usd


def _queue_limit(state: "Batch") -> float:
    """Tokens that the provider's queue takes, where a batch failed because of it; 0: it failed for another reason."""
    for error in state.errors.data or [] if state.errors else []:
        message = (error.message or "").lower()
        if error.code == "token_limit_exceeded" or "enqueued token" in message:
            stated = re.search(r"([\d,]+) enqueued", message)
            return float(stated[1].replace(",", "")) if stated else float("inf")
    return 0.0
