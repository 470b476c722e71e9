"""What a stage may cost over all its runs and arms; the plan that is printed before any call."""

import asyncio
from collections.abc import Collection

from lib.core.store import Stopped
from lib.llm.cache import Cache
from lib.llm.calls import Calls, dollars
from lib.llm.prices import Price, cost_usd, price_of
from lib.llm.request import Request, counter, most_tokens


class Budget:
    """A stage's budget: a call starts only if it covers the worst cases of all calls in flight."""

    # The cache stores what each run and each batch has spent and reserved, so that processes share
    # the limit, and what was in flight when a process was killed counts with its worst case.

    def __init__(self, calls: Calls, price: Price | None, cache: Cache) -> None:
        self.calls, self.price, self.cache = calls, price, cache
        if price is None:
            calls.tally.usd = None  # unknown from the first call on, not $0
        self.n_held = 0  # calls in flight and batches of this process
        self.refresh()

    def worst(self, request: Request, batch: bool = False) -> float:
        """Return the most dollars that one call can cost; 0 without a price."""
        return cost_usd(self.price, most_tokens(request), request.max_tokens, batch)

    def refresh(self) -> None:
        """Read what other runs of the stage have spent and reserved."""
        others = self.cache.spent(self.calls.stage) - (self.calls.tally.usd or 0.0)
        self.calls.tally.usd_others = max(0.0, round(others, 9))

    async def reserve(self, worst: float) -> bool:
        """Reserve `worst` dollars, waiting for calls in flight; return False if over the limit."""
        while not self.hold(worst, self.calls.run):
            if not self.n_held:
                self.refresh()
                return False
            await asyncio.sleep(0.1)
        return True

    def hold(self, worst: float, who: str) -> bool:
        """Reserve `worst` dollars for the run or batch `who`; return False if over the limit."""
        limit = self.calls.max_cost_usd
        has_room = not limit or self.cache.reserve(self.calls.stage, who, worst, limit)
        self.n_held += has_room
        return has_room

    def settle(self, worst: float, cost: float, who: str = "") -> None:
        """Replace `worst` dollars that `who`, a batch or this run, has reserved by the `cost`."""
        if worst or cost:  # not for a model without a price: it would be a statement per call
            self.cache.spend(self.calls.stage, who or self.calls.run, worst, cost)
        self.n_held -= 1
        if self.calls.tally.usd is not None:
            self.calls.tally.usd += cost

    def lost(self, worst: float, n: int = 1) -> float:
        """Count `n` calls that may be charged without a reply; return their worst case."""
        self.calls.tally.lost += n
        self.calls.tally.usd_estimated += worst
        return worst


def check_price(model: str, calls: Calls) -> Price | None:
    """Return the price of `model`. Raises Stopped if `max_cost_usd` cannot be kept without one."""
    price = price_of(model)
    if price is None and calls.max_cost_usd is not None:
        raise Stopped(
            f"max_cost_usd is {calls.max_cost_usd:g}, but no price of {model!r} is "
            "known: add it to lib/llm/prices.csv (0 for one that you serve yourself), or "
            "write max_cost_usd: null into the section llm of the study's file"
        )
    return price


def plan(
    budget: Budget, waiting: Collection[Request], n_requests: int, model: str, route: str
) -> str:
    """Return a paragraph on calls, the `route` they take, tokens and dollars.

    Raises Stopped if the prompts alone would exceed `max_cost_usd`.
    """
    calls, price = budget.calls, budget.price
    limit, (count, how) = calls.max_cost_usd, counter(model)
    n_in = sum(count(content) + 4 for request in waiting for _, content in request.messages)
    n_out = sum(request.max_tokens for request in waiting)
    cached = n_requests - len(waiting)
    text = (
        f"{model}: {n_requests:,} calls, {cached:,} cached ({cached / n_requests:.0%}), "
        f"{len(waiting):,} to send ({route}): about {n_in:,} tokens "
        f"in ({how}), at most {n_out:,} out; "
    )
    if price is None:
        return text + "price unknown (add the model to lib/llm/prices.csv)"
    prompts, most = (cost_usd(price, n_in, tokens, calls.mode == "batch") for tokens in (0, n_out))
    if calls.exceeds(prompts):
        raise Stopped(
            f"{text}the prompts alone cost {dollars(prompts)}, max_cost_usd is "
            f"{dollars(limit)} over all runs, and {dollars(calls.spent())} are spent: "
            "raise it, or send less. Nothing was spent now"
        )
    stop = (
        f"; stops before {dollars(limit)} over all runs"
        if limit
        else "; no limit, as max_cost_usd is null"
    )
    return (
        f"{text}{dollars(prompts)} for the prompts, at most {dollars(most)} with replies of "
        f"full length (prices of {price.as_of}){stop}"
    )
