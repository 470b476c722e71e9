"""Read amounts as annual reports write them, with signs, currencies, scale words and percent."""

import re
import unicodedata
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

MOST_DIGITS = 40  # a model that repeats itself writes thousands, which Python refuses to read
SCALES = {"thousand": 10**3, "k": 10**3, "million": 10**6, "mln": 10**6, "mn": 10**6, "mm": 10**6,
          "m": 10**6, "billion": 10**9, "bln": 10**9, "bn": 10**9, "b": 10**9,
          "trillion": 10**12, "tn": 10**12}
_COINS = {"$": "USD", "US$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "C$": "CAD",
          "CA$": "CAD", "A$": "AUD", "AU$": "AUD", "HK$": "HKD", "NZ$": "NZD", "S$": "SGD",
          "NT$": "TWD", "R$": "BRL", "CENTS": "USD", "DOLLARS": "USD", "EUROS": "EUR",
          "POUNDS STERLING": "GBP", "YEN": "JPY", "RUPEES": "INR", "YUAN": "CNY", "RMB": "CNY",
          "FRANCS": "CHF", "CANADIAN DOLLARS": "CAD", "AUSTRALIAN DOLLARS": "AUD"}
# Codes that are no English words may be in lower case.
_CODE = (r"USD|EUR|GBP|JPY|(?-i:CHF|CAD|AUD|NZD|HKD|SGD|TWD|CNY|RMB|INR|KRW|SEK|NOK|DKK|BRL|MXN|ZAR"
         r"|PLN|CZK|HUF|ILS|TRY)\b")

_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\.?\s+"
# after these, a whole number's zeros at the end are rounding: "about 391,000"
_ABOUT = (r"(?:about|approximately|approx\.?|around|roughly|circa|ca\.|some|nearly|almost|close to"
          r"|more than|over)\s+|~\s?")
# "(from )5 to 1" is a span, not a ratio; "May 5" is a date; "minus 5", "-5", "($5", "$(5", "-$5"
_BEFORE = (rf"(?<![\w.,])(?P<span>(?<=from\s))?(?P<month>{_MONTH})?(?P<about>{_ABOUT})?"
           r"(?P<word>(?:minus|negative)\s+)?(?P<sign>[-+](?=\S))?(?P<outer>\(\s?)?(?P<sign2>[-+])?"
           rf"(?P<coin>(?:US|CA?|AU?|HK|NZ|NT|S|R)?\$|[€£¥₹]|{_CODE})?\s?(?P<inner>\(\s?)?"
           r"(?P<sign3>[-+])?")
_PERCENT = r"%|per\s?cent\b|percent(?:age)?(?:\s+points?)?\b|pp\b|ppts?\b|pts?\b|points?\b"
_WORDS = r"(?:thousand|million|billion|trillion)s?|[bmt]n|[mb]ln"
# "1,234.5", "1 234,5", "1'234.5", "1.234,5", "1.234.567", "1,23,456", "2,5%", "1234", ".5"; "1,23"
# alone is none of these
_DIGITS = (r"(?P<digits>\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d{1,3}(?:[ '’]\d{3})+(?!\d)(?:[.,]\d+)?"
           r"|\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}(?![.,]?\d)|\d{1,2}(?:,\d\d)+,\d{3}(?!\d)"
           rf"|\d+,\d\d?(?=\s?(?:{_PERCENT}|{_WORDS}|[€$£]))|\d+(?:\.\d+)?|\.\d+)"
           r"(?P<close>\s?\))?")
# "5 million", "5-billion", "5 bn", "5M", "5m", "USD 5 m"; not "5 m"
_SCALE = (rf"(?:[ -]?(?P<scale>{_WORDS}|(?<![ -])(?:mm|(?-i:[KMBkm]))|(?-i:MM)"
          r"|(?(coin)(?-i:[KMBm])|(?!)))(?![a-zA-Z]))?")
# "5%", "5 percentage points", "5 bps", "5 US dollars", "5x", "5:1", "5 to 1"; not "5:12", "5 to 1%"
_UNIT = (rf"(?:\s?(?P<share>{_PERCENT})|\s(?P<basis>basis\s+points|bps)\b"
         rf"|\s(?:of\s+)?(?P<coined>{_CODE}|(?:U\.?S\.?\s+|(?P<land>Canadian\s+|Australian\s+))?"
         r"dollars\b|euros\b|yen\b|rupees\b|yuan\b|pounds\s+sterling\b|cents\b|[€£])"
         r"|(?P<times>\s?[x×](?!\w|\s?[\d(])|\stimes\b(?!\s?\d)|\s?:\s?1(?![\w%]|[.,:]\d)"
         r"|(?(span)(?!)|\sto\s1(?!\s?[\w%]|[.,]\d))))?")
# "5)", "5 per share", "5/share"; no amount in "5-K", "5/6", "5.1.2"
_AFTER = (r"(?P<close2>\s?\))?(?P<per>\s+(?:per|a)\s+(?:[a-z]+\s+)?share\b|/share\b)?"
          r"(?![\d%]|[-/:]?[A-Za-z]|[/:,.]\d)")
_AMOUNT = re.compile(_BEFORE + _DIGITS + _SCALE + _UNIT + _AFTER, re.I)
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_SPELLED = re.compile(r"\b(?:percent|(?:thou|mill|bill)\w+|dollars|euros) \Z")  # "two percent (2%)"
_ENDLESS = re.compile(rf"(?:\d[,.]?){{{MOST_DIGITS},}}")
_YEAR = re.compile(r"(?:19|20)\d\d|2100")
_PLAIN = str.maketrans({**dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
                        **dict.fromkeys("*`", " ")})
