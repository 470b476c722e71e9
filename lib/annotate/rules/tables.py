"""Ask about table cells, by the row's label and the column's header (paper, 3.1)."""

import re
from collections import Counter
from collections.abc import Iterator

from lib.annotate.constraints import Candidate
from lib.annotate.rules.grammar import has_clause, is_noun_phrase
from lib.annotate.rules.labels import (
    ROLE,
    is_attribute,
    is_guessed,
    is_made_of,
    is_plain_attribute,
    value_of,
)
from lib.annotate.rules.places import Place, Site
from lib.core.text import is_plural
from lib.documents.reader import Span

NO_KEY = "the rows of the table have no labels that tell them apart"
NO_COLUMN = "no column of the table is an attribute with plain values"

MAX_DESCRIPTION_WORDS = 20
MAX_KEY = 3  # columns that together name a row

# the headers of a table that lists one thing's properties: property, value and perhaps unit
_PROPERTY = re.compile(r"(?:property|parameter|aspect|attribute|setting|item|characteristic|"
                       r"specification|feature|quantity|spec|)s?(?: name)?", re.I)
_VALUE = re.compile(r"(?:value|entry|setting|specification|data|content|)s?|entries", re.I)
_UNIT = re.compile(r"units?", re.I)
_DESCRIPTION = re.compile(r"(?:short )?descriptions?|details?|meanings?|purposes?|explanations?|"
                          r"effects?|what it does|summary", re.I)
_NO_COLUMN = re.compile(
    r"(?:descriptions?|details?|values?|units?|notes?|comments?|remarks?|examples?|)", re.I)
# "Version" of an option is since when it exists: only these have one of their own
_AMBIGUOUS = re.compile(r"versions?|releases?|dates?|since", re.I)
_VERSIONED = re.compile(r"(?:.* )?(?:package|component|library|dependency|tool|software|product|"
                        r"plugin|project|image|chart|application|version|release|branch)", re.I)
_COLUMN = re.compile(  # headers of an attribute, not of a thing
    r"(?:descriptions?|details?|values?|units?|defaults?|default values?|notes?|remarks?|comments?|"
    r"required|mandatory|optional|min|max|typ|nom|minimum|maximum|typical|)\.?", re.I)
_HEADER = re.compile(rf"{_COLUMN.pattern}|(?:data )?types?|examples?|maps to .*", re.I)
_EXTREMES = {"min": "minimum", "max": "maximum", "typ": "typical value", "nom": "nominal value",
             "minimum": "minimum", "maximum": "maximum", "typical": "typical value"}
_DEFAULT = re.compile(r"\(?default(?:s|s? values?| settings?)?\)?|value by default", re.I)
_YES_NO = re.compile(r"(?:yes|no|true|false|y|n|x|on|off|required|optional|enabled|disabled)", re.I)
_NUMBER = re.compile(r"[~<>≤≥±+-]{0,2}\d[\d.,]*\s?[\w%°/µ]{0,6}")
_BREAK = re.compile(r"<\s*/?\s*(?:br|li|p|ul|ol)\b", re.I)
_REFERS = re.compile(r"\b(?:this|these|those|it|its|above|below|following|see|here|deprecated|"
                     r"optional|required|alias)\b|[\"“”?!:]|[.;]\s", re.I)
_EXAMPLE = re.compile(r"\b(?:examples?|placeholder|lorem)\b", re.I)
_ONLY_LINKS = re.compile(
    r"(?:(?:\[?!\[[^\]]*\]\([^)]*\)(?:\]\([^)]*\))?|\[[^\]]*\]\([^)]*\)|<?https?://\S+>?)"
    r"[\s,;]*)+")


def ask_table(site: Site) -> Iterator[Candidate | str]:
    """Yield questions about cells, or why there is none.

    Of a label in two tables the section is always named; one that is in two tables of a section is
    not asked about.
    """
    block, place, text = site.block, site.place, site.text
    rows, header = [row for row in block.rows if len(row) > 1], block.header
    if rows and not any(cell.text for cell in header) and all(
            _HEADER.fullmatch(cell.text) for cell in rows[0][1:]):
        header, *rows = rows  # an HTML table without header cells
    headers = [" ".join(cell.text.replace("; ", " ").split()) for cell in header]
    width = _key_width(rows, headers)
    if not width or re.search(r"\w *[/\\] *\w", headers[0]):  # "From/To": it is open which is which
        yield NO_KEY
        return
    counts = Counter(row[0].text for row in rows)
    asked: list[_Asked] = []
    if width == 1:
        rows = [row for row in rows if counts[row[0].text] == 1]
        asked = [*_of_record(rows, headers, place, text), *_of_things(rows, headers, place, text)]
    asked = asked or [*_of_columns(rows, headers, width, place, text),
                      *_of_descriptions(rows, headers, place, text)]
    shown = text[header[0].start:header[-1].end]
    for row, forms, answer, rank in asked:
        counted = [site.labels[where, row[0].text] for where in ((), block.headings)]
        if width == 1 and block.headings and counted[1] > 1:
            continue
        forms = forms[-1:] if counted[0] > 1 else forms
        yield Candidate(forms, answer, "table", row[0].start, row[-1].end, rank, header=shown)
    if not asked:
        yield NO_COLUMN


