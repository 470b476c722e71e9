"""Easy and medium questions by rules: one cell, or a calculation over a few that share unit and scale.

Each calculation is asked only where a reader of reports would: a change between two years of one item, a share of a
total whose parts sum to it, a ratio of two of its parts or one that has a name. How the answer is rounded is said.
"""

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass

from lib.tablequest.questions.amounts import POINTS, amount, decimals_of, unit_words
from lib.tablequest.questions.expression import evaluate
from lib.tablequest.questions.places import Place
from lib.tablequest.questions.tables import Table, is_odd, is_opening
from lib.tablequest.records import CellRef

_MOST_PERCENT = 400.0  # a larger change comes from a base next to nothing
_MOST_TIMES = 20.0  # of a ratio
_MOST_COMPARED = 5
MOST_PERIODS = 5  # of a series that is averaged, or told in two sentences
_DECIMALS = {1: "one decimal", 2: "two decimals", 3: "three decimals", 4: "four decimals"}
# Ratios with a name in finance: numerator, denominator, name, whether it is a percentage.
_METRICS = tuple((re.compile(above, re.I), re.compile(below, re.I), *rest) for above, below, *rest in (
    (r"^total current assets$", r"^total current liabilities$", "current ratio", False),
    (r"^total liabilities$", r"^total (?:share|stock)holders[’'] equity$", "ratio of liabilities to equity", False),
    (r"^gross (?:profit|margin)$", r"^(?:total )?(?:net )?(?:sales|revenues?)$", "gross margin", True),
    (r"^(?:operating income|income from operations)$", r"^(?:total )?(?:net )?(?:sales|revenues?)$",
     "operating margin", True),
    (r"^net (?:income|earnings)$", r"^(?:total )?(?:net )?(?:sales|revenues?)$", "net profit margin", True),
    (r"^provision for income taxes$", r"^(?:income|earnings) before (?:provision for )?(?:income )?taxes$",
     "effective tax rate", True)))


@dataclass(frozen=True)
class Draft:
    """A question that is not yet part of a chain; fields as of TableQuestion."""

    kind: str
    question: str
    answer: str
    steps: tuple[str, ...]
    cells: dict[str, CellRef]
    expression: str = ""
    value: float | None = None
    unit: str = ""
    scale: float = 1.0


def easy_of(place: Place) -> Draft:
    """The question for one cell. `place` must be without fault."""
    value, decimals = place.value, decimals_of(place.cell)
    answer = amount(value, *place.kind, decimals)
    question = f"According to {place.source}, what is reported for {said(place)}? {_answer_in(*place.kind)}."
    return Draft("extraction", question, answer, (f"a = {said(place)} = {answer}",), {"a": place.ref}, "a", value,
                 *place.kind)


def mediums_of(place: Place, table: Table) -> list[Draft]:
    """Every calculation that `place` is a sensible part of, of one kind the one that asks more first."""
    askers = (_difference, _percent_change, _average, _fastest, _peak, _share, _sum, _metric, _ratio)
    drafts = (ask(place, table) for ask in askers)
    return [draft for draft in drafts if draft]


def said(place: Place) -> str:
    """An item and where in its row: '"Mac" in 2024'."""
    return f'"{place.row}" {place.at}'.strip()


def named(items: Sequence[Place]) -> dict[str, Place]:
    """Letters for the values of a calculation."""
    return dict(zip(string.ascii_lowercase, items, strict=False))


def givens(cells: dict[str, Place]) -> tuple[str, ...]:
    """The first steps of a reasoning: what each letter stands for."""
    return tuple(f"{name} = {said(place)} = {amount(place.value, *place.kind, decimals_of(place.cell))}"
                 for name, place in cells.items())


def draft_of(kind: str, asked: str, items: Sequence[Place], expression: str, unit: tuple[str, float], decimals: int,
           answer: str = "") -> Draft:
    """A calculation over `items`, called a, b, c … in `expression`; `answer` where it is no figure."""
    cells = named(items)
    value = evaluate(expression, {name: place.value for name, place in cells.items()})
    result = amount(value, *unit, decimals)
    return Draft(kind, f"According to {items[0].source}, {asked}", answer or result,
                 (*givens(cells), f"{expression} = {result}"), {name: place.ref for name, place in cells.items()},
                 expression, value, *unit)


