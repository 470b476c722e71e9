"""Unit, scale and period of the values of a table, from print, labels, notes and the filing."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from functools import lru_cache
from typing import NamedTuple

from lib.tasks.tablequest.filings.facts import Fact
from lib.tasks.tablequest.grids.cells import (
    YEAR,
    Note,
    Number,
    Placed,
    coin_in,
    is_only_note,
    read_note,
    unit_note_in,
)
from lib.tasks.tablequest.grids.grid import Layout, Line
from lib.tasks.tablequest.records import Cell

_NAMELESS = re.compile("^(?:ratio|count|places|things)$")
_RATES = ("%", "years", "ratio")
_UNSCALED = re.compile("%|.* points|times|years|months|days|hours|ratio|count|places")
_AWARDS = (
    r"(?:shares?|options|awards|RSU[’']?s?|PSU[’']?s?|SARs|ADSs?|warrants|"
    r"(?:stock|share|restricted|performance|deferred)[- ](?:based )?(?:stock )?units)"
)
_PER_SHARE = (
    rf"\bper[- ](?:[\w-]+ ){{0,4}}?(?:{_AWARDS}|unit|option|award)\b|\bEPS\b|"
    r"\b(?:exercise|grant|strike|stock|share|option|conversion) price|"
    r"\baverage (?:[\w-]+ ){0,3}?(?:fair value|price)"
)
_ASIDE = re.compile(  # figures that a label says beside its own
    r"\([^()]*\$\s?\d[^()]*\)|[$€£]\s?\d*\.?\d+ (?:stated |par )?(?:value )?(?:per [\w -]*?"
    r"(?:share|stock))?|\d[\d.]*\s?%|\bpar value\b|\bused (?:in|for|to)\b.*|"
    r"\b\d[\d,.]* (?:[\w-]+ ){0,3}shares\b",
    re.I,
)
_MONEY = (
    r"\$|\b(?:amount|cost|value|expense|income|revenue|cash|price|assets|liabilit|proceeds|"
    r"compensation|equity|sales|payments?)"
)
# What a label, or the words that it begins with, says of its numbers; the first match counts.
_MEANINGS = {
    unit: re.compile(pattern, re.I | re.M)
    for unit, pattern in {
        "ratio": r"\bratio$|\bmultiple$|\b(?:conversion|exchange) rate\b",
        "shares": rf"^(?!.*(?:{_PER_SHARE}|\b(?:cost|expense|compensation(?! plan))\b)).*(?:"
        rf"(?:\b(?:number|amount)|#) of (?:[\w'-]+ ){{0,5}}{_AWARDS}|"
        r"(?:\bnumber|#) of (?:[\w'-]+ ){0,5}(?:units|securities|stock)\b|"
        r"\b(?:average|basic|diluted) (?:[\w-]+[ -]){0,6}shares\b|"
        r"\bshares used\b|\(?in shares\)|\baverage number\b|\bdilutive|^denominator|"
        r"[,—–-]\s*shares$|^shares$|\b(?:average|common) (?:[\w-]+ ){0,3}shares outstanding|"
        r"\bshares (?:authorized|outstanding|issued and|remaining))",
        "share": rf"^(?!.*\b(?:aggregate|total|intrinsic|numerator)\b).*(?:{_PER_SHARE})",
        "money": r"(?:^|\s)\(?[a-z]{0,3}[$€£]\)?$|^amounts?$|"
        r"\b(?:canadian|australian|u\.?s\.?) dollars?$",
        "years": r"\bin years\b|\(years\)|\b(?:li(?:fe|ves)|(?:remaining|average|expected|lease)\b"
        r".* term)(?: \(?years\)?)?$",
        "%": r"%|\bpercent(?:age)?s?\b(?! points?)|\brates?$|\brate (?:of|on)\b|\bvolatility\b|"
        r"\byields?$|\bmargin$|^(?:effective|statutory)\b.*\brate",
        "": rf"^.*(?:{_MONEY}).*\n",
        # numbers of shares, or the money for them
        "done": rf"^(?:[\w,-]+ ){{0,3}}(?:{_AWARDS}|restricted stock) (?:\w+ ){{0,2}}(?:"
        rf"(?:re)?purchased|granted|outstanding|available|exercis|vested|reserved|issued|forfeited)|{_AWARDS}$|^units$",
        "things": r"\b(?:member(?:ship)?s?|subscribers?|users?|tons|barrels|gallons|carloads|miles|"
        r"passengers|policies in force)(?: (?:net )?(?:additions?|losses))?(?: \(\w+\))?$",
        "places": r"\b(?:stores|units|unit counts|sites|locations|warehouses|restaurants|vehicles|"
        r"deliveries)$",
        "count": r"^(?:total )?(?:number|#) of\b|\bheadcount$|\bemployees$",
    }.items()
}
_COIN_ABOVE = re.compile(
    r"\([A-Za-z]{0,3}[$€£¥]\)|\b[A-Z]\w{0,2}\$|"
    r"\b(?:Canadian|Australian|U\.?S\.?) dollars?$",
    re.I,
)
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_QUARTERS = {"first": 9, "second": 6, "third": 3}  # months before a year's end
_SPANS = {"three months": 3, "six months": 6, "nine months": 9}
_DATE = re.compile(
    rf"(?:\b(\d{{1,2}}) )?\b({'|'.join(_MONTHS)})[a-z]*\.?,? ?(?:(\d{{1,2}}),? ?)?"
    rf"\b({YEAR})\b",
    re.I,
)
_DAY = rf"(?:{'|'.join(_MONTHS)})[a-z]*\.? \d{{1,2}}"
_RANGE = re.compile(rf"{_DAY}(?:, ?{YEAR})?,? (?:to|through) ({_DAY})(?:, ?({YEAR}))?", re.I)
_MONTH = re.compile(rf"((?:{'|'.join(_MONTHS)})[a-z]*)\.?,? ({YEAR})(?: \(.*\))?$", re.I)
_YEAR = re.compile(
    rf"(?<![\d.,]){YEAR}(?![\d,]|[ -][A-Z][a-z]+ (?:Notes|Plan)| (?:notes|plan)\b)", re.I
)
_FISCAL = re.compile(rf"\bfiscal (?:years? )?({YEAR})", re.I)
_EVENT = re.compile(r"\b(?:maturity|(?:\w+ )?date|expir\w+)\b(?! of)", re.I)
_OPENING = re.compile(
    rf"\b(?:beginning|opening)\b|\bstart of|\b(?:{'|'.join(_MONTHS)})[a-z]* 1$", re.I
)


class Context(NamedTuple):
    """What a filing says of all its tables, and of one: notes, from near to far."""

    coin: str  # what "$" means
    notes: Sequence[Note]  # in the table or above it; last in the same part; most frequent
    caption: str
    end: date | None  # of the filing's period
    ends: Mapping[int, date]  # last day of fiscal years, by name


def cells_of(
    layout: Layout, facts: Mapping[int, Fact], context: Context
) -> tuple[tuple[Cell, ...], ...]:
    """Return the cells of a table; `facts` are those of tagged cells, by the cell's id().

    A tag has the sign of its concept, which a row inverts for most of its cells or for none.
    """
    units, periods, done = _Units(layout, context), _Periods(layout, context), []
    for row, line in enumerate(layout.lines):
        votes: Counter[str] = Counter()
        for cell in line.cells:
            if (fact := facts.get(id(cell))) and cell.number and cell.number.value:
                votes[fact.concept] += 1 if (cell.number.value < 0) != fact.is_negative else -1
        done.append(
            tuple(
                fact.cell(cell.text, votes[fact.concept] > 0)
                if (fact := facts.get(id(cell)))
                else units.cell(cell, line, column, periods.of(row, column))
                for column, cell in enumerate(line.cells)
            )
        )
    return tuple(done)


class _Units:
    def __init__(self, layout: Layout, context: Context) -> None:
        self.note, self.home = context.notes[0], context.coin
        self.of_column = list(map(read_note, notes_above(layout)))
        self.notes = list(zip(context.notes, ("note", "nearest", "majority"), strict=True))
        numbers = [
            [cell.number for cell in column if cell and cell.number]
            for column in zip(*(line.cells for line in layout.lines), strict=True)
        ]
        self.printed = [
            {one.unit for one in column if _is_coin(one.unit) or one.unit == "%"}
            for column in numbers
        ]
        self.coin = max(filter(_is_coin, set().union(*self.printed)), default="")
        self.most = [max((abs(one.value) for one in column), default=0.0) for column in numbers]
        self.first = [next((one.unit for one in column if one.value), "%") for column in numbers]
        price = "Share price" if self.coin else r"\g<0>"
        lowest = [re.sub(r"^(?:High|Low)\b", price, _lowest(heads)) for heads in layout.heads]
        self.named = [_COIN_ABOVE.findall(low) for low in lowest]
        self.meanings = [
            meaning(low)
            or ("" if low != "Price" and re.search(_MONEY, low, re.I) else meaning(name))
            for low, name in zip(lowest, layout.columns, strict=True)
        ]
        self.is_of_shares = (
            "share" in self.meanings
            or "shares" not in self.meanings
            and any(meaning(line.label.rpartition(": ")[2]) == "share" for line in layout.lines)
        )
        self.above = " ".join((context.caption, *layout.titles))

    def cell(self, cell: Placed | None, line: Line, column: int, period: str) -> Cell:
        if not cell or not cell.is_value:
            return Cell(text=cell.text if cell else "", value=None, unit="", scale=1.0)
        number, scale, where = cell.number, cell.number.scale or 1.0, ""
        is_other = number.unit and not _is_coin(number.unit)
        unit = number.unit if is_other else self._by_label(number, cell.text, line.label, column)
        is_per_share = unit == "share"
        if unit in ("share", "money", "") or _is_coin(number.unit):
            unit = number.unit or (self.coin or "$" if unit else self._by_table(column))
        if not number.scale and not _UNSCALED.fullmatch(unit) and not is_per_share:
            scale, where = self._scale(unit, line, column, cell.text)
        source = where or ("print" if unit and unit in {number.unit} | self.printed[column] else "")
        if _is_coin(unit):
            unit = self._currency(unit, column) + "/share" * is_per_share
        return Cell(
            text=cell.text,
            value=number.value,
            unit=_NAMELESS.sub("", unit),
            scale=scale,
            period=period,
            source=source,
        )

    def _currency(self, coin: str, column: int) -> str:
        other = self.home if coin == "$" or self.home == "CNY" else "JPY"
        said = (coin, *map(coin_in, self.named[column]), self.note.coin, other)
        return next(one for one in said if len(one) == 3)

    def _scale(self, unit: str, line: Line, column: int, text: str) -> tuple[float, str]:
        own = read_note(unit_note_in(line.label))
        for note, where in ((own, "note"), (self.of_column[column], "note"), *self.notes):
            if where != "note" and (
                not (unit or self.coin) or self.named[column] or re.search(r"\.\d\d", text)
            ):
                break  # it prints no money, or cents
            if where == "majority" and (
                unit == "shares" and not self.coin or max(self.most) >= 1e6
            ):
                break  # it prints whole units
            if (
                unit == "shares"
                and not note.shares
                and (
                    note.coin
                    or where != "note"
                    and self.most[column] >= 1e4
                    and (self.meanings[column] or not self.coin)
                )
            ):
                continue  # of dollars, or whole shares
            if scale := unit == "shares" and note.shares or note.money:
                return scale, where
        return 1.0, ""

    def _by_label(self, number: Number, text: str, label: str, column: int) -> str:
        own, *groups = label.split(": ")[::-1]
        has_cents = "." in text or not re.search(r"\d,\d{3}|\d{4}", text)
        if (unit := self.meanings[column]) and (unit != "share" or has_cents):
            return "shares" if unit == "done" else unit
        has_money = self.coin
        for part in (own, *groups):
            unit = meaning(part)
            is_money = (
                unit in ("share", "done")
                and "umerator" in label
                or unit == "done"
                and has_money
                and not self.is_of_shares
                or unit == "shares"
                and has_money
                and "par value" in part
                or unit == "places"
                and has_money
                or unit in ("share", *_RATES)
                and part != own
                and not has_cents
                or unit in _RATES
                and "." not in text
                and "in years" not in part
                and (abs(number.value) >= 100 or any(map(_is_coin, self.printed[column])))
            )
            if unit and not is_money:
                return "shares" if unit == "done" else unit
        return ""

    def _by_table(self, column: int) -> str:
        first = next((note for note, _ in self.notes if note.money or note.shares), Note())
        if first.shares and not first.money:
            return "shares"
        printed = self.printed[column]
        if len(printed) == 1 and (printed != {"%"} or self.first[column] in printed):
            return min(printed)
        if not self.coin and re.search(
            r"\b(?:number|shares) of\b|outstanding:|anti-?dilutive", self.above, re.I
        ):
            return "shares" if re.search(rf"{_AWARDS}|stock", self.above, re.I) else ""
        return self.coin or (first.coin or "$" if first.money and first == self.note else "")


def _lowest(heads: Iterable[Placed]) -> str:
    # the lowest header of a column, whose words may be spread over several rows
    cells = [cell for cell in heads if not is_only_note(cell.text)]
    return " ".join(
        cell.text for cell in cells if (cell.start, cell.end) == (cells[-1].start, cells[-1].end)
    )


def _is_coin(unit: str) -> bool:
    return bool(re.fullmatch(r"[$¥]|[A-Z]{3}", unit))


def notes_above(layout: Layout) -> list[str]:
    """Return the unit note above each column, "" if there is none."""
    return [
        next(filter(None, (unit_note_in(cell.text, is_short=True) for cell in heads)), "")
        for heads in layout.heads
    ]


def own_note(layout: Layout) -> str:
    """Return the unit note of a table's titles, or of all its columns; "" if none."""
    of_columns = set(notes_above(layout))
    titles = (unit_note_in(text, is_short=True) for text in layout.titles)
    return next(filter(None, titles), "") or (of_columns.pop() if len(of_columns) == 1 else "")


