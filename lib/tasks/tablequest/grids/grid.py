"""The layout of a table: its kind, headers, columns, and rows with the labels of their groups."""

import html
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from lib.tasks.tablequest.grids.cells import MARK, YEAR, Placed
from lib.tasks.tablequest.grids.notes import is_only_note, unit_note_in
from lib.tasks.tablequest.records import Grid

Row = tuple[Placed, ...]
FOOTNOTE = re.compile(rf"{MARK}\s*\S|notes?: ", re.I)

_MARKS = re.compile(rf"(?:,?\s*{MARK})+\s*(?=:?\s*$)")  # "Sales*", "Total (2)(3):"
_TOTAL = re.compile(r"^(?:sub)?totals?\b|^net (?:cash|increase|decrease|change)\b", re.I)
_TIME = re.compile(rf"{YEAR}|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|\bchange|"
                   r"\b(?:months?|year|quarter|weeks)\b", re.I)
_NO_VALUE = re.compile(r"(?:foot)?notes?(?: no\.?)?|page(?:s|\(s\)| no\.?)?|item|exhibit.*", re.I)
_SMALL_MARK = re.compile(r"\([1-9]\d?\)")
_FOOTER = re.compile(r"form (?:10-[kq]|20-f)|annual report|table of contents", re.I)
_PAGE = re.compile(r"(?:[A-Z]-)?\d{1,3}(?:\s*[-–—]\s*\d{1,3})?|[ivx]{1,5}")
_OTHER_KINDS = {
    "signatures": r"/s/|^\W*signatures?\b", "exhibits": r"\bexhibit\s*(?:number|no\.|description)\b",
    "cover page": r"state or other jurisdiction|zip code|accelerated filer|title of each class|"
                  r"trading symbol|employer identification|commission file"}


class Line(NamedTuple):
    """A row of values: its label after those of its groups, and a cell or None per column."""

    label: str
    cells: tuple[Placed | None, ...]
    note: str = ""  # the last unit note between the rows above


@dataclass(frozen=True)
class Layout:
    """The parts of a table, or of one between two sets of headers."""

    titles: tuple[str, ...]  # above and left of the headers
    columns: tuple[str, ...]
    lowest: tuple[str, ...]  # the last header of each column
    notes: tuple[str, ...]  # the unit note above each column
    lines: tuple[Line, ...]
    html: str


def kind_of(rows: Sequence[Row]) -> str:
    """Return the kind of a table without data, such as "page footer"; "" if it may hold data."""
    lines = [[cell.text for cell in row] for row in rows if row]
    if not lines:
        return "empty"
    if any(cell.tags for row in rows for cell in row):
        return ""
    words = " ".join(text for line in lines for text in line)
    if len(lines) == 1 and len(lines[0]) <= 3 and (_FOOTER.search(words) or _PAGE.fullmatch(words)):
        return "page footer"
    pages = [line[-1] for line in lines if len(line) > 1 and _PAGE.fullmatch(line[-1])]
    firsts = [int(re.search(r"\d+", page)[0]) for page in pages if re.search(r"\d", page)]
    heads = lines[0][-1].lower().startswith("page")
    if (len(firsts) > 2 and firsts == sorted(firsts) and len(pages) >= 0.6 * len(lines)
            and (heads or max(map(len, lines)) < 4 and not re.search(YEAR, " ".join(lines[0])))):
        return "table of contents"
    if not any(cell.is_value for row in rows for cell in row[1:]):
        return "text"
    return next((kind for kind, pattern in _OTHER_KINDS.items()
                 if re.search(pattern, words[:3000], re.I)), "")


