"""Write the plan of a stage's calls, which is printed before any money is spent."""

import math
from collections.abc import Mapping

from lib.llm.calls import Calls, CallsStopped, dollars
from lib.llm.prices import Price, cost_usd
from lib.llm.request import Request
from lib.llm.tokens import counter


def plan(waiting: Mapping[str, Request], n_requests: int, model: str, calls: Calls,
         price: Price | None) -> str:
    """Return a paragraph on calls, the cached share, tokens and how they are counted, and dollars.

    Raises CallsStopped if `max_cost_usd` is set and the model has no price, or the prompts alone
    would exceed it.
    """
    is_batch, limit = calls.mode == "batch", calls.max_cost_usd
    if limit is not None and price is None:
        raise CallsStopped(f"max_cost_usd is set, but no price of {model!r} is known: add it to "
                           "lib/llm/prices.csv (0 for a model that you serve yourself), or set "
                           "max_cost_usd to None")
    count, how = counter(model)
    n_in = sum(count(content) + 4 for request in waiting.values()
               for _, content in request.messages)
    n_out = sum(request.max_tokens for request in waiting.values())
    cached = n_requests - len(waiting)
    text = (f"{model}: {n_requests:,} calls, {cached:,} cached ({cached / n_requests:.0%}), "
            f"{len(waiting):,} to send{' as a batch' if is_batch else ''}: about {n_in:,} tokens "
            f"in ({how}), at most {n_out:,} out; ")
    if price is None:
        return text + "price unknown (add the model to lib/llm/prices.csv)"
    prompts, most = (cost_usd(price, n_in, tokens, batch=is_batch) for tokens in (0, n_out))
    if limit is not None and calls.spent() + prompts > limit:
        raise CallsStopped(f"{text}the prompts alone cost {dollars(prompts)}, max_cost_usd is "
                           f"{dollars(limit)} over all runs, and {dollars(calls.spent())} are "
                           "spent: raise it, or send less. Nothing was spent now")
    stop = f"; stops before {dollars(limit)} over all runs" if limit is not None else ""
    if is_batch and limit is not None and (room := limit - calls.spent()) < most:
        stop += (f"; about {math.ceil(most / room)} batches one after the other, each up to a day, "
                 f"because its worst case must fit ({dollars(most + calls.spent())} allows one)")
    return (f"{text}{dollars(prompts)} for the prompts, at most {dollars(most)} with replies of "
            f"full length (prices of {price.as_of}){stop}")
