"""Word amounts, periods and labels for questions and answers.

Examples are "$383,285 million", "millions of euros" and "for the year ended September 28, 2024".
"""

import re
from calendar import month_name
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from lib.tasks.tablequest.records import Cell

POINTS = "percentage points"  # the unit of a difference of two percentages
_SCALES = {1.0: "", 1e3: "thousand", 1e6: "million", 1e9: "billion"}
_COINS = {"USD": ("$", "US dollars"), "EUR": ("€", "euros"), "GBP": ("£", "pounds sterling"),
          "JPY": ("¥", "yen")}

_MONTHS = month_name[1:]
_MONTH = "|".join([*_MONTHS, *(rf"{name[:3]}\b\.?" for name in _MONTHS), r"Sept\b\.?"])
_QUARTERS = ("first", "second", "third", "fourth")
# "fiscal year 2024", "September 28, 2024", "Dec.31, 2024", "fourth quarter of 2024", "2024"
_DATE = re.compile(
    rf"(?:(?P<quarter>\bQ[1-4]|\b(?:{'|'.join(_QUARTERS)})\s+quarter)(?:\s+of)?[\s,]+)?"
    rf"(?P<fiscal>\bfiscal\s+(?:year\s+)?|\bFY\s*)?"
    rf"(?:\b(?P<month>{_MONTH})\s*(?:(?P<day>\d{{1,2}}),?\s+)?)?"
    r"(?:\b|(?<=FY))(?P<year>(?:19|20)\d\d)\b", re.I)
_NUMERIC = re.compile(r"\b(\d{1,2})/(\d{1,2})/((?:19|20)\d\d)\b")  # month first, as in the US
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
# "for the years ended", "three months ended", "fifty-two weeks ending"; not "ended 2024"
_ENDED = re.compile(r"\b(?:for\s+the\s+)?((?:fiscal\s+)?(?:years?|quarters?)"
                    r"|[\w-]+\s+(?:months?|weeks?))\s+(ended|ending)\b", re.I)
_EDGE = r"(?:\bas\s+of\b|\bat\b|\bfor\b|\bin\b|\bthe\b|\bfiscal\b|\byears?\b|\bof\b|[\s:,;|/–—-])+"
_NOTE_MARK = re.compile(  # "Sales (1)(a)", "Rate (a/b)", "Sales (Note 8)", "Sales [b]*"
    r"(?:\s*(?:\((?:\d{1,2}|[a-z](?:\s?[-+/x×]\s?[a-z])*|(?:see )?notes? [\d, and]+)\)"
    r"|\[(?:\d{1,2}|[a-z])\]|[*†‡§]))+$", re.I)
# "(in millions)", "($ in millions, except per share data)", "(unaudited)", "($)"; not "(loss)"
UNIT_NOTE = re.compile(
    r"\s*\((?:[^()]*\b(?:millions?|thousands?|billions?|dollars?|except|unaudited|per share"
    r"|years|percent(?:ages?)?|000s?|in \$)\b[^()]*|[\s$€£¥%]+)\)", re.I)


def rounded(value: float, decimals: int) -> Decimal:
    """Round to `decimals` places, halves away from zero as accountants do; never to minus zero."""
    exact = Decimal(repr(round(value, decimals + 9)))  # 2.675, not 2.67499999
    result = exact.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    return result if result else abs(result)


def amount(value: float, unit: str, scale: float, decimals: int) -> str:
    """Return a rounded amount, as in "-$24,690 million", "12.4%" or "15,408 thousand shares"."""
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
    """Return the answer's unit as a question names it, such as "millions of US dollars", or ""."""
    coin, _, per = unit.partition("/")
    named = "percent" if unit == "%" else _COINS[coin][1] if coin in _COINS else coin
    many = "" if scale == 1 else f"units of {scale:,.0f}"
    if _SCALES.get(scale):
        many = f"{_SCALES[scale]}s"
    return " of ".join(filter(None, (many, named))) + (f" per {per}" if per else "")


def decimals_of(*cells: Cell) -> int:
    """Return the number of decimal places of the most exact of `cells`, as printed."""
    printed = [re.search(r"\d\.(\d+)", cell.text) for cell in cells]
    return max(len(match[1]) if match else 0 for match in printed)


