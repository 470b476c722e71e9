"""Make paragraphs, headings, lists and code of the lines of a PDF."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from lib.documents.convert.markdown import Piece
from lib.documents.convert.pdf_lines import Grid, Line, segments, words_text

_BULLET = re.compile(r"[•◦▪▫‣●○■□⁃∙·\uf0b7\uf0a7–—*-]|o")
_SURE_BULLET = "•◦▪‣●○■"
_BLANK = 1.2  # of the font size, between cells of a row
_NUMBER = re.compile(r"\(?(\d{1,3})[.)]")
_SENTENCE_END = re.compile(r"[.!?:;。！？][\"')\]]*$")


def pieces_of(flow: Sequence[Line | Grid]) -> list[Piece]:
    """Return the pieces of all pages, given in reading order.

    Lines that look like rows of a table without rulings are doubtful.
    """
    reader = _Reader([line for line in flow if isinstance(line, Line)])
    for part in flow:
        if isinstance(part, Grid):
            reader.table(part)
        else:
            reader.line(part)
    return reader.finished()


# `stack` holds the open list items as (x of mark, x of text)
class _Reader:
    def __init__(self, lines: Sequence[Line]):
        text = Counter()
        for line in lines:
            if not line.mono and line.face:
                text[line.size, line.face] += len(line.text)
        self.body, self.face = text.most_common(1)[0][0] if text else (10.0, "")
        # the distance of lines of running text, as a multiple of their font size
        self.pitch = median([step for before, line in pairwise(lines) if 0.9 < (
            step := (line.middle - before.middle) / line.size) < 2.2] or [1.3])
        self.known = frozenset(word for line in lines
                               for word in re.findall(r"[\w-]+", line.text.lower()))
        self.levels: list[float] = []  # the font sizes of headings, largest first
        for size in sorted({line.size for line in lines if not line.mono}, reverse=True):
            if size > 1.08 * self.body and (not self.levels or self.levels[-1] - size > 0.4):
                self.levels.append(size)
        self.stack: list[tuple[float, float]] = []
        self.pieces: list[tuple[Piece, list[Line]]] = []

    def finished(self) -> list[Piece]:
        for piece, lines in self.pieces:
            if piece.kind == "code":
                piece.text = _code(lines)
            elif piece.kind == "doubtful" and len(lines) > 1:
                piece.text = "\n".join(_spaced(line) for line in lines)
            elif lines:
                is_marked = piece.kind == "item" and lines[0].bullet is None
                rows = [lines[0].words[is_marked:], *(line.words for line in lines[1:])]
                piece.kind = piece.kind.replace("doubtful", "prose")
                piece.text = words_text([row for row in rows if row], self.known)
        return [piece for piece, _ in self.pieces]

    def line(self, line: Line) -> None:
        goes_on = self._goes_on(line)
        level = 0
        if self._is_item(line, goes_on):
            self._item(line)
            return
        if line.mono and line.bullet is None and not goes_on:
            kind = "code"
        elif not goes_on and len(segments(line, _BLANK * line.size)) > 1:
            kind = "doubtful"
        else:
            level = self._level(line, goes_on)
            kind = "heading" if level else "prose"
        if goes_on or self._continues(line, kind):
            self.pieces[-1][1].append(line)
        elif kind == "heading":
            self.stack = []
            self._begin(kind, line, level=level)
        else:
            self._begin(kind, line, depth=self._depth(line))

    def table(self, grid: Grid) -> None:
        before = self.pieces[-1][0] if self.pieces else Piece("prose")
        if before.kind == "table" and before.rows[0] == grid.rows[0]:  # on the next page
            rows = grid.rows[1:]
            if rows and not rows[0][0]:  # the rest of a row that the page cut
                cut, *rows = rows
                before.rows[-1] = [" ".join(filter(None, pair))
                                   for pair in zip(before.rows[-1], cut, strict=True)]
            before.rows += rows
        else:
            self._begin("table", grid, rows=grid.rows)
        self.stack = []

    def _begin(self, kind: str, part: Line | Grid, **fields) -> None:
        self.pieces.append((Piece(kind, **fields),
                            [part] if isinstance(part, Line) else []))

    # True if the line is the next of a paragraph or an item
    def _goes_on(self, line: Line) -> bool:
        piece, lines = self.pieces[-1] if self.pieces else (Piece("table"), [])
        if piece.kind not in ("prose", "item"):
            return False
        before, is_second = lines[-1], len(lines) == 1
        left = self.stack[-1][1] if is_second and piece.kind == "item" else before.x0
        is_indented = is_second and piece.kind == "prose" and 0 < left - line.x0 < 30
        if not (abs(line.x0 - left) < 4 or is_indented) or (
                abs(line.size - before.size) > 0.6 and not line.mono):
            return False
        if before.page != line.page or line.top < before.top:  # a new page or column
            return not _SENTENCE_END.search(before.text) or line.text[0].islower()
        return line.middle - before.middle < (self.pitch + 0.35) * max(line.size, before.size)

    # True if the line is the next of a heading, of code or of a doubtful table
    def _continues(self, line: Line, kind: str) -> bool:
        piece, lines = self.pieces[-1] if self.pieces else (Piece("table"), [])
        if not lines:
            return False
        before, is_page = lines[-1], lines[-1].page == line.page
        gap = (line.middle - before.middle) / line.size
        if piece.kind == "doubtful":
            return is_page and 0 < gap < (3 if kind == "doubtful" else self.pitch + 0.35)
        if kind == piece.kind == "heading":
            return is_page and abs(line.size - before.size) <= 0.3 and 0 < gap < 1.6
        return kind == piece.kind == "code"

    def _level(self, line: Line, goes_on: bool) -> int:
        for level, size in enumerate(self.levels, 1):
            if line.size > size - 0.4:
                return level
        families = {re.split("[-,]", face)[0] for face in (line.face, self.face)}
        is_set_off = line.bold or line.face and len(families) == 2
        if goes_on or not is_set_off or line.size < self.body - 0.1 or line.text[-1] in ".:;,":
            return 0
        return len(self.levels) + 1 + (not line.bold)

    def _is_item(self, line: Line, goes_on: bool) -> bool:
        if line.bullet is not None or len(line.words) < 2:
            return line.bullet is not None
        mark = line.words[0]
        if _BULLET.fullmatch(mark.text):
            return not goes_on or mark.text in _SURE_BULLET
        return not goes_on and bool(_NUMBER.fullmatch(mark.text))

    def _item(self, line: Line) -> None:
        is_drawn, number = line.bullet is not None, None
        mark, text = (line.bullet, line.x0) if is_drawn else (line.x0, line.words[1].x0)
        while self.stack and mark < self.stack[-1][1] - 3:
            self.stack.pop()
        if not is_drawn and (found := _NUMBER.fullmatch(line.words[0].text)):
            number = int(found[1])
        self._begin("item", line, depth=len(self.stack), number=number)
        self.stack.append((mark, text))

    def _depth(self, line: Line) -> int:
        before = self.pieces[-1][1][-1:] if self.pieces else []
        is_moved = before and (line.page != before[0].page or line.top < before[0].top)
        while self.stack and not is_moved and line.x0 < self.stack[-1][1] - 4:
            self.stack.pop()
        return len(self.stack)


def _spaced(line: Line) -> str:
    parts = segments(line, _BLANK * line.size)
    return "   ".join(" ".join(word.text for word in part) for part in parts)


def _code(lines: Sequence[Line]) -> str:
    lead = min(line.x0 for line in lines)
    wide = median((word.x1 - word.x0) / len(word.text) for line in lines for word in line.words)
    text = ""
    for line in lines:
        row = ""
        for word in line.words:
            row = (row + " " * bool(row)).ljust(round((word.x0 - lead) / wide)) + word.text
        text += row + "\n"
    return text
