"""Send requests through the Batch API, at half the price; after kill -9, nothing is sent twice."""

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING

from lib.llm.batch.api import GONE, BatchApi
from lib.llm.batch.lines import Line, Size, answers, request_line, that_fit
from lib.llm.batch.rows import Rows, Sent
from lib.llm.calls import dollars
from lib.llm.direct import Direct
from lib.llm.faults import MOST_TRIES, Fault
from lib.llm.progress import Progress
from lib.llm.request import Request
from lib.llm.response import Answer, Response, Unreadable, read_response
from lib.llm.tokens import estimate

if TYPE_CHECKING:
    from openai.types import Batch, BatchError

_ENDED = ("completed", "failed", "expired", "cancelled")
_MOST_REFUSED = 8  # times in a row that a provider's queue is full with nothing of ours in it
_LONGEST_PAUSE = 900.0  # seconds between those tries


class Batches:
    """One run over requests that are not cached; batches leave the rest to direct calls."""

    def __init__(self, direct: Direct) -> None:
        self.direct, self.calls = direct, direct.calls
        self.cache, self.budget = direct.cache, direct.budget
        self.rows, self.api = Rows(direct.cache), BatchApi(direct.http)
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
        async with self.direct.http:
            with closing(Progress(self.calls, self.direct.model, len(waiting))) as progress:
                left = waiting
                while left and not self.direct.stopped and (
                        self.calls.mode == "batch" or self.rows.of(left)):
                    await self._ask_in_batches(left, progress)
                    left = {key: request for key, request in self._open(waiting).items()
                            if key not in self.decided}
                    if left:
                        self.direct.tell("others", f"{len(left):,} replies are awaited by another "
                                                   "process; waiting for them")
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
        mine = {key: request for key, request in waiting.items()
                if self.cache.claim(key, self.claim_seconds)}
        try:
            for batch in self.rows.of(mine):  # of earlier runs
                self._take_up(batch, list(self._lines(batch.requests)))
                self.budget.resume(batch.usd, batch.digest)
                print(f"batch {batch.id} of an earlier run: waiting for {len(batch.requests):,} "
                      "replies", flush=True)
            if self.calls.mode == "batch":
                sent = {key for batch in self.running for key in batch.requests}
                self.pool = {key: request for key, request in mine.items() if key not in sent}
            if self.pool:  # one is sent directly, to notice a wrong model now, not after a day
                first = next(iter(self.pool))
                await self.direct.ask({first: self.pool.pop(first)}, progress)
            await self._run(progress)
        finally:
            self.decided.update(mine)
            self.cache.release(list(mine))

    async def _run(self, progress: Progress) -> None:
        """Send and poll batches until every request is collected or left to direct calls.

        Whatever fails in one round is done in the next; so is a batch whose creation was not
        confirmed, which is then looked for.
        """
        n_faults = 0
        while (self.pool or self.running) and not self.direct.stopped:
            wait = 0.0
            try:
                await self._send()
                for batch in list(self.running):
                    if await self._has_ended(batch):
                        self.running.remove(batch)
                n_faults = 0
            except Fault as fault:
                n_faults, wait = n_faults + 1, fault.wait
                if fault.status in GONE:
                    self.direct.stop('the endpoint has no Batch API: set mode to "direct"')
                elif fault.stops or not fault.is_worth_repeating or n_faults >= MOST_TRIES:
                    self.direct.stop(fault.stops or f"no batch can continue ({fault.reason}): run "
                                     'the same command again, or set mode to "direct"')
            n_open = sum(len(batch.requests) - batch.n_done for batch in self.running)
            progress.show(progress.bar.total - len(self.pool) - n_open,
                          f"{len(self.running)} batches run")
            if self.running and self.calls.mode == "direct" and not n_faults:
                self.direct.stop(f"{n_open:,} replies are still to come from batch "
                                 f'{self.running[0].id}: set mode to "batch" to wait for it, or '
                                 "cancel it at the provider")
            if self.running or self.pool:
                await self._sleep(wait)

    async def _sleep(self, wait: float = 0.0) -> None:
        """Wait until the next poll, longer each time while others' requests fill the queue."""
        seconds = max(wait, self.calls.poll_seconds)
        if not self.running:
            seconds = min(seconds * 2 ** self.n_refused, _LONGEST_PAUSE)
        until = time.monotonic() + seconds
        while not self.direct.stopped and (left := until - time.monotonic()) > 0:  # or interrupted
            await asyncio.sleep(min(left, 0.5))

    async def _send(self) -> None:
        """Move requests from the pool into batches while provider and budget have room."""
        while self.pool and not self.direct.stopped:
            queued = sum(batch.tokens for batch in self.running)
            room = Size(tokens=self.queue_tokens - queued, usd=self.budget.room())
            lines = that_fit(self._lines(self.pool), room)
            if lines:
                await self._create(lines)
            elif self.running:  # there is room when one of them ends
                return
            elif next(self._lines(self.pool)).size.usd > room.usd:
                self.direct.stop(self.calls.out_of_money())
            else:  # too large for any queue
                self.pool.clear()

    def _lines(self, requests: Mapping[str, Request]) -> Iterator[Line]:
        for key, request in requests.items():
            text = request_line(key, self.direct.body(request))
            yield Line(key, text, Size(1, len(text), estimate(request),
                                       self.budget.worst(request, batch=True)))

    async def _create(self, lines: list[Line]) -> None:
        file_id = await self.api.upload(b"".join(line.text for line in lines))
        requests = {line.key: self.pool[line.key] for line in lines}
        batch = Sent(list(requests), requests, time.time(),
                     left_out=" ".join(sorted(self.direct.dropped)))
        self._take_up(batch, lines)
        if not self.budget.hold(batch.usd, batch.digest):  # another run was faster
            self.running.remove(batch)
            return
        self.rows.keep(batch)  # from here on, it is looked for at the provider
        for key in requests:
            del self.pool[key]
        batch.id = await self.api.create(file_id, batch)
        self.rows.keep(batch)
        worst = f", {dollars(batch.usd)} reserved for the worst case" if self.budget.price else ""
        print(f"batch {batch.id}: {len(lines):,} requests sent{worst}", flush=True)

    def _take_up(self, batch: Sent, lines: list[Line]) -> None:
        batch.tokens = sum(line.size.tokens for line in lines)
        batch.usd = sum(line.size.usd for line in lines)
        self.running.append(batch)

    async def _has_ended(self, batch: Sent) -> bool:
        """Check a batch; if it has ended, collect it or return its requests to the pool."""
        self.rows.renew(self.claim_seconds)
        if not batch.id:
            batch.id = await self.api.find(batch)
            self.rows.keep(batch)
        state = await self.api.look(batch) if batch.id else None
        if state is None:
            if batch.id:
                print(f"batch {batch.id} no longer exists: its requests are sent directly",
                      flush=True)
                self._forget(batch, self.budget.lost(batch.usd, len(batch.requests)))
            else:  # it was never created
                self._forget(batch)
                self._return(batch)
            return True
        n_replied, n_failed = (getattr(state.request_counts, name, None) or 0
                               for name in ("completed", "failed"))
        batch.n_replied = n_replied - (len(batch.keys) - len(batch.requests))  # of those wanted
        batch.n_done = min(n_replied + n_failed, len(batch.requests))
        if state.status not in ("validating", "failed"):
            self.n_refused = 0
        if _is_queue_full(state):
            self._refused(batch)
        elif state.status in _ENDED:
            await self._collect(batch, state)
        return state.status in _ENDED

    def _forget(self, batch: Sent, cost: float = 0.0) -> None:
        self.rows.forget(batch)
        self.budget.settle(batch.usd, cost, batch.digest)

    def _return(self, batch: Sent) -> None:
        if self.calls.mode == "batch":
            self.pool.update(batch.requests)

    def _refused(self, batch: Sent) -> None:
        """React to a full queue: wait for our own batches in it, or if none, send smaller ones."""
        self._forget(batch)
        others = sum(one.tokens for one in self.running if one is not batch)
        self.n_refused += not others
        self.queue_tokens = others or batch.tokens / 2
        print(f"batch {batch.id}: the provider's queue has no room for {len(batch.requests):,} "
              "requests", flush=True)
        if self.n_refused > _MOST_REFUSED:
            self.pool.clear()
        else:
            self._return(batch)

    async def _collect(self, batch: Sent, state: "Batch") -> None:
        """Store every reply of an ended batch, and count its cost."""
        found: dict[str, tuple[Request, Answer, Response]] = {}
        seconds = (state.completed_at or state.created_at) - state.created_at
        for file_id in filter(None, (state.output_file_id, state.error_file_id)):
            for answer in answers(await self.api.read(file_id), state.created_at, seconds):
                if answer.key in batch.requests and answer.key not in found:
                    try:
                        found[answer.key] = (batch.requests[answer.key], answer,
                                             read_response(answer.raw))
                    except Unreadable:  # an error, or no reply at all
                        continue
        # Replies that were given but cannot be found are paid for twice.
        n_lost = max(0, batch.n_replied - len(found))
        lost = self.budget.lost(batch.usd * n_lost / len(batch.requests), n_lost)
        self.direct.keep(list(found.values()), "batch", batch.usd, batch.digest,
                         batch.left_out.split(), lost)
        if all(key in batch.requests or self.cache.has(key) for key in batch.keys):
            self.rows.forget(batch)
        n_left = len(batch.requests) - len(found)
        codes = sorted({str(error.code) for error in _errors(state) if error.code})
        print(f"batch {batch.id}: {' '.join([state.status, *codes])}, {len(found):,} replies"
              + (f"; {n_left:,} requests are sent directly" if n_left else ""), flush=True)


def _errors(state: "Batch") -> "list[BatchError]":
    return [error for error in getattr(state.errors, "data", None) or [] if hasattr(error, "code")]


def _is_queue_full(state: "Batch") -> bool:
    """Return whether the provider's queue of tokens made a batch fail."""
    return state.status == "failed" and any(
        error.code == "token_limit_exceeded"
        or "enqueued token" in str(error.message).lower() for error in _errors(state))
