"""Read the page of a filing as headings, paragraphs and tables, in reading order."""

import re
from collections import Counter
from collections.abc import Iterator

from lxml import etree
from lxml.html import HtmlElement

from lib.tasks.tablequest.filings.blocks import Look, PageBlock, level_of
from lib.tasks.tablequest.grids.cells import BLOCK_TAGS, BOLD_TAGS, is_bold, is_hidden, style_of

_SIZE = re.compile(r"([\d.]+)(?:pt|px)")
_DIVIDER = re.compile(r"[\W_]*")
_PAGE = re.compile(r"(?:table of contents|(?:page\s*)?\d{1,3}|[ivx]{1,5})", re.I)


_Runs = list[tuple[str, Look]]


def page_blocks(body: HtmlElement) -> list[PageBlock]:
    """Return the blocks without the headers and page numbers that printed pages repeat."""
    return _without_running(list(_walk(body)))


def _walk(body: HtmlElement) -> Iterator[PageBlock]:
    """Yield blocks; a run of text ends where a block's tag opens or closes."""
    runs: _Runs = []
    looks = [Look()]
    # not recursive, because a broken file may nest thousands deep
    walker = etree.iterwalk(body, events=("start", "end"))
    for event, element in walker:
        is_block = element.tag in BLOCK_TAGS and element.tag != "br"
        if event == "end":
            looks.pop()
            if is_block:
                yield from _block(runs)
                runs = []
            if element.tag == "hr":
                yield PageBlock("page-end")
            runs.append((element.tail or "", looks[-1]))
            continue
        if is_block:
            yield from _block(runs)
            runs = []
        is_table = element.tag == "table" and element.find(".//table") is None
        if is_hidden(element) or is_table:
            if not is_hidden(element):
                yield PageBlock("table", element=element)
            walker.skip_subtree()
            looks.append(looks[-1])
            continue
        looks.append(_look(element, looks[-1]))
        runs.append((" " if element.tag == "br" else element.text or "", looks[-1]))
    yield from _block(runs)


def _look(element: HtmlElement, outer: Look) -> Look:
    style, tag = style_of(element), element.tag
    size = _SIZE.match(style.get("font-size", ""))
    lines = style.get("text-decoration", "")
    align = (style.get("text-align") or element.get("align") or "").lower()
    return Look(
        bold=is_bold(style) if "font-weight" in style else outer.bold or tag in BOLD_TAGS,
        italic=outer.italic or tag in ("i", "em") or style.get("font-style") == "italic",
        underlined=outer.underlined or tag == "u" or "underline" in lines,
        size=float(size[1]) if size and size[1].count(".") < 2 else outer.size,
        centred=outer.centred or tag == "center" or align == "center")


def _block(runs: _Runs) -> Iterator[PageBlock]:
    text = " ".join("".join(text for text, _ in runs).replace("\u200b", "").split())
    if not text:
        return
    level = level_of(text, [look for text, look in runs if text.strip()])
    text = re.sub(r"^(\d{1,2})\.(?=[A-Z])", r"\1. ", text) if level else text
    yield PageBlock("heading" if level else "paragraph", text, level)


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
            levels = [level for level, _ in path]
            if block.level in levels:
                del path[levels.index(block.level):]
            else:
                rank = block.level[0]
                path = [one for one in path if one[0][0] < rank or one[0][0] == rank == 3]
            path.append((block.level, block.text))
        found.append((block, tuple(text for _, text in path)))
    return found


def _without_running(blocks: list[PageBlock]) -> list[PageBlock]:
    """Drop dividers, page numbers, and short texts that recur near the ends of at least five pages.
    """
    def shape(block: PageBlock) -> str:
        return re.sub(r"\d+", "#", block.text)

    near_end = {place for index, block in enumerate(blocks) if block.kind == "page-end"
                for place in range(index - 2, index + 3)}
    times = Counter(shape(block) for index, block in enumerate(blocks)
                    if index in near_end and block.text)
    kept = []
    for index, block in enumerate(blocks):
        is_text = block.kind in ("heading", "paragraph")
        is_running = index in near_end and len(block.text) < 120 and times[shape(block)] >= 5
        is_empty = _DIVIDER.fullmatch(block.text) or _PAGE.fullmatch(block.text)
        if not (is_text and (is_running or is_empty)):
            kept.append(block)
    return kept
