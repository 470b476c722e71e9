"""The time that a column of a table stands for, and labels without what is no part of a name."""

import re
from dataclasses import dataclass

_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATE = re.compile(rf"(?P<fiscal>fiscal\s+(?:year\s+)?)?(?:(?P<month>{_MONTHS})\s+(?:(?P<day>\d{{1,2}}),?\s+)?)?"
                   r"\b(?P<year>(?:19|20)\d\d)\b", re.I)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_ENDED = re.compile(r"\b(?:for\s+the\s+)?((?:fiscal\s+)?years?|(?:\w+|\d+)\s+(?:months?|weeks?))\s+ended\b", re.I)
_FILLER = re.compile(r"\b(?:as\s+of|at|for|in|the|fiscal|years?)\b|[\s:,;|–—-]+", re.I)
_NOTE_MARK = re.compile(r"(?:\s*\((?:\d{1,2}|[a-h])\))+$")


@dataclass(frozen=True)
class Period:
    """The time that a column stands for."""

    name: str  # "2024", "fiscal 2024", "February 2, 2025", "the year ended September 28, 2024"
    order: tuple[int, int, int]  # year, month, day; 0 where not said
    measure: str  # what else the column's label says: "Net Sales", "" where it says a time only

    @property
    def phrase(self) -> str:
        """With its preposition: "in 2024", "as of February 2, 2025", "for the year ended …"."""
        if self.name.startswith("the "):
            return f"for {self.name}"
        return f"as of {self.name}" if self.order[2] else f"in {self.name}"


def period_of(column: str) -> Period | None:
    """The time that a column's label names; None where it names none, or more than one."""
    dates = list(_DATE.finditer(column))
    if len(dates) != 1 or len(_YEAR.findall(column)) != 1:
        return None
    found, ended = dates[0], _ENDED.search(column)
    month = _MONTHS.split("|").index(found["month"].capitalize()) + 1 if found["month"] else 0
    order = (int(found["year"]), month, int(found["day"] or 0))
    rest = column[:found.start()] + " " + column[found.end():]
    date = " ".join(found[0].split())
    date = date[0].lower() + date[1:] if found["fiscal"] else date
    if ended and found["month"]:
        span = " ".join(ended[1].lower().split())
        span = span.removesuffix("s") if "year" in span else span
        return Period(f"the {span} ended {date}", order, _measure(_ENDED.sub(" ", rest)))
    is_fiscal = found["fiscal"] or re.search(r"\bfiscal\b", rest, re.I)
    name = date if found["fiscal"] or not is_fiscal else f"fiscal {date}"
    return Period(name, order, _measure(_ENDED.sub(" ", rest)))


def _measure(rest: str) -> str:
    """What is left of a column's label without its time; "" where only filler words are."""
    plain = label_of(rest.strip(" :,;|–—-"))
    return plain if re.search(r"[^\W_]", _FILLER.sub("", plain)) else ""


def label_of(text: str) -> str:
    """A label as a question says it: without footnote marks, breaks and a colon at its end."""
    return _NOTE_MARK.sub("", " ".join(text.split())).strip(" :;,")
