"""Unit, scale and period of the values of a table, from print, labels, notes and the filing."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import lru_cache

from lib.tasks.tablequest.grids.cells import YEAR, Number, Placed
from lib.tasks.tablequest.grids.grid import Layout, Line
from lib.tasks.tablequest.grids.notes import Note, read_note, unit_note_in
from lib.tasks.tablequest.records import Cell

_OF_ITS_OWN = ("%", "basis points", "percentage points", "times", "years", "months", "days",
               "hours", "ratio", "count", "places")  # no scale changes them
_AWARDS = (r"(?:shares?|options|awards|RSUs?|PSUs?|SARs|ADSs?|warrants|(?:stock|share|restricted|"
           r"performance|deferred)[- ](?:based )?(?:stock )?units)")
_PER_SHARE = re.compile(
    rf"\bper[- ](?:[\w-]+ ){{0,4}}?(?:{_AWARDS}|unit|option|award)\b|\bEPS\b|\b(?:exercise|grant|"
    r"strike|stock|share|conversion) price|\bgrant[- ]date fair value|\baverage (?:fair value|"
    r"price)", re.I)
_ASIDE = re.compile(  # figures that a label says beside its own
    r"\([^()]*\$[^()]*\)|[$€£]\s?\d*\.?\d+ (?:stated |par )?(?:value )?(?:per [\w -]*?(?:share|stock))?|"
    r"\d[\d.]*\s?%|\bpar value\b|\bused (?:in|for|to)\b.*|\b\d[\d,.]* (?:[\w-]+ ){0,3}shares\b",
    re.I)
_NUMBER_OF_SHARES = re.compile(
    rf"(?:\b(?:number|amount)|#) of (?:[\w'-]+ ){{0,5}}{_AWARDS}|(?:\bnumber|#) of (?:[\w'-]+ ){{0,5}}(?:units|securities|stock)\b|\b(?:average|basic|diluted) "
    rf"(?:[\w-]+[ -]){{0,6}}shares\b|\bshares used\b|\(?in shares\)|\baverage number\b|\bdilutive|"
    rf"^denominator|[,—–-]\s*shares$|^shares$|\b(?:average|common) (?:[\w-]+ ){{0,3}}shares "
    rf"outstanding|\bshares (?:authorized|outstanding|issued and)", re.I)
_SHARES_DONE = re.compile(
    rf"^(?:[\w,-]+ ){{0,3}}{_AWARDS} (?:\w+ ){{0,2}}(?:(?:re)?purchased|granted|outstanding|"
    rf"available|exercis|vested|reserved|issued|forfeited)|{_AWARDS}$", re.I)
_PERCENT = re.compile(
    r"%|\bpercent(?:age)?s?\b(?! points?)|\brates?$|\brate (?:of|on)\b|\bvolatility\b|\byields?$|"
    r"\bmargin$|^(?:effective|statutory)\b.*\brate", re.I)
_YEARS = re.compile(r"\bin years\b|\(years\)|\b(?:li(?:fe|ves)|(?:remaining|average|expected|lease)\b"
                    r".* term)(?: \(?years\)?)?$", re.I)
_COUNT = re.compile(r"^(?:total )?(?:number|#) of\b|\bheadcount$|\bemployees$", re.I)
_PLACES = re.compile(r"\b(?:stores|sites|locations|warehouses|restaurants|vehicles|deliveries)$", re.I)
_THINGS = re.compile(r"\b(?:member(?:ship)?s?|subscribers?|users?|tons|barrels|gallons|carloads|miles)"
                     r"(?: (?:net )?(?:additions?|losses))?(?: \(\w+\))?$", re.I)
_MONEY = re.compile(r"\$|\b(?:amount|cost|value|expense|income|revenue|cash|price|assets|liabilit"
                    r"|proceeds|compensation|equity|sales|payments?)", re.I)
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_DATE = re.compile(rf"\b({'|'.join(_MONTHS)})[a-z]*\.? ?(\d{{1,2}}),? ?({YEAR})", re.I)
_DAY_FIRST = re.compile(rf"\b(\d{{1,2}}) ({'|'.join(_MONTHS)})[a-z]*\.?,? ({YEAR})", re.I)
_OPENING = re.compile(rf"\b(?:beginning|opening)\b|\bstart of|\b(?:{'|'.join(_MONTHS)})[a-z]* 1$",
                      re.I)


@dataclass
class Context:
    """What a filing says of all its tables, and of the next: notes, from near to far."""

    coin: str = "USD"  # what "$" means
    major: Note = Note()  # the most frequent note
    most: float = 0.0  # the largest number that is printed under it
    ends: dict[int, date] = field(default_factory=dict)  # last day of fiscal years, by name
    end: date | None = None  # of the filing's period
    note: Note = Note()  # with the table
    near: Note = Note()  # above, in the same part
    caption: str = ""


def dates_in(text: str) -> list[date]:
    """Return the days that `text` names, in order."""
    days = [(match[3], match[1], match[2]) for match in _DATE.finditer(text)]
    days += [(match[3], match[2], match[1]) for match in _DAY_FIRST.finditer(text)]
    return [date(int(year), 1 + _MONTHS.index(month.lower()[:3]), int(day))
            for year, month, day in days if 1 <= int(day) <= 28 + 2 * (month[:3].lower() != "feb")
            or (int(day) == 31 and month[:3].lower() not in ("apr", "jun", "sep", "nov", "feb"))
            or (int(day) == 29 and int(year) % 4 == 0)]


def cells_of(layout: Layout, facts: dict[int, object],
             context: Context) -> tuple[tuple[Cell, ...], ...]:
    """Return the cells of a table; `facts` are those of tagged cells, by the cell's id()."""
    table = _Table(layout, context)
    periods = _Periods(layout, context)
    done = []
    for row, line in enumerate(layout.lines):
        signs = Counter((facts[id(cell)].concept, (cell.number.value < 0)
                         != facts[id(cell)].is_negative) for cell in line.cells
                        if cell and id(cell) in facts and cell.number and cell.number.value)
        cells = []
        for column, cell in enumerate(line.cells):
            if cell is None:
                cells.append(Cell(text="", value=None, unit="", scale=1.0))
            elif fact := facts.get(id(cell)):
                inverted, straight = signs[fact.concept, True], signs[fact.concept, False]
                is_own = cell.number and (cell.number.value < 0) != fact.is_negative
                cells.append(fact.cell(cell.text, inverted > straight if inverted != straight
                                       else bool(is_own)))
            else:
                cells.append(table.cell(cell, line, column, periods.of(row, column)))
        done.append(tuple(cells))
    return tuple(done)


