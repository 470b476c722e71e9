"""PDF pages by pdfplumber: lines and ruled tables in reading order, and the pieces that they make.

A PDF has no structure, only characters, rulings and their places. Lengths are in points; `top`
grows downwards.
"""

import io
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from statistics import median
from typing import NamedTuple

from lib.core.store import BadInput
from lib.documents.convert import (
    MONOSPACE,
    Converted,
    Piece,
    inline_runs,
    missing,
    write_markdown,
)

MIN_WORDS = 5  # of a page: one with fewer and a large picture is a scan
LEAST_LETTERS = 0.7  # of those that pypdfium2 reads

_BOLD = re.compile(r"bold|black|heavy|semibold|demi|cmbx|-bd\b", re.I)
_NO_LETTER = re.compile(r"\(cid:\d+\)")  # its font does not say which it is
_COLUMN_GAP = 7  # points; less is a blank between words
_MARGIN = 0.13  # of a page's height, where headers and footers are

# between words of one word, and of Chinese and Japanese, stands no blank
_UNSPACED = re.compile(r"\w[-/][^\W_]\Z|[\u3001-\u30ff\u4e00-\u9fff\uff01-\uff60]{2}\Z")
_CUT_WORD = re.compile(r"(?<![^\W\d_])[^\W\d_]++[-\u2010\u00ad]$")
_MARK = re.compile(r"[•◦▪▫‣●○■□⁃∙·\uf0b7\uf0a7–—*-]|o|\(?(\d{1,3})[.)]")
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


@dataclass
class Line:
    """Words from left to right; `bullet` is the x of a mark that is drawn left of them."""

    words: list[Word]
    bullet: float | None = None

    def __post_init__(self):
        widest = max(self.words, key=lambda word: word.x1 - word.x0)
        texts, x0s, _, tops, *_, faces, monos = zip(*self.words, strict=True)
        sizes = [word.size for word in self.words if not word.mono] or [widest.size]
        self.text, self.size = " ".join(texts), round(max(sizes), 1)
        self.x0, self.top = x0s[0], min(tops)
        self.middle = (widest.top + widest.bottom) / 2
        self.mono, self.bold = all(monos), all(map(_BOLD.search, faces))
        self.face = faces[0] if len({*faces}) == 1 else ""  # "" of several


@dataclass
class Grid:
    """A table with rulings."""

    rows: list[list[str]]
    x0: float
    top: float
    x1: float
    bottom: float


@dataclass
class Page:
    """What is on a page: words, bullets drawn as shapes, tables with rulings."""

    width: float
    height: float
    words: list[Word]
    bullets: list[tuple[float, float]]  # x, y
    is_scan: bool
    n_dropped: int  # letters that are printed twice or in a margin
    grids: list[Grid] = field(default_factory=list)


def read(raw: bytes) -> Converted:
    """Convert a PDF file. Raises BadInput for what is damaged, encrypted or has no text."""
    pages = _pages(raw)
    scans = [number for number, page in enumerate(pages, 1) if page.is_scan]
    _drop_furniture(pages)
    gutter = _gutter(pages)
    left = min((word.x0 for page in pages for word in page.words), default=0)
    flow = [part for page in pages for part in _ordered(page, gutter, left)]
    reader = _Reader([line for line in flow if isinstance(line, Line)])
    for part in flow:
        (reader.line if isinstance(part, Line) else reader.table)(part)
    lacking = [Piece("prose", missing(f"picture as page {number}")) for number in scans]
    result = write_markdown([*reader.finished(), *lacking])
    if not result.markdown or 2 * len(scans) > len(pages):
        raise BadInput(
            f"no text in it: {len(scans) or 'none'} of {len(pages)} pages are pictures (a scan?); "
            "run a text recognition over it, or put its text beside it, as .md of the same name"
        )
    n_letters = _n_letters(result.markdown) + sum(page.n_dropped for page in pages)
    if (share := n_letters / max(1, _n_letters(_plain(raw)))) < LEAST_LETTERS:
        raise BadInput(f"only {share:.0%} of its letters can be read in order: save it as DOCX")
    return result


def _n_letters(text: str) -> int:
    return sum(map(str.isalnum, _NO_LETTER.sub("", text)))


def _plain(raw: bytes) -> str:
    import pypdfium2

    with suppress(pypdfium2.PdfiumError), closing(pypdfium2.PdfDocument(raw)) as document:
        return "".join(page.get_textpage().get_text_range() for page in document)
    return ""


def _pages(raw: bytes) -> list[Page]:
    import pdfplumber
    from pdfminer.pdfdocument import PDFPasswordIncorrect
    from pdfplumber.utils.exceptions import PdfminerException

    try:
        with pdfplumber.open(io.BytesIO(raw)) as document:
            pages = [*map(_page, document.pages)]
    except PdfminerException as error:
        cause = error.args[0]
        if isinstance(cause, PDFPasswordIncorrect):
            raise BadInput("encrypted: save it without a password") from error
        raise BadInput(f"damaged or cut off ({type(cause).__name__}: {cause})") from error
    if not pages:
        raise BadInput("damaged or cut off (it has no page)")
    return pages


