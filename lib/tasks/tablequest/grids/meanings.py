"""Read what the labels of rows and columns say about the unit of their numbers."""

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from lib.tasks.tablequest.grids.notes import AREA, Note, read_note, unit_note_in
from lib.tasks.tablequest.grids.values import COINS

# "per diluted share", "exercise price"; not "share of sales"
_PER_A_SHARE = re.compile(
    r"\bper[- ](?:[\w-]+ ){0,4}?(?:share|unit|option|award|rsu|adr|ads)s?\b|\bEPS\b", re.I)
_PRICE = re.compile(r"\b(?:exercise|grant|strike|stock|share|average|market|conversion) prices?\b",
                    re.I)
_AVERAGE_VALUE = re.compile(r"\b(?:weighted[- ]average|average (?=.*grant)) ?(?:[\w-]+ ){0,3}"
                            r"(?:exercise price|fair value|price)s?\b", re.I)
# "Net income used to compute earnings per share" is no amount per share
_PURPOSE = re.compile(r"\b(?:used|for|excluded|included|numerator|denominator|(?:in|to)(?: the)? "
                      r"(?:comput|calculat)\w+)\b.*$", re.I)
# Figures within a label are not what the row gives: "Dividends ($0.25 per share)", "2.6% notes",
# "Common stock, par value $0.05; 504 shares authorized".
_ASIDE = re.compile(
    r"[$€£]\s?\d*\.?\d+\s+(?:stated |par )*(?:value\s+)?per\s+(?:[\w-]+\s+){0,5}?(?:share|unit|"
    r"stock|ads)s?\b|\b(?:stated|par)(?: or stated)? value(?: of)?,?\s+[$€£]\s?\d*\.?\d+"
    r"(?: per share)?|[$€£]\s?\d*\.?\d+,?\s+(?:stated |par )+value|\b(?:no|without)\s+par\s+value|"
    r"\bpar value\b(?=.*\b(?:issued|authorized)\b)|\d[\d.,]*\s?(?:%|percent\b)|"
    r"\b\d[\d,.]* (?:million |billion |thousand )?(?:[\w-]+ ){0,2}shares\b", re.I)
_PER_THING = re.compile(r"\b(?:revenue|cost|price|income|sales|profit|margin|expense|earnings|spend"
                        r"|value|dividends?|amount|dollars?|\$)s?\b.{0,40}\bper\s+(?!cent|annum)\w|"
                        r"\bARPU\b|\bARM\b", re.I)
_SHARE_NOUN = (r"(?:shares?|options|awards|RSUs?|PSUs?|SARs|ADSs?|warrants|"
               r"(?:stock|share|restricted|performance|deferred)[- ](?:based )?(?:stock )?units)")
# "Number of RSUs", "# of Securities", "Amount of shares", "Dilutive effect of options"
_NUMBER_OF_SHARES = re.compile(
    rf"(?:\b(?:number|amount)|#) of (?:[\w'-]+ ){{0,5}}(?:{_SHARE_NOUN}|units|securities|stock)\b|"
    r"\b(?:average|basic|diluted) (?:[\w-]+[ -]){0,6}shares\b|\bshares used\b|\baverage number$|"
    r"\baverage (?:[\w-]+ ){0,4}stock outstanding\b|\((?:in )?shares\)|"
    r"^denominator\b|\b(?:anti-?)?dilutive\b|\beffect of dilution\b|[,—–-]\s*shares$|"
    r"^shares$", re.I)
# "Shares repurchased", "Awards granted": in a statement of cash flows these are amounts of money
_SHARES_DONE = re.compile(
    rf"^(?:(?!(?:from|of|for|to|on|in)\b)[\w,-]+ ){{0,4}}{_SHARE_NOUN} (?:of (?:[\w-]+ ){{1,5}})?"
    r"(?:(?:re)?purchased|granted|authorized|outstanding|available|exercised|exercisable|vested|"
    r"reserved|remaining|retired|issued(?:$| and))\b", re.I)
_OF_EQUITY = re.compile(r"\b(?:stock|capital|surplus|earnings|equity|cash|activities)\b", re.I)
_ENDS_IN_SHARES = re.compile(rf"(?:^|\W){_SHARE_NOUN}$", re.I)
# counted one by one, whatever the scale of the money beside them
_NUMBER_OF = re.compile(r"^(?:total |average |net )*(?:number|#) of\b|\bheadcount$|\(#\)|"
                        r"\bemployees$", re.I)
