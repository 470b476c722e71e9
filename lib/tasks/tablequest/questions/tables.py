"""Relate the cells of a table: totals that are sums, neighbouring items and time series."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from lib.tasks.tablequest.places.phrases import is_fragment
from lib.tasks.tablequest.places.places import Place, rows_of
from lib.tasks.tablequest.questions.wording import decimals_of, period_of

_BALANCE = re.compile(r"\b(?:beginning|ending|opening|closing|balances?"
                      r"|end of (?:the )?(?:year|period))\b|^(?:less|add|plus)\b", re.I)
_MOST_PARTS = 30  # rows of a sum, or between neighbours
# "2026 and 2027", "Thereafter"; not "Taxes 2026"
_TIMES = re.compile(r"(?:\b(?:19|20)\d\d\b|fiscal|years?|and|to|through|thereafter|[\W_])+", re.I)


@dataclass(frozen=True)
class Table:
    """The places of one grid."""

    places: tuple[Place, ...]

    @cached_property
    def at(self) -> dict[tuple[int, int], Place]:
        """Return (row, column) -> place."""
        return {(place.ref.row, place.ref.column): place for place in self.places}

    @cached_property
    def columns(self) -> dict[int, list[Place]]:
        """Return column -> its places, from top to bottom."""
        found: dict[int, list[Place]] = defaultdict(list)
        for place in self.places:
            found[place.ref.column].append(place)
        return dict(found)

    @cached_property
    def _series(self) -> dict[tuple[int, int], list[Place]]:
        return {(place.ref.row, place.ref.column): row for row in rows_of(self.places)
                if len(row) > 1 for place in row}

    @cached_property
    def totals(self) -> dict[int, tuple[int, ...]]:
        """Map each sum's row to the rows above that add up to it, in every column with a value.

        A subtotal among them stands for its own parts. A row whose label does not say that it is a
        sum must be one in two columns.
        """
        found: dict[int, tuple[int, ...]] = {}
        rows = sorted({place.ref.row for place in self.places})
        open_rows: list[int] = []  # without the parts of sums
        for row in rows:
            if parts := self._summed(row, open_rows[:-_MOST_PARTS - 1:-1]):
                found[row] = parts
                del open_rows[-len(parts):]
            open_rows.append(row)
        return found

    @cached_property
    def leads(self) -> set[int]:
        """Return the rows that are the sum of rows below them, as a line before its sub-lines."""
        rows = sorted({place.ref.row for place in self.places})
        return {row for number, row in enumerate(rows)
                if self._summed(row, rows[number + 1:number + 1 + _MOST_PARTS])}

    def _summed(self, total: int, rows: Sequence[int]) -> tuple[int, ...]:
        """Return the first of `rows`, at least two, that add up to the row `total`, or ()."""
        wholes = [whole for column in self.columns if (whole := self.at.get((total, column)))
                  and not whole.is_part and whole.value]
        if not wholes or len(wholes) < 2 and not wholes[0].is_total:
            return ()
        sums, items = [0.0] * len(wholes), [[] for _ in wholes]
        for count, row in enumerate(rows, 1):
            for at, whole in enumerate(wholes):
                item = self.at.get((row, whole.ref.column))
                if item is None or item.kind != whole.kind:
                    return ()
                items[at].append(item)
                sums[at] += item.value
            if count > 1 and all(
                    abs(found - whole.value) < 1.01  # before the slower test
                    and abs(found - whole.value) <= _slack(whole, parts)
                    and sum(bool(part.value) for part in parts) > 1
                    for found, whole, parts in zip(sums, wholes, items, strict=True)):
                return tuple(sorted(rows[:count]))
        return ()

    def series(self, place: Place) -> list[Place]:
        """Return the place's row over the periods, in order of time; [] if there is only one."""
        return self._series.get((place.ref.row, place.ref.column), [])

    def total_of(self, place: Place) -> Place | None:
        """Return the smallest total that `place` is a part of, if all its parts are above 0."""
        for row, parts in self.totals.items() if not place.is_part else ():
            whole = self.at.get((row, place.ref.column))
            is_whole = whole and whole.kind == place.kind and not whole.fault
            if place.ref.row in parts and is_whole:
                return whole if all(part.value > 0 for part in self.parts_of(whole)) else None
        return None

    def parts_of(self, whole: Place | None) -> list[Place]:
        """Return the places that sum to `whole`, one of `totals`, in the table's order."""
        rows = self.totals.get(whole.ref.row, ()) if whole else ()
        parts = (self.at.get((row, whole.ref.column)) for row in rows)
        return [part for part in parts if part]

    def neighbours(self, place: Place) -> list[Place]:
        """Return other items of the same column and kind that share a total or a group label."""
        whole = self.total_of(place)
        row, column = place.ref.row, place.ref.column
        near = (self.at.get((other, column)) for other in range(row - _MOST_PARTS,
                                                                row + _MOST_PARTS))
        items = self.parts_of(whole) if whole else list(filter(None, near))
        return [item for item in items if item.kind == place.kind and item.ref != place.ref
                and not item.fault and item.group == place.group and (whole or place.group)
                and not is_odd(item) and item.row != place.row and not self.is_sum(item)
                and not is_rest(item)]

    def is_sum(self, place: Place) -> bool:
        """Return whether a row is the sum of others, beside which it is never ranked."""
        return place.ref.row in self.totals or place.ref.row in self.leads

    def clear_parts(self, whole: Place | None) -> list[Place]:
        """Return the parts of `whole` if all can be named and compared, else []."""
        parts = self.parts_of(whole)
        owns = {part.own for part in parts}
        is_clear = len(owns) == len(parts) and not any(
            part.misread or is_odd(part) or self.is_sum(part) or is_fragment(part.own)
            or not re.search(r"\d", part.cell.text) or '"' in part.own
            or part.group.rpartition(": ")[2] in owns for part in parts)
        return parts if is_clear else []

    def before(self, place: Place) -> Place | None:
        """Return the same item one period earlier; None if the table has none or skips one."""
        row = self.series(place)
        number = row.index(place) if row else 0
        earlier = row[number - 1] if number else None
        is_next = earlier and place.period.order[0] - earlier.period.order[0] == 1
        return earlier if is_next else None


