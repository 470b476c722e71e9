"""Cells of HTML tables, the number in one, unit notes, amounts in a text, words of labels."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import NamedTuple

from lxml import etree
from lxml.html import HtmlElement

FACT = "ix:nonfraction"
MAX_SPAN = 1000  # what browsers allow (HTML standard, 4.9.11)
BLOCK_TAGS = frozenset(
    "address article blockquote center dd div dl dt h1 h2 h3 h4 h5 h6 hr li ol p pre section "
    "table tbody td tfoot th thead tr ul".split()
)
BOLD_TAGS = frozenset("b strong th h1 h2 h3 h4 h5 h6".split())
# what no reader sees, and marks of footnotes; a page's header is needed
UNSEEN = (
    "//*[self::script or self::style or self::template or self::noscript or @hidden"
    " or contains(translate(@style, ' \t\r\n', ''), 'display:none')"
    " or self::sup[not(.//table)]][not(.//*[name()='ix:header'])]"
)
MARK = r"(?:\((?:\d{1,2}|[a-z])\)|\[(?:\d{1,2}|[a-z])\]|[*†‡§¹²³])"  # of a footnote
YEAR = r"(?:19|20)\d\d"

_WEIGHT = re.compile(r"font-weight:\s*(bold|[6-9]00)?")
_RULE = re.compile(r"border(?:-top)?(?:-style)?:(?!\s*(?:0|none))")
# in whatever unit: rows of one table are compared
_INDENT = re.compile(
    r"(?:(?:padding|margin)-left|text-indent|padding:\s*\S+\s+\S+\s+\S+\s+)"
    r":?\s*(-?\d+(?:\.\d+)?|-?\.\d+)"
)
_STYLES = etree.XPath("descendant-or-self::*[self::td or self::th or self::div or self::p]/@style")
_TAGS = etree.XPath(f".//*[name()='{FACT}'][not(.//*[name()='{FACT}'])]")
_OPENING = re.compile(r"(?:US|C|CA|Cdn|A|HK|R)?[$€£¥]\s*\(?|RMB|\(\s*[$€£¥]?")  # "$", "($"
_CLOSING = re.compile(r"\)?\s*%?\s*\)?|pts\.?|bps|[×x]")  # ")", "%)", "bps"
_MINUS = "-\u2010-\u2015\u2212"
_DASH = re.compile(
    rf"(?P<coin>[$€£¥])?\s*(?:[{_MINUS}]{{1,3}}|nil)\s*(?P<unit>%)?"
    rf"(?:\s*{MARK})*",
    re.I,
)
_DIGITS = r"(?:\d{1,3}(?:[,'’ ]\d{3}){1,9}(?:\.\d+)?|\d{1,30}(?:\.\d+)?|\.\d+)"
# "$(24,690)", "(4 %)", "1,234 (1)", "5.0 years"; not "5 – 45 years", "12,34"
_NUMBER = re.compile(
    rf"(?P<open>\()?\s*+(?P<sign>[{_MINUS}+~≈<>])?\s*+(?P<coin>(?:US|CA?|Cdn|A|HK|R)?[$€£¥]|RMB|[A-Z]{{3}}"
    rf"(?= ?\d))?\s*+(?P<open2>\()?\s*+(?P<sign2>[-\u2212])?(?P<digits>{_DIGITS})\s*(?P<unit>%)?\s*"
    r"(?P<close>\))?\s*(?P<unit2>%\)?|[×x]|basis points|bps|pts\.?|percent|years?|yrs?|months?|"
    rf"days?|hours?|shares?|thousand|million|billion|€)?(?:\s*{MARK})*",
    re.I,
)
# by the first two letters of a scale's word
WORTH = {
    word: 10.0**power
    for words, power in (("th k 00", 3), ("mi mm mn m", 6), ("bi bn b", 9), ("tr", 12))
    for word in words.split()
}
_COIN = (
    r"(?:(?:U\.?S\.?|Canadian|Australian|Hong Kong) ?)?(?:dollars?|"
    r"euros?|pounds?(?: sterling)?|Swiss francs?|yen|yuan|renminbi|RMB|USD|EUR|GBP|JPY|"
    r"CAD|AUD|CHF|CNY|HKD|SEK|NOK|DKK|INR|KRW|BRL|MXN|SGD|TWD|(?:US|CA?|Cdn|A|HK)?[$€£¥])"
)
# of units in a number, and of currencies by how their names begin
_NAMES = dict(
    pair.split(":")
    for pair in "%:%|percent:%|x:times|×:times|basis point:basis points|bps:basis points|"
    "pts:percentage points|yr:years|yrs:years|canad:CAD|ca$:CAD|cdn:CAD|c$:CAD|austr:AUD|a$:AUD|"
    "hong:HKD|hk$:HKD|swiss:CHF|€:EUR|euro:EUR|£:GBP|pound:GBP|yen:JPY|yuan:CNY|renminbi:CNY|"
    "rmb:CNY|us:USD|u.s:USD|$:$|dollar:$|¥:¥".split("|")
)
_MANY = r"(?:thousands|millions|billions|thous\b\.?|mill?s?\.|mm\b|bn\b)"
# Before a scale there is no number, unlike in "$5.2 million".
_SCALE = re.compile(
    rf"\b(?:in|of)\s+(?:{_COIN}\s*)?(?:{_MANY}|(?:thousand|million|billion)\b)|"
    rf"{_COIN},?\s*(?:in\s+)?(?:{_MANY}|(?:thousand|million|billion)\b)|"
    rf"(?:^|(?<=[(\[,;/]))\s*(?:[a-z]+\s+){{0,2}}{_MANY}|"
    r"(?<![\d,])[$€£]?\s?['’]?000['’]?s?\b",
    re.I,
)
_PROSE = re.compile(
    rf"\b(?:expressed|stated|presented|shown|reported|listed|are|is|amounts?|dollars)\s+in\s+"
    rf"(?:{_COIN}\s*)?{_MANY}(?:\s+of\s+(?:{_COIN}|shares))?(?:,?\s+(?:except|unless)\b[^.;:()]*)?"
    rf"|,?\s\bin\s+(?:{_COIN}\s*)?{_MANY}(?:,\s+except\b[^.;:()]*)?(?=\s*(?:[,:.]|$))",
    re.I,
)
_SHARES = re.compile(r"\bshares?\b|\bunits\b|\bRSUs?\b", re.I)
REPORTED = re.compile(
    rf"\b(?:expressed|stated|presented|reported|(?:reporting|presentation) currency(?: of [\w ]+)? "
    rf"is)\s+(?:in\s+)?(?:the\s+)?(?:{_MANY} of\s+)?({_COIN})",
    re.I,
)


class Number(NamedTuple):
    """What a cell prints; `unit` ("$" is any dollar) and `scale` are "" and 0 if it does not."""

    value: float
    unit: str
    scale: float = 0.0


@dataclass(frozen=True)
class Placed:
    """The text of a cell, or of all cells of a value, and its slots [start, end)."""

    start: int
    end: int
    text: str
    is_bold: bool = False
    has_rule: bool = False  # a line above it, as above a sum
    indent: float = 0.0  # of the first line, points
    tags: tuple[HtmlElement, ...] = ()  # innermost tags in it

    @cached_property
    def number(self) -> Number | None:
        """Return the only number in the text, or None."""
        return read_number(self.text)

    def __bool__(self) -> bool:
        return bool(self.text)

    @property
    def is_value(self) -> bool:
        """True for a number that is no year, or is tagged."""
        return self.number is not None and (not is_year(self.text) or bool(self.tags))


def read_number(text: str) -> Number | None:
    """Read a cell with one number. Brackets make it negative, a dash is zero."""
    if dash := _DASH.fullmatch(text):
        return Number(0.0, dash["unit"] or coin_in(dash["coin"] or ""))
    if not (match := _NUMBER.fullmatch(text)):
        return None
    part = match.groupdict("")
    word = (part["unit2"] or part["unit"]).lower()
    has_open = bool(part["open"] + part["open2"])
    if has_open != bool(part["close"] or word.endswith(")")):
        return None
    has_minus = (part["sign2"] or part["sign"]) not in "+~≈<>"
    value = float(re.sub(r"[,'’ ]", "", part["digits"])) * (-1 if has_open != has_minus else 1)
    word, coin = re.sub(r"(?<=\w{3})s$", "", word.rstrip(").")), part["coin"]
    unit = _NAMES.get(word, f"{word}s" if word else "")
    coin, scale = coin_in(coin) or coin, WORTH.get(word[:2], 0.0)
    return Number(value, coin if scale else unit or coin, scale)


def is_year(text: str) -> bool:
    """True for a bare year; years are headers more often than values."""
    return bool(re.fullmatch(rf"{YEAR}\s*(?:{MARK})?", text))


def is_bold(element: HtmlElement, outer: bool) -> bool:
    """True if the element's letters are bold, as those around it are if it does not say."""
    weight = _WEIGHT.search(element.get("style", ""))
    return bool(weight[1]) if weight else outer or element.tag in BOLD_TAGS


