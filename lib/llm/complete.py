"""Replies to requests, in order: from the cache if they were paid for, else from the model."""

import asyncio
import signal
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from contextvars import copy_context
from dataclasses import replace
from functools import partial

from lib.core.store import Stopped, shown
from lib.llm.batch import Batches
from lib.llm.budget import Budget, check_price, plan
from lib.llm.cache import Cache
from lib.llm.calls import Calls
from lib.llm.request import (
    UNREADABLE,
    WORTH_ASKING_AGAIN,
    Endpoint,
    Reply,
    Request,
    endpoint,
    read_response,
)

_LONGEST_END = 25.0  # seconds that calls in flight get after an interrupt


def complete(requests: Sequence[Request], model: str, calls: Calls) -> list[Reply]:
    """Return one reply of `model` per request, in order; what was paid for is in `calls.cache`.

    A call that fails has its reason. Raises Stopped, BadStudy (endpoint) and BadInput (cache).
    """
    failed: dict[str, str]
    at, failed = endpoint(), {}
    with closing(Cache(calls.cache)) as cache:
        read = partial(_stored, cache, model, at, calls)
        stored = {request: read(request) for request in requests}
        left = [
            request
            for request, replies in stored.items()
            if not replies or at and _best(replies).kind in calls.retry
        ]
        calls.tally.asked += len(requests)
        again = {*left}
        kinds = Counter(_best(stored[one]).kind for one in requests if one not in again)
        calls.tally.cached += kinds.total() - kinds["unreadable"]
        calls.tally.cut += kinds["cut"]
        stopped = calls.all_cut(left[0].max_tokens) if left else ""
        for _ in range(2):
            if left and not stopped:
                direct = _requested(
                    [_next(request, stored[request]) for request in left],
                    len(requests),
                    model,
                    calls,
                    cache,
                    at,
                )
                stored |= {request: read(request) for request in left}
                failed, stopped = failed | direct.failed, direct.stopped
            left = [
                request
                for request in left
                if len(stored[request]) == 1 and stored[request][0].reason in WORTH_ASKING_AGAIN
            ]
    calls.tally.failed += sum(
        _best(replies).kind == "unreadable" for replies in stored.values() if replies
    )
    if stopped := stopped or calls.failing([UNREADABLE.reason, *failed.values()][-1]):
        n_there = sum(bool(stored[request]) for request in requests)
        raise Stopped(
            f"{model}: {stopped}. {n_there} of {len(requests)} replies are kept in "
            f"{shown(calls.cache)}; the same command requests only the rest"
        )
    replies = [
        _best(stored[request])
        if stored[request]
        else Reply("", failed[request.key(model, at.url if at else "")])
        for request in requests
    ]
    calls.tally.models.update(reply.model for reply in replies if reply.model)
    calls.tally.kinds.update(
        reply.kind or "ended otherwise"
        for request, reply in zip(requests, replies, strict=True)
        if reply.reason and stored[request]
    )
    return replies


def _next(request: Request, replies: Sequence[Reply]) -> Request:
    return replace(request, attempt=request.attempt + len(replies))


def _best(replies: Sequence[Reply]) -> Reply:
    return next((reply for reply in replies if not reply.reason), replies[-1])


def _stored(
    cache: Cache, model: str, at: Endpoint | None, calls: Calls, request: Request
) -> list[Reply]:
    # Of this endpoint or imported, or of any endpoint without a key: until one is an answer.
    replies: list[Reply] = []
    while not replies or replies[-1].reason:
        one = _next(request, replies)
        entry = cache.get(one.key(model), one.key(model, at.url) if at else "")
        if entry is None:
            break
        replies.append(
            UNREADABLE
            if entry.finish_reason == UNREADABLE.finish_reason
            else read_response(entry.raw)
        )
    return replies


def _requested(
    asked: Sequence[Request],
    n_requests: int,
    model: str,
    calls: Calls,
    cache: Cache,
    at: Endpoint | None,
) -> Batches:
    if at is None:
        raise Stopped(
            f"{len(asked)} of {n_requests} replies of {model!r} are not in "
            f"{shown(calls.cache)}, and no key is set: set OPENAI_API_KEY in the "
            "environment or in .env (any text for a local server, with OPENAI_BASE_URL), "
            'import the replies with python -m lib.llm, or use "scorer"'
        )
    budget = Budget(calls, check_price(model, calls), cache)
    waiting = {request.key(model, at.url): request for request in asked}
    direct = Batches(at, model, budget)
    how = direct.planned(waiting) if calls.mode == "batch" else "directly"
    print(plan(budget, waiting.values(), n_requests, model, how), flush=True)
    from tqdm import tqdm

    async def run() -> None:
        direct.loop, direct.task = asyncio.get_running_loop(), asyncio.current_task()
        with tqdm(desc=model, unit="call", mininterval=1.0, total=len(waiting)) as direct.bar:
            async with at.client() as direct.client, at.session(direct.client) as direct.http:
                await direct.ask(waiting)

    # In a thread, as a notebook has a loop already. Without debug lines, which show the address.
    with ThreadPoolExecutor(1) as pool, ExitStack() as ending:
        with suppress(ValueError):  # Slurm sends SIGTERM 30 s before it kills; not in a thread
            before = signal.signal(signal.SIGTERM, signal.default_int_handler)
            ending.callback(signal.signal, signal.SIGTERM, before)
        done = pool.submit(copy_context().run, lambda: asyncio.run(run(), debug=False))
        try:
            done.result()
        except KeyboardInterrupt:
            direct.stop("interrupted")  # calls in flight are waited for: they are paid for
            direct.loop.call_soon_threadsafe(
                direct.loop.call_later, _LONGEST_END, direct.task.cancel
            )
            raise
    budget.refresh()
    return direct
