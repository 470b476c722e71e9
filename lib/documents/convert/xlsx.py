"""Read XLSX: one section a visible sheet, a table for each block of cells between blank ones."""

import datetime
import io
import re
from itertools import groupby

from lib.core.errors import BadInput
from lib.documents.convert.markdown import Converted, Piece, inline, made
from lib.documents.convert.package import opened, part, refuse_entities

MOST_CELLS = 2_000_000  # of a sheet, blank ones included

_FORMULA_WITHOUT_VALUE = re.compile(rb"</f>\s*(?:<v\s*/>|<v>\s*</v>)?\s*</c>|"
                                    rb"<f\b[^>]*/>\s*(?:<v\s*/>)?\s*</c>")
_NUMBER_FORMAT = re.compile(r"(#,##)?0(?:\.(0+))?(%)?")


def read(raw: bytes) -> Converted:
    """Convert an XLSX file: the values that it stores, as it shows them. Raises BadInput."""
    from openpyxl import load_workbook

    package = opened(raw, "xl/workbook.xml", "XLSX")
    refuse_entities(package)
    unknown = sum(len(_FORMULA_WITHOUT_VALUE.findall(part(package, name)))
                  for name in package.namelist() if name.startswith("xl/worksheets/sheet"))
    book = load_workbook(io.BytesIO(raw), data_only=True, keep_links=False)
    pieces = [piece for sheet in book.worksheets if sheet.sheet_state == "visible"
              for piece in _sheet(sheet)]
    return made(pieces, f"{unknown} formulas without a stored value: open and save it in a "
                "spreadsheet program" if unknown else "")


def _sheet(sheet) -> list[Piece]:
    if sheet.max_row * sheet.max_column > MOST_CELLS:
        raise BadInput(f"sheet {sheet.title} spreads over {sheet.max_row * sheet.max_column:,} "
                       "cells: remove what is far out")
    pieces = [Piece("heading", inline(sheet.title), level=2)]
    for block in _blocks(_grid(sheet)):
        while len(block) > 1 and sum(map(bool, block[0])) == 1 < sum(map(bool, block[1])):
            pieces.append(Piece("prose", "".join(block.pop(0))))  # a title above its table
        if len(block) == 1 or max(map(len, block)) == 1:
            pieces += [Piece("prose", ", ".join(filter(None, row))) for row in block]
        else:
            pieces.append(Piece("table", rows=block))
    for piece in pieces:
        piece.position = f"sheet {sheet.title}"
    return pieces if len(pieces) > 1 else []


# every cell of a merged range has its text
def _grid(sheet) -> list[list[str]]:
    merged = {}
    for area in sheet.merged_cells.ranges:
        text = _shown(sheet.cell(area.min_row, area.min_col))
        merged |= {place: text for place in area.cells}
    hidden = {column for one in sheet.column_dimensions.values() if one.hidden
              for column in range(one.min, one.max + 1)}
    return [[merged.get((cell.row, cell.column)) or _shown(cell) for cell in row
             if cell.column not in hidden]
            for row in sheet.iter_rows() if not sheet.row_dimensions[row[0].row].hidden]


def _blocks(rows: list[list[str]]):
    for filled, group in groupby(rows, key=any):
        if not filled:
            continue
        lines = list(group)
        used = [any(line[at] for line in lines) for at in range(len(lines[0]))]
        for is_used, columns in groupby(range(len(used)), key=used.__getitem__):
            if is_used:
                first, *_, last = [*columns] * 2
                part_of = [line[first:last + 1] for line in lines]
                while part_of and not any(part_of[0]):
                    part_of.pop(0)
                while part_of and not any(part_of[-1]):
                    part_of.pop()
                yield part_of


def _shown(cell) -> str:
    value = cell.value
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime.datetime):
        has_time = value.time() != datetime.time()
        return value.isoformat(" ", "minutes") if has_time else value.date().isoformat()
    if isinstance(value, (int, float)):
        form = _NUMBER_FORMAT.fullmatch(cell.number_format or "")
        if form is None:
            return f"{value:.15g}" if isinstance(value, float) else str(value)
        value, comma = value * (100 if form[3] else 1), "," if form[1] else ""
        return f"{value:{comma}.{len(form[2] or '')}f}{form[3] or ''}"
    return inline(str(value))