class _Table:
    def __init__(self, layout: Layout, context: Context) -> None:
        self.context, self.columns = context, layout.columns
        self.of_column = [read_note(note) for note in layout.notes]
        self.notes = [(read_note(own_note(layout)), "note"), (context.note, "note"), (context.near, "nearest"),
                      (context.major, "majority")]
        found = [[line.cells[index].number for line in layout.lines
                  if line.cells[index] and line.cells[index].number]
                 for index in range(len(self.columns))]
        self.marks = [_mark(numbers) for numbers in found]
        coins = [one.unit for numbers in found for one in numbers if _is_coin(one.unit)]
        self.coin = Counter(coins).most_common(1)[0][0] if coins else ""
        self.most = max((abs(one.value) for numbers in found for one in numbers), default=0.0)
        self.of_columns = [_meaning_of_column(*names) for names in zip(
            layout.columns, layout.lowest, strict=True)]
        self.is_of_shares = "share" in self.of_columns or any(
            meaning(line.label.rpartition(": ")[2], is_row=True) == "share"
            for line in layout.lines) and "shares" not in self.of_columns
        self.above = " ".join((context.caption, *layout.titles))

    def cell(self, cell: Placed, line: Line, column: int, period: str) -> Cell:
        if not (number := cell.number) or not cell.is_value:
            return Cell(text=cell.text, value=None, unit="", scale=1.0)
        unit = number.unit or self._unit(number, cell.text, line.label, column)
        source = "print" if number.unit or unit and unit == self.marks[column] else ""
        scale = 1.0
        if unit in _OF_ITS_OWN:
            source = source or "note"
        elif number.scale:
            scale, source = number.scale, "print"
        elif not _is_per(cell.text, line.label, self.of_columns[column]):
            scale, where = self._scale("shares" if unit == "shares" else "money", line, column)
            source = where or source
        if _is_coin(unit):
            is_share = unit != "" and _is_per(cell.text, line.label, self.of_columns[column])
            unit = self._currency(unit) + "/share" * is_share
        return Cell(text=cell.text, value=number.value, scale=scale, period=period, source=source,
                    unit="" if unit in ("ratio", "count", "places", "things") else unit)

    def _currency(self, coin: str) -> str:
        if coin not in ("$", "¥"):
            return coin
        said = next((note.coin for note, _ in self.notes[:2] if len(note.coin) == 3), "")
        return said or (self.context.coin if coin == "$" or self.context.coin != "USD" else "JPY")

    def _scale(self, kind: str, line: Line, column: int) -> tuple[float, str]:
        own = [read_note(note) for text in (line.note, line.label) if (note := unit_note_in(text))]
        for note, where in (*((one, "note") for one in (*own, self.of_column[column])),
                            *self.notes):
            if where == "majority" and kind == "shares" and not self.coin:
                break
            if where == "majority" and self.most >= 1e6 and (
                    self.most * note.money >= 1e12 or self.most > self.context.most):
                break  # it prints whole units
            if kind == "shares" and note.shares:
                return note.shares, where
            if note.money:
                return note.money, where
            if kind == "money" and note.shares and where == "note":
                return (note.shares if not self.coin else 1.0), where
        return 1.0, ""

    def _unit(self, number: Number, text: str, label: str, column: int) -> str:
        parts, mark, name = label.split(": ")[::-1], self.marks[column], self.columns[column]
        if (unit := self.of_columns[column]) and not (unit == "share" and not _has_cents(text)):
            is_shares = unit == "count" and meaning(parts[0]) == "shares"
            return "shares" if is_shares else self._money(unit)
        for depth, part in enumerate(parts):
            unit = meaning(part, is_row=True)
            if unit in ("done", "shares") and (re.search(r"\bamount|\$|value", name, re.I) or (
                    unit == "done" and not self.is_of_shares and (mark or self.coin))):
                continue
            if unit == "places" and (self.coin or self.notes[0][0].money or mark):
                continue
            if unit and not (
                    unit in ("share", "%", "years", "ratio") and depth and not _has_cents(text)
                    ) and not (unit in ("%", "years") and abs(number.value) >= 1000):
                return self._money({"done": "shares"}.get(unit, unit))
        first = next((note for note, _ in self.notes if note.money or note.shares), Note())
        if first.shares and not first.money and first in (self.notes[0][0], self.notes[1][0]):
            return "shares"
        if mark and mark != "mixed":
            return mark
        if not self.coin and re.search(r"\bnumber of\b|\bshares of\b", self.above, re.I):
            return "shares" if re.search(_AWARDS, self.above, re.I) else ""
        return self.coin or (first.coin or "$" if first.money else "")

    def _money(self, unit: str) -> str:
        return (self.coin or "$") if unit in ("share", "money") else unit


