"""Word the position of a value for a question: row, period or column, and section.

A question names a cell by its labels, so it is asked only if no other cell of the filing that these
labels may mean has another value.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from lib.tasks.tablequest.places.phrases import (
    MONEY,
    fault_of_label,
    fault_of_unit,
    is_bare,
    may_flow,
    named,
    tells_amount,
)
from lib.tasks.tablequest.places.rivals import Spot, rivals_of
from lib.tasks.tablequest.places.times import dated
from lib.tasks.tablequest.questions.wording import (
    Period,
    amount,
    decimals_of,
    folded,
    label_of,
    period_of,
)
from lib.tasks.tablequest.records import Cell, CellRef, Filing, Grid, own_label

_CHANGES = re.compile(r"change|increase|decrease|growth|variance|vs\.?\b|versus|difference", re.I)
_PARTS = re.compile(r"percentage of|percent of|% of|per (?:common )?share", re.I)
# Headings that do not tell where in a report one is
_NO_TITLE = re.compile(r"\(?continued\)?$|^part [ivx]+$|^(?:index|contents|signatures?)\b|^form 10-"
                       r"|\bnotes? to (?:the )?(?:[a-z]+ )*financial statements?\b"
                       r"|^table of contents|\band (?:its )?(?:consolidated )?subsidiar", re.I)
# A text that introduces the table below it
_IS_INTRODUCTION = re.compile(r"\bfollow(?:s|ing)\b|\bbelow\b|:$|\bsummar|\bsets? forth\b"
                              r"|\b(?:table|chart)\b|\bpresent(?:s|ed)\b|\bshow[sn]\b", re.I)
_LONGEST_LABEL, _LONGEST_QUOTE = 130, 190  # characters


@dataclass(frozen=True)
class Place:
    """A cell with a number, and the words by which a question names it."""

    ref: CellRef
    cell: Cell
    row: str  # label as in the table, without footnote marks
    column: str
    period: Period | None
    source: str  # 'Apple Inc.'s annual report (10-K) for the fiscal year ended …, section "…"'
    report: str = ""  # the beginning of `source`, without section and table
    fault: str = ""  # why no question can ask for the cell; "" if one can
    spot: Spot | None = None  # the words by which it is told apart
    misread: str = ""  # why its value, unit or scale is in doubt; "" if it may serve as a part

    @property
    def value(self) -> float:
        """Return the number as printed, in units of the cell's scale."""
        assert self.cell.value is not None  # `places` skips the others
        return self.cell.value

    @cached_property
    def kind(self) -> tuple[str, float]:
        """Return unit and scale; a calculation combines only cells of the same kind."""
        return self.cell.unit, self.cell.scale

    @property
    def printed(self) -> str:
        """Return the amount as an answer gives it."""
        return amount(self.value, *self.kind, decimals_of(self.cell))

    @property
    def under(self) -> str:
        """Return what the column measures apart from a time, as in 'under "Net Sales"'."""
        measure = self.period.measure if self.period else self.column
        return f'under "{measure}"' if measure else ""

    @property
    def at(self) -> str:
        """Return words for the column, as in 'in 2024' or 'under "Net Sales" in fiscal 2024'."""
        return " ".join(filter(None, (self.under, self.period.phrase if self.period else "")))

    @property
    def item(self) -> str:
        """Return words for the item over all periods, as in '"Mac" under "Net Sales"'."""
        return f'"{self.row}" {self.under}'.strip()

    @property
    def subject(self) -> str:
        """Return `item` as that which changes: "the amount for" comes before "iPad"."""
        if tells_amount(self.row) or tells_amount(self.under):
            return self.item
        return f"the {'share' if self.cell.unit == '%' else 'amount'} for {self.item}"

    @property
    def name(self) -> str:
        """Return words for the item and the column, as in '"Mac" in 2024'."""
        return f'"{self.row}" {self.at}'.strip()

    @cached_property
    def own(self) -> str:
        """Return the row's own label, without the ones above it."""
        return own_label(self.row)

    @cached_property
    def group(self) -> str:
        """Return the labels above the row's own, joined."""
        return self.row.rpartition(": ")[0]

    @cached_property
    def is_change(self) -> bool:
        """Return whether the value is itself a change, whose own change says little."""
        return bool(_CHANGES.search(self.row) or _CHANGES.search(self.column))

    @cached_property
    def is_part(self) -> bool:
        """Return whether the value is a share or a rate; such values do not add up."""
        is_ratio = self.cell.unit == "%" or "/" in self.cell.unit
        return is_ratio or bool(_PARTS.search(f"{self.row} {self.column}"))

    @cached_property
    def is_total(self) -> bool:
        """Return whether the row's label says that it sums others."""
        return bool(re.search(r"\b(?:sub)?totals?\b", self.row, re.I))


def source_of(filing: Filing) -> str:
    """Return the opening of every question on `filing`; "" if the filing's year is not known.

    With this opening, a question can be understood on its own.
    """
    if not (filing.period or filing.fiscal_year):
        return ""
    is_quarterly = filing.form.startswith("10-Q")
    kind, span = ("quarterly", "quarterly period") if is_quarterly else ("annual", "fiscal year")
    year = (f"the {span} ended {filing.period}" if filing.period
            else f"fiscal {filing.fiscal_year}")
    report = f"{kind} report ({filing.form})" if filing.form[:3] == "10-" else f"{kind} report"
    owner = filing.company + ("'" if filing.company.endswith("s") else "'s")
    return f"{owner} {report} for {year}"