# LaTeX, in which models write calculations; "*", "/" and "x" between numbers get spaces
_LATEX = ((re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}"), r"(\1) / (\2)"),
          (re.compile(r"\\(?:text|mathrm|mathbf|boxed)\s*\{([^{}]*)\}"), r"\1"),
          (re.compile(r"\\(?:times|cdot)"), "×"), (re.compile(r"\\div"), "÷"),
          (re.compile(r"\\approx"), "≈"), (re.compile(r"\\([%$])"), r"\1"),
          (re.compile(r"\\[()\[\],;!]|\\(?:left|right|quad)|\{,\}(?=\d)"),
           lambda found: "," if found[0] == "{,}" else " "),
          (re.compile(r"(?<=[\d)%])(\s?)[*xX]\1(?=[\d($])"), " × "),
          (re.compile(r"(?<=[\d)%])\s?([/÷])\s?(?=[\d($€£])"), r" \1 "))


class Amount(NamedTuple):
    """A number in a text; `value` is in dollars, shares or percent, with sign and scale applied."""

    value: Fraction
    step: Fraction  # 1 in the last digit written; after "about", in the last that is not 0
    unit: str  # "USD", "EUR", …, "%" (also percentage points), "x" (4.62x, 4.62:1), ""
    scale: int  # 10**6 if "million" is written, …; 1 without a scale word
    n_digits: int  # number of significant digits
    is_year: bool  # four bare digits, 1900 to 2100
    is_per_share: bool
    text: str
    start: int
    end: int


@lru_cache(16)  # a rule reads the same answer many times
def plain(text: str) -> str:
    """Return `text` in NFKC with one dash, without Markdown's marks, and with LaTeX spelled out."""
    text = unicodedata.normalize("NFKC", text)
    for pattern, replacement in _LATEX:
        text = pattern.sub(replacement, text)
    text = text.translate(_PLAIN)
    return _DATE.sub(lambda date: "x" * len(date[0]), text)


def without_endless(text: str) -> str:
    """Put a word in place of each number with too many digits to read."""
    return _ENDLESS.sub(" endless ", text)


def amounts(text: str) -> list[Amount]:
    """Return the amounts in `text`, in order; start and end count characters of `plain(text)`.

    Brackets and "minus" make a number negative, except after another amount, as in "$5 million
    (12.4%)" and "7 minus 5". Days of a month, digits inside a longer word (10-K, Q4, 3.1.2) and
    numbers of more than MOST_DIGITS digits are left out.
    """
    found: list[Amount] = []
    text = plain(text)
    for match in _AMOUNT.finditer(text):
        if not match["month"] and len(match["digits"]) <= MOST_DIGITS:
            start = match.start()
            is_aside = bool(found) and not text[found[-1].end:start].strip(" ,;:")
            is_aside = is_aside or bool(_SPELLED.search(text[max(0, start - 20):start]))
            found.append(_amount(match, is_aside))
    return found


def _amount(match: re.Match, is_aside: bool) -> Amount:
    digits = _decimal(match["digits"])
    has_brackets = bool((match["outer"] or match["inner"]) and (match["close"] or match["close2"]))
    has_minus = any(match[name] == "-" for name in ("sign", "sign2", "sign3"))
    has_minus = has_minus or bool(match["word"]) and not is_aside
    is_negative = has_minus or has_brackets and not (is_aside and match["outer"])
    name = re.sub(r"(?<=d|n)s$", "", (match["scale"] or "").lower())
    scale = SCALES[name] if name else 1
    is_cents = (match["coined"] or "").lower() == "cents"
    factor, unit = Fraction(scale, 100 if match["basis"] or is_cents else 1), _unit(match)
    is_bare = not (unit or match["scale"] or has_brackets or has_minus)
    zeros = len(digits) - len(digits.rstrip("0")) if match["about"] and "." not in digits else 0
    step = Fraction(10**zeros, 10**len(digits.partition(".")[2])) * factor
    return Amount(
        value=(-1 if is_negative else 1) * Fraction(digits) * factor, step=step, unit=unit,
        scale=scale, n_digits=len(digits.replace(".", "").lstrip("0")) - zeros or 1,
        is_year=is_bare and bool(_YEAR.fullmatch(match["digits"])),
        is_per_share=bool(match["per"]), text=match[0].strip(), start=match.start(),
        end=match.end())


def _decimal(digits: str) -> str:
    """Return digits as Python writes them: without separators, with a full stop for decimals.

    A comma is decimal after another separator, or before other than three digits.
    """
    digits, is_mixed = re.sub(r"[ '’]", "", digits), bool(re.search(r"[ '’]|\.\d+,", digits))
    if is_mixed and "," in digits or re.fullmatch(r"\d+,\d\d?", digits):
        return digits.replace(".", "").replace(",", ".")
    return (digits.replace(".", "") if digits.count(".") > 1 else digits).replace(",", "")


def _unit(match: re.Match) -> str:
    if match["share"] or match["basis"]:
        return "%"
    if match["times"]:
        return "x"
    coin = " ".join((match["coin"] or match["coined"] or "").upper().split())
    coin = re.sub(r"^U\.?S\.? ", "", coin)
    return _COINS.get(coin, coin)