# a row, the question's forms, the answer and its rank
_Asked = tuple[tuple[Span, ...], tuple[str, ...], str, int]
_Rows = list[tuple[Span, ...]]


def _of_record(rows: _Rows, headers: list[str], place: Place, text: str) -> Iterator[_Asked]:
    has_unit = len(headers) == 3 and _UNIT.fullmatch(headers[2])
    is_record = _PROPERTY.fullmatch(headers[0]) and len(headers) > 1 and (
        _VALUE.fullmatch(headers[1]) or headers[0].lower() != "parameter"
        and _DESCRIPTION.fullmatch(headers[1]))
    if not is_record or place.is_vague or not (has_unit or len(headers) == 2):
        return
    for row in rows:
        label, value = place.subject.label(row[0].text), _value(row[1], text)
        if value and is_attribute(label) and value != row[0].text:
            unit = f" {row[2].text}" if has_unit and len(row) > 2 and row[2].text else ""
            verb, label = _counted(label, value)
            forms = place.attribute(label, verb)
            if not place.is_entity or place.section:
                forms = place.within(f'what is the "{row[0].text}" entry?')[-1:]
            yield row, forms, value + unit, 0


# One column does if it is unique in most rows: the others are not asked about
def _key_width(rows: _Rows, headers: list[str]) -> int:
    for width in range(1, min(MAX_KEY, len(headers) - 1) + 1):
        keys = Counter(tuple(cell.text for cell in row[:width]) for row in rows)
        n_unique = sum(count == 1 for count in keys.values())
        is_unique = 2 * n_unique >= len(rows) if width == 1 else n_unique == len(rows)
        if rows and is_unique and all(all(key) and len(key) == width for key in keys) and (
                width == 1 or all(headers[:width])):
            return width
    return 0


def _of_things(rows: _Rows, headers: list[str], place: Place, text: str) -> Iterator[_Asked]:
    is_open = not headers[0] or _PROPERTY.fullmatch(headers[0])
    if not is_open or len(headers) < 3 or len(set(headers)) < len(headers) or any(
            map(_COLUMN.fullmatch, headers[1:])) or all(
            is_attribute(place.subject.label(header)) for header in headers[1:]):
        return
    for row in rows:
        for header, cell in zip(headers[1:], row[1:], strict=False):
            value = _value(cell, text)
            if value and _is_name(header) and _is_name(row[0].text) and not (
                    _YES_NO.fullmatch(value)):
                core = f'what {_asked_for(row[0].text, place)} "{header}"?'
                yield row, place.within(core)[-1:], value, 0


def _of_columns(rows: _Rows, headers: list[str], width: int, place: Place,
                text: str) -> Iterator[_Asked]:
    counts = Counter(headers)
    unit_at = next((at for at, header in enumerate(headers) if _UNIT.fullmatch(header)), 0)
    for at, header in enumerate(headers[width:], start=width):
        label = _EXTREMES.get(header.lower().rstrip("."), place.subject.label(header))
        cells = [(row, row[at]) for row in rows if at < len(row)]
        is_default = _DEFAULT.fullmatch(header) is not None
        is_bare = all(_YES_NO.fullmatch(cell.text) or not cell.text for _, cell in cells)
        is_open = _NO_COLUMN.fullmatch(header) or _AMBIGUOUS.fullmatch(header) and not (
            _VERSIONED.fullmatch(_key(headers[0], place)))
        is_said = label.lower() in _key(headers[0], place).lower()  # "the code of the error code"
        is_sum = width > 1 and re.search(r"\btotal\b", header, re.I)  # follows from the key
        if counts[header] > 1 or is_bare and not is_default or is_open or is_said or is_sum or not (
                is_default or _is_name(header)):
            continue
        values = Counter(cell.text for _, cell in cells)
        if len(values) == 1 and len(cells) > 1 and not is_default:
            continue  # it says nothing of the row
        for row, cell in cells:
            value = _value(cell, text)
            which = (_which(row[0].text, headers[0], place) if width == 1 else
                     _which_of(row[:width], headers, place))
            keys = [key.text for key in row[:width]]
            if not value or not which or value in keys or is_made_of(value, header, *keys):
                continue
            what = "is the default value of" if is_default else _asked_for(header, place, width)
            if unit_at and unit_at < len(row) and _NUMBER.fullmatch(value):
                which += f", in {row[unit_at].text}" if row[unit_at].text else ""
            is_guessable = 2 * values[cell.text] > len(cells) > 2
            forms = place.within(f"what {what} {which}?")
            # a default is the option's wherever it is listed, if its name is a full one
            is_full = is_default and re.search(r"[._\[-]|[a-z][A-Z]|\d", row[0].text) is not None
            # of an everyday word nothing says what kind of thing it names
            is_word = not _key(headers[0], place) and re.fullmatch(r"[a-z]+", row[0].text)
            yield row, forms if is_full else forms[-1:], value, (
                2 if is_guessable or is_word else int(_YES_NO.fullmatch(value) is not None))


