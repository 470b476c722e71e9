"""The layout of a table: its kind, headers, columns, and rows with the labels of their groups."""

import html
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from lib.tablequest.cells import MARK, YEAR, Placed, is_only_note, unit_note_in, words_of
from lib.tablequest.records import Grid

Row = tuple[Placed, ...]
Cells = tuple[Placed | None, ...]  # one per column
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


class Line(NamedTuple):
    """A row of values: its label after those of its groups, and a cell or None per column."""

    label: str
    cells: Cells


class Layout(NamedTuple):
    """The parts of a table, or of one between two sets of headers."""

    titles: tuple[str, ...]  # above and left of the headers
    heads: tuple[Row, ...]  # of each column
    columns: tuple[str, ...]  # each one's header cells, joined, without unit notes
    lines: tuple[Line, ...]
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
    parts, has_values = [[]], False
    for row in rows:
        if any(cell.is_value and cell.start > left for cell in row):
            has_values = True
        elif (
            has_values
            and (heads := [cell.text for cell in row if cell.start > left])
            and (len(heads) == len(row) or is_only_note(row[0].text))
            and all(map(_TIME.search, heads))
        ):
            parts.append([])
            has_values = False
        parts[-1].append(row)
    return [found for part in parts if (found := _layout(part, left))]


def as_markdown(grid: Grid) -> str:
    """Return a Markdown table with complete labels and the values as printed."""
    rows = [("", *grid.columns), ("---",) * (len(grid.columns) + 1), *grid.lines]
    escaped = ([re.sub(r"([\\|])", r"\\\1", text) for text in row] for row in rows)
    return "\n".join(f"| {' | '.join(row)} |" for row in escaped)


def _layout(rows: Sequence[Row], left: int) -> Layout | None:
    with_values = [any(cell.is_value and cell.start > left for cell in row) for row in rows]
    if True not in with_values:
        return None
    first = with_values.index(True)
    spans = _spans(rows[first:], left)
    begin = spans[0][0]
    while (
        first
        and len(rows[first - 1]) == 1
        and rows[first - 1][0].end <= begin
        and not (unit_note_in(rows[first - 1][0].text, is_short=True))
    ):
        first -= 1  # a group's label between the headers and its first row
    above = [
        (
            [cell for cell in row if cell.start == left or cell.end <= begin],
            [
                next((cell for cell in row if cell.start > left and _is_over(cell, span)), None)
                for span in spans
            ],
        )
        for row in rows[:first]
    ]
    body = [_placed(row, spans, begin) for row in rows[first:]]
    columns = [[cells[at] for _, cells in above] for at in range(len(spans))]
    kept = [
        at
        for at, column in enumerate(columns)
        if _has_values([cells[at] for _, cells in body if cells[at]], column)
    ]
    if not kept:
        return None
    above, body = (
        [(label, tuple(cells[at] for at in kept)) for label, cells in lines]
        for lines in (above, body)
    )
    heads = tuple(tuple(filter(None, columns[at])) for at in kept)
    html_rows = [*(_html(*line, "th") for line in above), *(_html(*line, "td") for line in body)]
    return Layout(
        tuple(cell.text for label, _ in above for cell in label),
        heads,
        tuple(map(_column_label, heads)),
        tuple(_lines(body)),
        "\n".join(["<table>", *html_rows, "</table>"]),
    )


def _spans(body: Sequence[Row], left: int) -> list[tuple[int, int]]:
    # return the slots of each column
    cells = [cell for row in body for cell in row]
    found = _merged(cell for cell in cells if cell.number and cell.start > left)
    texts = (
        cell
        for cell in cells
        if not cell.number
        and cell.start >= found[0][0]
        and not any(_is_over(cell, span) for span in found)
    )
    return sorted([*found, *_merged(texts)])


def _is_over(cell: Placed, span: tuple[int, int]) -> bool:
    return cell.start < span[1] and span[0] < cell.end


def _merged(cells: Iterable[Placed]) -> list[tuple[int, int]]:
    done: list[tuple[int, int]] = []
    for start, end in sorted({(cell.start, cell.end) for cell in cells}):
        if done and start < done[-1][1]:
            start, end = done[-1][0], max(done.pop()[1], end)
        done.append((start, end))
    return done


def _placed(row: Row, spans: list[tuple[int, int]], begin: int) -> tuple[Row, Cells]:
    label = [cell for cell in row if cell.start < begin]
    cells: list[Placed | None] = [None] * len(spans)
    for cell in row[len(label) :]:
        over = [at for at, span in enumerate(spans) if _is_over(cell, span) and not cells[at]]
        if over and (cell.number or len(over) == 1):
            cells[over[0]] = cell
        else:
            label.append(cell)  # text across columns is a note
    return tuple(label), tuple(cells)


