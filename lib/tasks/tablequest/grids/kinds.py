"""Recognize tables without data (footers, bullets, …) before they are read as grids."""

import re
from collections.abc import Sequence

from lib.tasks.tablequest.grids.cells import PlacedRow
from lib.tasks.tablequest.grids.values import YEAR

ROOM_KINDS = ("page footer", "empty")  # a table may continue after one

_BULLET = re.compile(r"[•·●○▪■◦o–—*-]|\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)]", re.I)
_FOOTER = re.compile(r"form 10-[kq]|annual report|table of contents", re.I)
_COVER = re.compile(r"state or other jurisdiction|zip code|accelerated filer|title of each class|"
                    r"trading symbol|employer identification|commission file", re.I)
_EXHIBIT = re.compile(r"\bexhibit\s*(?:number|no\.|description)?$", re.I)
_NUMBER = re.compile(r"\d{1,3}|[ivx]{1,5}")  # a page's


def kind_of(rows: Sequence[PlacedRow]) -> str:
    """Return the kind of a table without data, such as "page footer"; "" if it may hold data."""
    lines = [[cell.text for cell in row.cells] for row in rows if row.cells]
    if not lines:
        return "empty"
    words = " ".join(text for line in lines for text in line)
    if len(lines) == 1 and len(lines[0]) <= 3 and _is_footer(lines[0]):
        return "page footer"
    if all(_BULLET.fullmatch(line[0]) and len(line) <= 2 for line in lines):
        return "bullets"
    if "/s/" in words or re.search(r"\bsignatures?\b", " ".join(lines[0]), re.I):
        return "signatures"
    if any(_EXHIBIT.search(text) for line in lines[:3] for text in line):
        return "exhibits"
    if _COVER.search(words):
        return "cover page"
    return "table of contents" if _is_contents(lines) else ""


def _is_footer(line: list[str]) -> bool:
    is_page = len(line) == 1 and bool(_NUMBER.fullmatch(line[0]))
    return bool(_FOOTER.search(" ".join(line))) or is_page


def _is_contents(lines: list[list[str]]) -> bool:
    """Return whether at least 3 rows end with ascending page numbers, under "Page" or no header."""
    pages = [line[-1] for line in lines if len(line) > 1 and _NUMBER.fullmatch(line[-1])]
    numbers = [int(page) for page in pages if page.isdigit()]
    if len(numbers) < 3 or numbers != sorted(numbers) or len(pages) < 0.6 * len(lines):
        return False
    if lines[0][-1].lower().startswith("page"):
        return True
    has_no_header = _NUMBER.fullmatch(lines[0][-1]) and all(len(line) <= 3 for line in lines)
    has_year = re.search(rf"\b{YEAR}\b", " ".join(lines[0]))
    return bool(has_no_header and not has_year)