def _answer_in(unit: str, scale: float, rounding: str = "") -> str:
    words = unit_words(unit, scale)
    return ", ".join(filter(None, (f"Answer in {words}" if words else "Answer with the number", rounding)))


def _span(row: Place, before: Place) -> str:
    """'"Mac" change from 2023 to 2024', its column's measure said where it has one."""
    under = f" {row.under}" if row.under else ""
    return f'"{row.row}"{under} change from {before.period.name} to {row.period.name}'


def _difference(place: Place, table: Table) -> Draft | None:
    before = table.before(place)
    if not before or place.is_change or before.value == place.value:
        return None
    unit = (POINTS, 1.0) if place.cell.unit == "%" else place.kind
    ending = ", in ".join(filter(None, ("State the change with its sign", unit_words(*unit)))) + "."
    return draft_of("difference", f"by how much did {_span(place, before)}? {ending}", [place, before], "a - b", unit,
                  decimals_of(place.cell, before.cell))


def _percent_change(place: Place, table: Table) -> Draft | None:
    before = table.before(place)
    if not before or place.is_change or place.cell.unit == "%" or min(place.value, before.value) <= 0:
        return None
    if abs(place.value / before.value - 1) * 100 > _MOST_PERCENT or place.value == before.value:
        return None
    return draft_of("percent change", f"by what percentage did {_span(place, before)}? State it with its sign, in "
                  "percent rounded to one decimal.", [place, before], "(a - b) / b * 100", ("%", 1.0), 1)


def _average(place: Place, table: Table) -> Draft | None:
    row = table.series.get((place.ref.row, place.ref.column), [])
    is_told = 3 <= len(row) <= MOST_PERIODS and not place.is_change and not is_opening(place)
    if not is_told or min(item.value for item in row) <= 0:
        return None
    under = f" {place.under}" if place.under else ""
    decimals = min(4, max(1, decimals_of(*_cells(row))))
    asked = (f'what was the average of "{place.row}"{under} over {_and([item.period.name for item in row])}? '
             f"{_answer_in(*place.kind, f'rounded to {_DECIMALS[decimals]}')}.")
    return draft_of("average", asked, row, f"mean({', '.join(named(row))})", place.kind, decimals)


def _peak(place: Place, table: Table) -> Draft | None:
    """In which year an item was highest; only where columns are plain years, so that an answer is one."""
    row = table.series.get((place.ref.row, place.ref.column), [])
    values = [item.value for item in row]
    if len(row) < 3 or place.is_change or values.count(max(values)) > 1 or any(item.period.order[1] for item in row):
        return None
    under = f" {place.under}" if place.under else ""
    asked = (f'in which of {_and([item.period.name for item in row], "or")} was "{place.row}"{under} highest? Answer '
             "with the year.")
    best = row[values.index(max(values))]
    return draft_of("comparison", asked, row, f"max({', '.join(named(row))})", place.kind, decimals_of(*_cells(row)),
                  str(best.period.order[0]))


def _share(place: Place, table: Table) -> Draft | None:
    whole = table.total_of(place)
    if not whole:
        return None
    asked = (f'what share of "{whole.row}" {whole.at} is "{place.row}"? Answer in percent, rounded to one decimal.')
    return draft_of("share", asked, [place, whole], "a / b * 100", ("%", 1.0), 1)


def _sum(place: Place, table: Table) -> Draft | None:
    whole = table.total_of(place)
    parts = table.parts_of(whole) if whole else []
    others = [part for part in table.beside(place) if part in parts]
    if len(parts) < 3 or not others:
        return None
    items = [place, *_after(place, others)[:2 if len(parts) > 3 else 1]]
    asked = f"what is the sum of {together(items)}{_when(place)}? "
    return draft_of("sum", asked + _answer_in(*place.kind) + ".", items, " + ".join(named(items)), place.kind,
                  decimals_of(*_cells(items)))


