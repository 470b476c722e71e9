"""Amounts in questions and answers, with sign, scale and unit; words of labels."""

import re
import unicodedata
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from lib.tasks.tablequest.grids.cells import WORTH, coin_in

POINTS = "percentage points"  # the unit of a difference of two percentages
SCALE_WORDS = {1.0: "", 1e3: "thousand", 1e6: "million", 1e9: "billion", 1e12: "trillion"}
_USUAL = {"$": "USD", "¥": "JPY"}  # the currency of a mark that several have
_COIN = r"US\$|C\$|A\$|[$€£¥]|(?:USD|EUR|GBP|JPY|CAD|CHF|CNY|AUD|RMB)\b"
_NUMBER = re.compile(
    rf"(?<![\w.,/])(?P<open>\(\s?)?(?P<minus>-|(?:minus|negative)\s)?\s?(?P<coin>{_COIN})?\s?"
    r"(?P<inner>\(\s?)?(?P<minus2>-)?"
    r"(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?P<close>\s?\))?"
    r"(?:[\s-]?(?P<scale>thousand|million|billion|trillion)s?|\s?(?P<short>mn|bn|[kmb](?!\w)))?"
    r"(?:\s?(?:of\s)?(?P<unit>%|percentage\spoints|percent|pp\b|US\sdollars|Canadian\sdollars"
    rf"|Australian\sdollars|Swiss\sfrancs|dollars|euros|pounds|yen|yuan|shares|{_COIN}))?"
    r"(?P<close2>\s?\))?(?![\d%]|[.,/]\d|\w)",
    re.I,
)


class Amount(NamedTuple):
    """A number in a text, with sign and scale applied; `scale` is 0 if no scale word is written."""

    value: Fraction
    step: Fraction  # 1 in the last digit written
    unit: str  # "USD", "%", "shares", …; "" if none is written
    scale: float
    n_digits: int  # significant ones
    text: str


def amounts(text: str) -> list[Amount]:
    """Return the amounts in `text`, in order; a minus or brackets make one negative."""
    text = re.sub("[\u2010-\u2015\u2212]", "-", unicodedata.normalize("NFKC", text))
    return [_amount(found) for found in _NUMBER.finditer(text) if len(found["digits"]) < 40]


def _amount(found: re.Match) -> Amount:
    digits = found["digits"].replace(",", "")
    scale = WORTH.get((found["scale"] or found["short"] or "").lower()[:2], 0.0)
    factor = Fraction(scale or 1)
    has_brackets = (found["open"] or found["inner"]) and (found["close"] or found["close2"])
    is_negative = found["minus"] or found["minus2"] or has_brackets
    unit = (found["unit"] or found["coin"] or "").casefold()
    coin = coin_in(unit)
    return Amount(
        (-1 if is_negative else 1) * Fraction(digits) * factor,
        Fraction(1, 10 ** len(digits.partition(".")[2])) * factor,
        _USUAL.get(coin, coin) or (unit if unit in ("", "shares") else "%"),
        scale,
        len(digits.replace(".", "").lstrip("0")) or 1,
        found[0].strip(),
    )


@lru_cache(1 << 16)
def words_of(text: str) -> frozenset[str]:
    """Return the words of a label in lower case and singular, without fillers."""
    words = re.findall(r"[^\W\d_]+|\d+(?:[.,]\d+)*", re.sub(r"[’']s\b", "", text.casefold()))
    return (
        frozenset(re.sub(r"(?<=[^su])s$", "", re.sub(r"ies$", "y", word)) for word in words)
        - _FILLERS
    )


_FILLERS = frozenset(
    "a an and are as at by did do for from how i in it of on or our per the to "
    "wa was were what which with is".split()
)
