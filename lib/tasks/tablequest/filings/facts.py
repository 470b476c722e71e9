"""Numbers that a filing tags in inline XBRL (specification 1.1): value, unit, scale, period."""

import re
from typing import NamedTuple

from lxml.html import HtmlElement

from lib.tasks.tablequest.records import Cell

# Transformations (registries 1 to 5) by how they print decimals; others print 1234.5.
_COMMA_DECIMAL = re.compile(r"numcommadecimal|numdotcomma|numspacecomma|numcomma")
_ZERO = re.compile(r"zero|dash|fixedempty|nocontent")
_PARTS_OF_ONE = {-2: "%", -4: "basis points"}  # by the power of a pure number's tag


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
        return Cell(
            text=text,
            value=value,
            unit=self.unit,
            scale=self.scale,
            period=self.period,
            source="tag",
        )


class Facts:
    """The units and the periods that a filing's tags name, from its hidden header."""

    def __init__(self, root: HtmlElement) -> None:
        self.units: dict[str, str] = {}
        self.periods: dict[str, str] = {}
        for element in (one for header in root.iter("ix:header") for one in header.iter()):
            name = element.get("id") or ""
            if _local(element) == "unit":
                self.units[name] = _unit(element)
            elif _local(element) == "context":
                days = [
                    text_of(one)[:10]
                    for one in element.iter()
                    if _local(one) in ("startdate", "enddate", "instant")
                ]
                self.periods[name] = "/".join(dict.fromkeys(days))

    def of(self, tag: HtmlElement) -> Fact | None:
        """Return the number of an ix:nonFraction element, or None if its text is not a number."""
        value, power = _number(text_of(tag), tag.get("format") or ""), int(tag.get("scale") or 0)
        if value is None:
            return None
        unit, scale = self.units.get(tag.get("unitref") or "", ""), float(f"1e{power}")
        if not unit and power in _PARTS_OF_ONE:
            unit, scale = _PARTS_OF_ONE[power], 1.0
        return Fact(
            tag.get("name") or "",
            value,
            unit,
            scale,
            tag.get("sign") == "-",
            self.periods.get(tag.get("contextref") or "", ""),
        )


def _local(element: HtmlElement) -> str:
    return str(element.tag).rpartition(":")[2]


def text_of(element: HtmlElement) -> str:
    """Return an element's text with whitespace folded."""
    return " ".join("".join(element.itertext()).split())


def _unit(unit: HtmlElement) -> str:
    # return its measures, the numerator first: "USD", "USD/share"
    names = []
    for element in unit.iter():
        if _local(element) == "measure":
            prefix, _, name = text_of(element).rpartition(":")
            words = re.sub(r"(?<=[a-z])(?=[A-Z])|[_-]+", " ", name).lower().replace("pure", "")
            names.append(name.upper() if prefix.lower() == "iso4217" else words)
    return "/".join(names).removesuffix("s") if names[1:] else "".join(names)


def _number(text: str, form: str) -> float | None:
    form = form.rpartition(":")[2].replace("-", "").lower()
    if _COMMA_DECIMAL.match(form):
        text = text.replace(".", "").replace(",", ".")
    digits = re.sub(r"[^\d.]", "", text)
    if re.fullmatch(r"\d+\.?\d*|\.\d+", digits) and not _ZERO.search(form):
        return float(digits)
    # A tag marked nil prints a dash, which a reader takes for zero.
    return None if re.search(r"\w", text) and not _ZERO.search(form) else 0.0
