"""Draft questions by rules: the parts that medium and hard questions share."""

import string
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from lib.tasks.tablequest.places.places import Place
from lib.tasks.tablequest.questions.expression import evaluate
from lib.tasks.tablequest.questions.tables import Table, is_opening
from lib.tasks.tablequest.questions.wording import POINTS, amount, decimals_of, unit_words
from lib.tasks.tablequest.records import CellRef

MOST_PERIODS = 5  # longest series to average, or to summarize in two sentences
PERCENT = ("%", 1.0)
MOST_PERCENT = 400.0  # a larger change comes from a base close to zero
_LEAST_PERCENT = 0.05  # a smaller change is printed as none
_FORM = "Answer in fewer than three sentences and support the statement with the figures."


@dataclass(frozen=True)
class Draft:
    """A question that is not yet part of a chain, with fields as in TableQuestion."""

    kind: str
    question: str
    answer: str
    steps: tuple[str, ...]
    cells: dict[str, CellRef]
    expression: str = ""
    value: float | None = None
    unit: str = ""
    scale: float = 1.0


def lettered(items: Sequence[Place]) -> dict[str, Place]:
    """Map letters to the items of a calculation."""
    return dict(zip(string.ascii_lowercase, items, strict=False))


def givens(cells: dict[str, Place]) -> tuple[str, ...]:
    """Return the first steps of a calculation, which say what each letter stands for."""
    return tuple(f"{name} = {place.name} = {place.printed}" for name, place in cells.items())


def draft_of(kind: str, asked: str, items: Sequence[Place], expression: str,
             unit: tuple[str, float], decimals: int, answer: str = "") -> Draft:
    """Return a calculation over `items`, which are a, b, c … in `expression`.

    Give `answer` if it is not a figure.
    """
    cells = lettered(items)
    value = evaluate(expression, {name: place.value for name, place in cells.items()})
    result = amount(value, *unit, decimals)
    return Draft(kind, f"According to {items[0].source}, {asked}", answer or result,
                 (*givens(cells), f"{expression} = {result}"),
                 {name: place.ref for name, place in cells.items()}, expression, value, *unit)


class Figure(NamedTuple):
    """A computed value, and its printed form."""

    value: float
    text: str

    @property
    def size(self) -> str:
        """Return the text without its sign."""
        return self.text.lstrip("-")

    @property
    def signed(self) -> str:
        """Return the text with its sign, including a plus."""
        return f"+{self.text}" if self.value > 0 and not self.text.startswith("-") else self.text


@dataclass
class Working:
    """The cells of an analysis and the steps that compute its figures."""

    items: Sequence[Place]
    steps: list[str] = field(default_factory=list)

    def figure(self, expression: str, unit: str, scale: float = 1.0, decimals: int = 1) -> Figure:
        """Compute an expression over the cells' letters, and record it as a step."""
        values = {name: place.value for name, place in lettered(self.items).items()}
        value = evaluate(expression, values)
        figure = Figure(value, amount(value, unit, scale, decimals))
        self.steps.append(f"{expression} = {figure.text}")
        return figure

    def change(self, new: Place, old: Place) -> Figure:
        """Return the change between two items, in points for percentages, else in percent."""
        letters = {id(item): name for name, item in lettered(self.items).items()}
        above, below = letters[id(new)], letters[id(old)]
        if new.cell.unit == "%":
            return self.figure(f"{above} - {below}", POINTS, 1.0, decimals_of(new.cell, old.cell))
        return self.figure(f"({above} - {below}) / {below} * 100", "%")

    def in_own_unit(self, expression: str) -> Figure:
        """Return a sum or difference of the items in their own unit."""
        return self.figure(expression, *self.items[0].kind, printed_decimals(self.items))

    def draft(self, kind: str, asked: str, answer: str, source: str = "") -> Draft:
        """Return the question on `items` with the steps computed so far."""
        cells = lettered(self.items)
        question = f"According to {source or self.items[0].source}, {asked} {_FORM}"
        return Draft(kind, question, answer,
                     (*givens(cells), *dict.fromkeys(self.steps)),
                     {name: item.ref for name, item in cells.items()})


def answer_in(place: Place) -> str:
    """Return the request to answer in the place's unit."""
    words = unit_words(*place.kind)
    return f"Answer in {words}" if words else "Answer with the number"


def signed_in(what: str, unit: tuple[str, float]) -> str:
    """Return a request such as "State the change with its sign, in percent."."""
    words = unit_words(*unit)
    return f"State the {what} with its sign" + (f", in {words}." if words else ".")


def difference_unit(place: Place) -> tuple[str, float]:
    """Return the unit and scale of a difference between two values like `place`."""
    return (POINTS, 1.0) if place.cell.unit == "%" else place.kind


def printed_decimals(items: Sequence[Place]) -> int:
    """Return the number of decimal places of the most exact of `items`, as printed."""
    return decimals_of(*(item.cell for item in items))


def tells(change: float, place: Place) -> bool:
    """Return whether a change says something: it is not printed as 0 or from a base near zero."""
    if place.cell.unit == "%":
        return change != 0
    return _LEAST_PERCENT <= abs(change) <= MOST_PERCENT


def moved(label: str, new: Place, old: Place, change: Figure) -> str:
    """Say how the item `label` changed, as in '"Mac" rose by 2.0% (from $5 to $6)'."""
    verb = "rose" if change.value > 0 else "fell"
    return f'"{label}" {verb} by {change.size} (from {old.printed} to {new.printed})'


def periods_told(place: Place, table: Table) -> list[Place]:
    """Return the item over 3 to MOST_PERIODS periods, all above 0; [] without such a series."""
    row = table.series(place)
    is_told = 3 <= len(row) <= MOST_PERIODS and not place.is_change and not is_opening(place)
    return row if is_told and min(item.value for item in row) > 0 else []


def together(items: Sequence[Place], word: str = "and") -> str:
    """Name items and, once, their group, as in '"Federal" and "State" (both under "Current")'."""
    group = items[0].group if all(item.group == items[0].group for item in items) else ""
    above = filter(None, (group and f'"{group}"', items[0].under.removeprefix("under ")))
    names = listed([f'"{item.own if group else item.row}"' for item in items], word)
    if not (shared := ", ".join(above)):
        return names
    return f"{names} ({'both' if len(items) == 2 else 'all'} under {shared})"


def listed(names: Sequence[str], word: str = "and") -> str:
    """Join names as in '2022, 2023 and 2024'."""
    return f" {word} ".join(filter(None, (", ".join(names[:-1]), names[-1])))
