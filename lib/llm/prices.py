"""Models' prices, from prices.csv. A model without a row has no price, not a price of $0."""

import csv
from datetime import date
from decimal import Decimal
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lib.core.errors import BadInput
from lib.core.paths import package_file, shown

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
    tokenizer: str = ""  # a tiktoken encoding
    as_of: date  # when the source gave this price
    source: str = Field(min_length=1)


def price_of(model: str, table: Path = TABLE) -> Price | None:
    """Return the row whose id is exactly `model`, None if the price is unknown.

    A dated snapshot or a fine-tuned model needs its own row. Raises BadInput as `prices` does.
    """
    return prices(table).get(model)


def cost_usd(price: Price, prompt_tokens: int, completion_tokens: int,
             batch: bool = False) -> float:
    """Return dollars, at least those of the bill: a prompt token is priced as a cache write."""
    per_million = max(price.input_usd_per_million, price.cache_write_usd_per_million)
    millionths = prompt_tokens * per_million + completion_tokens * price.output_usd_per_million
    return float(millionths * (price.batch_factor if batch else 1) / 1_000_000)


def prices(table: Path = TABLE) -> dict[str, Price]:
    """Return every row of `table` by model id; lines that start with # are comments.

    Raises BadInput naming the line of a row that is incomplete, invalid or repeated.
    """
    lines = [(number, line)
             for number, line in enumerate(table.read_text("utf-8-sig").splitlines(), 1)
             if line.strip(", ") and not line.startswith("#")]
    rows = csv.DictReader((line for _, line in lines), restkey="too many cells")
    found: dict[str, Price] = {}
    for (number, _), row in zip(lines[1:], rows, strict=True):
        cells = {column: cell.strip() if isinstance(cell, str) else cell
                 for column, cell in row.items()}
        where = f"{shown(table)}, line {number}"
        try:
            price = Price(**{column: cell for column, cell in cells.items() if cell})
        except ValidationError as error:
            column, why = error.errors()[0]["loc"][0], error.errors()[0]["msg"]
            raise BadInput(f"{where}: {column} is {cells.get(column) or ''!r}: {why}") from None
        if price.model in found:
            raise BadInput(f"{where}: {price.model!r} has a row already: remove one")
        found[price.model] = price
    return found
