"""The Batch API, at half the price; after kill -9, nothing is sent twice."""

import asyncio
import json
import re
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
_PARTLY = ("failed", "expired", "cancelled", "never created")  # with some lines or none


class Batches(Run):
    """One run over requests that are not cached; batches leave the rest to direct calls."""

    most = 50_000  # requests in the next batch; OpenAI's limit

    async def ask(self, waiting: Waiting) -> None:
        """Send every request; each ends in the cache or in `failed`, unless the run is stopped.

        In mode "direct", batches of earlier runs are still collected: nothing is paid for twice.
        """
        try:
            for batch in self.cache.batches():  # of earlier runs
                if waiting.keys() & batch.keys:
                    self.say(f"batch {batch.id} of an earlier run: waiting for its replies")
                    await self._finish(batch)
            if self.calls.mode == "batch":
                # One is sent directly, to notice a wrong model now, not after a day.
                await super().ask(dict(islice(waiting.items(), 1)))
                await self._ask_in_batches([*waiting.items()])
        except openai.NotFoundError:
            self.stop('the endpoint has no Batch API: set mode to "direct"')
        except Exception as error:  # reported; a batch that was sent is found by the next run
            self.stop(f"what the endpoint says of a batch cannot be used: {reason_of(error)}")
        await super().ask(waiting)

    async def _ask_in_batches(self, pool: list[tuple[str, Request]]) -> None:
        while pool and not self.stopped:
            part = dict(pool[: self.most])
            if await self._has_room(part):
                del pool[: len(part)]
            else:  # money, file or queue are full
                self.most = max(1, len(part) // 2)

    def _line(self, key: str, request: Request) -> str:
        fields = {"custom_id": key, "method": "POST", "body": self.body(request)}
        return json.dumps(fields | {"url": "/v1/chat/completions"}) + "\n"  # ASCII

    async def _has_room(self, requests: Waiting) -> bool:
        # Sends a batch and waits for its end. False: send less.
        text = "".join(map(self._line, requests, requests.values()))
        batch, is_last = Sent([*requests]), len(requests) == 1
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
        for name in ("error_file_id", "output_file_id"):
            data = b""
            with suppress(openai.NotFoundError):  # for a minute
                if dig(state, name):
                    data = (await self.client.files.content(str(state[name]))).content
            for line in data.decode(errors="replace").split("\n"):  # paid: one bad byte is kept
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
        errors = " ".join([*told(dig(state, "errors"), ("code", "message")), *sorted(faults)])
        self.say(
            f"{name} ({state['status']}): {len(wanted & self.open.keys()):,} of {len(wanted):,} "
            f"without reply; {printable(errors[:200])}"
        )
        return errors