def folded(text: str) -> str:
    """Fold whitespace, and drop spaces of no width."""
    return " ".join(text.replace("\u200b", "").split())


def visible_text(element: HtmlElement) -> str:
    """Return what a reader sees, with whitespace folded."""
    return " ".join(text for text, *_ in texts_of(element) if text)


def texts_of(root: HtmlElement) -> Iterator[tuple[str, bool, HtmlElement | None]]:
    """Yield texts, whether all of one is bold, and tables; a block's tag ends a text."""
    runs, looks = [], [False]
    # not recursive, because a broken file may nest thousands deep
    walker = etree.iterwalk(root, events=("start", "end"))
    for event, element in walker:
        is_table = element.tag == "table" and element is not root
        if element.tag in BLOCK_TAGS or element is root and event == "end":
            if text := folded("".join(text for text, _ in runs)):
                yield text, all(look for text, look in runs if text.strip()), None
            runs = []
        if event == "end":
            looks.pop()
            runs.append((element.tail or "", looks[-1]))
            continue
        looks.append(is_bold(element, looks[-1]))
        if is_table and element.find(".//table") is None:
            yield "", False, element
            walker.skip_subtree()
        elif element.tag in ("head", "ix:header"):
            walker.skip_subtree()
        else:
            runs.append((" " if element.tag == "br" else element.text or "", looks[-1]))


