"""The page of a filing as headings, paragraphs and tables, and the passages to ask about."""

import re
from collections.abc import Iterable, Iterator
from os.path import commonprefix
from typing import NamedTuple

from lxml import etree
from lxml.html import HtmlElement

from lib.core.records import Document
from lib.tasks.tablequest.grids.cells import BLOCK_TAGS, is_bold, is_hidden
from lib.tasks.tablequest.records import Block, Filing, Passage

MAX_WORDS = 2500  # per passage; about 3,500 tokens in prose, more in tables

# by rank: "Part II"; "Item 7A."; "Note 3 –", "3. Leases", "CONSOLIDATED BALANCE SHEETS"
_RANKS = (re.compile(r"PART\s+[IVX]+\b.{0,40}$", re.I),
          re.compile(r"ITEM\s+\d+[A-C]?\s*[.:—–-]", re.I),
          re.compile(r"NOTE\s+\d+\b|\d{1,2}\.\s?[A-Z]|REPORT OF INDEPENDENT REGISTERED|"
                     r"CONSOLIDATED (?:BALANCE SHEETS?|STATEMENTS? OF)\b", re.I))
# dividers, page numbers, and what printed pages repeat
_NO_TEXT = re.compile(r"[\W_]*|(?:back to )?table of contents|(?:page\s*)?\d{1,3}|[ivx]{1,5}|"
                      r".{0,60}\bform 10-[kq]\b.{0,20}\d", re.I)


class PageBlock(NamedTuple):
    """A heading, paragraph or table, and the headings above it, outermost first."""

    kind: str
    text: str
    path: tuple[str, ...]
    starts_unit: bool = False  # it heads a part, an item or a note
    element: HtmlElement | None = None  # of a table, which is the number-th of the page
    number: int = 0
    grid_id: str = ""


def page_blocks(root: HtmlElement) -> Iterator[PageBlock]:
    """Yield the blocks. Filings have no heading tags: a heading styled like an open one closes it,
    any other is nested by rank.
    """
    numbers = {table: number for number, table in enumerate(root.iter("table"), 1)}
    path: list[tuple[tuple, str]] = []
    for text, is_bold_text, table in texts_of(root):
        level = _level(text) if is_bold_text else ()
        if table is None and _NO_TEXT.fullmatch(text):
            continue
        if level:
            levels = [one for one, _ in path]
            if level in levels:
                del path[levels.index(level):]
            path = [one for one in path if one[0][0] < level[0] or one[0][0] == level[0] == 3]
            path.append((level, text))
        yield PageBlock("table" if table is not None else "heading" if level else "paragraph", text,
                        tuple(text for _, text in path), bool(level) and level[0] < 3, table,
                        numbers.get(table, 0))


def texts_of(root: HtmlElement) -> Iterator[tuple[str, bool, HtmlElement | None]]:
    """Yield texts, whether all of one is bold, and tables; a block's tag ends a text."""
    runs: list[tuple[str, bool]] = []
    looks = [False]
    # not recursive, because a broken file may nest thousands deep
    walker = etree.iterwalk(root, events=("start", "end"))
    for event, element in walker:
        if element.tag in BLOCK_TAGS and element.tag != "br":
            text = " ".join("".join(text for text, _ in runs).replace("\u200b", "").split())
            if text:
                yield text, all(look for text, look in runs if text.strip()), None
            runs = []
        if event == "end":
            looks.pop()
            runs.append((element.tail or "", looks[-1]))
        elif is_hidden(element) or element.tag == "table" and element.find(".//table") is None:
            if not is_hidden(element):
                yield "", False, element
            walker.skip_subtree()
            looks.append(looks[-1])
        else:
            looks.append(is_bold(element, looks[-1]))
            runs.append((" " if element.tag == "br" else element.text or "", looks[-1]))


def _level(text: str) -> tuple:
    # return a heading's rank (parts, items, notes, then by case), or () for a paragraph
    is_mark = text.startswith(("•", "(", "☐", "☒", "/s/")) or not re.search(r"[A-Za-z]", text)
    if is_mark or len(text) > 200:
        return ()
    rank = next((rank for rank, one in enumerate(_RANKS) if one.match(text)), 3)
    return (rank,) if rank < 3 else (3, text.isupper())


def cut_passages(filing_id: str, blocks: Iterable[PageBlock],
                 max_words: int = MAX_WORDS) -> list[Passage]:
    """Return the passages of a filing; each grid is in exactly one, with text of its section.

    Tables of a part, item or note share a passage of at most `max_words`, or one table with its
    introduction, if that is longer. Text without a table is left out.
    """
    chunks: list[list[PageBlock]] = [[]]
    atom: list[PageBlock] = []  # what introduces a table or text stays with it
    room = max_words
    for block in blocks:
        if atom and atom[-1].kind != "heading" and (atom[-1].grid_id or not block.grid_id):
            chunks[-1] += atom
            room -= _n_words(atom)
            atom = []
        atom.append(block)
        if block.starts_unit or _n_words(atom) > room and chunks[-1]:
            chunks.append([])
            room = max_words
    chunks[-1] += atom
    found = [(chunk, paths) for chunk in chunks
             if (paths := [block.path for block in chunk if block.grid_id])]
    return [Passage(passage_id=f"{filing_id}-p{number:02d}", filing_id=filing_id,
                    section=" > ".join(commonprefix(paths)),
                    blocks=tuple(Block(kind=block.kind, text=block.text, grid_id=block.grid_id)
                                 for block in chunk))
            for number, (chunk, paths) in enumerate(found, 1)]


def _n_words(blocks: list[PageBlock]) -> int:
    return sum(len(block.text.replace("|", " ").split()) for block in blocks)


def as_documents(filings: list[Filing], passages: list[Passage]) -> list[Document]:
    """Return one Markdown document per filing, its passages in order, for continual pretraining."""
    titles = {one.filing_id: f"{one.company} {one.form} {one.period}".strip() for one in filings}
    texts = {key: [f"# {title}"] for key, title in titles.items()}
    for passage in passages:
        texts[passage.filing_id] += [f"## {passage.section}", *(
            "### " * (block.kind == "heading") + block.text for block in passage.blocks)]
    return [Document(document_id=one.filing_id, title=titles[one.filing_id], path=one.path,
                     text="\n\n".join(texts[one.filing_id]) + "\n") for one in filings]
