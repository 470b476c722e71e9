"""Ask about table cells, by the row's label and the column's header (paper, 3.1)."""

import re
from collections import Counter
from collections.abc import Iterator

from lib.annotate.constraints import Candidate
from lib.core.text import is_plural
from lib.documents.blocks import Block, Span
from lib.documents.subject import Subject

# the headers of a table that lists one thing's properties: property, value and perhaps unit
_RECORD_HEADERS = tuple(re.compile(pattern, re.I) for pattern in (
    r"(?:property|parameter|aspect|attribute|setting|item|field|characteristic|specification|"
    r"feature|option|key|name|quantity|spec|)s?(?: name)?",
    r"(?:value|entry|entries|description|detail|setting|specification|data|content|)s?",
    r"units?"))
_REMARK = re.compile(  # no header counts as one
    r"|(?:description|note|remark|comment|detail|explanation|link)s?", re.I)
_BAD_START = re.compile(
    r"\W|\d|(?:all|any|each|every|is|are|has|can|supports|uses|requires|how|what|when|if|in|on|for|"
    r"with|to|by|of|this|these|no)\b", re.I)
_BAD_END = re.compile(r"\b(?:in|on|for|with|to|by|of|from|as|at|and|or)\W*$|[?=]", re.I)
_ONLY_LINKS = re.compile(
    r"(?:\s*(?:\[?!\[[^\]]*\]\([^)]*\)(?:\]\([^)]*\))?|\[[^\]]*\]\([^)]*\)|<?https?://\S+>?)"
    r"[\s,;]*)+")
_NO_VALUE = re.compile(r"(?:[-–—?./*+ ]|n/?a|none|tbd|todo|unknown|see .*)*", re.I)


def ask_table(block: Block, about: Subject, text: str) -> Iterator[Candidate]:
    """Yield questions about cells that have a value, and a unique header and row label."""
    labels = Counter(row[0].text for row in block.rows if row)
    headers = Counter(cell.text for cell in block.header)
    is_record = 2 <= len(block.header) <= 3 and all(
        kind.fullmatch(cell.text)
        for kind, cell in zip(_RECORD_HEADERS, block.header, strict=False))
    for row in block.rows:
        if len(row) < 2 or not row[0].text or labels[row[0].text] > 1:
            continue
        if is_record:
            if _has_value(row[1], text):
                value = " ".join(cell.text for cell in row[1:])
                yield _candidate(_of_record(row[0].text, about), value, row)
            continue
        for header, cell in zip(block.header[1:], row[1:], strict=False):
            is_clear = headers[header.text] == 1 and not _REMARK.fullmatch(header.text)
            if is_clear and _has_value(cell, text):
                asked = _of_cell(block.header[0].text, row[0].text, header.text, about)
                yield _candidate(asked, cell.text, row)


def is_noun(label: str) -> bool:
    """Return whether "the <label>" reads as English: no number first, no preposition at an end."""
    return not _BAD_START.match(label) and not _BAD_END.search(label)


def _candidate(asked: tuple[str, str], answer: str, row: tuple[Span, ...]) -> Candidate:
    answer = answer.replace(":; ", ": ").strip()  # a list inside a cell
    return Candidate(asked[0], answer, "tabular", row[0].start, row[-1].end, asked[1])


def _has_value(cell: Span, text: str) -> bool:
    is_link = _ONLY_LINKS.fullmatch(text, cell.start, cell.end)
    return bool(cell.text) and not _NO_VALUE.fullmatch(cell.text) and not is_link


def _of_record(label: str, about: Subject) -> tuple[str, str]:
    named = about.label(label)
    if is_noun(named):
        return about.attribute(named, "are" if is_plural(named) else "is")
    place = f"{about.name}, {about.topic}" if about.topic else about.name
    return (f'What is given as "{label}" for {place}?',) * 2


def _of_cell(key: str, row: str, column: str, about: Subject) -> tuple[str, str]:
    named, key = about.label(column), about.label(key)
    what = f'is the value of "{column}"'
    if is_noun(named):
        what = f"{'are' if is_plural(named) else 'is'} the {named}"
    whom = f'the {key} "{row}"' if key and is_noun(key) else f'"{row}"'
    return about.within(f"what {what} for {whom}?")
