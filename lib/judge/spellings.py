"""One spelling and one layout for what an answer can write in several ways."""

import re
from collections.abc import Iterator

from lib.core.units import unit_of
from lib.core.values import folded

MOST_READ = 20_000  # characters of an answer; the value is not further down
_UNIT = r"°[CF]?|%|[A-Za-zμΩ]{1,12}\d?(?:/[a-z]{1,3})?"
_NUMBERS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_NUMBER = r"\d{1,9}(?:[.,]\d{1,9})*"
_RANGE = re.compile(
    rf"(?P<between>\b(?:between|from) )?(?<![\w.-])\+?(?P<low>[-\u2212]?{_NUMBER})"
    rf"(?: ?(?!thr|to\b|up\b)(?P<unit>{_UNIT}))? ?(?:-|(?:up )?to|thr(?:ough|u)|\.{{2,3}}"
    rf"|(?P<and>and)) ?\+?(?P<high>-?{_NUMBER})(?![-.:/,]?\d)(?: ?(?P<other>{_UNIT})(?![\w/-]))?",
    re.I,
)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)\w*[ \t]*$\n?", re.M)
_LINK = re.compile(r"\[([^\[\]\n]{1,200})\]\([^()\s]{0,300}\)")
_TAG = re.compile(r"</?(?:a|b|i|br|p|answer|code|em|strong|li|ul|ol|span)\b[^<>\n]{0,300}>", re.I)
_EMPHASIS = re.compile(r"(?<![\w*])([*_])([^\s*_](?:[^*_\n]{0,80}[^\s*_])?)\1(?![\w*])")
_MARKER = re.compile(
    r"^\s*(?:[-*+•‣·]|\(?\d{1,3}[.)]|\(?[a-z]\)|step \d{1,3}[.:])"
    r"\s+(?:\[[ x]\]\s+)?",
    re.I,
)
_IN_LINE = re.compile(r"(?:^|(?<=\S) )\(?\d{1,2}[.)] (?=\S)")  # 1) Linux 2) QNX
_COURTESY = re.compile(
    r"\A(?:\s*(?:(?:happy|glad|pleased) to help|thank(?:s| you)|(?:good|great) question|sure"
    r"|of course|certainly|hello|hi)\b[^.!:,\n]{0,60}[.!:,\n]+)+",
    re.I,
)
_CLOSING = re.compile(
    r"(?<=[.!?\n]) ?(?:please )?(?:let me know|feel free|i hope|hope this|is there anything"
    r"|anything else|if you (?:need|have|want))[^\n\d]{0,120}\s*\Z",
    re.I,
)
_NEW_TOPIC = re.compile(r"\s*(?:#|(?:question|answer|note|source|q|a)\s*:)|.*\?\s*$", re.I)
_BAR = re.compile(r"^[\s|:+-]*-[\s|:+-]*$")


def _clock(match: re.Match) -> str:
    half = (match[3] or "").lower()
    hour = int(match[1]) % 12 if half else int(match[1])
    return f"{hour + 12 * (half == 'p'):02}:{match[2] or '00'}"


_SPELLINGS = tuple(
    (re.compile(pattern, re.I), spelling)
    for pattern, spelling in (
        (r"\+ ?/ ?- ?|\bplus or minus |± ", "±"),
        (r"\b(?:minus|negative) (?=\d)", "-"),
        (r"n't\b", " not"),
        (r"\bcannot\b", "can not"),
        (r"(?<=\d)(?<!\b0)[ \u00a0]?[x×](?= ?\d)", " x "),
        (
            r"\b(?:turn|switch)(ed|ing|)(?:e?s)? (on|off)\b",
            lambda match: ("en", "dis")[match[2].lower() == "off"] + "abl" + (match[1] or "e"),
        ),
        (
            r"\b(?:about|around|approximately|roughly|approx\.?|circa|ca\.?|some) "
            rf"(?=\d|(?:{_NUMBERS})\b)|[~≈Øø] ?(?=\d)",
            "",
        ),
        (rf"\b({_NUMBERS})-(?=[a-z])", r"\1 "),
        (r"\bused to be\b", "formerly was"),
        (r"(?<![\d:.-])(\d{1,2})(?:[:.]([0-5]\d))? ?([ap])\.?m\b\.?", _clock),
        (r"(?<![\w:.+-])(\d{1,2}):([0-5]\d)()(?![\w:.]|-\d)", _clock),
        (
            r"\b([a-zμ]{1,12}) per (minute|second|hour|day|litre|l|min|s|h)\b",
            lambda match: (
                f"{match[1]}/{match[2]}" if unit_of(f"{match[1]}/{match[2]}") else match[0]
            ),
        ),
        (
            r"\b(kilo|mega|)watt[ -]hours?\b",
            lambda match: {"k": "k", "m": "M"}.get(match[1][:1].lower(), "") + "Wh",
        ),
        (r"(?<=\d )newton[ -]?met(?:re|er)s?\b", "Nm"),
        (r" ?(?:->|=>|→|⇒) ?", ", "),
        (r"\$\{?HOME\}?(?=/)", "~"),
        (r"\bdB ?\(([AC])\)", r"dB\1"),
        (
            r"(?:(?<!\d )\b(?:a )?min(?:imum)?(?: of)?|\bnot? (?:less|fewer|lower) "
            r"than|≥|>=) ?(?=\d)"
            r"|\bat least\b",
            "atleast ",
        ),
        (
            r"(?:\b(?:a )?max(?:imum)?(?: of)?|\bnot? (?:more|longer|higher) than|\bup "
            r"to|≤|<=) ?(?=\d)"
            r"|\bat most\b|\bnot exceed(?:ing)?\b",
            "atmost ",
        ),
        (
            r"\b(\d[\d.,]{0,15}(?: ?[a-zA-Z%°]{1,15})?) (?:or|and) "
            r"(?:more|above|higher|longer|newer|later)\b",
            r"atleast \1",
        ),
        (
            r"\b(\d[\d.,]{0,15}(?: ?[a-zA-Z%°]{1,15})?) (?:or|and) (?:less|fewer|below|lower)\b",
            r"atmost \1",
        ),
        (r"\b(?:more|higher|greater|larger|longer) than (?=\d)|\bover (?=\d)|> ?(?=\d)", "above "),
        (r"\b(?:less|lower|fewer|smaller|shorter) than (?=\d)|\bunder (?=\d)|< ?(?=\d)", "below "),
    )
)


