"""Replies to requests, in order: from the cache if they were paid for, else from the model."""

import asyncio
import contextvars
import threading
from collections.abc import Callable, Collection, Coroutine, Sequence
from concurrent.futures import Future, wait
from contextlib import closing
from dataclasses import replace

from lib.core.errors import Stopped
from lib.core.paths import shown
from lib.llm.batch import Batches
from lib.llm.budget import Budget, plan
from lib.llm.cache import Cache, Entry
from lib.llm.calls import Calls
from lib.llm.direct import Direct
from lib.llm.endpoint import Endpoint, endpoint
from lib.llm.prices import price_of
from lib.llm.request import Reply, Request
from lib.llm.response import KINDS, UNREADABLE, Response, read_response

_SECONDS_FOR_THE_LAST = 30.0  # how long an interrupted run waits for calls in flight


def complete(requests: Sequence[Request], model: str, calls: Calls) -> list[Reply]:
    """Return one reply of `model` per request, in order; what was paid for is in `calls.cache`.

    An empty or unreadable reply, and one of a kind in `calls.retry`, is asked for once more. A call
    that fails for good has its reason. Raises Stopped (wrong key or model, money, failures, no key)
    and BadStudy or BadInput for an endpoint or a cache that cannot be used.
    """
    at = endpoint()
    with closing(Cache(calls.cache)) as cache:
        budget = Budget(calls, price_of(model), cache)
        stored = _stored(cache, requests, model, at)
        known = {entry.key for entries in stored.values() for entry in entries}
        failed: dict[str, str] = {}
        asked = {request: _next(request, entries) for request, entries in stored.items()
                 if not entries or at and _read(entries).kind in calls.retry}
        there = [_read(stored[request]) for request in requests if request not in asked]
        calls.tally.cached += sum(reply.kind != "unreadable" for reply in there)
        stopped, left = "", asked
        for _ in range(2):
            if left and not stopped:
                direct = _requested(left, len(requests), model, calls, budget, at)
                stored, stopped = _stored(cache, requests, model, at), direct.stopped
                failed |= direct.failed
            left = {request: _next(request, stored[request]) for request in left
                    if len(stored[request]) == 1
                    and _read(stored[request]).kind in ("empty", "unreadable")}
        calls.tally.failed += sum(_read(entries).kind == "unreadable"
                                  for entries in stored.values() if entries)
        if not stopped and (failing := calls.failing(is_over=True)):
            stopped = f"{failing}, the last with: {[UNREADABLE.reason, *failed.values()][-1]}"
        if stopped:
            n_there = sum(bool(stored[request]) for request in requests)
            raise Stopped(f"{model}: {stopped}. {n_there} of {len(requests)} replies are kept in "
                          f"{shown(calls.cache)}; the same command requests only the rest")
    replies = [_read(stored[request], known) if stored[request] else
               Reply("", failed[request.key(model, at.url)]) for request in requests]
    calls.tally.note([reply for request, reply in zip(requests, replies, strict=True)
                      if reply.reason and stored[request]])
    calls.tally.repairs += sum(request.attempt > 0 for request in requests)
    calls.tally.by_chance += sum(
        request.temperature == 0 and bool(stored[request])
        and "temperature" in _chosen(stored[request]).left_out for request in requests)
    return replies


def _next(request: Request, entries: Sequence[Entry]) -> Request:
    return replace(request, attempt=request.attempt + len(entries))


def _stored(cache: Cache, requests: Sequence[Request], model: str,
            at: Endpoint | None) -> dict[Request, list[Entry]]:
    # They are this endpoint's and imported ones, or those of any endpoint without a key.
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
                open_ += [request] * bool(_response(stored[request][-1]).reason)
        left = open_
    return stored


def _response(entry: Entry) -> Response:
    return (UNREADABLE if entry.finish_reason == UNREADABLE.finish_reason
            else read_response(entry.raw))


def _chosen(entries: Sequence[Entry]) -> Entry:
    return next((entry for entry in entries if not _response(entry).reason), entries[-1])


def _read(entries: Sequence[Entry], known: Collection[str] = ()) -> Reply:
    entry = _chosen(entries)
    response = _response(entry)
    return Reply(response.text, response.reason, entry.key in known, KINDS.get(response.reason, ""),
                 response.text_tokens)


def _requested(asked: dict[Request, Request], n_requests: int, model: str, calls: Calls,
               budget: Budget, at: Endpoint | None) -> Direct:
    if at is None:
        raise Stopped(f"{len(asked)} of {n_requests} replies of {model!r} are not in "
                      f"{shown(calls.cache)}, and no key is set: set OPENAI_API_KEY in the "
                      "environment or in .env (any text for a local server, with OPENAI_BASE_URL), "
                      'import the replies with python -m lib.llm, or use "rules"')
    waiting = {request.key(model, at.url): request for request in asked.values()}
    print(plan(waiting.values(), n_requests, model, calls, budget.price), flush=True)
    direct = Direct(at, model, calls, budget)

    async def run() -> None:
        async with direct:
            await Batches(direct).ask(waiting)

    _in_a_thread(run, direct)
    budget.refresh()
    return direct


def _in_a_thread(run: Callable[[], Coroutine], direct: Direct) -> None:
    # An interrupt stops new calls and waits a little for those in flight, which are paid for.
    done: Future[None] = Future()

    def body() -> None:
        try:
            done.set_result(asyncio.run(run(), debug=False))  # debug lines show the address
        except BaseException as error:  # raised again in the caller's thread
            done.set_exception(error)

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(body,), daemon=True).start()
    try:
        done.result()
    except KeyboardInterrupt:
        direct.stop("interrupted")
        wait([done], _SECONDS_FOR_THE_LAST)
        raise
