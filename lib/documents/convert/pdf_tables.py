"""Find tables without rulings: lines whose words are in the same columns (borderless, booktabs)."""

from collections.abc import Sequence
from itertools import pairwise

from lib.documents.convert.pdf_lines import Grid, Line, Word, segments, words_text

_LEAST_BLANK = 0.75  # of the font size, between two columns
_LEAST_ROWS = 2


def aligned(lines: Sequence[Line | Grid], at: int,
            pitch: float) -> tuple[int, Grid, bool] | None:
    """Return the table that begins with line `at`: its end, its cells, and whether they are sure.

    None if there is none. `pitch` is the distance of lines of running text as a multiple of their
    font size.
    """
    end, columns, n_head = _ruled(lines, at, pitch)
    is_ruled = bool(columns)
    if not is_ruled:
        end, columns = _extent(lines, at, pitch)
    if len(columns) < 2:
        return None
    taken = list(lines[at:end])
    ends = [line.rules == columns for line in taken]
    rows, spaced = _rows(taken, columns, pitch, n_head, ends if sum(ends) > 2 else [])
    full = sum(sum(map(bool, row)) > 1 for row in rows)
    headed = taken[0].bold and not all(line.bold for line in taken)
    if len(rows) < _LEAST_ROWS or not (
            is_ruled or headed and (full > 1 or spaced) or full > 2 and full >= 0.5 * len(rows)):
        return None
    texts = [[words_text(cell) for cell in row] for row in rows]
    grid = Grid(texts, columns[0][0], columns[-1][1], taken[0].top, taken[-1].bottom,
                taken[0].page, [left for left, _ in columns])
    return end, grid, (is_ruled or headed) and _is_sure(texts)


def _ruled(lines: Sequence[Line | Grid], at: int,
           pitch: float) -> tuple[int, list[tuple[float, float]], int]:
    for head in range(at, min(at + 5, len(lines))):
        line = lines[head]
        if isinstance(line, Grid) or line.page != lines[at].page or line.bullet is not None:
            break
        if head > at and not line.bold:
            break
        if len(line.rules) < 2 or not all(
                abs(right - left) < 2 for (_, right), (left, _) in pairwise(line.rules)):
            continue
        left, right = line.rules[0][0] - 2, line.rules[-1][1] + 2
        if any(one.x0 < left or one.x1 > right or one.bold != line.bold
               or abs(one.size - line.size) > 0.6 for one in lines[at:head + 1]):
            break
        end = last = head + 1
        while end < len(lines) and _is_near(lines, end, pitch) and (
                lines[end].x0 >= left and lines[end].x1 <= right):
            end += 1
            if lines[end - 1].rules == line.rules:
                last = end
        end = last if last > head + 1 else end  # a page may cut it above its last rule
        return (end, line.rules, head + 1 - at) if end > head + 1 else (at, [], 0)
    return at, [], 0


def _is_near(lines: Sequence[Line | Grid], at: int, pitch: float) -> bool:
    line, before = lines[at], lines[at - 1]
    return isinstance(line, Line) and line.page == before.page and (
        0 <= line.middle - before.middle < (pitch + 1.3) * before.size)


def _extent(lines: Sequence[Line | Grid], at: int,
            pitch: float) -> tuple[int, list[tuple[float, float]]]:
    first = lines[at]
    columns = [(part[0].x0, part[-1].x1) for part in _parts(first)]
    if len(columns) < 2 or first.bullet is not None:
        return at, []
    end, widest = at + 1, 0.0
    while end < len(lines) and _is_near(lines, end, pitch):
        line = lines[end]
        parts, gap = _parts(line), line.middle - lines[end - 1].middle
        if line.bullet is not None or abs(line.size - first.size) > 0.6 and not line.mono:
            break
        if len(parts) == 1 and (line.bold and not lines[end - 1].bold or gap > 1.25 * widest > 0):
            break
        widest = max(widest, gap)
        grown = _grown(columns, [(part[0].x0, part[-1].x1) for part in parts], first.size)
        if grown is None:
            break
        columns = grown
        end += 1
    return end, columns


def _parts(line: Line) -> list[list[Word]]:
    return segments(line, _LEAST_BLANK * line.size)


# None if a part is in two columns
def _grown(columns: list[tuple[float, float]], parts: list[tuple[float, float]],
           size: float) -> list[tuple[float, float]] | None:
    grown = list(columns)
    for x0, x1 in parts:
        over = [at for at, (left, right) in enumerate(grown)
                if x0 < right + 0.3 * size and x1 > left - 0.3 * size]
        if len(over) != 1:
            return None
        left, right = grown[over[0]]
        grown[over[0]] = min(left, x0), max(right, x1)
    return grown


# A row ends where `ends` says so; else where the lines are further apart than in running text;
# where they never are, a line without its first cell continues the row above it. The first `n_head`
# lines are one row.
def _rows(lines: Sequence[Line], columns: Sequence[tuple[float, float]], pitch: float,
          n_head: int, ends: Sequence[bool]) -> tuple[list[list[list[list[Word]]]], bool]:
    gaps = [after.middle - before.middle for before, after in pairwise(lines)]
    limit = (pitch + 0.15) * min(line.size for line in lines)
    spaced = any(gap > limit for gap in gaps)
    rows: list[list[list[list[Word]]]] = []
    for at, line in enumerate(lines):
        cells: list[list[Word]] = [[] for _ in columns]
        for word in line.words:
            place = _nearest(columns, (word.x0 + word.x1) / 2)
            cells[place].append(word)
        is_apart = ends[at - 1] if ends else gaps[at - 1] > limit if spaced else bool(cells[0])
        if at == 0 or at >= n_head and is_apart:
            rows.append([[] for _ in columns])
        for cell, words in zip(rows[-1], cells, strict=True):
            if words:
                cell.append(words)
    return rows, spaced


def _nearest(columns: Sequence[tuple[float, float]], x: float) -> int:
    return min(range(len(columns)), key=lambda n: max(columns[n][0] - x, x - columns[n][1]))


def _is_sure(rows: Sequence[Sequence[str]]) -> bool:
    return sum(map(bool, rows[0])) >= len(rows[0]) - 1 and (
        sum(bool(row[0]) for row in rows[1:]) >= 0.7 * (len(rows) - 1))