def _page(original) -> Page:
    places = defaultdict(list)  # of a letter, by line

    def is_first(one: dict) -> bool:  # bold type may be a letter printed twice, nearly in place
        if one["object_type"] != "char" or not one["text"].strip():
            return True
        text, step = one["text"], max(one["size"], 1) / 3
        row = int(one["top"] / step)
        around = [x for y in (row - 1, row, row + 1) for x in places[text, step, y]]
        places[text, step, row].append(one["x0"])
        apart = [abs(one["x0"] - x) for x in around]
        near = min(apart, default=inf) / max(one["width"], 0.1)
        if 0.4 < near < 0.8:
            one["text"] += missing("letter printed twice")
        return near > 0.4

    page = original.filter(is_first)
    found = page.extract_words(x_tolerance_ratio=0.15, extra_attrs=["fontname", "size", "upright"])
    words = [
        Word(
            *(one[name] for name in ("text", "x0", "x1", "top", "bottom", "size")),
            one["fontname"].split("+")[-1],
            bool(MONOSPACE.search(one["fontname"])),
        )
        for one in found
        if one["upright"]
    ]
    bullets = [
        ((one["x0"] + one["x1"]) / 2, (one["top"] + one["bottom"]) / 2)
        for one in [*page.curves, *page.rects]
        if 1 < one["width"] < 7 and 0.7 < one["width"] / max(one["height"], 0.1) < 1.4
    ]
    covered = sum(one["width"] * one["height"] for one in page.images)
    is_scan = len(words) < MIN_WORDS and 2 * covered > page.width * page.height
    result = Page(
        page.width, page.height, words, bullets, is_scan, len(original.chars) - len(page.chars)
    )
    _take_grids(page, result)
    original.close()
    return result


def _take_grids(page, into: Page) -> None:
    for table in page.find_tables():
        columns, tops = (sorted({cell[at] for cell in table.cells}) for at in (0, 1))
        if len(columns) < 2 or len(tops) < 2:
            continue
        texts = []
        for x0, top, x1, bottom in table.cells:
            words = [
                one
                for one in into.words
                if x0 <= (one.x0 + one.x1) / 2 <= x1 and top <= (one.top + one.bottom) / 2 <= bottom
            ]
            _remove(into, words)
            texts.append((x0 - 1, top - 1, x1 - 1, bottom - 1, words_text(lines_of(words))))
        rows = [
            [
                "".join(  # of a merged cell in each
                    text
                    for x0, top, x1, bottom, text in texts
                    if x0 <= x < x1 and top <= y < bottom
                )
                for x in columns
            ]
            for y in tops
        ]
        into.grids.append(Grid(rows, *table.bbox))


def _remove(page: Page, words: Sequence[Word]) -> None:
    page.words = [word for word in page.words if word not in words]


# What stands in the same place of a margin on many pages: page numbers, titles, print dates; but
# "Chapter 1" and "Chapter 2" in large type are headings
def _drop_furniture(pages: Sequence[Page]) -> None:
    lines = [(page, line) for page in pages for line in lines_of(page.words)]
    large = 1.2 * median([line.size for _, line in lines] or [0])
    places = defaultdict(list)
    for page, line in lines:
        margin = page.height * _MARGIN
        is_inside = margin - line.size <= line.top <= page.height - margin
        if not is_inside and line.size <= large:
            places[re.sub(r"\d+", "#", line.text), round(line.middle / 3)].append((page, line))
    for repeated in places.values():
        if len(repeated) >= max(2, len(pages) * 0.4):
            for page, line in repeated:
                page.n_dropped += _n_letters(line.text)
                _remove(page, line.words)


# The ends of the left and the beginnings of the right column. A table has a blank strip too; but
# text in columns is as wide as its column on most lines
def _gutter(pages: Sequence[Page]):
    width = max(page.width for page in pages)
    rows = [segments(line, _COLUMN_GAP) for page in pages for line in lines_of(page.words)]
    ends = [x1 for row in rows for _, x1 in row if x1 <= width / 2]
    starts = Counter(round(x0) for row in rows for x0, _ in row if x0 >= width / 2)
    n_across = sum(x0 < width / 2 < x1 for row in rows for x0, x1 in row)
    n_full = sum(end > 0.36 * width for end in ends)
    is_text = n_across <= 0.2 * len(rows) < 0.8 * min(len(ends), starts.total())
    if not is_text or n_full <= 0.4 * len(ends):
        return inf, inf
    return max(ends), min(x for x, n in starts.items() if n > 0.05 * starts.total())


