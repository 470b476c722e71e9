"""Compare grids as the rules alone read them with the facts tagged in inline XBRL."""

import re
from calendar import month_name
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta

from lib.tasks.tablequest.filings.facts import Fact
from lib.tasks.tablequest.filings.tags import Position, kind_of
from lib.tasks.tablequest.grids.grid import ReadGrid
from lib.tasks.tablequest.grids.values import YEAR
from lib.tasks.tablequest.records import Cell

KINDS = ("value", "unit", "sign", "period")
_PARTS = {"%": 100, "percentage points": 100, "basis points": 10_000}
# Other units are counted things ("sites"), which the rules may leave without a name.
_NAMED = re.compile(r"[A-Z]{3}(?:/.+)?|shares|%|square .*|times|.* points|years|months|days")
_MONTHS = {name[:3].lower(): number for number, name in enumerate(month_name) if number}
_MONTH = rf"({'|'.join(_MONTHS)})[a-z]*\.?"
_DATE = re.compile(rf"\b{_MONTH} ?(\d{{1,2}}), ?(\d{{4}})", re.I)
_OPENING = re.compile(rf"\b(?:beginning|opening)\b|\b{_MONTH} 1\b", re.I)
_FISCAL = re.compile(rf"\b{YEAR}\b")
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
    """How many values a filing's grids hold and how many are tagged, and how the rules fare."""

    n_values: int = 0
    n_tagged: int = 0
    checked: Counter[str] = field(default_factory=Counter)
    agree: Counter[str] = field(default_factory=Counter)
    differences: tuple[Difference, ...] = ()


def check_rows(checks: Mapping[str, Check]) -> list[dict[str, str | int]]:
    """Return one row per filing with tagged cells: their number, and "agree / checked" by kind.

    `checks` maps filing_id to the filing's check.
    """
    return [{"filing_id": filing_id, "values": check.n_values, "tagged cells": check.n_tagged}
            | {kind: _share(check.agree[kind], check.checked[kind]) for kind in KINDS}
            for filing_id, check in checks.items() if check.n_tagged]


def _share(agree: int, checked: int) -> str:
    percent = f" ({100 * agree / checked:.1f}%)" if checked else ""
    return f"{agree:,} / {checked:,}{percent}"


def together(checks: list[Check]) -> Check:
    """Return the check of a filing from those of its grids."""
    return Check(sum(check.n_values for check in checks), sum(check.n_tagged for check in checks),
                 sum((check.checked for check in checks), Counter()),
                 sum((check.agree for check in checks), Counter()),
                 tuple(one for check in checks for one in check.differences))


def check_grid(grid: ReadGrid, tagged: Mapping[Position, Fact]) -> Check:
    """Compare the cells of a grid that was read without tags with their facts.

    - value: |cell × scale| equals the tag's digits × 10^scale (Inline XBRL 1.1, section 10:
      nonFraction).
    - unit: the cell's unit is the tag's; a counted thing ("sites") may be without a unit.
    - sign: a tag has the sign of its concept, so an outflow in brackets may be tagged positive; in
      a row, either all cells of a concept must be inverted or none.
    - period: the context's dates match the year or date in the column's label; for an opening
      balance, the year before. What is due in a year to come is not compared.
    """
    checked, agree, differences, inverted = Counter(), Counter(), [], {}
    cells = grid.grid.cells
    for (row, column), fact in tagged.items():
        cell, labels = cells[row][column], (grid.grid.rows[row], grid.grid.columns[column])
        comparisons = list(_comparisons(cell, fact, labels))
        if cell.value:
            is_inverted = (cell.value < 0) != fact.is_negative
            first = inverted.setdefault((row, fact.concept), is_inverted)
            comparisons.append(("sign", is_inverted, first))
        for kind, own, expected in comparisons:
            checked[kind] += 1
            agree[kind] += own == expected
            if own != expected:
                differences.append(Difference(grid.grid.grid_id, *labels, kind, str(own),
                                              str(expected)))
    n_values = sum(cell.value is not None for line in cells for cell in line)
    return Check(n_values, len(tagged), checked, agree, tuple(differences))


def _comparisons(cell: Cell, fact: Fact,
                 labels: tuple[str, str]) -> Iterator[tuple[str, object, object]]:
    """Yield (kind, the cell's value, the tag's value)."""
    own = None
    if cell.value is not None:
        own = float(abs(cell.exact) / _PARTS.get(cell.unit, 1))
    yield "value", own, float(fact.exact)
    if fact.unit is not None:
        unit = kind_of(fact, cell)[0]
        is_counted = not cell.unit and unit and not _NAMED.fullmatch(unit)
        yield "unit", cell.unit, "" if is_counted else unit
    named = _period_of(labels[1])
    if not named or fact.end is None:
        return
    start, end = fact.start, fact.end
    is_opening = start == end and bool(_OPENING.search(labels[0]))
    if start == end and not is_opening and named[:4] > end.isoformat()[:4]:
        return  # what is due or expected in a later year is a fact of the report's date
    if "-" in named and is_opening:
        # The balance is from 52 or 53 weeks earlier.
        yield "period", 357 <= (date.fromisoformat(named) - end).days <= 378, True
    elif "-" in named:
        yield "period", named, end.isoformat()
    else:
        # A fiscal year is named after the year that it ends in, or that most of it is in.
        middle = start + (end - start) / 2 if start != end else end - HALF_YEAR
        years = [str(middle.year + is_opening), str(end.year + is_opening)]
        yield "period", named, named if named in years else years[0]


def _period_of(column: str) -> str:
    """Return the only date (ISO) or year that a column names; "" if it names none or several."""
    dates = _DATE.findall(column)
    if len(dates) == 1:
        month, day, year = dates[0]
        return date(int(year), _MONTHS[month.lower()], int(day)).isoformat()
    years = set(_FISCAL.findall(column))
    return years.pop() if len(years) == 1 and not dates else ""
