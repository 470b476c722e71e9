"""Text as comparable tokens: numbers with units, dates and normalized words (paper, 4.4)."""

import re
import unicodedata
from calendar import month_name
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

from lib.core.units import Unit, unit_of

Value = str | tuple[str, str | Fraction] | tuple[int, ...]

_MONTHS = tuple(name.lower() for name in month_name[1:])
_MONTH_NUMBERS = {name[:3]: number for number, name in enumerate(_MONTHS, 1)}
_MONTH = r"(?P<month>" + "|".join(f"{name[:3]}(?:{name[3:]})?" for name in _MONTHS) + r"|sept)\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_DATES = tuple(
    re.compile(pattern + r"(?![\w]|[-/.:]\w)", re.I)
    for pattern in (
        r"(?P<year>\d{4})(?P<mark>[-/.])(?P<m>\d{1,2})(?P=mark)(?P<day>\d{1,2})",
        r"(?P<day>\d{1,2})\.(?P<m>\d{1,2})\.(?P<year>\d{4})",
        # with slashes only if it can be read in one way: 31/03/2027, 3/31/2027
        r"(?P<day>1[3-9]|2\d|3[01])/(?P<m>\d{1,2})/(?P<year>\d{4})",
        r"(?P<m>\d{1,2})/(?P<day>1[3-9]|2\d|3[01])/(?P<year>\d{4})",
        _DAY + r"(?:\.?[ -]|(?=[a-z]))(?:of )?" + _MONTH + r"(?:,? of|,)?[ -](?P<year>\d{4})",
        _MONTH + r" (?:the )?" + _DAY + r",? (?:of )?(?P<year>\d{4})",
        r"(?P<year>\d{4})[ -]" + _MONTH + r"[ -]" + _DAY,
        _MONTH + r"(?:,| of)? (?P<year>\d{4})",
        r"(?P<year>(?:19|20)\d\d)-(?P<m>0[1-9]|1[0-2])",
    )
)
MOST_DIGITS = 1000  # more come from a model in a loop; Python reads at most 4,300 digits
_NUMBER = re.compile(
    r"(?P<sign>[-+±]?)(?P<coin>[$€£¥]|(?:USD|EUR|GBP|JPY)[ ]|[vV](?=\d))?"
    r"(?P<digits>\d{1,3}(?:,\d{3}){1,9}(?:\.\d+)?(?!\d|,\d)|\d+(?:\.\d+)*)"
)
_UNIT = re.compile(
    r"[ -]?(%|°(?:[CF]\b)?|(?:[km]?V|[Vv]olts?) ?(?:[DA]C|[dac]{2}|[da]\.c\.?)"
    r"(?!\w)|N m\b|[A-Za-zμΩ][A-Za-z0-9μΩ·/]{0,30})"
)
_GLUED = re.compile(r"[\w°%]|[-/:@_+#^.]\w")  # digits are part of a word: 84a, 8443/tcp, 12:30
# not the punctuation at its end; bounded, or a long run of full stops would cost its square
_WORD = re.compile(r"(?:[.:!?']{0,9}+[^\s,;()\[\]{}|.:!?'])++")
_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_WORDED = {word: str(n) for n, word in enumerate(_ONES)} | {
    f"{tens}-{_ONES[n]}" if n else tens: str(10 * place + n)
    for place, tens in enumerate(_TENS, 2)
    for n in range(10)
}


@dataclass(frozen=True)
class Token:
    """A piece of text and its value; tokens of one kind are equal when their values are."""

    kind: str  # word, number, date, separator (, ; : and the like), end (of a sentence or line)
    value: Value
    text: str

    @property
    def is_solid(self) -> bool:
        """Whether it has content, unlike punctuation."""
        return self.kind in ("word", "number", "date")

    @property
    def word(self) -> str:
        """Its value as text: a word in lower case."""
        return str(self.value)


def folded(text: str) -> str:
    """Return `text` in NFKC with plain dashes, compact ranges, and no quotes or bold marks."""
    # 10 000 set with a narrow space
    text = re.sub(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))", ",", text)
    text = unicodedata.normalize("NFKC", text)
    text = re.sub("[\u2010-\u2015\u2212]", "-", text).replace("\u2019", "'")
    text = text.replace("\u00b5", "\u03bc")
    text = re.sub('["`\u201c\u201d\u201e\u00ab\u00bb\u2018]|\\*\\*', "", text)
    text = re.sub(
        r"\b(?:degrees?|deg\.?) (celsius|fahrenheit|[CF]\b)",
        lambda match: "°" + match[1][0].upper(),
        text,
        flags=re.I,
    )
    text = re.sub(r"\bper cent\b", "percent", text, flags=re.I)
    return re.sub(r"(?<=\d) (?:-|to) (?=\d)", "-", re.sub(r"[ \t\f\v]+", " ", text))


