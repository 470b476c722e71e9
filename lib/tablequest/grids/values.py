"""Read a cell's number, sign and unit, with the help of the labels and notes around it."""

import re
from dataclasses import dataclass

SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
COINS = {"$": "USD", "US$": "USD", "C$": "CAD", "A$": "AUD", "€": "EUR", "£": "GBP", "¥": "JPY"}
# "per diluted share", "exercise price"; not "share of sales"
PER_SHARE = re.compile(
    r"\bper[- ](?:\w+[- ]){0,3}?(?:share|unit|rsu|adr)s?\b|"
    r"\b(?:exercise|grant|strike|stock|share|average) prices?\b|\bpar value\b|\bEPS\b|"
    r"\bweighted[- ]average grant[- ]date fair value\b", re.I)

_MINUS = "-\u2010-\u2015\u2212"
_MINUSES = frozenset("-\u2010\u2011\u2012\u2013\u2014\u2212")
_DASH = re.compile(rf"(?P<coin>[$€£¥])?\s*[{_MINUS}]+\s*(?P<unit>%)?")  # "—", "$—", "— %"
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
# "$(24,690)", "(4 %)", "71.2 ± 0.3", "1,234 (1)", "5.0 years"; not "5 – 45 years", "12,34"
_NUMBER = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[{_MINUS}+~≈<>])?\s*(?P<coin>(?:US|C|A)?[$€£¥])?\s*(?P<open2>\()?"
    rf"\s*(?P<sign2>[-\u2212])?(?P<digits>{_DIGITS})\s*(?P<unit1>%)?\s*(?P<close>\))?\s*"
    r"(?P<unit>%\)?|[×x]|basis points|bps|pts\.?|percent|years?|yrs?|months?|days?|hours?|shares?|"
    rf"thousand|million|billion|trillion)?(?:\s*±\s*{_DIGITS}%?)?"
    r"(?P<mark>(?:\s*\((?:\d{1,2}|[a-z])\)|\s*[*†‡]+)*)", re.I)
# "in millions", "of thousands", "$000's"; not "millions of homes"
_IN_SCALE = re.compile(r"\b(?:in|of|\$)\s*(thousand|million|billion|trillion)s?\b|"
                       r"\(?\$?000['’]?s?\b", re.I)
_SHARES = re.compile(r"\bshares?\b|\bunits?\b|\bRSUs?\b|\bstock data\b", re.I)
_AREA = re.compile(r"\bsquare (?:foot(?:age)?|feet|met(?:er|re)s)\b", re.I)
_IN_YEARS = re.compile(r"\((?:in )?(years?|months?|days?)\)|\bin (years|months|days)\b", re.I)
# "Number of RSUs", "Weighted-average basic shares"; not "Diluted earnings per share"
_IS_COUNT = re.compile(
    r"\b(?:number|amount) of (?:\w+ ){0,3}(?:shares|RSUs|units|awards|options)\b|"
    r"\bshares (?:used|outstanding)\b|\bweighted[- ]average (?:\w+[- ]){0,5}(?:shares|number)\b|"
    r"^(?!.*(?:earnings|income|loss|per share))"
    r".*(?:\bdilutive\b|\bdiluted (?:\w+ ){0,3}shares\b)", re.I)
_OF_MONEY = re.compile(r"\b(?:cost|value|price|proceeds|par)\b|\$", re.I)
_OWN_SCALE = ("%", "basis points", "percentage points", "times", "years", "months", "days",
              "hours")  # units that the table's scale does not change
_UNITS = {"%": "%", "percent": "%", "x": "times", "×": "times", "basis points": "basis points",
          "bps": "basis points", "pts": "percentage points"}


@dataclass(frozen=True)
class Reading:
    """What a cell's text says; `unit` and `scale` are set only if the cell itself prints them."""

    value: float | None
    unit: str
    scale: float


@dataclass(frozen=True)
class Note:
    """What a table's unit note says; a scale that the note does not give is None."""

    text: str
    money: float | None  # scale of amounts of money and of values without a unit
    shares: float | None
    area: float | None
    is_money: bool  # whether the note says dollars
    of_shares: bool = False  # whether the introduction mentions shares; without "$", these count


def read_value(text: str, dash_is_nil: bool = True) -> Reading | None:
    """Return the number in `text`, or None if it is not a single number.

    Brackets make a number negative, and a dash is zero if `dash_is_nil`. "71.2 ± 0.3" is 71.2.
    """
    text = text.strip()
    if dash := _DASH.fullmatch(text):
        unit = "%" if dash["unit"] else COINS.get(dash["coin"] or "", "")
        return Reading(0.0 if dash_is_nil else None, unit, 1.0 if unit == "%" else 0.0)
    match = _NUMBER.fullmatch(text)
    if not match:
        return None
    has_open = bool(match["open"] or match["open2"])
    has_close = bool(match["close"] or (match["unit"] or "").endswith(")"))
    if has_open != has_close:
        return None
    word = (match["unit"] or match["unit1"] or "").lower().rstrip(")").rstrip(".")
    has_minus = (match["sign2"] or match["sign"]) in _MINUSES
    value = float(match["digits"].replace(",", "")) * (-1 if has_open != has_minus else 1)
    unit, scale = _unit_word(word)
    return Reading(value, unit or COINS.get((match["coin"] or "").upper(), ""), scale)


