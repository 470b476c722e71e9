"""Amounts in a text as annual reports write them: signs, brackets, currencies, scale words, percent, per share."""

import re
import unicodedata
from fractions import Fraction
from typing import NamedTuple

MOST_DIGITS = 40  # a model that repeats itself writes thousands, which Python refuses to read as a number
_SCALES = {"thousand": 10**3, "k": 10**3, "million": 10**6, "mn": 10**6, "mm": 10**6, "m": 10**6,
           "billion": 10**9, "bn": 10**9, "b": 10**9, "trillion": 10**12, "tn": 10**12}
_COINS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY"}
_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\.?\s+"
_AMOUNT = re.compile(
    rf"(?<![\w.,])(?P<span>(?<=from\s))?(?P<month>{_MONTH})?(?P<word>(?:minus|negative)\s+)?"
    r"(?P<sign>[-+](?=[\d.($€£¥UEGJ]))?(?P<outer>\(\s?)?(?P<sign2>[-+])?"
    r"(?P<coin>(?:US)?[$€£¥]|USD|EUR|GBP|JPY)?\s?(?P<inner>\(\s?)?(?P<sign3>[-+])?"
    r"(?P<digits>\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?P<close>\s?\))?"
    r"(?:[ -]?(?P<scale>(?:thousand|million|billion|trillion)s?|(?<![ -])(?:[bmt]n|mm|(?-i:[KMB])))(?![a-zA-Z]))?"
    r"(?:\s?(?P<share>%|per\s?cent\b|percent(?:age)?(?:\s+points?)?\b|pp\b|ppts?\b)"
    r"|\s(?P<basis>basis\s+points|bps)\b|\s(?:of\s+)?(?P<coined>USD|EUR|GBP|JPY|(?:U\.?S\.?\s+)?dollars|euros)\b"
    r"|(?P<times>\s?[x×](?!\w)|\stimes\b|\s?:\s?1(?![\w%]|[.,:]\d)|(?(span)(?!)|\sto\s1(?!\s?[\w%]|[.,]\d))))?"
    r"(?P<close2>\s?\))?(?:\s+(?:per|a)\s+(?:[a-z]+\s+)?share\b|/share\b)?(?![\d%]|[-/:]?[A-Za-z]|[/:,.]\d)", re.I)
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_PLAIN = str.maketrans({**dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"), **dict.fromkeys("*`", " ")})
_CODES = {"dollars": "USD", "euros": "EUR"}


class Amount(NamedTuple):
    """One number of a text. `value` counts dollars, shares or percent, with `scale` taken in; sign included."""

    value: Fraction
    step: Fraction  # what 1 in the last written digit stands for; trailing zeros of a whole number count as written
    unit: str  # "USD", "EUR", "GBP", "JPY", "%" (percentage points too), "x" (4.62x, 4.62:1), "" where none is given
    scale: int  # 10**6 where "million" is written, else 1
    n_digits: int  # significant ones
    is_year: bool  # four bare digits, 1900 to 2100
    text: str
    start: int
    end: int


def amounts(text: str) -> list[Amount]:
    """The amounts of `text` in order; start and end count characters of `text` in NFKC.

    Brackets and "minus" mean a negative number, but where they stand behind another amount: "$5 million (12.4%)",
    "7 minus 5". Days of a month are none, nor digits inside a longer word (10-K, Q4, 3.1.2), nor more than MOST_DIGITS
    on end.
    """
    found: list[Amount] = []
    text = _DATE.sub(lambda date: "x" * len(date[0]), unicodedata.normalize("NFKC", text).translate(_PLAIN))
    for match in _AMOUNT.finditer(text):
        if not match["month"] and len(match["digits"]) <= MOST_DIGITS:
            is_aside = bool(found) and not text[found[-1].end:match.start()].strip(" ,;:")
            found.append(_amount(match, is_aside))
    return found


def _amount(match: re.Match, is_aside: bool) -> Amount:
    digits = match["digits"].replace(",", "")
    has_brackets = bool((match["outer"] or match["inner"]) and (match["close"] or match["close2"]))
    minus = any(match[name] == "-" for name in ("sign", "sign2", "sign3"))
    minus = minus or bool(match["word"]) and not is_aside
    sign = -1 if minus or has_brackets and not (is_aside and match["outer"]) else 1
    scale = _SCALES[re.sub(r"(?<=d|n)s$", "", match["scale"].lower())] if match["scale"] else 1
    factor = Fraction(scale, 100 if match["basis"] else 1)
    decimals = len(digits.partition(".")[2])
    coin = (match["coin"] or "").upper()
    coined = (match["coined"] or "").split(" ")[-1]
    unit = ("%" if match["share"] or match["basis"] else "x" if match["times"] else
            _COINS.get(coin.removeprefix("US")) or coin or _CODES.get(coined.lower(), coined.upper()))
    is_bare = not (unit or match["scale"] or has_brackets or minus)
    return Amount(sign * Fraction(digits) * factor, Fraction(1, 10**decimals) * factor, unit, scale,
                  len(digits.replace(".", "").lstrip("0")) or 1,
                  is_bare and bool(re.fullmatch(r"(?:19|20)\d\d|2100", match["digits"])), match[0].strip(),
                  match.start(), match.end())
