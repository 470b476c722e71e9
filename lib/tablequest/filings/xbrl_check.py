"""Check grids against the facts tagged in a filing's inline XBRL, which reading does not use."""

import re
from calendar import month_name
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta

import pandas as pd
from lxml.html import HtmlElement

from lib.tablequest.grids.grid import ReadGrid
from lib.tablequest.records import Cell

KINDS = ("value", "unit", "sign", "period")
_UNITS = {"usd": "USD", "usdpershare": "USD/share", "shares": "shares", "pure": "", "number": ""}
_DATE = re.compile(rf"({'|'.join(month_name[1:])}) (\d{{1,2}}), (\d{{4}})")
_OPENING = re.compile(r"\b(?:beginning|opening)\b", re.I)
_FISCAL = re.compile(r"\b(?:19|20)\d\d\b")
HALF_YEAR = timedelta(days=182)


@dataclass(frozen=True)
class Difference:
    """A cell that differs from its tagged fact."""

    grid_id: str
    row: str
    column: str
    kind: str  # one of KINDS
    cell: str
    fact: str


@dataclass(frozen=True)
class Check:
    """A filing's tagged cells, how many comparisons of each kind agree, and the differences."""

    n_tagged: int = 0
    checked: Counter[str] = field(default_factory=Counter)
    agree: Counter[str] = field(default_factory=Counter)
    differences: tuple[Difference, ...] = ()


def check_table(checks: Mapping[str, Check]) -> pd.DataFrame:
    """Return one row per filing with tagged cells: their number, and "agree / checked" by kind.

    `checks` maps filing_id to the filing's check.
    """
    rows = [(filing_id, check.n_tagged, *(f"{check.agree[kind]:,} / {check.checked[kind]:,}"
                                          for kind in KINDS))
            for filing_id, check in checks.items() if check.n_tagged]
    return pd.DataFrame(rows, columns=["filing_id", "tagged cells", *KINDS])


def check_grids(root: HtmlElement, grids: Iterable[ReadGrid]) -> Check:
    """Compare every tagged number of the grids' cells with its tag.

    - value: |cell × scale| equals the tag's digits × 10^scale (Inline XBRL 1.1, section 10:
      nonFraction).
    - unit: the cell's unit is unitRef, if that is dollars, shares or dollars per share.
    - sign: a tag has the sign of its concept, so an outflow in brackets may be tagged positive; in
      a row, either all cells of a concept must be inverted or none.
    - period: the context's dates match the year or date in the column's label; for an opening
      balance, the year before.
    """
    n_tagged, checked, agree, differences = 0, Counter(), Counter(), []
    contexts = _contexts(root)
    for grid in grids:
        inverted: dict[tuple[int, str], bool] = {}
        for row, column, cell, tag in _tagged(grid):
            n_tagged += 1
            labels = grid.grid.rows[row], grid.grid.columns[column]
            comparisons = list(_comparisons(cell, tag, labels, contexts))
            if cell.value:
                is_inverted = (cell.value < 0) != (tag.get("sign") == "-")
                first = inverted.setdefault((row, tag.get("name") or ""), is_inverted)
                comparisons.append(("sign", is_inverted, first))
            for kind, own, expected in comparisons:
                checked[kind] += 1
                agree[kind] += own == expected
                if own != expected:
                    differences.append(Difference(grid.grid.grid_id, *labels, kind, str(own),
                                                  str(expected)))
    return Check(n_tagged, checked, agree, tuple(differences))


def _tagged(grid: ReadGrid) -> Iterator[tuple[int, int, Cell, HtmlElement]]:
    for row, line in enumerate(grid.placed):
        for column, placed in enumerate(line):
            elements = placed.elements if placed else ()
            tags = [tag for element in elements for tag in element.iter("ix:nonfraction")]
            if len(tags) == 1:
                yield row, column, grid.grid.cells[row][column], tags[0]


def _comparisons(cell: Cell, tag: HtmlElement, labels: tuple[str, str],
                 contexts: dict[str, tuple[date, date]]) -> Iterator[tuple[str, object, object]]:
    """Yield (kind, the cell's value, the tag's value)."""
    digits = re.sub(r"[^\d.]", "", "".join(tag.itertext()))
    is_nil = not re.search(r"\d", digits)
    fact = 0.0 if is_nil else float(digits) * 10 ** int(tag.get("scale") or 0)
    unit, is_percent = (tag.get("unitref") or "").lower(), cell.unit == "%"
    own = None
    if cell.value is not None:
        own = float(f"{abs(cell.value) * cell.scale / (100 if is_percent else 1):.12g}")
    yield "value", own, float(f"{fact:.12g}")
    if unit in _UNITS and not is_percent:
        yield "unit", cell.unit, _UNITS[unit]
    named, span = _period_of(labels[1]), contexts.get(tag.get("contextref") or "")
    if not named or not span:
        return
    start, end = span
    is_opening = start == end and bool(_OPENING.search(labels[0]))
    if "-" in named and is_opening:
        # The balance is from 52 or 53 weeks earlier.
        yield "period", 357 <= (date.fromisoformat(named) - end).days <= 378, True
    elif "-" in named:
        yield "period", named, end.isoformat()
    else:
        # An instant at a year's end belongs to that year.
        middle = start + (end - start) / 2 if start != end else end - HALF_YEAR
        yield "period", named, str(middle.year + is_opening)


def _period_of(column: str) -> str:
    """Return the only date (ISO) or year that a column names; "" if it names none or several."""
    dates = _DATE.findall(column)
    if len(dates) == 1:
        month, day, year = dates[0]
        return date(int(year), list(month_name).index(month), int(day)).isoformat()
    years = set(_FISCAL.findall(column))
    return years.pop() if len(years) == 1 and not dates else ""


def _contexts(root: HtmlElement) -> dict[str, tuple[date, date]]:
    """Return each context's first and last day, which are equal for an instant."""
    found = {}
    for context in root.iter("xbrli:context"):
        days = {element.tag.rpartition(":")[2]: "".join(element.itertext()).strip()[:10]
                for element in context.iter("xbrli:startdate", "xbrli:enddate", "xbrli:instant")}
        if end := days.get("enddate") or days.get("instant"):
            start = date.fromisoformat(days.get("startdate") or end)
            found[context.get("id") or ""] = (start, date.fromisoformat(end))
    return found
