"""PDF pages as lines and ruled tables in reading order, by pdfplumber.

A PDF has no structure, only characters, rulings and their places. Lengths are in points; `top`
grows downwards.
"""

import io
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from statistics import median

from lib.core.store import BadInput
from lib.documents.convert import Converted, write_markdown
from lib.documents.pdf_layout import (
    Grid,
    Line,
    Word,
    lines_of,
    pieces_of,
    segments,
    words_text,
)

MIN_WORDS = 5  # a page, on average: else it is a scan

_MONOSPACE = re.compile(r"mono|courier|consol|menlo|typewriter|cmtt|inconsolata|fixed|code", re.I)
_BOLD = re.compile(r"bold|black|heavy|semibold|demi|cmbx|-bd\b", re.I)
_COLUMN_GAP = 7  # points; less is a blank between words
_MARGIN = 0.13  # of a page's height, where headers and footers are


@dataclass
class Page:
    """What is on a page: words, bullets drawn as shapes, tables with rulings."""

    width: float
    height: float
    words: list[Word]
    bullets: list[tuple[float, float]]  # x, y
    grids: list[Grid] = field(default_factory=list)

    @property
    def lines(self) -> list[Line]:
        """Return its words as lines, from top to bottom."""
        return lines_of(self.words, self.bullets)


def read(raw: bytes) -> Converted:
    """Convert a PDF file. Raises BadInput for what is damaged, encrypted or has no text."""
    pages = _pages(raw)
    cells = [cell for page in pages for grid in page.grids for row in grid.rows for cell in row]
    words = [word.text for page in pages for word in page.words] + cells
    if len(words) < MIN_WORDS * len(pages):
        raise BadInput(
            f"no text in it: {len(pages)} pages of pictures (a scan?); run a text "
            "recognition over it"
        )
    if 2 * sum(word.startswith("(cid:") for word in words) > len(words):
        raise BadInput("most of its text has no letters: its fonts do not say which they are")
    _drop_furniture(pages)
    gutter = _gutter(pages)
    left = min((word.x0 for page in pages for word in page.words), default=0)
    return write_markdown(
        pieces_of([part for page in pages for part in _ordered(page, gutter, left)])
    )


def _pages(raw: bytes) -> list[Page]:
    import pdfplumber
    from pdfminer.pdfdocument import PDFPasswordIncorrect
    from pdfplumber.utils.exceptions import PdfminerException

    try:
        with pdfplumber.open(io.BytesIO(raw)) as document:
            pages = []
            for page in document.pages:
                pages.append(_page(page))
                page.close()
    except PdfminerException as error:
        cause = error.args[0] if error.args else error
        if isinstance(cause, PDFPasswordIncorrect):
            raise BadInput("encrypted: save it without a password") from error
        if isinstance(cause, MemoryError):
            raise cause from None
        raise BadInput(f"damaged or cut off ({type(cause).__name__}: {cause})") from error
    if not pages:
        raise BadInput("damaged or cut off (it has no page)")
    return pages


def _page(page) -> Page:
    found = page.extract_words(x_tolerance_ratio=0.15, extra_attrs=["fontname", "size", "upright"])
    words = [
        Word(
            *(one[name] for name in ("text", "x0", "x1", "top", "bottom", "size")),
            bool(_MONOSPACE.search(one["fontname"])),
            bool(_BOLD.search(one["fontname"])),
            one["fontname"].split("+")[-1],
        )
        for one in found
        if one["upright"]
    ]
    bullets = [
        ((one["x0"] + one["x1"]) / 2, (one["top"] + one["bottom"]) / 2)
        for one in [*page.curves, *page.rects]
        if 1 < one["width"] < 7 and 0.7 < one["width"] / max(one["height"], 0.1) < 1.4
    ]
    result = Page(page.width, page.height, words, bullets)
    _take_grids(page, result)
    return result