def unified(text: str) -> str:
    """Return `text` folded, without inline markup, with ranges and bounds in one spelling."""
    text = folded(_TAG.sub(" ", _LINK.sub(r"\1", _FENCE.sub("", text[:MOST_READ]))))
    text = _EMPHASIS.sub(r"\2", text)
    for pattern, spelling in _SPELLINGS:
        text = pattern.sub(spelling, text)
    return _RANGE.sub(_one_range, text)


# "-20 to 60 °C" as "-20 °C rangeto 60 °C"
def _one_range(match: re.Match) -> str:
    low, unit, high, other = match.group("low", "unit", "high", "other")
    is_between = (match["between"] or "").lower().startswith("between")
    is_unit = other is not None and unit_of(other) is not None
    is_month = re.fullmatch(r"(?:19|20)\d\d-\d\d", match[0].strip())
    if bool(match["and"]) != is_between or unit and not (is_unit and unit_of(unit)) or is_month:
        return match[0]
    low, high = (re.sub(r"(?<=\d)\.0+$", "", end) for end in (low, high))
    tail = f" {other}" if is_unit else ""
    return f"{low} {unit or other if is_unit else ''} rangeto {high}{tail or ' ' + (other or '')}"


def readings(answer: str) -> Iterator[list[str]]:
    """Yield the lines that may be the answer: those of a table, of each of its columns."""
    text = _CLOSING.sub("", _COURTESY.sub("", answer[:MOST_READ].strip())).strip()
    lines = [line.strip() for line in unified(text).splitlines()]
    rows = table_of(lines)
    if rows:
        yield [" | ".join(row) for row in rows[1]]
        turned = zip(*filter(None, (rows[0], *rows[1])), strict=False)
        yield [" | ".join(column) for column in turned]
        has_no = re.search(r"\b(?:no|not|none|false|never)\b", " ".join(lines), re.I)
        for column in zip(*rows[1], strict=False) if len(rows[1]) > 1 and not has_no else ():
            yield list(column)
        return
    kept: list[str] = []
    for place, line in enumerate(lines):
        if place and _NEW_TOPIC.match(line):
            break
        pieces = _IN_LINE.split(line) if re.match(r"\(?1[.)] ", line) else [line]
        kept += [_MARKER.sub("", piece.lstrip("# ")) for piece in pieces if piece]
    yield kept


def table_of(lines: list[str]) -> tuple[list[str], list[list[str]]] | None:
    """Return header (may be empty) and rows of lines that are a table, with bars or commas."""
    lines = [line.strip() for line in lines if line.strip()]
    for mark in ("|", "\t", ","):
        rows = [line for line in lines if not (mark == "|" and _BAR.match(line))]
        widths = {row.strip("|").count(mark) for row in rows}
        if (
            len(rows) > 1 - (mark == "|")
            and len(widths) == 1
            and (widths != {0} or mark == "|" and all(row.startswith("|") for row in rows))
        ):
            bare = (row.removeprefix("|").removesuffix("|") for row in rows)
            cells = [[cell.strip() for cell in row.split(mark)] for row in bare]
            has_rule = mark == "|" and len(lines) > 1 and bool(_BAR.match(lines[1]))
            return _headed(cells, has_rule=has_rule, is_comma=mark == ",")
    return None


# The first row is a header if a rule is below it, or if it alone has no figure in some column
def _headed(
    cells: list[list[str]], *, has_rule: bool, is_comma: bool
) -> tuple[list[str], list[list[str]]] | None:
    def has_digit(cell: str) -> bool:
        return bool(re.search(r"\d", cell))

    is_apart = len(cells) > 1 and any(
        all(map(has_digit, column[1:])) and not has_digit(column[0])
        for column in zip(*cells, strict=False)
    )
    if is_comma and any(len(cell.split()) > 6 for row in cells for cell in row):
        return None  # sentences with commas
    return (cells[0], cells[1:]) if has_rule or is_apart else ([], cells)
