"""Word the position of a value for a question: row, period or column, and section.

A question names a cell by its labels, so it is asked only if no other cell of the filing has the
same labels.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lib.tablequest.questions.wording import (
    Labels,
    Period,
    amount,
    decimals_of,
    folded,
    label_of,
    period_of,
    unit_words,
)
from lib.tablequest.records import Cell, CellRef, Filing, Grid, own_label

PAPER = "the paper "  # begins the source of a paper's cells
_CHANGES = re.compile(r"change|increase|decrease|growth|variance|vs\.?\b|versus|difference", re.I)
_PARTS = re.compile(r"percentage of|percent of|% of|per (?:common )?share", re.I)
_COUNTS = re.compile(r"\b(?:numbers? of|counts?|stores|employees|associates|locations|customers"
                     r"|countries)\b", re.I)
# The part before "net sales" in "The following table shows net sales", "As shown below, net sales"
_INTRODUCES = re.compile(
    r"^(?:as\s+(?:shown|presented|detailed)\b.*?\b(?:table|follows),?\s*)?(?:the\s+)?"
    r"(?:following\s+)?(?:tables?|chart)?(?:\s*below|\s*above)?\s*"
    r"(?:shows?|presents?|sets?\s+forth|summari[sz]es?|provides?|details?|reflects?|lists?)?"
    r"\s*(?:the\s+)?", re.I)
_MONEY = ("USD", "EUR", "GBP", "JPY")
_MOST_UNSCALED = 1e6  # from here on, amounts are taken as written out in full
_LONGEST_LABEL, _LONGEST_CAPTION = 130, 130  # characters


@dataclass(frozen=True)
class Place:
    """A cell with a number, and the words by which a question names it."""

    ref: CellRef
    cell: Cell
    row: str  # label as in the table, without footnote marks
    column: str
    period: Period | None
    source: str  # 'Apple Inc.'s annual report (10-K) for the fiscal year ended …, section "…"'
    fault: str = ""  # why no question can ask for the cell; "" if one can

    @property
    def value(self) -> float:
        """Return the number as printed, in units of the cell's scale."""
        assert self.cell.value is not None  # `places` skips the others
        return self.cell.value

    @property
    def kind(self) -> tuple[str, float]:
        """Return unit and scale; a calculation combines only cells of the same kind."""
        return self.cell.unit, self.cell.scale

    @property
    def printed(self) -> str:
        """Return the amount as an answer gives it."""
        return amount(self.value, *self.kind, decimals_of(self.cell))

    @property
    def labels(self) -> Labels:
        """Return the labels by which a question names the cell within its section."""
        return Labels.of(self.ref.grid_id, self.row, self.column)

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
    def name(self) -> str:
        """Return words for the item and the column, as in '"Mac" in 2024'."""
        return f'"{self.row}" {self.at}'.strip()

    @property
    def own(self) -> str:
        """Return the row's own label, without the ones above it."""
        return own_label(self.row)

    @property
    def group(self) -> str:
        """Return the labels above the row's own, joined."""
        return self.row.rpartition(": ")[0]

    @property
    def is_change(self) -> bool:
        """Return whether the value is itself a change, whose own change says little."""
        return bool(_CHANGES.search(self.row) or _CHANGES.search(self.column))

    @property
    def is_part(self) -> bool:
        """Return whether the value is a share or a rate; such values do not add up."""
        is_ratio = self.cell.unit == "%" or "/" in self.cell.unit
        return is_ratio or bool(_PARTS.search(f"{self.row} {self.column}"))

    @property
    def is_paper(self) -> bool:
        """Return whether the cell is in a paper, whose figures need no unit."""
        return self.source.startswith(PAPER)

    @property
    def is_total(self) -> bool:
        """Return whether the row's label says that it sums others."""
        return bool(re.search(r"\b(?:sub)?totals?\b", self.row, re.I))


def source_of(filing: Filing) -> str:
    """Return the opening of every question on `filing`; "" if the filing's year is not known.

    With this opening, a question can be understood on its own.
    """
    if filing.form == "paper":
        return f'{PAPER}"{filing.company}"'
    if not (filing.period or filing.fiscal_year):
        return ""
    year = (f"the fiscal year ended {filing.period}" if filing.period
            else f"fiscal {filing.fiscal_year}")
    report = f"annual report ({filing.form})" if filing.form else "annual report"
    owner = filing.company + ("'" if filing.company.endswith("s") else "'s")
    return f"{owner} {report} for {year}"


def heading_of(grid: Grid) -> str:
    """Return the last heading above a table, by which questions name the section."""
    return label_of(grid.section.split(" > ")[-1])


def caption_of(grid: Grid) -> str:
    """Return what a table shows, according to the text before it; "" if that is too long."""
    text = re.sub(r"\((?:dollars |amounts )?in [^)]*\)", "", grid.caption)
    text = re.split(r"(?<=[a-z)])[.:](?:\s|$)", text)[0]
    text = label_of(_INTRODUCES.sub("", " ".join(text.split()), count=1))
    is_useful = len(text) <= _LONGEST_CAPTION and folded(text) != folded(heading_of(grid))
    return text if is_useful else ""


