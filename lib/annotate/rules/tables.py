"""Questions on table cells, from the row's label and the column's header (paper, 3.1)."""

import re
from collections import Counter
from collections.abc import Iterator

from lib.annotate.constraints import Candidate
from lib.core.text import is_plural
from lib.documents.blocks import Block, Span
from lib.documents.subject import Scope

_PROPERTY = re.compile(r"(?:property|parameter|aspect|attribute|setting|item|field|characteristic|specification|"
                       r"feature|option|key|name|quantity|spec|)s?(?: name)?", re.I)
_VALUE = re.compile(r"(?:value|entry|entries|description|detail|setting|specification|data|content|)s?", re.I)
_UNIT = re.compile(r"units?", re.I)
_REMARK = re.compile(r"|(?:description|note|remark|comment|detail|explanation|link)s?", re.I)  # or no header at all
_NO_NOUN_START = re.compile(r"\W|\d|(?:all|any|each|every|is|are|has|can|supports|uses|requires|how|what|when|if|in|"
                            r"on|for|with|to|by|of|this|these|no)\b", re.I)
_NO_NOUN_END = re.compile(r"\b(?:in|on|for|with|to|by|of|from|as|at|and|or)\W*$|[?=]", re.I)
_ONLY_LINKS = re.compile(r"(?:\s*(?:\[?!\[[^\]]*\]\([^)]*\)(?:\]\([^)]*\))?|\[[^\]]*\]\([^)]*\)|"
                         r"<?https?://\S+>?)[\s,;]*)+")
_NO_VALUE = re.compile(r"(?:[-–—?./*+ ]|n/?a|none|tbd|todo|unknown|see .*)*", re.I)


def ask_table(block: Block, scope: Scope, text: str) -> Iterator[Candidate]:
    """Questions on the cells of `block`; a cell without a value, a header or a row label of its own is passed over."""
    labels = Counter(row[0].text for row in block.rows if row)
    headers = Counter(cell.text for cell in block.header)
    is_record = 2 <= len(block.header) <= 3 and all(
        kind.fullmatch(cell.text) for kind, cell in zip((_PROPERTY, _VALUE, _UNIT), block.header, strict=False))
    for row in block.rows:
        if len(row) < 2 or not row[0].text or labels[row[0].text] > 1:
            continue
        if is_record and _has_value(row[1], text):
            yield _candidate(_of_record(row[0].text, scope), " ".join(cell.text for cell in row[1:]), row)
        for header, cell in () if is_record else zip(block.header[1:], row[1:], strict=False):
            if _has_value(cell, text) and headers[header.text] == 1 and not _REMARK.fullmatch(header.text):
                yield _candidate(_of_cell(block.header[0].text, row[0].text, header.text, scope), cell.text, row)


def _candidate(asked: tuple[str, str], answer: str, row: tuple[Span, ...]) -> Candidate:
    answer = answer.replace(":; ", ": ").strip()  # a list inside a cell
    return Candidate(asked[0], answer, "tabular", row[0].start, row[-1].end, asked[1])


def _has_value(cell: Span, text: str) -> bool:
    raw = text[cell.start:cell.end]
    return bool(cell.text) and not _NO_VALUE.fullmatch(cell.text) and not _ONLY_LINKS.fullmatch(raw)


def _of_record(label: str, scope: Scope) -> tuple[str, str]:
    named = scope.label(label)
    if is_noun(named):
        return scope.attribute(named, "are" if is_plural(named) else "is")
    asked = f'{scope.subject}{f", {scope.topic}" if scope.topic else ""}'
    asked = f'What is given as "{label}" for {asked}?'
    return asked, asked


def _of_cell(key: str, row: str, column: str, scope: Scope) -> tuple[str, str]:
    named, key = scope.label(column), scope.label(key)
    what = f"{'are' if is_plural(named) else 'is'} the {named}" if is_noun(named) else f'is the value of "{column}"'
    whom = f'the {key} "{row}"' if key and is_noun(key) else f'"{row}"'
    return scope.within(f"what {what} for {whom}?")


def is_noun(label: str) -> bool:
    """Whether "the <label>" reads as English: no number in front, no verb or preposition at either end."""
    return not _NO_NOUN_START.match(label) and not _NO_NOUN_END.search(label)
