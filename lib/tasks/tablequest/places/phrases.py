"""Judge whether a label can be named in a question: as a noun phrase that fits its value's unit.

The word lists follow from how statements and notes of annual reports are written.
"""

import re

from lib.tasks.tablequest.questions.wording import UNIT_NOTE, label_of
from lib.tasks.tablequest.records import Cell, own_label

MONEY = ("USD", "EUR", "GBP", "JPY")
_MOST_WORDS = 16
_MOST_UNSCALED = 1e6  # from here on, amounts are taken as written out in full
_LEAST_SHARES = 1e5  # fewer are likely to be printed in thousands or millions
# Words that only qualify a noun; a label of such words alone needs its group
_QUALIFIERS = frozenset("""
    a adjusted all amount and as at average balance basic beginning canceled cancelled closing
    consolidated current deferred diluted domestic due during ending exercisable exercised expired
    federal first foreign forfeited gaap granted gross high international issued item items less
    level local long low maximum minimum net new non noncurrent nonvested of one opening or other
    others outstanding period plus purchased remaining reported repurchased second short state sub
    subtotal subtotals term the thereafter third three total totals two u.s unvested us vested
    weighted year years
    """.split())
# Words that say what is measured; a label without one names a thing, such as a place or a product
_AMOUNTS = re.compile(r"""\b(?:
    sales|revenues?|income|expenses?|expenditures?|costs?|profits?|loss(?:es)?|earnings|margins?
    |assets?|liabilit(?:y|ies)|equity|cash|debts?|receivables?|payables?|inventor(?:y|ies)
    |tax(?:es)?|interest|depreciation|amortization|dividends?|shares?|stock|capital|goodwill
    |property|equipment|investments?|borrowings?|leases?|compensation|benefits?|provisions?
    |proceeds|payments?|purchases?|repurchases?|issuances?|acquisitions?|changes?|increases?
    |decreases?|balances?|rates?|percentages?|ratios?|values?|charges?|gains?|fees?
    |contributions?|credits?|reserves?|allowances?|commitments?|obligations?|accruals?|deposits?
    |surplus|deficit|volumes?|employees|stores|members(?:hips)?|prices?|shipments?|carloads
    |wages|salaries|payroll|rent|maintenance|research|advertising|marketing|incentives?|rebates?
    |settlements?|impairments?|write-?(?:offs?|downs?)|returns?|adjustments?|translation|ebitda
    |ebit|transactions?|discounts?|premiums?|withholdings?|additions?|backlog|bookings|spending
    |funds?|securit(?:y|ies)|notes|bonds|loans?|accounts?|intangibles?|prepaids?|eps
    )\b""", re.I | re.X)
# Words that say only how an amount changes, or in which form it is held
_VAGUE = re.compile(r"(?:accruals?|additions?|payments?|charges?|adjustments?|changes?|settlements?"
                    r"|purchases?|issuances?|acquisitions?|returns?|benefits?|contributions?"
                    r"|credits?|discounts?|fees?|gains?|loss(?:es)?|increases?|decreases?|rent"
                    r"|maintenance|transactions?|provisions?|proceeds|values?|notes|bonds|loans?"
                    r"|accounts?|securit(?:y|ies)|funds?|leases?|translation|costs?)", re.I)
# A clause, or the rest of one: "were issued", "that matured"; "acquired in", "due after"
_CLAUSE = re.compile(r"\b(?:is|are|was|were|has|have|had|will|would|shall|(?-i:may)|which|that|who"
                     r"|we)\b|[.;!?](?:\s|$)|\bas follows\b|\bthe following\b", re.I)
_CUT_START = re.compile(
    r"(?:and|or|but|of|from|to|in|on|at|by|with|within|between|over|under|after|before|through|than"
    r"|included?|including|excluding|less|greater|more|up|if|as|not|for|see)\b"
    r"|(?:due|[a-z]+ed)\s+(?:to|from|in|on|at|by|with|within|between|over|under|after|before|during"
    r"|into|through|and)\b|[^\w\"“('‘$]", re.I)
_CUT_END = re.compile(r"(?:\b(?:and|or|of|from|to|in|on|at|by|with|for|the|a|an|per|than|net of)"
                      r"|[-–—/&,(])$", re.I)
_DEDUCTED = re.compile(r"(?:less|add|plus|deduct)\s*:\s*(?=\S)", re.I)
_NO_GROUPS = ("less", "add", "plus", "deduct", "numerator", "denominator")
_TIME = re.compile(r"\b(?:as of|at|ended|ending|balances?|through|until)\b.*\b(?:19|20)\d\d\b"
                   r"|^\W*(?:fiscal\s+(?:year\s+)?)?(?:\w+ \d{1,2}, )?(?:19|20)\d\d\b", re.I)
# What flows over a period, unless it is carried in the balance sheet
_FLOW = re.compile(r"\b(?:income|expenses?|expenditures?|sales|revenues?|costs?|paid|proceeds"
                   r"|payments?|purchases|earnings|interest|provision|dividends|loss)\b", re.I)
_CARRIED = re.compile(r"\b(?:accrued|deferred|accumulated|payables?|receivables?|unearned|retained"
                      r"|prepaid|amortized|at cost|assets?|liabilit(?:y|ies)|cost basis|future"
                      r"|carried|costs? and fair)\b", re.I)
