"""Models' prices (prices.csv) and what a stage may cost over all its runs and arms."""

import asyncio
import csv
from collections.abc import Collection
from datetime import date
from decimal import Decimal
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lib.core.store import BadInput, Stopped, package_file, shown
from lib.llm.cache import Cache
from lib.llm.calls import Calls, dollars
from lib.llm.request import Request, counter, most_tokens

TABLE = package_file("llm/prices.csv")


class Price(BaseModel):
    """A row of prices.csv. Amounts are decimals: a token of gpt-4o-mini costs $0.00000015."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    model: str = Field(min_length=1)
    input_usd_per_million: Decimal = Field(ge=0)
    cache_write_usd_per_million: Decimal = Field(Decimal(0), ge=0)
    output_usd_per_million: Decimal = Field(ge=0)
    batch_factor: Decimal = Field(Decimal(1), gt=0, le=1)  # batch price / direct price
    context_tokens: int | None = Field(None, gt=0)  # tokens of the longest prompt at this price
    max_output_tokens: int | None = Field(None, gt=0)
    as_of: date  # when the source gave this price
    source: str = Field(min_length=1)


def price_of(model: str, table: Path = TABLE) -> Price | None:
    """Return the row whose id is exactly `model`, None if the price is unknown.

    Raises BadInput naming a row that is incomplete, invalid or repeated.
    """
    lines = [line for line in table.read_text("utf-8-sig").splitlines() if line[:1] != "#"]
    found = {}
    for row in csv.DictReader(lines, restkey="too many cells"):
        try:
            price = Price.model_validate({column: cell for column, cell in row.items() if cell})
        except ValidationError as error:
            raise BadInput(f"{shown(table)}, row {row['model']!r}: {error}") from None
        if price.model in found:
            raise BadInput(f"{shown(table)}: {price.model!r} has two rows: remove one")
        found[price.model] = price
    return found.get(model)


def cost_usd(
    price: Price | None, prompt_tokens: int, completion_tokens: int, batch: bool = False
) -> float:
    """Return dollars, at least those of the bill; 0 if the price is unknown."""
    if price is None:
        return 0.0
    per_million = max(price.input_usd_per_million, price.cache_write_usd_per_million)
    millionths = prompt_tokens * per_million + completion_tokens * price.output_usd_per_million
    return float(millionths * (price.batch_factor if batch else 1) / 1_000_000)


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
