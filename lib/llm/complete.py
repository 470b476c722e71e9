"""Replies to requests, in order: from the cache if they were paid for, else from the model."""

from collections.abc import Sequence
from concurrent.futures import wait
from contextlib import closing, nullcontext

from anyio.from_thread import start_blocking_portal

from lib.core.store import Stopped, shown
from lib.llm.cache import Cache
from lib.llm.calls import Calls
from lib.llm.request import Reply, Request, Waiting, endpoint, key_of

_LONGEST_END = 25.0  # seconds that calls in flight get after an interrupt


def complete(requests: Sequence[Request], model: str, calls: Calls) -> list[Reply]:
    """Return one reply of `model` per request, in order; what was paid for is in `calls.cache`.

    A call that fails has its reason. Raises Stopped, BadStudy (endpoint) and BadInput (cache).
    """
    at, tally = endpoint(), calls.tally
    failed: dict[Request | None, Reply] = {}

    def look() -> tuple[list, Waiting]:
        # The replies, and the requests for which one is to be sent.
        found = [cache.best(one, model, at, calls) for one in requests]
        return found, {key_of(one.body, model, at.url): one for _, one in found if one}

    with closing(Cache(calls.cache)) as cache, cache.turn() if look()[1] else nullcontext():
        found, left = look()  # another process may have asked
        tally.asked += len(requests)
        tally.cached += len(requests) - len(left)
        if left:
            if not at.key:
                raise Stopped(
                    f"{len(left)} of {len(requests)} replies of {model!r} are not in "
                    f"{shown(calls.cache)}, and no key is set: set OPENAI_API_KEY in the "
                    "environment or in .env (any text for a local server, with OPENAI_BASE_URL), "
                    "name a file with the replies in the study's file (replies: [FILE]), or use "
                    '"scorer"'
                )
            from lib.llm.client import Run  # openai's client takes half a second

            run = Run(at, model, calls, cache, left, failed)
            with start_blocking_portal() as portal:  # a thread, as a notebook has a loop already
                done = portal.start_task_soon(run.run)
                try:
                    done.result()
                except KeyboardInterrupt:  # calls in flight are waited for: they are paid for
                    run.stop("interrupted")
                    wait([done], _LONGEST_END)
                    raise  # cancels what is left
            found, _ = look()
    replies = [best if best.model else failed.get(sent, best) for best, sent in found]
    tally.models.update(reply.model for reply in replies if reply.model)
    tally.kinds.update(reply.kind for reply in replies if reply.kind)
    return replies
