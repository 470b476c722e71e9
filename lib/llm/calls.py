"""How a stage may call a model, and what its calls came to: settings, tally and the money that is still free."""

import asyncio
import math
from dataclasses import dataclass, field
from pathlib import Path

from lib.core.paths import data_path
from lib.llm.prices import Price, cost_usd

MODES = ("direct", "batch")


class CallsStopped(RuntimeError):
    """A stage's calls were stopped before all were made; what was paid is in the cache."""


@dataclass
class Tally:
    """Counts over all calls of a stage; dollars are None where the model has no price."""

    cached: int = 0
    new: int = 0
    failed: int = 0
    marked: int = 0  # of cached and new: replies cut at the length limit or refused, no answers
    repairs: int = 0  # of cached and new: asked because a first reply could not be read
    lost: int = 0  # replies that may have been paid and never arrived
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: int = 0  # of new: replies without a usage, whose tokens are estimates
    usd: float | None = 0.0


@dataclass
class Calls:
    """The settings for all calls of one stage; pass the same one to every `complete` of it.

    Raises ValueError naming the setting that cannot be used.
    """

    cache: Path  # SQLite file, one a study
    max_cost_usd: float | None = None  # dollars that the stage may spend; None: no limit
    mode: str = "direct"  # or "batch": half the price, done within a day
    concurrency: int | None = None  # calls at once; None: found out while running
    requests_per_minute: int | None = None  # a cap; None: what the endpoint's headers say
    tokens_per_minute: int | None = None  # a cap; None: what the endpoint's headers say
    max_failed_share: float = 0.1  # stop when more of the calls than this have failed
    timeout_seconds: float = 600.0  # of one call, from sending to the whole reply
    poll_seconds: float = 30.0  # between two looks at a batch
    tally: Tally = field(default_factory=Tally, init=False)

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"mode is {self.mode!r}: choose one of {', '.join(MODES)}")
        for name in ("max_cost_usd", "concurrency", "requests_per_minute", "tokens_per_minute"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} is {value}: give a number above 0, or None")
        if not 0 <= self.max_failed_share <= 1:
            raise ValueError(f"max_failed_share is {self.max_failed_share}: give a share from 0 to 1")

    def __str__(self) -> str:
        tally = self.tally
        parts = [f"cached {tally.cached} / new {tally.new} / failed {tally.failed}"]
        parts += [f"{n} {what}" for n, what in ((tally.marked, "cut or refused"), (tally.repairs, "repair requests"),
                                                (tally.lost, "lost on the way and perhaps paid twice")) if n]
        if tally.new:
            parts.append(f"{tally.prompt_tokens:,} tokens in, {tally.completion_tokens:,} out"
                         + (f" (estimated for {tally.estimated} of {tally.new})" if tally.estimated else ""))
            parts.append(dollars(tally.usd) + (f" of {dollars(self.max_cost_usd)}" if self.max_cost_usd else ""))
        return "; ".join(parts)


def dollars(amount: float | None) -> str:
    """An amount as a person reads it, two digits of it at least; "price unknown" for None."""
    if amount is None:
        return "price unknown"
    places = 2 if amount >= 1 or amount <= 0 else max(4, 1 - math.floor(math.log10(amount)))
    return f"${amount:,.{places}f}"


class Budget:
    """The money of a stage: a call starts only where its worst case still fits beside all others in flight."""

    def __init__(self, calls: Calls, price: Price | None) -> None:
        self.calls, self.price = calls, price
        self.reserved = 0.0  # dollars
        self._freed = asyncio.Event()

    def worst(self, prompt_tokens: int, max_tokens: int, batch: bool = False) -> float:
        """Dollars that one call can cost at most; 0 without a price."""
        return cost_usd(self.price, prompt_tokens, max_tokens, batch) if self.price else 0.0

    def room(self) -> float:
        """Dollars that are neither spent nor set aside; infinite without a limit."""
        limit = self.calls.max_cost_usd
        return math.inf if limit is None else limit - (self.calls.tally.usd or 0.0) - self.reserved

    async def reserve(self, worst: float) -> bool:
        """Set `worst` dollars aside, waiting for calls in flight; False where they would pass the limit even so."""
        while worst > self.room():
            if not self.reserved:
                return False
            self._freed.clear()
            await self._freed.wait()
        self.reserved += worst
        return True

    def settle(self, worst: float, cost: float | None) -> None:
        """Give back what was set aside, and count what the call did cost, in dollars; None: nobody knows."""
        self.reserved = self.reserved - worst if self.reserved > worst + 1e-12 else 0.0  # no dust that blocks reserve
        spent = self.calls.tally.usd
        self.calls.tally.usd = None if cost is None or spent is None else spent + cost
        self._freed.set()


def calls_for(study: str, **settings: object) -> Calls:
    """Return the Calls of one stage of `study`, whose replies are cached in data/<study>/llm.sqlite.

    `settings` are fields of Calls. Raises ValueError as Calls does.
    """
    return Calls(data_path(study, "llm.sqlite"), **settings)
