"""Concurrent calls over HTTP: failures are repeated, kept with their reason, or stop the run."""

import asyncio
import json
import random
import re
import time
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from lib.core.store import BadReply
from lib.llm.budget import Budget, cost_usd
from lib.llm.cache import Entry
from lib.llm.request import (
    UNREADABLE,
    Endpoint,
    Reply,
    Request,
    Waiting,
    most_tokens,
    read_response,
    upper_bound,
)

MOST_TRIES = 8  # per call that fails for reasons other than too many requests
MOST_THROTTLED = 60  # tries per call that is refused because of too many requests
TRIES_IF_LASTING = 2  # per call with a fault that is likely to be the same again
LONGEST_WAIT = 900.0  # seconds; if an endpoint asks for more, the run stops
_NO_MODEL = re.compile(
    r"model_not_found|invalid_model|(?:unknown|invalid|no such) model|"
    r"model\b.{0,80}?\b(?:not found|does not exist|not exist|is not available|unknown)|"
    r"server is pinned to",
    re.I,
)  # the last: `transformers serve` with one model
_AGAIN = {206, 408, 409, 425, 429, *range(500, 600)}
_LASTING = re.compile("LineTooLong|BadHttp|BadStatus|InvalidHeader|LengthError|EncodingError|Decod")
_STOP = {
    402: "the account has no money left: add credit",
    401: "the endpoint refuses the key: set OPENAI_API_KEY (and OPENAI_BASE_URL, if the key is for "
    "another endpoint)",
    403: "the endpoint forbids this key to use the model {model!r}: choose another model or key",
    404: "the endpoint does not have the model {model!r}: check its name, and OPENAI_BASE_URL "
    "(most end in /v1)",
    **dict.fromkeys(
        range(300, 400),
        "the endpoint redirects to another address: set OPENAI_BASE_URL to that address",
    ),
}
_OPTIONAL = ("max_completion_tokens", "max_tokens", "temperature", "stop")
_COMPLAINT = re.compile(
    r"unsupported|not support|unknown|unrecogni|extra|not permitted|unexpected|"
    r"not allowed",
    re.I,
)


@dataclass(frozen=True)
class Fault:
    """A call without a reply. `stops` is the reason why every other call would fail as well."""

    reason: str
    tries: int = 1  # per call, at most
    stops: str = ""
    wait: float = 0.0  # seconds that the endpoint asks for
    is_maybe_paid: bool = False  # no answer came: perhaps charged
    unsupported: str = ""  # a parameter that the endpoint refuses
    status: int = 0  # 0 if none came

    def pause(self, n_tries: int) -> float:
        """Return the seconds before try `n_tries` + 1: exponential back-off with full jitter."""
        return self.wait * random.uniform(1.0, 1.2) + random.uniform(
            0, min(30.0, 0.25 * 2**n_tries)
        )


def fault_of(error: BaseException | None) -> Fault:
    """Return what an error of the client means, without its message, which has the address."""
    if type(error) is TimeoutError:  # of the whole call
        return Fault("no complete reply in time", TRIES_IF_LASTING, is_maybe_paid=True)
    chain = [type(error).__name__]
    while error := error and (error.__cause__ or error.__context__):
        chain.append(type(error).__name__)
    names, name = " ".join(chain), f"({chain[-1]})"
    is_unreached = re.search("Connector|ConnectionTimeout|gaierror|Proxy", names)
    reason = (
        f"the connection broke {name}"
        if not is_unreached
        else (
            f"no connection to the endpoint or proxy {name}: start the server, or check "
            "OPENAI_BASE_URL, the network and HTTPS_PROXY"
        )
    )
    return Fault(
        reason,
        TRIES_IF_LASTING if _LASTING.search(names) else MOST_TRIES,
        is_maybe_paid=not is_unreached,
    )


def fault_of_reply(
    status: int,
    raw: str,
    headers: Mapping[str, str],
    model: str,
    at: Endpoint,
    sent: Mapping[str, object],
) -> Fault | None:
    """Return what a body that is no completion means; `sent` are the parameters of the call.

    Routers send errors with status 200: they count as the status that their code stands for.
    None if a reply with such a status has no error.
    """
    error, is_success = None, status < 206  # 206: a part
    with suppress(ValueError, RecursionError, AttributeError):
        body = json.loads(raw)
        error = body.get("error", None if is_success else body)
    if is_success and not error:
        return None
    error = error if isinstance(error, dict) else {"message": str(error or "")}
    message = str(error.get("message") or error.get("detail") or "")[:300]
    codes = f"{error.get('code')} {error.get('type')}"
    if is_success:
        number = re.search(r"\b[45]\d\d\b", codes)
        status = int(number[0]) if number else 400 if "invalid_request" in codes else 500
    shown = at.scrubbed(message).rstrip(". ")  # `message` is not: a short key may be a word of it
    reason = f"status {status}" + (f": {shown}" if shown and status != 401 else "")
    is_bad_request = status in (400, 422)
    has_no_model = is_bad_request and _NO_MODEL.search(f"{codes} {message}")
    cause = 402 if "insufficient_quota" in codes else 404 if has_no_model else status
    stops = _STOP.get(cause, "").format(model=model)
    wait = max(0.0, _wait(headers)) if status in _AGAIN else 0.0
    if wait > LONGEST_WAIT:
        stops = (
            f"the endpoint asks for a wait of {wait / 3600:.3g} hours (status {status}): run "
            "the same command again after that"
        )
    tries = {429: MOST_THROTTLED, 206: TRIES_IF_LASTING}.get(status, MOST_TRIES)
    complaint = message if _COMPLAINT.search(message) else ""
    unsupported = next(
        (
            name
            for name in _OPTIONAL
            if is_bad_request and name in sent and (name == error.get("param") or name in complaint)
        ),
        "",
    )
    return Fault(
        reason,
        tries if status in _AGAIN and not stops else 1,
        stops,
        wait,
        status == 206,
        unsupported,
        status,
    )


def _wait(headers: Mapping[str, str]) -> float:
    ms, after, date = (headers.get(name, "") for name in ("retry-after-ms", "retry-after", "date"))
    with suppress(ValueError):
        return float(ms) / 1000
    with suppress(ValueError):
        return float(after)
    with suppress(ValueError, TypeError):  # a date, by the endpoint's clock
        return (parsedate_to_datetime(after) - parsedate_to_datetime(date)).total_seconds()
    return 0.0


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