def _mark(numbers: list[Number]) -> str:
    found = {number.unit for number in numbers if number.unit == "%" or _is_coin(number.unit)}
    if found == {"%"} and any(not one.unit and abs(one.value) >= 1000 for one in numbers):
        return "mixed"
    return found.pop() if len(found) == 1 else "mixed" if found else ""


def _is_coin(unit: str) -> bool:
    return unit in ("$", "¥") or bool(re.fullmatch(r"[A-Z]{3}", unit))


def _has_cents(text: str) -> bool:
    return "." in text or not re.search(r"\d,\d{3}|\d{4}", text)


def _is_per(text: str, row: str, column: str) -> bool:
    parts = row.split(": ")
    return meaning(parts[-1], is_row=True) == "share" or _has_cents(text) and "share" in (
        column, *(meaning(part, is_row=True) for part in parts[:-1]))


@lru_cache(maxsize=8192)
def meaning(label: str, is_row: bool = False) -> str:
    """Return what a label says of its numbers: "share" (money per share), "shares", "done" (shares,
    or the money for them), "%", "years", "ratio", "count", "places", "things" (in the note's scale), "money" or "".
    """
    note = unit_note_in(label)
    text = " ".join(_ASIDE.sub(" ", label.replace(note, " ") if note else label).split())
    head = re.split(r"\s*[,;(]|\b(?:of|at|in|on|to|from|for|by|with|than|as)\b", text)[0].strip()
    if not is_row and re.search(r"^\(?\$\)?$|\(\$\)|^amounts?$", text, re.I):
        return "money"
    if re.search(r"\bratio\b|\bmultiple\b|^(?:conversion|exchange) rate\b", head, re.I):
        return "ratio"
    if _NUMBER_OF_SHARES.search(text) and not _PER_SHARE.search(text):
        return "" if re.search(r"\b(?:cost|value|expense|compensation)\b", head, re.I) else "shares"
    if _PER_SHARE.search(text) and not re.search(r"\b(?:aggregate|total|intrinsic)\b", text, re.I):
        return "share"
    if _YEARS.search(text):
        return "years"
    if _PERCENT.search(text) or _PERCENT.search(head):
        return "%"
    if _SHARES_DONE.search(text) and not _MONEY.search(text):
        return "done" if is_row else "shares"
    if _MONEY.search(text):
        return ""
    things = _THINGS.search(text) or _THINGS.search(head)
    if things or _PLACES.search(head):
        return "things" if things else "places"
    return "count" if _COUNT.search(text) or _COUNT.search(head) else ""


