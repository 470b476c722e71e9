"""Send requests through the Batch API, at half the price; after kill -9, nothing is sent twice."""

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
from lib.llm.direct import Direct
from lib.llm.progress import Progress
from lib.llm.request import Request
from lib.llm.response import Unreadable, read_response
from lib.llm.tokens import estimate, most_tokens

if TYPE_CHECKING:
    from openai.types import Batch

_ENDED = ("completed", "failed", "expired", "cancelled")
_MOST_REFUSED = 8  # times in a row that a provider's queue is full with nothing of ours in it
_LONGEST_PAUSE = 900.0  # seconds between those tries


class Batches:
    """One run over requests that are not cached; batches leave the rest to direct calls."""

    def __init__(self, direct: Direct) -> None:
        self.direct, self.calls = direct, direct.calls
        self.cache, self.budget = direct.cache, direct.budget
        self.rows = Rows(direct.cache)
        self.pool: dict[str, Request] = {}  # requests still to be sent
        self.running: list[Sent] = []
        self.queue_tokens = float("inf")  # the provider's limit, as far as it is known
        self.n_refused = 0
        self.decided: set[str] = set()  # keys that are stored, or left to be sent directly
        self.claim_seconds = max(600.0, 10 * self.calls.poll_seconds)

    async def ask(self, waiting: dict[str, Request]) -> None:
        """Send every request; each ends in the cache or in direct.failed unless the run is stopped.

        In mode "direct", batches of earlier runs are still collected: nothing is paid for twice.
        """
        with closing(Progress(self.calls, self.direct.model, len(waiting))) as progress:
            left, is_reported = waiting, False
            while left and not self.direct.stopped and (
                    self.calls.mode == "batch" or self.rows.of(left)):
                await self._ask_in_batches(left, progress)
                left = {key: request for key, request in self._open(waiting).items()
                        if key not in self.decided}
                if left:
                    if not is_reported:
                        print(f"{len(left):,} replies are awaited by another process; waiting for "
                              "them", flush=True)
                    is_reported = True
                    await self._sleep()
            rest = self._open(waiting)
            by_others = waiting.keys() - self.decided - rest.keys()
            self.calls.tally.cached += len(by_others)
            if rest and not self.direct.stopped:
                if self.decided:
                    progress.show(len(waiting) - len(rest), "the rest is sent directly")
                await self.direct.ask(rest, progress)

    def _open(self, waiting: dict[str, Request]) -> dict[str, Request]:
        """Return the requests in `waiting` that have neither been answered nor failed."""
        return {key: request for key, request in waiting.items()
                if key not in self.direct.failed and not self.cache.has(key)}

    async def _ask_in_batches(self, waiting: dict[str, Request], progress: Progress) -> None:
        client = self.direct.endpoint.client()
        api = BatchApi(client, self.direct)
        mine = {key: request for key, request in waiting.items()
                if self.cache.claim(key, self.claim_seconds)}
        try:
            await self._resume(api, mine)
            if self.calls.mode == "batch":
                sent = {key for batch in self.running for key in batch.requests}
                self.pool = {key: request for key, request in mine.items() if key not in sent}
            if self.pool:  # one is sent directly, to notice a wrong model now, not after a day
                first = next(iter(self.pool))
                await self.direct.ask({first: self.pool.pop(first)}, progress)
            await self._run(api, progress)
        except BatchStopped as error:
            self.direct.stopped = self.direct.stopped or str(error)
        except NotThere:
            self.direct.stopped = (self.direct.stopped
                                   or 'the endpoint has no Batch API: set mode to "direct"')
        finally:
            self.decided.update(mine)
            for key in mine:
                self.cache.release(key)
            await client.close()

    async def _resume(self, api: BatchApi, mine: dict[str, Request]) -> None:
        """Resume earlier runs' batches; ask the provider whether intended ones exist."""
        for batch in self.rows.of(mine):
            batch.id = batch.id or await api.find(batch)
            if not batch.id:
                self.rows.forget(batch)
                continue
            self.rows.keep(batch)
            self._take_up(batch, list(self._lines(batch.requests)))
            print(f"batch {batch.id} of an earlier run: waiting for {len(batch.requests):,} "
                  "replies", flush=True)

    async def _run(self, api: BatchApi, progress: Progress) -> None:
        """Send and poll batches until every request is collected or left to direct calls."""
        while (self.pool or self.running) and not self.direct.stopped:
            await self._send(api)
            for batch in list(self.running):
                if await self._has_ended(api, batch):
                    self.running.remove(batch)
            n_open = sum(len(batch.requests) - batch.n_done for batch in self.running)
            progress.show(progress.bar.total - len(self.pool) - n_open,
                          f"{len(self.running)} batches run")
            if self.running and self.calls.mode == "direct":
                raise BatchStopped(f"{n_open:,} replies are still to come from batch "
                                   f'{self.running[0].id}: set mode to "batch" to wait for it, or '
                                   "cancel it at the provider")
            if self.running or self.pool:
                await self._sleep()

    async def _sleep(self) -> None:
        """Wait until the next poll, longer each time while others' requests fill the queue."""
        seconds = self.calls.poll_seconds
        if not self.running:
            seconds = min(seconds * 2 ** self.n_refused, _LONGEST_PAUSE)
        until = time.monotonic() + seconds
        while not self.direct.stopped and (left := until - time.monotonic()) > 0:  # or interrupted
            await asyncio.sleep(min(left, 0.5))

    async def _send(self, api: BatchApi) -> None:
        """Move requests from the pool into batches while provider and budget have room."""
        while self.pool and not self.direct.stopped:
            queued = sum(batch.tokens for batch in self.running)
            room = Room(tokens=self.queue_tokens - queued, usd=self.budget.room())
            lines = that_fit(self._lines(self.pool), room)
            if lines:
                await self._create(api, lines)
            elif self.running:  # there is room when one of them ends
                return
            elif next(self._lines(self.pool)).usd > room.usd:
                raise BatchStopped(self.calls.out_of_money())
            else:  # too large for any queue
                self.pool.clear()

    def _lines(self, requests: Mapping[str, Request]) -> Iterator[Line]:
        for key, request in requests.items():
            parameters = self.direct.parameters(request)
            worst = self.budget.worst(most_tokens(request), request.max_tokens, batch=True)
            yield Line(key, request_line(key, self.direct.model, request, parameters),
                       estimate(request), worst)

    async def _create(self, api: BatchApi, lines: list[Line]) -> None:
        file_id = await api.upload(b"".join(line.body for line in lines))
        requests = {line.key: self.pool.pop(line.key) for line in lines}
        batch = Sent(list(requests), requests, time.time())
        self.rows.keep(batch)  # from here on, a run after kill -9 looks for it at the provider
        batch.id = await api.create(file_id, batch)
        self.rows.keep(batch)
        self._take_up(batch, lines)
        worst = f", {dollars(batch.usd)} reserved for the worst case" if self.budget.price else ""
        print(f"batch {batch.id}: {len(lines):,} requests sent{worst}", flush=True)

    def _take_up(self, batch: Sent, lines: list[Line]) -> None:
        """Add a batch to the running ones and reserve its money."""
        batch.tokens = sum(line.tokens for line in lines)
        batch.usd = sum(line.usd for line in lines)
        self.budget.reserved += batch.usd
        self.running.append(batch)

    async def _has_ended(self, api: BatchApi, batch: Sent) -> bool:
        """Check a batch; if it has ended, collect it or return its requests to the pool."""
        self.rows.renew(self.claim_seconds)
        try:
            state = await api.look(batch)
        except NotThere:
            print(f"batch {batch.id} no longer exists: its requests are sent directly", flush=True)
            self.calls.tally.lost += len(batch.requests)
            self.calls.tally.usd_estimated += batch.usd
            self._give_up(batch, batch.usd)
            return True
        if counts := state.request_counts:
            n_unwanted = len(batch.keys) - len(batch.requests)
            batch.n_replied = (counts.completed or 0) - n_unwanted
            n_done = (counts.completed or 0) + (counts.failed or 0)
            batch.n_done = min(n_done, len(batch.requests))
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
        """React to a full queue: wait for our own batches in it, or if none, send smaller ones."""
        self._give_up(batch, 0.0)
        others = sum(one.tokens for one in self.running if one is not batch)
        self.n_refused += not others
        self.queue_tokens = others or min(batch.tokens / 2, 0.9 * limit)
        print(f"batch {batch.id}: the provider's queue has no room for {len(batch.requests):,} "
              "requests", flush=True)
        if self.n_refused > _MOST_REFUSED:
            self.pool.clear()
        elif self.calls.mode == "batch":
            self.pool.update(batch.requests)

    async def _collect(self, api: BatchApi, batch: Sent, state: "Batch") -> None:
        """Store every reply of an ended batch, and count its cost."""
        entries, cost = {}, 0.0
        for file_id in filter(None, (state.output_file_id, state.error_file_id)):
            for answer in answers(await api.read(file_id)):
                if answer.key in batch.requests and answer.key not in entries:
                    request = batch.requests[answer.key]
                    try:
                        entries[answer.key], usd = self._entry(request, answer, state)
                        cost += usd or 0.0
                    except Unreadable:  # an error, or no reply at all
                        continue
        if lost := max(0, batch.n_replied - len(entries)):  # these are paid for twice
            self.calls.tally.lost += lost
            self.calls.tally.usd_estimated += batch.usd * lost / len(batch.requests)
            cost += batch.usd * lost / len(batch.requests)
        self.cache.put_all(list(entries.values()))
        self.budget.settle(batch.usd, cost if self.budget.price else None)
        if all(key in batch.requests or self.cache.has(key) for key in batch.keys):
            self.rows.forget(batch)
        n_left = len(batch.requests) - len(entries)
        errors = state.errors.data or [] if state.errors else []
        codes = sorted({error.code for error in errors if error.code})
        print(f"batch {batch.id}: {' '.join([state.status, *codes])}, {len(entries):,} replies"
              + (f"; {n_left:,} requests are sent directly" if n_left else ""), flush=True)

    def _entry(self, request: Request, answer: Answer,
               state: "Batch") -> tuple[Entry, float | None]:
        """Count a reply in the tally; return its entry and its dollars. Raises Unreadable."""
        created = datetime.fromtimestamp(state.created_at, UTC)
        return self.direct.taken(
            answer.key, request, answer.raw, read_response(answer.raw), via="batch",
            asked_at=created.isoformat(timespec="milliseconds"), request_id=answer.request_id,
            seconds=float((state.completed_at or state.created_at) - state.created_at))


def _queue_limit(state: "Batch") -> float:
    """Return the queue's limit in tokens if that made a batch fail, 0 for another reason."""
    for error in state.errors.data or [] if state.errors else []:
        message = (error.message or "").lower()
        if error.code == "token_limit_exceeded" or "enqueued token" in message:
            stated = re.search(r"([\d,]+) enqueued", message)
            return float(stated[1].replace(",", "")) if stated else float("inf")
    return 0.0
