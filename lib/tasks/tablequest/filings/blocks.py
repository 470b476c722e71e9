"""Define the blocks of a filing, and rank its headings by words and look."""

import re
from dataclasses import dataclass
from typing import NamedTuple

from lxml.html import HtmlElement

_PART = re.compile(r"PART\s+[IVX]+\b.{0,40}", re.I)  # "Part II"
_ITEM = re.compile(r"ITEM\s+\d+[A-C]?\s*[.:—–-]", re.I)  # "Item 7A."; not "Items 7"
# "Note 3 –", "3. Leases", "CONSOLIDATED BALANCE SHEETS"; not "3.5 million"
_NOTE = re.compile(r"NOTE\s+\d+\b|\d{1,2}\.\s?[A-Z]|REPORT OF INDEPENDENT REGISTERED|"
                   r"CONSOLIDATED (?:BALANCE SHEETS?|STATEMENTS? OF)\b", re.I)


@dataclass(frozen=True)
class PageBlock:
    """A heading, a paragraph, a table or the end of a page."""

    kind: str  # heading, paragraph, table, page-end
    text: str = ""
    level: tuple = ()  # a heading's rank and style
    element: HtmlElement | None = None  # of a table


class Look(NamedTuple):
    bold: bool = False
    italic: bool = False
    underlined: bool = False
    size: float = 10.0  # points
    centred: bool = False


def level_of(text: str, looks: list[Look]) -> tuple:
    """Return a heading's rank (parts, items, notes, then by style), or () for a paragraph."""
    is_bold, n_words = all(look.bold for look in looks), len(text.split())
    is_italic = all(look.italic for look in looks)
    is_underlined = all(look.underlined for look in looks)
    is_mark = text.startswith(("•", "(", "☐", "☒", "/s/"))
    if not re.search(r"[A-Za-z]", text) or len(text) > 200 or is_mark:
        return ()
    is_short = n_words <= 12 and not text.endswith((".", ":", ";", ","))
    if not is_bold and not ((is_italic or is_underlined) and is_short):
        return ()
    if _PART.fullmatch(text):
        return (0,)
    if _ITEM.match(text):
        return (1,)
    if is_bold and _NOTE.match(text):
        return (2, text.isupper())
    return (3, is_bold, is_italic, is_underlined, looks[0].size, looks[0].centred, text.isupper())