def own_note(layout: Layout) -> str:
    """Return the unit note of a table's titles, or of all its columns; "" if none."""
    of_columns = set(layout.notes)
    return next(filter(None, (unit_note_in(text, is_short=True) for text in layout.titles)), "") or (
        of_columns.pop() if len(of_columns) == 1 else "")


def _meaning_of_column(name: str, lowest: str) -> str:
    return meaning(lowest) or ("" if _MONEY.search(lowest) else meaning(name))


class _Periods:
    """The last day, or the fiscal year, that a cell is about, as labels, caption and cover say."""

    def __init__(self, layout: Layout, context: Context) -> None:
        self.context = context
        self.columns = [self._day(name) for name in layout.columns]
        default = next(filter(None, map(self._day, (*layout.titles[::-1], context.caption))), "")
        self.default = default or (context.end.isoformat() if context.end else "")
        self.rows, below = [], ""
        for line in reversed(layout.lines):
            own = self._day(line.label)
            is_balance = re.search(r"balance|outstanding|vested|\bas of\b", line.label, re.I)
            own = own if is_balance or own in {*map(str, context.ends.values())} else ""
            self.rows.append((own or below, bool(_OPENING.search(line.label))))
            below = own if own and is_balance else below
        self.rows.reverse()

    def of(self, row: int, column: int) -> str:
        day, is_opening = self.rows[row]
        period = self.columns[column] or day or self.default
        if is_opening and len(period) > 3:
            before = int(period[:4]) - 1
            year = next((name for name, end in self.context.ends.items()
                         if end.isoformat() == period), before + 1)
            return self._year(year - 1) if len(period) > 4 else str(before)
        return period

    def _day(self, text: str) -> str:
        days = dates_in(text)
        if days:
            latest = max(days)
            if latest - timedelta(days=1) in self.context.ends.values() or latest.day == 1:
                latest -= timedelta(days=1)  # an opening balance
            return latest.isoformat() if self._is_past(latest) else ""
        years = [int(year) for year in re.findall(rf"(?<![\d.,]){YEAR}(?![\d,])", text)]
        last = max(self.context.ends, default=9999)
        return self._year(max(years)) if years and max(years) <= last else ""

    def _year(self, year: int) -> str:
        return self.context.ends[year].isoformat() if year in self.context.ends else str(year)

    def _is_past(self, day: date) -> bool:
        return not self.context.end or day <= self.context.end + timedelta(days=60)


def fiscal_ends(end: date, labels: Sequence[str]) -> dict[int, date]:
    """Return the last day of each fiscal year up to the one that ended on `end`, by its name.

    Years of 52 weeks end on the days that `labels` name; a year that ends early in the next
    calendar year may be named after the one before.
    """
    years = Counter(int(year) for label in labels for year in re.findall(rf"\b{YEAR}\b", label)
                    if not dates_in(label))
    is_before = end.month < 4 and years[end.year - 1] > 1.5 * years[end.year]
    named = {day for label in labels for day in dates_in(label)}
    found = {}
    for back in range(12):
        exact = date(end.year - back, end.month, min(end.day, 28))
        near = [day for day in named if abs((day - exact).days) < 11 and end.day != day.day != 1]
        same = date(end.year - back, end.month, end.day) if (end.month, end.day) != (2, 29) else exact
        is_weekly = (end + timedelta(days=1)).day > 1
        found[end.year - back - is_before] = min(
            near if is_weekly else [], key=lambda day: abs((day - exact).days), default=same)
    return found
