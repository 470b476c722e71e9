"""The page of a filing as headings, paragraphs and tables, and the passages to ask about."""

import re
from collections.abc import Iterable, Iterator
from os.path import commonprefix
from typing import NamedTuple

from lxml.html import HtmlElement

from lib.core.records import Document
from lib.tasks.tablequest.grids.cells import texts_of
from lib.tasks.tablequest.records import Block, Filing, Passage

MAX_WORDS = 2500  # per passage; about 3,500 tokens in prose, more in tables

# by rank: "Part II"; "Item 7A."; "Note 3 –", "3. Leases", "CONSOLIDATED BALANCE SHEETS"
_RANKS = (
    re.compile(r"PART\s+[IVX]+\b.{0,40}$", re.I),
    re.compile(r"ITEM\s+\d+[A-C]?\s*[.:—–-]", re.I),
    re.compile(
        r"NOTE\s+\d+\b|\d{1,2}\.\s?[A-Z]|REPORT OF INDEPENDENT REGISTERED|"
        r"CONSOLIDATED (?:BALANCE SHEETS?|STATEMENTS? OF)\b",
        re.I,
    ),
)
# dividers, page numbers, and what printed pages repeat
_NO_TEXT = re.compile(
    r"[\W_]*|(?:back to )?table of contents|(?:page\s*)?\d{1,3}|[ivx]{1,5}|"
    r".{0,60}\bform 10-[kq]\b.{0,20}\d",
    re.I,
)


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
                del path[levels.index(level) :]
            path = [one for one in path if one[0][0] < level[0] or one[0][0] == level[0] == 3]
            path.append((level, text))
        yield PageBlock(
            "table" if table is not None else "heading" if level else "paragraph",
            text,
            tuple(text for _, text in path),
            bool(level) and level[0] < 3,
            table,
            numbers.get(table, 0),
        )


def _level(text: str) -> tuple:
    # return a heading's rank (parts, items, notes, then by case), or () for a paragraph
    is_mark = text.startswith(("•", "(", "☐", "☒", "/s/")) or not re.search(r"[A-Za-z]", text)
    if is_mark or len(text) > 200:
        return ()
    rank = next((rank for rank, one in enumerate(_RANKS) if one.match(text)), 3)
    return (rank,) if rank < 3 else (3, text.isupper())


def cut_passages(
    filing_id: str, blocks: Iterable[PageBlock], max_words: int = MAX_WORDS
) -> list[Passage]:
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
    found = [
        (chunk, paths)
        for chunk in chunks
        if (paths := [block.path for block in chunk if block.grid_id])
    ]
    return [
        Passage(
            passage_id=f"{filing_id}-p{number:02d}",
            filing_id=filing_id,
            section=" > ".join(commonprefix(paths)),
            blocks=tuple(
                Block(kind=block.kind, text=block.text, grid_id=block.grid_id) for block in chunk
            ),
        )
        for number, (chunk, paths) in enumerate(found, 1)
    ]


def _n_words(blocks: list[PageBlock]) -> int:
    return sum(len(block.text.replace("|", " ").split()) for block in blocks)


def as_documents(filings: list[Filing], passages: list[Passage]) -> list[Document]:
    """Return one Markdown document per filing, its passages in order, for continual pretraining."""
    texts = {one.filing_id: "" for one in filings}
    for passage in passages:
        texts[passage.filing_id] += "\n\n".join(
            [
                "",
                f"## {passage.section}",
                *("### " * (block.kind == "heading") + block.text for block in passage.blocks),
            ]
        )
    titles = [f"{one.company} {one.form} {one.period}".strip() for one in filings]
    return [
        Document(
            document_id=one.filing_id,
            title=title,
            path=one.path,
            text=f"# {title}{texts[one.filing_id]}\n",
        )
        for one, title in zip(filings, titles, strict=True)
    ]
