"""Read, write and extend a person's sheet, which is CSV or XLSX (paper, 4.4)."""

import csv
import io
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from lib.core.files import replacing, write_text
from lib.core.paths import shown

_WIDTHS = dict(zip("ABCDE", (20, 50, 40, 40, 12), strict=True))


def write_csv(path: Path, lines: list[list[str]], separator: str = ",") -> Path:
    """Write `lines` as CSV, every cell quoted, with the byte order mark that Excel needs."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows(lines)
    return write_text(path, "\ufeff" + text.getvalue())


def write_xlsx(path: Path, lines: list[list[str]], labels: Sequence[str]) -> Path:
    """Write `lines` as XLSX; the fifth column offers `labels` to choose from."""
    import pandas as pd  # slow to import, and `make study` only hashes the sheet

    with (replacing(path) as temporary, open(temporary, "wb") as file,
          pd.ExcelWriter(file, engine="openpyxl") as writer):
        pd.DataFrame(lines).to_excel(writer, header=False, index=False)
        sheet = writer.book.active
        _as_text(sheet, 1, "E", labels)
        for letter, width in _WIDTHS.items():
            sheet.column_dimensions[letter].width = width
        sheet.freeze_panes = "A2"
    return path


def write_longer(path: Path, target: Path, columns: list[str], lines: list[list[str]],
                 labels: Sequence[str]) -> None:
    """Write the sheet at `path` to `target`, with further `columns` at the right and rows below.

    Existing content stays unchanged: cells and separator of CSV; cells, widths, colours and
    formulas of XLSX. New rows of XLSX offer `labels` to choose from.
    """
    there = lines_of(path, path.suffix)
    if path.suffix != ".xlsx":
        longer = [[*there[0], *columns], *there[1:], *lines]
        write_csv(target, longer, _separator(_text(path)))
        return
    import pandas as pd

    shutil.copyfile(path, target)
    with open(target, "r+b") as file, pd.ExcelWriter(
            file, engine="openpyxl", mode="a", if_sheet_exists="overlay") as writer:
        sheet = writer.book.worksheets[0]
        for column, name in enumerate(columns, len(there[0]) + 1):
            sheet.cell(1, column, name)
        pd.DataFrame(lines).to_excel(writer, sheet_name=sheet.title, startrow=len(there),
                                     header=False, index=False)
        place = [*header_of(there), *columns].index("label")
        _as_text(sheet, len(there) + 1, sheet.cell(1, place + 1).column_letter, labels)


def _as_text(sheet, first: int, letter: str, labels: Sequence[str]) -> None:
    """Format rows from `first` as wrapped text, not formulas; column `letter` offers `labels`."""
    from openpyxl.styles import Alignment  # pandas has loaded it if there is any XLSX
    from openpyxl.worksheet.datavalidation import DataValidation

    for row in sheet.iter_rows(min_row=first):
        for cell in row:
            cell.data_type = "s" if cell.value else "n"
            cell.alignment = Alignment(wrap_text=True, vertical="top")
    choice = DataValidation(type="list", formula1=f'"{",".join(labels)}"', allow_blank=True)
    choice.add(f"{letter}{max(2, first)}:{letter}{max(2, sheet.max_row)}")
    sheet.add_data_validation(choice)


def header_of(lines: list[list[str]]) -> list[str]:
    """Return the column names in lower case; [] for an empty sheet."""
    return [cell.strip().lower() for cell in lines[0]] if lines else []


def lines_of(path: Path, ending: str) -> list[list[str]]:
    """Return the cells of a sheet by row, as XLSX if `ending` says so, else as CSV in any form.

    Raises ValueError if it cannot be read.
    """
    if ending == ".xlsx":
        return _read_xlsx(path)
    text = _text(path)
    try:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=_separator(text)))
    except csv.Error as error:  # an unclosed quote makes one cell of all that follows
        raise ValueError(f"{shown(path)} cannot be read as CSV ({error}): look for a quote that is "
                         "not closed, or save the sheet again from a spreadsheet") from error


def _text(path: Path) -> str:
    raw = path.read_bytes()
    encoding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        text = raw.decode("cp1252", errors="replace")  # Excel's plain CSV; labels are ASCII
    return text.split("\n", 1)[1] if text.startswith("sep=") else text


def _separator(text: str) -> str:
    counts = Counter(letter for letter in text.split("\n", 1)[0] if letter in ",;\t")
    return counts.most_common(1)[0][0] if counts else ","


def _read_xlsx(path: Path) -> list[list[str]]:
    import pandas as pd

    try:
        with open(path, "rb") as file:  # pandas rejects a path with another extension
            cells = pd.read_excel(file, engine="openpyxl", header=None, na_filter=False)
    except Exception as error:  # openpyxl raises what its XML and zip readers raise
        raise ValueError(f"{shown(path)} cannot be read as XLSX ({error}): save it again as .xlsx "
                         "or .csv") from error
    return [["" if pd.isna(cell) else str(cell) for cell in row]
            for row in cells.astype(object).to_numpy()]