def layouts_of(rows: Sequence[Row]) -> list[Layout]:
    """Return the parts of a table with values; headers that change begin another part."""
    left = min((cell.start for row in rows for cell in row), default=0)
    starts, has_values = [0], False
    heads = {_texts(row, left) for row in rows[:8] if not any(cell.is_value for cell in row)}
    for index, row in enumerate(rows):
        if any(cell.is_value and cell.start > left for cell in row):
            has_values = True
        elif has_values and (_is_header(row, left) or _texts(row, left) in heads - {()}):
            starts.append(index)
            has_values = False
    parts = [rows[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]
    return [found for part in parts if (found := _layout(part, left))]


def as_markdown(grid: Grid) -> str:
    """Return a Markdown table with complete labels and the values as printed."""
    body = [(label, *(cell.text for cell in cells))
            for label, cells in zip(grid.rows, grid.cells, strict=True)]
    rows = [("", *grid.columns), ("---",) * (len(grid.columns) + 1), *body]
    escaped = ([" ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|") for text in row]
               for row in rows)
    return "\n".join(f"| {' | '.join(row)} |" for row in escaped)


def _texts(row: Row, left: int) -> tuple[str, ...]:
    return tuple(cell.text for cell in row if cell.start > left)


def _is_header(row: Row, left: int) -> bool:
    others = [cell for cell in row if cell.start > left]
    return bool(others) and (len(others) == len(row) or is_only_note(row[0].text)) and all(
        _TIME.search(cell.text) for cell in others)


def _layout(rows: Sequence[Row], left: int) -> Layout | None:
    first = next((index for index, row in enumerate(rows)
                  if any(cell.is_value and cell.start > left for cell in row)), None)
    if first is None:
        return None
    columns = _columns(rows[first:], left)
    begin = columns[0][0]
    while first and len(rows[first - 1]) == 1 and rows[first - 1][0].end <= begin and not (
            unit_note_in(rows[first - 1][0].text, is_short=True)):
        first -= 1  # a group's label between the headers and its first row
    heads = [[_over(row, span, begin) for span in columns] for row in rows[:first]]
    titles = [[cell for cell in row if cell.start < begin] for row in rows[:first]]
    for row, line in zip(rows, heads, strict=False):
        free = [cell for cell in row if cell.start >= begin]
        if len(free) == len(columns) and not all(line):
            line[:] = free  # headers set beside their columns
    names = [_column_label([line[index] for line in heads]) for index in range(len(columns))]
    lowest = [next((id(line[index]) for line in heads[::-1] if line[index]), 0)
              for index in range(len(columns))]
    shared = {one for one in lowest if lowest.count(one) > 1}
    body = [_split(row, columns, begin) for row in rows[first:]]
    body = [(label, tuple(None if cell and _is_no_value(
                  cell, name, index, body, not name or lowest[index] in shared) else cell
                          for index, (cell, name) in enumerate(zip(cells, names, strict=True))))
            for label, cells in body]
    kept = [index for index in range(len(columns)) if any(cells[index] for _, cells in body)]
    if not any(cell and cell.number for _, cells in body for cell in cells):
        return None
    body = [(label, tuple(cells[index] for index in kept)) for label, cells in body]
    heads = [[line[index] for index in kept] for line in heads]
    lines = _lines(body)
    noted = [[line[index] for line in heads if line[index]] for index in range(len(kept))]
    above = [[cell for cell in line if not is_only_note(cell.text)] for line in noted]
    return Layout(tuple(cell.text for row in titles for cell in row),
                  tuple(names[index] for index in kept),
                  tuple(line[-1].text if line else "" for line in above),
                  tuple(next(filter(None, (unit_note_in(cell.text, is_short=True)
                                           for cell in line)), "") for line in noted),
                  tuple(lines), _html(titles, heads, body))


