"""PPTX as a section a slide; XLSX and CSV as a table for each block of cells."""

import csv
import datetime
import io
import re
from collections.abc import Iterator
from itertools import groupby, zip_longest

from lib.core.store import BadInput
from lib.documents.convert import (
    Converted,
    Piece,
    count_item,
    escape,
    open_package,
    table_piece,
    write_markdown,
)
from lib.documents.html import decode

MAX_CELLS = 2_000_000  # of a sheet, blank ones included

_NUMBER_FORMAT = re.compile(r"(#,##)?0(?:\.(0+))?(%)?")
_NUMBER = re.compile(r"[-+]?[\d.,]*\d[\d.,]*(?:[eE][-+]?\d+)?\s?%?")
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_FURNITURE = ("DATE", "FOOTER", "SLIDE_NUMBER")


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
        title = slide.shapes.title
        of_slide = [Piece("heading", escape(title.text_frame.text))] if title is not None else []
        of_slide += _shapes(slide.shapes, title)
        if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None:
            of_slide += _text(notes, False)
        pieces += [piece for piece in of_slide if piece.text.strip() or piece.rows]
    return write_markdown(pieces)


def _shapes(shapes, title=None) -> Iterator[Piece]:
    for shape in sorted(shapes, key=lambda one: ((one.top or 0) // 300_000, one.left or 0)):
        kind = shape.placeholder_format.type.name if shape.is_placeholder else ""
        if kind in _FURNITURE or title is not None and shape.shape_id == title.shape_id:
            continue
        if hasattr(shape, "shapes"):  # a group
            yield from _shapes(shape.shapes)
        elif getattr(shape, "has_table", False):
            yield table_piece(
                [[escape(cell.text) for cell in row.cells] for row in shape.table.rows]
            )
        elif shape.has_text_frame:
            yield from _text(shape.text_frame, kind in ("BODY", "OBJECT"))


def _text(frame, bullets: bool) -> Iterator[Piece]:
    counts: dict[int, int] = {}
    for paragraph in frame.paragraphs:
        marks = {one.tag.removeprefix(_A) for one in paragraph._p.findall(f"{_A}pPr/*")}
        level, numbered = paragraph.level, "buAutoNum" in marks
        text = escape(paragraph.text)
        if "buNone" in marks or not (bullets or numbered or "buChar" in marks):
            counts.clear()
            yield Piece("prose", text)
        elif text:
            number = count_item(counts, level)
            yield Piece("item", text, depth=level, number=number if numbered else None)


def read_xlsx(raw: bytes) -> Converted:
    """Convert an XLSX file: the values that its visible cells show. Raises BadInput."""
    from openpyxl import load_workbook

    open_package(raw, "xl/workbook.xml", "XLSX")
    pieces: list[Piece] = []
    for sheet in load_workbook(io.BytesIO(raw), data_only=True, keep_links=False).worksheets:
        if sheet.sheet_state == "visible":
            content = list(_pieces(_grid(sheet)))
            heading = Piece("heading", escape(sheet.title), level=2)
            pieces += [heading, *content] if content else []
    return write_markdown(pieces)


def read_csv(raw: bytes) -> Converted:
    """Convert a CSV or TSV file, whose delimiter and header are found. Raises BadInput."""
    text = decode(raw)
    try:
        dialect = csv.Sniffer().sniff(text[:100_000], ",;\t|")
    except csv.Error as error:
        raise BadInput(f"no delimiter found ({error}): separate its cells by commas") from error
    try:
        rows = [[escape(cell) for cell in row] for row in csv.reader(io.StringIO(text), dialect)]
    except csv.Error as error:
        raise BadInput(f"not a table ({error})") from error
    return write_markdown(_pieces(rows))


def _pieces(rows: list[list[str]]) -> Iterator[Piece]:
    for block in _blocks(rows):
        while len(block) > 1 and sum(map(bool, block[0])) == 1 < sum(map(bool, block[1])):
            yield Piece("prose", "".join(block.pop(0)))  # a title
        if len(block) == 1 or len(block[0]) == 1:
            for row in block:
                yield Piece("prose", ", ".join(filter(None, row)))
        else:
            is_headed = not any(map(_NUMBER.fullmatch, block[0]))
            yield table_piece(block, int(is_headed))


def _blocks(rows: list[list[str]]) -> Iterator[list[list[str]]]:
    for filled, group in groupby(rows, key=any):
        columns = zip_longest(*group, fillvalue="") if filled else []
        for is_used, kept in groupby(columns, key=any):
            if is_used:
                lines = [list(line) for line in zip(*kept, strict=True)]
                used = [at for at, line in enumerate(lines) if any(line)]
                yield lines[used[0] : used[-1] + 1]


# every cell of a merged range has its text
def _grid(sheet) -> list[list[str]]:
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
            _shown(merged.get((cell.row, cell.column), cell))
            for cell in row
            if cell.column not in hidden
        ]
        for row in sheet.iter_rows()
        if not sheet.row_dimensions[row[0].row].hidden
    ]


def _shown(cell) -> str:
    value = cell.value
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ", "minutes").removesuffix(" 00:00")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if form := _NUMBER_FORMAT.fullmatch(cell.number_format or ""):
            comma, places, percent = "," * bool(form[1]), len(form[2] or ""), form[3] or "f"
            return f"{value:{comma}.{places}{percent}}"
        return f"{value:.15g}" if isinstance(value, float) else str(value)
    return "" if value is None else escape(str(value)).strip()
