"""Find the cells that a question may mean although they have other values."""

import re
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from lib.tasks.tablequest.questions.wording import Period, decimals_of, folded, label_of
from lib.tasks.tablequest.records import Cell, Grid, own_label

_FILLER = frozenset("a an and as at for from in its of on or our the to total totals with".split())
_PLAIN_COLUMNS = frozenset(("", "amount", "consolidated", "reported", "balance"))

_MOST_ALIKE = 500  # cells with the same words; more are not told apart


class Spot(NamedTuple):
    """A cell's number and the words that lead to it."""

    grid_id: str
    own: frozenset[str]  # of the row's own label
    groups: frozenset[str]  # of the groups that a question names
    around: frozenset[str]  # of all its labels, its section and its caption
    measure: str  # what the column measures apart from a time
    unit: str
    period: Period | None
    tag: str  # the period in which it is tagged, or ""
    low: float  # smallest and largest amount that its print may stand for, in whole units
    high: float

    @classmethod
    def of(cls, grid: Grid, name: str, column: int, cell: Cell, period: Period | None) -> "Spot":
        """Return the words of a cell in a row that questions call `name`."""
        label = label_of(grid.columns[column])
        around = frozenset.union(*map(words, (name, grid.section, grid.caption, label)))
        exact, step = float(cell.exact), 0.49 * cell.scale * 10.0 ** -decimals_of(cell)
        groups = name.rpartition(": ")[0]
        return cls(grid.grid_id, words(own_label(name)), words(groups), around,
                   folded(period.measure if period else label), cell.unit, period, cell.period,
                   exact - step, exact + step)

    def may_mean(self, other: "Spot") -> bool:
        """Return whether a question on this cell may also mean `other`, which has equal row words.

        It may unless the unit, the period, or what the columns measure differ, or the groups of
        two rows of one table; a row whose group is not known may be of any.
        """
        if self.unit and other.unit and self.unit != other.unit:
            return False
        in_other_group = other.groups and not self.groups <= other.around
        if self.grid_id == other.grid_id and in_other_group:
            return False
        is_named = self.measure not in _PLAIN_COLUMNS and self.measure != other.measure
        if is_named and not (other.measure in _PLAIN_COLUMNS
                             and words(self.measure) <= other.around):
            return False
        if not self.period:
            return self.measure == other.measure and not other.period
        if not other.period:
            return other.measure in _PLAIN_COLUMNS or other.measure == self.measure
        is_tagged_alike = bool(self.tag) and self.tag == other.tag
        return is_tagged_alike or self.period.may_be(other.period)

    def differs(self, other: "Spot") -> bool:
        """Return whether no amount can be printed as both values."""
        return self.high < other.low or other.high < self.low


@lru_cache(maxsize=1 << 14)
def words(text: str) -> frozenset[str]:
    """Return the words of a label in singular, without fillers."""
    plain = folded(re.sub(r"[’']s\b", "", text)).split()
    return frozenset(map(_singular, plain)) - _FILLER


def _singular(word: str) -> str:
    if len(word) < 4 or word.endswith("ss"):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    return re.sub(r"(?<=[xs])es$|(?<=[cs]h)es$|s$", "", word)


def rivals_of(spots: Sequence[Spot]) -> set[Spot]:
    """Return the spots whose question another spot of the filing answers with another value."""
    alike: defaultdict[frozenset, list[Spot]] = defaultdict(list)
    for spot in spots:
        alike[spot.own].append(spot)
    return {spot for of_row in alike.values() for spot in of_row
            if len(of_row) > _MOST_ALIKE or any(
                spot.differs(other) and spot.may_mean(other) for other in of_row)}
