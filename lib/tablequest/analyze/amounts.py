"""Read amounts as annual reports write them, with signs, currencies, scale words and percent."""

import re
import unicodedata
from fractions import Fraction
from typing import NamedTuple

MOST_DIGITS = 40  # a model that repeats itself writes thousands, which Python refuses to read
_SCALES = {"thousand": 10**3, "k": 10**3, "million": 10**6, "mn": 10**6, "mm": 10**6, "m": 10**6,
           "billion": 10**9, "bn": 10**9, "b": 10**9, "trillion": 10**12, "tn": 10**12}
_COINS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY"}
_CODES = {"dollars": "USD", "euros": "EUR"}

_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\.?\s+"
# "(from )5 to 1" is a span, not a ratio; "May 5" is a date; "minus 5", "-5", "($5", "$(5", "-$5"
_BEFORE = (rf"(?<![\w.,])(?P<span>(?<=from\s))?(?P<month>{_MONTH})?(?P<word>(?:minus|negative)\s+)?"
           r"(?P<sign>[-+](?=[\d.($€£¥UEGJ]))?(?P<outer>\(\s?)?(?P<sign2>[-+])?"
           r"(?P<coin>(?:US)?[$€£¥]|USD|EUR|GBP|JPY)?\s?(?P<inner>\(\s?)?(?P<sign3>[-+])?")
# "1,234.5", "1234", ".5"; not "1,23"
_DIGITS = r"(?P<digits>\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?P<close>\s?\))?"
# "5 million", "5-billion", "5bn", "5M"; not "5 m", "5m"
_SCALE = (r"(?:[ -]?(?P<scale>(?:thousand|million|billion|trillion)s?"
          r"|(?<![ -])(?:[bmt]n|mm|(?-i:[KMB])))(?![a-zA-Z]))?")
# "5%", "5 percentage points", "5 bps", "5 US dollars", "5x", "5:1", "5 to 1"; not "5:12", "5 to 1%"
_UNIT = (r"(?:\s?(?P<share>%|per\s?cent\b|percent(?:age)?(?:\s+points?)?\b|pp\b|ppts?\b)"
         r"|\s(?P<basis>basis\s+points|bps)\b"
         r"|\s(?:of\s+)?(?P<coined>USD|EUR|GBP|JPY|(?:U\.?S\.?\s+)?dollars|euros)\b"
         r"|(?P<times>\s?[x×](?!\w)|\stimes\b|\s?:\s?1(?![\w%]|[.,:]\d)"
         r"|(?(span)(?!)|\sto\s1(?!\s?[\w%]|[.,]\d))))?")
# "5)", "5 per share", "5/share"; no amount in "5-K", "5/6", "5.1.2"
_AFTER = (r"(?P<close2>\s?\))?(?:\s+(?:per|a)\s+(?:[a-z]+\s+)?share\b|/share\b)?"
          r"(?![\d%]|[-/:]?[A-Za-z]|[/:,.]\d)")
_AMOUNT = re.compile(_BEFORE + _DIGITS + _SCALE + _UNIT + _AFTER, re.I)
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_YEAR = re.compile(r"(?:19|20)\d\d|2100")
_PLAIN = str.maketrans({**dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
                        **dict.fromkeys("*`", " ")})


class Amount(NamedTuple):
    """A number in a text; `value` is in dollars, shares or percent, with sign and scale applied."""

    value: Fraction
    step: Fraction  # 1 in the last digit written, even if that is a whole number's trailing zero
    unit: str  # "USD", "EUR", "GBP", "JPY", "%" (also percentage points), "x" (4.62x, 4.62:1), ""
    scale: int  # 10**6 if "million" is written, …; 1 without a scale word
    n_digits: int  # number of significant digits
    is_year: bool  # four bare digits, 1900 to 2100
    text: str
    start: int
    end: int


def amounts(text: str) -> list[Amount]:
    """Return the amounts in `text`, in order; start and end count characters of `text` in NFKC.

    Brackets and "minus" make a number negative, except after another amount, as in "$5 million
    (12.4%)" and "7 minus 5". Days of a month, digits inside a longer word (10-K, Q4, 3.1.2) and
    numbers of more than MOST_DIGITS digits are left out.
    """
    found: list[Amount] = []
    text = unicodedata.normalize("NFKC", text).translate(_PLAIN)
    text = _DATE.sub(lambda date: "x" * len(date[0]), text)
    for match in _AMOUNT.finditer(text):
        if not match["month"] and len(match["digits"]) <= MOST_DIGITS:
            is_aside = bool(found) and not text[found[-1].end:match.start()].strip(" ,;:")
            found.append(_amount(match, is_aside))
    return found


def _amount(match: re.Match, is_aside: bool) -> Amount:
    digits = match["digits"].replace(",", "")
    has_brackets = bool((match["outer"] or match["inner"]) and (match["close"] or match["close2"]))
    has_minus = any(match[name] == "-" for name in ("sign", "sign2", "sign3"))
    has_minus = has_minus or bool(match["word"]) and not is_aside
    is_negative = has_minus or has_brackets and not (is_aside and match["outer"])
    name = re.sub(r"(?<=d|n)s$", "", (match["scale"] or "").lower())
    scale = _SCALES[name] if name else 1
    factor = Fraction(scale, 100 if match["basis"] else 1)
    unit = _unit(match)
    is_bare = not (unit or match["scale"] or has_brackets or has_minus)
    return Amount(
        value=(-1 if is_negative else 1) * Fraction(digits) * factor,
        step=Fraction(1, 10**len(digits.partition(".")[2])) * factor, unit=unit, scale=scale,
        n_digits=len(digits.replace(".", "").lstrip("0")) or 1,
        is_year=is_bare and bool(_YEAR.fullmatch(match["digits"])),
        text=match[0].strip(), start=match.start(), end=match.end())


def _unit(match: re.Match) -> str:
    if match["share"] or match["basis"]:
        return "%"
    if match["times"]:
        return "x"
    coin = (match["coin"] or "").upper()
    coined = (match["coined"] or "").split(" ")[-1]
    return _COINS.get(coin.removeprefix("US")) or coin or _CODES.get(coined.lower(), coined.upper())
