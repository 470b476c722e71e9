"""Write hard questions by rules: trends, contrasts, and what drove a total.

The answer has one or two sentences. Each of its figures is a cell of the table or the result of a
step, so all can be checked.
"""

from collections.abc import Sequence

from lib.tasks.tablequest.places.phrases import MONEY
from lib.tasks.tablequest.places.places import Place
from lib.tasks.tablequest.questions.drafts import (
    Draft,
    Figure,
    Working,
    moved,
    periods_told,
    tells,
    together,
)
from lib.tasks.tablequest.questions.structure import structures_of
from lib.tasks.tablequest.questions.tables import Table, is_odd
from lib.tasks.tablequest.questions.wording import POINTS, decimals_of, unit_words

_OTHER_PACE = 1.1  # ratio to the first change from which a change is called faster
_MOST_TIMES = 10.0  # largest ratio of the two items' sizes


def hards_of(place: Place, table: Table, others: Sequence[Table] = ()) -> list[Draft]:
    """Return every analysis with `place`; within a kind, the one that says more comes first.

    `others` are the other tables of its passage.
    """
    drafts = (ask(place, table) for ask in (_trend, _drivers, _contrast))
    return [*filter(None, drafts), *structures_of(place, table, others)]


def _trend(place: Place, table: Table) -> Draft | None:
    """Ask how an item developed over three periods or more."""
    if not (row := periods_told(place, table)):
        return None
    working = Working(row)
    steps = [working.change(new, old) for old, new in zip(row, row[1:], strict=False)]
    overall = working.change(row[-1], row[0])
    if not all(tells(change.value, place) for change in [*steps, overall]):
        return None
    first, last = row[0].period.name, row[-1].period.name
    unit = unit_words(*place.kind)  # the same row may have a share next to an amount
    asked = (f"how did {place.subject}{f', in {unit},' if unit else ''} develop from {first} to "
             f"{last}? Say whether it kept its direction or where it turned, whether its pace "
             "changed, and what its change came to in all.")
    return working.draft("trend", asked, _course(row, steps, overall))


def _course(row: list[Place], steps: list[Figure], overall: Figure) -> str:
    """Summarize a series in two sentences."""
    changes = [step.value for step in steps]
    first, last, item = row[0], row[-1], row[0].item
    turns = [at for at in range(1, len(changes)) if (changes[at] > 0) != (changes[at - 1] > 0)]
    ends = f"{_span(first, last)} ({overall.signed})"
    if not turns:
        verb, noun = ("rose", "growth") if changes[0] > 0 else ("fell", "decline")
        faster = abs(changes[-1]) / abs(changes[0])
        pace = ("gathered pace" if faster > _OTHER_PACE else
                "slowed" if faster < 1 / _OTHER_PACE else "kept its pace")
        span = "in both periods" if len(steps) == 2 else "in every period"
        return (f"{item} {verb} {span}, {ends}. The {noun} {pace}: {steps[0].signed} "
                f"{row[1].period.during} against {steps[-1].signed} {last.period.during}.")
    if len(turns) > 1:
        listed = ", ".join(f"{step.signed} {place.period.during}"
                           for step, place in zip(steps, row[1:], strict=True))
        return (f"{item} moved up and down without a lasting direction: {listed}. Over the whole "
                f"time it went {ends}.")
    return _turn(row, row[turns[0]], overall, falls_first=changes[0] < 0)


def _turn(row: list[Place], turn: Place, overall: Figure, *, falls_first: bool) -> str:
    """Summarize a series with one turn."""
    first, last = row[0], row[-1]
    is_undone = (last.value > first.value) == falls_first
    if falls_first:
        before, after, way_back = "fell", "recovered", "recovery"
        verdict = "more than made up for" if is_undone else "made up for only a part of"
        verdict += " the fall"
    else:
        before, after, way_back = "rose", "dropped back", "drop"
        verdict = ("took away more than the rise had brought" if is_undone else
                   "took away only a part of the rise")
    return (f"{row[0].item} turned after {turn.period.name}: it first {before} "
            f"{_span(first, turn)}, and then {after} to {last.printed} {last.period.phrase}. The "
            f"{way_back} {verdict}, so that the whole time shows a change of {overall.signed}.")


def _span(first: Place, last: Place) -> str:
    return f"from {first.printed} {first.period.phrase} to {last.printed} {last.period.phrase}"


