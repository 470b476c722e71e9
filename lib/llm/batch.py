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

import httpx2
import openai

from lib.core.store import Stopped
from lib.llm.cache import Sent
from lib.llm.direct import Direct
from lib.llm.request import Reply, Request, Waiting
from lib.llm.wire import Fault, dig, printable, read_wire, told

POLL_SECONDS = 30.0  # between two looks at a batch
MOST_BYTES = 200_000_000  # OpenAI's limit per file
_LOOKS = 10  # at a batch that has ended, until all of its lines are there


class Batches(Direct):
    """One run over requests that are not cached; batches leave the rest to direct calls."""

    most = 50_000  # requests in the next batch; OpenAI's limit

    async def ask(self, waiting: Waiting) -> None:
        """Send every request; each ends in the cache or in direct.failed unless the run is stopped.

        In mode "direct", batches of earlier runs are still collected: nothing is paid for twice.
        """
        try:
            await self._ask_in_batches(waiting)
        except openai.NotFoundError:
            self.stop('the endpoint has no Batch API: set mode to "direct"')
        except Exception as error:  # reported; a batch that was sent is found by the next run
            self.stop(self.told(error))
        await super().ask(self._open(waiting))

    async def _ask_in_batches(self, waiting: Waiting) -> None:
        sent: set[str] = set()
        while not self.stopped:
            if batch := next(self._kept(waiting), None):  # of an earlier run
                print(f"batch {batch.id} of an earlier run: waiting for its replies", flush=True)
                await self._finish(batch)
                continue
            pool = {key: one for key, one in self._open(waiting).items() if key not in sent}
            if self.calls.mode == "direct" or not pool:
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

    def _kept(self, waiting: Waiting) -> Iterator[Sent]:
        for batch in self.cache.batches():
            batch.requests = self._open({key: waiting[key] for key in batch.keys if key in waiting})
            if batch.requests:
                yield batch

    def _line(self, key: str, request: Request) -> str:
        fields = {"custom_id": key, "method": "POST", "body": self.body(request)}
        return json.dumps(fields | {"url": "/v1/chat/completions"}) + "\n"  # ASCII

    async def _has_room(self, requests: Waiting) -> bool:
        # Sends a batch and waits for its end. False: send less.
        text = "".join(map(self._line, requests, requests.values()))
        left_out = " ".join(sorted(self.dropped))
        batch = Sent(list(requests), time.time(), left_out=left_out, requests=requests)
        worst = sum(self.worst(one, batch=True) for one in requests.values())
        is_last = len(requests) == 1
        if len(text) > MOST_BYTES or not self.hold(worst, batch.digest):
            self.stop(self.out_of_money() * is_last)
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
        print(f"batch {batch.id}: {len(requests):,} requests sent", flush=True)
        return is_last or "token_limit_exceeded" not in await self._finish(batch)

    async def _finish(self, batch: Sent) -> str:
        # Waits until each of its lines is a stored reply or a named error; returns its errors.
        errors, n_looks = None, 0
        while not self.stopped and errors is None:
            state = await self._state(batch)
            if not batch.id:  # never created
                self._forget(batch)
                return ""
            elif state["status"] in ("completed", "failed", "expired", "cancelled", "unknown"):
                n_looks += 1
                errors = await self._collected(batch, state, n_looks >= _LOOKS)
            elif self.calls.mode == "direct":
                self.stop(
                    f"replies are still to come from batch {batch.id}: set mode to "
                    '"batch" to wait for it, or cancel it at the provider'
                )
            if errors is None and not self.stopped:
                await asyncio.sleep(POLL_SECONDS)
        return errors or ""

    def _forget(self, batch: Sent, lost: float = 0.0) -> None:
        self.cache.forget(batch.digest)
        self.settle(math.inf, lost, batch.digest)

    async def _get(self, path: str) -> dict:
        found = await self.client.get(path, cast_to=object)
        if not isinstance(found, dict):
            raise Stopped("the endpoint answers with something else where a batch should be")
        return {"status": "", **found}

    async def _state(self, batch: Sent) -> dict:
        # As the endpoint says; a batch whose creation was not answered is looked for.
        if not batch.id:
            for one in (await self._get("/batches?limit=100")).get("data") or ():
                if batch.digest in told(dig(one, "metadata"), ("digest",)):
                    batch.id = str(dig(one, "id"))
        with suppress(openai.NotFoundError):
            if batch.id:
                return await self._get(f"/batches/{batch.id}")
        return {"status": "unknown"}

    async def _lines(self, state: dict) -> dict[str, tuple]:
        # Reply or fault, raw text and id of the request, by the key that a line answers.
        found: dict[str, tuple] = {}
        for file_id in filter(None, (state.get("output_file_id"), state.get("error_file_id"))):
            lines = b""
            with suppress(openai.NotFoundError):  # for a minute
                path = f"/files/{file_id}/content"
                lines = (await self.client.get(path, cast_to=httpx2.Response)).content
            for line in lines.split(b"\n"):
                with suppress(ValueError, LookupError, TypeError, RecursionError):  # cut
                    fields = json.loads(line)
                    got = dig(fields, "response") or {"status_code": 400, "body": fields}
                    body, status = got.get("body", got), int(_number(got.get("status_code")) or 200)
                    raw = body if isinstance(body, str) else json.dumps(body)
                    request_id = str(got.get("request_id") or "")
                    found[fields["custom_id"]] = (read_wire(status, {}, raw), raw, request_id)
        return found

    async def _collected(self, batch: Sent, state: dict, is_last: bool) -> str | None:
        # Stores its replies; returns its errors, or None while lines are missing.
        found, status = await self._lines(state), state["status"]
        created, is_batch = _number(state.get("created_at")), self.calls.mode == "batch"
        rows = [
            (key, request, *found[key], created)
            for key, request in self._open(batch.requests).items()
            if key in found and isinstance(found[key][0], Reply)
        ]
        worst = sum(self.worst(request, batch=True) for _, request, *_ in rows)
        self.keep(rows, worst, batch.left_out, batch.digest)
        self.bar.update(len(rows))
        left = [key for key in batch.keys if not self.cache.has(key)]
        n_told = sum(_number(dig(state, "request_counts", one)) for one in ("completed", "failed"))
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
        if later := [key for key in left if key not in batch.requests]:  # others may want them
            self.cache.keep_batch(replace(batch, keys=later))
        elif not self.unwritten:
            given_up = [one for key, one in batch.requests.items() if key in lost]
            worst = sum(self.worst(one, batch=True) for one in given_up)
            self._forget(batch, self.lost(worst, len(given_up)))
        faults = {read.reason for read, *_ in found.values() if isinstance(read, Fault)}
        codes = " ".join([*told(state.get("errors"), ("code", "message")), *sorted(faults)])
        n = len(self._open(batch.requests))
        print(printable(f"{name}: {n:,} of {len(left):,} without reply; {codes[:200]}"), flush=True)
        if status == "cancelled" and n and is_batch:
            self.stop(
                f"{name} has no reply to {n} requests: run the same command again to send them in "
                'a batch, or set mode to "direct" to send them at the full price'
            )
        return codes


def _number(value: Any) -> float:
    with suppress(ValueError, TypeError):
        if 0 < float(value) < 1e11:
            return float(value)
    return 0.0
