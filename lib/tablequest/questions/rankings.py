"""Questions by rules on tables without periods, such as a paper's results: rows set against each other in a column."""

from collections.abc import Sequence

from lib.tablequest.questions.amounts import POINTS, decimals_of, unit_words
from lib.tablequest.questions.hard import Working, printed
from lib.tablequest.questions.medium import Draft, draft_of, named, own, together
from lib.tablequest.questions.places import Place
from lib.tablequest.questions.tables import Table

_MOST_RANKED, _LEAST_RANKED = 12, 3  # rows


def ranked_mediums_of(place: Place, table: Table) -> list[Draft]:
    """The best row of the column, the gap to the row after, and the column's average; [] where rows do not compare."""
    rows = _ranked(place, table)
    if not rows:
        return []
    decimals, letters = decimals_of(*(row.cell for row in rows)), ", ".join(named(rows))
    other = rows[(rows.index(place) + 1) % len(rows)]
    unit = (POINTS, 1.0) if place.cell.unit == "%" else place.kind
    digits, words = (1, "one decimal") if decimals < 2 else (2, "two decimals")
    ending = ", in ".join(filter(None, ("State the difference with its sign", unit_words(*unit))))
    return [
        draft_of("comparison", f"which of {together(rows, 'or')} has the highest value? Answer with its name.", rows,
                 f"max({letters})", place.kind, decimals, own(max(rows, key=lambda row: row.value))),
        draft_of("average", f"what is the average of {together(rows)}? {_answer_in(place)}rounded to {words}.",
                 rows, f"mean({letters})", place.kind, digits),
        draft_of("difference", f"what is the difference of {together((place, other))}, the second taken from the "
                 f"first? {ending}.", [place, other], "a - b", unit, decimals)]


def rankings_of(place: Place, table: Table) -> list[Draft]:
    """What a column's rows say side by side: which is highest, which lowest, how far they are apart."""
    rows = _ranked(place, table)
    if not rows:
        return []
    ordered = sorted(rows, key=lambda row: -row.value)
    best, second, last = ordered[0], ordered[1], ordered[-1]
    if best.value == second.value or len({best.ref, second.ref, last.ref}) < 3:
        return []
    working, unit = Working([best, second, last]), POINTS if place.cell.unit == "%" else ""
    decimals = decimals_of(*(row.cell for row in working.items))
    lead, gap = (working.figure(pair, unit, 1.0, decimals)[1] for pair in ("a - b", "a - c"))
    asked = (f"contrast {together(rows)}: which has the highest and which the lowest value, how far is the highest "
             "ahead of the second, and how far are the two ends apart?")
    values = [printed(row) for row in working.items]
    answer = (f'"{own(best)}" is highest with {values[0]}, ahead of "{own(second)}" ({values[1]}) by {lead}. '
              f'"{own(last)}" is lowest with {values[2]}, so that the two ends are {gap} apart.')
    return [working.draft("contrast", asked, answer)]


def _ranked(place: Place, table: Table) -> Sequence[Place]:
    """The rows of a paper's column that compare with `place`, from the top; () where there are too few or too many."""
    if not place.is_paper or place.period:
        return ()
    rows = [row for row in table.columns[place.ref.column] if not row.fault and row.kind == place.kind
            and row.group == place.group and not row.is_total]
    names = {own(row) for row in rows}
    values = sorted((row.value for row in rows), reverse=True)
    is_clear = len(rows) == len(names) and place in rows and len(values) > 1 and values[0] > values[1]
    return rows if is_clear and _LEAST_RANKED <= len(rows) <= _MOST_RANKED else ()


def _answer_in(place: Place) -> str:
    words = unit_words(*place.kind)
    return f"Answer in {words}, " if words else "Answer with the number, "
