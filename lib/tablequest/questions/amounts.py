"""Amounts as questions and answers give them: "$383,285 million", "-2.8%", "millions of euros"."""

import re
from decimal import ROUND_HALF_UP, Decimal

from lib.tablequest.records import Cell

POINTS = "percentage points"  # the unit of a difference of two percentages
_SCALES = {1.0: "", 1e3: "thousand", 1e6: "million", 1e9: "billion"}
_COINS = {"USD": ("$", "US dollars"), "EUR": ("€", "euros"), "GBP": ("£", "pounds sterling"),
          "JPY": ("¥", "yen")}


def rounded(value: float, decimals: int) -> Decimal:
    """Round to `decimals` places, halves away from zero as accountants do; never minus zero."""
    exact = Decimal(repr(round(value, decimals + 9)))  # 2.675, not 2.67499999
    result = exact.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    return result if result else abs(result)


def amount(value: float, unit: str, scale: float, decimals: int) -> str:
    """Return an amount, rounded: "-$24,690 million", "12.4%", "15,408 thousand shares"."""
    number, coin = f"{rounded(abs(value), decimals):,}", unit.split("/")[0]
    sign = "-" if value < 0 and rounded(value, decimals) else ""
    words = [_SCALES.get(scale) or ("" if scale == 1 else f"× {scale:g}")]
    if unit == "%":
        return f"{sign}{number}%"
    if coin in _COINS:
        number = _COINS[coin][0] + number
        words.append(f"per {unit.split('/')[1]}" if "/" in unit else "")
    else:
        words.append(unit)
    return sign + " ".join([number, *filter(None, words)])


def unit_words(unit: str, scale: float) -> str:
    """Return how a question names the unit of its answer: "millions of US dollars", or ""."""
    coin, _, per = unit.partition("/")
    named = "percent" if unit == "%" else _COINS[coin][1] if coin in _COINS else coin
    many = "" if scale == 1 else f"units of {scale:,.0f}"
    if _SCALES.get(scale):
        many = f"{_SCALES[scale]}s"
    return " of ".join(filter(None, (many, named))) + (f" per {per}" if per else "")


def decimals_of(*cells: Cell) -> int:
    """Return the decimal places of the most exact of `cells`, as printed."""
    printed = [re.search(r"\d\.(\d+)", cell.text) for cell in cells]
    return max(len(match[1]) if match else 0 for match in printed)
