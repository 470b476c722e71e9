"""The page of a filing as headings, paragraphs and tables, in reading order."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from lxml import etree
from lxml.html import HtmlElement

from lib.tasks.tablequest.grids.cells import BLOCK_TAGS, BOLD_TAGS, is_hidden

_PART = re.compile(r"PART\s+[IVX]+\b.{0,40}", re.I)  # "Part II"
_ITEM = re.compile(r"ITEM\s+\d+[A-C]?\s*[.:—–-]", re.I)  # "Item 7A."; not "Items 7"
# "Note 3 –", "3. Leases", "CONSOLIDATED BALANCE SHEETS"; not "3.5 million"
_NOTE = re.compile(r"NOTE\s+\d+\b|\d{1,2}\.\s?[A-Z]|REPORT OF INDEPENDENT REGISTERED|"
                   r"CONSOLIDATED (?:BALANCE SHEETS?|STATEMENTS? OF)\b", re.I)
_BOLD, _ITALIC = re.compile(r"font-weight:\s*(bold|[6-9]00)?"), re.compile(r"font-style:\s*italic")
_SIZE = re.compile(r"font-size:\s*([\d.]+)(?:pt|px)")
_DIVIDER = re.compile(r"[\W_]*|table of contents|(?:page\s*)?\d{1,3}|[ivx]{1,5}", re.I)

Look = tuple[bool, bool, str]  # bold, italic or underlined, size


class PageBlock(NamedTuple):
    """A heading, a paragraph, a table or the end of a page."""

    kind: str  # heading, paragraph, table, page-end
    text: str = ""
    level: tuple = ()  # a heading's rank and style
    element: HtmlElement | None = None  # of a table


def page_blocks(body: HtmlElement) -> list[PageBlock]:
    """Return the blocks without dividers, page numbers, and what printed pages repeat."""
    blocks = list(_walk(body))
    near_end = {place for index, block in enumerate(blocks) if block.kind == "page-end"
                for place in range(index - 2, index + 3)}
    shapes = [re.sub(r"\d+", "#", block.text) for block in blocks]
    times = Counter(shapes[index] for index in near_end if index in range(len(blocks)))
    return [block for index, block in enumerate(blocks) if block.kind == "table" or block.text
            and not _DIVIDER.fullmatch(block.text)
            and not (index in near_end and len(block.text) < 120 and times[shapes[index]] >= 5)]


def _walk(body: HtmlElement) -> Iterator[PageBlock]:
    """Yield blocks; a run of text ends where a block's tag opens or closes."""
    runs: list[tuple[str, Look]] = []
    looks: list[Look] = [(False, False, "10")]
    # not recursive, because a broken file may nest thousands deep
    walker = etree.iterwalk(body, events=("start", "end"))
    for event, element in walker:
        if element.tag in BLOCK_TAGS and element.tag != "br":
            yield from _block(runs)
            runs = []
        if event == "end":
            looks.pop()
            if element.tag == "hr":
                yield PageBlock("page-end")
            runs.append((element.tail or "", looks[-1]))
        elif is_hidden(element) or element.tag == "table" and element.find(".//table") is None:
            if not is_hidden(element):
                yield PageBlock("table", element=element)
            walker.skip_subtree()
            looks.append(looks[-1])
        else:
            looks.append(_look(element, looks[-1]))
            runs.append((" " if element.tag == "br" else element.text or "", looks[-1]))
    yield from _block(runs)


def _look(element: HtmlElement, outer: Look) -> Look:
    style, tag = element.get("style") or "", element.tag
    weight, size = _BOLD.search(style), _SIZE.search(style)
    return (bool(weight[1]) if weight else outer[0] or tag in BOLD_TAGS,
            outer[1] or tag in ("i", "em", "u") or "underline" in style
            or bool(_ITALIC.search(style)), size[1] if size else outer[2])


def _block(runs: list[tuple[str, Look]]) -> Iterator[PageBlock]:
    text = " ".join("".join(text for text, _ in runs).replace("\u200b", "").split())
    if text:
        level = _level(text, [look for text, look in runs if text.strip()])
        text = re.sub(r"^(\d{1,2})\.(?=[A-Z])", r"\1. ", text) if level else text
        yield PageBlock("heading" if level else "paragraph", text, level)


def _level(text: str, looks: list[Look]) -> tuple:
    """Return a heading's rank (parts, items, notes, then by style), or () for a paragraph."""
    is_bold, is_slanted = all(look[0] for look in looks), all(look[1] for look in looks)
    is_mark = text.startswith(("•", "(", "☐", "☒", "/s/"))
    is_short = len(text.split()) <= 12 and not text.endswith((".", ":", ";", ","))
    if is_mark or len(text) > 200 or not re.search(r"[A-Za-z]", text) or not (
            is_bold or is_slanted and is_short):
        return ()
    if _PART.fullmatch(text):
        return (0,)
    if _ITEM.match(text):
        return (1,)
    if is_bold and _NOTE.match(text):
        return (2, text.isupper())
    return (3, is_bold, is_slanted, looks[0][2], text.isupper())


def under_headings(blocks: list[PageBlock],
                   skipped: str = "") -> list[tuple[PageBlock, tuple[str, ...]]]:
    """Return each block with the headings above it, outermost first.

    A heading equal to `skipped` (the company's name) does not count. Filings have no heading tags,
    so a heading styled like an open one closes it; any other heading is nested by rank.
    """
    path: list[tuple[tuple, str]] = []
    found = []
    for block in blocks:
        if block.kind == "heading" and block.text.casefold() != skipped.casefold():
            levels, rank = [level for level, _ in path], block.level[0]
            if block.level in levels:
                del path[levels.index(block.level):]
            path = [one for one in path if one[0][0] < rank or one[0][0] == rank == 3]
            path.append((block.level, block.text))
        found.append((block, tuple(text for _, text in path)))
    return found
