"""Read XLSX, CSV and TSV: a table for each block of cells between blank rows and columns."""

import csv
import datetime
import io
import re
from collections.abc import Iterator
from itertools import groupby

from lib.core.errors import BadInput
from lib.documents.convert.html import decoded
from lib.documents.convert.markdown import Converted, Piece, inline, table, write_markdown
from lib.documents.convert.package import opened

MOST_CELLS = 2_000_000  # of a sheet, blank ones included

_NUMBER_FORMAT = re.compile(r"(#,##)?0(?:\.(0+))?(%)?")
_NUMBER = re.compile(r"[-+]?[\d.,]*\d[\d.,]*(?:[eE][-+]?\d+)?\s?%?")


def read_xlsx(raw: bytes) -> Converted:
    """Convert an XLSX file: the values that its visible cells show. Raises BadInput."""
    from openpyxl import load_workbook

    opened(raw, "xl/workbook.xml", "XLSX")
    pieces: list[Piece] = []
    for sheet in load_workbook(io.BytesIO(raw), data_only=True, keep_links=False).worksheets:
        if sheet.sheet_state == "visible":
            content = list(_pieces(_grid(sheet)))
            heading = Piece("heading", inline(sheet.title), level=2)
            pieces += [heading, *content] if content else []
    return write_markdown(pieces)


def read_csv(raw: bytes) -> Converted:
    """Convert a CSV or TSV file, whose delimiter and header are found. Raises BadInput."""
    text = decoded(raw)
    try:
        dialect = csv.Sniffer().sniff(text[:100_000], ",;\t|")
    except csv.Error as error:
        raise BadInput(f"no delimiter found ({error}): separate its cells by commas") from error
    try:
        rows = [[inline(cell) for cell in row] for row in csv.reader(io.StringIO(text), dialect)]
    except csv.Error as error:
        raise BadInput(f"not a table ({error})") from error
    width = max(map(len, rows))
    return write_markdown(_pieces([row + [""] * (width - len(row)) for row in rows]))


def _pieces(rows: list[list[str]]) -> Iterator[Piece]:
    for block in _blocks(rows):
        while len(block) > 1 and sum(map(bool, block[0])) == 1 < sum(map(bool, block[1])):
            yield Piece("prose", "".join(block.pop(0)))  # a title
        if len(block) == 1 or len(block[0]) == 1:
            for row in block:
                yield Piece("prose", ", ".join(filter(None, row)))
        else:
            is_headed = not any(map(_NUMBER.fullmatch, block[0]))
            yield table(block, int(is_headed))


def _blocks(rows: list[list[str]]) -> Iterator[list[list[str]]]:
    for filled, group in groupby(rows, key=any):
        columns = list(zip(*group, strict=True)) if filled else []
        for is_used, kept in groupby(columns, key=any):
            if is_used:
                lines = [list(line) for line in zip(*kept, strict=True)]
                used = [at for at, line in enumerate(lines) if any(line)]
                yield lines[used[0]:used[-1] + 1]


# every cell of a merged range has its text
def _grid(sheet) -> list[list[str]]:
    if sheet.max_row * sheet.max_column > MOST_CELLS:
        raise BadInput(f"sheet {sheet.title} spreads over {sheet.max_row * sheet.max_column:,} "
                       "cells: remove what is far out")
    merged = {place: (area.min_row, area.min_col) for area in sheet.merged_cells.ranges
              for place in area.cells}
    hidden = {column for one in sheet.column_dimensions.values() if one.hidden
              for column in range(one.min, one.max + 1)}
    return [[_shown(sheet.cell(*merged.get((cell.row, cell.column), (cell.row, cell.column))))
             for cell in row if cell.column not in hidden]
            for row in sheet.iter_rows() if not sheet.row_dimensions[row[0].row].hidden]


def _shown(cell) -> str:
    value = cell.value
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ", "minutes").removesuffix(" 00:00")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if form := _NUMBER_FORMAT.fullmatch(cell.number_format or ""):
            comma, places, percent = "," * bool(form[1]), len(form[2] or ""), form[3] or "f"
            return f"{value:{comma}.{places}{percent}}"
        return f"{value:.15g}" if isinstance(value, float) else str(value)
    return "" if value is None else inline(str(value)).strip()