def _take_grids(page, into: Page) -> None:
    for table in page.find_tables():
        columns, tops = (sorted({cell[at] for cell in table.cells}) for at in (0, 1))
        if len(columns) < 2 or len(tops) < 2:
            continue
        texts = [
            (cell, words_text([line.words for line in lines_of(_inside(into.words, *cell), [])]))
            for cell in table.cells
        ]
        rows = [
            [
                "".join(
                    text
                    for (x0, top, x1, bottom), text in texts  # of a merged cell in each
                    if x0 - 1 <= x < x1 - 1 and top - 1 <= y < bottom - 1
                )
                for x in columns
            ]
            for y in tops
        ]
        _remove(into, _inside(into.words, *table.bbox))
        into.grids.append(Grid(rows, *table.bbox))


def _inside(words: Sequence[Word], x0: float, top: float, x1: float, bottom: float) -> list[Word]:
    return [
        one
        for one in words
        if x0 <= (one.x0 + one.x1) / 2 <= x1 and top <= (one.top + one.bottom) / 2 <= bottom
    ]


def _remove(page: Page, words: Sequence[Word]) -> None:
    page.words = [word for word in page.words if word not in words]


# What stands in the same place of a margin on many pages: page numbers, titles, print dates; but
# "Chapter 1" and "Chapter 2" in large type are headings
def _drop_furniture(pages: Sequence[Page]) -> None:
    lines = [(page, line) for page in pages for line in page.lines]
    large = 1.2 * median([line.size for _, line in lines] or [0])
    places = defaultdict(list)
    for page, line in lines:
        in_margin = line.bottom < page.height * _MARGIN or line.top > page.height * (1 - _MARGIN)
        if in_margin and line.size <= large:
            places[re.sub(r"\d+", "#", line.text), round(line.middle / 3)].append((page, line))
    for repeated in places.values():
        if len(repeated) >= max(2, len(pages) * 0.4):
            for page, line in repeated:
                _remove(page, line.words)


# The ends of the left and the beginnings of the right column. A table has a blank strip too; but
# text in columns is as wide as its column on most lines
def _gutter(pages: Sequence[Page]) -> tuple[float, float]:
    width = max(page.width for page in pages)
    rows = [segments(line, _COLUMN_GAP) for page in pages for line in page.lines]
    ends = [x1 for row in rows for _, x1 in row if x1 <= width / 2]
    starts = Counter(round(x0) for row in rows for x0, _ in row if x0 >= width / 2)
    n_across = sum(x0 < width / 2 < x1 for row in rows for x0, x1 in row)
    n_full = sum(end > 0.36 * width for end in ends)
    is_text = n_across <= 0.2 * len(rows) < 0.8 * min(len(ends), starts.total())
    if not is_text or n_full <= 0.4 * len(ends):
        return inf, inf
    return max(ends), min(x for x, n in starts.items() if n > 0.05 * starts.total())


# Lines across both columns divide the page; between them the left column comes first. The right
# one is moved below it, by `shift`.
def _ordered(page: Page, gutter: tuple[float, float], margin: float) -> list[Line | Grid]:
    left, right = gutter
    shift = right - margin
    across = [
        line
        for line in page.lines
        if any(x0 < left - 1 and x1 > right + 1 for x0, x1 in segments(line, _COLUMN_GAP))
    ]
    for line in across:
        _remove(page, line.words)
    sides: tuple[list[Word], list[Word]] = [], []
    for word in page.words:
        is_right = word.x0 + word.x1 >= left + right
        moved = word._replace(x0=word.x0 - shift, x1=word.x1 - shift) if is_right else word
        sides[is_right].append(moved)
    columns = [
        lines_of(words, [(x - by, y) for x, y in page.bullets])
        for words, by in zip(sides, (0, shift), strict=True)
    ]
    for grid in page.grids:
        is_across = grid.x0 < left - 5 and grid.x1 > right + 5
        (across if is_across else columns[grid.x0 + grid.x1 > left + right]).append(grid)
    tops = sorted(one.top for one in across)
    placed = [
        (bisect_right(tops, one.top), at, one.top, one)
        for at, parts in enumerate([across, *columns])
        for one in parts
    ]
    return [one for *_, one in sorted(placed, key=lambda place: place[:3])]
