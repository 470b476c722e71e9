"""PPTX as a section a slide; XLSX and CSV as a table for each block of cells."""

import csv
import io
import re
from datetime import time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from itertools import groupby, zip_longest
from math import prod
from statistics import mode

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
MAX_MERGED = 100_000  # cells, which openpyxl makes in seconds

# One section of a number format: texts, currencies, digits; widths and colours show nothing
_FORMAT = re.compile(
    r"""(?:"(?P<text>[^"]*)"|\\(?P<escaped>.)|\[\$(?P<coin>[^]-]*)[^]]*\]
    |(?P<sign>[-+$€£¥()%: /])
    |(?P<digits>General|0(?:\.0*)?E\+0+|[0\#](?:,?[0\#])*(?:\.[0\#]*)?)(?P<scale>,*)
    |[_*].|(?<=")\?+|\[(?:black|white|red|green|blue|yellow|cyan|magenta|color\ ?\d+)\])""",
    re.I | re.X,
)
_UNCALCULATED = re.compile(
    r"""(?x)<(?:\w+:)?c\b[^>]*?\br="([A-Z]+\d+)"[^>]*>\s*<(?:\w+:)?f\b
    (?:[^>]*/>|[^>]*>[^<]*</[^>]*>)\s*(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v></[^>]*>)?\s*</"""
)
_AREA = re.compile(r"""<(?:\w+:)?(?:mergeCell|hyperlink)\b[^<>]*\sref=["'](\w+\d:\w+\d)["']""")
_NUMBER = re.compile(r"[-+]?[\d.,]*\d[\d.,]*(?:[eE][-+]?\d+)?\s?%?")
# columns of a block, also with a spacer beside a column alone
_BLOCK = re.compile(r"x+(?:(?:(?<=\Ax)|(?<= x)) x+| x(?!x))*")
# a comma or colon of a number, a time or prose, and blanks before a delimiter
_COMMA = re.compile(
    r"""(?x)(?<![\w.,])[\d.]*,(?=\d+(?![\d.,])) | (?<![^\WT])\d{1,2}:(?=\d\d) | :(?=//|[,;|\t])
    | (?<!\ )\ *+(?:[,:]\ +|(?=[,|;\t]))"""
)
# in a header: a date, a time, a number with its unit, a label, an address, a truth
_VALUE = re.compile(
    r"""(?xi)[-+]?(?!\d{4}\ )\d[\d.,]{,9}
    (?:(?<=\d)[-./]\d{1,2}[-./]\d.*|:\d\d.*|\ ?[^\w\s]?[^\W\d_]{1,3}[²³]?)\Z
    |.*:\Z|https?:|(?:true|false|yes)\Z"""
)
# two columns, neither with a number in all its cells below a header of other words
_FORM = re.compile(
    r"""(?xi)[^\t\n]*\t (?![^\n]*(?:value|meaning|desc|defin|explan|comment|version|question|answer
    |wert|bedeut|beschr|val[eo]r)) [^\t\n]*\n
    (?=(?:.*\n)*?[^\t\n\d]*\t) (?:.*\n)*?[^\t\n]*\t[^\t\n\d]*(?:\n|\Z)"""
)
# fonts inside a cell, and words that its format adds to its text
_SHIFTED = re.compile(
    r"""(?:vertAlign|strike)=(?:'s|True)|(?:;[^;@']*){3}\Z|@ ?["\\]|" ?@|\\. ?@"""
)