_COLUMN_COIN = re.compile(r"(?:\(|^)((?:US)?[$€£]|USD|EUR|GBP)(?:\)|$)", re.I)  # "Bonus ($)", "$"
_CHANGES = r"(?:additions?|losses|counts?|openings?|closings?|closures|adds|growth)$"
# Things that no account of money is named after, and things that some are ("Aircraft", "Stores").
_THING = re.compile(
    r"\b(?:member|membership|subscriber|user|carload|ton|mile|gallon|barrel|visit|visitor|"
    r"passenger|household)s(?: (?:[a-z]+ed|sold))?$|"
    r"\b(?:employee|member|membership|subscriber|user) (?:net )?" + _CHANGES, re.I)
_PLACE = re.compile(
    r"\b(?:(?:store|site|location|restaurant|branche|vessel|hospital|bed|room|clinic|school|plant|"
    r"vehicle|well|customer|account|hotel|subscription|associate|transaction|patient)s|deliveries|"
    r"aircraft)$|\b(?:store|site|location|restaurant|customer|hotel) (?:net )?" + _CHANGES, re.I)
_MONEY_WORDS = re.compile(
    r"\b(?:revenues?|sales|income|expenses?|costs?|assets?|liabilit(?:y|ies)|equity|debt|payments?|"
    r"cash|profits?|earnings|taxe?s?|price|proceeds|value|compensation|amount|balance|loans?|"
    r"capital|goodwill|receivables?|payables?|deposits?|fees?|premiums?|allocation)\b|\$", re.I)
_OF_MONEY = re.compile(r"\b(?:costs?|values?|prices?|proceeds|par|amount(?! of)|expenses?|"
                       r"compensation|income|loss|earnings|dividends?)\b|\$", re.I)
_IN_TIME = re.compile(r"\((?:in )?(years?|months?|days?)\)|\bin (years|months|days)\b", re.I)
_PERCENT = re.compile(r"%|\bpercent(?:age)?s?\b(?! points?)", re.I)
_RATE = re.compile(
    r"\b(?:tax|interest|discount|growth|coupon|occupancy|churn|retention|statutory|effective|"
    r"return|trend|increase|turnover|average|risk-free)(?: \w+)? rates?$|^rates?$|\bvolatility$|"
    r"\byields?$|\boccupancy$", re.I)
_TERM = re.compile(r"\b(?:remaining|average|expected|useful|estimated)\b.*\b(?:term|life|lives)$",
                   re.I)  # in years
_RATIO = re.compile(r"\b(?:ratio|multiple|(?:conversion|exchange) rate|factor)s?$", re.I)
_CUT = re.compile(
    r"\s*(?:[,;:(\[=]|\b(?:of|at|in|on|to|from|for|by|with|than|as|into|under|excluded|used|"
    r"attributable|during|per)\b|\s[–—-]\s).*$", re.I | re.S)


@dataclass(frozen=True)
class Meaning:
    """What a label says about the unit of its numbers."""

    # "shares", "awards", "things", "ones", "places", "%", "years", "square feet", "ratio" or ""
    unit: str = ""
    is_certain: bool = True  # whether it holds against "$" elsewhere in the column
    per: str = ""  # "share" or "thing" for "per share", "per barrel"
    note: Note | None = None  # the label's own note


def counts_shares(texts: list[str], of_any: bool) -> bool:
    """Return whether the texts above a table speak of a number of shares, or `of_any` shares."""
    said = " ".join(texts)
    return bool(_NUMBER_OF_SHARES.search(said)
                or of_any and re.search(r"\bshares of\b", said, re.I))


def counts_things(texts: list[str]) -> bool:
    """Return whether the texts above a table speak of a number of things, and not of money."""
    said = " ".join(texts)
    return not _MONEY_WORDS.search(said) and bool(
        re.search(r"\bnumber of\b", said, re.I)
        or any(_THING.search(_head(_plain(text))) for text in texts))


def column_meanings(headers: list[tuple[str, ...]], labels: list[str]) -> list[Meaning]:
    """Return what each column's header cells say, from the lowest upwards, and its whole label."""
    found = [_column_meaning(texts, label) for texts, label in zip(headers, labels, strict=True)]
    if not any(one.per == "share" for one in found):
        return found
    # beside their price, "Units" are awards of shares
    return [replace(one, unit="shares") if re.search(r"\bunits$", label, re.I) else one
            for one, label in zip(found, labels, strict=True)]


@lru_cache(maxsize=4096)
def _column_meaning(headers: tuple[str, ...], label: str) -> Meaning:
    note, plain = _own_note((*headers, label)), _plain(label)
    lowest_first = [text for text in map(_plain, headers[::-1]) if text]
    if lowest_first and re.fullmatch(r"amounts?", lowest_first[0], re.I):
        return Meaning("", False, _per(plain), note)  # "Per share / Amount"
    for text in (*lowest_first, plain):
        found = _meaning_of_header(text)
        if found or _MONEY_WORDS.search(_head(text)):
            return replace(found or Meaning("", False), note=note)
    return Meaning(_area(label), False, "", note)


