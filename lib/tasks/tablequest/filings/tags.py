"""Take the values of tagged cells from inline XBRL, and the scale of their neighbours with them."""

import re
from collections import Counter
from dataclasses import replace

from lxml.html import HtmlElement

from lib.tasks.tablequest.filings.facts import FACT, Fact, Facts
from lib.tasks.tablequest.grids.cells import PlacedCell
from lib.tasks.tablequest.grids.grid import ReadGrid
from lib.tasks.tablequest.grids.values import MARK
from lib.tasks.tablequest.records import Cell

Position = tuple[int, int]  # row, column
_Kind = tuple[str, float]  # unit and scale
_OWN = {"times": 0, "percentage points": -2, "basis points": -4}  # as print -> power of a tag
_MARK = re.compile(rf"{MARK}\s*$")


def tagged_cells(grid: ReadGrid, facts: Facts) -> dict[Position, Fact]:
    """Return the fact of each cell that prints one number, which is tagged."""
    found = {}
    for row, line in enumerate(grid.placed):
        for column, placed in enumerate(line):
            tags = _tags(placed) if placed else []
            if len(tags) == 1 and _is_all(placed, tags[0]) and (fact := facts.of(tags[0])):
                found[row, column] = fact
    return found


def with_tags(grid: ReadGrid, tagged: dict[Position, Fact]) -> ReadGrid:
    """Return `grid` with the values, units, scales, signs and periods of its tagged cells.

    A cell keeps the sign that a reader sees: a tag has the sign of its concept, which a row inverts
    for all its cells or for none. An untagged cell that the rules read alike with tagged ones of
    its row takes their unit and scale; else, with those of its column, else of its table, it takes
    the scale if the unit is not another. `Grid.doubt` says if the rules alone would read untagged
    cells otherwise, or if the tagged cells disagree.
    """
    if not tagged:
        return grid
    inverted = _inverted(grid, tagged)
    read = grid.grid.cells
    kinds = {place: kind_of(fact, read[place[0]][place[1]]) for place, fact in tagged.items()}
    learned, n_other, n_open, n_untagged = _Learned(grid, kinds), 0, 0, 0
    done = []
    for row, line in enumerate(read):
        cells = []
        for column, cell in enumerate(line):
            if fact := tagged.get((row, column)):
                unit, scale = kinds[row, column]
                is_below = _is_below(cell, fact, inverted[row, fact.concept])
                value = -fact.value if is_below and fact.value else fact.value
                cell = Cell(text=cell.text, value=value, unit=unit, scale=scale,
                            period=fact.period)
            elif cell.value is not None:
                kind, is_open = learned.of(row, column, (cell.unit, cell.scale))
                if cell.value:  # a dash says nothing of units
                    n_untagged += 1
                    n_other += kind != (cell.unit, cell.scale)
                    n_open += is_open
                cell = cell.model_copy(update=dict(zip(("unit", "scale"), kind, strict=True)))
            cells.append(cell)
        done.append(tuple(cells))
    doubt = ""
    if n_other or n_open:
        doubt = (f"of {n_untagged} untagged values the rules alone read {n_other} in another unit "
                 f"or scale than the tagged values beside them, and {n_open} like tagged values "
                 "whose units or scales differ")
    return replace(grid, grid=grid.grid.model_copy(update={"cells": tuple(done), "doubt": doubt}))


class _Learned:
    """What the tags say of cells that the rules read alike, by row, column and table."""

    def __init__(self, grid: ReadGrid, kinds: dict[Position, _Kind]) -> None:
        self._by: dict[tuple, set[_Kind]] = {}
        for (row, column), kind in kinds.items():
            cell = grid.grid.cells[row][column]
            if cell.value:  # zero and a dash look alike in every scale
                for place in (("row", row), ("column", column), ("table", 0)):
                    self._by.setdefault((*place, cell.unit, cell.scale), set()).add(kind)

    def of(self, row: int, column: int, kind: _Kind) -> tuple[_Kind, bool]:
        """Return the unit and scale of an untagged cell, and whether its neighbours disagree."""
        is_open = False
        for place in (("row", row), ("column", column), ("table", 0)):
            found = self._by.get((*place, *kind), set())
            if len(found) > 1:
                is_open = True
            elif found:
                [tagged] = found
                is_own = place[0] == "row" or kind[0] in ("", tagged[0])
                return (tagged if is_own else kind), is_open or not is_own and tagged != kind
        return kind, is_open


def _tags(placed: PlacedCell) -> list[HtmlElement]:
    """Return the innermost tags; a number with two concepts has two tags around it."""
    tags = [tag for element in placed.elements for tag in element.iter(FACT)]
    return [tag for tag in tags if next(tag.iterdescendants(FACT), None) is None]


def _is_all(placed: PlacedCell, tag: HtmlElement) -> bool:
    """Return whether the cell prints no number besides the tagged one and a footnote's mark."""
    text, printed = " ".join("".join(tag.itertext()).split()), placed.printed or placed.text
    return not re.search(r"\d", _MARK.sub("", printed.replace(text, "", 1)))


def kind_of(fact: Fact, cell: Cell) -> tuple[str, float]:
    """Return unit and scale as cells have them: 12.4% is 12.4 in "%", whatever the tag's scale.

    `cell` is as the rules read it: only it has the "x" of "4.6x", whose tag is a pure number.
    """
    scale = float(f"1e{fact.power}")
    if fact.unit is None:
        return cell.unit, scale
    if fact.unit:
        return fact.unit, scale
    if cell.unit in _OWN and _OWN[cell.unit] == fact.power:
        return cell.unit, 1.0
    return ("%", 1.0) if fact.power == -2 else ("", scale)


def _is_below(cell: Cell, fact: Fact, votes: int) -> bool:
    """Return whether a reader sees a negative number; where the row is undecided, as printed."""
    if not votes and cell.value:
        return cell.value < 0
    return fact.is_negative != (votes > 0)


def _inverted(grid: ReadGrid, tagged: dict[Position, Fact]) -> Counter[tuple[int, str]]:
    """Return by row and concept how many more cells are printed with the other sign than not."""
    votes: Counter[tuple[int, str]] = Counter()
    for (row, column), fact in tagged.items():
        if value := grid.grid.cells[row][column].value:
            votes[row, fact.concept] += 1 if (value < 0) != fact.is_negative else -1
    return votes
