"""Replies to requests, in order: from the cache if they were paid for, else from the model."""

import asyncio
import signal
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from contextvars import copy_context
from dataclasses import replace
from typing import TYPE_CHECKING

from lib.core.store import Stopped, shown
from lib.llm.cache import Cache
from lib.llm.calls import Calls
from lib.llm.request import Endpoint, Reply, Request, endpoint
from lib.llm.wire import EMPTY, is_shortened, read_stored

if TYPE_CHECKING:
    from lib.llm.batch import Batches

_LONGEST_END = 25.0  # seconds that calls in flight get after an interrupt


def complete(requests: Sequence[Request], model: str, calls: Calls) -> list[Reply]:
    """Return one reply of `model` per request, in order; what was paid for is in `calls.cache`.

    A call that fails has its reason. Raises Stopped, BadStudy (endpoint) and BadInput (cache).
    """
    at, tally = endpoint(), calls.tally
    url = at.url if at else ""

    def read(request: Request) -> list[Reply]:
        # Of this endpoint or imported, or of any endpoint without a key: until one is an answer.
        replies: list[Reply] = []
        while not replies or replies[-1].reason:
            one = _next(request, replies)
            entry = cache.get(one.key(model), one.key(model, url) if at else "")
            if entry is None:
                break
            replies.append(read_stored(entry.raw, request))
        return replies

    def look() -> list[Request]:
        stored.update((request, read(request)) for request in requests)
        return [
            request
            for request, replies in stored.items()
            if not replies or at and _best(replies).kind in calls.retry
        ]

    stored: dict[Request, list[Reply]] = {}
    stopped, last = "", "none"
    with closing(Cache(calls.cache)) as cache, ExitStack() as ending:
        if left := look():
            ending.enter_context(cache.turn())
            left = look()  # another process may have asked
        tally.asked += len(requests)
        to_send = {*left}
        for request in requests:
            if request not in to_send and (reply := _best(stored[request])).kind != "unreadable":
                tally.cached += 1
                tally.cut += reply.kind == "cut"
                tally.shortened += is_shortened(reply, request)
        for _ in range(2):
            stopped = stopped or (calls.useless(left[0].max_tokens) if left else "")
            if left and not stopped:
                asked = {one: _next(one, stored[one]) for one in left}
                run = _run([*asked.values()], len(requests), model, calls, cache, at)
                for request, one in asked.items():
                    failed = run.failed.get(one.key(model, url), Reply("", "not asked"))
                    stored[request] = read(request) or [failed]
                stopped = run.stopped
            left = [one for one in left if _is_worth_asking_again(stored[one])]
    found = [_best(stored[request] or [Reply("", "not asked")]) for request in requests]
    for reply in (one for one in found if one.model and one.kind == "unreadable"):
        tally.failed, last = tally.failed + 1, reply.reason
    if stopped := stopped or calls.failing(last):
        raise Stopped(
            f"{model}: {stopped}. {sum(bool(one.model) for one in found)} of {len(requests)} "
            f"replies are kept in {shown(calls.cache)}; the same command requests only the rest"
        )
    tally.models.update(reply.model for reply in found if reply.model)
    tally.kinds.update(reply.kind for reply in found if reply.kind)
    return found


def _next(request: Request, replies: Sequence[Reply]) -> Request:
    return replace(request, attempt=request.attempt + len(replies))


def _best(replies: Sequence[Reply]) -> Reply:
    return next((reply for reply in replies if not reply.reason), replies[-1])


def _is_worth_asking_again(replies: Sequence[Reply]) -> bool:
    return (
        len(replies) == 1
        and bool(replies[0].model)
        and (replies[0].kind == "unreadable" or replies[0].reason == EMPTY)
    )


def _run(
    asked: Sequence[Request],
    n_requests: int,
    model: str,
    calls: Calls,
    cache: Cache,
    at: Endpoint | None,
) -> "Batches":
    if at is None:
        raise Stopped(
            f"{len(asked)} of {n_requests} replies of {model!r} are not in "
            f"{shown(calls.cache)}, and no key is set: set OPENAI_API_KEY in the "
            "environment or in .env (any text for a local server, with OPENAI_BASE_URL), "
            'import the replies with python -m lib.llm, or use "scorer"'
        )
    from lib.llm.batch import Batches  # openai's client takes half a second

    run = Batches(at, model, calls, cache)
    print(run.plan(asked, n_requests), flush=True)
    # In a thread, as a notebook has a loop already. Without debug lines, which show the address.
    with ThreadPoolExecutor(1) as pool, ExitStack() as ending:
        with suppress(ValueError):  # Slurm sends SIGTERM 30 s before it kills; not in a thread
            before = signal.signal(signal.SIGTERM, signal.default_int_handler)
            ending.callback(signal.signal, signal.SIGTERM, before)
        done = pool.submit(copy_context().run, lambda: asyncio.run(run.run(asked), debug=False))
        try:
            done.result()
        except KeyboardInterrupt:
            run.stop("interrupted")  # calls in flight are waited for: they are paid for
            run.loop.call_soon_threadsafe(run.loop.call_later, _LONGEST_END, run.task.cancel)
            raise
    return run
