"""What the cells of one table have to do with each other: totals that are sums, items side by side, time series."""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from lib.tablequest.questions.amounts import decimals_of
from lib.tablequest.questions.periods import period_of
from lib.tablequest.questions.places import Place, rows_of

_BALANCE = re.compile(r"\b(?:beginning|ending|opening|closing|balances?|end of (?:the )?(?:year|period))\b|"
                      r"^(?:less|add|plus)\b", re.I)
_TIMES = re.compile(r"(?:\b(?:19|20)\d\d\b|fiscal|years?|and|to|through|thereafter|[\W_])+", re.I)


@dataclass(frozen=True)
class Table:
    """The places of one grid."""

    places: tuple[Place, ...]

    @cached_property
    def at(self) -> dict[tuple[int, int], Place]:
        """(row, column) -> place."""
        return {(place.ref.row, place.ref.column): place for place in self.places}

    @cached_property
    def columns(self) -> dict[int, list[Place]]:
        """column -> its places, from the top."""
        found: dict[int, list[Place]] = defaultdict(list)
        for place in self.places:
            found[place.ref.column].append(place)
        return dict(found)

    @cached_property
    def series(self) -> dict[tuple[int, int], list[Place]]:
        """(row, column) of a place -> its row over the periods, in the order of time, at least 2."""
        return {(place.ref.row, place.ref.column): row for row in rows_of(self.places) if len(row) > 1
                for place in row}

    @cached_property
    def totals(self) -> dict[int, tuple[int, ...]]:
        """The row of each total -> the rows above it that sum to it, in every column that can be added up."""
        rows = sorted({place.ref.row for place in self.places})
        found = {}
        for number, total in enumerate(rows):
            spans = (tuple(rows[first:number]) for first in range(number - 2, -1, -1))
            if parts := next((span for span in spans if self._is_sum(total, span)), None):
                found[total] = parts
        return found

    def _is_sum(self, total: int, parts: tuple[int, ...]) -> bool:
        lines = [(self.at.get((total, column)), [self.at.get((row, column)) for row in parts])
                 for column in self.columns]
        lines = [(whole, items) for whole, items in lines if whole and whole.is_total and not whole.is_part]
        return bool(lines) and all(
            all(item and item.kind == whole.kind for item in items)
            and abs(sum(item.value for item in items) - whole.value) <= _slack(whole, items) for whole, items in lines)

    def total_of(self, place: Place) -> Place | None:
        """The smallest total that `place` is a part of, in its column, where all of its parts are above 0."""
        for row, parts in self.totals.items() if not place.is_part else ():
            whole = self.at.get((row, place.ref.column))
            if place.ref.row in parts and whole and whole.kind == place.kind and not whole.fault:
                return whole if all(part.value > 0 for part in self.parts_of(whole)) else None
        return None

    def parts_of(self, whole: Place) -> list[Place]:
        """What sums to `whole`, a total of `totals`, in its column and the table's order."""
        return [self.at[row, whole.ref.column] for row in self.totals.get(whole.ref.row, ())
                if (row, whole.ref.column) in self.at]

    def beside(self, place: Place) -> list[Place]:
        """Other items of the same kind in the column: the parts of one total, else what stands under one label."""
        whole = self.total_of(place)
        items = self.parts_of(whole) if whole else [
            other for other in self.columns[place.ref.column] if place.group and other.group == place.group]
        return [item for item in items if item.kind == place.kind and item.ref != place.ref and not item.fault
                and item.group == place.group and not is_odd(item) and item.row != place.row]

    def before(self, place: Place) -> Place | None:
        """The same item one period earlier; None where the table has none or skips."""
        row = self.series.get((place.ref.row, place.ref.column), [place])
        number = row.index(place)
        earlier = row[number - 1] if number else None
        is_next = earlier and place.period.order[0] - earlier.period.order[0] == 1
        return earlier if is_next else None


def is_opening(place: Place) -> bool:
    """Whether a balance is the one before, carried over: its own year says nothing of it."""
    return bool(re.search(r"\b(?:beginning|opening)\b", place.row, re.I))


def is_odd(place: Place) -> bool:
    """Whether a row is no item that others are set against: a balance, a deduction, a change, a total or a time."""
    own = place.row.rpartition(": ")[2]
    period = period_of(own)
    is_time = bool(_TIMES.fullmatch(own)) or bool(period and not period.measure)  # "Fiscal 2026", "Thereafter"
    return is_time or bool(_BALANCE.search(own)) or place.is_change or place.is_total


def tables_of(found: Iterable[Place]) -> dict[str, Table]:
    """Places by grid_id, as tables."""
    by_grid: dict[str, list[Place]] = defaultdict(list)
    for place in found:
        by_grid[place.ref.grid_id].append(place)
    return {grid_id: Table(tuple(of_grid)) for grid_id, of_grid in by_grid.items()}


def _slack(whole: Place, items: list[Place]) -> float:
    """How far a sum of rounded numbers may be from its printed total: a unit of the last digit, if little."""
    unit = 10.0 ** -decimals_of(whole.cell, *(item.cell for item in items))
    return unit * 1.001 if abs(whole.value) > 1000 * unit else unit / 1000
