"""One spelling for what can be spelled in several ways: markup, amounts, ranges, short forms."""

import re
from calendar import month_name

from lib.core.units import spelling_of, unit_of
from lib.core.values import folded, solid, tokens

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)\w*[ \t]*$\n?", re.M)
_LINK = re.compile(r"\[([^\[\]\n]{1,200})\]\([^()\s]{0,300}\)")
_TARGET = re.compile(r"(?<=\S) \((?:https?://|\.{0,2}/|#)[^()\s]{1,300}\)")  # "TLS (../tls.md)"
_TAG = re.compile(
    r"</?(?:a|b|i|br|p|answer|code|em|strong|li|ul|ol|span|div|sup|sub|kbd)\b[^<>\n]{0,300}>", re.I)
_EMPHASIS = re.compile(r"(?<![\w*])\*([^\s*](?:[^*\n]{0,80}[^\s*])?)\*(?![\w*])|"
                       r"(?<![\w])_([^\s_](?:[^_\n]{0,80}[^\s_])?)_(?![\w])")
_UNIT = r"°[CF]?|%|[A-Za-zμΩ]{1,12}(?:/[a-z]{1,3})?"
_RANGE = re.compile(rf"(?P<between>\bbetween )?(?<![\w.-])\+?(?P<low>-?\d{{1,9}}(?:\.\d{{1,9}})?)"
    rf"(?: ?(?!thr)(?P<unit>{_UNIT}))? ?(?P<to>-|to|thr(?:ough|u)|\.{{2,3}}|and) ?\+?"
    rf"(?P<high>-?\d{{1,9}}(?:\.\d{{1,9}})?)(?![-.:/,]?\d)(?: ?(?P<other>{_UNIT})(?![\w/]))?")
_RATE = (r"(?<=\d )newton[ -]met(?:re|er)s?\b|\b([a-zμ]{1,12}) per ([a-z]{1,7})\b|"
         r"(?<=\d )([a-z]{0,6}(?:watt|amp|ampere))[ -]hours?\b")
_AMOUNT = r"\b(\d[\d.,]{0,15}(?: ?[a-zA-Z%°]{1,15})?)"
_CLOCK = (r"(?<![\w:.+-])(\d{1,2}):([0-5]\d)(?![\w:.]|-\d)"
          r"(?: ?([ap])\.?m\b\.?| in the (morning|afternoon|evening)\b)?")


# Write "litres per minute" as "l/min", and "newton metres" as "Nm"
def _one_rate(match: re.Match) -> str:
    if not match[2]:
        return f"{spelling_of(match[3])}h" if match[3] else "Nm"
    rate = f"{spelling_of(match[1])}/{spelling_of(match[2])}"
    return rate if unit_of(rate) else match[0]


# Write "7:45 pm" as "19:45"
def _one_time(match: re.Match) -> str:
    half = (match[3] or match[4] or "").lower()
    hour = int(match[1]) % 12 if half else int(match[1])
    return f"{hour + 12 * (half[:1] in ('p', 'e') or half == 'afternoon'):02}:{match[2]}"


# Write "one and a half days" and "a day and a half" as "1.5 days"
def _halved(match: re.Match) -> str:
    whole = solid(tokens(match[1] or "1"))[0].value[1]
    return f"{whole}.5 {match[2] or match[3]}"


_SHARES = {"quarter": "25 %", "half": "50 %", "three quarters": "75 %", "fifth": "20 %",
           "tenth": "10 %"}
_PERIODS = {"hour": "hourly", "day": "daily", "week": "weekly", "month": "monthly",
            "year": "yearly"}
_NUMBERS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_SEVERAL = re.compile(  # not "port 8443 and 30 s"
    r"(?P<lead>(?:^|[:(\n]|\b(?:of|are|is|at|with|for|by|on|to|allows|needs|uses)) ?)"
    rf"(?P<bare>\d[\d.]*(?:, \d[\d.]*)*)"
    rf"(?P<last>,? (?:and|or) \d[\d.]* ?(?P<unit>{_UNIT})(?![\w/]))")


# Write "12, 24 and 48 V" as "12 V, 24 V and 48 V"
def _each_with_unit(match: re.Match) -> str:
    lead, bare, last, unit = match.group("lead", "bare", "last", "unit")
    if not unit_of(unit):
        return match[0]
    return lead + ", ".join(f"{one} {unit}" for one in bare.split(", ")) + last