def heading_of(grid: Grid) -> str:
    """Return the last title above a table, by which questions name the section; "" if none is one.

    A running head such as "Notes to Consolidated Financial Statements (continued)" is none.
    """
    for heading in reversed(grid.section.split(" > ")):
        title = label_of(heading).rstrip(".")
        if title and len(title.split()) <= 16 and '"' not in title and not (
                _NO_TITLE.search(title) or re.search(r"[.;](?:\s[A-Z]|$)|:", title[8:])):
            return title
    return ""


def introduction_of(grid: Grid) -> str:
    """Return the sentence that introduces a table, word for word; "" if there is none."""
    text = re.split(r"(?<=[a-z)][.!?])\s+(?=[A-Z])", " ".join(grid.caption.split()))[-1]
    is_quotable = len(text.split()) >= 4 and len(text) <= _LONGEST_QUOTE and '"' not in text
    return text.rstrip(" :.") if is_quotable and _IS_INTRODUCTION.search(text) else ""


def places(filing: Filing, grids: Sequence[Grid]) -> list[Place]:
    """Return every cell with a number in the filing's `grids`.

    Give all grids, because labels are compared over the complete filing. All cells of a table share
    its name, because a calculation uses several.
    """
    source = source_of(filing)
    read = []
    for grid in grids:
        periods = [period_of(column) for column in grid.columns]
        rows = row_names(grid)
        read += [(grid, row, column, cell, rows[row], dated(periods[column], cell, rows[row]))
                 for row, cells in enumerate(grid.cells) for column, cell in enumerate(cells)
                 if cell.value is not None]
    spots = [Spot.of(grid, name, column, cell, time) for grid, _, column, cell, name, (time, _)
             in read]
    rivals = rivals_of(spots)
    found = []
    for (grid, row, column, cell, name, (time, clash)), spot in zip(read, spots, strict=True):
        label, ref = label_of(grid.columns[column]), CellRef(
            grid_id=grid.grid_id, row=row, column=column)
        where = _where(grid, name)
        misread = clash or _misread(grid, cell, name, label)
        fault = _fault(grid, cell, name, time, where)
        if max(len(name), len(label)) > _LONGEST_LABEL:
            fault = f"a label is longer than {_LONGEST_LABEL} characters"
        elif not re.search(r"[^\W\d_]{2}", name):
            fault = "the row has no label in words"
        elif not label:
            fault = "the column has no label"
        fault = ("" if source else "the filing does not say its fiscal year") or misread or fault
        if not fault and not re.search(r"\d", cell.text):
            fault = "the cell holds a dash for nil"
        if not fault and spot in rivals:
            fault = "another cell of the filing has the same labels"
        found.append(Place(ref, cell, name, label, time, source + where, source, fault, spot,
                           misread))
    return found


def _where(grid: Grid, row: str) -> str:
    heading, text = heading_of(grid), introduction_of(grid)
    where = f', section "{heading}"' if heading else ""
    if not text or tells_amount(row):
        return where
    return f'{where}, table introduced by "{text}"'


def _misread(grid: Grid, cell: Cell, row: str, column: str) -> str:
    if grid.doubt and not cell.period:
        return f"the table is in doubt: {grid.doubt}"
    if not cell.unit:
        return "the filing does not say the unit"
    has_cents = cell.unit in MONEY and cell.scale > 1 and "." in cell.text
    if has_cents and not cell.period and not _has_cents(grid):
        return "it is printed with other decimals than its table"
    return fault_of_unit(cell, row, column, grid.unit_note)


def _has_cents(grid: Grid) -> bool:
    texts = [cell.text for row in grid.cells for cell in row
             if cell.unit in MONEY and cell.scale > 1 and re.search(r"\d", cell.text)]
    return 2 * sum("." in text for text in texts) > len(texts)


def _fault(grid: Grid, cell: Cell, row: str, time: Period | None, where: str) -> str:
    if time is None:
        return "the column names no period, or several"
    if reason := fault_of_label(row):
        return reason
    if not cell.period and time.order[2] and not time.span and may_flow(own_label(row)):
        return "the column's day may be the end of a period"
    if time.measure and (is_bare(time.measure) or fault_of_label(time.measure)):
        return "the column's label is no phrase"
    if tells_amount(row) or tells_amount(time.measure) or "introduced by" in where:
        return ""
    title = re.sub(r"^notes?\b", "", heading_of(grid), flags=re.I)
    return "" if tells_amount(title) else "neither row nor table says what is measured"


def row_names(grid: Grid) -> list[str]:
    """Name each row by its label after its group's, or all groups' if two rows are then equal.

    It also takes all groups if the last has no noun, as in "Debt: Current: Other".
    """
    paths = [_told(list(filter(None, map(named, label.split(": "))))) for label in grid.rows]
    short = [": ".join(path[-2:]) for path in paths]
    times = Counter(short)
    return [": ".join(path) if times[name] > 1 or len(path) > 2 and is_bare(path[-2]) else name
            for path, name in zip(paths, short, strict=True)]


def _told(path: list[str]) -> list[str]:
    is_repeated = len(path) > 1 and folded(path[-2]) in folded(path[-1])
    return [*path[:-2], path[-1]] if is_repeated else path


def rows_of(found: Iterable[Place]) -> Iterator[list[Place]]:
    """Yield, for each row and measure, its places over the periods in order of time."""
    rows: dict[tuple, dict[tuple[int, int, int], Place]] = {}
    for place in found:
        if place.period and not place.fault:
            key = (place.ref.grid_id, place.ref.row, folded(place.period.measure), place.kind,
                   place.period.form)
            rows.setdefault(key, {}).setdefault(place.period.order, place)
    for row in rows.values():
        yield [row[order] for order in sorted(row)]