# of most headers "the … of X" would be no English
def _asked_for(header: str, place: Place, width: int = 1) -> str:
    label = _EXTREMES.get(header.lower().rstrip("."), place.subject.label(header))
    is_plain = width == 1 and (label in _EXTREMES.values() or is_plain_attribute(label))
    return f"is the {label} of" if is_plain else f'is the "{header}" entry for'


# How a question names a row by several cells: number of keys "100" and size "8"
def _which_of(keys: tuple[Span, ...], headers: list[str], place: Place) -> str:
    named = [f'{place.subject.label(header)} "{cell.text}"'
             for header, cell in zip(headers, keys, strict=False)]
    is_short = all(len(cell.text.split()) <= 6 and '"' not in cell.text for cell in keys)
    return f"{', '.join(named[:-1])} and {named[-1]}" if is_short else ""


def _of_descriptions(rows: _Rows, headers: list[str], place: Place,
                     text: str) -> Iterator[_Asked]:
    at = next((at for at, header in enumerate(headers) if at and _DESCRIPTION.fullmatch(header)), 0)
    is_setting = headers[0].lower() == "name" and any(map(_DEFAULT.fullmatch, headers))
    key = "setting" if is_setting else _key(headers[0], place)
    if not at or not key:
        return
    said = [row[at].text.lower() for row in rows if at < len(row)]
    for row in rows:
        name = row[0].text
        described = row[at].text.rstrip(". ") if at < len(row) else ""
        described = re.split(r"(?<=\w\w)\.\s+(?=[A-Z])", described, maxsplit=1)[0]
        is_plain = 4 <= len(described.split()) <= MAX_DESCRIPTION_WORDS and not (
            _REFERS.search(described) or _BREAK.search(text, row[at].start, row[at].end))
        is_unique = sum(one.startswith(described.lower()) for one in said) == 1
        if is_plain and is_unique and _value(row[0], text) and not is_guessed(name, described):
            yield row, place.within(f'which {key} is described as "{described}"?'), name, 2


# "Users: 10" gives a number, not the users
def _counted(label: str, value: str) -> tuple[str, str]:
    if is_plural(label) and _NUMBER.fullmatch(value):
        return "is", f"number of {label}"
    return ("are" if is_plural(label) else "is"), label


def _key(header: str, place: Place) -> str:
    key = re.sub(r"^.* / | name$", "", place.subject.label(header))
    is_noun = re.fullmatch(r"[^/\\]*[a-z][^/\\]*", key, re.I) and is_noun_phrase(key) and (
        not has_clause(key))
    is_one = key != "name" and not is_plural(key) and len(key.split()) < 4
    return key if is_noun and is_one else ""


def _which(name: str, header: str, place: Place) -> str:
    key = _key(header, place)
    is_name = _is_name(name)
    if not key and re.fullmatch(r"\W*\d*\W*", name):
        return ""
    return (f'the {key} "{name}"' if key else f'"{name}"') if is_name else ""


def _is_name(text: str) -> bool:
    is_name = re.fullmatch(r'[^\W_][^";]*[^";.]|[^\s";][^\s";]*|[^\W_]', text) is not None
    return is_name and len(text.split()) <= 6 and not re.search(r"\(\d\)$", text)  # of a note


def _value(cell: Span, text: str) -> str:
    raw = text[cell.start:cell.end]
    value = "" if _BREAK.search(raw) or _ONLY_LINKS.fullmatch(raw.strip()) else value_of(cell.text)
    is_no_fact = _EXAMPLE.search(value) or ROLE.search(raw) or " " in value and has_clause(value)
    return "" if is_no_fact else value
