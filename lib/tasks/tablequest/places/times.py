"""Agree the period that a column names with the one in which a cell is tagged."""

import re
from calendar import month_name
from dataclasses import replace
from datetime import date, timedelta

from lib.tasks.tablequest.questions.wording import Period
from lib.tasks.tablequest.records import Cell

_SPANS = (("three months", 80, 100), ("six months", 170, 191), ("nine months", 260, 285),
          ("year", 350, 380))  # shortest and longest, in days
_IN_WORDS = str.maketrans({"3": "three", "6": "six", "9": "nine"})
_CLASH = "its tag has another period than its column"


def dated(period: Period | None, cell: Cell, row: str = "") -> tuple[Period | None, str]:
    """Return the period in the words that fit the tag, and why they differ, or "".

    A column "2024" means the end of 2024 for a balance; "December 31, 2024" means the year that
    ended then for a flow. A cell without tag keeps its column's period, and so does a `row` that
    names the end itself.
    """
    tag = cell.period
    if period is None or not tag:
        return period, ""
    first, _, last = tag.rpartition("/")
    year, month, day = period.order
    try:
        end, begin = date.fromisoformat(last), date.fromisoformat(first) if first else None
        # a fiscal year may end in the first weeks of the next
        is_same = (abs(end - date(year, month, day)) <= timedelta(days=7) if month and day else
                   end.year == year or end.year == year + 1 and end.month < 3)
    except ValueError:
        return period, _CLASH
    if not is_same:
        return period, _CLASH
    if begin is None:
        is_named = period.span or month or re.search(r"\bend(?:ing)?\b", row, re.I)
        return period if is_named else _at_end(period, end), ""
    n_days = (end - begin).days + 1
    span = next((name for name, least, most in _SPANS if least <= n_days <= most), "")
    if not day or period.span:
        is_year = period.span in ("", "year", "fiscal year")
        is_same = is_year == (span == "year")
        if is_same and "month" in period.span and span:
            is_same = period.span.translate(_IN_WORDS) == span
        return period, "" if is_same else _CLASH
    if not span:
        return period, _CLASH
    return replace(period, name=f"the {span} ended {period.name}", span=span), ""


def _at_end(period: Period, end: date) -> Period:
    """Name the end of a calendar or fiscal year so, and any other day by its date."""
    year = period.order[0]
    if period.name.startswith("fiscal") or (end.month, end.day) == (12, 31) or end.year != year:
        return replace(period, name=f"the end of {period.name}")
    name = f"{month_name[end.month]} {end.day}, {year}"
    return replace(period, name=name, order=(year, end.month, end.day))
