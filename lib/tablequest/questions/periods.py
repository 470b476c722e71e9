"""The time that a table's column stands for, and labels without what is not part of a name."""

import re
from calendar import month_name
from dataclasses import dataclass

_MONTHS = month_name[1:]
# "fiscal year 2024", "September 28, 2024", "2024"; not "20245"
_DATE = re.compile(rf"(?P<fiscal>fiscal\s+(?:year\s+)?)?"
                   rf"(?:(?P<month>{'|'.join(_MONTHS)})\s+(?:(?P<day>\d{{1,2}}),?\s+)?)?"
                   r"\b(?P<year>(?:19|20)\d\d)\b", re.I)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
# "for the years ended", "three months ended"; not "ended 2024"
_ENDED = re.compile(r"\b(?:for\s+the\s+)?"
                    r"((?:fiscal\s+)?years?|(?:\w+|\d+)\s+(?:months?|weeks?))\s+ended\b", re.I)
_FILLER = re.compile(r"\b(?:as\s+of|at|for|in|the|fiscal|years?)\b|[\s:,;|–—-]+", re.I)
_NOTE_MARK = re.compile(r"(?:\s*\((?:\d{1,2}|[a-h])\))+$")  # "Sales (1)(a)"; not "Sales (net)"


@dataclass(frozen=True)
class Period:
    """The time that a column stands for."""

    name: str  # "2024", "fiscal 2024", "February 2, 2025", "the year ended September 28, 2024"
    order: tuple[int, int, int]  # year, month, day; 0 where not given
    measure: str  # the rest of the column's label: "Net Sales", "" where it only gives a time

    @property
    def phrase(self) -> str:
        """With its preposition: "in 2024", "as of February 2, 2025", "for the year ended …"."""
        if self.name.startswith("the "):
            return f"for {self.name}"
        return f"as of {self.name}" if self.order[2] else f"in {self.name}"


def period_of(column: str) -> Period | None:
    """Return the time that a column's label names; None if it names none or several."""
    dates = list(_DATE.finditer(column))
    if len(dates) != 1 or len(_YEAR.findall(column)) != 1:
        return None
    found, ended = dates[0], _ENDED.search(column)
    month = _MONTHS.index(found["month"].capitalize()) + 1 if found["month"] else 0
    order = (int(found["year"]), month, int(found["day"] or 0))
    rest = column[:found.start()] + " " + column[found.end():]
    name = " ".join(found[0].split())
    if found["fiscal"]:
        name = name[0].lower() + name[1:]
    if ended and found["month"]:
        span = " ".join(ended[1].lower().split())
        name = f"the {span.removesuffix('s') if 'year' in span else span} ended {name}"
    elif not found["fiscal"] and re.search(r"\bfiscal\b", rest, re.I):
        name = f"fiscal {name}"
    measure = label_of(_ENDED.sub(" ", rest).strip(" :,;|–—-"))
    is_named = re.search(r"[^\W_]", _FILLER.sub("", measure))
    return Period(name, order, measure if is_named else "")


def label_of(text: str) -> str:
    """Return a label without footnote marks, line breaks and a final colon."""
    return _NOTE_MARK.sub("", " ".join(text.split())).strip(" :;,")
