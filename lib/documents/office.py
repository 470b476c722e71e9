"""PPTX as a section a slide; XLSX and CSV as a table for each block of cells."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from itertools import compress, groupby, pairwise, zip_longest

from lib.core.store import BadInput
from lib.documents.convert import (
    LOWERED,
    RAISED,
    Converted,
    Piece,
    count_item,
    escape,
    missing,
    open_package,
    read_part,
    table_piece,
    write_markdown,
)
from lib.documents.html import decode

MAX_CELLS = 2_000_000  # of a sheet, blank ones included

# One section of a number format: texts, currencies, digits; widths and colours show nothing
_FORMAT = re.compile(
    r"""(?:"(?P<text>[^"]*)"|\\(?P<escaped>.)|\[\$(?P<coin>[^]-]*)[^]]*\]
    |(?P<sign>[-+$€£¥()%: /])
    |(?P<digits>General|0(?:\.0*)?E\+0+|[0\#](?:,?[0\#])*(?:\.[0\#]*)?)(?P<scale>,*)
    |[_*].|\[(?:black|white|red|green|blue|yellow|cyan|magenta|color\ ?\d+)\])""",
    re.I | re.X,
)
_UNCALCULATED = re.compile(
    rb"""(?x)<(?:\w+:)?c\b[^>]*?\br="([A-Z]+\d+)"[^>]*>\s*<(?:\w+:)?f\b
    (?:[^>]*/>|[^>]*>[^<]*</[^>]*>)\s*(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v></[^>]*>)?\s*</"""
)
# to a row and column so far out that it may be more than MAX_CELLS
_FAR_MERGED = re.compile(
    rb"""(?x)<(?:\w+:)?mergeCell\s+ref="[A-Z]+(\d*)\d:(?![A-Z]+\1\d")  # not to the same ten rows
    ([A-Z]{3}\d{4,}|[A-Z]{2}\d{5,}|[A-Z]\d{6,})\""""
)
_NUMBER = re.compile(r"[-+]?[\d.,]*\d[\d.,]*(?:[eE][-+]?\d+)?\s?%?")
_SPACER = re.compile(r"(?:(?<=\Ax)|(?<= x)) (?=x)|(?<=x) (?=x(?!x))")  # beside a column alone
_MOMENT = datetime | time | timedelta
# fonts inside a cell, and words that its format adds to its text
_SHIFTED = re.compile(r"""(?:vertAlign|strike)=(?:'s|True)|@ ?["\\]|" ?@|\\. ?@""")


_RUNS = """*[self::a:r or self::a:fld or self::a:br][not(a:rPr/@strike[. != 'noStrike'])]
    |.//*[local-name()='oMath']"""


def read_pptx(raw: bytes) -> Converted:
    """Convert a PPTX file; pictures, dates, footers and slide numbers are left out.

    Raises BadInput.
    """
    from pptx import Presentation

    open_package(raw, "ppt/presentation.xml", "PPTX")
    pieces = []
    for slide in Presentation(io.BytesIO(raw)).slides:
        if slide.element.get("show") == "0":
            continue
        pieces += _shapes(slide.shapes, slide.shapes.title)
        pieces += [
            Piece("prose", missing("shape with a formula or chart"))
            for _ in slide.element.xpath("p:cSld/p:spTree//*[local-name()='AlternateContent']")
        ]
        if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame):
            pieces += _text(notes, False)
    return write_markdown(pieces)


