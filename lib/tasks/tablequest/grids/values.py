"""Read the number in a cell, with its sign and the unit that the cell itself prints."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from lib.tasks.tablequest.grids.notes import CURRENCIES, SCALES

COINS = {"$": "USD", "US$": "USD", "C$": "CAD", "CA$": "CAD", "A$": "AUD", "HK$": "HKD",
         "€": "EUR", "£": "GBP", "¥": "JPY", **{code: code for code in CURRENCIES}}

_MINUS = "-\u2010-\u2015\u2212"
_MINUSES = frozenset("-\u2010\u2011\u2012\u2013\u2014\u2212")
# of a footnote: "(1)", "[a]", "*"
MARK = r"(?:\((?:\d{1,2}|[a-z])\)|\[(?:\d{1,2}|[a-z])\]|[*†‡§¹²³⁴-⁹])"
YEAR = r"(?:19|20)\d\d"
# "—", "$—", "— %", "-0-", "nil"
_DASH = re.compile(rf"(?P<coin>[$€£¥])?\s*(?:[{_MINUS}]{{1,3}}|[{_MINUS}] ?0 ?[{_MINUS}]|nil)\s*"
                   rf"(?P<unit>%)?(?:\s*{MARK})*", re.I)
_EUROPEAN = r"\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}"  # "1.234,5"
_DIGITS = (r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|" + _EUROPEAN +
           r"|\d{1,3}(?:['’ ]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)")
_COIN = rf"(?:(?:US|CA?|A|HK)?[$€£¥]|{'|'.join(CURRENCIES)})"
# "$(24,690)", "(4 %)", "71.2 ± 0.3", "1,234 (1)", "5.0 years"; not "5 – 45 years", "12,34"
_NUMBER = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[{_MINUS}+~≈<>])?\s*(?P<coin>{_COIN})?\s*(?P<open2>\()?"
    rf"\s*(?P<sign2>[-\u2212])?(?P<digits>{_DIGITS})\s*(?P<unit1>%)?\s*(?P<close>\))?\s*"
    r"(?P<unit>%\)?|[×x]|basis points|bps|pts\.?|percent|years?|yrs?|months?|days?|hours?|shares?|"
    rf"thousand|million|billion|trillion|[€£])?(?:\s*±\s*{_DIGITS}%?)?"
    rf"(?:\s*{MARK})*", re.I)
_UNITS = {"%": "%", "percent": "%", "x": "times", "×": "times", "basis points": "basis points",
          "bps": "basis points", "pts": "percentage points"}


@dataclass(frozen=True)
class Reading:
    """What a cell's text says; `unit` and `scale` are set only if the cell itself prints them."""

    value: float | None
    unit: str
    scale: float


def read_value(text: str) -> Reading | None:
    """Return the number in `text`, or None if it is not a single number.

    Brackets make a number negative, and a dash is zero. "71.2 ± 0.3" is 71.2.
    """
    text = text.strip()
    if dash := _DASH.fullmatch(text):
        unit = "%" if dash["unit"] else COINS.get(dash["coin"] or "", "")
        return Reading(0.0, unit, 1.0 if unit == "%" else 0.0)
    match = _NUMBER.fullmatch(text)
    if not match:
        return None
    has_open = bool(match["open"] or match["open2"])
    has_close = bool(match["close"] or (match["unit"] or "").endswith(")"))
    if has_open != has_close:
        return None
    word = (match["unit"] or match["unit1"] or "").lower().rstrip(")").rstrip(".")
    has_minus = (match["sign2"] or match["sign"]) in _MINUSES
    value = _float(match["digits"]) * (-1 if has_open != has_minus else 1)
    unit, scale = _unit_word(word)
    return Reading(value, unit or COINS.get((match["coin"] or "").upper(), ""), scale)


def _float(digits: str) -> float:
    if digits.rfind(",") > digits.rfind(".") > 0 or digits.count(".") > 1:  # "1.234,5"
        return float(digits.replace(".", "").replace(",", "."))
    return float(digits.replace(",", "").replace("'", "").replace("’", "").replace(" ", ""))


def with_point(texts: Iterable[str]) -> dict[str, str]:
    """Return the numbers of a table with a decimal comma, written with a point.

    A table has a decimal comma if a number such as "1.234,5" shows it and none shows a point.
    "1.234" in it becomes "1234", and "12,5" becomes "12.5".
    """
    texts = set(texts)
    if not any(re.search(rf"(?<![\d.,])(?:{_EUROPEAN})(?![\d.])", text) for text in texts):
        return {}
    if any(re.search(r"\d,\d{3}(?:,\d{3}|\.\d)|\d\.\d{1,2}(?!\d)", text) for text in texts):
        return {}
    swapped = {text: re.sub(r"(?<=\d),(?=\d)", ".", re.sub(r"(?<=\d)\.(?=\d{3})", "", text))
               for text in texts if re.search(r"\d[.,]\d", text)}
    return {text: new for text, new in swapped.items() if is_number(new)}


def is_number(text: str) -> bool:
    """Return whether a cell holds a single number or a dash."""
    return read_value(text) is not None


def is_year(text: str) -> bool:
    """Return whether `text` is a year; years are headers more often than values."""
    return bool(re.fullmatch(rf"{YEAR}(?:\s*{MARK})?", text.strip(), re.I))


def _unit_word(word: str) -> tuple[str, float]:
    if word in SCALES:
        return "", SCALES[word]
    if word in _UNITS:
        return _UNITS[word], 1.0
    return COINS.get(word) or (word.rstrip("s").replace("yr", "year") + "s" if word else ""), 0.0
