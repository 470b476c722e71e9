"""Models' prices (prices.csv) and what a stage may cost over all its runs and arms."""

import asyncio
import csv
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError

from lib.core.store import BadInput, Stopped, package_file, shown
from lib.llm.cache import Cache, Entry
from lib.llm.calls import Calls, dollars
from lib.llm.request import Request, most_tokens

TABLE = package_file("llm/prices.csv")


class Price(BaseModel):
    """A row of prices.csv. Amounts are decimals: a token of gpt-4o-mini costs $0.00000015."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    model: str
    input_usd_per_million: Decimal = Field(ge=0)
    cache_write_usd_per_million: Decimal = Field(Decimal(0), ge=0)
    output_usd_per_million: Decimal = Field(ge=0)
    batch_factor: Decimal = Field(Decimal(1), gt=0, le=1)  # batch price / direct price
    context_tokens: PositiveInt | None = None  # tokens of the longest prompt at this price
    max_output_tokens: PositiveInt | None = None
    as_of: date  # when the source gave this price
    source: str


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

    def __init__(self, model: str, calls: Calls, cache: Cache) -> None:
        self.model, self.calls, self.cache = model, calls, cache
        self.price, self.n_held = check_price(model, calls), 0  # calls in flight
        if self.price is None:
            calls.tally.usd = None  # unknown from the first call on, not $0

    def worst(self, request: Request, batch: bool = False) -> float:
        """Return the most dollars that one call can cost; 0 without a price."""
        return cost_usd(self.price, most_tokens(request), request.max_tokens, batch)

    def out_of_money(self) -> str:
        """Return the reason for stopping at the cost limit."""
        return (
            f"the next call could exceed max_cost_usd = {dollars(self.calls.max_cost_usd)} "
            f"({dollars(self.cache.spent(self.calls.stage))} are spent over all runs): raise it"
        )

    async def reserve(self, worst: float) -> bool:
        """Reserve `worst` dollars, waiting for calls in flight; return False if over the limit."""
        while not self.hold(worst, self.calls.run):
            if not self.n_held:
                return False
            await asyncio.sleep(0.1)
        self.n_held += 1
        return True

    def hold(self, worst: float, who: str) -> bool:
        """Reserve `worst` dollars for the run or batch `who`; return False if over the limit."""
        limit = self.calls.max_cost_usd
        return not limit or self.cache.reserve(self.calls.stage, who, worst, limit)

    def settle(
        self, worst: float, cost: float, who: str = "", entries: Sequence[Entry] = ()
    ) -> None:
        """Store `entries`, and replace `worst` dollars that `who` has reserved by their `cost`.

        `who` is a batch or this run. Raises Stopped, and then changes nothing.
        """
        if worst or cost or entries:  # not for a model without a price: a statement per call
            with self.cache.transaction():
                self.cache.put(entries)
                self.cache.spend(self.calls.stage, who or self.calls.run, worst, cost)
        self.n_held -= not who
        if self.calls.tally.usd is not None:
            self.calls.tally.usd += cost

    def lost(self, worst: float, n: int = 1) -> float:
        """Count `n` calls that may be charged without a reply; return their worst case."""
        self.calls.tally.lost += n
        self.calls.tally.usd_estimated += worst
        return worst

    def plan(self, waiting: Sequence[Request], n_requests: int) -> str:
        """Return a line on calls, the route they take, and dollars."""
        is_batch, cached = self.calls.mode == "batch", n_requests - len(waiting)
        most = sum(self.worst(request, is_batch) for request in waiting)
        text = (
            f"{self.model}: {n_requests:,} calls, {cached:,} cached ({cached / n_requests:.0%}), "
            f"{len(waiting):,} to send ({'in batches' if is_batch else 'directly'}); "
        )
        if self.price is None:
            return f"{text}price unknown (add the model to lib/llm/prices.csv)"
        limit = self.calls.max_cost_usd
        stops = f"stops before {dollars(limit)} over all runs" if limit else "no limit"
        return f"{text}at most {dollars(most)} (prices of {self.price.as_of}); {stops}"


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
