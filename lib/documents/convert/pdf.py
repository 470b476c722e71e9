"""Read PDF with pdfplumber: pages become lines and ruled tables in reading order.

A PDF has no structure, only characters, rulings and their places. Lengths are in points; `top`
grows downwards.
"""

import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, zip_longest

from lib.core.errors import BadInput
from lib.documents.convert.markdown import Converted, write_markdown
from lib.documents.convert.pdf_blocks import pieces_of
from lib.documents.convert.pdf_lines import Grid, Line, Word, lines_of, segments, words_text

LEAST_WORDS = 5  # a page, on average: else it is a scan

_MONOSPACE = re.compile(r"mono|courier|consol|menlo|typewriter|cmtt|inconsolata|fixed|code", re.I)
_BOLD = re.compile(r"bold|black|heavy|semibold|demi|cmbx|-bd\b", re.I)
_PAGE_NUMBER = re.compile(r"(?:page|sheet|p\.?|seite)?\s*[-–]?\s*\d{1,4}\s*[-–]?"
                          r"(?:\s*(?:of|/|von)\s*\d{1,4})?", re.I)
_UNKNOWN = re.compile(r"\(cid:\d+\)")  # a glyph of which the font does not say the letter
_MARGIN = 0.13  # of a page's height, where headers and footers are


@dataclass
class Page:
    """What is on a page: words, bullets drawn as shapes, tables with rulings, horizontal rules."""

    number: int
    width: float
    height: float
    words: list[Word]
    bullets: list[tuple[float, float]]  # x, y
    grids: list[Grid] = field(default_factory=list)
    rules: list[tuple[float, float, float]] = field(default_factory=list)  # y, x0, x1


def read(raw: bytes) -> Converted:
    """Convert a PDF file. Raises BadInput for what is damaged, encrypted or has no text."""
    pages = _pages(raw)
    n_words = sum(len(page.words) + 20 * len(page.grids) for page in pages)
    if n_words < LEAST_WORDS * len(pages):
        raise BadInput(f"no text in it: {len(pages)} pages of pictures (a scan?); run a text "
                       "recognition over it")
    letters = "".join([word.text for page in pages for word in page.words] + [
        cell for page in pages for grid in page.grids for row in grid.rows for cell in row])
    if letters.count("\ufffd") > 0.2 * len(letters):
        raise BadInput("most of its text has no letters: its fonts do not say which they are")
    bare = [page.number for page in pages if not page.words and not page.grids]
    _drop_furniture(pages)
    gutter = _gutter(pages)
    left = min((word.x0 for page in pages for word in page.words), default=0)
    flow = [part for page in pages for part in _ordered(page, gutter, left)]
    blank = f"no text on {len(bare)} of {len(pages)} pages"
    blank = blank if len(bare) > 0.1 * len(pages) else ""  # a cover is no scan
    pieces, unsure = pieces_of(flow)
    return write_markdown(pieces, "; ".join(filter(None, [blank, unsure])))


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
    places = {(one["text"], round(one["x0"]), round(one["top"])) for one in page.chars}
    if len(places) < 0.95 * len(page.chars):  # bold text that is printed twice
        page = page.dedupe_chars()
    found = page.extract_words(x_tolerance_ratio=0.15, use_text_flow=False,
                               keep_blank_chars=False, extra_attrs=["fontname", "size", "upright"])
    words = [Word(_UNKNOWN.sub("\ufffd", one["text"]), one["x0"], one["x1"], one["top"],
                  one["bottom"], one["size"], bool(_MONOSPACE.search(one["fontname"])),
                  bool(_BOLD.search(one["fontname"])), one["fontname"].split("+")[-1])
             for one in found if one["upright"]]
    bullets = [((one["x0"] + one["x1"]) / 2, (one["top"] + one["bottom"]) / 2)
               for one in [*page.curves, *page.rects]
               if 1 < one["width"] < 7 and 0.7 < one["width"] / max(one["height"], 0.1) < 1.4]
    rules = [(one["top"], one["x0"], one["x1"]) for one in [*page.lines, *page.rects]
             if one["height"] < 2 < 15 < one["width"]]
    made_of = Page(page.page_number, page.width, page.height, words, bullets, rules=rules)
    if page.rects or page.lines or page.curves:
        _take_grids(page, made_of)
    return made_of


def _take_grids(page, into: Page) -> None:
    for table in page.find_tables():
        columns = sorted({cell[0] for cell in table.cells})
        tops = sorted({cell[1] for cell in table.cells})
        if len(columns) < 2 or len(tops) < 2:
            continue
        rows = [[""] * len(columns) for _ in tops]
        for x0, top, x1, bottom in table.cells:
            inside = [one for one in into.words if x0 <= (one.x0 + one.x1) / 2 <= x1
                      and top <= (one.top + one.bottom) / 2 <= bottom]
            text = words_text([line.words for line in lines_of(inside, [], into.number)])
            for at, y in enumerate(tops):
                for column, x in enumerate(columns):
                    if top - 1 <= y < bottom - 1 and x0 - 1 <= x < x1 - 1:
                        rows[at][column] = text  # a merged cell's text is in each place
        x0, top, x1, bottom = table.bbox
        head = [one for one in into.words if x0 < one.x0 < x1 and top < one.bottom < tops[1] + 1]
        headed = bool(head) and all(one.bold for one in head)
        into.words = [one for one in into.words if not (
            x0 <= (one.x0 + one.x1) / 2 <= x1 and top <= (one.top + one.bottom) / 2 <= bottom)]
        into.grids.append(Grid(rows, x0, x1, top, bottom, into.number, columns,
                               headed))


