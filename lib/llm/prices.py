"""Models' prices, from prices.csv. A model without a row has no price, not a price of $0."""

import csv
from datetime import date
from decimal import Decimal
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lib.core.store import BadInput, package_file, shown

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
