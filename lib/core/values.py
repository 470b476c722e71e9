"""Text as comparable tokens: numbers with units, dates, words; numeric answers.

Memory units are multiples of 1024 in any spelling, as in industrial records: 1 GB is 1024 MB.
"""

import re
import unicodedata
from calendar import month_name
from datetime import date
from fractions import Fraction
from itertools import takewhile
from typing import NamedTuple

from lib.core.records import Query

Amount = tuple[str, str | Fraction]
Value = str | Amount | tuple[int, ...]
Unit = tuple[str, Fraction]  # dimension, and factor to its first unit

# A dimension's units: the factor to the first one, and their spellings. Case matters if it
# distinguishes units: mW and MW, Mb and MB.
_UNITS = {
    "time": "1 s sec secs second seconds; 1/1000 ms msec millisecond milliseconds; 1/1000000 us μs "
    "microsecond microseconds; 1/1000000000 ns nanosecond nanoseconds; 60 min mins minute "
    "minutes; 3600 h hr hrs hour hours; 86400 d day days; 604800 week weeks; 1209600 fortnight "
    "fortnights",
    "month": "1 month months; 12 y yr yrs year years",
    "memory": "1 B byte bytes; 1024 KB kB kb KiB kilobyte kilobytes kibibyte kibibytes; 1048576 MB "
    "mb MiB megabyte megabytes mebibyte mebibytes; 1073741824 GB gb GiB gigabyte gigabytes "
    "gibibyte gibibytes; 1099511627776 TB tb TiB terabyte terabytes tebibyte tebibytes",
    "bits": "1 bit bits; 1000 kbit Kbit kilobit kilobits; 1000000 Mb Mbit megabit megabits; "
    "1000000000 Gb Gbit gigabit gigabits",
    "bits/time": "1 bps; 1000 kbps; 1000000 Mbps; 1000000000 Gbps",
    "length": "1 m metre metres meter meters; 1/1000 mm millimetre millimetres millimeter "
    "millimeters; 1/100 cm centimetre centimetres centimeter centimeters; 1/1000000 um μm "
    "micrometre micrometres micrometer micrometers; 1/1000000000 nm nanometre nanometres "
    "nanometer nanometers; 1000 km kilometre kilometres kilometer kilometers; 1609344/1000 mile "
    "miles; 127/5000 inch inches; 381/1250 ft foot feet",
    "mass": "1 g gram grams; 1/1000 mg milligram milligrams; 1/1000000 ug μg microgram micrograms; "
    "1000 kg kilogram kilograms; 1000000 t tonne tonnes; 45359237/100000 lb lbs pound pounds",
    "volume": "1 l L litre litres liter liters; 1/1000 ml mL millilitre millilitres milliliter "
    "milliliters; 1000 m3",
    "area": "1 m2; 1/10000 cm2; 1/1000000 mm2; 10000 ha hectare hectares",
    "length/time": "1852/3600 kt kn knot knots; 1609344/3600000 mph",
    "pressure": "1 Pa; 1000 kPa kilopascal kilopascals; 1000000 MPa megapascal megapascals; 100000 "
    "bar bars; 100 mbar hPa millibar millibars; 6894757/1000 psi",
    "voltage": "1 V volt volts; 1/1000 mV millivolt millivolts; 1000 kV kilovolt kilovolts",
    "DC voltage": "1 VDC; 1/1000 mVDC; 1000 kVDC",
    "AC voltage": "1 VAC; 1/1000 mVAC; 1000 kVAC",
    "current": "1 A amp amps ampere amperes; 1/1000 mA milliampere milliamperes milliamp "
    "milliamps; 1/1000000 uA μA microampere microamperes microamp microamps; 1/1000000000 nA "
    "nanoampere nanoamperes nanoamp nanoamps",
    "capacitance": "1 pF; 1000 nF nanofarad nanofarads; 1000000 uF μF microfarad microfarads",
    "charge": "1 Ah; 1/1000 mAh",
    "power": "1 W watt watts; 1/1000 mW milliwatt milliwatts; 1000 kW kilowatt kilowatts; 1000000 "
    "MW megawatt megawatts",
    "apparent power": "1 VA; 1000 kVA",
    "energy": "1 Wh; 1000 kWh; 1000000 MWh; 1/3600 J; 1000/3600 kJ kilojoule kilojoules; "
    "1000000/3600 MJ megajoule megajoules",
    "frequency": "1 Hz hertz; 1000 kHz kilohertz; 1000000 MHz megahertz; 1000000000 GHz gigahertz",
    "sampling": "1 S/s; 1000 kS/s; 1000000 MS/s; 1000000000 GS/s",
    "rotation": "1 rpm r/min RPM",
    "torque": "1 Nm N·m",  # "N m" is read as N·m
    "force": "1 N newton newtons; 1000 kN kilonewton kilonewtons",
    "resistance": "1 Ω ohm ohms; 1/1000 mΩ milliohm milliohms; 1000 kΩ kiloohm kiloohms; 1000000 "
    "MΩ megaohm megaohms",
    "sound": "1 dB decibel decibels",
    "sound by A": "1 dBA",
    "parts": "1 ppm",
    "celsius": "1 °C C degC Celsius",
    "fahrenheit": "1 °F degF Fahrenheit",
    "angle": "1 ° degree degrees deg",
    "K": "1 K k",  # kelvin or thousands: as written
    "share": "1 % percent",
    "USD": "1 $ USD dollar dollars",
    "EUR": "1 € EUR euro euros",
    "GBP": "1 £ GBP",
    "JPY": "1 ¥ JPY yen",
    "": "1000 thousand; 1000000 million; 1000000000 billion",
}
_EXACT: dict[str, Unit] = {
    spelling: (dimension, Fraction(factor))
    for dimension, units in _UNITS.items()
    for factor, *spellings in map(str.split, units.split(";"))
    for spelling in spellings
}
_FOLDED: dict[str, set[Unit]] = {}
for _spelling, _unit in _EXACT.items():
    _FOLDED.setdefault(_spelling.casefold(), set()).add(_unit)