_SPELLINGS = tuple((re.compile(pattern, re.I), spelling) for pattern, spelling in (
    (r"\bno\. (?=\S{0,30}\d)", "number "), (r"\brev(?:\. ?| )(?=[a-z\d])", "revision "),
    (r"\b(max|min|approx|incl|excl|nos|fig|vs|ca|resp)\.(?= [a-z(\d])", r"\1"),
    (r"\+ ?/ ?- ?|\bplus or minus |± ", "±"), (r"\b(?:minus|negative) (?=\d)", "-"),
    (r"[Øø∅] ?(?=\d)", ""), (r"(?<=\d)(?<!\b0) ?[x×] ?(?=\d)", " x "),  # 120x80 mm
    (r"\brevolutions per minute\b", "rpm"), (rf"\b({_NUMBERS})-(?=[a-z])", r"\1 "),
    (r"(?<!\bthe )(?<!\ba )\b(?:turn|switch)(ed|ing|)(?:e?s)? (on|off)\b",
     lambda match: ("en", "dis")[match[2].lower() == "off"] + "abl" + (match[1] or "e")),
    (r"\b(?:about|around|approximately|roughly|approx\.?|circa|ca\.?) "
     rf"(?=\d|(?:{_NUMBERS})\b)|[~≈] ?(?=\d)", ""),
    (r"\$\{?HOME\}?(?=/)", "~"), (r"\bdB ?\(([AC])\)", r"dB\1"),
    (r"\bis the (?:job|role|task|responsibility|duty) of\b", "is done by"),
    (r"\b(?:(?:it|they) )?(?:(?:does|do) the same|the same (?:goes|applies|holds|is true))"
     r" (?=(?:on|for|with|to|at|in|of)\b)", "also "),
    (r"(?<=\d) an? (?=(?:year|month|week|day|hour|minute|second)\b)", " per "),
    (rf"\b({_NUMBERS}|\d{{1,3}}) and (?:a|one) half ([a-z]+)"
     r"|\b(?:an?|one) ([a-z]+) and (?:a|one) half\b", _halved),
    (r"\bhalf (?:an?|of an?|of one) (?=hour|minute|second|day|year|metre|meter|litre)", "0.5 "),
    (r"\b(?:a )?quarter of an? (?=hour|minute)", "0.25 "),
    (r"\b(?:one|a) (quarter|half|fifth|tenth)\b(?! (?:hour|turn))|\b(three quarters)\b",
     lambda match: _SHARES[(match[1] or match[2]).lower()]),
    (r"\b(?:once (?:an?|per|every|each|in every|in an?)|every|each) (hour|day|week|month|year)\b",
     lambda match: _PERIODS[match[1].lower()]),
    (r" ?(?:->|=>|\u2192|\u21d2) ?", ", "), (r"\bhalf (?:of )?(?=(?:the|all)\b)", "50 % of "),
    (r"\b(?:(?:must|may|should|can|does|do|shall|will) )?not exceed(?:ing)? (?=\d)", "at most "),
    (r"\bcolor", "colour"), (r"\bgray", "grey"), (r"\blicense", "licence"),
    (r"(?<=[a-z]{3})iz(?=e[dsr]?\b|ing\b|ation)", "is"),
    (r"\btwice\b", "2 times"), (r"\bused to be\b", "formerly was"),
    (r"\btimes (?:an?|per|each|every) (hour|day|week|month|year)\b",
     lambda match: "times " + _PERIODS[match[1].lower()]), (r"(?<=\d) ?[x×] (?=[A-Za-z])", " "),
    (r"\bannually\b|\bper annum\b", "yearly"),
    (r"(?<![\d:.])(\d{1,2}) ?([ap])\.?m\b\.?", r"\1:00 \2m"),
    (_RATE, _one_rate), (_CLOCK, _one_time),
    (r"(?:(?<!\d )\b(?:a )?min(?:imum)?(?: of)?|\bnot? (?:less|fewer|shorter|lower) than|≥|>=)"
     r" ?(?=\d)", "at least "),
    (r"(?:\b(?:a )?max(?:imum)?(?: of)?|\bnot? (?:more|longer|higher) than|\bup to|≤|<=) ?(?=\d)",
     "at most "),
    (_AMOUNT + r" (?:(?:or|and) (?:more|above|higher|longer)|at least)\b", r"at least \1"),
    (_AMOUNT + r" (?:(?:or|and) (?:less|fewer|below|lower|shorter)|at most)\b", r"at most \1"),
    (r"\b(?:more|higher|greater|larger|longer|heavier|later) than (?=\d)|\bin excess of |"
     r"\bexceeding (?=\d)|\bover (?=\d)|>(?=\s?\d)", "above "),
    (r"\b(?:less|lower|fewer|smaller|shorter|lighter) than (?=\d)|\bunder (?=\d)|<(?=\s?\d)",
     "below ")))
