"""Replies to requests, in order: from the cache if they were paid for, else from the model."""

import asyncio
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from contextvars import copy_context
from dataclasses import replace
from typing import Any

from lib.core.store import Stopped, shown, tell
from lib.llm.cache import Cache
from lib.llm.calls import Calls
from lib.llm.request import Endpoint, Reply, Request, Waiting, endpoint
from lib.llm.wire import Fault, is_shortened, read_wire

_NO_KEY = (
    "set OPENAI_API_KEY in the environment or in .env (any text for a local server, with "
    "OPENAI_BASE_URL), name a file with the replies in the study's file (replies: [FILE]), or use "
    '"scorer"'
)
_LONGEST_END = 25.0  # seconds that calls in flight get after an interrupt


def complete(requests: Sequence[Request], model: str, calls: Calls) -> list[Reply]:
    """Return one reply of `model` per request, in order; what was paid for is in `calls.cache`.

    A call that fails has its reason. Raises Stopped, BadStudy (endpoint) and BadInput (cache).
    """
    at, tally = endpoint(), calls.tally
    found: dict[Request, tuple[Reply, Request | None]] = {}
    failed: dict[Request | None, Reply] = {}

    def look(asked: Iterable[Request]) -> list[Request]:
        # Reads replies, and returns the requests for which one is to be sent.
        found.update((one, _read(cache, one, model, calls, at)) for one in asked)
        return [one for one in asked if found[one][1]]

    with (
        closing(Cache(calls.cache)) as cache,
        cache.turn() if (missing := look(requests)) else nullcontext(),
    ):
        missing = look(missing)  # another process may have asked
        tally.asked += len(requests)
        tally.cached += len(requests) - len(missing)
        stopped = calls.failing()
        if missing and not stopped:
            if not at:
                raise Stopped(
                    f"{len(missing)} of {len(requests)} replies of {model!r} are not in "
                    f"{shown(calls.cache)}, and no key is set: {_NO_KEY}"
                )
            from lib.llm.client import Run  # openai's client takes half a second

            left = {one.key(model, at.url): one for _, one in found.values() if one}
            run = Run(at, model, calls, cache)
            tell(run.plan(left, len(requests)))
            _wait_for(run, left)
            stopped, failed = run.stopped, run.failed
            look(missing)
    replies = [
        best if best.model else failed.get(sent, best)
        for best, sent in map(found.__getitem__, requests)
    ]
    if stopped:
        raise Stopped(
            f"{model}: {stopped}. {sum(bool(one.model) for one in replies)} of {len(requests)} "
            f"replies are kept in {shown(calls.cache)}; the same command requests only the rest"
        )
    tally.models.update(reply.model for reply in replies if reply.model)
    tally.kinds.update(reply.kind for reply in replies if reply.kind)
    return replies


def _read(
    cache: Cache, request: Request, model: str, calls: Calls, at: Endpoint | None
) -> tuple[Reply, Request | None]:
    # The best reply, and the request to send for a better one, if any: each retry has left a reply.
    # They are of this endpoint or imported, without a key of any endpoint.
    best, is_open = Reply("", "not asked"), True
    while True:
        raw = cache.raw(request.key(model), request.key(model, at.url) if at else "")
        reply = read_wire(200, raw, request.max_tokens)
        if isinstance(reply, Fault):  # none is stored
            return best, request if is_open else None
        best, is_part = reply, is_shortened(reply, request)  # of the prompt
        is_open = bool(at) and (reply.kind in calls.retry or is_part)
        if not reply.reason and not is_part:
            return best, None
        request = replace(request, attempt=request.attempt + 1)


def _wait_for(run: Any, waiting: Waiting) -> None:
    # In a thread, as a notebook has a loop already.
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(copy_context().run, lambda: asyncio.run(run.run(waiting), debug=False))
        try:
            done.result()
        except KeyboardInterrupt:  # calls in flight are waited for: they are paid for
            run.stop("interrupted")
            loop = run.task.get_loop()
            loop.call_soon_threadsafe(loop.call_later, _LONGEST_END, run.task.cancel)
            raise
