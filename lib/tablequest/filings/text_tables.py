"""Read reports in plain text, as before 2001: tables set with spaces, rules and leaders of dots."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from lxml.html import Element

from lib.tablequest.filings.blocks import Look, PageBlock, level_of
from lib.tablequest.grids.cells import PlacedCell, PlacedRow, joined
from lib.tablequest.grids.values import is_number, is_year

_SPAN = re.compile(r"\S+(?: \S+)*")  # words one space apart
_LEADER = re.compile(r"(?:\s?\.){3,}|\s?_{3,}(?=\s)|\s\.\.(?=\s)")
# What marks pages and tables; <S> and <C> stand where columns begin, below the headers.
_TAG = re.compile(r"</?(?:TABLE|CAPTION|S|C|FN|PAGE|B|I|U|P|F\d+)>", re.I)
_VALUE = re.compile(r"(?:[$€£] ?)?\(?(?:[$€£] ?)?\d[\d,.]*\)?%?\)?(?: |$)|--+(?: |$)")
_PAGE = re.compile(r"<PAGE>|\f", re.I)
_MOST_HEADERS, _MOST_BETWEEN = 12, 6  # lines above the first number and between two numbers
_MOST_WIDE = 400  # characters; a longer line was not set for a page
_POINTS = 6.0  # per space of indent


class _Piece(NamedTuple):
    """Words of a line and the characters that they cover."""

    start: int
    end: int
    text: str


def text_blocks(text: str) -> Iterator[PageBlock]:
    """Yield the headings, paragraphs, tables and page ends of a plain text, in order."""
    for number, page in enumerate(_PAGE.split(text.expandtabs())):
        if number:
            yield PageBlock("page-end")
        # A tag is replaced by spaces, so that what follows it stays in its column.
        lines = [_TAG.sub(lambda tag: " " * len(tag[0]), line).rstrip() for line in
                 page.splitlines()]
        done = 0
        for start, end in _tables(lines):
            yield from _paragraphs(lines[done:start])
            yield PageBlock("table", rows=tuple(read_lines(lines[start:end])))
            done = end
        yield from _paragraphs(lines[done:])


def _paragraphs(lines: list[str]) -> Iterator[PageBlock]:
    """Yield the texts between blank lines; a line in capitals, or "Item 7.", is a heading."""
    apart = ["\n".join(("", line, "")) if line.isupper() and _is_title(line)
             else "" if _is_rule(line) else line for line in lines]
    for part in re.split(r"\n\s*\n", "\n".join(apart)):
        words = " ".join(part.split())
        look = Look(bold=True, centred=_indent(part.strip("\n")) > 15)
        level = level_of(words, [look]) if part.strip().count("\n") < 2 else ()
        if level and level[0] == 3 and not words.isupper():
            level = ()  # only capitals, "Item 7." and "Note 3" tell a heading in plain text
        if words:
            yield PageBlock("heading" if level else "paragraph", words, level)


def _is_title(line: str) -> bool:
    """Return whether a line is the title of a part, an item, a note or a statement."""
    level = level_of(" ".join(line.split()), [Look(bold=True)])
    return bool(level) and level[0] < 3


def _tables(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the first line and the line after the last of each table.

    A table is two or more lines that end in a number apart from words, close together, with the
    headers above them. Prose, which fills its line with words one space apart, ends it.
    """
    numeric = [index for index, line in enumerate(lines) if _has_values(line)]
    groups: list[list[int]] = []
    for index in numeric:
        between = lines[groups[-1][-1] + 1:index] if groups else []
        if groups and len(between) <= _MOST_BETWEEN and not any(map(_is_prose, between)):
            groups[-1].append(index)
        else:
            groups.append([index])
    done = 0
    for group in (group for group in groups if len(group) > 1):
        first = group[0]
        while first > max(done, group[0] - _MOST_HEADERS) and _heads(lines, first - 1):
            first -= 1
        end = group[-1] + 1
        yield first, end
        done = end


def _has_values(line: str) -> bool:
    """Return whether a line ends with a number that a gap sets apart; a page's does not count."""
    pieces = _pieces(line)
    return len(pieces) > 1 and is_number(pieces[-1].text)


def _is_rule(line: str) -> bool:
    """Return whether a line only draws lines, as above a sum: "-----   -----"."""
    return not line.strip(" -=_|") and any(mark in line for mark in ("--", "==", "__"))


def _is_prose(line: str) -> bool:
    if len(line) > _MOST_WIDE:
        return True
    pieces = _pieces(line)
    return len(line.split()) > 7 and max((len(piece.text) for piece in pieces), default=0) > 55


def _heads(lines: list[str], index: int) -> bool:
    """Return whether a line above a table belongs to it: columns, a rule, or a centred line."""
    line = lines[index]
    if not line.strip():
        return index > 0 and bool(lines[index - 1].strip()) and _heads(lines, index - 1)
    if _is_rule(line):
        return True
    is_short = len(line.split()) < 12 and not line.rstrip().endswith(".")
    if _is_title(line):
        return False
    return not _is_prose(line) and (len(_pieces(line)) > 1 or _indent(line) > 15 and is_short)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _pieces(line: str) -> list[_Piece]:
    """Cut a line where two spaces or a leader are, and numbers also where one space is."""
    if len(line) > _MOST_WIDE:
        return []
    line = _LEADER.sub(lambda found: " " * len(found[0]), line)
    done = []
    for match in _SPAN.finditer(line):
        values = list(_VALUE.finditer(match[0]))
        is_row = len(values) > 1 and "".join(value[0] for value in values) == match[0]
        done += [_Piece(match.start() + start, match.start() + start + len(text.rstrip()),
                        text.rstrip()) for start, text in
                 ([(value.start(), value[0]) for value in values] if is_row else [(0, match[0])])]
    return done