def places(filing: Filing, grids: Sequence[Grid]) -> list[Place]:
    """Return every cell with a number in the filing's `grids`.

    Give all grids, because labels are compared over the complete filing. A table is named by its
    section, and also by its caption if one of its cells may be taken for a cell of another table.
    All its cells share this name, because a calculation uses several.
    """
    source, usual = source_of(filing), _usual_scale(grids)
    words = {grid.grid_id: _words(grid) for grid in grids}
    spots = {(grid.grid_id, row, column): Labels.of(
        grid.grid_id, _row(grid, row), label_of(grid.columns[column]))
        for grid, row, column, cell in _cells(grids)
        if cell.text.strip() or cell.value is not None}
    alike: defaultdict[tuple[str, str], list[Labels]] = defaultdict(list)
    for spot in spots.values():
        for named in dict.fromkeys(words[spot.grid_id]):
            alike[named, spot.row].append(spot)

    def rivals(spot: Labels, level: int) -> list[Labels]:
        return [other for other in alike[words[spot.grid_id][level], spot.row]
                if other is not spot and spot.may_mean(other)]

    level = dict.fromkeys(words, 0) | {
        spot.grid_id: 1 for spot in spots.values()
        if any(one.grid_id != spot.grid_id for one in rivals(spot, 0))}
    found = []
    for grid, row, column, cell in _cells(grids):
        if cell.value is None:
            continue
        label, used = label_of(grid.columns[column]), level[grid.grid_id]
        fault = (_fault(cell, _row(grid, row), label, source) or _unscaled(grid, cell, usual)
                 or rivals(spots[grid.grid_id, row, column], used)
                 and "another cell of the filing has the same labels")
        found.append(Place(CellRef(grid_id=grid.grid_id, row=row, column=column), cell,
                           _row(grid, row), label, period_of(label),
                           source + words[grid.grid_id][used], fault or ""))
    return found


def _cells(grids: Sequence[Grid]) -> Iterator[tuple[Grid, int, int, Cell]]:
    for grid in grids:
        for row, cells in enumerate(grid.cells):
            yield from ((grid, row, column, cell) for column, cell in enumerate(cells))


def _usual_scale(grids: Sequence[Grid]) -> float:
    """Return the scale in which most amounts of money of a filing are printed."""
    scales = Counter(cell.scale for *_, cell in _cells(grids) if cell.unit in _MONEY)
    return scales.most_common(1)[0][0] if scales else 1.0


def _unscaled(grid: Grid, cell: Cell, usual: float) -> str:
    """Say that a table may have the filing's usual scale without stating it, or return ""."""
    is_round = cell.scale == 1 < usual and cell.unit in _MONEY and "." not in cell.text
    is_doubtful = is_round and not grid.unit_note and abs(cell.value or 0) < _MOST_UNSCALED
    return "the table may be in millions or thousands and does not say so" if is_doubtful else ""


def _words(grid: Grid) -> tuple[str, str]:
    """Return the words for a table's place by its section, and by section and caption."""
    heading, caption = heading_of(grid), caption_of(grid)
    section = f', section "{heading}"' if heading else ""
    return section, section + (f', table of {caption[0].lower() + caption[1:]}' if caption else "")


def _row(grid: Grid, row: int) -> str:
    """Return a row's label after its group's; if two rows are then equal, after all its groups'."""
    short = [": ".join(label.split(": ")[-2:]) for label in grid.rows]
    return label_of(short[row] if short.count(short[row]) == 1 else grid.rows[row])


def _fault(cell: Cell, row: str, column: str, source: str) -> str:
    """Return why no question can ask for a cell, because of its value or labels; "" if one can."""
    if not source:
        return "the filing does not say its fiscal year"
    if not re.search(r"[^\W\d_]{2}", row):
        return "the row has no label in words"
    if not column:
        return "the column has no label"
    if max(len(row), len(column)) > _LONGEST_LABEL:
        return f"a label is longer than {_LONGEST_LABEL} characters"
    is_bare = not unit_words(cell.unit, cell.scale) and not source.startswith(PAPER)
    if is_bare and not _COUNTS.search(f"{row} {column}"):
        return "the filing does not say the unit"
    return "the cell holds a dash for nil" if not re.search(r"\d", cell.text) else ""


def rows_of(found: Iterable[Place]) -> Iterator[list[Place]]:
    """Yield, for each row and measure, its places over the periods in order of time."""
    rows: dict[tuple, dict[tuple[int, int, int], Place]] = {}
    for place in found:
        if place.period and not place.fault:
            key = place.ref.grid_id, place.ref.row, folded(place.period.measure), place.kind
            rows.setdefault(key, {}).setdefault(place.period.order, place)
    for row in rows.values():
        yield [row[order] for order in sorted(row)]
