"""Decide the unit and scale of a value from its marks, its labels, its neighbours and the notes."""

import re
from dataclasses import dataclass, field, replace

from lib.tasks.tablequest.grids.meanings import Meaning, counts_shares, counts_things
from lib.tasks.tablequest.grids.notes import Note
from lib.tasks.tablequest.grids.values import COINS, Reading

MONEY = frozenset(COINS.values())
_OWN_SCALE = ("%", "basis points", "percentage points", "times", "years", "months", "days",
              "hours")  # units that the table's scale does not change


@dataclass(frozen=True)
class Table:
    """What holds for all cells of a table."""

    note: Note = field(default_factory=lambda: Note(""))
    coin: str = ""  # the currency that its cells print; "" if none
    counts_shares: bool = False  # no coin is printed, and its introduction speaks of shares
    counts_things: bool = False  # no coin is printed, and its introduction speaks of a number
    has_share_columns: bool = False  # so a row such as "Shares issued" has amounts of money too


def table_of(note: Note, coin: str, introduction: list[str], columns: list[Meaning]) -> Table:
    """Return what a table's note, the coin that it prints and the texts above it say."""
    shares = not coin and counts_shares(introduction, of_any=not note.coin)
    things = not coin and not note.coin and counts_things(introduction)
    if shares or things:
        note = replace(note, coin="")  # its scale is for all that there is
    return Table(note, coin, shares, things, any(one.unit == "shares" for one in columns))


def unit_and_scale(reading: Reading, text: str, row: tuple[str, Meaning], column: Meaning,
                   marks: tuple[str, str], table: Table) -> tuple[str, float]:
    """Return unit and scale of a value, printed as `text`, from all that is said about it.

    `marks` are the units ("USD", "%", "mixed" or "") printed in the value's column and in its row.
    Filings print "$" only in a column's first and last row.
    """
    label, meaning = row
    is_excepted, unit = table.note.excepts(label), reading.unit
    if not unit and not (is_excepted and marks[1] not in MONEY):
        unit = _unit_by_labels(reading, text, meaning, column, marks, table)
    elif not unit and meaning.unit in _OWN_SCALE:
        unit = meaning.unit
    if unit in _OWN_SCALE or unit == "ratio":
        return ("" if unit == "ratio" else unit), 1.0
    if reading.scale > 1:
        return unit, reading.scale
    if unit in MONEY and _is_per(text, meaning, column):
        per_share = "share" in (meaning.per, column.per)
        own = meaning.note or column.note
        return (f"{unit}/share", 1.0) if per_share else (unit, own.money or 1.0 if own else 1.0)
    if unit == "shares" and "." in text and not table.note.shares:
        table = replace(table, note=replace(table.note, scales_shares=True))  # no part of a share
    kind = "shares" if unit == "shares" else "area" if unit.startswith("square") else ""
    if (unit in ("", "things", "ones") or kind) and is_excepted:
        return kind and unit, 1.0
    for own in filter(None, (meaning.note, column.note)):
        if scale := _scale(own, kind, unit):
            return _written(unit), scale
    if unit == "ones" and table.coin:
        return "", 1.0
    return _written(unit), _scale(table.note, kind, unit) or 1.0


def _written(unit: str) -> str:
    return "" if unit in ("things", "ones") else unit


def _scale(note: Note, kind: str, unit: str) -> float | None:
    if kind:
        is_scaled = not note.coin or kind == "shares" and note.scales_shares
        return getattr(note, kind) or (note.money if is_scaled else None) or note.things
    if unit in MONEY:
        return note.money or (note.shares if not note.money else None)
    is_scaled = not (note.coin and unit in ("things", "ones"))
    return note.things or (note.money if is_scaled else None) or note.shares


def _unit_by_labels(reading: Reading, text: str, row: Meaning, column: Meaning,
                    marks: tuple[str, str], table: Table) -> str:
    in_column, in_row = marks
    for one in (column, row):
        if one.unit in ("years", "months", "days") and one.is_certain:
            return one.unit
    holds = column.is_certain or in_column not in MONEY
    if holds and (column.unit in ("%", "ratio", "years", "shares", *MONEY)
                  or column.unit.startswith("square")):
        return column.unit
    if column.unit == "ones" and holds:
        return "shares" if row.unit == "shares" else "ones"
    if row.unit and in_row not in MONEY and not _is_amount(reading, text, row, in_column, table):
        return {"places": "", "awards": "shares"}.get(row.unit, row.unit)
    note = table.note
    if in_column not in MONEY and "share" in (row.per, column.per) and _is_per(text, row, column):
        return table.coin or note.coin or "USD"
    if in_column not in ("", "mixed"):
        return in_column
    if note.shares and not note.money or table.counts_shares:
        return "shares"
    if table.counts_things or note.things:
        return ""
    own = row.note or column.note
    if own and own.things:
        return ""
    if own and own.money and not own.coin and in_column == "mixed":
        return ""  # "Customer transactions (in millions)" among rates and prices
    has_money = note.coin or note.money or own and own.money
    return table.coin or note.coin or (own.coin if own else "") or "USD" if has_money else ""


def _is_amount(reading: Reading, text: str, row: Meaning, in_column: str, table: Table) -> bool:
    """Return whether a number is money although its row's label is the word for another unit."""
    if row.is_certain:
        return False
    if row.unit == "shares":
        has_money = table.coin or table.note.money and not table.counts_shares
        return table.has_share_columns or bool((reading.value or 0) < 0 and has_money)
    if row.unit == "awards":  # "Stock options" beside "$" or with a note for dollars are costs
        return bool(table.coin or table.note.coin)
    if row.unit == "places":
        return bool(table.coin or table.note.money or row.note and row.note.money)
    # Rates have decimals; "Interest rate | 12" beside "$" is a kind of contract.
    is_whole = "." not in text and (abs(reading.value or 0) >= 100 or in_column in MONEY)
    return row.unit in ("%", "ratio", "years") and is_whole


def _is_per(text: str, row: Meaning, column: Meaning) -> bool:
    """Return whether an amount is per share or thing.

    The label of a group or a column does not make "$8,711" per share: rows of totals lead to it.
    """
    if row.per and row.is_certain:
        return True
    is_total = bool(re.search(r"\d,\d{3}(?!\.)|\d{4}", text)) and "." not in text
    return bool(row.per or column.per) and not is_total