_CURRENT = re.compile(r"([km]?)[Vv](?:olts?)? ?([ADad])\.?[Cc]\.?")  # V DC, volts d.c.

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
_MAX_DIGITS = 1000  # more come from a model in a loop; Python reads at most 4,300 digits
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
_RANGE = re.compile(r"[-+±]?\d+(?:[.,]\d+)*-[-+]?\d+(?:[.,]\d+)*")
_COMPARATORS = frozenset(
    (
        "about around approximately approx up to at least most over under below above max "
        "min maximum "
        "minimum less more fewer no not than between exactly"
    ).split()
)
# Numbers in form, but dates, addresses and codes in use: 20241203, 192.168.0.1, 0042
_CODE = re.compile(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])|\d+(?:\.\d+){3,}|0\d+")


class Token(NamedTuple):
    """A piece of text and its value; tokens of one kind are equal when their values are."""

    kind: str  # word, number, date, separator (, ; : and the like), end (of a sentence or line)
    value: Value
    text: str

    @property
    def is_solid(self) -> bool:
        """Whether it has content, unlike punctuation."""
        return self.kind in ("word", "number", "date")


# Case is ignored if only one unit can be meant
def _unit_of(spelling: str) -> Unit | None:
    if spelling in _EXACT:
        return _EXACT[spelling]
    if current := _CURRENT.fullmatch(spelling):
        return _EXACT[f"{current[1]}V{current[2].upper()}C"]
    if spelling == "N m":
        return _EXACT["Nm"]
    if "/" in spelling:
        over, under = map(_unit_of, spelling.split("/", 1))
        if over and under and over[0] and under[0]:  # mg/L, km/h; not and/or
            return f"{over[0]}/{under[0]}", over[1] / under[1]
        return None
    meant = [*_FOLDED.get(spelling.casefold(), ())]
    return meant[0] if len(spelling) > 1 and len(meant) == 1 else None


def normalize_text(text: str) -> str:
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
    """Return the tokens of `text` in order, without articles."""
    # A number without a unit keeps its decimals: 3.10 may be a version, which is not 3.1. Leading
    # zeros are kept (a code), thousands separators are not.
    text, found, place = normalize_text(text), [], 0
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


def _token_at(text: str, place: int) -> tuple[Token, int]:
    if text[place] == "\n":
        return Token("end", "\n", "\n"), place + 1
    for kind, read in (("date", _date_at), ("number", _number_at)):
        if result := read(text, place):
            return Token(kind, result[0], text[place : result[1]]), result[1]
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


def _number_at(text: str, place: int) -> tuple[Amount, int] | None:
    match = _NUMBER.match(text, place)  # of "$5 million", "30 s", "v3.10"
    if not match or len(match["digits"]) > _MAX_DIGITS:
        return None
    digits = (match["sign"] + match["digits"]).replace(",", "").removeprefix("+")
    coin = (match["coin"] or "").strip().strip("vV")
    number, end = _with_unit(text, digits, coin, match.end())
    return None if _GLUED.match(text, end) else (number, end)