def read_rows(table: HtmlElement) -> list[tuple[Placed, ...]]:
    """Return the non-empty cells of each row, with colspan, rowspan and tags."""
    rows, covered = [], {}  # covered: slot -> rows that a cell above still covers
    for line in table.xpath(".//tr[*]"):
        cells, slot, taken = [], 0, covered
        covered = {at: left - 1 for at, left in taken.items() if left > 1}
        for element in line.iterchildren("td", "th"):
            while slot in taken:
                slot += 1
            width, height = _span(element, "colspan"), _span(element, "rowspan")
            if height > 1:
                covered.update(dict.fromkeys(range(slot, slot + width), height - 1))
            text = visible_text(element)
            if text.strip("=_-–—") or 0 < len(text) < 4:
                cells.append(_placed(element, slot, slot + width, text))
            slot += width
        rows.append(_joined(cells))
    return rows


def _span(element: HtmlElement, name: str) -> int:
    with suppress(ValueError):
        return min(max(int(element.get(name, "")), 1), MAX_SPAN)
    return 1


def _placed(element: HtmlElement, start: int, end: int, text: str) -> Placed:
    inner = [*element.iter("td", "th", "div", "p", "span", "b", "font", FACT)]
    lead = "".join(node.text or "" for node in inner[:4])
    return Placed(
        start,
        end,
        text,
        is_bold=any(is_bold(node, outer=False) for node in inner),
        has_rule=bool(_RULE.search(element.get("style", ""))),
        indent=8.0 * start
        + 3.0 * (len(lead) - len(lead.lstrip("\u00a0 \u2003\u2002")))
        + sum(map(float, _INDENT.findall(";".join(_STYLES(element))))),
        tags=tuple(_TAGS(element)),
    )