@lru_cache(maxsize=8192)
def meaning(label: str) -> str:
    """Return what a label says of its numbers: a key of _MEANINGS; "share" is money per share."""
    note = unit_note_in(label)
    text = " ".join(_ASIDE.sub(" ", label.replace(note, " ") if note else label).split())
    head = re.split(r"\s*[,;(]|\b(?:of|at|in|on|to|from|for|by|with|than|as)\b", text)[0].strip()
    said = f"{text}\n{head}"
    return next((unit for unit, pattern in _MEANINGS.items() if pattern.search(said)), "")


class _Periods:
    # the last day, or the fiscal year, that a cell is about, as labels, caption and cover say

    def __init__(self, layout: Layout, context: Context) -> None:
        self.end, self.ends = context.end, context.ends
        self.columns = list(map(self._day, layout.columns))
        self.labels = layout.columns
        days = {day for day in self.columns if day}
        said = map(self._day, (*layout.titles[::-1], context.caption))
        self.default = (
            min(days) if len(days) == 1 else next(filter(None, said), str(context.end or ""))
        )
        is_of_events = any(map(_EVENT.search, layout.titles))  # "Maturity date": not a period
        self.rows, below = [], ""
        for line in reversed(layout.lines):
            below = "" if is_of_events else self._day(line.label) or below
            self.rows.append((below, line.label))
        self.rows.reverse()

    def of(self, row: int, column: int) -> str:
        day, label = self.rows[row]
        period = self.columns[column] or day or self.default
        texts = label, self.labels[column]
        text = " ".join(texts).lower()
        years = {str(end): year for year, end in self.ends.items()}
        is_quarter = "quarter" in text and period in years
        spans = _QUARTERS if is_quarter else _SPANS
        n_months = next((n for word, n in spans.items() if word in text), 0)
        if not period or not (is_quarter and n_months or any(map(_OPENING.search, texts))):
            return period
        if not n_months or "-" not in period:
            return self._year(years.get(period, int(period[:4])) - 1)
        year, month = divmod(12 * int(period[:4]) + int(period[5:7]) - n_months, 12)
        return str(date(year, month + 1, 1) - timedelta(days=1))

    def _day(self, text: str) -> str:
        if last := _RANGE.search(text):  # "January 1 to July 21", with or without a year
            text = f"{last[1]}, {last[2] or max(_YEAR.findall(text), default='')}"
        days = dates_in(text)
        if month := not days and _MONTH.match(text):
            following = dates_in(f"{month[1]} 28, {month[2]}")[0] + timedelta(days=4)
            days = [following - timedelta(days=following.day)]
        if days:
            latest = max(days)
            latest -= timedelta(days=latest.day == 1)  # an opening balance
            is_past = not self.end or latest <= self.end + timedelta(days=120)
            return str(latest) if is_past else ""
        year = max(map(int, _YEAR.findall(text)), default=0)
        return self._year(year) if 0 < year <= max(self.ends, default=9999) else ""

    def _year(self, year: int) -> str:
        return str(self.ends.get(year, year))


def dates_in(text: str) -> list[date]:
    """Return the days that `text` names, in order."""
    found = []
    for before, month, after, year in _DATE.findall(text):
        try:
            found.append(date(int(year), 1 + _MONTHS.index(month.lower()), int(after or before)))
        except ValueError:  # a month without a day
            continue
    return found


def fiscal_ends(end: date, labels: Iterable[str], texts: Iterable[str]) -> dict[int, date]:
    """Return the last day of each fiscal year up to the one that ended on `end`, by its name.

    Years of 52 weeks end on the days that `labels` name; a year that ends early in the next
    calendar year may be named after the one before, as `texts` do more often.
    """
    labels = set(labels)
    years = Counter(year for text in texts for year in _FISCAL.findall(text))
    is_before = end.month < 4 and years[str(end.year - 1)] > 1.5 * years[str(end.year)]
    named = [day for label in labels for day in dates_in(label) if day.day > 1]
    after, found = end + timedelta(days=1), {}
    for back in range(12):
        same = date(after.year - back, after.month, min(after.day, 28)) - timedelta(days=1)
        near = [day for day in named if after.day > 1 and abs(day - same).days < 11]
        found[end.year - back - is_before] = min(
            near, key=lambda day: abs(day - same), default=same
        )
    return found