def _contrast(place: Place, table: Table) -> Draft | None:
    """Ask how two neighbouring items developed from one period to the next."""
    before = table.before(place)
    others = [other for other in table.neighbours(place) if table.before(other)]
    if not before or not others or is_odd(place):
        return None
    other = next((other for other in others if other.ref.row > place.ref.row), others[0])
    working = Working([place, before, other, table.before(other)])
    values = [item.value for item in working.items]
    if min(values) <= 0 or max(values) / min(values) > _MOST_TIMES:
        return None
    if place.is_part and place.cell.unit != "%":
        return None
    mine, theirs = working.change(place, before), working.change(other, working.items[3])
    is_clear = tells(mine.value, place) and tells(theirs.value, place)
    if not is_clear or mine.text == theirs.text:
        return None
    asked = (f"contrast how {together((place, other))} developed from {before.period.name} to "
             f"{place.period.name}: which of them grew more (or shrank less), and how did the "
             "relation between the two shift?")
    word = "whereas" if (mine.value > 0) != (theirs.value > 0) else "and"
    answer = (f"{moved(place.own, place, before, mine)}, {word} "
              f"{moved(other.own, other, working.items[3], theirs)}. {_relation(working)}")
    return working.draft("contrast", asked, answer)


def _relation(working: Working) -> str:
    """Say how two items' relation changed: one went from b to a, the other from d to c."""
    place, before, other, old_other = working.items
    if place.cell.unit == "%":
        decimals = decimals_of(place.cell, other.cell)
        gap, old_gap = (working.figure(f"abs({pair})", POINTS, 1.0, decimals)
                        for pair in ("a - c", "b - d"))
        if gap.value == old_gap.value:
            return f"The gap between them stayed at {gap.text}."
        verb = "widened" if gap.value > old_gap.value else "narrowed"
        return f"The gap between them {verb} from {old_gap.text} to {gap.text}."
    old, new = (working.figure(pair, "", decimals=2).text for pair in ("b / d", "a / c"))
    ratio = f'the ratio of "{place.own}" to "{other.own}"'
    if old == new:
        return f"T{ratio[1:]} hardly moved, at {new}."
    gains = place.value / before.value > other.value / old_other.value
    better, worse = (place, other) if gains else (other, place)
    return f'"{better.own}" thus gained on "{worse.own}": {ratio} moved from {old} to {new}.'


def _drivers(place: Place, table: Table) -> Draft | None:
    """Ask which parts of a total drove its change."""
    whole = place if place.ref.row in table.totals else table.total_of(place)
    before = table.before(whole) if whole else None
    parts = table.clear_parts(whole)
    pairs = [(part, old) for part in parts if (old := before and table.at.get(
        (part.ref.row, before.ref.column))) and not old.misread and old.kind == part.kind]
    if not before or not 3 <= len(pairs) == len(parts) <= 12:
        return None
    if min(item.value for pair in pairs for item in pair) <= 0:
        return None
    if whole.is_change or whole.is_part or before.value <= 0 or whole.value == before.value:
        return None
    if whole.cell.unit not in MONEY:
        return None
    sign = 1 if whole.value > before.value else -1
    ordered = sorted(pairs, key=lambda pair: sign * (pair[1].value - pair[0].value))
    most, second, least = ordered[0], ordered[1], ordered[-1]
    if most[0].value - most[1].value == second[0].value - second[1].value:
        return None
    working = Working([whole, before, *most, *least])
    asked = (f"what drove the change in {whole.item} from {before.period.name} to "
             f"{whole.period.name}? Name the item that contributed most and the one that worked "
             "most against it, if any did.")
    answer = _driven(working, sign, f'"{most[0].own}"', f'"{least[0].own}"')
    return working.draft("drivers", asked, answer)


def _driven(working: Working, sign: int, most: str, least: str) -> str:
    """Say which parts moved a total (b to a) most (d to c) and least (f to e)."""
    whole, before, *_, last, last_before = working.items
    total, percent = working.in_own_unit("a - b"), working.change(whole, before)
    share, by = working.figure("(c - d) / (a - b) * 100", "%"), working.in_own_unit("c - d")
    weight = "more than the whole of it" if share.value > 100 else f"{share.text} of it"
    is_against = sign * (last.value - last_before.value) < 0
    led = ("Most against it worked" if is_against else
           "No item moved the other way; the least came from")
    rest = f"{led} {least}, with {working.in_own_unit('e - f').signed}."
    verb, signed = ("rose", Figure(1, percent.text).signed) if sign > 0 else ("fell", percent.text)
    return (f"{whole.item} {verb} by {total.size} ({signed}), and {most} contributed most to it: "
            f"{by.signed}, {weight}. {rest}")
