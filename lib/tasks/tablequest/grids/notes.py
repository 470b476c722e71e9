"""Unit notes, which say once what the numbers of a table are worth: "(in millions)"."""

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

_WORTH = {"th": 1e3, "00": 1e3, "mi": 1e6, "mm": 1e6, "bi": 1e9, "bn": 1e9}
_COIN = (r"(?:(?:U\.?S\.?|Canadian|Australian|Hong Kong|Singapore|New Taiwan) ?)?(?:dollars?|"
         r"euros?|pounds?(?: sterling)?|yen|yuan|renminbi|RMB|Rs\.?|USD|EUR|GBP|JPY|CAD|AUD|CHF|"
         r"CNY|HKD|SEK|NOK|DKK|INR|KRW|BRL|MXN|SGD|TWD|(?:US|CA?|A|HK|NT|R)?[$€£¥])")
_CODES = {"canad": "CAD", "ca$": "CAD", "c$": "CAD", "austr": "AUD", "hong": "HKD", "hk$": "HKD",
          "singapore": "SGD", "taiwan": "TWD", "nt$": "TWD", "r$": "BRL", "€": "EUR",
          "euro": "EUR", "£": "GBP", "pound": "GBP", "yen": "JPY", "yuan": "CNY", "renminbi": "CNY",
          "rmb": "CNY", "rs": "INR", "us": "USD", "u.s": "USD", "$": "$", "dollar": "$", "¥": "¥"}
_MANY = r"(?:thousands|millions|billions|thous\b\.?|mill?s?\.|mm\b|bn\b)"
# Before a scale there is no number, unlike in "$5.2 million".
_SCALE = re.compile(
    rf"\b(?:in|of)\s+(?:{_COIN}\s*)?(?:{_MANY}|(?:thousand|million|billion)\b)|"
    rf"{_COIN},?\s*(?:in\s+)?(?:{_MANY}|(?:thousand|million|billion)\b)|"
    rf"(?:^|(?<=[(\[,;/]))\s*(?:[a-z]+\s+){{0,2}}{_MANY}|"
    r"(?<![\d,])[$€£]?\s?['’]?000['’]?s?\b", re.I)
_PROSE = re.compile(
    rf"\b(?:expressed|stated|presented|shown|reported|listed|are|is|amounts?|dollars)\s+in\s+"
    rf"(?:{_COIN}\s*)?{_MANY}(?:\s+of\s+(?:{_COIN}|shares))?(?:,?\s+(?:except|unless)\b[^.;:()]*)?"
    rf"|,?\s\bin\s+(?:{_COIN}\s*)?{_MANY}(?:,\s+except\b[^.;:()]*)?(?=\s*(?:[,:.]|$))", re.I)
_SHARES = re.compile(r"\bshares?\b|\bunits\b|\bRSUs?\b", re.I)
REPORTED = re.compile(
    rf"\b(?:expressed|stated|presented|reported|(?:reporting|presentation) currency(?: of [\w ]+)? "
    rf"is)\s+(?:in\s+)?(?:the\s+)?(?:{_MANY} of\s+)?({_COIN})", re.I)


class Note(NamedTuple):
    """What a unit note says; a scale that it does not give is 0, a currency that it does not ""."""

    text: str = ""
    money: float = 0.0
    shares: float = 0.0
    coin: str = ""


@lru_cache(maxsize=8192)
def read_note(text: str) -> Note:
    """Read a note such as "(in millions, except shares, which are in thousands)"."""
    scales, end = {"money": 0.0, "shares": 0.0}, 0
    for match in _SCALE.finditer(text):
        of = re.match(r"\s+of\s+\w+", text[match.end():])
        around = re.sub(r"\bper[- ]\w+", "", text[end:match.end()] + (of[0] if of else ""))
        of_shares = bool(_SHARES.search(around))
        kind = "shares" if of_shares else "money"
        word = re.findall(r"thous|mil|bil|mm|bn|000", match[0].lower())[-1]
        scales[kind] = scales[kind] or _WORTH[word[:2]]
        if of_shares and re.search(rf"{_COIN}.*\band\b", around, re.I):
            scales["money"] = scales["money"] or _WORTH[word[:2]]
        end = match.end()
    excepted = re.search(r"\b(?:except|other than|excluding|but not)\b(.*)", text, re.I | re.S)
    if excepted and _SHARES.search(
            re.sub(r"\bper[- ](?:\w+ )?(?:shares?|units?)", "", excepted[1])):
        scales["shares"] = scales["shares"] or 1.0
    return Note(text, **scales, coin=coin_in(text))


def coin_in(text: str) -> str:
    """Return the currency that a note names, "$" for dollars of an unknown country; "" if none."""
    found = re.search(rf"(?<![a-z]){_COIN}(?:(?<=[$€£¥])|(?![a-z]))", text, re.I)
    word = found[0].lower() if found else ""
    return next((code for mark, code in _CODES.items() if word.startswith(mark)), word.upper())


def reported_coin(texts: Iterable[str]) -> str:
    """Return the currency that a filing says its amounts are in, "" if it does not."""
    codes = (coin_in(found[1]) for text in texts if (found := REPORTED.search(text)))
    counted = Counter(code for code in codes if len(code) == 3)
    return counted.most_common(1)[0][0] if counted else ""


@lru_cache(maxsize=8192)
def unit_note_in(text: str, is_short: bool = False) -> str:
    """Return the unit note in `text`, or "": a bracket, the end of a sentence, or a short line."""
    if not re.search(r"thous|mil|bil|000|mm|bn", text, re.I):
        return ""
    for bracket in re.findall(r"\([^()]*\)|\[[^\[\]]*\]", text):
        if len(bracket) < 250 and _SCALE.search(bracket):
            return bracket
    if is_short and len(text) < 150 and _SCALE.search(text) and not re.search(r"\d[.,]?\d", text):
        return text
    prose = _PROSE.search(text)
    return prose[0].strip(" ,") if prose else ""


def is_only_note(text: str) -> bool:
    """True for a text that says nothing but units: "(in millions)", "Dollars in thousands"."""
    if not unit_note_in(text, is_short=True):
        return False
    if re.search(r"[(\[]", text) and not re.fullmatch(r"[(\[][^()\[\]]*[)\]]", text.strip()):
        return False  # "Amount (in millions)"
    left = _SCALE.sub(" ", re.sub(r"\bexcept\b.*", " ", text, flags=re.I | re.S), count=2)
    left = re.sub(rf"{_COIN}|\b(?:all|tabular|amounts?|figures|are|is|stated|expressed|shown|"
                  r"presented|in|of|and|shares|(?:un)?audited)\b", " ", left, flags=re.I)
    return not re.search(r"\w", left)