_DAY_NAMES = re.compile(r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b")
_LONG_AND_SHORT = re.compile(r"(?<![\w.-])([A-Za-z][\w.-]{0,40}(?: [A-Za-z\d][\w.-]{0,40}){1,9}) "
                             r"\(([A-Za-z][\w-]{1,9}(?: \d[\d.]{0,5})?)\)")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_MONTHS = "|".join(month_name[1:])
_YEARLESS = re.compile(rf"\b\d{{1,2}} (?:{_MONTHS})\b(?!,? \d{{4}})|"
                       rf"\b(?:{_MONTHS}) \d{{1,2}}\b(?!,? \d{{4}})")
_CODE = re.compile(r"(?<![\w./-])([A-Za-z]{1,6})([ /-]?)(\d{1,9}(?:\.\d{1,9}){0,3}[A-Za-z]{0,2})"
                   r"(?![\w]|[-./]\w)")


def unified(text: str) -> str:
    """Return `text` folded, without inline markup, with ranges and ± amounts in one spelling."""
    text = _FENCE.sub("", text)
    text = folded(_TAG.sub(" ", _LINK.sub(r"\1", text)))
    text = _LONG_AND_SHORT.sub(_one_form, _TARGET.sub("", text))
    text = _EMPHASIS.sub(lambda match: match[1] or match[2], text)
    text = _one_spelling(text)
    return _SEVERAL.sub(_each_with_unit, _RANGE.sub(_one_range, text))


def _one_spelling(text: str) -> str:
    for pattern, spelling in _SPELLINGS:
        text = pattern.sub(spelling, text)
    return text


# Write "-20 °C to +60 °C" as "-20-60 °C"
def _one_range(match: re.Match) -> str:
    low, unit, to, high, other = match.group("low", "unit", "to", "high", "other")
    if (to == "and") != bool(match["between"]):
        return match[0]
    if unit and not (other and spelling_of(unit) == spelling_of(other)):
        return match[0]
    low, high = (re.sub(r"(?<=\d)\.0+$", "", end) for end in (low, high))
    if not other:
        return f"{low}-{high}"
    return f"{low}-{high} {spelling_of(other)}"


def respelled(text: str, codes: dict[str, str]) -> str:
    """Return `text` with each code of `codes`, as `codes_in` returns it, in that spelling."""
    return _CODE.sub(lambda match: codes.get(_squeezed(match), match[0]), text)


def codes_in(text: str) -> dict[str, str]:
    """Return codes of letters and digits, squeezed to "ip54", with their spelling in `text`."""
    return {_squeezed(match): match[0] for match in _CODE.finditer(text)}


def _squeezed(match: re.Match) -> str:
    letters = match[1].casefold()
    return letters.removesuffix("v") + match[3].casefold() if len(letters) > 1 else (
        letters + match[3].casefold())


def spelled_out(text: str, question: str, reference: str) -> str:
    """Return `text` with short forms as in the reference: "Mon", "15 March"; long forms short."""
    for name in set(_DAY_NAMES.findall(reference)):
        text = re.sub(rf"\b{name[:3]}(?:{name[3:4]})?s?\b\.?", name, text)
    for long, short in _LONG_AND_SHORT.findall(_one_spelling(folded(reference))):
        if n_words := _words_of(short, long):
            long = " ".join(long.split()[-n_words:])
            text = re.sub(rf"\b{re.escape(long)}\b", lambda _, short=short: short, text)
    years = set(_YEAR.findall(question))
    return _YEARLESS.sub(rf"\g<0> {years.pop()}", text) if len(years) == 1 else text


# Write "supports Red Hat Enterprise Linux 9 (RHEL 9)" as "supports RHEL 9"
def _one_form(match: re.Match) -> str:
    n_words = _words_of(match[2], match[1])
    if not n_words:
        return match[0]
    return " ".join([*match[1].split()[:-n_words], match[2]])


def _words_of(short: str, long: str) -> int | None:
    words = long.split()
    wanted = [piece.lower() for piece in re.findall(r"\d[\d.]*|[A-Za-z]", short)]
    for first in range(len(words) - 1):
        initials = [word if word[0].isdigit() else word[0].lower() for word in words[first:]
                    if word.lower() not in ("of", "and", "for", "the")]
        if initials == wanted and words[first][0].isupper():
            return len(words) - first
    return None
