"""PDF pages by pdfplumber: lines and ruled tables in reading order, and the pieces that they make.

A PDF has no structure, only characters, rulings and their places. Lengths are in points; `top`
grows downwards.
"""

import io
import re
from bisect import bisect_right
from collections import Counter, defaultdict
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

# a dash before a number may be its sign
_MARK = re.compile(
    r"(?:[\ufdd6•◦▪▫‣●○■□⁃∙·\uf0b7\uf0a7\uf0d8\uf0fc*]|o|\(?(\d{1,3})[.)]|[–—-](?! \d))(?= )"
)


class Word(NamedTuple):
    """A word and its box in points."""

    text: str
    x0: float
    top: float
    x1: float
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
        texts, x0s, *_, faces, monos = zip(*self.words, strict=True)
        sizes = [word.size for word in self.words if not word.mono] or [widest.size]
        self.text, self.size = " ".join(texts), round(max(sizes), 1)
        self.x0, self.top, self.middle = x0s[0], widest.top, widest.middle
        self.is_row = len(segments(self, 1.2 * self.size)) > 1
        self.mono, self.bold = all(monos), all(map(_BOLD.search, faces))
        self.face = faces[0] if len({*faces}) == 1 else ""  # "" of several


@dataclass
class Page:
    """What is on a page: words, also bullets drawn as shapes, and tables (their rows and box)."""

    width: float
    height: float
    words: list[Word]
    lacks: str  # marks for what is not read
    grids: list[tuple]
    n_letters: int  # in lines that are not turned


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
    # fewer letters a page are captions or a stamp
    if sum(map(str.isalnum, result.markdown)) <= 30 * lacks.count("picture"):
        raise BadInput(
            f"no text in it: {lacks.count('picture') or 'none'} of {len(pages)} pages are pictures "
            f"(a scan?), {lacks.count('turned') or 'none'} have turned text; "
            "put its text beside it, as .md of the same name"
        )
    texts = (page.get_textpage().get_text_range() for page in pypdfium2.PdfDocument(raw))
    if sum(page.n_letters for page in pages) < 0.7 * sum(map(str.isalnum, "".join(texts))):
        raise BadInput("less than 70% of its letters can be read in order: save it as DOCX")
    return result


def _pages(raw: bytes):
    import pdfplumber
    from pdfminer import encodingdb, pdffont

    def letter(name):
        try:
            return pdffont.name2unicode(name)
        except KeyError:  # else it would be a letter of the usual fonts
            if re.match(r"a\d", name):  # as it is in bitmaps of TeX
                raise
            return "\ufffd"

    encodingdb.name2unicode = letter
    encodingdb.EncodingDB.win2unicode[173] = "-"  # it is shown, not a blank
    try:
        with pdfplumber.open(io.BytesIO(raw), raise_unicode_errors=False) as document:
            return [*map(_page, document.pages)]
    except pdfplumber.utils.exceptions.PdfminerException as error:
        raise BadInput(
            f"encrypted, damaged or cut off ({error.args[0]!r}): save it anew without a password"
        ) from error


# Mark what is not to be trusted, and return marks for what is left out
def _check_letters(original):
    from pdfplumber.utils import obj_to_bbox
    from PIL import ImageChops
    from pypdfium2 import PdfDocument, raw

    image, printed, lacks = original.to_image(antialias=True), defaultdict(list), ""
    if original.images:  # a text recognition's letters are not shown over them, or below
        page = PdfDocument(original.pdf.stream)[original.page_number - 1]
        for one in page.get_objects():
            raw.FPDFTextObj_SetTextRenderMode(one, 3)  # invisible
        image.original = ImageChops.difference(image.original, page.render().to_pil())
    for one in original.chars:
        text, matrix = one["text"], one["matrix"]
        if not text.strip():
            continue
        row = printed[round(one["top"] / 3)]
        near = [text for text, x, width in row if -0.6 * one["width"] < one["x0"] - x < 0.6 * width]
        row.append((text, one["x0"], one["width"]))
        if abs(matrix[1]) >= 0.02 * matrix[0]:
            lacks, one["text"] = missing(f"turned text on page {original.page_number}"), ""
        elif text in near:  # bold type may be a letter printed twice, nearly in place
            one["text"] = ""
        elif near:
            one["text"] += missing("letter over a letter")
        # fonts of signs, whose names are unknown to pdfminer.six
        elif re.search(r"(?i:symbol|dings|dingb).*[!-¯²-¶¸-ÿ]\Z", one["fontname"] + text):
            one["text"] = "\ufffd"
        elif text.isalnum() and image.original.crop(
            image._reproject_bbox(obj_to_bbox(one))
        ).getcolors(1):  # of one colour
            one["text"] += missing("letter that is not shown")
    original.objects["char"] = [one for one in original.chars if one["text"]]
    return lacks + missing(f"picture as page {original.page_number}") * (
        2 * sum(one["width"] * one["height"] for one in original.images)
        > original.width * original.height
    )


