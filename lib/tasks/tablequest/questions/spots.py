"""Cells that a question can name: their labels say what is measured, and no other cell's do too."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from lib.core.records import Rejected
from lib.tasks.tablequest.records import Cell, CellRef, Filing, Grid, own_label
from lib.tasks.tablequest.wording import decimals_of, period_words, unit_words, words_of

_MOST_LABEL = 12  # words
_TIME = re.compile(
    r"\([^()]*\)|\b(?:(?:19|20)\d\d|\d{1,2}|fiscal|years?|quarters?|months?|weeks?|ended|ending|"
    r"three|six|nine|twelve|fifty-\w+|first|second|third|fourth|as of|at|for|the|of|in|"
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sep(?:t|tember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b|[^\w\s%$&/-]",
    re.I,
)
_DAY = re.compile(r"(?:As of )?\w+ \d{1,2}, \d{4}(?: \w+)?", re.I)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_CHANGE = re.compile(r"change|increase|decrease|growth|variance|versus|\bvs\b|unrealized", re.I)
_SHARE = re.compile(r"%|percent|\b(?:rate|ratio|margin|yield|return)s?\b", re.I)
_NOTE_MARK = re.compile(
    r"(?:\s*(?:\((?:\d{1,2}|[a-z]|notes? [^()]*)\)|\[\w\]|[*†‡§]))+$|\(\d\)", re.I
)
_NO_PHRASE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|will|which|that|we|continued|beginning|opening)\b|"
    r"[.;!?](?:\s|$)|\b(?:19|20)\d\d\b|\b(?:january|july|october) 1$|"
    r"^(?:and|or|of|from|to|in|on|at|by|with|less|add|plus|due|after|as)\b|"
    r"(?:\b(?:and|or|of|from|to|in|on|at|by|with|for|the|than|per)|[-–—/&,(:])$",
    re.I,
)
_BARE = words_of(
    "addition adjusted adjustment all amount average balance basic beyond but carrying change "
    "charge contribution current date deferred diluted domestic end ending estimated exercised "
    "fair federal first foreign forfeited grant granted gross"
) | words_of(
    "authorized canceled cancelled acquisition issued high international item level low net new "
    "non noncurrent one other others "
    "outstanding payment period purchase remaining reported second short state "
    "subtotal term thereafter third three total two unearned us u.s. value vested "
    "weighted within year"
)
# Words that say what is measured, as "Net sales" does and "Europe" does not
_MEASURED = (
    words_of(
        "sales revenue income expense expenditure cost profit loss earnings margin asset liability "
        "equity cash debt receivable payable inventory tax interest depreciation amortization "
        "dividend share stock capital goodwill property equipment investment borrowing"
    )
    | words_of(
        "lease compensation benefit provision proceeds payment purchase repurchase issuance "
        "acquisition balance rate percentage ratio value charge gain fee contribution credit "
        "reserve allowance commitment obligation accrual deposit deficit employee store price wage"
    )
    | words_of(
        "rent maintenance incentive settlement impairment adjustment "
        "discount fund security note bond loan account intangible backlog carloads volume outlay "
        "collateral"
    )
)


@dataclass(frozen=True)
class Spot:
    """A cell with a number, and what a question calls it."""

    ref: CellRef
    cell: Cell
    row: str  # its label without footnote marks
    column: str
    measure: str  # what its column says apart from a time
    around: frozenset[str]  # words of its labels, of its section and of its table's caption

    @cached_property
    def key(self) -> frozenset[str]:
        """Return the words that a question on it has for certain."""
        return words_of(own_label(self.row)) | words_of(self.measure)

    @cached_property
    def is_dated(self) -> bool:
        """Return whether a tag gives its period; without a header, the page may not say it."""
        return self.cell.source == "tag" and "-" in self.cell.period and self.column != ""

    @cached_property
    def period(self) -> tuple[str, str]:
        """Return the span and the last day of its period in words, ("", "") if it is not dated."""
        return period_words(self.cell.period if self.is_dated else "")

    @property
    def when(self) -> str:
        """Return its period as a question asks for it, or its column; "" if neither says it."""
        span, day = self.period
        if self.is_dated:
            return f"for the {span} ended {day}" if span else day and f"as of {day}"
        return f'under "{self.column}"' if _YEAR.search(self.column) else ""

    @cached_property
    def end(self) -> str:
        """Return the last day or the year of its period, as far as it is known."""
        return self.cell.period[-10:] or max(_YEAR.findall(self.column), default="")

    @property
    def fault(self) -> str:
        """Return why no question can ask for it, whatever else the filing has, or ""."""
        own = own_label(self.row)
        if not all(part.strip() for part in self.row.split(": ")) or not re.search(
            r"[^\W\d_]{3}", own
        ):
            return "its row has no complete label"
        is_open = self.row.count("(") != self.row.count(")") or '"' in self.row
        if (
            is_open
            or not own[0].isupper()
            or any(map(_NO_PHRASE.search, (*self.row.split(": "), self.measure)))
        ):
            return "its row's label is no noun phrase"
        if words_of(_TIME.sub(" ", own)) <= _BARE:
            return "its row's label has no noun of its own"
        if not words_of(f"{self.row} {self.measure}") & _MEASURED:
            return "its labels do not say what is measured"
        if len(self.row.split()) + len(self.measure.split()) > _MOST_LABEL:
            return "its labels are too long"
        if not (unit_words(self.cell.unit, 1.0) and self.when):
            return "its unit or period is unknown"
        if self.cell.unit == "%" and not _SHARE.search(f"{self.row} {self.measure}"):
            return "its labels do not say that it is a percentage"
        if self.period[0] and _DAY.fullmatch(self.column):
            return "its tag says a span, its column a day"
        if self.cell.value <= 0 or _CHANGE.search(f"{self.measure} {own}"):
            return "it is a change, zero or negative"
        return ""

    @property
    def under(self) -> str:
        """Return words for what its column measures, if `when` does not quote the column."""
        return f' under "{self.measure}"' if self.measure and self.is_dated else ""

    @property
    def unit(self) -> str:
        """Return its unit and scale in words."""
        return unit_words(self.cell.unit, self.cell.scale)

    @property
    def name(self) -> str:
        """Return the item as a question quotes it."""
        return f'"{self.row}"{self.under}'

    def may_mean(self, other: "Spot") -> bool:
        """Return whether a question on this cell fits `other`, which has another value."""
        if not self.key <= other.around or other.cell.unit not in ("", self.cell.unit):
            return False
        one, two = self.cell.period, other.cell.period
        is_same = self.end.startswith(other.end) or other.end.startswith(self.end)
        if "/" in one and "/" in two:
            is_same = one == two
        step = max(spot.cell.scale * 10.0 ** -decimals_of([spot.cell]) for spot in (self, other))
        return is_same and abs(self.cell.exact - other.cell.exact) > step / 2


def spots_of(grid: Grid) -> list[Spot]:
    """Return the cells of a table that have a number."""
    above = words_of(f"{grid.section} {grid.caption}")
    measures = [" ".join(_TIME.sub(" ", column).split()).strip(" -/&$") for column in grid.columns]
    return [
        Spot(
            CellRef(grid_id=grid.grid_id, row=row, column=column),
            cell,
            _shown(label),
            _shown(grid.columns[column]),
            measures[column],
            above | words_of(f"{label} {measures[column]}"),
        )
        for row, (label, cells) in enumerate(zip(grid.rows, grid.cells, strict=True))
        for column, cell in enumerate(cells)
        if cell.value is not None
    ]


def _shown(label: str) -> str:
    *groups, own = (
        _NOTE_MARK.sub("", " ".join(part.split())).strip(" :") for part in label.split(": ")
    )
    return ": ".join([*(group for group in groups if _TIME.sub("", group).strip()), own])


def distinct_spots(
    filing: Filing, grids: Sequence[Grid]
) -> tuple[dict[str, list[Spot]], list[Rejected]]:
    """Return by grid_id the cells that a question can ask for, and the others with the reason."""
    spots, left_out = [spot for grid in grids for spot in spots_of(grid)], []
    fit, with_word = defaultdict(list), defaultdict(list)
    for spot in spots:
        for word in spot.around:
            with_word[word].append(spot)
    for spot in spots:
        reason = spot.fault
        near = [] if reason else min((with_word[word] for word in spot.key), key=len)
        if any(spot.may_mean(other) for other in near):
            reason = "another cell with its words, date and unit has another value"
        if reason:
            item = f"{spot.ref.grid_id}: {spot.row} | {spot.measure}"
            left_out.append(Rejected(document_id=filing.filing_id, reason=reason, item=item))
        else:
            fit[spot.ref.grid_id].append(spot)
    return fit, left_out