def _joined(cells: list[Placed]) -> tuple[Placed, ...]:
    done = [Placed(0, 0, "")]
    for cell in cells:
        left = done[-1]
        text = left.text + cell.text
        opens = _OPENING.fullmatch(left.text) and not is_year(cell.text)
        closes = _CLOSING.fullmatch(cell.text) and not is_year(left.text)
        if opens and read_number(text + ")") or (opens or closes) and read_number(text):
            done[-1] = replace(
                left,
                end=cell.end,
                text=text,
                tags=left.tags + cell.tags,
                has_rule=left.has_rule or cell.has_rule,
            )
        else:
            done.append(cell)
    return tuple(done[1:])


class Note(NamedTuple):
    """What a unit note says; a scale that it does not give is 0, a currency that it does not ""."""

    text: str = ""
    money: float = 0.0
    shares: float = 0.0
    coin: str = ""


@lru_cache(8192)
def read_note(text: str) -> Note:
    """Read a note such as "(in millions, except shares, which are in thousands)"."""
    scales, end = {}, 0
    for match in _SCALE.finditer(text):
        kind = "shares" if _SHARES.search(text, end, match.end()) else "money"
        word = re.findall(r"thous|mil|bil|mm|bn|000", match[0].lower())[-1]
        scales.setdefault(kind, WORTH[word[:2]])
        end = match.end()
    _, *excepted = re.split(r"(?i)\b(?:except|other than|excluding|but not)\b", text)
    per_share = r"(?i)\bper[- ](?:\w+ )?(?:shares?|units?)"
    if _SHARES.search(re.sub(per_share, "", " ".join(excepted))):
        scales.setdefault("shares", 1.0)
    return Note(text, coin=coin_in(text), **scales)


@lru_cache(8192)
def coin_in(text: str) -> str:
    """Return the currency that a note names, "$" for dollars of an unknown country; "" if none."""
    found = re.search(rf"(?<![a-z]){_COIN}(?:(?<=[$€£¥])|(?![a-z]))", text, re.I)
    word = found[0].lower() if found else ""
    return next((code for mark, code in _NAMES.items() if word.startswith(mark)), word.upper())


def reported_coin(texts: Iterable[str]) -> str:
    """Return the currency that a filing says its amounts are in, "" if it does not."""
    codes = [coin_in(found[1]) for text in texts if (found := REPORTED.search(text))]
    return max((code for code in codes if len(code) == 3), key=codes.count, default="")


@lru_cache(8192)
def unit_note_in(text: str, is_short: bool = False) -> str:
    """Return the unit note in `text`, or "": a bracket, the end of a sentence, or a short line."""
    parts = re.findall(r"\([^()]{,247}\)|\[[^\[\]]{,247}\]", text)
    if is_short and len(text) < 150 and not re.search(r"\d[.,]?\d", text):
        parts.append(text)
    prose = _PROSE.search(text)
    return next(filter(_SCALE.search, parts), prose[0].strip(" ,") if prose else "")


def is_only_note(text: str) -> bool:
    """True for a text that says nothing but units: "(in millions)", "Dollars in thousands"."""
    is_whole = re.fullmatch(r"[^(\[]*|\s*[(\[][^()\[\]]*[)\]]\s*", text)
    if not is_whole or not unit_note_in(text, is_short=True):
        return False  # "Amount (in millions)"
    left = re.sub(
        rf"(?is)\bexcept\b.*|{_COIN}|\b(?:all|tabular|amounts?|figures|are|is|stated|expressed|"
        r"shown|presented|in|of|and|shares|(?:un)?audited)\b",
        " ",
        _SCALE.sub(" ", text, count=2),
    )
    return not re.search(r"\w", left)


