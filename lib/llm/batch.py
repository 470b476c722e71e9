"""The Batch API, at half the price; after kill -9, nothing is sent twice."""

import asyncio
import json
import math
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any

from lib.llm.cache import Sent
from lib.llm.direct import MOST_TRIES, Direct
from lib.llm.request import Request, Waiting, read_response

MOST_BYTES = 200_000_000  # OpenAI's limit per file
_URL = "/v1/chat/completions"
_ENDED = ("completed", "failed", "expired", "cancelled")
_CLAIM = 3600.0  # seconds; renewed at each poll


class Batches(Direct):
    """One run over requests that are not cached; batches leave the rest to direct calls."""

    most = 50_000  # requests in the next batch; OpenAI's limit

    async def ask(self, waiting: Waiting) -> None:
        """Send every request; each ends in the cache or in direct.failed unless the run is stopped.

        In mode "direct", batches of earlier runs are still collected: nothing is paid for twice.
        """
        import openai

        self.patient = self.client.with_options(max_retries=MOST_TRIES)
        tally = self.calls.tally
        n_before, is_new = tally.new + tally.failed, self.calls.mode == "batch"
        try:
            while not self.stopped and (is_new or any(self._kept(waiting))):
                await self._ask_in_batches(self._open(waiting), is_new)
                is_new = False  # what is left are batches of other processes
                if any(self._kept(waiting)):
                    await asyncio.sleep(self.calls.poll_seconds)
        except openai.NotFoundError:
            self.stop('the endpoint has no Batch API: set mode to "direct"')
        except Exception as error:  # reported; a batch that was sent is found by the next run
            self.stop(self.at.scrubbed(f"{type(error).__name__}: {error}"))
        rest = self._open(waiting)
        tally.cached += len(waiting) - len(rest) - (tally.new + tally.failed - n_before)
        await super().ask(rest)

    def _open(self, waiting: Waiting) -> Waiting:
        return {
            key: request
            for key, request in waiting.items()
            if key not in self.failed and not self.cache.has(key)
        }

    def _kept(self, waiting: Waiting) -> Iterator[Sent]:
        for batch in self.cache.batches():
            batch.requests = self._open({key: waiting[key] for key in batch.keys if key in waiting})
            if batch.requests:
                yield batch

    async def _ask_in_batches(self, waiting: Waiting, is_new: bool) -> None:
        mine = {key: one for key, one in waiting.items() if self.cache.claim(key, _CLAIM)}
        try:
            for batch in list(self._kept(mine)):  # of earlier runs
                self.budget.n_held += 1
                print(f"batch {batch.id} of an earlier run: waiting for its replies", flush=True)
                await self._finish(batch)
            pool = self._open(mine) if is_new and not self.stopped else {}
            if pool:  # one is sent directly, to notice a wrong model now, not after a day
                first = next(iter(pool))
                await super().ask({first: pool.pop(first)})
            while pool and not self.stopped:
                lines = self._next_part(pool)
                if await self._has_room(lines):
                    pool = {key: one for key, one in pool.items() if key not in lines}
                else:
                    self.most = max(1, len(lines) // 2)
        finally:
            self.cache.release(list(mine))

    def planned(self, waiting: Waiting) -> str:
        """Return how many calls and batches will run in mode batch, as far as it is known now."""
        pool, n_batches = dict(islice(waiting.items(), 1, None)), 0
        worst = sum(map(self.budget.worst, waiting.values()))
        while pool:
            for key in self._next_part(pool):
                del pool[key]
            n_batches += 1
        least = "at least " * self.calls.exceeds(worst)
        return f"1 directly, then {least}{n_batches} batches"

    def _next_part(self, pool: Waiting) -> Waiting:
        # As many requests as file and money allow, but at least one.
        self.budget.refresh()
        n_bytes, usd = 0, 0.0
        part: Waiting = {}
        for key, request in islice(pool.items(), self.most):
            n_bytes += len(self._line(key, request))
            usd += self.budget.worst(request, batch=True)
            if part and (n_bytes > MOST_BYTES or self.calls.exceeds(usd)):
                break
            part[key] = request
        return part

    def _line(self, key: str, request: Request) -> str:
        return (
            json.dumps(
                {"custom_id": key, "method": "POST", "url": _URL, "body": self.body(request)}
            )
            + "\n"
        )  # ASCII

    def _worst(self, batch: Sent) -> float:
        return sum(self.budget.worst(one, batch=True) for one in batch.requests.values())

    async def _has_room(self, requests: Waiting) -> bool:
        # Sends a batch and waits for its end. False: send less, as money, file or queue are full.
        text = "".join(map(self._line, requests, requests.values()))
        batch = Sent(
            list(requests), time.time(), left_out=" ".join(sorted(self.dropped)), requests=requests
        )
        if not self.budget.hold(self._worst(batch), batch.digest):
            if len(requests) == 1:
                self.stop(self.calls.out_of_money())
            return False
        self.cache.keep_batch(batch)  # from here on, it is looked for
        file = await self.timely(
            self.patient.files.create(file=("requests.jsonl", text.encode()), purpose="batch")
        )
        # Not repeated: if only the answer is lost, a second batch would be paid for.
        batch.id = (
            await self.timely(
                self.client.batches.create(
                    input_file_id=file.id,
                    endpoint=_URL,
                    completion_window="24h",
                    metadata={"digest": batch.digest},
                )
            )
        ).id
        self.cache.keep_batch(batch)
        print(f"batch {batch.id}: {len(requests):,} requests sent", flush=True)
        return "token_limit_exceeded" not in await self._finish(batch) or len(requests) == 1

    async def _finish(self, batch: Sent) -> list[str]:
        # Waits for its end, stores its replies, and returns the codes of its errors.
        n_confirmed = len(batch.requests) if batch.id else 0
        while not self.stopped:
            self.cache.renew(_CLAIM)
            state = await self.timely(self._state(batch))
            if state is None:  # never created, or deleted
                self.cache.forget(batch.digest)
                lost = self.budget.lost(self._worst(batch), n_confirmed) if n_confirmed else 0.0
                self.budget.settle(math.inf, lost, batch.digest)
                break
            if state.status in _ENDED:
                return await self._collect(batch, state)
            if self.calls.mode == "direct":
                self.stop(
                    f"replies are still to come from batch {batch.id}: set mode to "
                    '"batch" to wait for it, or cancel it at the provider'
                )
            else:
                await asyncio.sleep(self.calls.poll_seconds)
        return []

    async def _state(self, batch: Sent) -> Any:
        import openai

        with suppress(openai.NotFoundError):
            if not batch.id:
                async for one in self.patient.batches.list(limit=100):
                    if (one.metadata or {}).get("digest") == batch.digest:
                        batch.id = one.id
                        break
            if batch.id:
                return await self.patient.batches.retrieve(batch.id)
        return None

    async def _collect(self, batch: Sent, state: Any) -> list[str]:
        import openai

        found, lines = {}, []
        seconds = (state.completed_at or state.created_at) - state.created_at
        for file_id in filter(None, (state.output_file_id, state.error_file_id)):
            with suppress(openai.NotFoundError):
                file = await self.timely(self.patient.files.content(file_id))
                lines += file.content.split(b"\n")
        for line in lines:
            with suppress(ValueError, LookupError, TypeError):  # an error, not wanted, or BadReply
                row = json.loads(line)
                key, got = row["custom_id"], row["response"]
                raw = json.dumps(got["body"])
                found[key] = (
                    batch.requests[key],
                    read_response(raw),
                    raw,
                    str(got["request_id"]),
                    state.created_at,
                    seconds,
                )
        self.keep(found, math.inf, batch.left_out, batch.digest)
        self.bar.update(len(found))
        later = [key for key in batch.keys if key not in batch.requests and not self.cache.has(key)]
        if later:  # another run may want them
            self.cache.keep_batch(replace(batch, keys=later))
        else:
            self.cache.forget(batch.digest)
        codes = [str(error.code) for error in (state.errors and state.errors.data) or ()]
        print(
            f"batch {batch.id}: {' '.join([state.status, *codes])}, {len(found):,} of "
            f"{len(batch.requests):,} replies",
            flush=True,
        )
        return codes