def _meaning_of_header(text: str) -> Meaning | None:
    head = _head(text)
    if coin := _COLUMN_COIN.search(text):
        return Meaning(COINS[coin[1].upper()])
    if (_NUMBER_OF_SHARES.search(text) or _ENDS_IN_SHARES.search(head)
            ) and not _OF_MONEY.search(head):
        return Meaning("shares", bool(_NUMBER_OF_SHARES.search(text)))
    if per := _per(text):
        return Meaning("", False, per)
    if _NUMBER_OF.search(text) or _NUMBER_OF.search(head):
        return Meaning("ones", bool(_NUMBER_OF.match(text)))
    if _PERCENT.search(text):
        return Meaning("%")
    if _TERM.search(head):
        return Meaning("years", False)
    if _RATIO.search(head) or _RATE.search(head):
        return Meaning("%", False) if _RATE.search(head) else Meaning("ratio")
    return Meaning(_area(text), False) if _area(text) else None


def row_meaning(label: str) -> Meaning:
    """Return what a row's complete label says; its own part says more than its groups."""
    # Labels that differ in their figures mean the same ("000" is a scale).
    return _row_meaning(re.sub(r"\d+", lambda match: match[0] if match[0] == "000" else "1", label))


@lru_cache(maxsize=4096)
def _row_meaning(label: str) -> Meaning:
    *groups, own = [part for part in label.split(": ") if part] or [""]
    note, above = _own_note((own, *groups[::-1])), _plain(": ".join(groups))
    return replace(_meaning_of_row(_plain(own), own, above), note=note)


def _meaning_of_row(plain: str, own: str, above: str) -> Meaning:
    head = _head(plain)
    if match := _IN_TIME.search(own):
        return Meaning(_time(match))
    if _NUMBER_OF_SHARES.search(plain) and not _OF_MONEY.search(head):
        return Meaning("shares")
    if per := _per(plain):
        return Meaning("", True, per)
    if _SHARES_DONE.search(plain) and not _OF_EQUITY.search(above):
        return Meaning("shares", False)
    if _PERCENT.search(plain):
        return Meaning("%", False)
    for pattern, unit in ((_RATE, "%"), (_RATIO, "ratio"), (_TERM, "years")):
        if pattern.search(head):
            return Meaning(unit, False)
    counts = _NUMBER_OF.search(head) and not _MONEY_WORDS.search(above)
    if counts or _NUMBER_OF.match(plain):
        return Meaning("ones")
    if _THING.search(head) and not _MONEY_WORDS.search(above):
        return Meaning("things")
    awards = _ENDS_IN_SHARES.search(_head(re.split(r"\s[–—-]\s|[–—]", plain)[-1]))
    if _PLACE.search(head) or awards:
        return Meaning("places" if _PLACE.search(head) else "awards", False)
    if not above:
        return Meaning("", False)
    if match := _IN_TIME.search(above):
        return Meaning(_time(match))
    if _NUMBER_OF_SHARES.search(above) and not _OF_MONEY.search(plain):
        return Meaning("shares", False)
    if _PERCENT.search(above) or _RATE.search(_head(above)):
        return Meaning("%", False)
    return Meaning("", False, "share" if _per(above) == "share" else "")


def _per(plain: str) -> str:
    """Return "share" for an amount per share, "thing" for one per gallon or customer, or ""."""
    plain = _PURPOSE.sub("", plain)
    if re.search(r"\bper\b", plain, re.I) and not _PER_A_SHARE.search(plain):
        return "thing" if _PER_THING.search(plain) else ""
    is_price = any(one.search(plain) for one in (_PER_A_SHARE, _PRICE, _AVERAGE_VALUE))
    return "share" if is_price else "thing" if _PER_THING.search(plain) else ""


def _own_note(texts: tuple[str, ...]) -> Note | None:
    note = next(filter(None, map(unit_note_in, texts)), "")
    if not note:
        return None
    text = next(text for text in texts if note in text)
    return read_note(note if note.startswith(("(", "[")) and not _ENDS_IN_SHARES.search(
        text[:text.index(note)].strip()) else text)


def _plain(label: str) -> str:
    """Return a label without its unit note, without amounts per share and broken hyphens."""
    note = unit_note_in(label)
    text = label.replace(note, " ") if note else label
    return " ".join(_ASIDE.sub(" ", re.sub(r"(?<=\w)- (?=[A-Za-z])", "-", text)).split())


def _head(label: str) -> str:
    """Return the words that name a thing: "Paid members" of "Paid members at end of year"."""
    return _CUT.sub("", re.sub(r"\s*\([^()]*\)", "", label)).strip() or label


def _time(match: re.Match) -> str:
    return (match[1] or match[2]).lower().rstrip("s") + "s"


def _area(label: str) -> str:
    area = AREA.search(label)
    return "" if not area else "square meters" if "met" in area[0].lower() else "square feet"
