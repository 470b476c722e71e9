"""Hold the settings of a stage's calls to a model, their tally and the money that is left."""

import asyncio
import math
from dataclasses import dataclass, field
from pathlib import Path

from lib.core.paths import data_path
from lib.llm.prices import Price, cost_usd

MODES = ("direct", "batch")
_ENOUGH = 20  # decided calls before their failures may stop the stage
_SURE = 3.0  # standard errors above max_failed_share before the last call is decided


class CallsStopped(RuntimeError):
    """A stage's calls were stopped before all were made; paid replies are cached."""


@dataclass
class Tally:
    """Counts over all calls of a stage; dollars are None if the model has no price."""

    cached: int = 0
    new: int = 0
    failed: int = 0
    marked: int = 0  # truncated or refused replies, cached or new, which are not answers
    repairs: int = 0  # repair requests, cached or new, because a first reply was unreadable
    lost: int = 0  # replies that never arrived and may have been charged
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: int = 0  # new replies without a usage, whose tokens are estimates
    usd: float | None = 0.0


@dataclass
class Calls:
    """The settings of a stage's calls; pass the same object to every `complete` of the stage.

    Raises ValueError naming a setting that cannot be used.
    """

    cache: Path  # SQLite file, one per study
    max_cost_usd: float | None = None  # dollars that the stage may spend; None: no limit
    mode: str = "direct"  # or "batch": half the price, done within a day
    concurrency: int | None = None  # simultaneous calls; None: adapted to the endpoint
    requests_per_minute: int | None = None  # a cap; None: the endpoint's headers decide
    tokens_per_minute: int | None = None  # a cap; None: the endpoint's headers decide
    max_failed_share: float = 0.1  # of the stage's calls, cached ones included: stop above it
    timeout_seconds: float = 600.0  # per call, from sending to the complete reply
    poll_seconds: float = 30.0  # between two polls of a batch
    tally: Tally = field(default_factory=Tally, init=False)

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"mode is {self.mode!r}: choose one of {', '.join(MODES)}")
        for name in ("max_cost_usd", "concurrency", "requests_per_minute", "tokens_per_minute"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} is {value}: give a number above 0, or None")
        if not 0 <= self.max_failed_share <= 1:
            raise ValueError(f"max_failed_share is {self.max_failed_share}: "
                             "give a share from 0 to 1")

    def __str__(self) -> str:
        tally = self.tally
        parts = [f"cached {tally.cached} / new {tally.new} / failed {tally.failed}"]
        for n, name in ((tally.marked, "truncated or refused"), (tally.repairs, "repair requests"),
                        (tally.lost, "lost in transit and possibly paid twice")):
            parts += [f"{n} {name}"] * (n > 0)
        if tally.new:
            estimated = f" (estimated for {tally.estimated} of {tally.new})"
            limit = f" of {dollars(self.max_cost_usd)}" if self.max_cost_usd else ""
            parts += [f"{tally.prompt_tokens:,} tokens in, {tally.completion_tokens:,} out"
                      + (estimated if tally.estimated else ""), dollars(tally.usd) + limit]
        return "; ".join(parts)


    def failing(self, is_over: bool = False) -> str:
        """Return why the stage's failures stop it, "" if they do not.

        The share is of all calls of the stage, cached ones included, so that a stage with a few
        permanent failures can be run again. Until it `is_over`, only a share that is surely above
        max_failed_share counts, because the first calls say little about all of them.
        """
        failed, share = self.tally.failed, self.max_failed_share
        decided = self.tally.cached + self.tally.new + failed
        margin = 0.0 if is_over else _SURE * math.sqrt(share * (1 - share) * decided)
        if failed <= share * decided + margin or not is_over and decided < _ENOUGH:
            return ""
        return (f"{failed} of {'' if is_over else 'the first '}{decided} calls failed, cached ones "
                f"included, and max_failed_share is {share:g}")


def calls_for(study: str, **settings: object) -> Calls:
    """Return the Calls of a stage of `study`, with the cache data/<study>/llm.sqlite.

    `settings` are fields of Calls. Raises ValueError as Calls does.
    """
    return Calls(data_path(study, "llm.sqlite"), **settings)


def dollars(amount: float | None) -> str:
    """Format dollars with at least two significant digits; "price unknown" for None."""
    if amount is None:
        return "price unknown"
    places = 2 if amount >= 1 or amount <= 0 else max(4, 1 - math.floor(math.log10(amount)))
    return f"${amount:,.{places}f}"


class Budget:
    """A stage's budget: a call starts only if it covers the worst cases of all calls in flight."""

    def __init__(self, calls: Calls, price: Price | None) -> None:
        self.calls, self.price = calls, price
        self.reserved = 0.0  # dollars
        self._freed = asyncio.Event()

    def worst(self, prompt_tokens: int, max_tokens: int, batch: bool = False) -> float:
        """Return the most dollars that one call can cost; 0 without a price."""
        return cost_usd(self.price, prompt_tokens, max_tokens, batch) if self.price else 0.0

    def room(self) -> float:
        """Return the dollars that are neither spent nor reserved; infinite without a limit."""
        limit = self.calls.max_cost_usd
        spent = self.calls.tally.usd or 0.0
        return math.inf if limit is None else limit - spent - self.reserved

    async def reserve(self, worst: float) -> bool:
        """Reserve `worst` dollars, waiting for calls in flight; return False if over the limit."""
        while worst > self.room():
            if not self.reserved:
                return False
            self._freed.clear()
            await self._freed.wait()
        self.reserved += worst
        return True

    def settle(self, worst: float, cost: float | None) -> None:
        """Release a reservation and count the call's `cost` in dollars (None: unknown)."""
        left = self.reserved - worst  # clamp float residue so that reserve() cannot block
        self.reserved = left if self.reserved > worst + 1e-12 else 0.0
        spent = self.calls.tally.usd
        self.calls.tally.usd = None if cost is None or spent is None else spent + cost
        self._freed.set()