def _shapes(shapes, title=None) -> Iterator[Piece]:
    for shape in sorted(
        shapes, key=lambda one: (one != title, (one.top or 0) // 300_000, one.left or 0)
    ):
        kind = shape.placeholder_format.type.name if shape.is_placeholder else ""
        if kind in ("DATE", "FOOTER", "SLIDE_NUMBER"):
            continue
        if shape == title:
            yield Piece("heading", _cell(shape))
        elif hasattr(shape, "shapes"):  # a group
            yield from _shapes(shape.shapes)
        elif getattr(shape, "has_table", False):
            yield table_piece(
                [
                    [_cell(cell) + missing("merged cell") * cell.is_spanned for cell in row.cells]
                    for row in shape.table.rows
                ]
            )
        elif not shape.has_text_frame:  # a picture, chart or diagram
            yield Piece("prose", missing("picture"))
        else:
            yield from _text(shape.text_frame, kind in ("BODY", "OBJECT"))


def _cell(cell) -> str:
    return " ".join(map(_words, cell.text_frame.paragraphs))


def _words(paragraph) -> str:
    words = ""
    for run in paragraph._p.xpath(_RUNS):
        if run.tag.endswith("oMath"):
            words += missing("formula")
        else:
            shift = run.xpath("string(a:rPr/@baseline[. != 0])")
            form = (LOWERED if "-" in shift else RAISED) if shift else "{}"
            words += form.format(escape(run.xpath("string(a:t)") or " "))
    return words


def _text(frame, bullets: bool) -> Iterator[Piece]:
    counts = []
    for paragraph in frame.paragraphs:
        xpath, level = paragraph._p.xpath, paragraph.level
        numbered = xpath("a:pPr/a:buAutoNum")
        text = _words(paragraph)
        if not numbered:  # it ends a numbered list
            del counts[level:]
        if xpath("a:pPr/a:buNone") or not (bullets or xpath("a:pPr[a:buAutoNum or a:buChar]")):
            yield Piece("prose", text)
        elif text:
            numbers = [count_item(counts, level, int(one.get("startAt", 1))) for one in numbered]
            yield Piece("item", text, depth=level, number=max(numbers, default=None))


def read_xlsx(raw: bytes) -> Converted:
    """Convert an XLSX file: the values that its visible cells show. Raises BadInput."""
    from openpyxl.reader.excel import ExcelReader

    package = open_package(raw, "xl/workbook.xml", "XLSX")
    for name in filter(re.compile("xl/worksheets/").match, package.namelist()):
        if far := _FAR_MERGED.search(read_part(package, name)):
            raise BadInput(f"{name} merges cells to {far[2].decode()}: remove what is far out")
    pieces = []
    reader = ExcelReader(io.BytesIO(raw), data_only=True, keep_links=False, rich_text=True)
    reader.read()
    parts = {sheet.name: relation.target for sheet, relation in reader.parser.find_sheets()}
    for sheet in reader.wb.worksheets:
        if sheet.sheet_state == "visible":
            part = read_part(package, parts[sheet.title])
            empty = {one.decode() for one in _UNCALCULATED.findall(part)}
            pieces.append(Piece("prose", missing("drawing") * (b"<drawing" in part)))
            if content := [*_pieces(_grid(sheet, empty))]:
                pieces += [Piece("heading", escape(sheet.title), level=2), *content]
    return write_markdown(pieces)


def read_csv(raw: bytes) -> Converted:
    """Convert a CSV or TSV file, whose delimiter and header are found. Raises BadInput."""
    text = re.sub(r'(?i)\A"?sep=."?(?:\r\n?|\n)', "", decode(raw))
    try:
        *_, width, delimiter = max(_width(text[:100_000], one) for one in ",|;\t")
        rows = [*csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)]
    except csv.Error as error:
        raise BadInput(f"not a table ({error})") from error
    if width < 2:
        raise BadInput("no delimiter found: separate its cells by commas")
    head = next((at for at, row in enumerate(rows) if len(row) - row.count("") > 1), 0)
    for at, row in enumerate(rows):
        row[:] = [escape(cell).strip() for cell in row]
        if any(row) and (
            len(row) != width or re.match("#.", row[0]) or at > head and not any(rows[at - 1])
        ):
            row[0] += missing("row unlike others, or after an empty one")
    return write_markdown(_pieces(rows))


# How many rows are as wide as most rows; in doubt the comma is of decimals or of prose
def _width(text: str, delimiter: str):
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    [(width, count)] = Counter(map(len, reader)).most_common(1) or [(0, 0)]
    return count * (width > 1), delimiter != ",", width, delimiter


def _pieces(rows: list[list[str]]) -> Iterator[Piece]:
    width = 0
    for block in _blocks(rows):
        while len(block) > 1 and _is_title(block[0]) and not _is_title(block[1]):
            yield Piece("prose", next(filter(None, block.pop(0))))
        if len(block) == 1 or len(block[0]) == 1:
            for row in block:
                words = [*filter(None, row)]
                yield Piece("prose", ", ".join(words[:1] if _is_title(row) else words))
        else:
            block[0][0] += missing("table that may go on") * (len(block[0]) == width)
            width = len(block[0])
            yield table_piece(block, _n_heads(block))


# One text, in one cell or merged over several
def _is_title(row: list[str]) -> bool:
    texts = {*filter(None, row)}
    return len(texts) == 1 and not _NUMBER.fullmatch(*texts)


# Below a cell that is merged over several columns, the header goes on
def _n_heads(rows: list[list[str]]) -> int:
    n_heads = 0
    for above, row in pairwise(rows[:4]):
        pairs = pairwise(zip(above, row, strict=True))
        is_split = any(a and a == c and b != d for (a, b), (c, d) in pairs)
        if not is_split or row[0] != above[0] and any(map(_NUMBER.fullmatch, row)):
            break
        n_heads += 1
    return n_heads + (n_heads > 0 or not any(map(_NUMBER.fullmatch, rows[0])))


