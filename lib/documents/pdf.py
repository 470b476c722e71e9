"""PDF pages by pdfplumber: lines and ruled tables in reading order, and the pieces that they make.

A PDF has no structure, only characters, rulings and their places. Lengths are in points; `top`
grows downwards.
"""

import io
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from statistics import median
from typing import NamedTuple

from lib.core.store import BadInput
from lib.documents.convert import (
    AT_NUMBER,
    LOWERED,
    MONOSPACE,
    RAISED,
    Converted,
    Piece,
    inline_runs,
    missing,
    write_markdown,
)

_BOLD = re.compile(r"bold|black|heavy|semibold|demi|cmbx|-bd\b", re.I)
# what its font does not name, and scripts that are written from right to left
_UNREAD = re.compile(
    r"(?:\(cid:\d+\)|[\0-\x1f\ufffd\ue000-\uf0a6\uf0a8-\uf0b6\uf0b8-\uf0d7\uf0d9-\uf0fb\uf0fd-\uf8ff"
    r"\u0590-\u08ff\ufb1d-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc])+"
)
_ROW = 0.68  # reaches raised marks, and columns side by side: their blank makes a line doubtful
_COLUMN_GAP = 7  # points; less is a blank between words

# between words of one word, and of Chinese and Japanese, stands no blank
_UNSPACED = re.compile(r"\w[-/][^\W_]\Z|[\u3001-\u30ff\u4e00-\u9fff\uff01-\uff60]{2}\Z")
_CUT_WORD = re.compile(r"(?<![^\W\d_])[^\W\d_]++[-\u2010\u00ad]$")
# a dash before a number may be its sign
_MARK = re.compile(
    r"(?:[\ufdd6•◦▪▫‣●○■□⁃∙·\uf0b7\uf0a7\uf0d8\uf0fc*]|o|\(?(\d{1,3})[.)]|[–—-](?! \d))(?= )"
)
_BLANK = 1.2  # of the font size, between cells of a row
_SENTENCE_END = re.compile(r"[.!?:;。！？][\"')\]]*$")


class Word(NamedTuple):
    """A word and its box in points."""

    text: str
    x0: float
    x1: float
    top: float
    bottom: float
    size: float
    face: str  # the font's name
    mono: bool

    @property
    def middle(self) -> float:
        """Its height on the page."""
        return (self.top + self.bottom) / 2


@dataclass
class Line:
    """Words from left to right."""

    words: list[Word]

    def __post_init__(self):
        widest = max(self.words, key=lambda word: word.x1 - word.x0)
        texts, x0s, _, tops, *_, faces, monos = zip(*self.words, strict=True)
        sizes = [word.size for word in self.words if not word.mono] or [widest.size]
        self.text, self.size = " ".join(texts), round(max(sizes), 1)
        self.x0, self.top = x0s[0], min(tops)
        self.middle = widest.middle
        self.is_row = len(segments(self, _BLANK * self.size)) > 1
        self.mono, self.bold = all(monos), all(map(_BOLD.search, faces))
        self.face = faces[0] if len({*faces}) == 1 else ""  # "" of several


@dataclass
class Grid:
    """A table with rulings."""

    rows: list[list[str]]
    x0: float
    top: float
    x1: float


@dataclass
class Page:
    """What is on a page: words, also bullets drawn as shapes, and tables with rulings."""

    width: float
    height: float
    words: list[Word]
    lacks: str  # marks for what is not read
    n_dropped: int  # letters that are printed twice or in a margin
    grids: list[Grid]


def read(raw: bytes) -> Converted:
    """Convert a PDF file. Raises BadInput for what is damaged, encrypted or has no text."""
    import pypdfium2

    pages = _pages(raw)
    lacks = "".join(page.lacks for page in pages)
    _drop_furniture(pages)
    gutter = _gutter(pages)
    left = min((word.x0 for page in pages for word in page.words), default=0)
    flow = [part for page in pages for part in _ordered(page, gutter, left)]
    reader = _Reader([line for line in flow if isinstance(line, Line)])
    for part in flow:
        (reader.line if isinstance(part, Line) else reader.table)(part)
    result = write_markdown([*reader.finished(), Piece("prose", lacks)])
    n_letters, n_pictures = _n_letters(result.markdown), lacks.count("picture")
    if n_letters <= 30 * n_pictures:  # fewer letters a page are captions or a stamp
        raise BadInput(
            f"no text in it: {n_pictures or 'none'} of {len(pages)} pages are pictures (a scan?); "
            "run a text recognition over it, or put its text beside it, as .md of the same name"
        )
    n_letters += sum(page.n_dropped for page in pages)
    n_originals = 1  # letters that pypdfium2 reads
    with suppress(pypdfium2.PdfiumError):
        for page in pypdfium2.PdfDocument(raw):
            n_originals += _n_letters(page.get_textpage().get_text_range())
    if (share := n_letters / n_originals) < 0.7:
        raise BadInput(f"only {share:.0%} of its letters can be read in order: save it as DOCX")
    return result