def _has_values(cells: list[Placed], column: Cells) -> bool:
    is_of_marks = all(_SMALL_MARK.fullmatch(cell.text) for cell in cells)
    return any(cell.tags for cell in cells) or not (
        is_of_marks or _NO_VALUE.fullmatch(_column_label(filter(None, column)))
    )


def _column_label(heads: Iterable[Placed]) -> str:
    texts = [without_marks(cell.text) for cell in heads if not is_only_note(cell.text)]
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


class _Groups(list[_Group]):
    # the open groups, such as "Liabilities" > "Current", while reading down a table

    def add(self, label: str, cell: Placed) -> None:
        new = _Group(label, (cell.indent, cell.is_bold), bool(re.search(YEAR, label)))
        while self and self[-1].style[0] > cell.indent and self[-1].n_rows:
            self.pop()
        for index in reversed(range(len(self))):
            old = self[index]
            if (
                new.is_time >= old.is_time
                and (old.style == new.style or old.is_time)
                and (old.n_rows or old is not self[-1])
            ):
                del self[index:]
                break
        self.append(new)

    def enter(self, indent: float) -> list[_Group]:
        """Return the groups of a row of values; one whose rows are indented ends before others."""
        while self and self[-1].is_indented > self[-1].is_time and indent <= self[-1].style[0]:
            self.pop()
        for last in self[-1:]:
            last.is_indented |= not last.n_rows and indent > last.style[0]
            last.n_rows += 1
        return list(self)

    def end(self, is_sum: bool) -> None:
        """End the innermost group after a sum, or after a blank row if it has no indent."""
        for last in self[-1:]:
            if not last.is_time and (is_sum or last.n_rows and not last.is_indented):
                self.pop()


def _lines(body: list[tuple[Row, Cells]]) -> list[Line]:
    groups, found = _Groups(), []
    ruled = [any(cell and cell.has_rule for cell in cells) for _, cells in body]
    has_sums = sum(ruled) * 2 <= sum(any(cells) for _, cells in body)  # else, rules mark no sums
    for index, (label, cells) in enumerate(body):
        text = ", ".join(cell.text for cell in label)
        name = without_marks(text).rstrip(":").strip()
        if any(cells):
            above = groups.enter(label[0].indent if label else 1e9)
            is_sum = bool(
                _TOTAL.search(name)
                or (ruled[index] and has_sums and groups and groups[-1].n_rows > 1)
            )
            found.append((name, above, is_sum, cells))
            of_group = words_of(name) & words_of(groups[-1].label) if groups else ()
            if is_sum and (of_group or " " not in name or "otal" not in name):
                groups.end(is_sum=True)
        elif not label:
            groups.end(is_sum=False)
        elif not (
            is_only_note(text)
            or FOOTNOTE.match(text)
            or name.lower().startswith("commitments and cont")
        ):
            groups.add(name, label[0])
    times = Counter(name for name, *_ in found)
    lines = []
    for name, above, is_sum, cells in found:  # a sum's own name says what it is of
        is_whole = is_sum and times[name] == 1 and " " in name
        labels = [group.label for group in above if group.is_time or not is_whole]
        lines.append(Line(": ".join([*labels, name]) * bool(name), cells))
    return _distinct(lines)


def _distinct(lines: list[Line]) -> list[Line]:
    # put the day of the balance below them before equal labels of a roll-forward
    times, done, after = Counter(line.label for line in lines), [], ""
    for line in reversed(lines):
        day = re.search(
            r"\b(?:balances?|outstanding|(?:un|non)vested)\b.*?"
            rf"((?:\w+ \d{{1,2}}, )?{YEAR})",
            line.label,
            re.I,
        )
        after = day[1] if day else after
        is_twice = times[line.label] > 1 and line.label and after
        done.append(line._replace(label=f"{after}: {line.label}") if is_twice else line)
    return done[::-1]


def _html(label: Row, cells: Cells, tag: str) -> str:
    text = html.escape(" ".join(cell.text for cell in label))
    if tag == "td" and not any(cells):
        return f'<tr><th colspan="{len(cells) + 1}">{text}</th></tr>'
    pieces = [f"<tr><th>{text}</th>"]
    for _, group in groupby(cells, key=id if tag == "th" else None):
        cell, *same = group
        span = f' colspan="{len(same) + 1}"' if cell and same else ""
        shown = f"<{tag}{span}>{html.escape(cell.text if cell else '')}</{tag}>"
        pieces.append(shown if cell else shown * (len(same) + 1))
    return "".join(pieces) + "</tr>"