def _columns(body: Sequence[Row], left: int) -> list[tuple[int, int]]:
    """Return the slots of each column; cells of one row that overlap through others are parted."""
    values = [[cell for cell in row if cell.number and cell.start > left] for row in body]
    found: list[tuple[int, int]] = []
    for start, end in _merged([(cell.start, cell.end) for line in values for cell in line]):
        inside = [[cell for cell in line if start <= cell.start < end] for line in values]
        most = max(inside, key=len)
        cuts = [start, *(cell.start for cell in most[1:]), end]
        found += zip(cuts, cuts[1:], strict=False)
    begin, texts = found[0][0], []
    for row in body:
        texts += [(cell.start, cell.end) for cell in row if cell.start >= begin and not any(
            cell.start < end and start < cell.end for start, end in found)] if len(row) < 99 else []
    return sorted([*found, *_merged(texts)])


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    done: list[tuple[int, int]] = []
    for start, end in sorted(set(spans)):
        if done and start < done[-1][1]:
            done[-1] = (done[-1][0], max(end, done[-1][1]))
        else:
            done.append((start, end))
    return done


def _over(row: Row, span: tuple[int, int], begin: int) -> Placed | None:
    return next((cell for cell in row if cell.start < span[1] and span[0] < cell.end
                 and (cell.start >= begin or len(row) > 1 and cell.end > begin + 1)), None)


def _split(row: Row, columns: list[tuple[int, int]],
           begin: int) -> tuple[Row, tuple[Placed | None, ...]]:
    label = tuple(cell for cell in row if cell.start < begin)
    cells: list[Placed | None] = [None] * len(columns)
    for cell in row[len(label):]:
        shared = [min(cell.end, end) - max(cell.start, start) if not cells[index] else 0
                  for index, (start, end) in enumerate(columns)]
        best = max(range(len(columns)), key=shared.__getitem__)
        if shared[best] > 0 and (cell.number or sum(one > 0 for one in shared) == 1):
            cells[best] = cell
        else:
            label += (cell,)  # text across columns is a note
    return label, tuple(cells)


def _is_no_value(cell: Placed, name: str, index: int, body: list, is_beside: bool) -> bool:
    if cell.tags or not cell.number:
        return False
    is_mark = is_beside and _SMALL_MARK.fullmatch(cell.text) and all(
        _SMALL_MARK.fullmatch(cells[index].text) for _, cells in body if cells[index])
    return bool(is_mark) or bool(_NO_VALUE.fullmatch(name))


def _column_label(heads: list[Placed | None]) -> str:
    texts = [without_marks(cell.text) for cell in heads if cell and not is_only_note(cell.text)]
    return " ".join(text for index, text in enumerate(texts) if text not in texts[:index])


def without_marks(text: str) -> str:
    """Remove final footnote marks: "Services (1)", "Level 2 (1):" -> "Services", "Level 2:"."""
    found = _MARKS.search(text)
    return (text[:found.start()] + text[found.end():]).strip() if found and found.start() else text


@dataclass
class _Group:
    label: str
    style: tuple[float, bool]  # indent and bold
    n_rows: int = 0
    is_indented: bool = False  # its first row begins further right
    is_time: bool = False  # it names a year, and lasts until the next


@dataclass
class _Groups:
    """The open groups, such as "Liabilities" > "Current", while reading down a table."""

    open: list[_Group] = field(default_factory=list)

    def add(self, label: str, cell: Placed) -> None:
        """Open a group inside the last one, or in place of those of its style."""
        style = (cell.indent, cell.is_bold)
        is_time = bool(re.search(YEAR, label))
        while self.open and self.open[-1].style[0] > style[0] and self.open[-1].n_rows:
            self.open.pop()
        same = [index for index, group in enumerate(self.open) if is_time >= group.is_time and (
            group.style == style and (group.n_rows or index < len(self.open) - 1)
            or is_time and group.is_time)]
        if same:
            del self.open[same[-1]:]
        self.open.append(_Group(label, style, is_time=is_time))

    def enter(self, cell: Placed | None) -> list[str]:
        """Return the groups of a row of values; one whose rows are indented ends before others."""
        indent = cell.indent if cell else 1e9
        while (self.open and self.open[-1].is_indented and not self.open[-1].is_time
               and indent <= self.open[-1].style[0]):
            self.open.pop()
        if self.open:
            group = self.open[-1]
            group.is_indented = group.is_indented or not group.n_rows and indent > group.style[0]
            group.n_rows += 1
        return [group.label for group in self.open]

    def end(self, is_sum: bool) -> None:
        """End the innermost group after a sum, or after a blank row if it has no indent."""
        if self.open and not self.open[-1].is_time and (is_sum or self.open[-1].n_rows and not self.open[-1].is_indented):
            self.open.pop()


