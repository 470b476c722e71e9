"""Keep what a stage may cost over all its runs and arms, also those that run at the same time."""

import asyncio
import math

from lib.llm.cache import Cache
from lib.llm.calls import Calls
from lib.llm.prices import Price, cost_usd
from lib.llm.request import Request
from lib.llm.tokens import most_tokens


class Budget:
    """A stage's budget: a call starts only if it covers the worst cases of all calls in flight.

    The cache stores what each run and each batch has spent and reserved, so that processes share
    the limit, and what was in flight when a process was killed counts with its worst case.
    """

    def __init__(self, calls: Calls, price: Price | None, cache: Cache) -> None:
        self.calls, self.price, self.cache = calls, price, cache
        if price is None:
            calls.tally.usd = None  # unknown from the first call on, not $0
        self.reserved: list[float] = []  # dollars of each call in flight and batch of this process
        self._freed = asyncio.Event()
        self.refresh()

    def worst(self, request: Request, batch: bool = False) -> float:
        """Return the most dollars that one call can cost; 0 without a price."""
        return self.cost(most_tokens(request), request.max_tokens, batch)

    def cost(self, prompt_tokens: int, completion_tokens: int, batch: bool = False) -> float:
        """Return dollars; 0 without a price."""
        return (cost_usd(self.price, prompt_tokens, completion_tokens, batch) if self.price
                else 0.0)

    def refresh(self) -> None:
        """Read what other runs of the stage have spent and reserved."""
        mine = (self.calls.tally.usd or 0.0) + sum(self.reserved)
        others = self.cache.spent(self.calls.stage) - mine
        self.calls.tally.usd_others = others if others > 1e-9 else 0.0  # not a rounding error

    def room(self) -> float:
        """Return the dollars that are neither spent nor reserved; infinite without a limit."""
        limit = self.calls.max_cost_usd
        return math.inf if limit is None else limit - self.cache.spent(self.calls.stage)

    async def reserve(self, worst: float) -> bool:
        """Reserve `worst` dollars, waiting for calls in flight; return False if over the limit."""
        while not self.hold(worst, self.calls.run):
            if not self.reserved:
                self.refresh()
                return False
            self._freed.clear()
            await self._freed.wait()
        return True

    def hold(self, worst: float, who: str) -> bool:
        """Reserve `worst` dollars for the run or batch `who`; return False if over the limit."""
        limit = self.calls.max_cost_usd
        if limit is not None and not self.cache.reserve(self.calls.stage, who, worst, limit):
            return False
        self.reserved.append(worst)
        return True

    def resume(self, worst: float, who: str) -> None:
        """Take over the reservation of a batch that an earlier run has sent."""
        self.cache.reserve(self.calls.stage, who, worst - self.cache.spent(self.calls.stage, who),
                           None)
        self.reserved.append(worst)

    def settle(self, worst: float, cost: float, who: str = "") -> None:
        """Replace a reservation by the `cost` in dollars."""
        if worst or cost:  # not for a model without a price: it would be a statement per call
            self.cache.spend(self.calls.stage, who or self.calls.run, worst, cost)
        self.reserved.remove(worst)
        spent = self.calls.tally.usd
        self.calls.tally.usd = None if spent is None else spent + cost
        self._freed.set()

    def lost(self, worst: float, n: int = 1) -> float:
        """Count `n` calls that may be charged without a reply; return their worst case."""
        self.calls.tally.lost += n
        self.calls.tally.usd_estimated += worst
        return worst