def is_number(text: str) -> bool:
    """Return whether a cell holds a single number or a dash."""
    return read_value(text) is not None


def is_year(text: str) -> bool:
    """Return whether `text` is a year; years are headers more often than values."""
    return bool(re.fullmatch(r"(?:19|20)\d\d", re.sub(r"\s*\(\w{1,2}\)$", "", text.strip())))


def read_note(text: str) -> Note:
    """Read a unit note, such as "(in millions, except shares, which are in thousands, and …)"."""
    found = {"money": None, "shares": None, "area": None}
    end = 0
    for match in _IN_SCALE.finditer(text):
        before = text[end:match.start()]
        what = "shares" if _SHARES.search(before) else "area" if _AREA.search(before) else "money"
        found[what] = found[what] or SCALES.get((match[1] or "thousand").lower())
        end = match.end()
    excepted = r"except (?:for )?(?:number of )?shares?\b(?! price)"
    if found["shares"] is None and re.search(excepted, text, re.I):
        found["shares"] = 1.0
    is_money = bool(re.search(r"\bdollars?\b|\$|\bU\.?S\.?D\b", text, re.I))
    return Note(text, **found, is_money=is_money)


def unit_note_in(text: str, anywhere: bool = False) -> str:
    """Return a bracket such as "(in millions)", or with `anywhere` the whole text, or ""."""
    for bracket in re.findall(r"\([^()]*\)", text):
        if _IN_SCALE.search(bracket) and len(bracket) < 250:
            return bracket
    return text if anywhere and len(text) < 150 and _IN_SCALE.search(text) else ""


def unit_and_scale(reading: Reading, row: str, column: str, marks: tuple[str, str, str],
                   note: Note) -> tuple[str, float]:
    """Return unit and scale from a value's own marks, labels, neighbours and the unit note.

    `marks` are the units ("USD", "%", "mixed" or "") printed elsewhere in the value's row (if its
    column has several units), its column and the table. Filings print "$" only in a column's first
    and last row.
    """
    own = read_note(" ".join(unit_note_in(label) for label in (row, column)))
    unit = reading.unit or _unit_by_labels(row, column, marks, note, own)
    if unit in _OWN_SCALE:
        return unit, 1.0
    if reading.scale > 1:
        return unit, reading.scale
    if unit in COINS.values() and PER_SHARE.search(f"{row} | {column}") and not _only_par(row):
        return f"{unit}/share", 1.0
    if unit == "shares":
        return unit, own.shares or own.money or note.shares or note.money or 1.0
    if unit.startswith("square"):
        return unit, own.area or own.money or note.area or note.money or 1.0
    return unit, own.money or own.shares or note.money or 1.0


def _unit_by_labels(row: str, column: str, marks: tuple[str, str, str], note: Note,
                    own: Note) -> str:
    in_row, in_column, in_table = marks
    coin = in_table if in_table in COINS.values() else "USD"
    if years := _IN_YEARS.search(column) or _IN_YEARS.search(row):
        return (years[1] or years[2]).lower().rstrip("s") + "s"
    if _counts_shares(column) or _counts_shares(row) and in_row not in COINS.values():
        return "shares"
    if re.match(r"(?:total )?number of\b", column, re.I):
        return ""
    if in_column not in ("", "mixed"):
        return in_column
    if in_row not in ("", "mixed"):
        return in_row
    if re.search(r"%|\bpercent", column, re.I):
        return "%"
    if area := _AREA.search(f"{column} | {row}"):
        return "square meters" if "met" in area[0].lower() else "square feet"
    if note.shares and not note.money:
        return "shares"
    if own.money and not own.is_money and in_column == "mixed":
        return ""  # "Customer transactions (in millions)" among rates and prices
    return coin if note.is_money or note.money and in_table in COINS.values() else ""


def _counts_shares(label: str) -> bool:
    return bool(_IS_COUNT.search(label)) and not _OF_MONEY.search(label)


def _only_par(row: str) -> bool:
    """Return whether a balance sheet's row gives the stock's total and only mentions par value."""
    return bool(re.search(r"\bpar value\b", row, re.I)
                and re.search(r"\b(?:issued|authorized)\b", row, re.I))


def _unit_word(word: str) -> tuple[str, float]:
    if word in SCALES:
        return "", SCALES[word]
    if word in _UNITS:
        return _UNITS[word], 1.0
    return (word.rstrip("s").replace("yr", "year") + "s" if word else ""), 0.0
