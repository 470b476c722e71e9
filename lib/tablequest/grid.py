"""The layout of a table: its kind, headers, columns, and rows with the labels of their groups."""

import html
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from math import inf
from typing import NamedTuple

from lib.tablequest.cells import MARK, YEAR, Placed, is_only_note, unit_note_in, words_of
from lib.tablequest.records import Grid

Row = Sequence[Placed]
FOOTNOTE = re.compile(rf"{MARK}\s*\S|notes?: ", re.I)

_MARKS = re.compile(rf"(?<=\S)(?:,?\s*{MARK})+\s*(?=:?\s*$)")  # "Sales*", "Total (2)(3):"
_TOTAL = re.compile(r"^(?:sub)?totals?\b|^net (?:cash|increase|decrease|change)\b", re.I)
_TIME = re.compile(
    rf"{YEAR}|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|\bchange|"
    r"\b(?:months?|year|quarter|weeks)\b",
    re.I,
)
_NO_VALUE = re.compile(r"(?:foot)?notes?(?: no\.?)?|page(?:s|\(s\)| no\.?)?|item|exhibit.*", re.I)
_SMALL_MARK = re.compile(r"\([1-9]\d?\)")
_PAGE = re.compile(r"(?:[A-Z]-)?(\d{1,3})(?:\s*[-–—]\s*\d{1,3})?")
_NO_DATA = re.compile(
    r"/s/|^\W*signatures?\b|\bexhibit\s*(?:number|no\.|description)\b|state or other jurisdiction|"
    r"zip code|accelerated filer|title of each class|trading symbol|employer identification|"
    r"^.{0,60}(?:form (?:10-[kq]|20-f)|annual report).{0,20}$",
    re.I,
)

_DAY = re.compile(
    rf"\b(?:balances?|outstanding|(?:un|non)vested)\b.*?((?:\w+ \d{{1,2}}, )?{YEAR})", re.I
)


class Layout(NamedTuple):
    """A table, or its part between two sets of headers, as a grid of the page's own cells."""

    titles: Row  # above and left of the headers
    heads: Sequence[Row]  # of each column
    columns: tuple[str, ...]  # each one's header cells, joined, without unit notes
    rows: tuple[str, ...]  # labels, each after those of its groups
    cells: Sequence[Row]  # of each row, one without text in a column where it has none
    html: str


def kind_of(rows: Sequence[Row]) -> str:
    """Return the kind of a table without data, such as "table of contents"; "" if it has data."""
    lines = [[cell.text for cell in row] for row in rows if row]
    if any(cell.tags for row in rows for cell in row):
        return ""
    if not any(cell.is_value for row in rows for cell in row[1:]):
        return "text"
    pages = [int(page[1]) for line in lines if (page := _PAGE.fullmatch(line[-1]))]
    if (
        len(pages) > max(2, 0.6 * len(lines) - 1)
        and pages == sorted(pages)
        and not re.search(YEAR, lines[0][-1])
    ):
        return "table of contents"
    return "no data" * bool(_NO_DATA.search(" ".join(sum(lines[:50], []))))


def layouts_of(rows: Sequence[Row]) -> list[Layout]:
    """Return the parts of a table with values; headers that change begin another part."""
    left = min((cell.start for row in rows for cell in row), default=0)
    parts = [([], [])]  # rows above the first value, and others
    for row in rows:
        above, body = parts[-1]
        cells = [cell for cell in row if cell.start > left]
        if any(cell.is_value for cell in cells):
            body.append(row)
        elif (
            body
            and cells
            and (len(cells) == len(row) or is_only_note(row[0].text))
            and all(_TIME.search(cell.text) for cell in cells)
        ):
            parts.append(([row], []))
        else:
            (body or above).append(row)
    return [found for above, body in parts if body and (found := _layout(above, body, left))]


def lines_of(table: Grid | Layout) -> list[list[str]]:
    """Return the labels of the columns, then each row's label and cells, as texts."""
    lines = zip(table.rows, table.cells, strict=True)
    texts = ([label, *(cell.text for cell in cells)] for label, cells in lines)
    return [["", *table.columns], *texts]


def as_markdown(table: Layout) -> str:
    """Return a Markdown table with complete labels and the values as printed."""
    head, *lines = lines_of(table)
    rows = (head, ["---"] * len(head), *lines)
    escaped = ([re.sub(r"([\\|])", r"\\\1", text) for text in row] for row in rows)
    return "\n".join(f"| {' | '.join(row)} |" for row in escaped)


def _layout(above: list[Row], body: list[Row], left: int) -> Layout | None:
    columns = _columns(body, left)
    begin, n = min(columns), len(above)
    while (
        n
        and len(above[n - 1]) == 1
        and above[n - 1][0].end <= begin
        and not unit_note_in(above[n - 1][0].text, is_short=True)
    ):
        n -= 1  # a group's label between the headers and its first row
    lines = [_placed(row, columns, left, at < n) for at, row in enumerate([*above, *body])]
    labels = [label for label, _ in lines]
    table = [
        column
        for first in sorted({*columns.values()})
        if _has_values(column := [cells.get(first) or Placed(0, 0, "") for _, cells in lines], n)
    ]
    if not table:
        return None
    heads, rows = [column[:n] for column in table], [*zip(*table, strict=True)]
    html_rows = map(_html, labels, rows, ["th"] * n + ["td"] * len(rows))
    return Layout(
        sum(labels[:n], []),
        heads,
        tuple(map(_column_label, heads)),
        _labels(labels[n:], rows[n:]),
        [*filter(any, rows[n:])],
        "\n".join(["<table>", *html_rows, "</table>"]),
    )