_BULLET = "*[self::a:buNone or self::a:buChar or self::a:buBlip or self::a:buAutoNum]"
_RUNS = """*[self::a:r or self::a:fld or self::a:br][not(a:rPr/@strike[. != 'noStrike'])]
    |.//*[local-name()='oMath']
    |a:r/a:rPr/a:solidFill/*[@val='FFFFFF' or @val='bg1'][not(ancestor::a:tbl/*/a:tableStyleId
    or ancestor::*/*[self::p:spPr or self::a:tcPr or self::p:bgPr][a:solidFill or a:gradFill
    or a:blipFill or a:pattFill] or ancestor::p:sp[not(p:spPr/a:noFill)]/p:style/a:fillRef/@idx > 0
    or ancestor::p:cSld/p:bg)]
    |a:pPr/a:buAutoNum[not(starts-with(@type, 'arabic')) or not(../@lvl > 0) and @type !=
    ../../preceding-sibling::a:p[a:pPr[a:buAutoNum][not(@lvl > 0)]][1]/*/a:buAutoNum/@type]"""


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
        if slide.has_notes_slide and (notes := slide.notes_slide.notes_placeholder):
            pieces += _text(notes)
    return write_markdown(pieces)


def _shapes(shapes, title=None):
    for shape in sorted(
        shapes, key=lambda one: (one != title, (one.top or 0) // 300_000, one.left or 0)
    ):
        if shape._element.xpath(  # hidden, beside the slide, or the same on each
            f"""*/p:cNvPr[@hidden=1 or @hidden='true']
            |*/p:nvPr/p:ph[@type='dt' or @type='ftr' or @type='sldNum']
            |self::*[parent::p:spTree]/*/a:xfrm[
                a:off/@x >= {shape.part.package.presentation_part.presentation.slide_width}
                or a:off/@y >= {shape.part.package.presentation_part.presentation.slide_height}
                or a:off/@x + a:ext/@cx < 0 or a:off/@y + a:ext/@cy < 0]"""
        ):
            continue
        if shape == title:
            yield Piece("heading", _cell(shape))
        elif hasattr(shape, "shapes"):  # a group
            yield from _shapes(shape.shapes)
        elif shape.has_table:
            yield _table(
                [
                    [
                        _cell(cell)
                        + missing("merged cell, or no header in this table")
                        * (cell.is_spanned or not shape.table.first_row)
                        for cell in row.cells
                    ]
                    for row in shape.table.rows
                ],
                1,
            )
        elif not shape.has_text_frame:  # a picture, chart or diagram
            yield Piece("prose", missing("picture"))
        else:
            yield from _text(shape)


def _cell(cell):
    return " ".join(map(_words, cell.text_frame.paragraphs))


def _words(paragraph):
    words = ""
    for run in paragraph._p.xpath(_RUNS):
        if run.tag.endswith(("oMath", "Clr", "Num")):
            words += missing("formula or white words or number of another kind")
        else:
            shift = run.xpath("string(a:rPr/@baseline[. != 0])")
            form = (LOWERED if "-" in shift else RAISED) if shift else "{}"
            words += form.format(escape(run.xpath("string(a:t)") or " "))
    return words


def _text(shape):
    counts = []
    for paragraph in shape.text_frame.paragraphs:
        text, level, base = _words(paragraph), paragraph.level, shape
        marks = paragraph._p.xpath(f"a:pPr/{_BULLET}")
        while base:  # then those of its layout and master
            marks += base._element.xpath(
                f"(. | ancestor::p:sldMaster//p:bodyStyle)//a:lvl{level + 1}pPr/{_BULLET}"
            )
            base = getattr(base, "_base_placeholder", None)
        mark = [*marks, shape._element][0]
        start = mark.tag.endswith("Num") and int(mark.get("startAt", 1))
        if not start or counts[level:] < [start - 1]:  # it ends a numbered list
            del counts[level:]
        if mark.tag.endswith(("sp", "None")):
            yield Piece("prose", text)
        elif text:
            number = start and count_item(counts, level, start)
            yield Piece("item", text, depth=level, number=number or None)


def read_xlsx(raw: bytes) -> Converted:
    """Convert an XLSX file: the values that its visible cells show. Raises BadInput."""
    from openpyxl.reader.excel import ExcelReader
    from openpyxl.worksheet.cell_range import CellRange

    package = open_package(raw, "xl/workbook.xml", "XLSX")
    n_merged = sum(
        prod(CellRange(area).size.values())
        for name in package.namelist()
        if "xl/worksheets/" in name
        for area in _AREA.findall(decode(read_part(package, name)))
    )
    if n_merged > MAX_MERGED:
        raise BadInput(f"{n_merged:,} cells are merged or of one link: remove what is far out")
    pieces = []
    reader = ExcelReader(io.BytesIO(raw), data_only=True, keep_links=False, rich_text=True)
    reader.read()
    parts = {sheet.name: relation.target for sheet, relation in reader.parser.find_sheets()}
    for sheet in reader.wb.worksheets:
        if sheet.sheet_state == "visible":
            part = decode(read_part(package, parts[sheet.title]))
            pieces.append(Piece("prose", missing("drawing") * ("<drawing" in part)))
            if content := [*_pieces(_grid(sheet, {*_UNCALCULATED.findall(part)}))]:
                pieces += [Piece("heading", escape(sheet.title), level=2), *content]
    return write_markdown(pieces)


def read_csv(raw: bytes) -> Converted:
    """Convert a CSV or TSV file, whose delimiter and header are found. Raises BadInput."""
    given, text = re.fullmatch(r'(?is)(?:"?sep=(.)"?(?:\r\n?|\n))?(.*)', decode(raw)).groups()
    # in doubt the comma is of decimals or of prose
    delimiter = max(given or "|;\t,", key=lambda one: _regular(text, one))
    plain = re.sub("  +", "~", _COMMA.sub("", text[:100_000]))  # as columns of a fixed width
    for one in given or ",|;\t:~^":
        if one != delimiter and _regular(plain, one) >= _regular(text, delimiter):
            raise BadInput("none or several of , | ; and tab part its cells: begin it with sep=,")
    rows = [*csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)]
    width = mode([*map(len, rows), 1])
    for at, row in enumerate(rows):
        row[:] = [escape(cell).strip() for cell in row]
        if any(row) and (
            len(row) != width
            or re.match('#.|.*="', "".join(row))
            or at > 1
            and not any(rows[at - 1])
            and not _title(rows[at - 2])
        ):
            row[0] += missing("row unlike others, or after an empty one")
    return write_markdown(_pieces(rows))