def _n_letters(text: str):
    return sum(map(str.isalnum, text))


def _pages(raw: bytes):
    import pdfplumber

    try:
        with pdfplumber.open(io.BytesIO(raw)) as document:
            return [*map(_page, document.pages)]
    except pdfplumber.utils.exceptions.PdfminerException as error:
        raise BadInput(
            f"encrypted, damaged or cut off ({error.args[0]!r}): save it anew without a password"
        ) from error


def _page(original) -> Page:
    places, turned = defaultdict(list), []  # the former of a letter, by line

    def is_first(one: dict) -> bool:  # bold type may be a letter printed twice, nearly in place
        if one["object_type"] != "char" or not one["text"].strip():
            return True
        along, across, *_ = one["matrix"]
        if abs(across) >= 0.02 * along:
            turned.append(one)
            return False
        text, step = one["text"], max(one["size"], 1) / 3
        row = int(one["top"] / step)
        apart = [abs(one["x0"] - x) for y in (row - 1, row, row + 1) for x in places[text, step, y]]
        places[text, step, row].append(one["x0"])
        near = min(apart, default=inf) / max(one["width"], 0.1)
        if 0.4 < near < 0.8:
            one["text"] += missing("letter printed twice")
        return near > 0.4

    page = original.filter(is_first)
    words = [
        Word(
            _UNREAD.sub(missing("letter that cannot be read"), one["text"]),
            *(one[name] for name in ("x0", "x1", "top", "bottom", "size")),
            one["fontname"].split("+")[-1],
            bool(MONOSPACE.search(one["fontname"])),
        )
        for one in page.extract_words(x_tolerance_ratio=0.15, extra_attrs=["fontname", "size"])
    ]
    covered = sum(one["width"] * one["height"] for one in page.images)
    result = Page(
        page.width,
        page.height,
        words,
        missing(f"picture as page {page.page_number}") * (2 * covered > page.width * page.height)
        + missing(f"turned text on page {page.page_number}") * bool(turned),
        len(original.chars) - len(page.chars) - len(turned),
        [],
    )
    _take_grids(page, result)
    for one in [*page.curves, *page.rects]:  # a mark of a list may be drawn
        if 1 < one["width"] < 7 and 1 < one["height"] < 7:
            place, y = {"x0": one["x0"], "x1": one["x1"]}, one["top"] + one["bottom"]
            result.words += [
                word._replace(text="\ufdd6", **place)  # `settle` drops one inside a line
                for word in result.words
                if 0 < word.x0 - place["x1"] < 30 and abs(2 * word.middle - y) < word.size
            ][:1]
    original.close()
    return result


def _take_grids(page, into: Page) -> None:
    for table in page.find_tables():
        columns, tops = (sorted({cell[at] for cell in table.cells}) for at in (0, 1))
        if len(columns) < 2 or len(tops) < 2:
            continue
        rows = [[""] * len(columns) for _ in tops]
        for x0, top, x1, bottom in table.cells:
            words = [
                one
                for one in into.words
                if x0 <= (one.x0 + one.x1) / 2 <= x1 and top <= one.middle <= bottom
            ]
            _remove(into, words)
            lines = lines_of(words, _ROW)
            text = words_text(lines)
            text += missing("cell of several columns") * any(line.is_row for line in lines)
            for row, y in zip(rows, tops, strict=True):
                for at, x in enumerate(columns):  # a merged cell is in each
                    if x0 - 1 <= x < x1 - 1 and top - 1 <= y < bottom - 1:
                        row[at] += text
        into.grids.append(Grid(rows, *table.bbox[:3]))


def _remove(page: Page, words: Sequence[Word]):
    page.words = [word for word in page.words if word not in words]


# What stands in the same place of a margin on many pages: page numbers, titles, print dates; but
# "Chapter 1" and "Chapter 2" in large type are headings
def _drop_furniture(pages: Sequence[Page]) -> None:
    lines = [(page, line) for page in pages for line in lines_of(page.words)]
    large = 1.2 * median([line.size for _, line in lines] or [0])
    places = defaultdict(list)
    for page, line in lines:
        margin = 0.13 * page.height  # where headers and footers are
        if line.size <= large and not margin - line.size <= line.top <= page.height - margin:
            places[re.sub(r"\b\d+", "#", line.text), round(line.middle / 3)].append((page, line))
    for repeated in places.values():
        if len(repeated) >= max(2, len(pages) * 0.4):
            for page, line in repeated:
                page.n_dropped += _n_letters(line.text)
                _remove(page, line.words)