def _with_unit(text: str, digits: str, coin: str, end: int) -> tuple[Amount, int]:
    unit, last = _unit_at(text, end)
    scale = unit[1] if unit and not unit[0] else None  # thousand, million
    if coin:  # "$5", "$5 million"
        unit, last = (_EXACT[coin][0], scale or Fraction(1)), last if scale else end
    elif scale:  # "1.2 million hours"
        counted, after = _unit_at(text, last)
        if counted and counted[0]:
            unit, last = (counted[0], counted[1] * scale), after
    if digits.count(".") > 1 or digits.startswith("±") and (coin or scale):
        unit, last = None, end
    return _amount(digits, unit), last


def _unit_at(text: str, end: int) -> tuple[Unit | None, int]:
    match = _UNIT.match(text, end)
    is_cut = match and re.match(r"[\w/]", text[match.end() : match.end() + 1])
    unit = _unit_of(match[1]) if match and not is_cut else None
    return unit, match.end() if match and unit else end


def _amount(digits: str, unit: Unit | None) -> Amount:
    if not unit:  # digits that may be a code stay verbatim
        return "", Fraction(digits) if re.fullmatch(r"0|(?!0)\d+", digits) else digits
    dimension, factor = unit
    if digits.startswith("±"):
        return dimension, f"±{Fraction(digits[1:]) * factor}"
    return dimension, Fraction(digits) * factor


def _is_article(found: list[Token], index: int) -> bool:
    token, after = found[index], found[index + 1 : index + 2]
    if token.kind != "word" or not after or not after[0].is_solid:
        return False
    if token.text in ("A", "An"):  # "Class A" and "A 12" keep their A
        is_start = not index or not found[index - 1].is_solid or found[index - 1].text.islower()
        return after[0].kind == "word" and is_start
    return token.text in ("a", "an") or token.value == "the"


# The paper's rule is not published. A number is digits (or a word from zero to ninety-nine),
# optionally with a sign, a comparator ("at least"), a currency, a percent sign, thousands
# separators, and a unit or one lower-case noun ("12 pumps"); a range of two numbers; a quantity
# "of" something ("16 GB of RAM"); or several quantities that add up ("3 h 20 min"). A unit's case
# is ignored if only one unit can be meant. A dotted number (3.10, 3.2.1) counts: its form does not
# distinguish a version from a decimal. Not numbers: dates (including 20241203), times of day,
# addresses (192.168.0.1), codes with leading zeros, digits inside a name, path or code (P-417).
def is_numeric(query: Query) -> bool:
    """True if the reference answer is a number; of an entity list, if every entity is (Table 5)."""
    entities = query.answer.splitlines() if query.entity_count is not None else [query.answer]
    entities = [entity for entity in entities if entity.strip()]
    return bool(entities) and all(is_number(entity) for entity in entities)


def is_number(text: str) -> bool:
    """Return whether `text` is one number, by the rule of `is_numeric`."""
    found = solid(tokens(text.strip().lstrip("~≈<>≤≥= ")))
    opening = [*takewhile(lambda token: token.value in _COMPARATORS, found)]
    found = found[len(opening) :]
    is_between = any(token.value == "between" for token in opening)
    if is_between and len(found) > 1 and found[1].value == "and":
        return _is_amount(found[0]) and _is_one(found[2:])
    return _is_one(found)


def _is_one(found: list[Token]) -> bool:
    if not (found and _is_amount(found[0])):
        return False
    first, *rest = found
    if not rest or len(rest) == 1 and _is_counted(rest[0]):
        return True
    dimensions = {_dimension(token) for token in found if token.value != "and"}
    is_sum = found[-1].value != "and" and dimensions == {_dimension(first)}
    is_of = len(rest) == 2 and rest[0].value == "of" and rest[1].kind == "word"
    return _dimension(first) != "" and (is_sum or is_of)


def _is_amount(token: Token) -> bool:
    if token.kind == "number":
        return not _CODE.fullmatch(token.text)
    return token.kind == "word" and _RANGE.fullmatch(str(token.value)) is not None


def _dimension(token: Token) -> str:
    return str(token.value[0]) if token.kind == "number" else ""


def _is_counted(token: Token) -> bool:
    is_noun = token.text.isalpha() and token.text.islower()
    return token.kind == "word" and (is_noun or _unit_of(token.text) is not None)
