"""Write hard questions on the structure of tables: shares, outliers, sums and two tables.

The answer has one or two sentences, and each of its figures is a cell or the result of a step.
"""

import re
from collections.abc import Sequence

from lib.tasks.tablequest.places.phrases import tells_amount
from lib.tasks.tablequest.places.places import Place
from lib.tasks.tablequest.questions.drafts import (
    MOST_PERCENT,
    Draft,
    Figure,
    Working,
    listed,
    moved,
    tells,
    together,
)
from lib.tasks.tablequest.questions.tables import Table, is_odd, is_rest

_LEAST_APART = 10.0  # points by which an outlier's change differs from all others'
_OUTLYING = (4, 8)  # fewest and most items among which one is an outlier
_RECONCILED = (3, 8)  # fewest and most parts of a total that an answer lists
# What other figures of a report are compared with
_BASES = re.compile(r"^(?:total )?(?:net |operating )*(?:sales|revenues?)$"
                    r"|^total (?:assets|liabilities)$", re.I)


def structures_of(place: Place, table: Table, others: Sequence[Table]) -> list[Draft]:
    """Return the analyses of structure with `place`; `others` are its passage's other tables."""
    drafts = (_concentration(place, table), _outlier(place, table), _reconciliation(place, table),
              _two_tables(place, table, others))
    return [draft for draft in drafts if draft]


def _concentration(place: Place, table: Table) -> Draft | None:
    """Ask how much of a total its two largest parts make up."""
    whole = table.total_of(place)
    parts = sorted(table.clear_parts(whole), key=lambda part: -part.value)
    if not 4 <= len(parts) <= 20 or parts[1].value == parts[2].value or any(
            map(is_rest, parts[:2])):
        return None
    working = Working([whole, *parts[:3]])
    both, third = working.figure("(b + c) / a * 100", "%"), working.figure("d / a * 100", "%")
    one, two = (working.figure(f"{name} / a * 100", "%").text for name in "bc")
    asked = (f"how concentrated is {whole.name}? Name its two largest items, the share that they "
             "make up together, and the share of the next one.")
    verdict = ("highly concentrated" if both.value > 75 else
               "fairly concentrated" if both.value > 50 else "widely spread")
    answer = (f'{whole.item} is {verdict}: "{parts[0].own}" ({one}) and "{parts[1].own}" ({two}) '
              f"make up {both.text} of {whole.printed} together. The next item, "
              f'"{parts[2].own}", has {third.text}.')
    return working.draft("concentration", asked, answer)


def _outlier(place: Place, table: Table) -> Draft | None:
    """Ask which of several neighbouring items changed quite differently from the others."""
    items = sorted((place, *table.neighbours(place)), key=lambda item: item.ref.row)
    pairs = [(item, before) for item in items if (before := table.before(item))
             and before.value > 0 < item.value and not item.is_part]
    names = {item.own for item in items}
    if is_odd(place) or is_rest(place) or table.is_sum(place) or len(names) < len(items):
        return None
    if not _OUTLYING[0] <= len(pairs) == len(items) <= _OUTLYING[1]:
        return None
    working = Working([item for pair in pairs for item in pair])
    changes = [(working.change(new, old), new, old) for new, old in pairs]
    changes.sort(key=lambda change: change[0].value)
    if not (found := _apart(changes)):
        return None
    (change, new, old), others = found
    low, high = others[0], others[-1]
    asked = (f"which of {together(items, 'or')} stands out by its change in percent from "
             f"{old.period.name} to {new.period.name}? Give its change and the range of the "
             "changes of the others.")
    verb = "rose" if change.value > 0 else "fell"
    answer = (f'"{new.own}" stands out: it {verb} by {change.size}, from {old.printed} to '
              f"{new.printed}. The changes of the others lie between {low[0].signed} "
              f'("{low[1].own}") and {high[0].signed} ("{high[1].own}").')
    return working.draft("outlier", asked, answer)


Change = tuple[Figure, Place, Place]


def _apart(changes: list[Change]) -> tuple[Change, list[Change]] | None:
    """Return the change at an end of the sorted `changes` that lies apart, and the others."""
    values = [change.value for change, *_ in changes]
    if max(map(abs, values)) > MOST_PERCENT:
        return None
    for end, others, gap in ((changes[-1], changes[:-1], values[-1] - values[-2]),
                             (changes[0], changes[1:], values[1] - values[0])):
        if gap >= max(_LEAST_APART, others[-1][0].value - others[0][0].value):
            return end, others
    return None


