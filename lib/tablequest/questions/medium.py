"""Easy and medium questions by rules: one cell, or a calculation over cells of one unit and scale.

Each calculation is asked only where a reader of reports would ask it: a change between two years of
one item, a share of a total whose parts sum to it, a ratio of two of its parts or one that has a
name. The question says how the answer is rounded.
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

_MOST_PERCENT = 400.0  # a larger change comes from a base close to nil
_MOST_TIMES = 20.0  # of a ratio
_MOST_COMPARED = 5
MOST_PERIODS = 5  # of a series that is averaged, or summarized in two sentences
PERCENT = ("%", 1.0)
_SALES = r"^(?:total )?(?:net )?(?:sales|revenues?)$"
# Ratios with a name in finance: numerator, denominator, name, whether it is a percentage.
_METRICS = (
    (r"^total current assets$", r"^total current liabilities$", "current ratio", False),
    (r"^total liabilities$", r"^total (?:share|stock)holders[’'] equity$",
     "ratio of liabilities to equity", False),
    (r"^gross (?:profit|margin)$", _SALES, "gross margin", True),
    (r"^(?:operating income|income from operations)$", _SALES, "operating margin", True),
    (r"^net (?:income|earnings)$", _SALES, "net profit margin", True),
    (r"^provision for income taxes$",
     r"^(?:income|earnings) before (?:provision for )?(?:income )?taxes$", "effective tax rate",
     True))


@dataclass(frozen=True)
class Draft:
    """A question that is not yet part of a chain; fields as in TableQuestion."""

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
    """Return the question for one cell, which must be without fault."""
    question = (f"According to {place.source}, what is reported for {place.name}? "
                f"{answer_in(place)}.")
    return Draft("extraction", question, place.printed, givens({"a": place}), {"a": place.ref}, "a",
                 place.value, *place.kind)


def mediums_of(place: Place, table: Table) -> list[Draft]:
    """Return every calculation with `place`; of one kind, the one that asks more comes first."""
    askers = (_difference, _percent_change, _average, _fastest, _peak, _share, _sum, _metric,
              _ratio)
    drafts = (ask(place, table) for ask in askers)
    return [draft for draft in drafts if draft]


def lettered(items: Sequence[Place]) -> dict[str, Place]:
    """Return letters for the values of a calculation."""
    return dict(zip(string.ascii_lowercase, items, strict=False))


def givens(cells: dict[str, Place]) -> tuple[str, ...]:
    """Return the first steps of a calculation: what each letter stands for."""
    return tuple(f"{name} = {place.name} = {place.printed}" for name, place in cells.items())


def draft_of(kind: str, asked: str, items: Sequence[Place], expression: str,
             unit: tuple[str, float], decimals: int, answer: str = "") -> Draft:
    """Return a calculation over `items`, called a, b, c … in `expression`.

    `answer` is given where it is not a figure.
    """
    cells = lettered(items)
    value = evaluate(expression, {name: place.value for name, place in cells.items()})
    result = amount(value, *unit, decimals)
    return Draft(kind, f"According to {items[0].source}, {asked}", answer or result,
                 (*givens(cells), f"{expression} = {result}"),
                 {name: place.ref for name, place in cells.items()}, expression, value, *unit)


def answer_in(place: Place) -> str:
    """Return the request for an answer in the place's unit."""
    words = unit_words(*place.kind)
    return f"Answer in {words}" if words else "Answer with the number"


def signed_in(what: str, unit: tuple[str, float]) -> str:
    """Return the request for a signed answer: "State the change with its sign, in percent."."""
    words = unit_words(*unit)
    return f"State the {what} with its sign" + (f", in {words}." if words else ".")


def difference_unit(place: Place) -> tuple[str, float]:
    """Return the unit and scale of a difference of two values like `place`."""
    return (POINTS, 1.0) if place.cell.unit == "%" else place.kind


def periods_told(place: Place, table: Table) -> list[Place]:
    """Return the item over 3 to MOST_PERIODS periods, all above 0; [] where that says little."""
    row = table.series(place)
    is_told = 3 <= len(row) <= MOST_PERIODS and not place.is_change and not is_opening(place)
    return row if is_told and min(item.value for item in row) > 0 else []


def _change(place: Place, before: Place) -> str:
    return f"{place.item} change from {before.period.name} to {place.period.name}"


def _difference(place: Place, table: Table) -> Draft | None:
    before = table.before(place)
    if not before or place.is_change or before.value == place.value:
        return None
    unit = difference_unit(place)
    asked = f"by how much did {_change(place, before)}? {signed_in('change', unit)}"
    return draft_of("difference", asked, [place, before], "a - b", unit,
                    decimals_of(place.cell, before.cell))


def _percent_change(place: Place, table: Table) -> Draft | None:
    before = table.before(place)
    if not before or place.is_change or place.cell.unit == "%":
        return None
    if min(place.value, before.value) <= 0 or place.value == before.value:
        return None
    if abs(place.value / before.value - 1) * 100 > _MOST_PERCENT:
        return None
    asked = (f"by what percentage did {_change(place, before)}? State it with its sign, in percent "
             "rounded to one decimal.")
    return draft_of("percent change", asked, [place, before], "(a - b) / b * 100", PERCENT, 1)


def _average(place: Place, table: Table) -> Draft | None:
    if not (row := periods_told(place, table)):
        return None
    decimals = min(4, max(1, _decimals(row)))
    digits = ("one decimal", "two decimals", "three decimals", "four decimals")[decimals - 1]
    asked = (f"what was the average of {place.item} over "
             f"{_listed([item.period.name for item in row])}? {answer_in(place)}, rounded to "
             f"{digits}.")
    return draft_of("average", asked, row, f"mean({', '.join(lettered(row))})", place.kind,
                    decimals)