# The ends of the left and the beginnings of the right column. A table has a blank strip too; but
# text in columns is as wide as its column on most lines
def _gutter(pages: Sequence[Page]):
    middle = max((page.width for page in pages), default=0) / 2
    lines = [line for page in pages for line in lines_of(page.words)]
    parts = [part for line in lines for part in segments(line, _COLUMN_GAP)]
    ends = [x1 for _, x1 in parts if x1 <= middle]
    starts = Counter(round(x0) for x0, _ in parts if x0 >= middle)
    n_across = sum(x0 < middle < x1 for x0, x1 in parts)
    if sum(end > 0.72 * middle for end in ends) <= 0.4 * len(ends) or not (
        n_across <= 0.2 * len(lines) < 0.8 * min(len(ends), starts.total())
    ):
        return inf, inf
    return max(ends), min(x for x, n in starts.items() if n > 0.05 * starts.total())


# Lines across both columns divide the page; between them the left column comes first. The right
# one is moved below it.
def _ordered(page: Page, gutter, margin: float):
    left, right = gutter
    across = [
        line
        for line in lines_of(page.words)
        if any(x0 < left - 1 and x1 > right + 1 for x0, x1 in segments(line, _COLUMN_GAP))
    ]
    for line in across:
        _remove(page, line.words)
    parts = [(0, line) for line in across]
    for is_right, by in ((False, 0), (True, right - margin)):
        words = [
            word._replace(x0=word.x0 - by, x1=word.x1 - by)
            for word in page.words
            if (word.x0 + word.x1 >= left + right) is is_right
        ]
        parts += [(1 + is_right, line) for line in lines_of(words, _ROW)]
    for grid in page.grids:
        side = 1 + (grid.x0 + grid.x1 > left + right)
        parts.append((side * (grid.x0 >= left - 5 or grid.x1 <= right + 5), grid))
    tops = [line.top for line in across]
    parts.sort(key=lambda part: (bisect_right(tops, part[1].top), part[0], part[1].top))
    return [one for _, one in parts]


def lines_of(words: Sequence[Word], reach: float = 0.4) -> list[Line]:
    """Group words by their baseline, from top to bottom; `reach` is a share of the font size."""
    rows = []
    for word in sorted(words, key=lambda one: one.middle):
        for row in rows[-3:]:
            base = max(row, key=lambda one: one.size)  # not a raised mark
            if abs(word.middle - base.middle) < reach * (word.size * base.size) ** 0.5:
                row.append(word)
                break
        else:
            rows.append([word])
    lines = (Line(sorted(row, key=lambda one: one.x0)) for row in rows)
    return sorted(lines, key=lambda one: one.top)


def segments(line: Line, least: float) -> list[list[float]]:
    """Return the ends [x0, x1] of the parts of a line between blanks of at least `least`."""
    parts = [[line.x0, line.x0]]
    for before, word in pairwise(line.words[:1] + line.words):
        if word.x0 - before.x1 >= least and before.text not in "\ufdd6•◦▪‣●○■":
            parts.append([word.x0, inf])
        parts[-1][1] = word.x1
    return parts


def words_text(lines: Sequence[Line], known: frozenset[str] = frozenset()) -> str:
    """Return lines as one paragraph of inline Markdown.

    A hyphen at the end of a line is removed, unless the word with it is among the `known`;
    monospaced words become code.
    """
    runs = []
    for line in lines:
        for before, word in pairwise([None, *line.words]):
            glue, form = "", "{}"
            if before:  # a word in several fonts has no gap
                glue = " " * (word.x0 - before.x1 >= 0.12 * word.size)
                rise = (before.bottom - word.bottom) / before.size
                if word.size < 0.8 * before.size and not -0.03 < rise < 0.2:
                    form = f"{{}}{AT_NUMBER}" if glue else RAISED if rise > 0 else LOWERED
            elif runs:
                mono, text = runs[-1]
                runs[-1] = mono, _cut(text, word.text, known)
            runs.append((word.mono, glue + form.format(word.text)))
    return inline_runs(runs)


# The text of a line as the next one goes on: without its hyphen, or with a blank
def _cut(text: str, following: str, known: frozenset[str]) -> str:
    if _CUT_WORD.search(text) and following[:1].islower():
        is_whole = text.strip().lower() + re.match(r"[\w-]*", following)[0].lower() in known
        return text if is_whole else text[:-1]
    return text + " " * (not _UNSPACED.search(text[-2:] + following[:1]))


