"""Read the numbers that a filing tags in inline XBRL (specification 1.1): value, unit, period."""

import re
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction

from lxml.html import HtmlElement

FACT = "ix:nonfraction"  # the parser of HTML folds the names of tags and attributes
# Transformations (registries 1 to 5) by how they print decimals; others print 1234.5.
_COMMA_DECIMAL = re.compile(r"numcommadecimal(?:apos)?|numdotcomma|numspacecomma|numcomma")
_ZERO = ("fixedzero", "zerodash", "numdash", "fixedempty", "nocontent")
# Short names of the unit registry (utr), and what readers call them.
_MEASURES = {"shares": "shares", "pure": "", "sqft": "square feet", "sqm": "square meters",
             "mi": "miles", "km": "kilometers", "bbl": "barrels", "t": "metric tons",
             "boe": "barrels of oil equivalent", "mwh": "megawatt hours", "mw": "megawatts",
             "gal": "gallons", "y": "years", "m": "months", "d": "days", "h": "hours"}


@dataclass(frozen=True)
class Fact:
    """A tagged number: `value` × 10^`power` in `unit`, negative if `is_negative`."""

    concept: str  # "us-gaap:Assets"
    value: float  # as printed, never negative
    power: int
    is_negative: bool  # the sign of the concept: an outflow in brackets may be positive
    unit: str | None  # "USD", "USD/share", "shares", …; "" for a pure number; None if not defined
    start: date | None  # the first and the last day; equal for an instant
    end: date | None

    @property
    def exact(self) -> Fraction:
        """Return the number in whole units, without its sign."""
        return Fraction(str(self.value)) * Fraction(10) ** self.power

    @property
    def period(self) -> str:
        """Return the period in ISO 8601, such as "2030-01-01/2030-12-31"; "" if not defined."""
        if self.end is None:
            return ""
        return self.end.isoformat() if self.start == self.end else f"{self.start}/{self.end}"


@dataclass(frozen=True)
class Facts:
    """The units and the periods that a filing's tags name."""

    units: dict[str, str] = field(default_factory=dict)  # unitRef -> unit
    contexts: dict[str, tuple[date, date]] = field(default_factory=dict)

    def of(self, tag: HtmlElement) -> Fact | None:
        """Return the number of an ix:nonFraction element, or None if its text is not a number."""
        value = _number(" ".join("".join(tag.itertext()).split()), tag.get("format") or "")
        power = (tag.get("scale") or "0").strip()
        if value is None or not re.fullmatch(r"[+-]?\d{1,2}", power):
            return None
        start, end = self.contexts.get(tag.get("contextref") or "", (None, None))
        return Fact(tag.get("name") or "", value, int(power), tag.get("sign") == "-",
                    self.units.get(tag.get("unitref") or ""), start, end)


def facts_of(root: HtmlElement) -> Facts:
    """Read the units and contexts in the hidden header of a filing."""
    units, contexts = {}, {}
    for element in (one for header in root.iter("ix:header") for one in header.iter()):
        kind = _local(element)
        if kind == "unit":
            units[element.get("id") or ""] = _unit(element)
        elif kind == "context" and (days := _days(element)):
            contexts[element.get("id") or ""] = days
    return Facts(units, contexts)


def _local(element: HtmlElement) -> str:
    """Return a tag's name without its prefix, which filings choose."""
    return element.tag.rpartition(":")[2] if isinstance(element.tag, str) else ""


def _days(context: HtmlElement) -> tuple[date, date] | None:
    days = {_local(element): "".join(element.itertext()).strip()[:10]
            for element in context.iter()}
    end = days.get("enddate") or days.get("instant") or ""
    try:
        return date.fromisoformat(days.get("startdate") or end), date.fromisoformat(end)
    except ValueError:
        return None


def _unit(unit: HtmlElement) -> str:
    """Return measures multiplied, and divided as in "USD/share"."""
    below = [element for element in unit.iter() if _local(element) == "unitdenominator"]
    parts: tuple[list[str], list[str]] = ([], [])
    for element in unit.iter():
        if _local(element) == "measure":
            is_below = any(outer in below for outer in element.iterancestors())
            prefix, _, name = "".join(element.itertext()).strip().rpartition(":")
            parts[is_below].append(_measure(prefix.lower(), name, is_one=is_below))
    above, divisor = (" ".join(filter(None, names)) for names in parts)
    return f"{above}/{divisor}" if divisor else above


def _measure(prefix: str, name: str, is_one: bool) -> str:
    """Return a unit as a reader names it: a currency's code, or a noun, plural unless `is_one`."""
    if prefix == "iso4217":
        return name.upper()
    if prefix in ("xbrli", "utr") and name.lower() in _MEASURES:
        noun = _MEASURES[name.lower()]
        return re.sub(r"s\b", "", noun, count=1) if is_one else noun
    split = re.sub(r"(?<=[a-z])(?=[A-Z])|[_-]+", " ", name).strip()
    noun = " ".join(word if word.isupper() else word.lower() for word in split.split())
    if is_one or not noun or noun.endswith("s") and not noun.endswith("ss"):
        return noun
    if re.search(r"[^aeiou]y$", noun):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if re.search(r"(?:s|x|ch|sh)$", noun) else f"{noun}s"


def _number(text: str, form: str) -> float | None:
    """Return the number that a tag's text prints under its transformation, never negative."""
    form = form.rpartition(":")[2].replace("-", "").lower()
    if form in _ZERO:
        return 0.0
    if _COMMA_DECIMAL.fullmatch(form):
        text = text.replace(".", "").replace(",", ".")
    digits = re.sub(r"[^\d.]", "", text)
    if re.fullmatch(r"\d+\.?\d*|\.\d+", digits):
        return float(digits)
    # A tag marked nil prints a dash, which a reader takes for zero.
    return None if re.search(r"\w", text) else 0.0
