"""Write easy questions, on one cell, and medium ones, on a calculation over cells of one kind.

A calculation is asked for only if a reader of reports would ask for it: an item's change between
two years, a part's share of a total that its parts sum to, the ratio of two parts, or a ratio with
a name. The question says how to round the answer.
"""

import re

from lib.tasks.tablequest.places.places import Place
from lib.tasks.tablequest.questions.drafts import (
    MOST_PERCENT,
    PERCENT,
    Draft,
    answer_in,
    difference_unit,
    draft_of,
    givens,
    lettered,
    listed,
    periods_told,
    printed_decimals,
    signed_in,
    together,
)
from lib.tasks.tablequest.questions.tables import Table, is_odd, is_rest

_MOST_TIMES = 20.0  # largest ratio
_MOST_COMPARED = 5
_IN_PERCENT = "Answer in percent, rounded to one decimal."
_AS_NUMBER = "Answer with a number rounded to two decimals."
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


def easy_of(place: Place) -> Draft:
    """Return the question for one cell; `place` must be without fault."""
    question = (f"According to {place.source}, what is reported for {place.name}? "
                f"{answer_in(place)}.")
    return Draft("extraction", question, place.printed, givens({"a": place}), {"a": place.ref}, "a",
                 place.value, *place.kind)


def mediums_of(place: Place, table: Table) -> list[Draft]:
    """Return every calculation with `place`; within a kind, the one that asks more comes first."""
    askers = (_difference, _percent_change, _average, _fastest, _peak, _share, _sum, _metric,
              _ratio)
    drafts = (ask(place, table) for ask in askers)
    return [draft for draft in drafts if draft]


def _change(place: Place, before: Place) -> str:
    return f"{place.subject} change from {before.period.name} to {place.period.name}"


def _difference(place: Place, table: Table) -> Draft | None:
    before = table.before(place)
    if not before or place.is_change or before.value == place.value:
        return None
    unit = difference_unit(place)
    asked = f"by how much did {_change(place, before)}? {signed_in('change', unit)}"
    return draft_of("difference", asked, [place, before], "a - b", unit,
                    printed_decimals((place, before)))


def _percent_change(place: Place, table: Table) -> Draft | None:
    before = table.before(place)
    if not before or place.is_change or place.cell.unit == "%":
        return None
    if min(place.value, before.value) <= 0 or place.value == before.value:
        return None
    if abs(place.value / before.value - 1) * 100 > MOST_PERCENT:
        return None
    asked = (f"by what percentage did {_change(place, before)}? State it with its sign, in percent "
             "rounded to one decimal.")
    return draft_of("percent change", asked, [place, before], "(a - b) / b * 100", PERCENT, 1)


def _average(place: Place, table: Table) -> Draft | None:
    if not (row := periods_told(place, table)):
        return None
    decimals = min(4, max(1, printed_decimals(row)))
    digits = ("one decimal", "two decimals", "three decimals", "four decimals")[decimals - 1]
    asked = (f"what was the average of {place.subject} over "
             f"{listed([item.period.name for item in row])}? {answer_in(place)}, rounded to "
             f"{digits}.")
    return draft_of("average", asked, row, f"mean({', '.join(lettered(row))})", place.kind,
                    decimals)


def _peak(place: Place, table: Table) -> Draft | None:
    """Ask in which year an item was highest, if all columns are plain years."""
    row = table.series(place)
    if len(row) < 3 or place.is_change or any(item.period.order[1] for item in row):
        return None
    values = [item.value for item in row]
    if values.count(max(values)) > 1:
        return None
    years = listed([item.period.name for item in row], "or")
    asked = f"in which of {years} was {place.subject} highest? Answer with the year."
    best = row[values.index(max(values))]
    return draft_of("comparison", asked, row, f"max({', '.join(lettered(row))})", place.kind,
                    printed_decimals(row), str(best.period.order[0]))


def _share(place: Place, table: Table) -> Draft | None:
    whole = table.total_of(place)
    if not whole:
        return None
    asked = f'what share of {whole.name} does "{place.row}" make up? {_IN_PERCENT}'
    return draft_of("share", asked, [place, whole], "a / b * 100", PERCENT, 1)


def _sum(place: Place, table: Table) -> Draft | None:
    parts = table.parts_of(table.total_of(place))
    others = [part for part in table.neighbours(place) if part in parts]
    if len(parts) < 3 or not others or is_rest(place):
        return None
    items = [place, *_after(place, others)[:2 if len(parts) > 3 else 1]]
    asked = f"what is the sum of {together(items)}{_when(place)}? {answer_in(place)}."
    return draft_of("sum", asked, items, " + ".join(lettered(items)), place.kind,
                    printed_decimals(items))


def _ratio(place: Place, table: Table) -> Draft | None:
    """Ask for the ratio of two parts of a total."""
    others = [other for other in table.neighbours(place) if table.total_of(place)
              and other.value < place.value <= _MOST_TIMES * other.value]
    if not others or is_odd(place) or is_rest(place):
        return None
    pair = [place, _after(place, others)[0]]
    asked = f"what is the ratio of {together(pair, 'to')}{_when(place)}? {_AS_NUMBER}"
    return draft_of("ratio", asked, pair, "a / b", ("", 1.0), 2)


def _metric(place: Place, table: Table) -> Draft | None:
    """Ask for a ratio with a name that `place` is a part of."""
    column = [other for other in table.columns[place.ref.column] if other.kind == place.kind]
    for above, below, name, is_percent in _METRICS:
        if not re.search(f"{above}|{below}", place.own, re.I):
            continue
        pair = [next((item for item in column if re.search(words, item.own, re.I)
                      and not item.fault), None) for words in (above, below)]
        if all(pair) and place in pair and min(item.value for item in pair) > 0:
            asked = f'what is the {name} ("{pair[0].row}" divided by "{pair[1].row}") {place.at}? '
            if is_percent:
                return draft_of("ratio", asked + _IN_PERCENT, pair, "a / b * 100", PERCENT, 1)
            return draft_of("ratio", asked + _AS_NUMBER, pair, "a / b", ("", 1.0), 2)
    return None


def _fastest(place: Place, table: Table) -> Draft | None:
    """Ask which of several neighbouring items grew most in percent."""
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


def _when(place: Place) -> str:
    return f" {place.period.phrase}" if place.period else ""


def _after(place: Place, others: list[Place]) -> list[Place]:
    """Return `others` in table order, starting after `place`; those before it come last."""
    return sorted(others, key=lambda other: (other.ref.row < place.ref.row, other.ref.row))
