"""The settings of a stage's calls to a model, their tally, and models' prices (prices.csv)."""

import csv
import math
from collections import Counter
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, Field, PositiveFloat, PositiveInt, ValidationError
from pydantic.dataclasses import dataclass

from lib.core.store import REPOSITORY, BadInput, Stopped, data_path, package_file, shown
from lib.llm.request import Kind

PRICES = package_file("llm/prices.csv")
_MOST_SHORTENED = 0.05  # of the calls of a stage: prompts that the endpoint has not read whole


@dataclass
class Tally:
    """Counts over all calls of a stage; dollars are NaN if the model has no price."""

    asked: int = 0  # replies that are wanted, those to come included
    cached: int = 0
    new: int = 0
    failed: int = 0
    kinds: Counter = Field(default_factory=Counter)  # of replies that are no answer
    models: Counter = Field(default_factory=Counter)  # that answered, as the endpoint names them
    shortened: int = 0  # prompts that were not read whole; the next run sends them again
    lost: int = 0  # calls without an answer, or with an unreadable one, that may be charged
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0  # of this run; worst cases of lost calls and replies without a usage


@dataclass(config={"extra": "forbid"})
class Calls:
    """The settings of a stage's calls; pass the same object to every `complete` of the stage.

    Raises ValueError naming a setting that cannot be used.
    """

    cache: Path  # SQLite file, one per study
    stage: str = ""  # shares max_cost_usd with all runs of the same stage, such as those of arms
    max_cost_usd: PositiveFloat | None = None  # that the stage may cost over all runs
    mode: Literal["direct", "batch"] = "direct"  # batch: half the price, done within a day
    concurrency: PositiveInt = 32  # simultaneous calls
    max_failed_share: float = Field(default=0.1, ge=0, le=1)  # of all calls: stop above it
    retry: Sequence[Kind] = ()  # kinds of reply to ask for once more in this run
    json_schema: bool = False  # send the shape of a reply that is read as JSON
    tally: Tally = Field(default_factory=Tally, init=False)

    def __str__(self) -> str:
        tally = self.tally
        kinds, models = (
            ", ".join(f"{n:,} {name}" for name, n in sorted(counts.items())) or "none"
            for counts in (tally.kinds, tally.models)
        )
        return (
            f"cached {tally.cached} / new {tally.new} / failed {tally.failed}; no answer: {kinds} "
            f"(retry lists the kinds to ask for again); answered by: {models}; "
            f"{tally.shortened} prompts not read whole; {tally.lost} lost "
            f"in transit or unreadable, which may be charged; {tally.prompt_tokens:,} tokens in, "
            f"{tally.completion_tokens:,} out; {dollars(tally.usd)}"
        )

    def failing(self, last: str = "") -> str:
        """Return why the stage stops: too many failures, the `last` of them named; else ""."""
        tally = self.tally
        if tally.shortened > _MOST_SHORTENED * tally.asked:
            return (
                f"the endpoint has read only a part of {tally.shortened} prompts and says nothing: "
                "raise its context window (num_ctx, max_model_len), or send less"
            )
        if tally.failed <= self.max_failed_share * tally.asked:
            return ""
        return (
            f"{tally.failed} of {tally.asked} calls failed, and max_failed_share is "
            f"{self.max_failed_share:g}, the last with: {last}"
        )


def settings_of(section: dict, stage: str) -> dict[str, Any]:
    """Return what the section `llm` of a study file says of a stage: fields of Calls.

    Its key `stages` has settings of single stages, by name. Raises ValueError as Calls does.
    """
    # $5 where the study says nothing else
    settings = {"max_cost_usd": 5.0, **section, **section.get("stages", {}).get(stage, {})}
    settings.pop("stages", None)
    Calls(Path(), **settings)
    return settings


def calls_for(study: str, stage: str) -> Calls:
    """Return the Calls of a `stage` of `study`, with the cache data/<study>/llm.sqlite.

    Its settings are those of studies/<study>.yaml, if there is one.
    """
    path = REPOSITORY / "studies" / f"{study.partition('/')[0]}.yaml"
    keys = yaml.safe_load(path.read_text("utf-8")) if path.exists() else {}
    return Calls(data_path(study, "llm.sqlite"), stage, **settings_of(keys.get("llm") or {}, stage))


def dollars(amount: float) -> str:
    """Format dollars, with six decimals below $1; "price unknown" for NaN."""
    return "price unknown" if math.isnan(amount) else f"${amount:,.{2 if amount >= 1 else 6}f}"


class Price(BaseModel, extra="forbid"):
    """A row of prices.csv. Amounts are decimals: a token of gpt-4o-mini costs $0.00000015."""

    model: str
    input_usd_per_million: Decimal = Field(ge=0)
    cache_write_usd_per_million: Decimal = Field(Decimal(0), ge=0)
    output_usd_per_million: Decimal = Field(ge=0)
    batch_factor: Decimal = Field(Decimal(1), gt=0, le=1)  # batch price / direct price
    context_tokens: PositiveInt | None = None  # tokens of the longest prompt at this price
    max_output_tokens: PositiveInt | None = None
    as_of: date  # when the source gave this price
    source: str


def price_of(model: str, table: Path = PRICES) -> Price | None:
    """Return the row whose id is exactly `model`, None if the price is unknown.

    Raises BadInput if the row is incomplete or invalid.
    """
    for row in csv.DictReader(table.read_text("utf-8-sig").splitlines()):
        if row["model"] == model:
            try:
                return Price.model_validate({name: cell for name, cell in row.items() if cell})
            except ValidationError as error:
                raise BadInput(f"{shown(table)}, row {model!r}: {error}") from None
    return None


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


def cost_usd(
    price: Price | None, prompt_tokens: int, completion_tokens: int, batch: bool = False
) -> float:
    """Return dollars, at least those of the bill; NaN if the price is unknown."""
    if price is None:
        return math.nan
    per_million = max(price.input_usd_per_million, price.cache_write_usd_per_million)
    millionths = prompt_tokens * per_million + completion_tokens * price.output_usd_per_million
    return float(millionths * (price.batch_factor if batch else 1) / 1_000_000)