def _blocks(rows: list[list[str]]):
    for filled, group in groupby(rows, key=any):
        columns = list(zip_longest(*group, fillvalue="")) if filled else []
        shape = _SPACER.sub("-", "".join(" x"[any(column)] for column in columns))
        columns = compress(columns, map("-".__ne__, shape))
        for is_used, kept in groupby(columns, key=any):
            if is_used:
                yield [list(line) for line in zip(*kept, strict=True) if any(line)]


# every cell of a merged range has its text
def _grid(sheet, empty: set[str]):
    if sheet.max_row * sheet.max_column > MAX_CELLS:
        raise BadInput(
            f"sheet {sheet.title} spreads over {sheet.max_row * sheet.max_column:,} "
            "cells: remove what is far out"
        )
    merged = {place: area.start_cell for area in sheet.merged_cells.ranges for place in area.cells}
    hidden = {
        column
        for one in sheet.column_dimensions.values()
        for column in range(one.min, one.max + 1)
        if one.hidden
    }
    return [
        [
            _shown(merged.get((cell.row, cell.column), cell), empty)
            for cell in row
            if cell.column not in hidden
        ]
        for row in sheet.iter_rows()
        if not sheet.row_dimensions[row[0].row].hidden
    ]


def _shown(cell, empty: set[str]) -> str:
    value, form = cell.value, cell.number_format or "General"
    if cell.font.strike:
        return ""
    if cell.coordinate in empty:
        return missing(f"no value calculated in {cell.parent.title}!{cell.coordinate}")
    if isinstance(value, _MOMENT):
        return _date(value, form.lower())
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str | list | None):  # a list has several fonts
        is_unsure = bool(_SHIFTED.search(repr(value) + form))
        lacks = missing("raised or struck or added words")
        return escape(str(value or "")).strip() + lacks * is_unsure
    shown = _formatted(value, form)
    return escape(shown) if shown else f"{value:.15g}" + missing(f"format {form} left out")


# As ISO 8601, no finer than the cell shows it
def _date(value: _MOMENT, form: str) -> str:
    if isinstance(value, timedelta):
        hours, rest = divmod(round(value.total_seconds()), 3600)
        return f"{hours}:{rest // 60:02}" + f":{rest % 60:02}" * ("s" in form)
    form = re.sub(r'"[^"]*"|\[[^]]*\]|\\.', "", form)
    end = 16 - 11 * isinstance(value, time) + 3 * ("s" in form)
    text = str(value).removesuffix(" 00:00:00")[:end]
    if "y" in form and not re.search("[dh]", form):
        return text[: 7 if "m" in form else 4]
    is_day = "-" in text and "y" not in form and form != "general"
    lacks = "date without a year" * is_day or "part of a second" * (".0" in form)
    return missing(lacks) * bool(lacks) + text


# A number as its format shows it; "" if the format has more than is read here
def _formatted(value: float, form: str) -> str:
    sections = re.split(r';(?=(?:[^"]*"[^"]*")*[^"]*\Z)', form)
    is_own = value < 0 and len(sections) > 1
    section = sections[is_own or 2 * (value == 0 and len(sections) > 2)]
    marks = list(_FORMAT.finditer(section))
    if _FORMAT.sub("", section) or sum(bool(one["digits"]) for one in marks) > 1:
        return ""
    amount = Decimal(repr(value)) * 100 ** sum(mark["sign"] == "%" for mark in marks)
    text = "-" * (amount < 0 and not is_own)
    for mark in marks:
        if digits := mark["digits"]:
            text += _digits(abs(amount).scaleb(-3 * len(mark["scale"])), digits)
        elif mark.lastgroup:
            text += mark[mark.lastgroup]
    return text.strip()


def _digits(amount: Decimal, form: str) -> str:
    if form.lower() == "general":
        return f"{float(amount):.15g}"
    whole, places, power = re.fullmatch(r"([^.E]*)\.?([^E]*)(E?).*", form).groups()
    if power:
        return f"{float(amount):.{len(places)}E}"
    text = f"{amount.quantize(Decimal(10) ** -len(places), ROUND_HALF_UP):{',' * (',' in whole)}f}"
    text = text.zfill(whole.count("0") + len(places) + bool(places))
    return re.sub(rf"\.?0{{0,{len(places) - places.count('0')}}}\Z", "", text)
