"""Read unit notes, which say once what the numbers of a table or a column are worth.

"(In millions, except per share data)", "Thousands of barrels", "$MM", "amounts in U.S. millions".
"""

import re
from dataclasses import dataclass

SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
MAX_NOTE = 250  # characters; a longer bracket is an explanation

_SHORT = {"thous": 1e3, "mil": 1e6, "mill": 1e6, "mm": 1e6, "bn": 1e9, "000": 1e3, "mio": 1e6}
_PLURAL = r"thousands|millions|billions|trillions|thous\b\.?|mill?s?\.|mm\b|mio\b\.?|bn\b"
CURRENCIES = ("USD", "EUR", "GBP", "JPY", "CAD", "AUD", "CHF", "CNY", "HKD", "SEK", "NOK", "DKK",
              "INR", "KRW", "BRL", "MXN", "SGD", "ZAR")
_COIN = (r"(?:(?:U\.?S\.?|Canadian|Australian|Hong Kong) ?)?(?:dollars?|euros?|pounds?"
         r" sterling|yen|yuan|renminbi|RMB|" + "|".join(CURRENCIES) + r"|(?:US|CA?|A|HK)\$|"
         r"U\.?S\.?(?= (?:thou|mil|bil))|[$€£¥])")
# A scale in a note has no number before it, unlike "$5.2 million", and is not one of "millions of
# homes" in a sentence: "in millions", "of thousands", "$ in thousands", "$MM", "$000's", and the
# bare "Millions" where a note begins or goes on after a comma.
_SCALE = re.compile(
    rf"(?:\b(?:in|of)\s+(?:{_COIN}\s+)?(?:thousand|million|billion|trillion)s?\b"
    rf"|\b(?:in|of)\s+(?:{_COIN}\s*)?(?:{_PLURAL})"
    rf"|(?<![\w$]){_COIN},?\s*(?:in\s+)?(?:{_PLURAL}|(?:million|thousand|billion)s?\b)"
    rf"|(?:^|(?<=[(\[,;/]))\s*(?:[A-Za-z]+\s+)?(?:{_PLURAL})"
    r"|(?<!\d)[$€£]\s?['’]?000['’]?s?\b|['’]000['’]?s?\b|(?:\bin\s+|\()['’]?000['’]?s\b)", re.I)
_HINT = re.compile(r"thou|mil|bil|tri|000|mm|mio|bn", re.I)  # every scale has one of these
_OF = re.compile(rf"['’]?s?\.?\s+of\s+({_COIN}|[a-z]+(?:\s+(?:feet|met(?:er|re)s))?)", re.I)
# A note in a sentence: "Amounts are stated in millions of dollars", ", in thousands, except …:"
_IN_PROSE = re.compile(
    rf"(?:\b{_COIN}\s+|\b(?:amounts?|figures|numbers|values|shares|units)\s+)?"
    r"(?:\b(?:are |is )?(?:expressed|stated|presented|shown|reported|listed|given)\s+|\bare\s+)?"
    rf"\bin\s+(?:{_COIN}\s*)?(?:thousands|millions|billions|trillions)\b"
    rf"(?:\s+of\s+(?:{_COIN}|shares|currency))?"
    r"(?:,?\s+(?:except|unless|but|and)\b[^.;:()]*|(?=\s*(?:$|[,.;:)])))", re.I)
_EXCEPT = re.compile(r"\b(?:except(?:ing|ion of)?|other than|excluding|but not)\b(?: for| in)?"
                     r"(.*)", re.I | re.S)
_SHARES = re.compile(r"\bshares?\b|\bunits?\b|\bRSUs?\b|\bstock (?:data|amounts)\b|\bstock$", re.I)
_CODES = {"canad": "CAD", "ca$": "CAD", "c$": "CAD", "austr": "AUD", "hong": "HKD", "hk$": "HKD",
          "a$": "AUD", "€": "EUR", "euro": "EUR", "£": "GBP", "pound": "GBP", "¥": "JPY",
          "yen": "JPY", "yuan": "CNY", "renminbi": "CNY", "rmb": "CNY"}
AREA = re.compile(r"\bsquare (?:foot(?:age)?|feet|met(?:er|re)s)\b", re.I)
_IS_COIN = re.compile(rf"(?<!\w){_COIN}(?!\w)|[$€£¥]", re.I)
# words of an exception that name no thing: "where noted", "percentage data"
_NO_THING = re.compile(
    r"\d|\bended\b|\bper\b|%|\bpercent|\bratios?\b|\botherwise\b|\bwhere\b|\bwhen\b|\bas\b|\bnoted\b|"
    r"\bindicated\b|\bshares?\b|\bprices?\b|\b(?:other|selected|certain|operating|statistical|"
    r"financial|supplemental|items?)\b", re.I)
_FILLERS = re.compile(r"\b(?:number of|the|for|data|amounts?|information|figures|counts?|which|"
                      r"are|is|in|thousands|millions|reflected|stated|presented|par value)\b", re.I)