def _lines(body: list[tuple[Row, tuple[Placed | None, ...]]]) -> list[Line]:
    groups, lines, note = _Groups(), [], ""
    ruled = [any(cell and cell.has_rule for cell in cells) for _, cells in body]
    n_values = sum(any(cells) for _, cells in body)
    has_sums = sum(ruled) * 2 <= n_values  # lines above most rows mark no sums
    before = ""  # a label that goes on in the next row
    for index, (label, cells) in enumerate(body):
        text = " ".join(filter(None, [before, ", ".join(cell.text for cell in label)]))
        name, before = without_marks(text).rstrip(":").strip(), ""
        if not any(cells):
            below = body[index + 1][0] if index + 1 < len(body) else ()
            if not label:
                groups.end(is_sum=False)
            elif is_only_note(text):
                note = text
            elif below and _goes_on(text, below[0].text, label[0], below[0]):
                before = text
            elif not FOOTNOTE.match(text) and not re.match(r"commitments and cont", text, re.I):
                groups.add(name, label[0])
            continue
        above = groups.enter(label[0] if label else None)
        lines.append(Line(": ".join([*above, name]) if name else "", cells, note))
        is_ruled = ruled[index] and has_sums and groups.open and groups.open[-1].n_rows > 1
        if _TOTAL.search(name) or is_ruled:
            groups.end(is_sum=True)
    return _distinct(lines)


def _goes_on(text: str, below: str, first: Placed, second: Placed) -> bool:
    if text.endswith((":", ".")) or first.is_bold != second.is_bold:
        return False
    ends_open = re.search(r"(?:\b(?:and|of|or|for|in|to|the|by|with|from|on|at|as)|,|[–—-])$", text)
    return bool(ends_open) or below[:1].islower()


def _distinct(lines: list[Line]) -> list[Line]:
    """Put the year of the balance below them before equal labels of a roll-forward."""
    times, done, after = Counter(line.label for line in lines), [], ""
    for line in reversed(lines):
        date = re.search(r"\b(?:balances?|outstanding|(?:un|non)vested)\b.*?"
                         rf"((?:\w+ \d{{1,2}}, )?{YEAR})", line.label, re.I)
        after = date[1] if date else after
        is_twice = times[line.label] > 1 and line.label and after
        done.append(line._replace(label=f"{after}: {line.label}") if is_twice else line)
    return done[::-1]


def _html(titles: list[list[Placed]], heads: list[list[Placed | None]],
          body: list[tuple[Row, tuple[Placed | None, ...]]]) -> str:
    lines = []
    for title, line in zip(titles, heads, strict=True):
        pieces, index = [], 0
        while index < len(line):
            end = index + 1
            while end < len(line) and line[index] and line[end] is line[index]:
                end += 1
            text = without_marks(line[index].text) if line[index] else ""
            span = f' colspan="{end - index}"' if end - index > 1 else ""
            pieces.append(f"<th{span}>{html.escape(text)}</th>")
            index = end
        corner = html.escape(" ".join(cell.text for cell in title))
        lines.append(f"<th>{corner}</th>{''.join(pieces)}")
    for label, cells in body:
        text = html.escape(" ".join(cell.text for cell in label))
        if any(cells):
            values = (html.escape(cell.text) if cell else "" for cell in cells)
            lines.append(f"<th>{text}</th>" + "".join(f"<td>{value}</td>" for value in values))
        elif text:
            lines.append(f'<th colspan="{len(cells) + 1}">{text}</th>')
    return "<table>\n" + "\n".join(f"<tr>{line}</tr>" for line in lines) + "\n</table>"
