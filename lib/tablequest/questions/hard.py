"""Hard questions by rules: what figures say, in one or two sentences: a trend, a contrast, what drove a total.

Each figure of the answer is a cell of the table or stands in a step that computes it, so that all can be checked.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from lib.tablequest.questions.amounts import POINTS, amount, decimals_of
from lib.tablequest.questions.expression import evaluate
from lib.tablequest.questions.medium import MOST_PERIODS, Draft, givens, named, own, said, together
from lib.tablequest.questions.places import Place
from lib.tablequest.questions.tables import Table, is_odd, is_opening
from lib.tablequest.records import CellRef

_FORM = "Answer in fewer than three sentences and support the statement with the figures."
_MOST_PERCENT = 400.0
_LEAST_PERCENT = 0.05  # a smaller change is printed as none
_OTHER_PACE = 1.1  # how much larger a change must be than the first one to be called faster
_MOST_TIMES = 10.0  # that an item may be as large as the one it is set against


@dataclass
class Working:
    """The cells of an analysis and the steps that compute its figures."""

    items: Sequence[Place]
    steps: list[str] = field(default_factory=list)

    def name(self, place: Place) -> str:
        """The letter of one of `items`."""
        return next(name for name, item in named(self.items).items() if item is place)

    def figure(self, expression: str, unit: str, scale: float = 1.0, decimals: int = 1) -> tuple[float, str]:
        """The value of an expression over the letters of the cells, and as it is printed; it becomes a step."""
        value = evaluate(expression, {name: place.value for name, place in named(self.items).items()})
        figure = amount(value, unit, scale, decimals)
        self.steps.append(f"{expression} = {figure}")
        return value, figure

    def change(self, new: Place, old: Place) -> tuple[float, str]:
        """From `old` to `new`: of percentages in points, of all else in percent."""
        above, below = self.name(new), self.name(old)
        if new.cell.unit == "%":
            return self.figure(f"{above} - {below}", POINTS, 1.0, decimals_of(new.cell, old.cell))
        return self.figure(f"({above} - {below}) / {below} * 100", "%")

    def draft(self, kind: str, asked: str, answer: str) -> Draft:
        """The question on `items`, its steps those that were computed."""
        cells = named(self.items)
        return Draft(kind, f"According to {self.items[0].source}, {asked} {_FORM}", answer,
                     (*givens(cells), *dict.fromkeys(self.steps)), {name: item.ref for name, item in cells.items()})


def hards_of(place: Place, table: Table) -> list[Draft]:
    """Every analysis that `place` is a part of, of one kind the one that says more first."""
    drafts = (ask(place, table) for ask in (_trend, _drivers, _contrast, _composition))
    return [draft for draft in drafts if draft]


def _trend(place: Place, table: Table) -> Draft | None:
    """An item over three periods or more."""
    row = table.series.get((place.ref.row, place.ref.column), [])
    is_told = 3 <= len(row) <= MOST_PERIODS and not place.is_change and not is_opening(place)
    if not is_told or min(item.value for item in row) <= 0:
        return None
    working = Working(row)
    steps = [working.change(new, old) for old, new in zip(row, row[1:], strict=False)]
    overall = working.change(row[-1], row[0])
    if not all(_tells(change, place) for change, _ in [*steps, overall]):
        return None
    asked = (f"how did {_item(place)} develop from {row[0].period.name} to {row[-1].period.name}? Say in which "
             "direction it moved, whether that gathered pace, slowed or turned, and what it came to in all.")
    return working.draft("trend", asked, _course(row, steps, overall))


def _course(row: list[Place], steps: list[tuple[float, str]], overall: tuple[float, str]) -> str:
    """The two sentences on a series."""
    changes = [change for change, _ in steps]
    first, last, item = row[0], row[-1], _item(row[0])
    ends = f"from {printed(first)} in {first.period.name} to {printed(last)} in {last.period.name} ({_signed(overall)})"
    if all(change > 0 for change in changes) or all(change < 0 for change in changes):
        rises = changes[0] > 0
        faster = abs(changes[-1]) / abs(changes[0])
        pace = "gathered pace" if faster > _OTHER_PACE else "slowed" if faster < 1 / _OTHER_PACE else "kept its pace"
        span = "in both periods" if len(steps) == 2 else "in every period"
        return (f"{item} {'rose' if rises else 'fell'} {span}, {ends}. The {'growth' if rises else 'decline'} {pace}: "
                f"{_signed(steps[0])} in {row[1].period.name} against {_signed(steps[-1])} in {last.period.name}.")
    turns = [at for at in range(1, len(changes)) if (changes[at] > 0) != (changes[at - 1] > 0)]
    if len(turns) > 1:
        listed = ", ".join(f"{_signed(step)} in {item.period.name}" for step, item in zip(steps, row[1:], strict=True))
        return f"{item} moved up and down without a lasting direction: {listed}. Over the whole time it went {ends}."
    turn, falls_first = row[turns[0]], changes[0] < 0
    before, after = ("fell", "recovered") if falls_first else ("rose", "dropped back")
    is_undone = (last.value > first.value) == falls_first
    verdict = (("more than made up for the fall" if is_undone else "made up for only a part of the fall") if falls_first
               else ("took away more than the rise had brought" if is_undone else "took away only a part of the rise"))
    ends = f"from {printed(first)} in {first.period.name} to {printed(turn)} in {turn.period.name}"
    way_back = "recovery" if falls_first else "drop"
    return (f"{item} first {before} {ends} and then {after} to {printed(last)} in {last.period.name}. The {way_back} "
            f"{verdict}, so that the whole time shows a change of {_signed(overall)}.")


def _contrast(place: Place, table: Table) -> Draft | None:
    """Two items beside each other, one period on."""
    before, others = table.before(place), [other for other in table.beside(place) if table.before(other)]
    if not before or not others or is_odd(place):
        return None
    other = next((other for other in others if other.ref.row > place.ref.row), others[0])
    working = Working([place, before, other, table.before(other)])
    values = [item.value for item in working.items]
    if min(values) <= 0 or max(values) / min(values) > _MOST_TIMES or (place.is_part and place.cell.unit != "%"):
        return None
    mine, theirs = working.change(place, before), working.change(other, working.items[3])
    if not (_tells(mine[0], place) and _tells(theirs[0], place)) or mine[1] == theirs[1]:
        return None
    asked = (f"contrast how {together((place, other))} developed from {before.period.name} to "
             f"{place.period.name}: which of them grew more (or shrank less), and how did the relation "
             "between the two shift?")
    word = "whereas" if (mine[0] > 0) != (theirs[0] > 0) else "and"
    answer = f"{_moved(place, before, mine)}, {word} {_moved(other, working.items[3], theirs)}. {_relation(working)}"
    return working.draft("contrast", asked, answer)


def _relation(working: Working) -> str:
    """How two items (a, b before; c, d before) stand to each other, before and after."""
    place, before, other, old_other = working.items
    if place.cell.unit == "%":
        (gap, shown), (old_gap, old_shown) = (working.figure(f"abs({pair})", POINTS, 1.0, decimals_of(
            place.cell, other.cell)) for pair in ("a - c", "b - d"))
        verb = "widened" if gap > old_gap else "narrowed" if gap < old_gap else "stayed"
        return (f"The gap between them {verb} from {old_shown} to {shown}." if verb != "stayed" else
                f"The gap between them stayed at {shown}.")
    (_, old), (_, new) = (working.figure(pair, "", decimals=2) for pair in ("b / d", "a / c"))
    if old == new:
        return f"The ratio of {_short(place)} to {_short(other)} hardly moved, at {new}."
    better, worse = (place, other) if place.value / before.value > other.value / old_other.value else (other, place)
    return (f"{_short(better)} thus gained on {_short(worse)}: the ratio of {_short(place)} to {_short(other)} moved "
            f"from {old} to {new}.")


def _drivers(place: Place, table: Table) -> Draft | None:
    """Which parts of a total made it change."""
    whole = place if place.ref.row in table.totals else table.total_of(place)
    before = table.before(whole) if whole else None
    parts = table.parts_of(whole) if whole else []
    pairs = [(part, old) for part in parts if (old := table.before(part)) and not part.fault]
    if not before or not 3 <= len(pairs) == len(parts) <= 12 or min(part.value for part in parts) <= 0:
        return None
    if any(map(is_odd, parts)) or whole.is_change or whole.is_part or before.value <= 0 or whole.value == before.value:
        return None
    sign = 1 if whole.value > before.value else -1
    ordered = sorted(pairs, key=lambda pair: sign * (pair[1].value - pair[0].value))
    (most, most_old), (least, least_old) = ordered[0], ordered[-1]
    if most.value - most_old.value == ordered[1][0].value - ordered[1][1].value:
        return None
    working = Working([whole, before, most, most_old, least, least_old])
    asked = (f'what drove the change in {_item(whole)} from {before.period.name} to {whole.period.name}? Name the item '
             "that contributed most and the one that worked most against it, if any did.")
    return working.draft("contrast", asked, _driven(working, sign, _names(parts)))


def _names(parts: Sequence[Place]) -> dict[CellRef, str]:
    """What the parts of one total are called in an answer: by their own labels, where these differ."""
    short = [own(part) for part in parts]
    named_by = [name if short.count(name) == 1 else part.row for part, name in zip(parts, short, strict=True)]
    return {part.ref: f'"{name}"' for part, name in zip(parts, named_by, strict=True)}


def _driven(working: Working, sign: int, names: dict[CellRef, str]) -> str:
    """Which of a total's parts moved it (a, b before), most (c, d before) and least (e, f before)."""
    whole, before, most, _, least, least_old = working.items
    total, (_, percent) = _difference(working, "a - b"), working.change(whole, before)
    (share, weighed), by = working.figure("(c - d) / (a - b) * 100", "%"), _difference(working, "c - d")
    weight = "more than the whole of it" if share > 100 else f"{weighed} of it"
    against = sign * (least.value - least_old.value) < 0
    led = "Most against it worked" if against else "No item moved the other way; the least came from"
    rest = f'{led} {names[least.ref]}, with {_plus(_difference(working, "e - f"))}.'
    return (f'{_item(whole)} {"rose" if sign > 0 else "fell"} by {total[1].lstrip("-")} ({_plus((0, percent), sign)}), '
            f'and {names[most.ref]} contributed most to it: {_plus(by)}, {weight}. {rest}')


