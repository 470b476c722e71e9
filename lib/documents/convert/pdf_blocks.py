"""Make paragraphs, headings, lists, code and tables of the lines of a PDF."""

import re
from collections import Counter
from collections.abc import Sequence
from statistics import median

from lib.documents.convert.markdown import Piece
from lib.documents.convert.pdf_lines import Grid, Line, segments, words_text
from lib.documents.convert.pdf_tables import aligned

_BULLET = re.compile(r"[•◦▪▫‣●○■□⁃∙·\uf0b7\uf0a7–—*-]|o")
_NUMBER = re.compile(r"\(?(\d{1,3}|[a-z])[.)]")
_SENTENCE_END = re.compile(r"[.!?:;。！？][\"')\]]*$")
_MOST_ROWS = 2  # lines of prose with wide blanks, or 1% of all lines


def pieces_of(flow: Sequence[Line | Grid]) -> tuple[list[Piece], str]:
    """Return the pieces of all pages, given in reading order, and what is doubtful about them."""
    reader = _Reader(flow)
    reader.read()
    doubt = f"{reader.n_rows} lines outside tables look like rows of a table"
    is_doubtful = reader.n_rows > max(_MOST_ROWS, len(flow) // 100)
    return reader.pieces, doubt if is_doubtful else ""


# `stack` holds the open list items as (x of mark, x of text)
class _Reader:
    def __init__(self, flow: Sequence[Line | Grid]):
        self.flow = flow
        lines = [line for line in flow if isinstance(line, Line)]
        text = Counter()
        for line in lines:
            if not line.mono and line.face:
                text[line.size, line.face] += len(line.text)
        self.body, self.face = text.most_common(1)[0][0] if text else (10.0, "")
        self.pitch = _pitch(lines)
        self.numbered = _numbered(lines)
        self.known = frozenset(word.lower() for line in lines
                               for word in re.findall(r"[^\W\d_]+", line.text))
        self.levels: list[float] = []  # the font sizes of headings, largest first
        for size in sorted({line.size for line in lines if not line.mono}, reverse=True):
            if size > 1.08 * self.body and (not self.levels or self.levels[-1] - size > 0.4):
                self.levels.append(size)
        self.stack: list[tuple[float, float]] = []
        self.pieces: list[Piece] = []
        self.n_rows = 0  # lines of prose with wide blanks
        self.last: list[Line] = []  # the lines of the piece that may go on
        self.texts: list[tuple[Piece, list[Line]]] = []

    def read(self) -> None:
        at = 0
        while at < len(self.flow):
            part = self.flow[at]
            if isinstance(part, Grid):
                self._table(part)
                at += 1
                continue
            is_item, in_code = self._is_item(part), part.mono and part.bullet is None and (
                not self._goes_on(part))
            table = None if is_item or in_code else aligned(self.flow, at, self.pitch)
            if table is not None:
                at, *cells = table
                self._table(*cells)
            elif level := self._level(at):
                at = self._heading(at, level)
            elif in_code and not is_item:
                at = self._code(at)
            else:
                self._line(part, is_item)
                at += 1
        for piece, lines in self.texts:
            words = [line.words for line in lines]
            if piece.kind == "item" and lines[0].bullet is None:
                words[0] = words[0][1:]
            piece.text = words_text([row for row in words if row], self.known)

    def _add(self, kind: str, line: Line | Grid, **fields) -> None:
        self.pieces.append(Piece(kind, position=f"page {line.page}", **fields))

    def _begin(self, kind: str, line: Line, **fields) -> None:
        self._add(kind, line, **fields)
        self.last = [line]
        self.texts.append((self.pieces[-1], self.last))

    def _line(self, line: Line, is_item: bool) -> None:
        if is_item:
            self._item(line)
            return
        self.n_rows += not line.mono and len(segments(line, 2 * line.size)) > 1
        if self._goes_on(line):
            self.last.append(line)
        else:
            self._begin("prose", line, depth=self._depth(line))

    def _table(self, grid: Grid, sure: bool = True) -> None:
        before = self.pieces[-1] if self.pieces else None
        self.last, self.stack = [], []
        if not sure:
            self._add("doubtful", grid, text="\n".join("   ".join(row) for row in grid.rows))
        elif before is not None and before.kind == "table" and self._continues(grid):
            rows = grid.rows[before.rows[0] == grid.rows[0]:]
            if rows and not rows[0][0]:  # the rest of a row that the page cut
                cut, *rows = rows
                before.rows[-1] = [" ".join(filter(None, pair))
                                   for pair in zip(before.rows[-1], cut, strict=True)]
            before.rows += rows
        else:
            self._add("table", grid, rows=grid.rows)
        self.grid = grid

    def _continues(self, grid: Grid) -> bool:
        if self.pieces[-1].rows[0] == grid.rows[0]:
            return True
        return grid.page > self.grid.page and not grid.headed and (
            len(grid.columns) == len(self.grid.columns)) and all(
            abs(one - other) < 3
            for one, other in zip(grid.columns, self.grid.columns, strict=True))

    def _goes_on(self, line: Line) -> bool:
        if not self.last:
            return False
        before = self.last[-1]
        if len(self.last) > 1 or self.pieces[-1].kind != "item":
            left = before.x0
        else:
            left = self.stack[-1][1]
        indented = len(self.last) == 1 and self.pieces[-1].kind == "prose"
        if not (abs(line.x0 - left) < 4 or indented and 0 < left - line.x0 < 30) or (
                abs(line.size - before.size) > 0.6 and not line.mono):
            return False
        if before.page != line.page or line.top < before.top:  # a new page or column
            return not _SENTENCE_END.search(before.text) or line.text[0].islower()
        return line.middle - before.middle < (self.pitch + 0.35) * max(line.size, before.size)

    def _level(self, at: int) -> int:
        line = self.flow[at]
        if line.mono or line.bullet is not None or not re.search(r"\w", line.text):
            return 0
        for level, size in enumerate(self.levels, 1):
            if line.size > size - 0.4:
                return level
        families = {re.split("[-,]", face)[0] for face in (line.face, self.face)}
        if not (line.bold or line.face and len(families) == 2) or (
                line.size < self.body - 0.1 or self._goes_on(line)
                or line.text[-1] in ".:;," or len(line.text) > 100):
            return 0
        following = self.flow[at + 1] if at + 1 < len(self.flow) else None
        alone = isinstance(following, Line) and (following.face != line.face or (
            following.middle - line.middle > (self.pitch + 0.35) * line.size))
        return len(self.levels) + 1 + (not line.bold) if alone or line.bold else 0

    def _heading(self, at: int, level: int) -> int:
        first = self.flow[at]
        self._begin("heading", first, level=level)
        for line in self.flow[at + 1:at + 6]:
            if isinstance(line, Grid) or line.page != first.page or (
                    abs(line.size - first.size) > 0.3
                    or level > len(self.levels) and line.face != first.face
                    or not 0 < line.middle - self.last[-1].middle < 1.6 * first.size):
                break
            self.last.append(line)
        end = at + len(self.last)
        self.last, self.stack = [], []
        return end

    def _is_item(self, line: Line) -> bool:
        if line.bullet is not None:
            return True
        if len(line.words) < 2:
            return False
        mark, text = line.words[0], line.words[1]
        if _BULLET.fullmatch(mark.text):
            return not self._goes_on(line) or mark.text in "•◦▪‣●○■"
        return id(line) in self.numbered or bool(
            _NUMBER.fullmatch(mark.text) and text.x0 - mark.x1 > 0.45 * line.size
            and not self._goes_on(line))

    def _item(self, line: Line) -> None:
        mark = line.bullet if line.bullet is not None else line.words[0].x0
        text = line.x0 if line.bullet is not None else line.words[1].x0
        while self.stack and mark < self.stack[-1][1] - 3:
            self.stack.pop()
        depth = len(self.stack)
        self.stack.append((mark, text))
        number = None
        if line.bullet is None and (found := _NUMBER.fullmatch(line.words[0].text)):
            digits = found[1]
            number = int(digits) if digits.isdecimal() else ord(digits) - ord("a") + 1
        self._begin("item", line, depth=depth, number=number)

    def _depth(self, line: Line) -> int:
        before = self.last[-1] if self.last else None
        moved = before is not None and (line.page != before.page or line.top < before.top)
        while self.stack and not moved and line.x0 < self.stack[-1][1] - 4:
            self.stack.pop()
        return len(self.stack)

    def _code(self, at: int) -> int:
        lines = []
        for line in self.flow[at:]:
            if isinstance(line, Grid) or not line.mono or line.bullet is not None or (
                    lines and abs(line.size - lines[0].size) > 0.5) or (
                    lines and line.page == lines[-1].page and line.top > lines[-1].top
                    and line.middle - lines[-1].middle > 3.2 * line.size):
                break
            lines.append(line)
        lead = min(line.x0 for line in lines)
        wide = median((word.x1 - word.x0) / len(word.text) for line in lines for word in line.words)
        text = ""
        for line in lines:
            row = ""
            for word in line.words:
                column = round((word.x0 - lead) / wide)
                row += " " * max(column - len(row), 1 if row else 0) + word.text
            text += row + "\n"
        before = self.pieces[-1] if self.pieces else None
        if before and before.kind == "code" and before.position != f"page {lines[0].page}":
            before.text += text
        else:
            self._add("code", lines[0], text=text, depth=self._depth(lines[0]))
        self.last = []
        return at + len(lines)


def _numbered(lines: Sequence[Line]) -> set[int]:
    found: set[int] = set()
    waiting: dict[tuple[int, int], list[Line]] = {}  # by number and indentation
    for line in lines:
        mark = _NUMBER.fullmatch(line.words[0].text)
        if not mark or not mark[1].isdecimal() or len(line.words) < 2 or line.mono:
            continue
        number, x = int(mark[1]), round(line.words[1].x0 / 4)  # numbers end at the same place
        before = next((waiting.pop((number, x + step)) for step in (0, -1, 1)
                       if (number, x + step) in waiting), [])
        if before or number == 1:
            found.update(id(one) for one in [*before, line] if before)
            waiting[number + 1, x] = [line]
    return found


def _pitch(lines: Sequence[Line]) -> float:
    steps: Counter[float] = Counter()
    for before, line in zip(lines, lines[1:], strict=False):
        step = (line.middle - before.middle) / line.size
        if (line.page == before.page and 0.9 < step < 2.2 and line.size == before.size
                and len(before.text) > 30 and not line.mono):
            steps[round(step, 1)] += 1
    return min((step for step, n in steps.items() if n >= 0.25 * max(steps.values())),
               default=1.3)