# The share of rows that are as wide as most rows; the last one may be cut
def _regular(text, delimiter):
    reader = csv.reader(io.StringIO(text[:100_000], newline=""), delimiter=delimiter)
    widths = [*map(len, reader)][:-1] or [1]
    width = mode(widths)
    return widths.count(width) / len(widths) * (width > 1)


def _pieces(rows):
    width = 0
    for block in _blocks(rows):
        while block and (
            len(block) == 1 or len(block[0]) == 1 or _title(block[0]) and not _title(block[1])
        ):
            row = block.pop(0)
            yield Piece("prose", _title(row) or ", ".join(filter(None, row)))
        if block:
            block[0][0] += missing("table that may go on") * (len(block[0]) == width)
            width = len(block[0])
            yield _table(block, _n_heads(block))


def _table(rows, n_heads):
    piece = table_piece(rows, n_heads)
    head = piece.rows[0]
    if (
        "" in rows[0][1:]
        or _FORM.match("\n".join(map("\t".join, piece.rows)))
        or any(
            name and (name in below or head.count(name) > 1) or _VALUE.match(name)
            for name, *below in zip(*piece.rows, strict=True)
        )
    ):
        head[0] += missing("header that may be a row")
    return piece


# One text, in one cell or merged over several
def _title(row):
    texts = {*filter(None, row)}
    return len(texts) == 1 and not _NUMBER.fullmatch(*texts) and texts.pop()


# Below a cell that is merged over several columns, the header goes on
def _n_heads(rows):
    above, row = rows[:2]
    is_split = len({*above}) < len({*zip(above, row, strict=True)})
    if is_split and (row[0] == above[0] or not any(map(_NUMBER.fullmatch, row))):
        return 2
    return not any(map(_NUMBER.fullmatch, above))


