"""The Batch API, at half the price; after kill -9, nothing is sent twice."""

import asyncio
import json
from contextlib import suppress
from itertools import islice
from typing import Any

import openai

from lib.core.store import printable
from lib.llm.cache import Sent
from lib.llm.client import Run, reason_of
from lib.llm.request import Reply, Request, Waiting
from lib.llm.wire import Fault, dig, read_wire, told

POLL_SECONDS = 30.0  # between two looks at a batch
MOST_BYTES = 200_000_000  # OpenAI's limit per file
_LOOKS = 10  # at a batch that has ended, until all of its lines are there
_ENDS = ("completed", "failed", "expired", "cancelled", "unknown")


class Batches(Run):
    """One run over requests that are not cached; batches leave the rest to direct calls."""

    most = 50_000  # requests in the next batch; OpenAI's limit

    async def ask(self, waiting: Waiting) -> None:
        """Send every request; each ends in the cache or in `failed`, unless the run is stopped.

        In mode "direct", batches of earlier runs are still collected: nothing is paid for twice.
        """
        try:
            await self._ask_in_batches(waiting)
        except openai.NotFoundError:
            self.stop('the endpoint has no Batch API: set mode to "direct"')
        except Exception as error:  # reported; a batch that was sent is found by the next run
            self.stop(f"what the endpoint says of a batch cannot be used: {reason_of(error)}")
        await super().ask(self._open(waiting))

    async def _ask_in_batches(self, waiting: Waiting) -> None:
        for batch in self.cache.batches():  # of earlier runs
            batch.requests = self._open({key: waiting[key] for key in batch.keys if key in waiting})
            if batch.requests:
                self.say(f"batch {batch.id} of an earlier run: waiting for its replies")
                await self._finish(batch)
        sent: set[str] = set()
        while self.calls.mode == "batch" and not self.stopped:
            pool = {key: one for key, one in self._open(waiting).items() if key not in sent}
            if not pool:
                return
            if not sent:  # one is sent directly, to notice a wrong model now, not after a day
                sent = {next(iter(pool))}
                await super().ask({key: pool[key] for key in sent})
            elif await self._has_room(part := dict(islice(pool.items(), self.most))):
                sent |= part.keys()
            else:  # money, file or queue are full
                self.most = max(1, len(part) // 2)

    def _open(self, waiting: Waiting) -> Waiting:
        return {
            key: request
            for key, request in waiting.items()
            if key not in self.failed and not self.cache.has(key)
        }

    def _line(self, key: str, request: Request) -> str:
        fields = {"custom_id": key, "method": "POST", "body": self.body(request)}
        return json.dumps(fields | {"url": "/v1/chat/completions"}) + "\n"  # ASCII

    async def _has_room(self, requests: Waiting) -> bool:
        # Sends a batch and waits for its end. False: send less.
        text = "".join(map(self._line, requests, requests.values()))
        batch, is_last = Sent(list(requests), requests=requests), len(requests) == 1
        reason = self.out_of_money(self.worst(requests, batch=True))
        if len(text) > MOST_BYTES or reason:
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
        errors, n_looks = None, 0
        while not self.stopped and errors is None:
            state = await self._state(batch)
            if not batch.id:  # never created
                self.cache.forget(batch)
                return ""
            if dig(state, "status") in _ENDS:
                n_looks += 1
                errors = await self._collected(batch, state, n_looks == _LOOKS)
            elif self.calls.mode == "direct":
                self.stop(
                    f"replies are still to come from batch {batch.id}: set mode to "
                    '"batch" to wait for it, or cancel it at the provider'
                )
            if errors is None and not self.stopped:
                await asyncio.sleep(POLL_SECONDS)
        return errors or ""

    async def _state(self, batch: Sent) -> Any:
        # As the endpoint says; a batch whose creation was not answered is looked for.
        if not batch.id:
            listed: Any = await self.client.get("/batches?limit=100", cast_to=object)
            for one in listed["data"]:
                if batch.digest in told(dig(one, "metadata"), ("digest",)):
                    batch.id = str(dig(one, "id"))
        with suppress(openai.NotFoundError):
            if batch.id:
                return await self.client.get(f"/batches/{batch.id}", cast_to=object)
        return {"status": "unknown"}

    async def _lines(self, state: Any) -> dict[str, tuple]:
        # Reply or fault, and raw text, by the key that a line answers.
        found: dict[str, tuple] = {}
        for file_id in filter(None, (dig(state, "output_file_id"), dig(state, "error_file_id"))):
            lines = b""
            with suppress(openai.NotFoundError):  # for a minute
                lines = (await self.client.files.content(file_id)).content
            for line in lines.split(b"\n"):
                with suppress(ValueError, LookupError, TypeError, RecursionError):  # cut
                    fields = json.loads(line)
                    got = dig(fields, "response") or {"status_code": 400, "body": fields}
                    body, status = got.get("body", got), int(got.get("status_code") or 200)
                    raw = body if isinstance(body, str) else json.dumps(body)
                    found[fields["custom_id"]] = read_wire(status, {}, raw), raw
        return found

    async def _collected(self, batch: Sent, state: Any, is_last: bool) -> str | None:
        # Stores its replies; returns its errors, or None while lines are missing.
        found, status = await self._lines(state), state["status"]
        is_batch, wanted = self.calls.mode == "batch", self._open(batch.requests)
        replied = {
            key: wanted[key] for key in wanted.keys() & found if isinstance(found[key][0], Reply)
        }
        self.keep(replied, found, batch=True)
        self.bar.update(len(replied))
        left = [key for key in batch.keys if not self.cache.has(key)]
        counts = [dig(state, "request_counts", one) for one in ("completed", "failed")]
        n_told = sum(n for n in counts if isinstance(n, int))
        is_short = status in ("completed", "unknown") or len(found) < n_told
        lost = [key for key in left if key not in found and is_short]
        name = f"batch {batch.id} ({status})"
        if lost and is_batch and is_last:
            self.stop(
                f"{len(lost):,} of {len(batch.keys):,} lines of {name} are neither a reply nor an "
                'error: run the same command later, or set mode to "direct" to give them up and '
                "send them again at the full price"
            )
        if lost and (is_batch or not is_last):
            return None
        if not self.unwritten:
            self._give_up(batch, left, lost)
        faults = {read.reason for read, _ in found.values() if isinstance(read, Fault)}
        codes = " ".join([*told(dig(state, "errors"), ("code", "message")), *sorted(faults)])
        n = len(self._open(batch.requests))
        self.say(f"{name}: {n:,} of {len(left):,} without reply; {printable(codes[:200])}")
        if status == "cancelled" and n and is_batch:
            self.stop(
                f"{name} has no reply to {n} requests: run the same command again to send them in "
                'a batch, or set mode to "direct" to send them at the full price'
            )
        return codes

    def _give_up(self, batch: Sent, left: list[str], lost: list[str]) -> None:
        # Other runs may want what this one does not.
        batch.keys = [key for key in left if key not in batch.requests]
        (self.cache.keep_batch if batch.keys else self.cache.forget)(batch)
        given_up = {key: one for key, one in batch.requests.items() if key in lost}
        self.calls.tally.lost += len(given_up)
        self.pay(self.worst(given_up, batch=True))