def _columns(body: Sequence[Row], left: int) -> dict[int, int]:
    # slot -> first slot of its column; texts have one where there are no numbers
    columns = {}
    for is_of_numbers in (True, False):
        taken, begin = {*columns}, min(columns, default=left + 1)
        cells = (cell for row in body for cell in row if bool(cell.number) == is_of_numbers)
        for start, end in sorted({(cell.start, cell.end) for cell in cells}):
            if start >= begin and taken.isdisjoint(range(start, end)):
                columns |= dict.fromkeys(range(start, end), columns.get(start, start))
    return columns


def _placed(row: Row, columns: dict[int, int], left: int, is_head: bool) -> tuple:
    # the cells of the row's label, and those of its columns: one may head several
    label, cells, begin = [], {}, min(columns)
    for cell in row:
        slots = range(cell.start, cell.end)
        free = sorted({columns[slot] for slot in slots if slot in columns} - cells.keys())
        if is_head and cell.start > left:
            cells |= dict.fromkeys(free, cell)
        elif cell.start >= begin and free and (cell.number or len(free) == 1):
            cells[free[0]] = cell
            continue
        if not is_head or cell.start == left or cell.end <= begin:
            label.append(cell)  # text across columns is a note
    return label, cells


def _has_values(column: Row, n_heads: int) -> bool:
    cells = [cell for cell in column[n_heads:] if cell]
    return any(cell.tags for cell in cells) or not (
        all(_SMALL_MARK.fullmatch(cell.text) for cell in cells)
        or _NO_VALUE.fullmatch(_column_label(column[:n_heads]))
    )


def _column_label(heads: Row) -> str:
    texts = [without_marks(cell.text) for cell in heads if cell and not is_only_note(cell.text)]
    return " ".join(dict.fromkeys(texts))


def without_marks(text: str) -> str:
    """Remove final footnote marks: "Services (1)", "Level 2 (1):" -> "Services", "Level 2:"."""
    return _MARKS.sub("", text).strip()


@dataclass
class _Group:
    label: str
    style: tuple[float, bool]  # indent and bold
    is_time: bool  # it names a year, and lasts until the next
    n_rows: int = 0
    is_indented: bool = False  # its first row begins further right


def _open(groups: list[_Group], label: str, cell: Placed) -> None:
    # a group closes others of its style, and those further right
    new = _Group(label, (cell.indent, cell.is_bold), bool(re.search(YEAR, label)))
    while groups[-1].style[0] > cell.indent and groups[-1].n_rows:
        groups.pop()
    for at in reversed(range(1, len(groups))):
        old = groups[at]
        if (
            new.is_time >= old.is_time
            and (old.style == new.style or old.is_time)
            and (old.n_rows or old is not groups[-1])
        ):
            del groups[at:]
            break
    groups.append(new)


def _enter(groups: list[_Group], indent: float) -> _Group:
    # the innermost group of a row of values; one whose rows are indented ends before others
    while groups[-1].is_indented > groups[-1].is_time and indent <= groups[-1].style[0]:
        groups.pop()
    last = groups[-1]
    last.is_indented |= not last.n_rows and indent > last.style[0]
    last.n_rows += 1
    return last


def _labels(labels: Sequence[Row], rows: Sequence[Row]) -> tuple[str, ...]:
    # of rows of values, with the open groups, such as "Liabilities" > "Current"; the first is all
    groups, found = [_Group("", (-inf, False), is_time=True)], []
    ruled = [any(cell.has_rule for cell in cells) for cells in rows]
    has_sums = sum(ruled) * 2 <= sum(map(any, rows))  # else, rules mark no sums
    for label, cells, is_ruled in zip(labels, rows, ruled, strict=True):
        text = ", ".join(cell.text for cell in label)
        name, last = without_marks(text).rstrip(": "), groups[-1]
        if any(cells):
            last = _enter(groups, label[0].indent if label else inf)
            is_sum = _TOTAL.search(name) or is_ruled and has_sums and last.n_rows > 1
            found.append((name, is_sum, groups[1:]))
            is_of_group = words_of(name) & words_of(last.label)
            is_last = is_of_group or " " not in name or "otal" not in name
            if is_sum and is_last and not last.is_time:
                groups.pop()
        elif not label:
            if last.n_rows and not (last.is_time or last.is_indented):
                groups.pop()
        elif not (
            is_only_note(text)
            or FOOTNOTE.match(text)
            or name.lower().startswith("commitments and cont")
        ):
            _open(groups, name, label[0])
    times = Counter(name for name, *_ in found)
    done = []
    for name, is_sum, above in found:  # a sum's own name says what it is of
        is_whole = is_sum and times[name] == 1 and " " in name
        parts = [group.label for group in above if group.is_time or not is_whole]
        done.append(": ".join([*parts, name]) * bool(name))
    return _distinct(done)


def _distinct(labels: list[str]) -> tuple[str, ...]:
    # put the day of the balance below them before equal labels of a roll-forward
    times, done, after = Counter(filter(None, labels)), [], ""
    for label in reversed(labels):
        if day := _DAY.search(label):
            after = day[1]
        done.append(f"{after}: {label}" if after and times[label] > 1 else label)
    return tuple(reversed(done))


def _html(label: Row, cells: Row, tag: str) -> str:
    text = html.escape(" ".join(cell.text for cell in label))
    if tag == "td" and not any(cells):
        return f'<tr><th colspan="{len(cells) + 1}">{text}</th></tr>'
    pieces = [f"<tr><th>{text}</th>"]
    for _, (cell, *same) in groupby(cells, key=id):
        span = f' colspan="{len(same) + 1}"' * bool(same)
        pieces.append(f"<{tag}{span}>{html.escape(cell.text)}</{tag}>")
    return "".join(pieces) + "</tr>"
