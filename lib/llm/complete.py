"""Send requests to a model and return its replies in order, from the cache if possible."""

import asyncio
import contextvars
import threading
from collections.abc import Callable, Collection, Coroutine, Sequence
from contextlib import closing
from dataclasses import replace

from lib.core.paths import shown
from lib.llm.batch.run import Batches
from lib.llm.cache import Cache, Entry
from lib.llm.calls import Budget, Calls, CallsStopped
from lib.llm.direct import Direct
from lib.llm.endpoint import Endpoint, endpoint
from lib.llm.plan import plan
from lib.llm.prices import price_of
from lib.llm.request import Reply, Request
from lib.llm.response import KINDS, read_response

_SECONDS_FOR_THE_LAST = 30.0  # how long an interrupted run waits for calls in flight


def complete(requests: Sequence[Request], model: str, calls: Calls) -> list[Reply]:
    """Return one reply of `model` per request, in order; identical requests are sent once.

    Replies that were paid for come from `calls.cache`. The other requests are planned, priced and
    sent; each reply is stored before it counts. An empty reply is asked for once more at once, and
    one of a kind in `calls.retry` once more in this run; all replies are kept, and the first that
    is complete counts. A call that fails for good gets a Reply with the reason. `calls.tally`
    counts all of them. Raises CallsStopped if a wrong key or model, the cost limit or too many
    failures stop the calls, or if a reply is missing and no key is set; CacheFailed and
    RuntimeError as Cache and endpoint() do.
    """
    at = endpoint()
    with closing(Cache(calls.cache)) as cache:
        stored = _stored(cache, requests, model, at)
        known = {entry.key for entries in stored.values() for entry in entries}
        calls.count_earlier([entry for entries in stored.values() for entry in entries],
                            price_of(model))
        failed: dict[Request, str] = {}
        asked = {request: _next(request, entries) for request, entries in stored.items()
                 if not entries or at and _read(entries).kind in calls.retry}
        calls.tally.cached += sum(request not in asked for request in requests)
        for _ in range(2):
            if asked:
                failed |= _requested(asked, len(requests), model, calls, cache, at)
                stored = _stored(cache, requests, model, at)
            asked = {request: _next(request, stored[request]) for request in asked
                     if len(stored[request]) == 1 and _read(stored[request]).kind == "empty"}
        calls.counted |= {entry.key for entries in stored.values() for entry in entries}
    replies = [_read(stored[request], known) if stored[request] else Reply("", failed[request])
               for request in requests]
    calls.tally.note([reply for request, reply in zip(requests, replies, strict=True)
                      if reply.reason and stored[request]])
    calls.tally.repairs += sum(request.attempt > 0 for request in requests)
    return replies


def _next(request: Request, entries: Sequence[Entry]) -> Request:
    """Return what is to be sent after these replies to a request."""
    return replace(request, attempt=request.attempt + len(entries))


def _stored(cache: Cache, requests: Sequence[Request], model: str,
            at: Endpoint | None) -> dict[Request, list[Entry]]:
    """Return each request's stored replies: the first, and those to asking the same again.

    They are this endpoint's and imported ones, or those of any endpoint without a key.
    """
    stored: dict[Request, list[Entry]] = {request: [] for request in requests}
    left = list(stored)
    while left:
        keys = {request: _next(request, stored[request]).key(model) for request in left}
        found, open_ = cache.get(list(keys.values())), []
        for request, request_key in keys.items():
            key = _next(request, stored[request]).key(model, at.url) if at else ""
            usable = [entry for entry in found.get(request_key, [])
                      if at is None or entry.key in (key, request_key)]
            if usable:
                stored[request].append(next((entry for entry in usable if entry.key == key),
                                            usable[0]))
                open_ += [request] * bool(read_response(stored[request][-1].raw).reason)
        left = open_
    return stored


def _read(entries: Sequence[Entry], known: Collection[str] = ()) -> Reply:
    """Return the first complete one of a request's replies, else the last; `known` are cached."""
    for entry in entries:
        response = read_response(entry.raw)
        if not response.reason:
            break
    return Reply(response.text, response.reason, entry.key in known, KINDS.get(response.reason, ""),
                 response.text_tokens)


def _requested(asked: dict[Request, Request], n_requests: int, model: str, calls: Calls,
               cache: Cache, at: Endpoint | None) -> dict[Request, str]:
    """Send what `asked` has for each request; return the reasons of those that failed."""
    where = shown(calls.cache)
    if at is None:
        raise CallsStopped(f"{len(asked)} of {n_requests} replies of {model!r} are not in "
                           f"{where}, and no key is set: set OPENAI_API_KEY in the environment or "
                           "in .env (any text for a local server, with OPENAI_BASE_URL), import "
                           'the replies with python -m lib.llm, or use "rules"')
    price = price_of(model)
    waiting = {request.key(model, at.url): request for request in asked.values()}
    print(plan(waiting, n_requests, model, calls, price), flush=True)
    direct = Direct(at, model, calls, cache, Budget(calls, price))
    _in_a_thread(lambda: Batches(direct).ask(waiting), direct)
    if not direct.stopped and direct.failed and (failing := calls.failing(is_over=True)):
        direct.stopped = f"{failing}, the last with: {list(direct.failed.values())[-1]}"
    if direct.stopped:
        n_there = n_requests - len(waiting) + sum(cache.has(key) for key in waiting)
        raise CallsStopped(f"{model}: {direct.stopped}. {n_there} of {n_requests} replies are kept "
                           f"in {where}; the same command requests only the rest")
    return {request: direct.failed[key] for request, sent in asked.items()
            if (key := sent.key(model, at.url)) in direct.failed}


def _in_a_thread(run: Callable[[], Coroutine], direct: Direct) -> None:
    """Run a coroutine in a thread with its own loop, because a notebook's loop is already running.

    An interrupt stops new calls and waits a little for those in flight, which are paid for.
    """
    raised: list[BaseException] = []
    ended = threading.Event()  # after an interrupted join, Python 3.11 believes a thread ended

    def body() -> None:
        try:
            asyncio.run(run(), debug=False)  # asyncio's own debug lines show the address
        except BaseException as error:  # raised again in the caller's thread
            raised.append(error)
        finally:
            ended.set()

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(body,), daemon=True).start()
    try:
        ended.wait()
    except KeyboardInterrupt:
        direct.stopped = "interrupted"
        ended.wait(_SECONDS_FOR_THE_LAST)
        raise
    if raised:
        raise raised[0]