def is_opening(place: Place) -> bool:
    """Return whether a row is an opening balance, which is carried over from the year before."""
    return bool(re.search(r"\b(?:beginning|opening)\b", place.row, re.I))


def is_rest(place: Place) -> bool:
    """Return whether a row only holds what others do not, which is not compared with them."""
    return bool(re.fullmatch(r"(?:all )?others?(?:,? net)?", place.own, re.I))


def is_odd(place: Place) -> bool:
    """Return whether a row is not comparable, as a balance, deduction, change, total or time is."""
    return _is_odd(place.own) or place.is_change or place.is_total


@lru_cache(maxsize=1 << 16)
def _is_odd(label: str) -> bool:
    period = period_of(label)
    is_time = _TIMES.fullmatch(label) or period and not period.measure  # "Fiscal 2026"
    is_measure = re.search(r"\bgaap\b|^(?:as )?(?:reported|adjusted)\b", label, re.I)
    return bool(is_time or is_measure or _BALANCE.search(label))


def tables_of(found: Iterable[Place]) -> dict[str, Table]:
    """Return places by grid_id, as tables."""
    by_grid: dict[str, list[Place]] = defaultdict(list)
    for place in found:
        by_grid[place.ref.grid_id].append(place)
    return {grid_id: Table(tuple(of_grid)) for grid_id, of_grid in by_grid.items()}


def _slack(whole: Place, items: list[Place]) -> float:
    """Return how far a sum of rounded numbers may be from its printed total.

    That is one unit of the last digit, unless this is much of the total.
    """
    unit = 10.0 ** -decimals_of(whole.cell, *(item.cell for item in items))
    return unit * 1.001 if abs(whole.value) > 1000 * unit else unit / 1000