def _drop_furniture(pages: Sequence[Page]) -> None:
    edges = [(page, _edge(page, sign)) for page in pages for sign in (1, -1)]
    seen = Counter(key for _, rows in edges for key in {_key(row) for row in rows})
    least = max(2, len(pages) * 0.4)
    for page, rows in edges:
        gone: list[Line] = []
        for row, following in zip_longest(rows, rows[1:]):
            alone = len(pages) == 1 and _PAGE_NUMBER.fullmatch(row.text)
            if seen[_key(row)] < least and not alone:
                break
            gone.append(row)
            blank = abs(following.middle - row.middle) - row.size if following else row.size
            if blank > 0.8 * row.size:
                dropped = {id(word) for line in gone for word in line.words}
                page.words = [word for word in page.words if id(word) not in dropped]
                break


def _edge(page: Page, sign: int) -> list[Line]:
    rows = lines_of(page.words, [], page.number)
    near = [row for row in rows if (row.bottom if sign > 0 else page.height - row.top)
            < page.height * _MARGIN]
    beyond = [row for row in rows if row not in near]
    nearest = beyond[:1] if sign > 0 else beyond[-1:]
    return (near + nearest)[::sign] if sign > 0 else (nearest + near)[::-1]


def _key(row: Line) -> tuple[str, int]:
    return re.sub(r"\d+", "#", row.text), round(row.middle / 3)


# A table has such strips too; but text in columns is as wide as its column on most lines
def _gutter(pages: Sequence[Page]) -> tuple[int, int] | None:
    width = max(page.width for page in pages)
    parts = [_parts(line) for page in pages for line in lines_of(page.words, [], page.number)]
    crossed = Counter(x for row in parts for x0, x1 in row for x in range(int(x0), int(x1) + 1))
    middle = range(int(width * 0.35), int(width * 0.65))
    least = min(crossed[x] for x in middle)
    blank = [x for x in middle if crossed[x] <= least + 0.01 * len(parts)]
    runs = [[x for _, x in run]
            for _, run in groupby(enumerate(blank), lambda one: one[1] - one[0])]
    left, *_, right = max(runs, key=len) * 2
    ends = [x1 for row in parts for _, x1 in row if x1 <= left + 1]
    n_right = sum(x0 >= right - 1 for row in parts for x0, _ in row)
    n_full = sum(end > left - 0.12 * width for end in ends)
    is_text = least <= 0.2 * len(parts) < 0.8 * min(len(ends), n_right) and n_full > 0.4 * len(ends)
    return (left, right) if right - left > 6 and is_text else None


def _parts(line: Line) -> list[tuple[float, float]]:
    return [(part[0].x0, part[-1].x1) for part in segments(line, 7)]


def _ordered(page: Page, gutter: tuple[int, int] | None, margin: float) -> list[Line | Grid]:
    if gutter is None:
        return _column(page, 0, page.width, 0, page.height)
    left, right = gutter
    across = [line for line in lines_of(page.words, [], page.number)
              if any(x0 < left - 1 and x1 > right + 1 for x0, x1 in _parts(line))]
    across += [grid for grid in page.grids if grid.x0 < left - 5 and grid.x1 > right + 5]
    parts, top, middle = [], 0.0, (left + right) / 2
    for part in [*sorted(across, key=lambda one: one.top), None]:
        bottom = part.top if part else page.height
        parts += _column(page, 0, middle, top, bottom)
        parts += _column(page, middle, page.width, top, bottom, shift=right - margin)
        if part:
            parts += _column(page, 0, page.width, part.top, part.bottom)
            top = part.bottom
    return parts


# `shift` moves it to the left, below the first column
def _column(page: Page, x0: float, x1: float, top: float, bottom: float,
            shift: float = 0) -> list[Line | Grid]:
    words = [word if not shift else replace(word, x0=word.x0 - shift, x1=word.x1 - shift)
             for word in page.words if x0 <= (word.x0 + word.x1) / 2 < x1
             and top <= (word.top + word.bottom) / 2 < bottom]
    bullets = [(x - shift, y) for x, y in page.bullets if x0 <= x < x1 and top <= y < bottom]
    grids = [grid for grid in page.grids if x0 <= (grid.x0 + grid.x1) / 2 < x1
             and top <= (grid.top + grid.bottom) / 2 < bottom]
    lines = lines_of(words, bullets, page.number)
    for line in lines:
        line.rules = sorted({(a - shift, b - shift) for y, a, b in page.rules
                             if x0 <= (a + b) / 2 < x1 and -0.5 < y - line.bottom < line.size})
    return sorted([*lines, *grids], key=lambda one: one.top)