def _reconciliation(place: Place, table: Table) -> Draft | None:
    """Ask whether the parts of a total add up to it, and which of them weighs most."""
    whole = place if place.ref.row in table.totals else next(
        (found for row, rows in table.totals.items() if place.ref.row in rows
         and (found := table.at.get((row, place.ref.column)))), None)
    parts = table.clear_parts(whole)
    if not whole or whole.fault or not _RECONCILED[0] <= len(parts) <= _RECONCILED[1]:
        return None
    largest = max(parts, key=lambda part: part.value)
    if [part.value for part in parts].count(largest.value) > 1 or whole.value <= 0:
        return None
    working = Working([whole, *parts])
    letters = "bcdefghijklmn"[:len(parts)]
    total = working.in_own_unit(" + ".join(letters))
    items = listed([f'"{part.own}" ({part.printed})' for part in parts])
    agrees = f"which agrees with the {whole.printed} reported"
    if total.text != whole.printed:
        gap = working.in_own_unit(f"abs(a - ({' + '.join(letters)}))")
        agrees = f"which differs by {gap.text} from the {whole.printed} reported, due to rounding"
    asked = (f"how does {whole.name} reconcile with the items that it is the sum of? Give these "
             "items with their amounts, say whether they add up to it, and which is largest.")
    negative = [f'"{part.own}"' for part in parts if part.value < 0]
    verb = "reduce" if len(negative) > 1 else "reduces"
    rest = f", and {listed(negative)} {verb} the sum" if negative else ""
    answer = (f'{items} add up to {total.text}, {agrees} for "{whole.row}". The largest item is '
              f'"{largest.own}"{rest}.')
    return working.draft("reconciliation", asked, answer)


def _two_tables(place: Place, table: Table, others: Sequence[Table]) -> Draft | None:
    """Ask how an item's change compares with that of a total in another table of the passage."""
    before = table.before(place)
    if not before or place.is_part or place.is_change or is_odd(place):
        return None
    if not tells_amount(place.row) or "/" in place.cell.unit:
        return None
    for other in others:
        base = next((found for found in other.places if _is_base(found, place)), None)
        old = other.before(base) if base else None
        if not old or old.period != before.period:
            continue
        one, two = _told_apart(place, base)
        if not one or min(before.value, old.value) <= 0 or before.value > old.value:
            continue
        working = Working([place, before, base, old])
        mine, its = working.change(place, before), working.change(base, old)
        share, old_share = (working.figure(f"{pair} * 100", "%") for pair in ("a / c", "b / d"))
        is_told = tells(mine.value, place) and tells(its.value, base)
        if not is_told or mine.text == its.text:
            continue
        faster = place if mine.value > its.value else base
        asked = (f"how did {place.subject}{one} change from {before.period.name} to "
                 f"{place.period.name}, compared with {base.item}{two}? Say which of the two grew "
                 "more (or shrank less), and what the first came to in percent of the second in "
                 "both periods.")
        verb = "grew more" if max(mine.value, its.value) > 0 else "shrank less"
        word = "whereas" if (mine.value > 0) != (its.value > 0) else "and"
        answer = (f"{moved(place.row, place, before, mine)}, {word} "
                  f"{moved(base.row, base, old, its)}, so that "
                  f'"{faster.row}" {verb}. "{place.row}" came to '
                  f'{old_share.text} of "{base.row}" {before.period.phrase} and to {share.text} '
                  f"{place.period.phrase}.")
        return working.draft("two tables", asked, answer, place.report)
    return None


def _is_base(found: Place, place: Place) -> bool:
    """Return whether `found` is a total of the same time and kind that exceeds `place`."""
    return bool(not found.fault and found.period == place.period and found.kind == place.kind
                and _BASES.search(found.own) and found.value >= place.value > 0
                and found.own != place.own and not found.is_part and not found.is_change)


def _told_apart(place: Place, base: Place) -> tuple[str, str]:
    """Return the words for the tables of both, which must differ, else ("", "")."""
    one, two = (found.source.removeprefix(place.report).removeprefix(", ")
                for found in (place, base))
    return (f" ({one})", f" ({two})") if one and two and one != two else ("", "")