@dataclass(frozen=True)
class Note:
    """What a unit note says; a scale that the note does not give is None."""

    text: str
    money: float | None = None  # scale of amounts of money and of values without a unit
    shares: float | None = None
    area: float | None = None
    things: float | None = None  # scale of counts in "Thousands of barrels"
    coin: str = ""  # the currency, if the note says it: "USD"
    excepted: tuple[str, ...] = ()  # what the scale is not for: "employees"
    scales_shares: bool = False  # whether only amounts per share are excepted from its scale

    def excepts(self, label: str) -> bool:
        """Return whether the note excepts what `label` names."""
        return bool(self.excepted) and any(
            re.search(rf"\b{re.escape(name)}", label, re.I) for name in self.excepted)


def read_note(text: str) -> Note:
    """Read a unit note, such as "(in millions, except shares, which are in thousands, and …)"."""
    found: dict[str, float | None] = dict.fromkeys(("money", "shares", "area", "things"))
    end = 0
    for match in _SCALE.finditer(text):
        of = _OF.match(text, match.end())
        before = text[end:match.start()] + " " + match[0]
        what = _what(before, of[1] if of else "")
        found[what] = found[what] or _worth(match[0])
        if what == "shares" and _IS_COIN.search(before):  # "dollars and shares in thousands"
            found["money"] = found["money"] or _worth(match[0])
        end = of.end() if of else match.end()
    shares, excepted = _excepted(text)
    if shares and found["shares"] is None:
        found["shares"] = 1.0
    of_per_share = bool(re.search(r"\bper[- ](?:\w+ ){0,2}(?:share|unit)", text, re.I))
    return Note(text, **found, coin=coin_in(text), excepted=excepted,
                scales_shares=of_per_share and not shares)


def coin_in(text: str) -> str:
    """Return the currency that a note names, "USD" for "dollars"; "" for none."""
    found = _IS_COIN.search(text)
    word = found[0].lower() if found else ""
    if not word or word.upper() in CURRENCIES:
        return word.upper()
    return next((code for mark, code in _CODES.items() if mark in word), "USD")


def _what(before: str, of: str) -> str:
    """Return what a scale is for, by the words before it or after "of"."""
    if of and not _IS_COIN.search(of):
        return "area" if AREA.search(of) else "shares" if _SHARES.search(of) else "things"
    return "shares" if _SHARES.search(before) else "area" if AREA.search(before) else "money"


def _worth(scale: str) -> float:
    words = re.findall(r"[a-z]+|000", scale.lower())
    word = next(word for word in reversed(words) if word.rstrip("s") in SCALES or word in _SHORT
                or word.rstrip("s") in _SHORT)
    return SCALES.get(word.rstrip("s")) or _SHORT.get(word) or _SHORT[word.rstrip("s")]


def _excepted(text: str) -> tuple[bool, tuple[str, ...]]:
    """Return whether a note excepts shares, and the other things that it excepts."""
    match = _EXCEPT.search(text)
    if not match:
        return False, ()
    has_shares, names = False, []
    for item in re.split(r",|;|/|\band\b|\bor\b|\bas well as\b", match[1]):
        per = re.search(r"\bper\b|\bprices?\b", item, re.I)
        has_shares = has_shares or bool(_SHARES.search(item)) and not per
        name = " ".join(_FILLERS.sub(" ", re.sub(r"[^\w\s'%-]", " ", item)).lower().split())
        if len(name) > 2 and not _NO_THING.search(name) and not _SHARES.search(name):
            names.append(name.removesuffix("s"))
    return has_shares, tuple(names)


def unit_note_in(text: str, anywhere: bool = False) -> str:
    """Return the unit note in `text`, or "".

    That is a bracket such as "(in millions)" or the note of a sentence ("amounts are in millions").
    With `anywhere`, a short text that has a scale anywhere is a note as a whole; so is
    one like "Millions, except per share amounts" that begins with it.
    """
    if not _HINT.search(text):
        return ""
    for bracket in re.findall(r"\([^()]*\)|\[[^\[\]]*\]", text):
        if len(bracket) < MAX_NOTE and _SCALE.search(bracket):
            return bracket
    if anywhere and len(text) < 150 and _SCALE.search(text):
        return text
    prose = _IN_PROSE.search(text)
    return prose[0].strip() if prose else ""


def is_only_note(text: str) -> bool:
    """Return whether `text` says nothing but units: "(in millions)", "Dollars in thousands"."""
    text = text.strip()
    if re.search(r"\bended\b|\b\d{1,2}, \d{4}", text) or not unit_note_in(text, anywhere=True):
        return False
    bracket = re.fullmatch(r"[(\[]([^()\[\]]*)[)\]]", text)
    if not bracket and re.search(r"[(\[]", text):
        return False  # "Amount (in millions)"
    left = _IS_COIN.sub(" ", _SCALE.sub(" ", _EXCEPT.sub(" ", text), count=2))
    left = re.sub(r"\b(?:all|tabular|amounts?|figures|numbers|values|are|is|stated|expressed|shown|"
                  r"presented|in|of|and|US|U\.S\.|shares|unaudited|audited|s)\b", " ", left,
                  flags=re.I)
    return not re.search(r"\w", left)
