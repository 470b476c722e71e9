"""Read what an answer's words say of its figure: its sign, its unit, its period and its row."""

import re
from collections.abc import Iterable

from lib.tasks.tablequest.analyze.amounts import Amount
from lib.tasks.tablequest.ask.reader import words_of
from lib.tasks.tablequest.records import own_label

# "decreased by 5", "was lower"; not "at lowest"
_FALL = re.compile(r"\b(?:decreas|declin|fell\b|fall|drop|lower|reduc|down\b|less\b|shrank|shrink"
                   r"|narrow|contract(?:ed|ion)|loss)", re.I)
# "rose by 5", "is up"; not "upper"
_RISE = re.compile(r"\b(?:increas|rose\b|ris(?:e|es|ing)\b|grew\b|grow|higher|gain|up\b|more\b"
                   r"|climb|expand|widen)", re.I)
# "a net loss of 5", "lost 5", "cash used in"
_LOSS = re.compile(r"\b(?:loss(?:es)?|lost|deficits?|outflows?|used(?! to\b)|shortfall)\b",
                   re.I)
_COST = re.compile(r"\b(?:expenses?|provision|costs?|charges?)\b", re.I)
_BENEFIT = re.compile(r"\b(?:benefit|credit|income|gain) of\b", re.I)
_ASIDE = re.compile(r"\((?![^)]*\d)[^)]*\)")  # in "net income (loss)" the sign is left open
_DENIED = re.compile(r"(?:\bnot|n't|\bnever|\bneither|\bnor)\s+(?:[\w'’]+\s+){0,2}\W*\Z", re.I)

# what is counted or measured; "people" are also "employees"
_COUNTED = re.compile(
    r"\s*(?:of\s+)?(?:[a-z-]+\s+){0,2}?(share|store|unit|customer|subscriber|member|location|site"
    r"|vehicle|vessel|aircraft|barrel|ton|tonne|gallon|ounce|mile|kilomet[re]{2}|acre|hectare|hour"
    r"|day|week|month|year|employee|people|person|worker|associate|colleague|household|room|contract"
    r"|patent|segment|account|case|te?u|[kmgt]?wh?|bbl|boe|mcf|btu|kg|lb|oz|km|feet|foot|lit(?:er|re))s?\b",
    re.I)
_PEOPLE = re.compile(r"employee|people|person|worker|associate|colleague|member|headcount", re.I)
_MONEY = re.compile(r"[A-Z]{3}(?:/|\Z)")

_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
# "2024", "FY24"; "June 3"; "six months", "Q2 2024"
_TIMES = (re.compile(r"(?:(?<![\d.,])(?:19|20)|\bFY\s?['’]?)(\d\d)(?!\d|[.,]\d)", re.I),
          re.compile(rf"\b({_MONTHS})[a-z]*\.?\s+\d", re.I),
          re.compile(r"\b(three|six|nine|twelve|first|second|third|fourth|q[1-4])[\s-]+"
                     r"(?:months?|quarters?|(?:of\s+)?(?:fiscal\s+)?(?:19|20)\d\d)", re.I))
_NTH = {"q1": "first", "q2": "second", "q3": "third", "q4": "fourth"}
# "…, compared with 5 in 2023" follows the answer; it ends with the sentence or its brackets
_COMPARISON = re.compile(r"(?<=[\w%)])[,;]?\s*\(?(?:(?:as )?compared (?:with|to)|versus|vs\.?"
                         r"|(?:up|down) from|against)\s(?:[^.;)\n]|\.(?=\d))*\)?", re.I)
# "rose to 5 in 2023 from 4", "rose from 4 to 5": the new value is said, the old one compared
_MOVE = r"\b(?:rose|fell|grew|increased|decreased|declined|climbed|dropped|went|narrowed|widened)"
_TO_FROM = re.compile(rf"({_MOVE} to\s[^;\n]{{1,60}}?)\sfrom\s(?:[^.;)\n]|\.(?=\d))*", re.I)
_FROM_TO = re.compile(rf"({_MOVE}) from\s[^;\n]{{1,60}}?\s(?=to\s\S*\d)", re.I)
_OF_YEAR = re.compile(r"(?<=[\w%)])\s*\((?:in |fiscal |FY ?)?((?:19|20)\d\d): [^()]*\)", re.I)
# "sales. Net", "5; net"; not "U.S. Treasury", "Inc. had"
_REACH = 500  # characters of a sentence before and after its figure that are read
_SENTENCE = re.compile(r"(?<=[.!?;])(?<![A-Z]\.)(?<!Inc\.)(?<!Corp\.)(?<!Co\.)(?<!No\.)\s+|\n+")
_IN_TOTAL = re.compile(r"\bin total\b|\btotal of\b", re.I)  # names no row called "Total"
_VAGUE = {"net", "all", "amount"}


