"""Replies to requests, in order: from the cache if they were paid for, else from the model."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from contextvars import copy_context
from typing import Any

from lib.core.store import Stopped, shown
from lib.llm.cache import Cache
from lib.llm.calls import Calls
from lib.llm.request import Reply, Request, Waiting, endpoint

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

    def look() -> Waiting:
        # Reads replies, and returns the requests for which one is to be sent.
        found.update((one, cache.best(one, model, at, calls.retry)) for one in requests)
        return {one.key(model, at.url): one for _, one in found.values() if one}

    with closing(Cache(calls.cache)) as cache, cache.turn() if look() else nullcontext():
        left = look()  # another process may have asked
        tally.asked += len(requests)
        tally.cached += len(requests) - len(left)
        stopped = ""
        if left:
            if not at.key:
                raise Stopped(
                    f"{len(left)} of {len(requests)} replies of {model!r} are not in "
                    f"{shown(calls.cache)}, and no key is set: {_NO_KEY}"
                )
            from lib.llm.client import Run  # openai's client takes half a second

            run = Run(at, model, calls, cache)
            _wait_for(run, left)
            stopped, failed = run.stopped, run.failed
            look()
    if stopped:
        raise Stopped(
            f"{model}: {stopped}. All replies are kept in {shown(calls.cache)}; the same command "
            "requests only the rest"
        )
    replies = [
        best if best.model else failed.get(sent, best)
        for best, sent in map(found.__getitem__, requests)
    ]
    tally.models.update(reply.model for reply in replies if reply.model)
    tally.kinds.update(reply.kind for reply in replies if reply.kind)
    return replies


def _wait_for(run: Any, waiting: Waiting) -> None:
    # In a thread, as a notebook has a loop already.
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(copy_context().run, asyncio.run, run.run(waiting))
        try:
            done.result()
        except KeyboardInterrupt:  # calls in flight are waited for: they are paid for
            run.stop("interrupted")
            loop = run.task.get_loop()
            loop.call_soon_threadsafe(loop.call_later, _LONGEST_END, run.task.cancel)
            raise
