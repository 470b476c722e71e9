"""Send requests over HTTP, concurrently; retry those worth repeating, and store the replies."""

import asyncio
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import count

from lib.llm.budget import Budget
from lib.llm.cache import CacheFailed, Entry
from lib.llm.calls import Calls
from lib.llm.endpoint import Endpoint
from lib.llm.faults import (
    MOST_THROTTLED,
    MOST_TRIES,
    MOST_UNREADABLE,
    NO_SERVER,
    TRIES_TO_REACH,
    Fault,
    pause,
)
from lib.llm.http import Http
from lib.llm.pace import MOST_IN_A_ROW, Pace
from lib.llm.progress import Progress
from lib.llm.request import Request
from lib.llm.response import UNREADABLE, Answer, Response, Unreadable, read_response
from lib.llm.tokens import estimate


class Direct:
    """One run over requests that are not cached. `stopped` is why it ended early, else ""."""

    def __init__(self, endpoint: Endpoint, model: str, calls: Calls, budget: Budget) -> None:
        self.endpoint, self.model, self.calls = endpoint, model, calls
        self.budget, self.cache = budget, budget.cache
        self.pace = Pace(calls.concurrency, calls.requests_per_minute, calls.tokens_per_minute)
        self.http = Http(endpoint, model, calls.timeout_seconds, self.pace.heed)
        self.dropped: set[str] = set()  # parameters that the endpoint refuses
        self.failed: dict[str, str] = {}  # the reason, by key
        self.n_replied, self.reply_tokens = 0, 0
        self.told: set[str] = set()  # lines that were printed
        self.counts_most = False  # whether limits count max_tokens, not a reply's length
        self.stopped = ""

    def stop(self, reason: str) -> None:
        """Send nothing more; the first reason counts, and "" is none."""
        self.stopped = self.stopped or reason

    async def ask(self, waiting: dict[str, Request], progress: Progress) -> None:
        """Send every request; each ends in the cache or in `failed`, unless the run is stopped."""
        left, turn = iter(waiting.items()), asyncio.Lock()

        async def one_after_another() -> None:
            while True:
                async with turn:
                    if self.stopped or not (found := next(left, None)):
                        return
                    await self.pace.admit(self._expected_tokens(found[1]))
                if self.stopped:
                    return self.pace.free()
                await self._decide(*found, progress)

        # Not a task per call: its send would wait until all replies that are there were handled.
        await asyncio.gather(*(one_after_another()
                               for _ in range(min(len(waiting), self.pace.most))))

    async def _decide(self, key: str, request: Request, progress: Progress) -> None:
        """Repeat one request until its result is final; then free the slot that it was given."""
        try:
            while not self.stopped and not self.cache.claim(key, 2 * self.calls.timeout_seconds):
                if self.cache.has(key):  # another process has sent it since
                    self.calls.tally.cached += 1
                    return
                await asyncio.sleep(0.25)
            await self._persist(key, request)
        except CacheFailed as error:
            self.stop(str(error))
        except Exception as error:  # a fault in our code: reported; other calls' replies are kept
            self.stop(f"a call ended with {type(error).__name__}: "
                      f"{self.endpoint.scrubbed(str(error))}")
        finally:
            self.pace.free()
            progress.step(int(self.pace.limit))

    async def _persist(self, key: str, request: Request) -> None:
        n_throttled = n_unreadable = 0
        if (n_tokens := estimate(request) + request.max_tokens) >= self.calls.too_long:
            return self._fail(key, f"not sent: about {n_tokens:,} tokens with its reply, and the "
                                   f"model's window did not hold {self.calls.too_long:,}")
        for n_tries in count(1):
            if self.stopped:
                break
            try:
                return await self._try(key, request)
            except Fault as fault:
                n_throttled += fault.is_throttled
                n_unreadable += bool(fault.unreadable)
                if stops := fault.stops or self._stops(fault, n_tries):
                    self.stop(stops)
                    continue
                if fault.unsupported:  # repeat the call, and send later ones, without it
                    self._drop(fault.unsupported)
                    continue
                if (not fault.is_worth_repeating or n_tries - n_throttled >= MOST_TRIES
                        or n_throttled >= MOST_THROTTLED or n_unreadable >= MOST_UNREADABLE):
                    if fault.is_too_long:
                        self.calls.too_long = min(self.calls.too_long, n_tokens)
                    if fault.unreadable:  # stored, so that no later run pays for it again
                        page = self.endpoint.scrubbed(fault.unreadable)  # a proxy's may quote all
                        answer = Answer(key, page, asked_at=time.time())
                        with self.cache.transaction():
                            self.cache.put([self._entry(request, answer, UNREADABLE, "direct")])
                    return self._fail(key, fault.reason)
                seconds = pause(n_tries, fault)
            self.pace.free()
            await asyncio.sleep(seconds)
            await self.pace.admit(self._expected_tokens(request))
        self.cache.release([key])

    def _stops(self, fault: Fault, n_tries: int) -> str:
        """Return why a fault that has been repeated stops the run, "" if it does not."""
        if fault.is_unreached and n_tries >= TRIES_TO_REACH and not self.n_replied:
            return NO_SERVER
        n_rounds = self.pace.n_in_a_row if fault.is_throttled else 0
        if n_rounds > 2:
            self.tell("429", f"{self.model}: the endpoint refuses every call ({fault.reason}): "
                             f"asking ever more slowly, {MOST_IN_A_ROW} times at most")
        return (f"the endpoint has refused every call {n_rounds} times in a row ({fault.reason})"
                if n_rounds >= MOST_IN_A_ROW else "")

    def _drop(self, parameter: str) -> None:
        """Leave a parameter out of all later calls, and say so."""
        self.dropped.add(parameter)
        chance = ": replies are drawn by chance, not greedily" * (parameter == "temperature")
        self.tell(parameter, f"{self.model}: the endpoint refuses {parameter}, which is "
                             f"not sent{chance}")

    def tell(self, about: str, line: str) -> None:
        """Print a line once."""
        if about not in self.told:
            self.told.add(about)
            print(line, flush=True)

    async def _try(self, key: str, request: Request) -> None:
        """Make one call, paid for at most once, and store the reply. Raises Fault."""
        worst = self.budget.worst(request)
        if not await self.budget.reserve(worst):
            raise Fault("the money is spent", stops=self.calls.out_of_money())
        sent, asked_at, left_out = time.monotonic(), time.time(), set(self.dropped)
        try:
            raw, response, request_id = await self._send(request)
        except Fault as fault:
            self.budget.settle(worst, self.budget.lost(worst) if fault.is_maybe_paid else 0.0)
            if fault.is_throttled:
                self.pace.throttled(sent, fault.wait)
                # Refused, although enough is left: OpenAI counts max_tokens before it replies.
                left = self.pace.tokens.left
                self.counts_most |= self._expected_tokens(request) <= left < request.max_tokens
            raise
        self.pace.replied()
        answer = Answer(key, raw, request_id, asked_at, time.monotonic() - sent)
        self.keep([(request, answer, response)], "direct", worst, left_out=left_out)
        self.stop(self.calls.all_cut(request.max_tokens))

    async def _send(self, request: Request) -> tuple[str, Response, str]:
        """Make one HTTP call; return (body, response, request id). Raises Fault."""
        try:
            got = await self.http.chat(self.body(request))
        except Fault as fault:
            if fault.status == 403 and self.n_replied:
                fault.stops = ""  # it is about one prompt: some gateways filter like that
            raise
        raw = got.content.decode("utf-8", "replace")
        try:
            return raw, read_response(raw), got.headers.get("x-request-id", "")
        except Unreadable as error:
            raise Fault(str(error), is_worth_repeating=True, is_maybe_paid=True,
                        unreadable=raw or " ") from None

    def body(self, request: Request) -> dict[str, object]:
        """Return what is sent; the token limit has two names, except for OpenAI."""
        wanted: dict[str, object] = {
            "model": self.model, "temperature": request.temperature,
            "messages": [{"role": role, "content": content} for role, content in request.messages],
            "max_completion_tokens": request.max_tokens}
        if not self.endpoint.is_openai:
            wanted["max_tokens"] = request.max_tokens
        if request.stop:
            wanted["stop"] = list(request.stop)
        return {name: value for name, value in wanted.items() if name not in self.dropped}

    def keep(self, replies: Sequence[tuple[Request, Answer, Response]], via: str, worst: float,
             who: str = "", left_out: Iterable[str] = (), usd_lost: float = 0.0) -> None:
        """Count replies, store them and settle the `worst` case that was reserved for them."""
        taken = [self._taken(*reply, via, left_out) for reply in replies]
        with self.cache.transaction():
            self.cache.put([entry for entry, _ in taken])
            self.budget.settle(worst, sum(usd for _, usd in taken) + usd_lost, who)

    def _taken(self, request: Request, answer: Answer, response: Response, via: str,
               left_out: Iterable[str]) -> tuple[Entry, float]:
        """Count a reply in the tally; return its entry and its dollars.

        Without the endpoint's count, tokens are an estimate and the dollars are the worst case.
        """
        tally, is_batch = self.calls.tally, via == "batch"
        n_in, n_out = response.prompt_tokens, response.completion_tokens
        if n_in is None or n_out is None:
            usd = self.budget.worst(request, is_batch)
            tally.estimated, tally.usd_estimated = tally.estimated + 1, tally.usd_estimated + usd
            n_in, n_out = estimate(request), len(response.text) // 4 + 1
        else:
            usd = self.budget.cost(n_in, n_out, is_batch)
        tally.new, self.n_replied = tally.new + 1, self.n_replied + 1
        tally.cut += response.finish_reason == "length"
        tally.prompt_tokens += n_in
        tally.completion_tokens += n_out
        self.reply_tokens += n_out
        return self._entry(request, answer, response, via, left_out), usd

    def _entry(self, request: Request, answer: Answer, response: Response, via: str,
               left_out: Iterable[str] = ()) -> Entry:
        asked_at = datetime.fromtimestamp(answer.asked_at, UTC).isoformat(timespec="milliseconds")
        return Entry(answer.key, request.key(self.model), self.model, request.body,
                     self.endpoint.without_key(answer.raw), response.prompt_tokens,
                     response.completion_tokens, response.finish_reason, round(answer.seconds, 3),
                     asked_at, self.endpoint.scrubbed(answer.request_id), via,
                     " ".join(sorted(left_out)))

    def _expected_tokens(self, request: Request) -> int:
        """Estimate from replies so far how many tokens a call counts toward a limit per minute."""
        if self.counts_most:
            return max(estimate(request), request.max_tokens)
        mean = self.reply_tokens / self.n_replied if self.n_replied else request.max_tokens / 4
        return estimate(request) + int(mean)

    def _fail(self, key: str, reason: str) -> None:
        self.cache.release([key])
        self.failed[key] = reason
        self.calls.tally.failed += 1
        if failing := self.calls.failing():
            self.stop(f"{failing}, the last with: {reason}")
