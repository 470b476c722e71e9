"""Write questions that compare rows of a table without periods, such as a paper's results."""

from collections.abc import Sequence

from lib.tablequest.places.places import Place
from lib.tablequest.questions.drafts import (
    Draft,
    Working,
    answer_in,
    difference_unit,
    draft_of,
    lettered,
    printed_decimals,
    signed_in,
    together,
)
from lib.tablequest.questions.tables import Table
from lib.tablequest.questions.wording import POINTS

_MOST_RANKED, _LEAST_RANKED = 12, 3  # rows


def ranked_mediums_of(place: Place, table: Table) -> list[Draft]:
    """Ask for the column's best row, its average and a gap; [] if rows cannot be compared."""
    rows = _ranked(place, table)
    if not rows:
        return []
    decimals, letters = printed_decimals(rows), ", ".join(lettered(rows))
    other = rows[(rows.index(place) + 1) % len(rows)]
    unit = difference_unit(place)
    digits, words = (1, "one decimal") if decimals < 2 else (2, "two decimals")
    return [
        draft_of("comparison", f"which of {together(rows, 'or')} has the highest value? Answer "
                 "with its name.", rows, f"max({letters})", place.kind, decimals,
                 max(rows, key=lambda row: row.value).own),
        draft_of("average", f"what is the average of {together(rows)}? {answer_in(place)}, rounded "
                 f"to {words}.", rows, f"mean({letters})", place.kind, digits),
        draft_of("difference", f"what is the difference of {together((place, other))}, the second "
                 f"taken from the first? {signed_in('difference', unit)}", [place, other], "a - b",
                 unit, decimals)]


def rankings_of(place: Place, table: Table) -> list[Draft]:
    """Ask which of a column's rows is highest, which is lowest, and how far apart they are."""
    rows = _ranked(place, table)
    if not rows:
        return []
    ordered = sorted(rows, key=lambda row: -row.value)
    best, second, last = ordered[0], ordered[1], ordered[-1]
    if best.value == second.value or len({best.ref, second.ref, last.ref}) < 3:
        return []
    working, unit = Working([best, second, last]), POINTS if place.cell.unit == "%" else ""
    decimals = printed_decimals(working.items)
    lead, gap = (working.figure(pair, unit, 1.0, decimals).text for pair in ("a - b", "a - c"))
    asked = (f"contrast {together(rows)}: which has the highest and which the lowest value, how "
             "far is the highest ahead of the second, and how far are the two ends apart?")
    answer = (f'"{best.own}" is highest with {best.printed}, ahead of "{second.own}" '
              f'({second.printed}) by {lead}. "{last.own}" is lowest with {last.printed}, so that '
              f"the two ends are {gap} apart.")
    return [working.draft("contrast", asked, answer)]


def _ranked(place: Place, table: Table) -> Sequence[Place]:
    """Return the rows of a paper's column that compare with `place`, in table order, or ()."""
    if not place.is_paper or place.period:
        return ()
    rows = [row for row in table.columns[place.ref.column] if not row.fault
            and row.kind == place.kind and row.group == place.group and not row.is_total]
    values = sorted((row.value for row in rows), reverse=True)
    has_best = len(values) > 1 and values[0] > values[1]
    has_names = len(rows) == len({row.own for row in rows}) and place in rows
    is_clear = has_best and has_names and _LEAST_RANKED <= len(rows) <= _MOST_RANKED
    return rows if is_clear else ()
