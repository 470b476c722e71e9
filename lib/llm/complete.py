"""Send requests to a model and return its replies in order, from the cache if possible."""

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

_SECONDS_FOR_THE_LAST = 30.0  # how long an interrupted run waits for calls in flight


def complete(requests: Sequence[Request], model: str, calls: Calls) -> list[Reply]:
    """Return one reply of `model` per request, in order; identical requests are sent once.

    Replies that were paid for come from `calls.cache`. The other requests are planned, priced and
    sent; each reply is stored before it counts. A call that fails for good gets a Reply with the
    reason. `calls.tally` counts all of them. Raises CallsStopped if a wrong key or model,
    the cost limit or too many failures stop the calls, or if a reply is missing and no key is set;
    CacheFailed and RuntimeError as Cache and endpoint() do.
    """
    at = endpoint()
    with closing(Cache(calls.cache)) as cache:
        keys = [request.key(model, at.url if at else "") for request in requests]
        stored = _stored(cache, requests, keys, model, at)
        waiting = {key: request for key, request in zip(keys, requests, strict=True)
                   if key not in stored}
        calls.tally.cached += len(requests) - len(waiting)
        failed: dict[str, str] = {}
        if waiting:
            failed = _requested(waiting, len(requests), model, calls, cache, at)
            stored = _stored(cache, requests, keys, model, at)
        replies = [_reply(stored[key], key not in waiting) if key in stored
                   else Reply("", failed[key]) for key in keys]
    calls.tally.marked += sum(bool(reply.reason) and key in stored
                              for key, reply in zip(keys, replies, strict=True))
    calls.tally.repairs += sum(request.attempt > 0 for request in requests)
    return replies


def _stored(cache: Cache, requests: Sequence[Request], keys: Sequence[str], model: str,
            at: Endpoint | None) -> dict[str, Entry]:
    """Return stored replies by key: this endpoint's and imported ones, or all without a key."""
    request_keys = [request.key(model) for request in requests]
    found, stored = cache.get(list(dict.fromkeys(request_keys))), {}
    for key, request_key in zip(keys, request_keys, strict=True):
        usable = [entry for entry in found.get(request_key, [])
                  if at is None or entry.key in (key, request_key)]
        if usable:
            stored[key] = next((entry for entry in usable if entry.key == key), usable[0])
    return stored


def _reply(entry: Entry, is_cached: bool) -> Reply:
    response = read_response(entry.raw)
    return Reply(response.text, response.reason, is_cached)


def _requested(waiting: dict[str, Request], n_requests: int, model: str, calls: Calls,
               cache: Cache, at: Endpoint | None) -> dict[str, str]:
    """Send what is waiting; return the reasons of those that failed, by key."""
    where = shown(calls.cache)
    if at is None:
        raise CallsStopped(f"{len(waiting)} of {n_requests} replies of {model!r} are not in "
                           f"{where}, and no key is set: set OPENAI_API_KEY in the environment or "
                           "in .env (any text for a local server, with OPENAI_BASE_URL), import "
                           'the replies with python -m lib.llm, or use "rules"')
    price = price_of(model)
    print(plan(waiting, n_requests, model, calls, price), flush=True)
    direct = Direct(at, model, calls, cache, Budget(calls, price))
    _in_a_thread(lambda: Batches(direct).ask(waiting), direct)
    n_there = n_requests - len(waiting) + sum(cache.has(key) for key in waiting)
    if not direct.stopped and direct.failed and (failing := calls.failing(is_over=True)):
        direct.stopped = f"{failing}, the last with: {list(direct.failed.values())[-1]}"
    if direct.stopped:
        raise CallsStopped(f"{model}: {direct.stopped}. {n_there} of {n_requests} replies are kept "
                           f"in {where}; the same command requests only the rest")
    return direct.failed


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
