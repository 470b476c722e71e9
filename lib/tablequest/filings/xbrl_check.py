"""The facts that a filing tags in inline XBRL, as a check on its grids that took no part in making them."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from lxml.html import HtmlElement

from lib.tablequest.filings.read import ReadFiling
from lib.tablequest.grids.grid import ReadGrid
from lib.tablequest.records import Cell

_UNITS = {"usd": "USD", "usdpershare": "USD/share", "shares": "shares", "pure": "", "number": ""}
_DATE = re.compile(r"(January|February|March|April|May|June|July|August|September|October|November|December) "
                   r"(\d{1,2}), (\d{4})")
_MONTHS = dict(zip(("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
                    "November", "December"), range(1, 13), strict=True))
_OPENING = re.compile(r"\b(?:beginning|opening)\b", re.I)
_FISCAL = re.compile(r"\b(?:19|20)\d\d\b")
HALF_YEAR = timedelta(days=182)


@dataclass(frozen=True)
class Disagreement:
    """A cell that does not say what the fact tagged in it says."""

    grid_id: str
    row: str
    column: str
    kind: str  # value, sign, unit, period
    cell: str
    fact: str


def check_filing(read: ReadFiling) -> tuple[Counter, list[Disagreement]]:
    """Compare every tagged number of the grids' cells; (counts, disagreements).

    Counts: "tagged" cells, and of each comparison how many were "… checked" and how many agree.
    - value: |cell × scale| against the tag's digits × 10^scale (Inline XBRL 1.1, section 10: nonFraction)
    - sign: a tag has the sign of its concept, so that an outflow in brackets may be tagged positive; in one row, cells
      of one concept must all be turned round or none
    - unit: against unitRef, where that is dollars, shares or dollars a share
    - period: the context's dates against the year or date that the column names; of an opening balance, the year before
    """
    counts: Counter = Counter()
    found: list[Disagreement] = []
    contexts = _contexts(read.root)
    for grid in read.read_grids:
        turned: dict[tuple[int, str], bool] = {}
        for row, column, cell, tag in _tagged(grid):
            counts["tagged"] += 1
            place = (grid.grid.grid_id, grid.grid.rows[row], grid.grid.columns[column])
            comparisons = list(_comparisons(cell, tag, place, contexts))
            if cell.value:
                is_turned = (cell.value < 0) != (tag.get("sign") == "-")
                first = turned.setdefault((row, tag.get("name") or ""), is_turned)
                comparisons.append(("sign", is_turned, first))
            for kind, said, expected in comparisons:
                counts[f"{kind} checked"] += 1
                counts[kind] += said == expected
                if said != expected:
                    found.append(Disagreement(*place, kind, str(said), str(expected)))
    return counts, found


def _tagged(grid: ReadGrid) -> Iterator[tuple[int, int, Cell, HtmlElement]]:
    for row, line in enumerate(grid.placed):
        for column, placed in enumerate(line):
            tags = [tag for element in (placed.elements if placed else ()) for tag in element.iter("ix:nonfraction")]
            if len(tags) == 1:
                yield row, column, grid.grid.cells[row][column], tags[0]


def _comparisons(cell: Cell, tag: HtmlElement, place: tuple[str, str, str], contexts: dict[str, tuple[date, date]],
                 ) -> Iterator[tuple[str, object, object]]:
    digits = "".join(tag.itertext()).replace(",", "").strip()
    is_nil = not re.search(r"\d", digits)
    amount = 0.0 if is_nil else float(re.sub(r"[^\d.]", "", digits)) * 10 ** int(tag.get("scale") or 0)
    unit = (tag.get("unitref") or "").lower()
    is_percent = cell.unit == "%"
    own = None if cell.value is None else abs(cell.value) * cell.scale / (100 if is_percent else 1)
    yield "value", None if own is None else float(f"{own:.12g}"), float(f"{amount:.12g}")
    if unit in _UNITS and not is_percent:
        yield "unit", cell.unit, _UNITS[unit]
    named, span = _period_of(place), contexts.get(tag.get("contextref") or "")
    if named and span:
        start, end = span
        middle = start + (end - start) / 2 if start != end else end - HALF_YEAR  # a year's end stands for that year
        is_opening = start == end and bool(_OPENING.search(place[1]))
        if "-" in named and is_opening:
            yield "period", 357 <= (date.fromisoformat(named) - end).days <= 378, True  # 52 or 53 weeks before
        else:
            yield "period", named, end.isoformat() if "-" in named else str(middle.year + is_opening)


def _period_of(place: tuple[str, str, str]) -> str:
    """The one date (ISO) or year that a column names; "" where it names none or more."""
    dates = _DATE.findall(place[2])
    if len(dates) == 1:
        month, day, year = dates[0]
        return date(int(year), _MONTHS[month], int(day)).isoformat()
    years = set(_FISCAL.findall(place[2]))
    return years.pop() if len(years) == 1 and not dates else ""


def _contexts(root: HtmlElement) -> dict[str, tuple[date, date]]:
    """Each context's first and last day; an instant is its own."""
    found = {}
    for context in root.iter("xbrli:context"):
        days = {element.tag.rpartition(":")[2]: "".join(element.itertext()).strip()[:10]
                for element in context.iter("xbrli:startdate", "xbrli:enddate", "xbrli:instant")}
        end = days.get("enddate") or days.get("instant")
        if end:
            found[context.get("id") or ""] = (date.fromisoformat(days.get("startdate") or end), date.fromisoformat(end))
    return found