@dataclass(frozen=True)
class Period:
    """The time that a column refers to."""

    name: str  # "2024", "fiscal 2024", "February 2, 2025", "the year ended September 28, 2024"
    order: tuple[int, int, int]  # year, month, day; 0 if not given
    measure: str  # the rest of the column's label, such as "Net Sales"; "" if it is only a time
    span: str = ""  # "year", "three months", "fourth quarter"; "" if not given, as of a day

    @property
    def phrase(self) -> str:
        """Return the time with its preposition: "in 2024", "as of February 2, 2025", …"""
        if self.name.startswith("the end "):
            return f"at {self.name}"
        if self.name.startswith("the "):
            return f"{'in' if 'quarter of' in self.name else 'for'} {self.name}"
        return f"as of {self.name}" if self.order[2] else f"in {self.name}"

    @property
    def during(self) -> str:
        """Return the time as that of a change: "in 2024", "by February 2, 2025"."""
        return f"by {self.name}" if self.phrase.startswith(("as of", "at ")) else f"in {self.name}"

    @property
    def form(self) -> tuple:
        """Return what two periods must share to be compared: the parts of the date and the span."""
        return tuple(map(bool, self.order)), self.span, self.name.startswith("fiscal")

    def may_be(self, other: "Period") -> bool:
        """Return whether two names may mean one time, as "2024" and "December 31, 2024" may."""
        is_same = all(one == two or not (one and two)
                      for one, two in zip(self.order, other.order, strict=True))
        return is_same and (self.span == other.span or not (self.span and other.span))


def period_of(column: str) -> Period | None:
    """Return the only time that a column's label names; None if it names none or several."""
    column = _NUMERIC.sub(_written_out, UNIT_NOTE.sub(" ", column))
    dates = list(_DATE.finditer(column))
    if len(dates) != 1 or len(_YEAR.findall(column)) > 1:
        return None
    found, ended = dates[0], _ENDED.search(column)
    month = 1 + next(number for number, name in enumerate(_MONTHS) if name.lower().startswith(
        found["month"].lower().strip(".")[:3])) if found["month"] else 0
    order = (int(found["year"]), month, int(found["day"] or 0))
    rest = column[:found.start()] + " " + column[found.end():]
    day = f" {order[2]}," if order[2] else ""
    name = f"{_MONTHS[month - 1]}{day} {found['year']}" if month else found["year"]
    is_fiscal = bool(found["fiscal"] or re.search(r"\bfiscal\b", rest, re.I))
    is_quarter = bool(found["quarter"])
    span = ""
    if is_quarter:
        quarter = found["quarter"].lower()
        span = f"{_QUARTERS[int(quarter[1]) - 1] if quarter[1].isdigit() else quarter.split()[0]}"
        span, name = f"{span} quarter", f"{'fiscal ' * is_fiscal}{name}"
        name = f"the {span} of {name}"
    elif ended and month:
        span = " ".join(ended[1].lower().split())
        span = span.removesuffix("s") if re.search("years|quarters", span) else span
        name = f"the {span} {ended[2].lower()} {name}"
    elif is_fiscal and not month:
        name = f"fiscal {name}"
    measure = re.sub(rf"^{_EDGE}|{_EDGE}$", "", label_of(_ENDED.sub(" ", rest)), flags=re.I)
    return Period(name, order, label_of(measure) if re.search(r"[^\W_]|%", measure) else "", span)


def _written_out(date: re.Match) -> str:
    month = int(date[1])
    return f"{_MONTHS[month - 1]} {date[2]}, {date[3]}" if 1 <= month <= 12 else date[0]


def label_of(text: str) -> str:
    """Return a label without footnote marks, line breaks and a final colon."""
    text = re.sub(r"(?:\s*\.){3,}\s*$", "", " ".join(text.split()))  # dotted leaders
    return _NOTE_MARK.sub("", UNIT_NOTE.sub("", text)).strip(" :;,")


def folded(text: str) -> str:
    """Return the letters and digits of a label in lower case, the form for comparing labels."""
    return " ".join(re.findall(r"[^\W_]+|%", text.lower()))