def _composition(place: Place, table: Table) -> Draft | None:
    """How much of a total its two largest parts make up."""
    whole = table.total_of(place)
    parts = sorted(table.parts_of(whole), key=lambda part: -part.value) if whole else []
    is_clear = not any(part.fault for part in parts[:3]) and not any(map(is_odd, parts))
    if not 4 <= len(parts) <= 20 or not is_clear or parts[1].value == parts[2].value:
        return None
    working = Working([whole, *parts[:3]])
    (both, shown), (_, third) = working.figure("(b + c) / a * 100", "%"), working.figure("d / a * 100", "%")
    shares = [working.figure(f"{name} / a * 100", "%")[1] for name in "bc"]
    asked = (f"how concentrated is {said(whole)}? Name its two largest items, the share that they make up together, "
             "and the share of the next one.")
    verdict = "highly concentrated" if both > 75 else "fairly concentrated" if both > 50 else "widely spread"
    names = list(_names(parts).values())
    answer = (f"{_item(whole)} is {verdict}: {names[0]} ({shares[0]}) and {names[1]} ({shares[1]}) make up "
              f"{shown} of {printed(whole)} together. The next item, {names[2]}, has {third}.")
    return working.draft("contrast", asked, answer)


def _difference(working: Working, expression: str) -> tuple[float, str]:
    place = working.items[0]
    return working.figure(expression, *place.kind, decimals_of(*(item.cell for item in working.items)))


def _item(place: Place) -> str:
    return f'"{place.row}"' + (f" {place.under}" if place.under else "")


def _short(place: Place) -> str:
    return f'"{own(place)}"'


def printed(place: Place) -> str:
    """A cell's amount as an answer gives it."""
    return amount(place.value, *place.kind, decimals_of(place.cell))


def _moved(new: Place, old: Place, change: tuple[float, str]) -> str:
    verb = "rose" if change[0] > 0 else "fell"
    return f"{_short(new)} {verb} by {change[1].lstrip('-')} (from {printed(old)} to {printed(new)})"


def _signed(change: tuple[float, str]) -> str:
    return _plus(change)


def _plus(change: tuple[float, str], sign: int = 0) -> str:
    return f"+{change[1]}" if (sign or change[0]) > 0 and not change[1].startswith("-") else change[1]


def _tells(change: float, place: Place) -> bool:
    """Whether a change is neither nil as printed nor from a base next to nothing."""
    return change != 0 if place.cell.unit == "%" else _LEAST_PERCENT <= abs(change) <= _MOST_PERCENT
