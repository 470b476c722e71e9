"""Numbers that a filing tags in inline XBRL (specification 1.1): value, unit, scale, period."""

import re
from datetime import date
from typing import NamedTuple

from lxml.html import HtmlElement

from lib.tasks.tablequest.records import Cell

FACT = "ix:nonfraction"  # the parser of HTML folds the names of tags and attributes
# Transformations (registries 1 to 5) by how they print decimals; others print 1234.5.
_COMMA_DECIMAL = re.compile(r"numcommadecimal(?:apos)?|numdotcomma|numspacecomma|numcomma")
_ZERO = ("fixedzero", "zerodash", "numdash", "fixedempty", "nocontent")
_SHARE_OF_ONE = {-2: ("%", 1.0), -4: ("basis points", 1.0)}  # by the power of a pure number's tag


class Fact(NamedTuple):
    """A tagged number: `value` × `scale` in `unit`, negative if `is_negative`."""

    concept: str  # "us-gaap:Assets"
    value: float  # as printed, never negative
    unit: str  # "USD", "USD/share", "shares", "%", …; "" for a pure number
    scale: float
    is_negative: bool  # the sign of the concept: an outflow in brackets may be positive
    period: str  # "2030-12-31", "2030-01-01/2030-12-31"; "" if not defined

    def cell(self, text: str, is_inverted: bool) -> Cell:
        """Return the cell that prints it; its row may print the concept with the other sign."""
        value = -self.value if self.value and self.is_negative != is_inverted else self.value
        return Cell(text=text, value=value, unit=self.unit, scale=self.scale, period=self.period,
                    source="tag")


class Facts:
    """The units and the periods that a filing's tags name, from its hidden header."""

    def __init__(self, root: HtmlElement) -> None:
        self.units: dict[str, str] = {}
        self.periods: dict[str, str] = {}
        for element in (one for header in root.iter("ix:header") for one in header.iter()):
            kind = _local(element)
            if kind == "unit":
                self.units[element.get("id") or ""] = _unit(element)
            elif kind == "context":
                self.periods[element.get("id") or ""] = _period(element)

    def of(self, tag: HtmlElement) -> Fact | None:
        """Return the number of an ix:nonFraction element, or None if its text is not a number."""
        text = " ".join("".join(tag.itertext()).split())
        value, power = _number(text, tag.get("format") or ""), (tag.get("scale") or "0").strip()
        if value is None or not re.fullmatch(r"[+-]?\d{1,2}", power):
            return None
        unit, scale = self.units.get(tag.get("unitref") or "", ""), float(f"1e{int(power)}")
        if not unit and int(power) in _SHARE_OF_ONE:
            unit, scale = _SHARE_OF_ONE[int(power)]
        return Fact(tag.get("name") or "", value, unit, scale, tag.get("sign") == "-",
                    self.periods.get(tag.get("contextref") or "", ""))


def _local(element: HtmlElement) -> str:
    return element.tag.rpartition(":")[2] if isinstance(element.tag, str) else ""


def _period(context: HtmlElement) -> str:
    days = {_local(one): "".join(one.itertext()).strip()[:10] for one in context.iter()}
    end = days.get("enddate") or days.get("instant") or ""
    start = days.get("startdate") or end
    try:
        date.fromisoformat(start), date.fromisoformat(end)
    except ValueError:
        return ""
    return end if start == end else f"{start}/{end}"


def _unit(unit: HtmlElement) -> str:
    above, below = [], []
    for element in unit.iter():
        if _local(element) == "measure":
            is_below = any(_local(outer) == "unitdenominator" for outer in element.iterancestors())
            (below if is_below else above).append(_measure("".join(element.itertext()).strip()))
    name, divisor = (" ".join(filter(None, names)) for names in (above, below))
    return f"{name}/{divisor.removesuffix('s')}" if divisor else name


def _measure(measure: str) -> str:
    prefix, _, name = measure.rpartition(":")
    if prefix.lower() == "iso4217":
        return name.upper()
    if name == "pure":
        return ""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|[_-]+", " ", name).strip().lower()


def _number(text: str, form: str) -> float | None:
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