# What a label says of its unit: pattern, and the units that agree with it
_PER = re.compile(r"\bper\b(?! (?:cent|day))", re.I)
_RATIO = re.compile(r"\w\s+/\s+\w|\bdivided by\b|\b(?:ratios?|multiples?|times)$"
                    r"|\bas an? (?:%|percent)"
                    r"|\b(?:payout|conversion|coverage|leverage) (?:rate|ratio)\b", re.I)
_PERCENT = re.compile(r"%|\bpercent(?:age)?s?\b|\b(?:tax|interest|growth|discount|return|payout"
                      r"|coverage|utilization|occupancy|volatility) rates?$|\byields?$", re.I)
_SHARES = re.compile(r"\b(?:number of|weighted[- ]average(?: number of)?|common|total|dilutive"
                     r"|diluted|basic|treasury|outstanding) (?:\w+ )?shares\b"
                     r"|\bshares (?:outstanding|issued|granted|repurchased|purchased|authorized"
                     r"|at|withheld|used)\b|^shares\b|\bshares$", re.I)
_COUNTED = re.compile(
    r"\b(?:numbers? of|employees|associates|stores|locations|customers|countries|memberships?"
    r"|miles|tons|carloads|barrels|gallons|hours|days|square feet|headcount|units"
    r"|\(in years\)|(?:term|life|lives|period)$)\b|\bin years\b", re.I)
_WORTH = re.compile(r"\b(?:value|cost|price|amount|proceeds|expense|purchases? of|payments?"
                    r"|paid|repurchases? of|issuances? of|issued for|tax|dollar|sales"
                    r"|revenues?)\b", re.I)


def named(label: str) -> str:
    """Return a label as a question quotes it: without marks, unit notes and "Less:"."""
    parts = (_DEDUCTED.sub("", label_of(part)) for part in label.split(": "))
    return ": ".join(part for part in parts if part and part.casefold() not in _NO_GROUPS)


def fault_of_label(label: str) -> str:
    """Return why `label` (of groups and the row) is no noun phrase to ask for, or ""."""
    own, first = own_label(label), label.split(": ")[0]
    for part in dict.fromkeys((own, first)):
        if not re.search(r"[^\W\d_]{2}", part):
            return "the row has no label in words"
        if len(part.split()) > _MOST_WORDS:
            return "a label is too long to be quoted"
        if _CLAUSE.search(UNIT_NOTE.sub("", part)):
            return "the label is a clause"
        if is_fragment(part):
            return "the label is a part of a phrase"
        if re.match(r"\(?continued\b", part, re.I):
            return "the label says that a table goes on"
        if part[0].islower() and " " in part and part is own and own is first:
            return "the label is a part of a phrase"
    if _TIME.search(own):
        return "the label names a time"
    return "" if not is_bare(first) else "the label has no noun without its group"


def is_fragment(label: str) -> bool:
    """Return whether a label begins or ends within a phrase: "Due after", "Sales, net of"."""
    is_open = any(label.count(a) != label.count(b) for a, b in ("()", "[]", "“”"))
    return bool(_CUT_START.match(label) or _CUT_END.search(label)) or is_open or '"' in label


def may_flow(label: str) -> bool:
    """Return whether an amount may be that of a period, such as "Interest paid"."""
    return bool(_FLOW.search(label)) and not _CARRIED.search(label)


def is_bare(label: str) -> bool:
    """Return whether a label has only words that qualify a noun, such as "Other" or "Diluted"."""
    words = re.findall(r"[^\W\d_](?:[\w’']|\.(?=\w))*", label.lower())
    return all(word in _QUALIFIERS or len(word) < 2 for word in words)


def tells_amount(label: str) -> bool:
    """Return whether a label says what is measured: "Net sales", not "Europe" or "Additions"."""
    return bool(_AMOUNTS.search(label)) and not _VAGUE.fullmatch(label.strip())


def fault_of_unit(cell: Cell, row: str, column: str, unit_note: str) -> str:
    """Return why a cell's unit or scale may be read wrongly, given its labels; "" if it fits.

    A tagged cell's unit and scale come from its tag.
    """
    if cell.period:
        return ""
    own, unit = own_label(row), cell.unit
    is_money = unit in MONEY
    if "%" in cell.text and unit != "%":
        return "its unit does not fit its sign %"
    if is_money and cell.scale == 1 and "." not in cell.text and abs(
            cell.value or 0) < _MOST_UNSCALED:
        return "the table may be in millions or thousands and does not say so"
    if cell.scale == 1 and not is_money and unit not in ("%", "") and "/" not in unit and (
            "." in cell.text or unit == "shares" and abs(cell.value or 0) < _LEAST_SHARES):
        return "the table may count in millions or thousands and does not say so"
    if "/" in unit and "." not in cell.text:
        return "an amount per share is printed without cents"
    for text in (own, column):
        if _PER.search(text) and (is_money or unit == "shares" and not _SHARES.search(text)):
            return "its unit does not fit the word per"
        if _PERCENT.search(text) and not _PER.search(text) and unit != "%":
            return "its unit does not fit a percentage"
        if _RATIO.search(text) and (is_money or unit == "shares"):
            return "its unit does not fit a ratio"
        if _COUNTED.search(text) and is_money and not _WORTH.search(text):
            return "its unit does not fit what is counted"
    if is_money and _SHARES.search(own) and not _WORTH.search(f"{row} {column}"):
        return "its unit does not fit shares"
    if "/" in unit and not (_PER.search(f"{row} {column} {unit_note}") or re.search(
            r"\b(?:basic|diluted|dividends?|price|value|eps)\b", f"{row} {column}", re.I)):
        return "its unit per share does not fit its label"
    return ""