def tokens(text: str) -> list[Token]:
    """Return the tokens of `text` in order, without articles.

    A number without a unit keeps its decimals as written, because 3.10 may be a version, which is
    not 3.1; with a unit it is an amount. Leading zeros are kept (a code), thousands separators are
    not.
    """
    text, found, place = folded(text), [], 0
    while place < len(text):
        if text[place] != "\n" and text[place].isspace():
            place += 1
            continue
        token, place = _token_at(text, place)
        if token.value != "":
            found.append(token)
    return [token for index, token in enumerate(found) if not _is_article(found, index)]


def solid(found: list[Token]) -> list[Token]:
    """Return the tokens that have content."""
    return [token for token in found if token.is_solid]


def in_unit(token: Token, unit: str) -> Token:
    """Read a number without a unit in the `unit` that the question asks for; keep other tokens."""
    amount = token.value[1] if token.kind == "number" else None
    if amount is None or token.value[0] or str(amount).count(".") > 1:
        return token
    return Token("number", _amount(str(amount), unit_of(unit)), token.text)


def _token_at(text: str, place: int) -> tuple[Token, int]:
    if text[place] == "\n":
        return Token("end", "\n", "\n"), place + 1
    for read in (_date_at, _number_at):
        result = read(text, place)
        if result:
            return Token(read.__name__.split("_")[1], result[0], text[place : result[1]]), result[1]
    word = _WORD.match(text, place)
    if word and word[0].strip("-='\u2026"):
        value = unicodedata.normalize("NFKC", word[0].casefold()).strip("'")
        if value in _WORDED:
            number, end = _with_unit(text, _WORDED[value], "", word.end())
            return Token("number", number, text[place:end]), end
        return Token("word", value, word[0]), word.end()
    end = word.end() if word else place + 1
    mark = text[place:end]
    return Token("end" if mark in ".!?" else "separator", "" if mark == "'" else mark, mark), end


def _date_at(text: str, place: int) -> tuple[tuple[int, ...], int] | None:
    for pattern in _DATES:
        match = pattern.match(text, place)
        if not match:
            continue
        parts = match.groupdict()
        named = parts.get("month")
        month = _MONTH_NUMBERS[named[:3].lower()] if named else int(parts["m"])
        year, day = int(parts["year"]), [int(parts["day"])] if parts.get("day") else []
        try:
            date(year, month, *(day or [1]))
        except ValueError:  # no such day: compare it as written
            continue
        return (year, month, *day), match.end()
    return None


def _number_at(text: str, place: int) -> tuple[tuple[str, str | Fraction], int] | None:
    match = _NUMBER.match(text, place)  # of "$5 million", "30 s", "v3.10"
    if not match or len(match["digits"]) > MOST_DIGITS:
        return None
    digits = (match["sign"] + match["digits"]).replace(",", "").removeprefix("+")
    coin = (match["coin"] or "").strip().strip("vV")
    number, end = _with_unit(text, digits, coin, match.end())
    return None if _GLUED.match(text, end) else (number, end)


def _with_unit(
    text: str, digits: str, coin: str, end: int
) -> tuple[tuple[str, str | Fraction], int]:
    is_plain = digits.count(".") < 2
    unit, last = _unit_at(text, end) if is_plain else (None, end)
    is_scale = unit is not None and not unit[0]
    if digits.startswith("±") and (is_scale or coin):
        return _amount(digits, None), end
    if is_scale and not coin:  # "1.2 million hours"
        counted, after = _unit_at(text, last)
        if counted and counted[0]:
            return _amount(digits, (counted[0], counted[1] * unit[1])), after
    elif unit and not coin:
        return _amount(digits, unit), last
    if is_plain and (coin or is_scale):
        factor = unit[1] if is_scale else Fraction(1)
        return (unit_of(coin)[0] if coin else "", Fraction(digits) * factor), (
            last if is_scale else end
        )
    return _amount(digits, None), end


def _unit_at(text: str, end: int) -> tuple[Unit | None, int]:
    match = _UNIT.match(text, end)
    is_whole = match and not re.match(r"[\w/]", text[match.end() : match.end() + 1])
    unit = unit_of(match[1]) if is_whole else None
    return unit, match.end() if unit else end


def _amount(digits: str, unit: Unit | None) -> tuple[str, str | Fraction]:
    if not unit:
        # digits that may be a code stay verbatim
        is_plain = digits.isdigit() and (digits == "0" or not digits.startswith("0"))
        return "", Fraction(digits) if is_plain else digits
    dimension, factor = unit
    if digits.startswith("±"):
        return dimension, f"±{Fraction(digits[1:]) * factor}"
    return dimension, Fraction(digits) * factor


def _is_article(found: list[Token], index: int) -> bool:
    token, after = found[index], found[index + 1 : index + 2]
    if token.kind != "word" or not after or not after[0].is_solid:
        return False
    if token.text in ("A", "An"):  # "Class A" and "A 12" keep their A
        before = found[index - 1] if index else None
        is_start = before is None or not before.is_solid
        return after[0].kind == "word" and (is_start or before.text.islower())
    return token.text in ("a", "an") or token.value == "the"