def without_comparison(answer: str, asked: str) -> str:
    """Return an answer without what it compares its figure with, which it does not assert.

    That is "(2023: 5)" too, unless `asked` names the year.
    """
    answer = _FROM_TO.sub(r"\1 ", _TO_FROM.sub(r"\1", _COMPARISON.sub("", answer)))
    return _OF_YEAR.sub(lambda found: found[0] if found[1] in asked else "", answer)


def sentence_of(text: str, amount: Amount) -> str:
    """Return the sentence of `text` with the amount, whose positions count from its start."""
    start, end = max(0, amount.start - _REACH), amount.end + _REACH
    before, after = text[start:amount.start + 1], text[amount.end:end]
    begins = [0, *(stop.end() for stop in _SENTENCE.finditer(before))][-1]
    stop = _SENTENCE.search(after)
    return before[begins:-1] + text[amount.start:amount.end] + after[:stop and stop.start()]


def is_denied(text: str, amount: Amount) -> bool:
    """Return whether "not" or the like stands directly before the amount."""
    return bool(_DENIED.search(text[max(0, amount.start - 60):amount.start]))


def signs(said: str, asked: str, labels: str, kind: str) -> tuple[int, ...]:
    """Return the signs, of 1 and -1, that a figure without a minus may have by the words `said`.

    A change has the sign of its verb. Another figure is negative after "loss", "used in" and the
    like, unless the question or the cell's labels name it so: then it may be either. In "benefit of
    5", it is negative where an expense was asked for.
    """
    said, asked, labels = (_ASIDE.sub(" ", text) for text in (said, asked, labels))
    if kind in ("difference", "percent change"):
        return (-1,) if direction(said) < 0 else (1,)
    if _LOSS.search(said):
        return (1, -1) if _LOSS.search(f"{asked} {labels}") else (-1,)
    is_cost = _COST.search(labels) and not _BENEFIT.search(f"{labels} of")
    return (-1,) if is_cost and _BENEFIT.search(said) else (1,)


def direction(said: str) -> int:
    """Return 1 if the words say only that a figure rose, -1 if only that it fell, else 0."""
    return bool(_RISE.search(said)) - bool(_FALL.search(said))


def asks_for_fall(asked: str) -> bool:
    """Return whether the question itself says that the figure fell or is a loss."""
    return direction(_ASIDE.sub(" ", asked)) < 0


def counts_other(rest: str, unit: str, asked: str) -> bool:
    """Return whether what follows a bare number counts something else than `unit`.

    It does in "5 million shares" for dollars, or "5 stores" for employees; a thing that the
    question names is no other.
    """
    found = _COUNTED.match(rest)
    if not found or _PEOPLE.match(found[1]) and _PEOPLE.search(f"{unit} {asked}"):
        return False
    if re.search(rf"\b{found[1]}", unit, re.I) and "/" not in unit:
        return False
    return bool(_MONEY.match(unit) or unit in ("%", "ratio", "x")) or not re.search(
        rf"\b{found[1]}", asked, re.I)


def other_period(said: str, asked: str, is_change: bool) -> str:
    """Return a year, month or quarter that `said` names for its figure and `asked` does not, or "".

    A change must name no other year at all; another figure may, next to its own.
    """
    for number, pattern in enumerate(_TIMES):
        named, wanted = (_times(pattern, text) for text in (said, asked))
        others = named - wanted
        if named and wanted and (others and is_change and not number or others == named):
            return min(others)
    return ""


def _times(pattern: re.Pattern, text: str) -> set[str]:
    found = (match[1].lower() for match in pattern.finditer(text))
    return {_NTH.get(time, time) for time in found}


def other_row(said: str, asked: str, own: Iterable[str], rows: Iterable[str]) -> str:
    """Return the label of another of `rows` that `said` names instead of its `own`, or "".

    A label counts unless the question or an own label contains it. Groups above a row, and what
    follows a comma in a label, need not be named.
    """
    own = list(own)
    mine = {_spaced(own_label(row)) for row in own} - {"  "}
    known = [_spaced(text) for text in (asked, *own)]
    labels = {_spaced(part) for row in rows
              for part in (own_label(row), own_label(row).partition(",")[0])}
    labels = {label for label in labels if not any(label in text for text in known)
              and not set(label.split()) <= _VAGUE}
    rest, found = _spaced(_IN_TOTAL.sub(" ", said)), set()
    for label in sorted(mine | labels, key=len, reverse=True):  # "total product" before "product"
        if label in rest:
            rest = rest.replace(label, " | ")
            found.add(label)
    others = found & labels - mine
    return min(others).strip() if others and not mine <= found else ""


def _spaced(text: str) -> str:
    return f" {' '.join(words_of(text))} "
