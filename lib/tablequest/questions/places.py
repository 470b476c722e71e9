"""Where a value stands, as a question says it: row, period or column, section; and which cells can be asked for.

A question names a cell by its labels, so it is asked only where they lead to no other cell of the filing.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lib.tablequest.questions.amounts import unit_words
from lib.tablequest.questions.periods import Period, label_of, period_of
from lib.tablequest.records import Cell, CellRef, Filing, Grid

_CHANGES = re.compile(r"change|increase|decrease|growth|variance|vs\.?\b|versus|difference", re.I)
_PARTS = re.compile(r"percentage of|percent of|% of|per (?:common )?share", re.I)
_COUNTS = re.compile(r"\b(?:numbers? of|counts?|stores|employees|associates|locations|customers|countries)\b", re.I)
_INTRODUCES = re.compile(
    r"^(?:as\s+(?:shown|presented|detailed)\b.*?\b(?:table|follows),?\s*)?(?:the\s+)?(?:following\s+)?(?:tables?|chart)?"
    r"(?:\s*below|\s*above)?\s*(?:shows?|presents?|sets?\s+forth|summari[sz]es?|provides?|details?|reflects?|lists?)?"
    r"\s*(?:the\s+)?", re.I)
_PAPER = "the paper "
_MONEY = ("USD", "EUR", "GBP", "JPY")
_MOST_UNSCALED = 1e6  # larger amounts are written out
_LONGEST_LABEL, _LONGEST_CAPTION = 130, 130  # characters


@dataclass(frozen=True)
class Place:
    """A cell with a number, and the words of a question that lead to it."""

    ref: CellRef
    cell: Cell
    row: str  # as the table has it, without footnote marks
    column: str
    period: Period | None
    source: str  # 'Apple Inc.'s annual report (10-K) for the fiscal year ended …, section "…"'
    fault: str = ""  # why no question can ask for it; "" where one can

    @property
    def value(self) -> float:
        """As printed, in units of the cell's scale. Only for cells with a number."""
        assert self.cell.value is not None
        return self.cell.value

    @property
    def at(self) -> str:
        """Where in the row: 'in 2024', 'under "Net Sales" in fiscal 2024', 'under "Total"'."""
        return self.under + (" " if self.under and self.period else "") + (self.period.phrase if self.period else "")

    @property
    def labels(self) -> "Labels":
        """What a question can say of it within its section."""
        return Labels.of(self.ref.grid_id, self.row, self.column)

    @property
    def under(self) -> str:
        """What the column measures, beside a time."""
        measure = self.period.measure if self.period else self.column
        return f'under "{measure}"' if measure else ""

    @property
    def kind(self) -> tuple[str, float]:
        """Unit and scale: only cells of one kind are put into one calculation."""
        return self.cell.unit, self.cell.scale

    @property
    def group(self) -> str:
        """The labels above the row's own, joined."""
        return self.row.rpartition(": ")[0]

    @property
    def is_change(self) -> bool:
        """Whether the value is itself a change, of which a further change says little."""
        return bool(_CHANGES.search(self.row) or _CHANGES.search(self.column))

    @property
    def is_part(self) -> bool:
        """Whether the value is a share of, or per, something: such values do not add up."""
        return self.cell.unit == "%" or "/" in self.cell.unit or bool(_PARTS.search(f"{self.row} {self.column}"))

    @property
    def is_paper(self) -> bool:
        """Whether it stands in a paper, whose figures need no unit."""
        return self.source.startswith(_PAPER)

    @property
    def is_total(self) -> bool:
        """Whether the row says that it sums up others."""
        return bool(re.search(r"\b(?:sub)?totals?\b", self.row, re.I))


def folded(text: str) -> str:
    """Labels as they are compared: letters and digits in lower case."""
    return " ".join(re.findall(r"[^\W_]+|%", text.lower()))


def source_of(filing: Filing) -> str:
    """What every question on `filing` begins with, so that it stands alone; "" where its year is not known."""
    if filing.form == "paper":
        return f'{_PAPER}"{filing.company}"'
    year = f"the fiscal year ended {filing.period}" if filing.period else f"fiscal {filing.fiscal_year}"
    report = f"annual report ({filing.form})" if filing.form else "annual report"
    owner = filing.company + ("'" if filing.company.endswith("s") else "'s")
    return f"{owner} {report} for {year}" if filing.period or filing.fiscal_year else ""


def heading_of(grid: Grid) -> str:
    """The last heading above a table, by which a question names its place."""
    return label_of(grid.section.split(" > ")[-1])


def caption_of(grid: Grid) -> str:
    """What the text before a table says that it shows, cut to the thing itself; "" where that is not short."""
    said = re.split(r"(?<=[a-z)])[.:](?:\s|$)", re.sub(r"\((?:dollars |amounts )?in [^)]*\)", "", grid.caption))[0]
    said = label_of(_INTRODUCES.sub("", " ".join(said.split()), count=1))
    return said if len(said) <= _LONGEST_CAPTION and folded(said) != folded(heading_of(grid)) else ""