def _blocks(rows):
    for _, group in groupby(rows, key=any):
        columns = list(zip_longest(*group, fillvalue=""))
        shape = "".join(" x"[any(column)] for column in columns)
        for found in _BLOCK.finditer(shape):
            kept = filter(any, columns[found.start() : found.end()])
            yield [list(line) for line in zip(*kept, strict=True) if any(line)]


# every cell of a merged range has its text
def _grid(sheet, empty):
    if sheet.max_row * sheet.max_column > MAX_CELLS:
        raise BadInput(
            f"sheet {sheet.title} spreads over {sheet.max_row * sheet.max_column:,} "
            "cells: remove what is far out"
        )
    merged = {place: area.start_cell for area in sheet.merged_cells for place in area.cells}
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


def _shown(cell, empty):
    value, form = cell.value, cell.number_format or "General"
    if cell.font.strike:
        return ""
    if (
        cell.coordinate in empty
        or f"{cell.fill.fill_type}{cell.font.color and cell.font.color.value}{value is None}"
        in "None0False None00FFFFFFFalse NoneFFFFFFFFFalse"  # white on white
    ):
        return missing(f"no value calculated or shown in {cell.parent.title}!{cell.coordinate}")
    if cell.data_type == "d":
        return _date(value, form.lower())
    if cell.data_type == "b":
        return f"{value}".upper()
    if not isinstance(value, int | float):  # a list has several fonts
        is_unsure = _SHIFTED.search(f"{value!r}{form}")
        lacks = missing("raised, struck, added or hidden words") if is_unsure else ""
        return escape(f"{value or ''}".replace("_x000D_", " ")).strip() + lacks
    shown = _formatted(value, form)
    return escape(shown) if shown else f"{value:.15g}" + missing(f"format {form} left out")


# As ISO 8601, no finer than the cell shows it
def _date(value, form):
    if isinstance(value, timedelta):
        hours, rest = divmod(round(value.total_seconds()), 3600)
        return f"{hours}:{rest // 60:02}" + f":{rest % 60:02}" * ("s" in form)
    form = re.sub(r'"[^"]*"|\[[^]]*\]|\\.', "", form)
    end = 16 - 11 * isinstance(value, time) + 3 * ("s" in form)
    text = f"{value}".removesuffix(" 00:00:00")[:end]
    lacks = missing("date without a year") * (("-" in text) != ("y" in form) and form != "general")
    if "y" in form and "h" not in form:
        text = text[: 10 if "d" in form else 7 if "m" in form else 4]
    return lacks + missing("part of a second") * (".0" in form) + text


# A number as its format shows it; "" if the format has more than is read here
def _formatted(value, form):
    sections = re.split(r';(?=(?:[^"]*"[^"]*")*[^"]*\Z)', form)
    is_own = value < 0 and len(sections) > 1
    section = sections[is_own or 2 * (value == 0 and len(sections) > 2)]
    marks = list(_FORMAT.finditer(section))
    if _FORMAT.sub("", form).strip(";@") or sum(bool(one["digits"]) for one in marks) > 1:
        return ""
    amount = Decimal(f"{value!r}") * 100 ** sum(mark["sign"] == "%" for mark in marks)
    text = "-" * (amount < 0 and not is_own)
    for mark in marks:
        if digits := mark["digits"]:
            text += _digits(abs(amount).scaleb(-3 * len(mark["scale"])), digits)
        elif mark.lastgroup:
            text += mark[mark.lastgroup]
    return text.strip()


def _digits(amount, form):
    if form[0] in "Gg":
        return f"{float(amount):.15g}"
    whole, places, power = re.fullmatch(r"([^.E]*)\.?([^E]*)(E?).*", form).groups()
    if power:
        return f"{float(amount):.{len(places)}E}"
    text = f"{amount.quantize(Decimal(10) ** -len(places), ROUND_HALF_UP):{',' * (',' in whole)}f}"
    text = text.zfill(whole.count("0") + len(places) + bool(places))
    return re.sub(rf"\.?0{{0,{len(places) - places.count('0')}}}\Z", "", text)
