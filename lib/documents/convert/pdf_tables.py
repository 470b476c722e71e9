"""Find tables without rulings: lines whose words are in the same columns (borderless, booktabs)."""

from collections.abc import Sequence
from dataclasses import dataclass

from lib.documents.convert.pdf_lines import Grid, Line, Word, segments, words_text

_LEAST_BLANK = 0.75  # of the font size, between two columns
_LEAST_ROWS = 2


@dataclass
class Aligned:
    """Lines `start:end` of a column as a table; `sure` is False if a cell may be in two columns."""

    start: int
    end: int
    grid: Grid
    sure: bool


def aligned(lines: Sequence[Line | Grid], at: int, pitch: float) -> Aligned | None:
    """Return the table that begins with line `at`, None if there is none.

    `pitch` is the distance of lines of running text as a multiple of their font size.
    """
    end, columns = _extent(lines, at, pitch)
    if len(columns) < 2:
        return None
    taken = list(lines[at:end])
    rows = _rows(taken, columns, pitch)
    full = sum(sum(map(bool, row)) > 1 for row in rows)
    ruled = any(line.rules for line in taken[:2])
    strong = ruled or (taken[0].bold and not all(line.bold for line in taken))
    if len(rows) < _LEAST_ROWS or full < (2 if strong else 3) or full < 0.5 * len(rows):
        return None
    texts = [[words_text(cell) for cell in row] for row in rows]
    grid = Grid(texts, columns[0][0], columns[-1][1], taken[0].top, taken[-1].bottom,
                taken[0].page, [left for left, _ in columns])
    return Aligned(at, end, grid, strong and _is_sure(texts))


def _extent(lines: Sequence[Line | Grid], at: int,
            pitch: float) -> tuple[int, list[tuple[float, float]]]:
    """Return the end of the table that begins at `at`, and its columns as (x0, x1)."""
    first = lines[at]
    columns = [(part[0].x0, part[-1].x1) for part in _parts(first)]
    if len(columns) < 2 or first.bullet is not None:
        return at, []
    end = at + 1
    while end < len(lines):
        line, before = lines[end], lines[end - 1]
        if isinstance(line, Grid) or line.page != first.page or line.bullet is not None:
            break
        far = line.middle - before.middle > (pitch + 1.3) * first.size
        if far or line.top < before.top or abs(line.size - first.size) > 0.6 and not line.mono:
            break
        grown = _grown(columns, [(part[0].x0, part[-1].x1) for part in _parts(line)], first.size)
        if grown is None:
            break
        columns = grown
        end += 1
    return end, columns


def _parts(line: Line) -> list[list[Word]]:
    return segments(line, _LEAST_BLANK * line.size)


def _grown(columns: list[tuple[float, float]], parts: list[tuple[float, float]],
           size: float) -> list[tuple[float, float]] | None:
    """Widen columns to hold `parts`; None if a part is in two columns."""
    grown = list(columns)
    for x0, x1 in parts:
        over = [at for at, (left, right) in enumerate(grown)
                if x0 < right + 0.3 * size and x1 > left - 0.3 * size]
        if len(over) != 1:
            return None
        left, right = grown[over[0]]
        grown[over[0]] = min(left, x0), max(right, x1)
    return grown


def _rows(lines: Sequence[Line], columns: list[tuple[float, float]],
          pitch: float) -> list[list[list[list[Word]]]]:
    """Return rows of cells of lines of words.

    A row ends where the lines are further apart than in running text; where they never are, a
    line without its first cell continues the row above it.
    """
    gaps = [after.middle - before.middle for before, after in zip(lines, lines[1:], strict=False)]
    limit = (pitch + 0.15) * min(line.size for line in lines)
    spaced = any(gap > limit for gap in gaps)
    rows: list[list[list[list[Word]]]] = []
    for at, line in enumerate(lines):
        cells: list[list[Word]] = [[] for _ in columns]
        for word in line.words:
            middle = (word.x0 + word.x1) / 2
            place = next(n for n, (left, right) in enumerate(columns)
                         if left - 1 <= middle <= right + 1)
            cells[place].append(word)
        new = at == 0 or (gaps[at - 1] > limit if spaced else bool(cells[0]))
        if new:
            rows.append([[] for _ in columns])
        for cell, words in zip(rows[-1], cells, strict=True):
            if words:
                cell.append(words)
    return rows


def _is_sure(rows: Sequence[Sequence[str]]) -> bool:
    """Whether every column has a header and most rows have their first cell."""
    return sum(map(bool, rows[0])) >= len(rows[0]) - 1 and (
        sum(bool(row[0]) for row in rows[1:]) >= 0.7 * (len(rows) - 1))
