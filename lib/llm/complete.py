"""Requests in, replies out, in order: from the cache where they were ever paid, else asked (`complete`)."""

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine, Sequence
from contextlib import closing

from lib.core.paths import shown
from lib.llm.batch.run import Batches
from lib.llm.cache import Cache, Entry
from lib.llm.calls import Budget, Calls, CallsStopped
from lib.llm.direct import Direct
from lib.llm.endpoint import Endpoint, endpoint
from lib.llm.plan import plan
from lib.llm.prices import price_of
from lib.llm.request import Reply, Request
from lib.llm.response import read_response

_SECONDS_FOR_THE_LAST = 30.0  # that an interrupted run waits for calls in flight


def complete(requests: Sequence[Request], model: str, calls: Calls) -> list[Reply]:
    """The replies of `model`, one a request, in the requests' order; identical requests are asked once.

    What was paid before comes from `calls.cache`; the rest is planned, priced and asked, and each reply is stored
    before it counts. A call that fails for good keeps its place with its reason. `calls.tally` counts.
    Raises CallsStopped where a wrong key or model, the limit of money or too many failures stop the calls, where no
    key is set and a reply is missing; CacheFailed and RuntimeError as Cache and endpoint() do.
    """
    at = endpoint()
    with closing(Cache(calls.cache)) as cache:
        keys = [request.key(model, at.url if at else "") for request in requests]
        stored = _stored(cache, requests, keys, model, at)
        waiting = {key: request for key, request in zip(keys, requests, strict=True) if key not in stored}
        calls.tally.cached += len(requests) - len(waiting)
        failed: dict[str, str] = {}
        if waiting:
            failed = _asked(waiting, len(requests), model, calls, cache, at)
            stored = _stored(cache, requests, keys, model, at)
        replies = [_reply(stored[key], key not in waiting) if key in stored else Reply("", failed[key]) for key in keys]
    calls.tally.marked += sum(bool(reply.reason) and key in stored for key, reply in zip(keys, replies, strict=True))
    calls.tally.repairs += sum(request.attempt > 0 for request in requests)
    return replies


def _stored(cache: Cache, requests: Sequence[Request], keys: Sequence[str], model: str,
            at: Endpoint | None) -> dict[str, Entry]:
    """By key, the replies that are there: from this endpoint or imported; without a key, from any endpoint."""
    request_keys = [request.key(model) for request in requests]
    found, stored = cache.get(list(dict.fromkeys(request_keys))), {}
    for key, request_key in zip(keys, request_keys, strict=True):
        usable = [entry for entry in found.get(request_key, []) if at is None or entry.key in (key, request_key)]
        if usable:
            stored[key] = next((entry for entry in usable if entry.key == key), usable[0])
    return stored


def _reply(entry: Entry, is_cached: bool) -> Reply:
    response = read_response(entry.raw)
    return Reply(response.text, response.reason, is_cached)


def _asked(waiting: dict[str, Request], n_requests: int, model: str, calls: Calls, cache: Cache,
           at: Endpoint | None) -> dict[str, str]:
    """Ask what is waiting; the reasons of those that failed, by key."""
    where = shown(calls.cache)
    if at is None:
        raise CallsStopped(f"{len(waiting)} of {n_requests} replies of {model!r} are not in {where}, and no key is "
                           "set: set OPENAI_API_KEY in the environment or in .env (any text for a local server, with "
                           'OPENAI_BASE_URL), import them with python -m lib.llm, or use "rules"')
    price = price_of(model)
    print(plan(waiting, n_requests, model, calls, price), flush=True)
    direct = Direct(at, model, calls, cache, Budget(calls, price))
    _in_a_thread(lambda: Batches(direct).ask(waiting), direct)
    n_there = n_requests - len(waiting) + sum(cache.has(key) for key in waiting)
    if not direct.stopped and len(direct.failed) > calls.max_failed_share * n_requests:
        direct.stopped = (f"{len(direct.failed)} of {n_requests} calls failed, the last with: "
                          f"{list(direct.failed.values())[-1]}")
    if direct.stopped:
        raise CallsStopped(f"{model}: {direct.stopped}. {n_there} of {n_requests} replies are kept in {where}; the "
                           "same command asks only for the rest")
    return direct.failed


def _in_a_thread(run: Callable[[], Coroutine], direct: Direct) -> None:
    """Run a coroutine to its end in a thread with a loop of its own, because a notebook's loop is already running.

    An interrupt stops new calls and waits a little for those in flight, which are paid.
    """
    raised: list[BaseException] = []
    ended = threading.Event()  # python 3.11 takes a thread whose join was interrupted for ended

    def body() -> None:
        try:
            asyncio.run(run(), debug=False)  # asyncio's own debug lines show the address
        except BaseException as error:  # raised again where the caller is
            raised.append(error)
        finally:
            ended.set()

    threading.Thread(target=contextvars.copy_context().run, args=(body,), daemon=True).start()
    try:
        ended.wait()
    except KeyboardInterrupt:
        direct.stopped = "interrupted"
        ended.wait(_SECONDS_FOR_THE_LAST)
        raise
    if raised:
        raise raised[0]
