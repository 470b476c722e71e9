"""Concurrent calls over HTTP: those worth repeating are repeated, replies are stored."""

import asyncio
import json
import time
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from lib.core.store import BadReply
from lib.llm.budget import Budget
from lib.llm.cache import Entry
from lib.llm.endpoint import Endpoint
from lib.llm.faults import Fault, fault_of, fault_of_reply
from lib.llm.prices import cost_usd
from lib.llm.request import Reply, Request, Waiting, most_tokens, upper_bound
from lib.llm.response import UNREADABLE, read_response

MOST_HOPELESS = 20  # requests that fail in the same way, if none has had a reply that can be read
WORTH_SAYING = 10.0  # seconds of a wait
_KEPT = 100_000  # characters of an unreadable reply


class Direct:
    """One run over requests that are not cached, with clients `http` and `client` and a `bar`.

    `stopped` is why it ended early, else ""; `failed` has the reasons of failed calls by key.
    """

    http: Any
    client: Any
    bar: Any
    loop: Any
    task: Any

    def __init__(self, at: Endpoint, model: str, budget: Budget) -> None:
        self.at, self.model, self.budget = at, model, budget
        self.calls, self.cache = budget.calls, budget.cache
        self.dropped: set[str] = set()  # parameters that the endpoint refuses
        self.failed: dict[str, str] = {}
        self.hopeless = 0.0  # requests that have failed so far
        self.next = 0.0  # when the endpoint is to be asked again, on the monotonic clock
        self.stopped = ""

    def stop(self, reason: str) -> None:
        """Send nothing more; the first reason counts, and "" is none."""
        self.stopped = self.stopped or reason

    async def ask(self, waiting: Waiting) -> None:
        """Send every request; each ends in the cache or in `failed`, unless the run is stopped."""
        # Not a task per call: its send would wait until all replies that are there were handled.
        left = iter(waiting.items())
        await asyncio.gather(
            *(self._one_after_another(left) for _ in range(self.calls.concurrency))
        )

    async def _one_after_another(self, left: Iterator[tuple[str, Request]]) -> None:
        for key, request in left:
            if self.stopped:
                return
            try:
                await self._decide(key, request)
            except Exception as error:  # reported; other calls' replies are kept
                self.stop(self.at.scrubbed(f"{type(error).__name__}: {error}"))
            self.bar.update()

    async def _decide(self, key: str, request: Request) -> None:
        while not self.stopped and not self.cache.claim(key, 2 * self.calls.timeout_seconds):
            if self.cache.has(key):  # another process has sent it since
                self.calls.tally.cached += 1
                return
            await asyncio.sleep(0.25)
        tries = []  # how many each fault so far would allow
        while not self.stopped:
            await asyncio.sleep(self.next - time.monotonic())
            fault = None if self.stopped else await self._try(key, request)
            if fault is None:
                break
            tries.append(fault.tries)
            self.stop(fault.stops)
            if fault.tries > 1:  # 429 and 503 ask for patience
                self._despair(fault.reason, 0.01 if fault.status in (429, 503) else 1.0)
            if fault.unsupported:  # repeat the call, and send later ones, without it
                if fault.unsupported not in self.dropped:
                    print(
                        f"{self.model}: the endpoint refuses {fault.unsupported}, which is not "
                        "sent",
                        flush=True,
                    )
                self.dropped.add(fault.unsupported)
                continue
            if not self.stopped and tries.count(fault.tries) >= fault.tries:
                self.failed[key] = fault.reason
                self.calls.tally.failed += 1
                self.calls.tally.unserved += fault.tries > 1
                self.stop(self.calls.failing(fault.reason))
                break
            await asyncio.sleep(0 if self.stopped else fault.pause(len(tries)))
        self.cache.release([key])

    def _despair(self, reason: str, weight: float = 1.0) -> None:
        if not self.hopeless:
            print(f"{self.model}: {reason.partition(':')[0]}; such calls are repeated", flush=True)
        self.hopeless += weight
        if self.hopeless >= MOST_HOPELESS and not self.calls.tally.new:
            self.stop(
                f"the first {MOST_HOPELESS} requests have all failed, the last with: {reason}"
            )

    async def _try(self, key: str, request: Request) -> Fault | None:
        import aiohttp

        worst = self.budget.worst(request)
        if not await self.budget.reserve(worst):
            return Fault("the money is spent", stops=self.calls.out_of_money())
        start, asked_at = time.monotonic(), time.time()
        body, left_out = self.body(request), " ".join(sorted(self.dropped))
        response, fault = UNREADABLE, None
        try:
            got, raw = await self.timely(self._post(body, request.max_tokens))
            if got.status < 206:  # 206: a part
                response = read_response(raw)
        except BadReply:
            pass
        except (aiohttp.ClientError, OSError, ValueError) as error:
            fault = fault_of(error)
        if response is UNREADABLE and not fault:
            fault = fault_of_reply(got.status, raw, got.headers, self.model, self.at, body)
            # Stored without a fault, so that no later run pays for it again; scrubbed, as a
            # proxy's page may quote all.
            raw = self.at.scrubbed(raw)[:_KEPT]
        if fault:
            self.budget.settle(worst, self.budget.lost(worst) if fault.is_maybe_paid else 0.0)
            until = time.monotonic() + fault.wait
            if fault.wait > WORTH_SAYING < until - self.next:
                print(
                    f"{self.model}: the endpoint asks for a wait of {fault.wait:.0f} s", flush=True
                )
            self.next = max(self.next, until)
            is_served = self.calls.tally.new or self.calls.tally.cached
            # some gateways filter one prompt so
            return Fault(fault.reason) if fault.status == 403 and is_served else fault
        answer = raw, got.headers.get("x-request-id", ""), asked_at, time.monotonic() - start
        self.keep({key: (request, response, *answer)}, worst, left_out)
        self.stop(self.calls.all_cut(request.max_tokens))
        if response is UNREADABLE:
            self._despair(f"{response.reason}: check OPENAI_BASE_URL, and set retry to unreadable")
        return None

    async def _post(self, body: dict, max_tokens: int) -> tuple[Any, str]:
        # openai's `create` has no limit of size. Its JSON is UTF-8, without lone surrogates.
        most = min(32_000_000, 1_000_000 + 256 * max_tokens)  # bytes; a token may be long
        raw = bytearray()
        async with self.http.post(
            f"{self.at.url}/chat/completions", allow_redirects=False, data=json.dumps(body).encode()
        ) as got:
            async for part in got.content.iter_any():
                raw += part
                if len(raw) > most:
                    print(f"{self.model}: a reply that is too long is cut off", flush=True)
                    break
        text = raw.decode("utf-8-sig", "replace")
        with suppress(LookupError, UnicodeError, TypeError):  # not every codec is a charset
            text = raw.decode(got.charset, "replace")
        return got, text.removeprefix("\ufeff")

    async def timely(self, call: Awaitable[Any]) -> Any:
        """Return the result of a call of the client, whose own limit is for each read."""
        async with asyncio.timeout(self.calls.timeout_seconds):
            return await call

    def body(self, request: Request) -> dict[str, object]:
        """Return what is sent; the token limit has two names, except for OpenAI."""
        wanted = {
            "model": self.model,
            "temperature": request.temperature,
            "stop": request.stop or None,
            "messages": [{"role": role, "content": content} for role, content in request.messages],
            "max_completion_tokens": request.max_tokens,
            "max_tokens": None if self.at.is_openai else request.max_tokens,
        }
        return {
            name: value
            for name, value in wanted.items()
            if value is not None and name not in self.dropped
        }

    def keep(
        self, replies: Mapping[str, tuple], worst: float, left_out: str, batch: str = ""
    ) -> None:
        """Count replies, store them and settle the `worst` case that was reserved for them.

        By key: request, response, its raw text, id, time of the request, seconds.
        """
        usd = sum(
            self._counted(request, response, bool(batch))
            for request, response, *_ in replies.values()
        )
        with self.cache.transaction():
            self.cache.put(
                [
                    Entry(  # type: ignore[call-arg]  # usage is a pair
                        key,
                        request.key(self.model),
                        self.model,
                        request.body,
                        self.at.without_key(raw),
                        *response.usage,
                        response.finish_reason,
                        round(seconds, 3),
                        datetime.fromtimestamp(asked_at, UTC).isoformat(timespec="milliseconds"),
                        self.at.scrubbed(request_id),
                        "batch" if batch else "direct",
                        left_out,
                    )
                    for key, (
                        request,
                        response,
                        raw,
                        request_id,
                        asked_at,
                        seconds,
                    ) in replies.items()
                ]
            )
            self.budget.settle(worst, usd, batch)

    def _counted(self, request: Request, response: Reply, is_batch: bool) -> float:
        tally, (n_in, n_out) = self.calls.tally, response.usage
        usd = self.budget.worst(request, is_batch)
        if response is UNREADABLE:
            return self.budget.lost(usd)
        self.stop(self.calls.another_model(self.model, response.model))
        if None in response.usage:
            tally.uncounted += 1
            tally.usd_estimated += usd
            n_in, n_out = most_tokens(request), upper_bound(response.text)
        else:
            usd = cost_usd(self.budget.price, n_in, n_out, is_batch)
        tally.new += 1
        tally.cut += response.finish_reason == "length"
        tally.prompt_tokens += n_in
        tally.completion_tokens += n_out
        return usd
