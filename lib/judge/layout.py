"""The layouts of an answer as plain lines: markers, tables, code, ranges and codes unified."""

import re
from collections.abc import Iterator
from itertools import takewhile

from lib.judge.words.wording import NEGATIONS, Question

MOST_READ = 20_000  # characters of an answer; the value is not further down
_MARKER = re.compile(r"^\s*(?:[-*+•‣·]|\(?\d{1,3}[.)]|\(?[a-z]\)|step \d{1,3}[.:])"
                     r"\s+(?:\[[ x]\]\s+)?", re.I)  # "- Linux", "2) Linux", "Step 2: Linux"
_INLINE_MARKER = re.compile(r"(?:^|(?<=[.;,:]))\s?\(\d{1,3}\) (?=\S)", re.M)  # "…; (2) Linux"
_NEW_TOPIC = re.compile(  # "Question: …", "# Ports", "What else?"
    r"\s*(?:#|(?:question|answer|note|source|q|a)\s*:)|.*\?\s*$", re.I)

_JOINT = re.compile(r"(?<=[A-Za-z])[ -](?=[A-Za-z])")
_GREETING = re.compile(
    r"\A(?:\s*(?:(?:(?:happy|glad|pleased) to help|thanks|thank you|(?:good|great) question)\b"
    r"[^.!:\n]{0,60}[.!:\n]+|(?:sure|of course|certainly|absolutely|hello|hi)(?: there| thing)?"
    r"[!,.])\s*)+", re.I)
_CLOSING = re.compile(
    r"(?<=[.!?\n]) ?(?:please )?(?:let me know|feel free|i hope|hope (?:this|that|it)|is there "
    r"anything|anything else|don't hesitate|if you (?:need|have|want))[^\n\d]{0,120}\s*\Z", re.I)
def joined(text: str, names: list[str], *, has_names: bool) -> str:
    """Return `text` with compounds as in `names`: "read only", "Modbus-RTU".

    With `has_names` also persons: "Halvorsen, Ines" as "Ines Halvorsen".
    """
    for name in names[:50]:
        words = name.split()
        if 1 < len(words) < 4 and has_names and name.istitle():
            last_first = f"{words[-1]}, {' '.join(words[:-1])}"
            text = re.sub(rf"(?<!\w){re.escape(last_first)}(?!\w)", name, text, flags=re.I)
        if len(words) < 7 and "/" not in name and _JOINT.search(name):
            spelled = _JOINT.sub("[ -]?", re.escape(name).replace(r"\ ", " ").replace(r"\-", "-"))
            text = re.sub(rf"(?<![\w.-]){spelled}(?![\w-])", lambda _, name=name: name, text,
                          flags=re.I)
    return text


def without_courtesy(text: str) -> str:
    """Return `text` without "Happy to help!" before it and "Let me know …" after it."""
    return _CLOSING.sub("", _GREETING.sub("", text)) or text


def paragraphs(answer: str) -> list[list[str]]:
    """Return the lines that may be the answer: its first paragraph, then all without blank lines.

    A line that ends with a colon belongs to the next paragraph. A new topic ends both.
    """
    if "1) " in answer and "2) " in answer:
        answer = re.sub(r"(?<=[^\n\s]) +\(?\d{1,2}\) (?=\S)", "; ", answer)
    if answer.startswith("1. ") and " 2. " in answer:
        answer = re.sub(r"(?<=[^\n\s]) +\d{1,2}\. (?=\S)", "; ", answer)
    text = _INLINE_MARKER.sub(r" ;; ", answer).strip()
    lines = [line.strip() for line in text.splitlines()]
    lines = [line.lstrip("# ") if place == 0 else line for place, line in enumerate(lines)]
    whole = lines[:1] + list(takewhile(lambda line: not _NEW_TOPIC.match(line), lines[1:]))
    first: list[str] = []
    for line in whole:
        if line or (first and first[-1].endswith(":")):
            first += [line] if line else []
        elif first:
            break
    everything = [line for line in whole if line]
    return [first] if first == everything else [first, everything]


def plain(line: str) -> str:
    """Return a line without the marker of a list item."""
    return _MARKER.sub("", line)


def is_row(line: str) -> bool:
    """Return whether a line is a row of a Markdown table."""
    return line.startswith("|") or " | " in line or line.endswith(" |")


# Whether a line is the rule below a table's header: "|---|:--|"
def _is_rule(line: str) -> bool:
    return "-" in line and not line.strip("|:+- ")


def table_in(lines: list[str]) -> tuple[list[str], list[str], list[list[str]]]:
    """Return the lines before a table, its header, if a rule is below it, and its other rows."""
    before = list(takewhile(lambda line: not is_row(line), lines))
    rows = list(takewhile(lambda line: is_row(line) or _is_rule(line), lines[len(before):]))
    has_header = len(rows) > 1 and _is_rule(rows[1])
    cells = [[cell.strip() for cell in re.sub(r"^\||\|$", "", row.strip()).split("|")]
             for row in rows if not _is_rule(row)]
    return before, cells[0] if has_header and cells else [], cells[1:] if has_header else cells


def from_table(lines: list[str], question: Question) -> list[str]:
    """Return `lines` with the rows of a table as "label: value", or the cell that is asked for.

    That is the only cell whose label or header the question does not name but asks for.
    """
    before, header, rows = table_in(lines)
    own = [row for row in rows if any(_is_named(cell, question) for cell in row)]
    chosen = own if len(own) == 1 else rows
    return before + [_value_of(row, header, question) for row in chosen]


def _value_of(row: list[str], header: list[str], question: Question) -> str:
    others = [place for place, cell in enumerate(row) if cell and not _is_named(cell, question)]
    short = [place for place in others  # not a description
             if len(row[place].split()) <= 2 and not row[place].endswith(".")]
    asked = [place for place in others if place < len(header)
             and _is_named(header[place], question)]
    for places in (others, asked, short):
        if len(places) == 1 and len(row) > len(others):
            return row[places[0]]
    return ": ".join(filter(None, row))


def _is_named(cell: str, question: Question) -> bool:
    words = [token for token in question.read(cell) if token.is_solid]
    return bool(words) and all(map(question.allows, words)) and any(
        token.word in question.words for token in words)


def columns(lines: list[str]) -> Iterator[list[str]]:
    """Yield the readings of a table as a list: its rows, each column, and the cells of its row."""
    before, _, rows = table_in(lines)
    yield before + ["- " + ": ".join(filter(None, row)) for row in rows]
    first_words = {cell.casefold().split()[0] for row in rows for cell in row
                   if 0 < len(cell.split()) <= 3}
    if first_words & NEGATIONS:  # "| QNX | not supported |"
        return
    for place in range(min(8, max(map(len, rows))) if len(rows) > 1 else 0):
        yield before + [f"- {row[place]}" for row in rows if place < len(row) and row[place]]