# Lines that look like rows of a table without rulings are doubtful.
# `stack` holds where the texts of the open list items begin
class _Reader:
    def __init__(self, lines: Sequence[Line]):
        text = Counter()
        for line in lines:
            if not line.mono and line.face:
                text[line.size, line.face] += len(line.text)
        self.body, self.face = text.most_common(1)[0][0] if text else (10.0, "")
        # the distance of lines of running text, as a multiple of their font size
        self.pitch = median(
            [
                step
                for before, line in pairwise(lines)
                if 0.9 < (step := (line.middle - before.middle) / line.size) < 2.2
            ]
            or [1.3]
        )
        words = " ".join(line.text for line in lines).lower()
        self.known = frozenset(re.findall(r"[\w-]+", words))
        self.levels = []  # the font sizes of headings, largest first
        for size in sorted({line.size for line in lines if not line.mono}, reverse=True):
            if size > 1.08 * self.body and (not self.levels or self.levels[-1] - size > 0.4):
                self.levels.append(size)
        self.stack = []
        self.pieces = [(Piece("heading"), [])]  # none yet

    def finished(self) -> list[Piece]:
        for piece, lines in self.pieces:
            if piece.kind == "code" or piece.kind == "doubtful" and len(lines) > 1:
                piece.text = "\n".join(line.text for line in lines)
            elif lines:
                piece.kind = piece.kind.replace("doubtful", "prose")
                piece.text = words_text(lines, self.known)
        return [piece for piece, _ in self.pieces[1:]]

    def line(self, line: Line) -> None:
        goes_on, mark = self._goes_on(line), _MARK.match(line.text)
        if mark and (not goes_on or mark[0] in "\ufdd6•◦▪‣●○■"):
            item = Line(line.words[1:])
            item.size = line.size  # of the mark too: what follows may be code in a smaller font
            piece = Piece("item", depth=self._depth(line.x0 + 1))
            if mark[1]:
                piece.number = int(mark[1])
            self.pieces.append((piece, [item]))
            self.stack.append(item.x0)
            return
        level = self._level(line)
        kind = (
            "code" if line.mono else "doubtful" if line.is_row else "heading" if level else "prose"
        )
        if goes_on or self._continues(line, kind):
            self.pieces[-1][1].append(line)
            return
        if kind == "heading":
            self.stack = []
        self.pieces.append((Piece(kind, level=level, depth=self._depth(line.x0)), [line]))

    def table(self, grid: Grid) -> None:
        before, _ = self.pieces[-1]
        if before.kind == "table" and before.rows[0] == grid.rows[0]:  # on the next page
            rows = grid.rows[1:]
            if rows and not rows[0][0]:  # the rest of a row that the page cut
                pairs = zip(before.rows[-1], rows.pop(0), strict=True)
                before.rows[-1] = [" ".join(filter(None, pair)) for pair in pairs]
            before.rows += rows
        else:
            if before.kind == "table" and len(before.rows[0]) == len(grid.rows[0]):
                grid.rows[0][0] += missing("row that may be no header")
            self.pieces.append((Piece("table", rows=grid.rows), []))
        self.stack = []

    # True if the line is the next of a paragraph or an item
    def _goes_on(self, line: Line) -> bool:
        piece, lines = self.pieces[-1]
        if piece.kind not in ("prose", "item"):
            return False
        before = lines[-1]
        is_indented = len(lines) == 1 and piece.kind == "prose" and 0 < before.x0 - line.x0 < 30
        if not (abs(line.x0 - before.x0) < 4 or is_indented) or (
            abs(line.size - before.size) > 0.6 and not line.mono
        ):
            return False
        if line.top < before.top:  # a new page or column
            return not _SENTENCE_END.search(before.text) or line.text[0].islower()
        return line.middle - before.middle < (self.pitch + 0.35) * max(line.size, before.size)

    # True if the line is the next of a heading, of code or of a doubtful table
    def _continues(self, line: Line, kind: str) -> bool:
        piece, lines = self.pieces[-1]
        if not lines:
            return False
        before = lines[-1]
        gap = (line.middle - before.middle) / line.size
        if piece.kind == "doubtful":
            return 0 < gap < (3 if kind == "doubtful" else self.pitch + 0.35)
        if kind == piece.kind == "heading":
            return abs(line.size - before.size) <= 0.3 and 0 < gap < 1.6
        return kind == piece.kind == "code"

    def _level(self, line: Line) -> int:
        for level, size in enumerate(self.levels, 1):
            if line.size > size - 0.4:
                return level
        families = {re.split("[-,]", face)[0] for face in (line.face, self.face)}
        is_set_off = line.bold or line.face and len(families) == 2
        if not is_set_off or line.size < self.body - 0.1 or line.text[-1] in ".:;,":
            return 0
        return len(self.levels) + 1 + (not line.bold)

    def _depth(self, x: float) -> int:
        while self.stack and x < self.stack[-1] - 4:
            self.stack.pop()
        return len(self.stack)