def _at_columns(pieces: list[_Piece], columns: list[tuple[int, int]]) -> list[_Piece]:
    """Cut a label from the number after it where the first column begins and one space is."""
    done: list[_Piece] = []
    for piece in pieces:
        cut = columns[0][0] - 1 - piece.start
        head, tail = piece.text[:max(cut, 0)], piece.text[max(cut, 0):]
        value = tail.strip()
        if cut > 0 and is_number(value) and (tail[0] == " " or head[-1] == " "):
            start = piece.start + cut + len(tail) - len(tail.lstrip())
            done += [_Piece(piece.start, piece.start + len(head.rstrip()), head.rstrip()),
                     _Piece(start, piece.end, value)]
        else:
            done.append(piece)
    return done


def read_lines(lines: list[str]) -> list[PlacedRow]:
    """Return the rows of a text table; labels are in slot 0 and each column in a slot of its own.

    Columns are where the numbers stand. A rule under a header shows which columns it heads; above
    a number it marks a sum.
    """
    body = next((index for index, line in enumerate(lines) if _is_body(line)), 0)
    columns = _columns(lines[body:])
    begin = columns[0][0] if columns else 0
    rows, ruled = [], []
    for index, line in enumerate(lines):
        if _is_rule(line):
            is_double = "=" in line
            ruled = [] if is_double else [column for match in re.finditer(r"\S+", line)
                                          for column in _over(match.span(), columns)]
            continue
        below = lines[index + 1] if index < body and index + 1 < len(lines) else ""
        pieces = _under(_pieces(line), below) if _is_rule(below) else _pieces(line)
        if index >= body and columns:
            pieces = _at_columns(pieces, columns)
        cells = _cells(pieces, columns, begin, index < body)
        rows.append(PlacedRow(tuple(replace(
            cell, has_rule=bool(cell.start) and cell.start - 1 in ruled,
            indent=0.0 if cell.start else _POINTS * _indent(line), elements=(Element("td"),))
            for cell in cells)))
        ruled = ruled if not cells else []
    return rows


def _is_body(line: str) -> bool:
    pieces = _pieces(line)
    return any(is_number(piece.text) and not is_year(piece.text) for piece in pieces[1:])


def _columns(lines: list[str]) -> list[tuple[int, int]]:
    """Return the characters [start, end) of each column of numbers; "$" belongs to its number."""
    spans = []
    for line in lines:
        pieces = _pieces(line)
        for before, piece in zip([None, *pieces], pieces, strict=False):
            if is_number(piece.text) and (before or _indent(line) > 20):
                has_coin = before is not None and before.text in ("$", "€", "£")
                spans.append((before.start if has_coin else piece.start, piece.end))
    done: list[tuple[int, int]] = []
    for start, end in sorted(spans, key=lambda span: span[1]):
        while done and start < done[-1][1]:
            start = min(start, done.pop()[0])
        done.append((start, end))
    return done


def _over(span: tuple[int, int], columns: list[tuple[int, int]]) -> list[int]:
    """Return the columns that the characters `span` touch."""
    return [index for index, (start, end) in enumerate(columns)
            if span[0] < end and start < span[1]]


def _under(pieces: list[_Piece], rule: str) -> list[_Piece]:
    """Widen each header to the part of the rule below it, and cut it where the rule has gaps.

    A part below several headers is a line across the table and tells nothing of them.
    """
    parts = [match.span() for match in re.finditer(r"[-=_]{2,}", rule)]
    done: list[tuple[_Piece, tuple[int, int] | None]] = []
    for piece in pieces:
        last = False  # whether the last one is of this piece
        for match in re.finditer(r"\S+", piece.text):
            start, end = piece.start + match.start(), piece.start + match.end()
            middle = (start + end) / 2
            part = next((part for part in parts if part[0] - 1 <= middle <= part[1] + 1), None)
            if last and done[-1][1] == part:
                done[-1] = (_Piece(done[-1][0].start, end, f"{done[-1][0].text} {match[0]}"), part)
            else:
                done.append((_Piece(start, end, match[0]), part))
            last = True
    times = Counter(part for _, part in done)
    return [_Piece(*part, piece.text) if part and times[part] == 1 else piece
            for piece, part in done]


def _cells(pieces: list[_Piece], columns: list[tuple[int, int]], begin: int,
           is_header: bool) -> tuple[PlacedCell, ...]:
    cells: list[PlacedCell] = []
    for piece in pieces:
        over = _over((piece.start, piece.end), columns)
        is_value = not is_header and is_number(piece.text) and cells
        if piece.end <= begin and not is_value:
            over = []
        elif not over:
            middle = piece.start + piece.end
            over = [min(range(len(columns)), default=0,
                        key=lambda index: abs(sum(columns[index]) - middle))]
        elif piece.start < begin - 3 and not is_value:
            over = [-1, *over]  # a title across the table
        if is_value:
            over = over[-1:]
        slot, end = (over[0] + 1, over[-1] + 2) if over else (0, 1)
        cells.append(PlacedCell(slot, end, piece.text))
    return joined(cells)