# Lines across both columns divide the page; between them the left column comes first. The right
# one is moved below it.
def _ordered(page: Page, gutter, margin: float):
    left, right = gutter
    across = [
        line
        for line in lines_of(page.words, page.bullets)
        if any(x0 < left - 1 and x1 > right + 1 for x0, x1 in segments(line, _COLUMN_GAP))
    ]
    for line in across:
        _remove(page, line.words)
    parts = [across]
    for is_right, by in ((False, 0), (True, right - margin)):
        words = [
            word._replace(x0=word.x0 - by, x1=word.x1 - by)
            for word in page.words
            if (word.x0 + word.x1 >= left + right) is is_right
        ]
        parts.append(lines_of(words, [(x - by, y) for x, y in page.bullets]))
    for grid in page.grids:
        is_across = grid.x0 < left - 5 and grid.x1 > right + 5
        parts[0 if is_across else 1 + (grid.x0 + grid.x1 > left + right)].append(grid)
    tops = sorted(one.top for one in across)
    placed = [
        (bisect_right(tops, one.top), at, one.top, one)
        for at, own in enumerate(parts)
        for one in own
    ]
    return [one for *_, one in sorted(placed, key=lambda place: place[:3])]


def lines_of(words: Sequence[Word], bullets: Sequence[tuple[float, float]] = ()) -> list[Line]:
    """Group words by their baseline, from top to bottom."""
    rows = []
    for word in sorted(words, key=lambda one: one.top + one.bottom):
        for row in rows[-3:]:
            apart = abs(word.top + word.bottom - row[0].top - row[0].bottom) / 2
            if apart < 0.4 * min(word.size, row[0].size):
                row.append(word)
                break
        else:
            rows.append([word])
    lines = [Line(sorted(row, key=lambda one: one.x0)) for row in rows]
    for line in lines:
        near = (
            x
            for x, y in bullets
            if abs(y - line.middle) < 0.5 * line.size and line.x0 - 30 < x < line.x0
        )
        line.bullet = max(near, default=None)
    return sorted(lines, key=lambda one: one.top)


def segments(line: Line, least: float) -> list[list[float]]:
    """Return the ends [x0, x1] of the parts of a line between blanks of at least `least`."""
    parts = [[line.x0, line.x0]]
    for word in line.words:
        if word.x0 - parts[-1][1] >= least:
            parts.append([word.x0, word.x1])
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
            glue = ""
            if before:  # a word in several fonts has no gap
                glue = " " * (word.x0 - before.x1 >= 0.12 * word.size)
            elif runs:
                mono, text = runs[-1]
                runs[-1] = mono, _cut(text, word.text, known)
            runs.append((word.mono, glue + word.text))
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
        goes_on, mark = self._goes_on(line), _MARK.fullmatch(line.words[0].text)
        if line.bullet is not None:
            self._item(line, line.bullet)
            return
        if mark and len(line.words) > 1 and (not goes_on or mark[0] in "•◦▪‣●○■"):
            item = Line(line.words[1:])
            item.size = line.size  # of the mark too: what follows may be code in a smaller font
            self._item(item, line.x0, mark[1])
            return
        level = self._level(line)
        is_row = len(segments(line, _BLANK * line.size)) > 1
        kind = "heading" if level else "prose"
        kind = "code" if line.mono else "doubtful" if is_row else kind
        if goes_on or self._continues(line, kind):
            self.pieces[-1][1].append(line)
            return
        if kind == "heading":
            self.stack = []
        self._begin(kind, line, level=level, depth=self._depth(line.x0))

    def table(self, grid: Grid) -> None:
        before, _ = self.pieces[-1]
        if before.kind == "table" and before.rows[0] == grid.rows[0]:  # on the next page
            rows = grid.rows[1:]
            if rows and not rows[0][0]:  # the rest of a row that the page cut
                pairs = zip(before.rows[-1], rows.pop(0), strict=True)
                before.rows[-1] = [" ".join(filter(None, pair)) for pair in pairs]
            before.rows += rows
        else:
            self._begin("table", rows=grid.rows)
        self.stack = []

    def _begin(self, kind: str, *lines: Line, **fields) -> None:
        self.pieces.append((Piece(kind, **fields), [*lines]))

    # True if the line is the next of a paragraph or an item
    def _goes_on(self, line: Line) -> bool:
        piece, lines = self.pieces[-1]
        if piece.kind not in ("prose", "item"):
            return False
        before, is_second = lines[-1], len(lines) == 1
        is_indented = is_second and piece.kind == "prose" and 0 < before.x0 - line.x0 < 30
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

    def _item(self, line: Line, x: float, number: str | None = None) -> None:
        self._begin("item", line, depth=self._depth(x + 1), number=int(number) if number else None)
        self.stack.append(line.x0)

    def _depth(self, x: float) -> int:
        while self.stack and x < self.stack[-1] - 4:
            self.stack.pop()
        return len(self.stack)
