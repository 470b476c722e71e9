"""The two kinds of file that a person's sheet can be, CSV and XLSX: written, read back, made longer (paper, 4.4)."""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from lib.core.files import replacing, write_text
from lib.core.paths import shown


def write_csv(path: Path, lines: list[list[str]], separator: str = ",") -> Path:
    """Write `lines` as CSV that Excel opens as UTF-8, every cell quoted, whole or not at all."""
    text = io.StringIO()
    csv.writer(text, delimiter=separator, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(lines)
    return write_text(path, "\ufeff" + text.getvalue())  # without the mark Excel reads UTF-8 as something else


def write_xlsx(path: Path, lines: list[list[str]], labels: Sequence[str]) -> Path:
    """Write `lines` of five columns as XLSX, whole or not at all; the last column offers `labels` to choose from."""
    from openpyxl import Workbook  # CSV needs no such package
    book = Workbook()
    sheet = book.active
    for line in lines:
        sheet.append(line)
    _dress(sheet, 1, "E", labels)
    for letter, width in zip("ABCDE", (20, 50, 40, 40, 12), strict=True):
        sheet.column_dimensions[letter].width = width
    sheet.freeze_panes = "A2"
    with replacing(path) as temporary:
        book.save(temporary)
    return path


def write_longer(path: Path, target: Path, columns: list[str], lines: list[list[str]], labels: Sequence[str]) -> None:
    """Write the sheet at `path` to `target` with `columns` at the right of its first row and `lines` below its last.

    What the sheet has stays as it is: cells and separator of CSV; cells, widths, colours and formulas of XLSX. The
    rows of XLSX that are new have `labels` to choose from.
    """
    there = lines_of(path, path.suffix)
    if path.suffix != ".xlsx":
        write_csv(target, [[*there[0], *columns], *there[1:], *lines], _separator(_text(path)))
        return
    from openpyxl import load_workbook
    from openpyxl.utils import get_column_letter
    book = load_workbook(path)
    sheet, first, width = book.worksheets[0], len(there) + 1, len(there[0])
    for column, name in enumerate(columns, width + 1):
        sheet.cell(1, column, name)
    for row, line in enumerate(lines, first):
        for column, text in enumerate(line, 1):
            sheet.cell(row, column, text or None)
    _dress(sheet, first, get_column_letter([*header_of(there), *columns].index("label") + 1), labels)
    book.save(target)


def _dress(sheet, first: int, letter: str, labels: Sequence[str]) -> None:
    """Rows from `first` on as wrapped text, whatever it looks like, with a choice of `labels` in column `letter`."""
    from openpyxl.styles import Alignment
    from openpyxl.worksheet.datavalidation import DataValidation
    for row in sheet.iter_rows(min_row=first):
        for cell in row:
            cell.data_type = "s" if cell.value else "n"
            cell.alignment = Alignment(wrap_text=True, vertical="top")
    choice = DataValidation(type="list", formula1=f'"{",".join(labels)}"', allow_blank=True)
    choice.add(f"{letter}{max(2, first)}:{letter}{max(2, sheet.max_row)}")  # no row has two choices
    sheet.add_data_validation(choice)


def header_of(lines: list[list[str]]) -> list[str]:
    """The names of the columns, as they are compared; [] of an empty sheet."""
    return [cell.strip().lower() for cell in lines[0]] if lines else []


def lines_of(path: Path, ending: str) -> list[list[str]]:
    """The cells of the sheet at `path`, row by row, as XLSX where `ending` says so, else as CSV in any form.

    Raises ValueError where it cannot be read.
    """
    if ending == ".xlsx":
        return _read_xlsx(path)
    text = _text(path)
    try:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=_separator(text)))
    except csv.Error as error:  # one quote that is not closed makes a cell of all that follows
        raise ValueError(f"{shown(path)} cannot be read as CSV ({error}): look for a quote that is not closed, or save "
                         "the sheet again from a spreadsheet") from error


def _text(path: Path) -> str:
    raw = path.read_bytes()
    encoding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        text = raw.decode("cp1252", errors="replace")  # what Excel saves as plain CSV; items and labels are ASCII
    return text.split("\n", 1)[1] if text.startswith("sep=") else text


def _separator(text: str) -> str:
    counts = Counter(letter for letter in text.split("\n", 1)[0] if letter in ",;\t")
    return counts.most_common(1)[0][0] if counts else ","


def _read_xlsx(path: Path) -> list[list[str]]:
    from openpyxl import load_workbook
    try:
        with open(path, "rb") as file:  # openpyxl takes no path with another ending
            rows = list(load_workbook(file, data_only=True).worksheets[0].iter_rows(values_only=True))
    except Exception as error:  # openpyxl raises what its XML and zip readers raise
        raise ValueError(f"{shown(path)} cannot be read as XLSX ({error}): save it again as .xlsx or .csv") from error
    return [["" if cell is None else str(cell) for cell in row] for row in rows]