class Labels(NamedTuple):
    """What a question can say of a cell within its section, as it is compared."""

    grid_id: str
    row: str
    column: str
    period: Period | None

    @classmethod
    def of(cls, grid_id: str, row: str, column: str) -> "Labels":
        """Labels of a cell from those of its row and column."""
        return cls(grid_id, folded(row), re.sub(r"\bfiscal ", "", folded(column)), period_of(column))

    def may_mean(self, other: "Labels") -> bool:
        """Whether a question by these labels may mean the cell `other`.

        It does by the same labels, and in another table by the same row and time: who asks for "Net sales" in fiscal
        2024 does not say that it is not those "under Consolidated".
        """
        if self.row != other.row:
            return False
        if self.column == other.column:
            return True
        if self.grid_id == other.grid_id or not self.period or not other.period or self.period.measure:
            return False
        (year, *rest), (other_year, *other_rest) = self.period.order, other.period.order
        return year == other_year and (rest == other_rest or not (rest[0] and other_rest[0]))


def places(filing: Filing, grids: Sequence[Grid]) -> list[Place]:
    """Every cell with a number of the filing's `grids` (all of them: labels are compared over the whole filing).

    A table is named by its section, and by its caption too where a cell of it may be taken for one of another table;
    by one name for all of its cells, since a calculation is over several.
    """
    source, usual, words = source_of(filing), _usual_scale(grids), {grid.grid_id: _words(grid) for grid in grids}
    spots = {(grid.grid_id, row, column): Labels.of(grid.grid_id, _row(grid, row), label_of(grid.columns[column]))
             for grid in grids for row in range(len(grid.rows)) for column in range(len(grid.columns))
             if grid.cells[row][column].text.strip() or grid.cells[row][column].value is not None}
    alike: defaultdict[tuple[str, str], list[Labels]] = defaultdict(list)
    for spot in spots.values():
        for words_of_level in dict.fromkeys(words[spot.grid_id]):
            alike[words_of_level, spot.row].append(spot)

    def rivals(spot: Labels, level: int) -> list[Labels]:
        return [other for other in alike[words[spot.grid_id][level], spot.row]
                if other is not spot and spot.may_mean(other)]

    level = {grid.grid_id: 0 for grid in grids} | {
        spot.grid_id: 1 for spot in spots.values() if any(one.grid_id != spot.grid_id for one in rivals(spot, 0))}
    return [_place(grid, row, column, source + words[grid.grid_id][level[grid.grid_id]],
                   _fault(grid, row, column, source) or _unscaled(grid, grid.cells[row][column], usual)
                   or _ambiguous(rivals(spots[grid.grid_id, row, column], level[grid.grid_id])))
            for grid in grids for row in range(len(grid.rows)) for column in range(len(grid.columns))
            if grid.cells[row][column].value is not None]


def _usual_scale(grids: Sequence[Grid]) -> float:
    """The scale in which most amounts of money of a filing are printed."""
    scales = Counter(cell.scale for grid in grids for row in grid.cells for cell in row if cell.unit in _MONEY)
    return scales.most_common(1)[0][0] if scales else 1.0


def _unscaled(grid: Grid, cell: Cell, usual: float) -> str:
    """Whether a round amount may be in the filing's usual scale, though its table does not say so."""
    is_round = cell.scale == 1 < usual and cell.unit in _MONEY and "." not in cell.text
    return "the table may be in millions or thousands and does not say so" if (
        is_round and not grid.unit_note and abs(cell.value or 0) < _MOST_UNSCALED) else ""


def _words(grid: Grid) -> tuple[str, str]:
    """The words for a table's place: with its section, and with its caption too."""
    heading, caption = heading_of(grid), caption_of(grid)
    section = f', section "{heading}"' if heading else ""
    return section, section + (f', table of {caption[0].lower() + caption[1:]}' if caption else "")


def _ambiguous(rivals: Sequence[Labels]) -> str:
    return "another cell of the filing has the same labels" if rivals else ""


def _place(grid: Grid, row: int, column: int, source: str, fault: str) -> Place:
    label = label_of(grid.columns[column])
    return Place(CellRef(grid_id=grid.grid_id, row=row, column=column), grid.cells[row][column],
                 _row(grid, row), label, period_of(label), source, fault)


def _row(grid: Grid, row: int) -> str:
    """A row's own label behind the one above it; behind all that are, where two rows would be called the same."""
    short = [": ".join(label.split(": ")[-2:]) for label in grid.rows]
    return label_of(short[row] if short.count(short[row]) == 1 else grid.rows[row])


def _fault(grid: Grid, row: int, column: int, source: str) -> str:
    """What of a cell's labels keeps it from being asked for."""
    labels, cell = (_row(grid, row), label_of(grid.columns[column])), grid.cells[row][column]
    if not source:
        return "the filing does not say its fiscal year"
    if not re.search(r"[^\W\d_]{2}", labels[0]):
        return "the row has no label in words"
    if not labels[1]:
        return "the column has no label"
    if max(map(len, labels)) > _LONGEST_LABEL:
        return f"a label is longer than {_LONGEST_LABEL} characters"
    is_bare = not unit_words(cell.unit, cell.scale) and not source.startswith(_PAPER)
    if is_bare and not _COUNTS.search(" ".join(labels)):
        return "the filing does not say the unit"
    return "the cell holds a dash for nil" if not re.search(r"\d", cell.text) else ""


def rows_of(found: Iterable[Place]) -> Iterator[list[Place]]:
    """The places of one row and measure whose columns are periods, in the order of time; each period once."""
    rows: dict[tuple, dict[tuple[int, int, int], Place]] = {}
    for place in found:
        if place.period and not place.fault:
            key = place.ref.grid_id, place.ref.row, folded(place.period.measure), place.kind
            rows.setdefault(key, {}).setdefault(place.period.order, place)
    for row in rows.values():
        yield [row[order] for order in sorted(row)]