def _peak(place: Place, table: Table) -> Draft | None:
    """Ask when an item was highest, only where columns are plain years, so that the answer is."""
    row = table.series(place)
    if len(row) < 3 or place.is_change or any(item.period.order[1] for item in row):
        return None
    values = [item.value for item in row]
    if values.count(max(values)) > 1:
        return None
    years = _listed([item.period.name for item in row], "or")
    asked = f"in which of {years} was {place.item} highest? Answer with the year."
    best = row[values.index(max(values))]
    return draft_of("comparison", asked, row, f"max({', '.join(lettered(row))})", place.kind,
                    _decimals(row), str(best.period.order[0]))


def _share(place: Place, table: Table) -> Draft | None:
    whole = table.total_of(place)
    if not whole:
        return None
    asked = (f'what share of {whole.name} is "{place.row}"? Answer in percent, rounded to one '
             "decimal.")
    return draft_of("share", asked, [place, whole], "a / b * 100", PERCENT, 1)


def _sum(place: Place, table: Table) -> Draft | None:
    parts = table.parts_of(table.total_of(place))
    others = [part for part in table.neighbours(place) if part in parts]
    if len(parts) < 3 or not others:
        return None
    items = [place, *_after(place, others)[:2 if len(parts) > 3 else 1]]
    asked = f"what is the sum of {together(items)}{_when(place)}? {answer_in(place)}."
    return draft_of("sum", asked, items, " + ".join(lettered(items)), place.kind, _decimals(items))


def _ratio(place: Place, table: Table) -> Draft | None:
    """Ask how many times one part of a total is as large as another."""
    others = [other for other in table.neighbours(place) if table.total_of(place)
              and other.value < place.value <= _MOST_TIMES * other.value]
    if not others or is_odd(place):
        return None
    pair = [place, _after(place, others)[0]]
    asked = (f"what is the ratio of {together(pair, 'to')}{_when(place)}? Answer with a number "
             "rounded to two decimals.")
    return draft_of("ratio", asked, pair, "a / b", ("", 1.0), 2)


def _metric(place: Place, table: Table) -> Draft | None:
    """Ask for a ratio with a name, of which `place` is one of the two."""
    column = [other for other in table.columns[place.ref.column] if other.kind == place.kind]
    for above, below, name, is_percent in _METRICS:
        if not re.search(f"{above}|{below}", place.own, re.I):
            continue
        pair = [next((item for item in column if re.search(words, item.own, re.I)
                      and not item.fault), None) for words in (above, below)]
        if all(pair) and place in pair and min(item.value for item in pair) > 0:
            asked = (f'what is the {name} ("{pair[0].row}" divided by "{pair[1].row}") {place.at}? '
                     "Answer ")
            if is_percent:
                return draft_of("ratio", f"{asked}in percent, rounded to one decimal.", pair,
                                "a / b * 100", PERCENT, 1)
            return draft_of("ratio", f"{asked}with a number rounded to two decimals.", pair,
                            "a / b", ("", 1.0), 2)
    return None


def _fastest(place: Place, table: Table) -> Draft | None:
    """Ask which of several neighbouring items grew most, in percent."""
    items = [item for item in (place, *table.neighbours(place))
             if (before := table.before(item)) and before.value > 0 and item.value > 0
             and not item.is_part and not is_odd(item)][:_MOST_COMPARED]
    if len(items) < 3 or place not in items:
        return None
    items.sort(key=lambda item: item.ref.row)
    rates = [item.value / table.before(item).value - 1 for item in items]
    *_, second, best = sorted(rates)
    if best <= 0 or best - second < 0.001:
        return None
    pairs = [part for item in items for part in (item, table.before(item))]
    letters = iter(lettered(pairs))
    changes = [f"({new} - {old}) / {old} * 100" for new, old in zip(letters, letters, strict=True)]
    asked = (f"which of {together(items, 'or')} grew by the highest percentage from "
             f"{table.before(place).period.name} to {place.period.name}? Answer with its name.")
    return draft_of("comparison", asked, pairs, f"max({', '.join(changes)})", PERCENT, 1,
                    items[rates.index(best)].own)


def together(items: Sequence[Place], word: str = "and") -> str:
    """Name items and, once, their group: '"Federal" and "State" (both under "Current")'."""
    group = items[0].group if all(item.group == items[0].group for item in items) else ""
    above = filter(None, (group and f'"{group}"', items[0].under.removeprefix("under ")))
    names = _listed([f'"{item.own if group else item.row}"' for item in items], word)
    if not (shared := ", ".join(above)):
        return names
    return f"{names} ({'both' if len(items) == 2 else 'all'} under {shared})"


def _when(place: Place) -> str:
    return f" {place.period.phrase}" if place.period else ""


def _after(place: Place, others: list[Place]) -> list[Place]:
    """Sort `others` from the one that follows `place` in the table, the earlier ones last."""
    return sorted(others, key=lambda other: (other.ref.row < place.ref.row, other.ref.row))


def _decimals(items: Sequence[Place]) -> int:
    return decimals_of(*(item.cell for item in items))


def _listed(names: Sequence[str], word: str = "and") -> str:
    """'2022, 2023 and 2024'."""
    return f" {word} ".join(filter(None, (", ".join(names[:-1]), names[-1])))