def _page(original):
    from pdfplumber.utils import obj_to_bbox

    n_letters = sum(one["upright"] and one["text"].isalnum() for one in original.chars)
    lacks = _check_letters(original)
    words = [
        Word(
            _UNREAD.sub(missing("letter that cannot be read"), one["text"].replace("\xad", "-"))
            + missing("struck word")
            * any(
                0.3 < (line["top"] - one["top"]) / one["size"] < 0.7
                and line["x0"] < one["x1"] - 1 < line["x1"]
                for line in original.horizontal_edges
            ),
            *obj_to_bbox(one),
            one["size"],
            one["fontname"].split("+")[-1],
            bool(MONOSPACE.search(one["fontname"])),
        )
        for one in original.extract_words(
            x_tolerance_ratio=0.15, y_tolerance=2, extra_attrs=["fontname", "size"]
        )
    ]
    words += [
        Word(missing("note or field of a form"), *obj_to_bbox(one), 6, "", False)
        for one in original.annots
        if one["data"]["Subtype"].name not in "Link Popup"
    ]
    result = Page(original.width, original.height, words, lacks, [], n_letters)
    _take_grids(original, result)
    for one in original.curves + original.rects:  # a mark of a list may be drawn
        if 1 < one["width"] < 7 and 1 < one["height"] < 7:
            result.words += [  # `settle` drops one inside a line
                word._replace(text="\ufdd6", x0=one["x0"], x1=one["x1"])
                for word in result.words
                if 0 < word.x0 - one["x1"] < 30
                and abs(2 * word.middle - one["top"] - one["bottom"]) < word.size
            ][:1]
    original.close()
    return result


def _take_grids(page, into: Page):
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
            for word in words:
                into.words.remove(word)
            lines = lines_of(words, _ROW)
            text = words_text(lines)
            text += missing("cell of several values") * (
                any(line.is_row for line in lines)
                or len(lines) > 1
                and all(re.match(r"\W?\d", line.text) for line in lines)
            )
            for row, y in zip(rows, tops, strict=True):
                for at, x in enumerate(columns):  # a merged cell is in each
                    if x0 - 1 <= x < x1 - 1 and top - 1 <= y < bottom - 1:
                        row[at] += text
        rows[0][0] += missing("column without a name") * ("" in rows[0][1:]) + missing(
            "words beside a table"
        ) * any(table.bbox[1] < word.middle < table.bbox[3] for word in into.words)
        into.grids.append((rows, table.bbox))


# What stands in the same place of a margin on many pages: page numbers, titles, print dates; but
# "Chapter 1" and "Chapter 2" in large type are headings
def _drop_furniture(pages: list[Page]):
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
                for word in line.words:
                    page.words.remove(word)


# The ends of the left and the beginnings of the right column. A table has a blank strip too; but
# text in columns is as wide as its column on most lines
def _gutter(pages: list[Page]):
    middle = max(page.width for page in pages) / 2
    lines = [line for page in pages for line in lines_of(page.words)]
    parts = [part for line in lines for part in segments(line)]
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
        if any(x0 < left - 1 and x1 > right + 1 for x0, x1 in segments(line))
    ]
    for line in across:
        for word in line.words:
            page.words.remove(word)
    parts = [(0, line.top, line) for line in across]
    for is_right, by in ((False, 0), (True, right - margin)):
        words = [
            word._replace(x0=word.x0 - by, x1=word.x1 - by)
            for word in page.words
            if (word.x0 + word.x1 >= left + right) is is_right
        ]
        parts += [(1 + is_right, line.top, line) for line in lines_of(words, _ROW)]
    for rows, (x0, top, x1, _) in page.grids:
        side = 1 + (x0 + x1 > left + right)
        parts.append((side * (x0 >= left - 5 or x1 <= right + 5), top, rows))
    tops = [line.top for line in across]
    parts.sort(key=lambda part: (bisect_right(tops, part[1]), *part[:2]))
    return [one for *_, one in parts]


def lines_of(words: list[Word], reach: float = 0.4) -> list[Line]:
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
    return sorted(
        (Line(sorted(row, key=lambda one: one.x0)) for row in rows), key=lambda one: one.top
    )


def segments(line: Line, least: float = 7) -> list[list[float]]:
    """Return the ends of a line's parts between blanks of `least` points; half before a number."""
    parts = [[line.x0, line.x0]]
    for before, word in pairwise(line.words[:1] + line.words):
        if (
            word.x0 - before.x1 >= least / (1 + 0.9 * word.text[0].isdigit())
            and before.text not in "\ufdd6•◦▪‣●○■"
        ):
            parts.append([word.x0, inf])
        parts[-1][1] = word.x1
    return parts


