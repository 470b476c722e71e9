"""The page of a filing as a run of headings, paragraphs and tables, in the order in which a reader meets them."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lxml import etree
from lxml.html import HtmlElement

from lib.tablequest.grids.cells import BLOCK_TAGS, PlacedRow, is_hidden, style_of

_WEIGHT = re.compile(r"bold|[6-9]00")
_SIZE = re.compile(r"([\d.]+)(?:pt|px)")
_PART = re.compile(r"PART\s+[IVX]+\b.{0,40}", re.I)
_ITEM = re.compile(r"ITEM\s+\d+[A-C]?\s*[.:—–-]", re.I)
_NOTE = re.compile(r"NOTE\s+\d+\b|\d{1,2}\.\s?[A-Z]|REPORT OF INDEPENDENT REGISTERED|"
                   r"CONSOLIDATED (?:BALANCE SHEETS?|STATEMENTS? OF)\b", re.I)
_DIVIDER = re.compile(r"[\W_]*")
_PAGE = re.compile(r"(?:table of contents|(?:page\s*)?\d{1,3}|[ivx]{1,5})", re.I)


@dataclass(frozen=True)
class PageBlock:
    """A heading, a paragraph, a table or the end of a page."""

    kind: str  # heading, paragraph, table, page-end
    text: str = ""
    level: tuple = ()  # of a heading: its rank and how it is set
    element: HtmlElement | None = None  # of a table, as the next two
    rows: tuple[PlacedRow, ...] = ()
    table_kind: str = ""  # what it is where it holds no data: "page footer", …


@dataclass(frozen=True)
class _Run:
    text: str
    look: tuple[bool, bool, bool, float, bool]  # bold, italic, underlined, points, centred


def page_blocks(body: HtmlElement) -> list[PageBlock]:
    """The blocks of a page without what repeats on every page (running headers, page numbers)."""
    return _without_running(list(_walk(body)))


def _walk(body: HtmlElement) -> Iterator[PageBlock]:
    """Yield blocks; a piece of text ends where a block's tag opens or closes."""
    runs: list[_Run] = []
    looks = [(False, False, False, 10.0, False)]
    walker = etree.iterwalk(body, events=("start", "end"))  # not recursive: a broken file nests thousands deep
    for event, element in walker:
        if event == "start":
            if is_hidden(element):
                walker.skip_subtree()
                looks.append(looks[-1])
                continue
            if element.tag in BLOCK_TAGS and element.tag != "br":
                yield from _block(runs)
                runs = []
            if element.tag == "table" and element.find(".//table") is None:
                yield PageBlock("table", element=element)
                walker.skip_subtree()
                looks.append(looks[-1])
                continue
            looks.append(_look(element, looks[-1]))
            text = " " if element.tag == "br" else element.text or ""
            runs.append(_Run(text, looks[-1]))
        else:
            looks.pop()
            if element.tag in BLOCK_TAGS and element.tag != "br":
                if re.fullmatch(r"h[1-6]", element.tag):
                    runs = [replace(run, look=(True, False, False, 30.0 - int(element.tag[1]), False)) for run in runs]
                yield from _block(runs)
                runs = []
            if element.tag == "hr":
                yield PageBlock("page-end")
            runs.append(_Run(element.tail or "", looks[-1]))
    yield from _block(runs)


def _look(element: HtmlElement, outer: tuple) -> tuple[bool, bool, bool, float, bool]:
    style, tag = style_of(element), element.tag
    weight = style.get("font-weight", "")
    bold = bool(_WEIGHT.fullmatch(weight)) if weight else outer[0] or tag in ("b", "strong")
    italic = outer[1] or tag in ("i", "em") or style.get("font-style") == "italic"
    underlined = outer[2] or tag == "u" or "underline" in style.get("text-decoration", "")
    size = _SIZE.match(style.get("font-size", ""))
    centred = outer[4] or tag == "center" or (style.get("text-align") or element.get("align") or "").lower() == "center"
    return bold, italic, underlined, float(size[1]) if size and size[1].count(".") < 2 else outer[3], centred


def _block(runs: list[_Run]) -> Iterator[PageBlock]:
    text = " ".join("".join(run.text for run in runs).replace("\u200b", "").split())
    if not text:
        return
    looks = [run.look for run in runs if run.text.strip()]
    level = _level(text, looks)
    text = re.sub(r"^(\d{1,2})\.(?=[A-Z])", r"\1. ", text) if level else text
    yield PageBlock("heading" if level else "paragraph", text, level)


def _level(text: str, looks: list[tuple]) -> tuple:
    """The rank of a heading, () for a paragraph: parts, items, notes, then what is set alike."""
    is_bold, is_italic = all(look[0] for look in looks), all(look[1] for look in looks)
    is_underlined, n_words = all(look[2] for look in looks), len(text.split())
    if not re.search(r"[A-Za-z]", text) or len(text) > 200 or text.startswith(("•", "(", "☐", "☒", "/s/")):
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
    if n_words > 30 or is_bold and text.endswith((":", ";", ",")) and n_words > 12:
        return ()
    return (3, is_bold, is_italic, is_underlined, looks[0][3], looks[0][4], text.isupper())


def under_headings(blocks: list[PageBlock], skipped: str = "") -> list[tuple[PageBlock, tuple[str, ...]]]:
    """Each block with the headings above it, outermost first; a heading named `skipped` (the company) is none.

    Filings have no heading tags: what is set like an open heading ends that one, what is set otherwise stands in it.
    """
    path: list[tuple[tuple, str]] = []
    found = []
    for block in blocks:
        if block.kind == "heading" and block.text.casefold() != skipped.casefold():
            levels = [level for level, _ in path]
            if block.level in levels:
                del path[levels.index(block.level):]
            else:
                rank = block.level[0]
                path = [open_ for open_ in path if open_[0][0] < rank or open_[0][0] == rank == 3]
            path.append((block.level, block.text))
        found.append((block, tuple(text for _, text in path)))
    return found


def _without_running(blocks: list[PageBlock]) -> list[PageBlock]:
    """Drop dividers, and short texts beside a page's end that come on five pages or more but for their numbers."""
    def shape(block: PageBlock) -> str:
        return re.sub(r"\d+", "#", block.text)

    beside = set()
    for index, block in enumerate(blocks):
        if block.kind == "page-end":
            beside.update(range(index - 2, index + 3))
    times = Counter(shape(block) for index, block in enumerate(blocks) if index in beside and block.text)
    kept = []
    for index, block in enumerate(blocks):
        is_text = block.kind in ("heading", "paragraph")
        if is_text and (_DIVIDER.fullmatch(block.text) or _PAGE.fullmatch(block.text)):
            continue
        if is_text and index in beside and len(block.text) < 120 and times[shape(block)] >= 5:
            continue
        kept.append(block)
    return kept
