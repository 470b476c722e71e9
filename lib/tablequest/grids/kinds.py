"""Tables of a filing that hold no data: page footers, bullets, signatures, contents. Told before a grid is tried."""

import re
from collections.abc import Sequence

from lib.tablequest.grids.cells import PlacedRow

ROOM_KINDS = ("page footer", "empty")  # a table may go on after one
# numbers that could not be read
NUMERIC_KINDS = ("no row labels", "no column labels", "columns overlap", "columns change", "too large")

_ROMAN = re.compile(r"[ivxlc]{1,6}", re.I)
_BULLET = re.compile(r"[•·●○▪■◦o–—*-]|\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)]", re.I)
_FOOTER = re.compile(r"form 10-[kq]|annual report|table of contents", re.I)
_COVER = re.compile(r"state or other jurisdiction|zip code|accelerated filer|title of each class|trading symbol|"
                    r"employer identification|commission file", re.I)
_EXHIBIT = re.compile(r"\bexhibit\s*(?:number|no\.|description)?$", re.I)


def kind_of(rows: Sequence[PlacedRow]) -> str:
    """What a table without data is: "empty", "page footer", "bullets", …; "" where it may hold data."""
    lines = [[cell.text for cell in row.cells] for row in rows if row.cells]
    if not lines:
        return "empty"
    words = " ".join(text for line in lines for text in line)
    if len(lines) == 1 and len(lines[0]) <= 3 and _is_footer(lines[0]):
        return "page footer"
    if all(_BULLET.fullmatch(line[0]) for line in lines) and all(len(line) <= 2 for line in lines):
        return "bullets"
    if "/s/" in words or re.search(r"\bsignatures?\b", " ".join(lines[0]), re.I):
        return "signatures"
    if any(_EXHIBIT.search(text) for line in lines[:3] for text in line):
        return "exhibits"
    if _COVER.search(words):
        return "cover page"
    return "table of contents" if _is_contents(lines) else ""


def _is_footer(line: list[str]) -> bool:
    is_page = any(text.isdigit() and len(text) < 4 or _ROMAN.fullmatch(text) for text in line)
    return bool(_FOOTER.search(" ".join(line))) or is_page and len(line) == 1


def _is_contents(lines: list[list[str]]) -> bool:
    """Rows that end with page numbers that do not fall, under "Page" or under nothing, three or more."""
    pages = [line[-1] for line in lines if len(line) > 1 and re.fullmatch(r"\d{1,3}|[ivx]{1,5}", line[-1])]
    numbers = [int(page) for page in pages if page.isdigit()]
    if len(numbers) < 3 or numbers != sorted(numbers) or len(pages) < 0.6 * len(lines):
        return False
    first = " ".join(lines[0]).lower()
    is_headed = lines[0][-1].lower().startswith("page")
    named = sum(bool(re.match(r"(?:part|item)\b", line[0], re.I)) for line in lines)
    has_no_header = re.fullmatch(r"\d{1,3}|[ivx]{1,5}", lines[0][-1]) is not None and all(
        len(line) <= 3 for line in lines)
    return is_headed or named >= 3 or has_no_header and not re.search(r"\b(?:19|20)\d\d\b", first)