def _ratio(place: Place, table: Table) -> Draft | None:
    """How many times one part of a total is as large as another."""
    others = [other for other in table.beside(place) if table.total_of(place)
              and other.value < place.value <= _MOST_TIMES * other.value]
    if not others or is_odd(place):
        return None
    other = _after(place, others)[0]
    asked = (f"what is the ratio of {together((place, other), 'to')}{_when(place)}? Answer with a number rounded to "
             "two decimals.")
    return draft_of("ratio", asked, [place, other], "a / b", ("", 1.0), 2)


def _metric(place: Place, table: Table) -> Draft | None:
    """A ratio with a name, of which `place` is one of the two."""
    column = [other for other in table.columns[place.ref.column] if other.kind == place.kind]
    for above, below, name, is_percent in _METRICS:
        if not (above.search(own(place)) or below.search(own(place))):
            continue
        pair = [next((item for item in column if words.search(own(item)) and not item.fault), None)
                for words in (above, below)]
        if all(pair) and place in pair and min(item.value for item in pair) > 0:
            asked = f'what is the {name} ("{pair[0].row}" divided by "{pair[1].row}") {place.at}? Answer '
            if is_percent:
                asked += "in percent, rounded to one decimal."
                return draft_of("ratio", asked, pair, "a / b * 100", ("%", 1.0), 1)
            return draft_of("ratio", f"{asked}with a number rounded to two decimals.", pair, "a / b", ("", 1.0), 2)
    return None


def _fastest(place: Place, table: Table) -> Draft | None:
    """Which of several items beside each other grew most, in percent."""
    items = [item for item in (place, *table.beside(place)) if (before := table.before(item)) and before.value > 0
             and item.value > 0 and not item.is_part and not is_odd(item)][:_MOST_COMPARED]
    if len(items) < 3 or place not in items:
        return None
    items.sort(key=lambda item: item.ref.row)
    rates = [item.value / table.before(item).value - 1 for item in items]
    best, second = sorted(rates)[-1], sorted(rates)[-2]
    if best <= 0 or best - second < 0.001:
        return None
    pairs = [part for item in items for part in (item, table.before(item))]
    letters = iter(named(pairs))
    changes = [f"({new} - {old}) / {old} * 100" for new, old in zip(letters, letters, strict=True)]
    asked = (f"which of {together(items, 'or')} grew by the highest percentage from "
             f"{table.before(place).period.name} to {place.period.name}? Answer with its name.")
    return draft_of("comparison", asked, pairs, f"max({', '.join(changes)})", ("%", 1.0), 1,
                  own(items[rates.index(best)]))


def together(items: Sequence[Place], word: str = "and") -> str:
    """Items side by side, and once what they stand under: '"Federal" and "State" (both under "Current")'."""
    group = items[0].group if all(item.group == items[0].group for item in items) else ""
    above = ", ".join(filter(None, (group and f'"{group}"', items[0].under.removeprefix("under "))))
    names = _and([f'"{own(item) if group else item.row}"' for item in items], word)
    return names + (f" ({'both' if len(items) == 2 else 'all'} under {above})" if above else "")


def _when(place: Place) -> str:
    return f" {place.period.phrase}" if place.period else ""


def own(place: Place) -> str:
    """A row's own label, without the ones above it."""
    return place.row.rpartition(": ")[2]


def _after(place: Place, others: list[Place]) -> list[Place]:
    """`others` from the one that follows `place` in the table on, the earlier ones last."""
    return sorted(others, key=lambda other: (other.ref.row < place.ref.row, other.ref.row))


def _cells(items: Sequence[Place]) -> list:
    return [item.cell for item in items]


def _and(names: Sequence[str], word: str = "and") -> str:
    """'2022, 2023 and 2024'."""
    return f" {word} ".join(filter(None, (", ".join(names[:-1]), names[-1])))