POINTS = "percentage points"  # the unit of a difference of two percentages
SCALE_WORDS = {1.0: "", 1e3: "thousand", 1e6: "million", 1e9: "billion", 1e12: "trillion"}
_USUAL = {"$": "USD", "¥": "JPY"}  # the currency of a mark that several have
_AMOUNT_COIN = r"US\$|C\$|A\$|[$€£¥]|(?:USD|EUR|GBP|JPY|CAD|CHF|CNY|AUD|RMB)\b"
_AMOUNT = re.compile(
    rf"(?<![\w.,/])(?P<open>\(\s?)?(?P<minus>-|(?:minus|negative)\s)?\s?(?P<coin>{_AMOUNT_COIN})?\s?"
    r"(?P<inner>\(\s?)?(?P<minus2>-)?"
    r"(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?P<close>\s?\))?"
    r"(?:[\s-]?(?P<scale>thousand|million|billion|trillion)s?|\s?(?P<short>mn|bn|[kmb](?!\w)))?"
    r"(?:\s?(?:of\s)?(?P<unit>%|percentage\spoints|percent|pp\b|US\sdollars|Canadian\sdollars"
    rf"|Australian\sdollars|Swiss\sfrancs|dollars|euros|pounds|yen|yuan|shares|{_AMOUNT_COIN}))?"
    r"(?P<close2>\s?\))?(?![\d%]|[.,/]\d|\w)",
    re.I,
)


class Amount(NamedTuple):
    """A number in a text, with sign and scale applied; `scale` is 0 if no scale word is written."""

    value: Fraction
    step: Fraction  # 1 in the last digit written
    unit: str  # "USD", "%", "shares", …; "" if none is written
    scale: float
    n_digits: int  # significant ones
    text: str


def amounts(text: str) -> list[Amount]:
    """Return the amounts in `text`, in order; a minus or brackets make one negative."""
    text = re.sub("[\u2010-\u2015\u2212]", "-", unicodedata.normalize("NFKC", text))
    return [_amount(found) for found in _AMOUNT.finditer(text) if len(found["digits"]) < 40]


def _amount(found: re.Match) -> Amount:
    part = found.groupdict("")
    digits = part["digits"].replace(",", "")
    scale = WORTH.get((part["scale"] or part["short"]).lower()[:2], 0.0)
    factor = Fraction(scale or 1)
    has_brackets = part["open"] + part["inner"] and part["close"] + part["close2"]
    is_negative = part["minus"] or part["minus2"] or has_brackets
    unit = (part["unit"] or part["coin"]).casefold()
    coin = coin_in(unit)
    return Amount(
        (-1 if is_negative else 1) * Fraction(digits) * factor,
        Fraction(1, 10 ** len(digits.partition(".")[2])) * factor,
        _USUAL.get(coin, coin) or (unit if unit in ("", "shares") else "%"),
        scale,
        len(digits.replace(".", "").lstrip("0")) or 1,
        found[0].strip(),
    )


@lru_cache(1 << 16)
def words_of(text: str) -> frozenset[str]:
    """Return the words of a label in lower case and singular, without fillers."""
    words = re.findall(r"[^\W\d_]+|\d+(?:[.,]\d+)*", re.sub(r"[’']s\b", "", text.casefold()))
    return (
        frozenset(re.sub(r"(?<=[^su])s$", "", re.sub(r"ies$", "y", word)) for word in words)
        - _FILLERS
    )


_FILLERS = frozenset(
    "a an and are as at by did do for from how i in it of on or our per the to "
    "wa was were what which with is".split()
)