def words_text(lines: list[Line], known: frozenset[str] = frozenset()) -> str:
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
                if before.x1 - word.x0 > 0.4 * word.size:
                    form += missing("word over a word")
                elif (
                    word.size < 0.8 * before.size
                    or word.text[0].isdigit()
                    and word[5:7] == before[5:7]
                ) and not -0.03 < rise < 0.2:
                    form = f"{{}}{AT_NUMBER}" if glue else RAISED if rise > 0 else LOWERED
            elif runs:
                mono, text = runs[-1]
                runs[-1] = mono, _cut(text, word.text, known)
            runs.append((word.mono, glue + form.format(word.text)))
    return inline_runs(runs)


# The text of a line as the next one goes on: without its hyphen, or with a blank
def _cut(text, following, known):
    if re.search(r"(?<![^\W\d_])[^\W\d_]++[-\u2010]$", text) and following[:1].islower():
        is_whole = (text.strip() + re.match(r"[\w-]*", following)[0]).lower() in known
        return text if is_whole else text[:-1]
    # between words of one word, and of Chinese and Japanese, stands no blank
    unspaced = r"\w[-/][^\W_]\Z|[\u3001-\u30ff\u4e00-\u9fff\uff01-\uff60]{2}\Z"
    return text + " " * (not re.search(unspaced, text[-2:] + following[:1]))


# Lines that look like rows of a table without rulings are doubtful.
# `stack` holds where the texts of the open list items begin
class _Reader:
    def __init__(self, lines: list[Line]):
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
        self.known = frozenset(re.findall(r"[\w-]+", " ".join(line.text for line in lines).lower()))
        # the font sizes of headings
        self.large = {
            round(one.size) for one in lines if one.size > 1.08 * self.body and not one.mono
        }
        self.stack = []
        self.pieces = [(Piece("heading"), [])]  # none yet

    def finished(self) -> list[Piece]:
        for piece, lines in self.pieces:
            if piece.kind == "code" or piece.kind == "doubtful" and len(lines) > 1:
                piece.text = "\n".join(line.text for line in lines)
            elif lines:
                piece.kind = piece.kind.replace("doubtful", "prose")
                piece.text = words_text(lines, self.known)
                if piece.kind == "item" and any(
                    len(segments(line, 2 * line.size)) > 1 for line in lines
                ):
                    piece.text += missing("columns in a list")
        return [piece for piece, _ in self.pieces[1:]]

    def line(self, line: Line):
        goes_on, mark = self._goes_on(line), _MARK.match(line.text)
        if mark and (not goes_on or mark[0] in "\ufdd6•◦▪‣●○■"):
            item = Line(line.words[1:])
            item.size = line.size  # of the mark too: what follows may be code in a smaller font
            piece = Piece("item", depth=self._depth(line.x0 + 1), number=mark[1] and int(mark[1]))
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

    def table(self, rows: list[list[str]]):
        before, _ = self.pieces[-1]
        if before.kind == "table" and before.rows[0] == rows[0]:  # on the next page
            rows = rows[1:]
            if rows and not rows[0][0]:
                rows[0][0] += missing("row that the page may cut")
            before.rows += rows
        else:
            if before.kind == "table" and not {*before.rows[0]} & {*rows[0]} - {""}:
                rows[0][0] += missing("row that may be no header")
            self.pieces.append((Piece("table", rows=rows), []))
        self.stack = []

    # True if the line is the next of a paragraph or an item
    def _goes_on(self, line: Line):
        piece, lines = self.pieces[-1]
        if piece.kind not in "prose item":
            return False
        before = lines[-1]
        if not (
            abs(line.x0 - before.x0) < 4
            or len(lines) == 1
            and piece.kind == "prose"
            and 0 < before.x0 - line.x0 < 30  # an indented first line
        ) or (abs(line.size - before.size) > 0.6 and not line.mono):
            return False
        if line.top < before.top:  # a new page or column
            return not re.search(r"[.!?:;。！？][\"')\]]*$", before.text) or line.text[0].islower()
        return line.middle - before.middle < (self.pitch + 0.35) * max(line.size, before.size)

    # True if the line is the next of a heading, of code or of a doubtful table
    def _continues(self, line: Line, kind: str):
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

    def _level(self, line: Line):
        if round(line.size) in self.large:
            return sum(size >= round(line.size) for size in self.large)
        if (
            not line.bold
            and re.split("[-,]", line.face)[0] in self.face
            or line.size < self.body - 0.1
            or line.text[-1] in ".:;,"
        ):
            return 0
        return len(self.large) + 1 + (not line.bold)

    def _depth(self, x: float):
        self.stack = [start for start in self.stack if start - 4 <= x]
        return len(self.stack)
